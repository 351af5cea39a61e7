"""Option values no command can use, and the small files that some options name."""

from __future__ import annotations

import json
from functools import cache

import numpy as np

from .case import SECRET_NUMBER, Case, Command, Family, chance, pick
from .documents import document
from .hostile import COUNTS, NAMES, NUMBERS, damaged
from .ledgers import nearly_spent

_WORDS = (
    "",
    "label",
    "record",
    "proven",
    "published",
    "replace",
    "add-remove",
    "kl",
    "x",
    "LABEL",
    "é",
)


@cache
def ordinary_table() -> bytes:
    """Forty usable rows, two classes."""
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal():.4f},{rng.normal():.4f},{'uv'[i % 2]}" for i in range(40)]
    return "\n".join(["a,b,cls", f"{SECRET_NUMBER},0,u", *rows]).encode()


def release(rng: np.random.Generator) -> Case:
    """Two or three wrong wishes; a spent ledger stops what passes all checks."""
    options = {
        "--label": "cls", "--unit": pick(rng, ("label", "record")), "--epsilon": "1",
        "--delta": "1e-5", "--classes": "u,v", "--ledger": "l.db",
    }  # fmt: skip
    if options["--unit"] == "record":
        options["--radius"] = "9"
    if chance(rng, 0.2):
        del options["--ledger"]
        options["--mechanism"] = "published"
    files = {"t.csv": ordinary_table(), "l.db": nearly_spent()}
    for _ in range(int(rng.integers(1, 4))):
        _spoil(options, files, rng)
    flat = [f"{name}={value}" for name, value in options.items()]
    return Command(("release", "t.csv", *flat, "-o", "r.json"), files, ("r.json",), ("l.db",))


def _spoil(options: dict[str, str], files: dict[str, bytes], rng: np.random.Generator) -> None:
    name = pick(rng, (
        "--epsilon", "--delta", "--radius", "--bounds", "--center", "--classes", "--columns", "--seed",
        "--components", "--preprocess", "--label", "--unit", "--mechanism", "--adjacency", "--objective",
        "--ledger", "--engine", "--scheduler", "--nonsense",
    ))  # fmt: skip
    if name in ("--epsilon", "--delta", "--radius"):
        options[name] = pick(rng, NUMBERS)
    elif name in ("--seed", "--components"):
        options[name] = pick(rng, COUNTS)
    elif name == "--bounds":
        options.pop("--radius", None)
        files["bounds.csv"] = _bounds_file(rng)
        pair = f"{pick(rng, NUMBERS)},{pick(rng, NUMBERS)}"
        options[name] = pick(
            rng, (pair, pair, "bounds.csv", "bounds.csv", "none.csv", "1,2,3", ".")
        )
    elif name == "--center":
        files["center.csv"] = _center_file(rng)
        options[name] = pick(rng, ("center.csv", "center.csv", "none.csv", ".", "l.db"))
    elif name == "--preprocess":
        files["steps.json"] = _steps_file(rng)
        text = f"{pick(rng, ('log', 'pca', 'standardise', 'x'))}:{pick(rng, NUMBERS)}"
        options[name] = pick(
            rng, ("steps.json", "steps.json", text, text, "", ",,", "none.json", ".json")
        )
    elif name in ("--classes", "--columns", "--label"):
        words = [pick(rng, NAMES) for _ in range(int(rng.integers(1, 4)))]
        options[name] = pick(rng, (",".join(words), "u", "a", "", ",", "u,v", "cls", "u,v,u"))
    elif name in ("--ledger", "--scheduler"):
        options[name] = pick(rng, ("t.csv", "none.db", ".", "", "x" * 300, "tcp://", "é"))
    else:
        # Never a real cluster: thousands of them would take all day.
        options[name] = pick(rng, [word for word in _WORDS if word != "dask"])


