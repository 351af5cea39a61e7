"""Mutation list: break one privacy-relevant constant at a time; its killer test must fail.

Run by hand or by ``make mutants``: ``python tests/audit/mutants.py [part of a name]``. Exit 1 if any
mutant survives or no longer applies.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    old: str
    new: str
    killer: str
    # A second change in the same file, where a second line of defence stands.
    also: tuple[str, str] = ("", "")


ACCOUNTING, CURATOR = "privacy/accounting.py", "privacy/curator.py"
TEST_ACCOUNTING = "tests/privacy/test_accounting.py"
TEST_CURATOR = "tests/privacy/test_curator.py"
TEST_NOISE = "tests/privacy/test_noise.py"
TEST_RAW = "tests/audit/test_raw.py"
TEST_LEDGER = "tests/ledger"
SIGMA = "sigma = sensitivity / mu * _ROUND_UP"

MUTANTS = [
    Mutant("sigma halved", CURATOR, SIGMA, "sigma = sensitivity / mu / 2", TEST_CURATOR),
    Mutant("sigma halved, seen by the audit", CURATOR, SIGMA, "sigma = sensitivity / mu / 2", TEST_RAW),
    Mutant("sigma rounded down", CURATOR, SIGMA, "sigma = sensitivity / mu * (1 - 2**-40)", TEST_CURATOR),
    Mutant("budget counted once", CURATOR, "compose([*(record.mu for record in self._records), mu])", "mu", TEST_CURATOR),
    Mutant("budget counted once, seen by the audit", CURATOR, "compose([*(record.mu for record in self._records), mu])", "mu", TEST_RAW),
    Mutant("wrong adjacency", CURATOR, "query.sensitivity(self.adjacency)", 'query.sensitivity("add-remove")', TEST_CURATOR),
    Mutant("steps ignored", CURATOR, "np.asarray(query.steps, dtype=np.float64) * sigma", "np.ones(len(query.steps)) * sigma", TEST_CURATOR),
    Mutant("slack forgotten over queries", CURATOR, "self._distance + total_variation(fine)", "total_variation(fine)", TEST_CURATOR),
    Mutant("tolerance of the budget", CURATOR, "_BUDGET_TOLERANCE = 1e-9", "_BUDGET_TOLERANCE = 1e-7", TEST_CURATOR),
    Mutant("twice the delta", CURATOR, "mu_from_epsilon(epsilon, delta)", "mu_from_epsilon(epsilon, 2 * delta)", TEST_CURATOR),
    Mutant("grid too coarse", CURATOR, "FINEST_SCALE = 2.0**40", "FINEST_SCALE = 2.0**20", TEST_CURATOR),
    Mutant("no slack", ACCOUNTING, "SLACK_SHARE = 1e-3", "SLACK_SHARE = 0.0", TEST_CURATOR),
    Mutant("distance halved", ACCOUNTING, "TV_CONSTANT = 0.021", "TV_CONSTANT = 0.0105", TEST_ACCOUNTING),
    Mutant("distance limit", ACCOUNTING, "TV_LIMIT = 2.0**-60", "TV_LIMIT = 2.0**-20", TEST_CURATOR),
    Mutant("no safety", ACCOUNTING, "_SAFETY = 1e-8", "_SAFETY = 0.0", TEST_ACCOUNTING),
    Mutant("sqrt(2) dropped in composition", ACCOUNTING, "math.fsum(mu * mu for", "0.5 * math.fsum(mu * mu for", TEST_ACCOUNTING),
    Mutant("OpenDP scale off by 10 %", "privacy/noise.py", "scale=scale)", "scale=0.9 * scale)", TEST_NOISE),
    Mutant("seeded scale off by 10 %", "privacy/noise.py", "standard_normal(size) * scale", "standard_normal(size) * 0.9 * scale", TEST_NOISE),
    Mutant("overflow wraps", "statistics/source.py", "if (((before ^ total) & (part ^ total)) < 0).any():", "if False:", "tests/statistics/test_source.py"),
    Mutant("class moments: two classes counted as one", "privacy/class_moments.py", "across = 2 * own", "across = own", TEST_RAW),
    Mutant("class moments: clip skipped", "statistics/class_moments.py", "u *= np.minimum(inner, inner / norm)", "u *= inner", TEST_RAW, ("if outside.any():", "if False:")),
    Mutant("class moments: grid step", "privacy/class_moments.py", "np.full(d, GRID / self.shape.mean)", "np.full(d, GRID / self.shape.mean / 2)", TEST_RAW),
    Mutant("histograms: sqrt(2) dropped", "privacy/marginal_counts.py", "else 2 * ones", "else ones", TEST_RAW),
    Mutant("histograms: counts forgotten", "privacy/marginal_counts.py", "ones = 1 + self", "ones = self", TEST_RAW),
    Mutant("label table: sqrt(2) dropped", "privacy/label_sums.py", "return math.sqrt(2.0)", "return 1.0", TEST_RAW),
    Mutant("column moments: replace counted as add", "privacy/column_moments.py", "return 2.0 * math.sqrt(d)", "return math.sqrt(d)", "tests/privacy/test_column_moments.py"),
    Mutant("ledger: mu does not add", "ledger/composition.py", "math.sqrt(math.fsum(c.mu * c.mu for c in costs))", "max([c.mu for c in costs], default=0.0)", TEST_LEDGER),
    Mutant("ledger: loose epsilons do not add", "ledger/composition.py", "math.fsum(c.epsilon for c in costs)", "max([c.epsilon for c in costs], default=0.0)", TEST_LEDGER),
    Mutant("ledger: add-remove counted once", "ledger/composition.py", '("replace", "add-remove"): 2', '("replace", "add-remove"): 1', TEST_LEDGER),
    Mutant("ledger: labels accepted for records", "ledger/composition.py", '("replace", "replace"): 1', '("replace", "replace"): 1, ("replace", "label"): 1', TEST_LEDGER),
    Mutant("ledger: lock taken late", "ledger/storage.py", "BEGIN IMMEDIATE", "BEGIN DEFERRED", TEST_LEDGER),
    Mutant("ledger: seals not checked", "ledger/records.py", "seal != _seal(tuple(row))", "False", TEST_LEDGER),
]  # fmt: skip


def run(mutant: Mutant, folder: Path) -> str:
    """'killed', 'SURVIVED' or 'DOES NOT APPLY'."""
    copy = folder / "src"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    target = copy / "privgmm" / mutant.file
    text = target.read_text()
    for old, new in ((mutant.old, mutant.new), mutant.also):
        if old and text.count(old) != 1:
            return "DOES NOT APPLY"
        text = text.replace(old, new) if old else text
    target.write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:xdist",
        "-p",
        "no:cacheprovider",
    ]
    found = subprocess.run(
        [*command, "-o", "addopts=", mutant.killer],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        check=False,
        timeout=600,
    )
    # 1: tests failed. Anything else (2: interrupted by an import error, 5: none found) is no kill.
    return {0: "SURVIVED", 1: "killed"}.get(found.returncode, f"ERROR {found.returncode}")


def main(wanted: str = "") -> int:
    chosen = [mutant for mutant in MUTANTS if wanted in mutant.name]
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for mutant in chosen:
            started = time.monotonic()
            outcome = run(mutant, Path(folder))
            bad += outcome != "killed"
            print(
                f"{outcome:<15}{time.monotonic() - started:5.1f} s  {mutant.name}  ({mutant.killer})",
                flush=True,
            )
    print(f"{len(chosen) - bad} of {len(chosen)} mutants killed.")
    return 1 if bad or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
