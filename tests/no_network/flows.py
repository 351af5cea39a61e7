"""What users do, one after the other, in the current folder; each command must succeed."""

from __future__ import annotations

import shlex
from pathlib import Path

from privgmm.audit import audit
from privgmm.cli import run
from privgmm.datasets import synthetic

TABLE = "release t.csv --label kind --classes 0,1 --epsilon 2 --delta 1e-5 "
COMMANDS = (
    "ledger budget --ledger l.db --epsilon 9 --delta 1e-4 --unit label",
    TABLE + "--unit label --engine dask --ledger l.db -o label.json",  # demo: the local engine
    TABLE + "--unit record --radius 20 -o record.json",
    TABLE + "--unit label --mechanism published -o published.json",
    "ledger show --ledger l.db",
    "show label.json",
    "sample label.json -n 100 -o s.parquet",
    "report label.json -o r.html --reference t.csv --label kind",
    "plan --n 100 --classes 2 --dim 2 --unit label --epsilon 1 --rehearsals 1 -o plan.svg",
    "audit --mechanism published --trials 100 --seed 1",
    "demo",
    "reproduce iris-marginals --trials 1 --jobs 2",
)

if __name__ == "__main__":
    X, y = synthetic(300, 2, 2, seed=0)
    rows = [f"{a},{b},{k}" for (a, b), k in zip(X, y, strict=True)]
    Path("t.csv").write_text("\n".join(["a,b,kind", *rows, ""]))
    for command in COMMANDS:
        assert run(shlex.split(command)) == 0, command
    audit(trials=100, seconds=0)  # the command would attack whole releases for half a minute
    print("flows: done")