def _lines(rows: list[list[str]], rng: np.random.Generator) -> bytes:
    data = "\n".join(",".join(row) for row in rows).encode("utf-8", "replace")
    return damaged(data, rng) if chance(rng, 0.3) else data


def _bounds_file(rng: np.random.Generator) -> bytes:
    rows = [["column", "lo", "hi"], ["a", "-9", "9"], ["b", "-9", "9"]]
    for _ in range(int(rng.integers(3))):
        row = rows[int(rng.integers(3))]
        if row:
            row[int(rng.integers(len(row)))] = pick(rng, (*NUMBERS, *NAMES))
        if chance(rng, 0.2):
            row.clear()
    return _lines(rows, rng)


def _center_file(rng: np.random.Generator) -> bytes:
    values = ["0.5"] * pick(rng, (0, 1, 2, 2, 2, 3))
    if values and chance(rng, 0.5):
        values[0] = pick(rng, NUMBERS)
    return _lines([["a", "b"], values][pick(rng, (0, 1)) :], rng)


def _steps_file(rng: np.random.Generator) -> bytes:
    value = pick(
        rng,
        (1, [0, 0], [1, 1], [1, 0], [[1, 0]], [], None, "x", 1e308, -1, [1e308, 1], True, 10**400),
    )
    step = {"kind": pick(rng, ("log", "standardise", "pca", 1, None, []))}
    for name in ("offset", "mean", "scale", "components", "origin"):
        if chance(rng, 0.5):
            step[name] = (
                value if chance(rng, 0.5) else pick(rng, ([0, 0], [1, 1], [[1, 0]], "public"))
            )
    text = json.dumps(step if chance(rng, 0.5) else [step, step]).encode()
    if chance(rng, 0.2):
        return pick(
            rng, (b"[" * 5000, b"{}", b"[]", b"null", b"NaN", b"1" * 5000, b"[[]]", b"\xff", b"")
        )
    return damaged(text, rng) if chance(rng, 0.2) else text


def other(rng: np.random.Generator) -> Case:
    """sample, report, plan, audit, reproduce, demo with what they cannot use."""
    number, count, name = pick(rng, NUMBERS), pick(rng, COUNTS), pick(rng, NAMES)
    plan = {"--n": "5", "--classes": "2", "--dim": "2", "--unit": "label", "--rehearsals": "1"}
    plan[pick(rng, tuple(plan))] = pick(rng, ("-1", "0", "", "x", "nan", "1,", ",", "1e3", "é"))
    arguments, outputs = pick(rng, (
        (("sample", "r.json", f"-n{count}", "-o", "s.csv"), ("s.csv",)),
        (("sample", "r.json", "-n3", f"--seed={count}", "-o", "s.csv"), ("s.csv",)),
        (("sample", "r.json", "-n3", "-o", name), ()),
        (("report", "r.json", "--reference", "t.csv", f"--label={name}", "-o", "p.html"), ("p.html",)),
        (("show", "r.json", name), ()), ((name,), ()), ((), ()), (("release",), ()), (("ledger", name), ()),
        (("plan", *(f"{k}={v}" for k, v in plan.items()), f"--target-kl={number}"), ()),
        (("plan", "--n=100", "--classes=2", "--dim=2", "--unit=label", "--rehearsals=1", f"--epsilon={number},{count}"), ()),
        (("audit", f"--epsilon={number}", "--trials=50"), ()), (("audit", f"--trials={count}", "--delta=0"), ()),
        (("audit", "--trials=50", "-o", "x.exe"), ()), (("reproduce", name, "--out", "t.csv"), ()),
        (("reproduce", "ci", "--out", "t.csv"), ()), (("demo", "--out", "t.csv"), ()),
    ))  # fmt: skip
    files = {"r.json": document("two"), "t.csv": ordinary_table()}
    return Command(arguments, files, outputs, encoding="ascii" if chance(rng, 0.1) else "utf-8")


FAMILIES = (
    Family("release options", release, 4_000),
    Family("other options", other, 1_500, 60.0),
)
