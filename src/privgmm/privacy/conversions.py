"""dp-accounting's conversions between sigma and (epsilon, delta), loaded without the rest of the library and of SciPy.

Every release needs two numbers of it, and every command would wait three tenths of a second for what they do not use.
"""

from __future__ import annotations

import builtins
import math
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any

import scipy
from scipy.special import log_ndtr


class _Instead:
    """Stands for a part of scipy in dp-accounting's file: what is set on it is at hand, all else is imported when it is asked for."""

    def __init__(self, path: str, **at_hand: Any) -> None:
        self._path = path
        vars(self).update(at_hand)

    def __getattr__(self, name: str) -> Any:
        whole, _, part = self._path.rpartition(".")
        if part == "norm":
            return getattr(import_module(whole).norm, name)
        try:
            return getattr(import_module(self._path), name)
        except AttributeError:
            return import_module(f"{self._path}.{name}")


def _brentq() -> Callable[..., float]:
    """``scipy.optimize.brentq``: its compiled part by itself, as far as dp-accounting calls it, where scipy keeps it in a file of its own."""
    folders = [str(Path(folder) / "optimize") for folder in scipy.__path__]
    spec = PathFinder.find_spec("_zeros", folders)
    try:
        assert spec is not None
        assert spec.loader is not None
        compiled = module_from_spec(spec)
        spec.loader.exec_module(compiled)
        search = compiled._brentq
    except (AssertionError, AttributeError, ImportError):
        brentq: Callable[..., float] = import_module("scipy.optimize").brentq
        return brentq

    def found(f: Callable[[float], float], low: float, high: float, xtol: float) -> float:
        def finite(x: float) -> float:
            value = f(x)
            if math.isnan(value):
                raise ValueError(f"The function value at x={x} is NaN; solver cannot continue.")
            return value

        # The tolerance relative to x, the most steps and the flags are brentq's defaults.
        return float(search(finite, low, high, xtol, 4 * sys.float_info.epsilon, 100, (), 0, 1))

    return found


def _scipy() -> Any:
    """scipy for that file, without the import of scipy.stats and scipy.optimize, of which it needs one function each."""
    norm = _Instead("scipy.stats.norm", logcdf=log_ndtr)
    stats = _Instead("scipy.stats", norm=norm)
    return _Instead("scipy", stats=stats, optimize=_Instead("scipy.optimize", brentq=_brentq()))


def _importing(name: str, *rest: Any) -> Any:
    """``__import__`` for dp-accounting's file, which writes ``import scipy.stats`` and ``import scipy.optimize``."""
    return _scipy() if name.startswith("scipy.") else builtins.__import__(name, *rest)


def conversions() -> Any:
    """dp-accounting's conversions of Gaussian noise, and of the package nothing else.

    They stand in a file of their own. Importing the package would load its accountants as well, and with them scipy.signal; the file
    itself loads scipy.stats and scipy.optimize for one function each. All are tenths of a second that every release would wait for.
    The library's lines run as they are (tests/privacy/test_accounting.py compares every bit with the package's own).
    """
    package = find_spec("dp_accounting")
    folders = None if package is None else package.submodule_search_locations
    spec = PathFinder.find_spec("gaussian_mechanism", folders) if folders else None
    if spec is None or spec.loader is None:
        return import_module("dp_accounting")
    module = module_from_spec(spec)
    vars(module)["__builtins__"] = {**vars(builtins), "__import__": _importing}
    spec.loader.exec_module(module)
    return module
