"""diffprivlib's GaussianNB, in an environment of its own: it needs an older scikit-learn than we do."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from privgmm import Mixture

# Inside .venv, so that `make clean` removes it and git does not see it.
_HOME = Path(sys.prefix) / "peers" / "diffprivlib"
_NEEDS = ("diffprivlib==0.6.6", "scikit-learn<1.6")
_FIT = """
import sys, time, warnings
import numpy as np
from diffprivlib.models import GaussianNB
warnings.simplefilter("ignore")
with np.load(sys.argv[1]) as data:
    X, y, low, high, epsilon, seed = (data[name] for name in ("X", "y", "low", "high", "epsilon", "seed"))
model = GaussianNB(epsilon=float(epsilon), bounds=(float(low), float(high)), random_state=int(seed))
start = time.perf_counter()
model.fit(X, y)
np.savez(sys.argv[2], weights=model.class_prior_, means=model.theta_, variances=model.var_,
         seconds=time.perf_counter() - start)
"""


def environment() -> Path | None:
    """The peer's Python, made on demand; None (and a printed line) when it cannot be installed."""
    python = _HOME / "bin" / "python"
    if not _works(python):
        try:
            subprocess.run([sys.executable, "-m", "venv", str(_HOME)], check=True, timeout=120)
            subprocess.run(
                [
                    str(python),
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                    *_NEEDS,
                ],
                check=True,
                capture_output=True,
                timeout=300,
            )
        except (OSError, subprocess.SubprocessError):
            print("diffprivlib cannot be installed here; its rows are left out.")
            return None
    return python if _works(python) else None


def fit(
    python: Path, X: np.ndarray, y: np.ndarray, bound: float, epsilon: float, seed: int
) -> tuple[Mixture, float]:
    """The diagonal mixture that GaussianNB releases, and the seconds of its fit."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(given, X=X, y=y, low=-bound, high=bound, epsilon=epsilon, seed=seed)
        subprocess.run([str(python), "-c", _FIT, str(given), str(found)], check=True)
        with np.load(found) as data:
            covariances = np.stack([np.diag(v) for v in data["variances"]])
            weights = data["weights"] / data["weights"].sum()
            return Mixture(weights, data["means"], covariances), float(data["seconds"])


def _works(python: Path) -> bool:
    if not python.exists():
        return False
    code = "from diffprivlib.models import GaussianNB"
    return subprocess.run([str(python), "-c", code], capture_output=True).returncode == 0
