"""Privacy accounting in one currency: mu of Gaussian differential privacy (Dong, Roth, Su 2022).

A Gaussian mechanism of L2 sensitivity Delta and noise sigma is mu-GDP with mu = Delta / sigma;
adaptive composition adds squares; delta(eps) = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2).
Conversions are dp-accounting's; docs/proofs/integer-noise.md proves the discretisation slack.
"""

from __future__ import annotations

import builtins
import math
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any

import scipy
from scipy.special import log_ndtr

from privgmm.checks import real
from privgmm.errors import InputError

# Part of delta that pays for discrete instead of continuous noise (docs/proofs/integer-noise.md).
SLACK_SHARE = 1e-3
# Total variation between a discrete and a rounded continuous Gaussian is below this over sigma^2.
TV_CONSTANT = 0.021
# No release may be further than this, in total variation, from its twin with continuous noise, so that a ledger can add up many.
TV_LIMIT = 2.0**-60
# Inside this range dp-accounting's conversions are exact to 1e-9 (tests/privacy/test_accounting.py).
SMALLEST_EPSILON = 1e-5
SMALLEST_DELTA = 1e-30
LARGEST_EPSILON = 1e6
# This margin covers that error and the curator's tolerance for budgets spent in parts.
_SAFETY = 1e-8


def check_epsilon_delta(epsilon: float, delta: float) -> None:
    """Refuse budgets that mean nothing or lie where their conversion loses digits."""
    if not (math.isfinite(real(epsilon, "Epsilon")) and epsilon > 0):
        raise InputError(f"Epsilon must be a positive number, got {epsilon}.")
    if not 0 < real(delta, "Delta") < 1:
        raise InputError(f"Delta must lie strictly between 0 and 1, got {delta}.")
    if epsilon > LARGEST_EPSILON:
        raise InputError(
            f"Epsilon must be at most {LARGEST_EPSILON:g}, which already protects nothing, "
            f"got {epsilon:g}."
        )
    if epsilon < SMALLEST_EPSILON or delta < SMALLEST_DELTA:
        raise InputError(
            f"Epsilon must be at least {SMALLEST_EPSILON:g} and delta at least {SMALLEST_DELTA:g}, "
            f"got epsilon={epsilon:g}, delta={delta:g}."
        )


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


def _dp_accounting() -> Any:
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


def mu_from_epsilon(epsilon: float, delta: float) -> float:
    """The largest mu whose Gaussian trade-off is inside (epsilon, delta), slack set aside."""
    check_epsilon_delta(epsilon, delta)
    sigma = _dp_accounting().get_sigma_gaussian(epsilon, delta * (1 - SLACK_SHARE))
    return (1 - _SAFETY) / float(sigma)


def epsilon_from_mu(mu: float, delta: float) -> float:
    """The smallest epsilon at this delta for a mu-GDP release, slack set aside."""
    if not (math.isfinite(mu) and mu > 0):
        raise InputError(f"mu must be a positive number, got {mu}.")
    check_epsilon_delta(SMALLEST_EPSILON, delta)
    epsilon = float(_dp_accounting().get_epsilon_gaussian(1 / mu, delta * (1 - SLACK_SHARE)))
    # Below SMALLEST_EPSILON the search loses digits; reporting the larger value is still true.
    return max(epsilon * (1 + _SAFETY), SMALLEST_EPSILON)


def compose(mus: Iterable[float]) -> float:
    """Adaptive composition of Gaussian mechanisms: mu = sqrt(sum mu_i^2)."""
    return math.sqrt(math.fsum(mu * mu for mu in mus))


def total_variation(scales: Iterable[float]) -> float:
    """Distance of integer noise from rounded continuous noise: sum_j 0.021 / scale_j^2 (grid steps)."""
    return math.fsum(TV_CONSTANT / (s * s) for s in scales)


def discretisation_slack(epsilon: float, distance: float) -> float:
    """Extra delta of a mechanism this far, in total variation, from a proven one: (1 + e^eps) tau."""
    # The exponent is capped where e^x is still a float; such a delta is refused anyway.
    return (1 + math.exp(min(epsilon, 700.0))) * distance
