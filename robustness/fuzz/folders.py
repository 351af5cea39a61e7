"""Folders of parts that do not fit together."""

from __future__ import annotations

import numpy as np

from .case import SECRET_TEXT, Call, Case, Command, Family, chance, pick
from .csvs import agree, csv_bytes
from .ledgers import nearly_spent
from .options import ordinary_table
from .parquets import parquet_bytes


def _parts(rng: np.random.Generator) -> dict[str, bytes]:
    """One to three parts of one kind or of both, and at times what is no part at all."""
    kind = pick(rng, ("csv", "csv", "parquet", "both"))
    files = {}
    for j in range(int(rng.integers(1, 4))):
        csv = kind == "csv" or (kind == "both" and j == 0)
        usual = csv and chance(rng, 0.5)
        files[f"d/{j}.{'csv' if csv else 'parquet'}"] = (
            ordinary_table() if usual else csv_bytes(rng) if csv else parquet_bytes(rng)
        )
    if chance(rng, 0.2):
        files[pick(rng, ("d/_SUCCESS", "d/.hidden.csv", "d/note.txt", "d/e/0.csv"))] = (
            SECRET_TEXT.encode()
        )
    if chance(rng, 0.1):
        files = {name: data for name, data in files.items() if "note" in name or "e/" in name}
        files["d/note.txt"] = b""
    return files


def read(rng: np.random.Generator) -> Case:
    label, columns = pick(rng, ("cls", "cls", None, "a")), pick(rng, (None, None, ["a"]))
    return Call(lambda: agree("d", columns, label), "open_rows of a folder", _parts(rng))


def release(rng: np.random.Generator) -> Case:
    files = {**_parts(rng), "l.db": nearly_spent()}
    options = (
        "--label=cls",
        "--classes=u,v",
        "--unit=label",
        "--epsilon=1",
        "--delta=1e-5",
        "--ledger=l.db",
    )
    target = pick(rng, ("r.json", "r.json", "d/0.csv", "d/new.json"))
    return Command(("release", "d", *options, "-o", target), files, (target,), ("l.db",))


FAMILIES = (
    Family("folders, readers", read, 1_500),
    Family("folders, release", release, 600),
)
