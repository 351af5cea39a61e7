"""``python -m bench.peers [dpmm opendp diffprivlib privgmm] [--runs 3] [--epsilon 1]``: Wine by several makers.

Every peer gets the same ranges and classes and runs in a virtual environment of its own, made once in the folder
PRIVGMM_PEERS (default: ~/.cache/privgmm-peers); one that cannot be installed is left out with a sentence. Rows are
scored by ../shared/compare.py, means over seeded runs. dpmm takes minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.synthetic import scorer, wine
from privgmm import release

DELTA = 1e-5
HERE = Path(__file__).parent
# By name: what pip installs, and the script that makes rows with it.
PEERS = {
    "dpmm": (("dpmm==0.1.9",), "dpmm_mst.py"),
    "opendp": (("opendp[mbi]==0.16.0", "pandas"), "opendp_mst.py"),
    "diffprivlib": (("diffprivlib==0.6.6", "scikit-learn<1.5", "pandas"), "diffprivlib_nb.py"),
}


def environment(name: str) -> Path | None:
    """The interpreter of a peer's own environment, made if it is not there; None if that fails."""
    folder = Path(os.environ.get("PRIVGMM_PEERS", Path.home() / ".cache" / "privgmm-peers")) / name
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        made = subprocess.run([sys.executable, "-m", "venv", str(folder)], capture_output=True)
        command = [str(python), "-m", "pip", "install", "-q", *PEERS[name][0]]
        if made.returncode or subprocess.run(command, capture_output=True).returncode:
            return None
        done.touch()
    return python


def rows_of(python: Path, name: str, facts: Path, train: Path, ask: list[str]) -> Any:
    """Rows of one run of a peer and its own seconds; None if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rows.csv"
        command = [str(python), str(HERE / PEERS[name][1]), str(train), str(facts), str(out), *ask]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(done.stderr.strip().splitlines()[-1], file=sys.stderr)
            return None
        return pd.read_csv(out), float(done.stdout.split()[-1])


def own(train: pd.DataFrame, schema: Any, epsilon: float, seed: int) -> tuple[pd.DataFrame, float]:
    """Rows of privgmm, and its seconds."""
    start = time.perf_counter()
    r = release(
        train, schema=schema, unit="record", adjacency="add-remove",
        epsilon=epsilon, delta=DELTA, seed=seed,
    )  # fmt: skip
    return r.sample_table(len(train), seed=seed).to_pandas(), time.perf_counter() - start


def main() -> None:
    """Print one line per maker."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("makers", nargs="*", default=["privgmm", *PEERS])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epsilon", type=float, default=1.0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    compare = scorer()
    train, test, schema, _ = wine()
    with tempfile.TemporaryDirectory() as folder:
        table, facts = Path(folder) / "train.csv", Path(folder) / "facts.json"
        train.to_csv(table, index=False)
        ranges = {column.name: (column.lo, column.hi) for column in schema.columns}
        stated = {"target": schema.label, "classes": schema.classes, "ranges": ranges}
        facts.write_text(json.dumps(stated))
        for name in asked.makers:
            python = None if name == "privgmm" else environment(name)
            if name != "privgmm" and python is None:
                print(f"{name} is left out: it cannot be installed here.", flush=True)
                continue
            found = []
            for seed in range(asked.runs):
                if python is None:
                    made = own(train, schema, asked.epsilon, seed)
                else:
                    ask = [str(asked.epsilon), str(DELTA), str(seed)]
                    made = rows_of(python, name, facts, table, ask)
                if made is None:
                    break
                score = compare(made[0], train, test, schema.label)
                found.append({**score, "seconds": made[1]})
            if not found:
                print(f"{name} is left out: it failed.", flush=True)
                continue
            means = {key: np.mean([one[key] for one in found]) for key in found[0]}
            words = " ".join(f"{key} {value:.3f}" for key, value in means.items())
            print(f"{name} epsilon={asked.epsilon:g} runs={len(found)} {words}", flush=True)


if __name__ == "__main__":
    main()
