"""Path tricks: what -o and the inputs may be called, and what may already stand there."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import numpy as np

from .case import Case, Command, Family, chance, pick
from .documents import document
from .ledgers import ledger, nearly_spent
from .options import ordinary_table

_TRICKS = (
    "folder", "folder/", "folder/new{}", "none/new{}", "folder/../new{}", "./folder/.././new{}", "..", ".", "",
    "/", "dangling{}", "loop{}", "to-folder{}", "to-input{}", "t.csv", "./t.csv", "r.json", "l.db", "pipe{}",
    "socket{}", "new\nline{}", "new\x1b[2J{}", "=cmd|'/C calc'!A0{}", "é{}", "\u202eabc{}", "\udcff{}", "-x{}",
    "--help{}", "x" * 300 + "{}", "x" * 250 + "{}", "x/" * 3000 + "{}", "/proc/new{}", "/sys/new{}",
    "/proc/self/mem", "t.csv/new{}", "~/new{}", "$HOME{}", " {}", "new{} ", "folder/new{}/", "{}", "*?{}",
    "new.exe", "new", "new.JSON", "new.CSV", "a\\b{}", "%s{}", "con{}", "file:///new{}", "new{}\t",
)  # fmt: skip


def _furnish(folder: Path) -> None:
    (folder / "folder").mkdir()
    for name in (".json", ".csv", ".parquet", ".html"):
        (folder / f"dangling{name}").symlink_to("nowhere")
        (folder / f"loop{name}").symlink_to(f"loop{name}")
        (folder / f"to-folder{name}").symlink_to("folder")
        (folder / f"to-input{name}").symlink_to("t.csv")
        os.mkfifo(folder / f"pipe{name}")
        with socket.socket(socket.AF_UNIX) as door:
            # Relative: the path of a socket has a small limit.
            here = os.getcwd()
            os.chdir(folder)
            door.bind(f"socket{name}")
            os.chdir(here)


def _files() -> dict[str, bytes]:
    return {"t.csv": ordinary_table(), "r.json": document("two"), "l.db": nearly_spent()}


def outputs(rng: np.random.Generator) -> Case:
    command = pick(rng, ("release", "release", "sample", "sample", "report"))
    kind = {"release": ".json", "sample": pick(rng, (".csv", ".parquet")), "report": ".html"}[
        command
    ]
    target = pick(rng, _TRICKS).format(kind)
    arguments = {
        "release": ["release", "t.csv", "--label=cls", "--unit=label", "--epsilon=1", "--delta=1e-5",
                    "--classes=u,v", "--mechanism=published"],
        "sample": ["sample", "r.json", "-n3"],
        "report": ["report", "r.json"],
    }[command]  # fmt: skip
    if command == "release" and chance(rng, 0.3):
        arguments[-1] = "--ledger=l.db"
    if chance(rng, 0.5):
        arguments.append("--overwrite")
    place = os.path.normpath(target) if target else ""
    return Command(
        (*arguments, f"--output={target}"), _files(), (place,), ("l.db",), _furnish,
        pick(rng, ("utf-8", "utf-8", "ascii")),
    )  # fmt: skip


def inputs(rng: np.random.Generator) -> Case:
    kind = pick(rng, (".csv", ".json", ".parquet"))
    source = pick(rng, _TRICKS).format(kind)
    everywhere = (
        ("release", source, "--label=cls", "--unit=label", "--epsilon=1", "--delta=1e-5", "--classes=u,v",
         "--ledger=l.db", "-o", "new.json"),
        ("report", "r.json", "--reference", source, "--label=cls", "-o", "new.html"),
        ("release", "t.csv", "--label=cls", "--unit=record", f"--bounds={source}", "--epsilon=1",
         "--delta=1e-5", "--classes=u,v", "--ledger=l.db", "-o", "new.json"),
        ("release", "t.csv", "--label=cls", "--unit=label", "--epsilon=1", "--delta=1e-5", "--classes=u,v",
         f"--ledger={source}", "-o", "new.json"),
        ("show", source), ("sample", source, "-n3", "-o", "new.csv"),
        ("ledger", "show", f"--ledger={source}"),
    )  # fmt: skip
    # Small files are read once, from a pipe too; nobody writes into this one.
    arguments = pick(rng, everywhere[:2] if "pipe" in source else everywhere)
    return Command(
        arguments, _files(), ("new.json", "new.csv", "new.html"), ("l.db",), _furnish,
        pick(rng, ("utf-8", "utf-8", "ascii")),
    )  # fmt: skip


def new_ledgers(rng: np.random.Generator) -> Case:
    """A ledger is made where none is, and nowhere else."""
    target = pick(rng, _TRICKS).format(".db")
    arguments = ("ledger", "budget", f"--ledger={target}", "--epsilon=2", "--delta=1e-5")
    place = os.path.normpath(target) if target else ""
    files = {**_files(), "l.db": ledger()}
    beside = tuple(place + end for end in ("", "-wal", "-shm"))
    return Command(arguments, files, changes=(*beside, "nowhere", "l.db"), prepare=_furnish)


FAMILIES = (
    Family("output paths", outputs, 800),
    Family("input paths", inputs, 800),
    Family("ledger paths", new_ledgers, 300),
)
