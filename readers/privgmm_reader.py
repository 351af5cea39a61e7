"""Read a privgmm release without privgmm: NumPy alone.  python privgmm_reader.py RELEASE.json ROWS [SEED] > rows.csv

Copy this file wherever you need it. ``load`` checks the digest of the file, ``draw`` makes rows of its model: through the
shapes of single columns (``margins``) where it has them, else of its Gaussians, as stated of its ``columns``.
"""

import csv
import hashlib
import json
import re
import sys

import numpy as np


def load(path):
    """The release as dictionaries and lists; a file that was changed after it was written is refused."""
    with open(path, encoding="utf-8") as file:
        release = json.load(file)
    if release.get("format") != "privgmm-release" or release.get("version", 0) < 3:
        raise ValueError(f"{path} is no privgmm release of version 3 or later")
    body = {name: value for name, value in release.items() if name != "sha256"}
    if hashlib.sha256(canonical(body).encode()).hexdigest() != release["sha256"]:
        raise ValueError(f"{path} was changed or damaged after it was written")
    return release


def canonical(value):
    """The text of RFC 8785: no spaces, names in the order of their UTF-16 code units, numbers as in JavaScript."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(n)}:{canonical(value[n])}" for n in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(float(value))
    return json.dumps(value, ensure_ascii=False)


def number(x):
    """The shortest digits that read back to x (Python's repr has them), laid out as ECMAScript does."""
    if x == 0:
        return "0"
    sign = "-" if x < 0 else ""
    digits, exponent = re.fullmatch(r"([\d.]+)(?:e(.+))?", repr(abs(x))).groups()
    whole, _, fraction = digits.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = whole + fraction
    point -= len(digits) - len(digits.lstrip("0"))
    digits = digits.strip("0")
    k = len(digits)
    if k <= point <= 21:
        return sign + digits + "0" * (point - k)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if k > 1 else ""
    return f"{sign}{digits[0]}{rest}e{point - 1:+d}"


def draw(release, rows, seed=None):
    """(X, classes): synthetic rows in the columns ``release["features"]``, and the class of each.

    A category is the position of its level; NaN is a missing cell.
    """
    rng = np.random.default_rng(seed)
    names, margins = release["mixture"]["classes"], release.get("margins")
    part = {**release["mixture"], "owners": range(len(names))}
    if not margins:
        part = release.get("components") or part
    weights = np.array(part["weights"])
    drawn = rng.choice(weights.size, rows, p=weights / weights.sum())
    spreads = np.array(margins["correlations"] if margins else part["covariances"])
    z = rng.standard_normal((rows, spreads.shape[1]))
    X = np.einsum("nij,nj->ni", np.linalg.cholesky(spreads)[drawn], z)
    if margins:
        for k, columns in enumerate(margins["quantiles"]):
            for j, quantiles in enumerate(columns):
                X[drawn == k, j] = np.interp(X[drawn == k, j], margins["scores"], quantiles)
    else:
        X += np.array(part["means"])[drawn]
    for step in reversed(release["preprocessing"]):
        if step["kind"] == "log":
            X = np.exp(X) - step.get("offset", 0.0)
        elif step["kind"] == "standardise":
            X = X * np.array(step["scale"]) + np.array(step["mean"])
        elif step["kind"] == "pca":
            X = X @ np.array(step["components"]) + np.array(step["mean"])
        else:
            raise ValueError(f"a step of kind {step['kind']!r} is not known to this reader")
    return cells(release, X), [names[part["owners"][c]] for c in drawn]


def cells(release, X):
    """Rows of the model as cells of the stated columns: whole, rounded, inside their ranges; levels; missing cells."""
    stated, own = release["columns"], release.get("encoding", {}).get("levels")
    out = np.empty((len(X), len(stated)))
    # Behind the numbers of all columns stand the choices among levels without a number of their own.
    widths = [
        len(own[j]) if c["type"] == "category" else 1 + c.get("missing", False)
        for j, c in enumerate(stated)
    ]
    at, choice = 0, sum(widths)
    for j, column in enumerate(stated):
        x, at = X[:, at : at + widths[j]], at + widths[j]
        if column["type"] != "category":
            out[:, j] = obeyed(column, x[:, 0])
            if column.get("missing"):
                out[x[:, 1] > 0.5, j] = np.nan
            continue
        n_levels = len(column["levels"]) + column.get("missing", False)
        rest = [level for level in range(n_levels) if level not in own[j]]
        level = np.full(len(X), rest[0])
        if len(rest) > 1:
            level = np.array(rest)[np.clip(np.rint(X[:, choice]), 0, len(rest) - 1).astype(int)]
            choice += 1
        for i in reversed(range(widths[j])):  # the first level that is on counts
            level = np.where(x[:, i] > 0.5, own[j][i], level)
        out[:, j] = np.where(level == len(column["levels"]), np.nan, level)
    return out


def obeyed(column, x):
    """Numbers as stated of their column."""
    lo, hi = column.get("lo", -np.inf), column.get("hi", np.inf)
    if column["type"] == "integer" or "decimals" in column:
        places = column.get("decimals", 0)
        x = np.round(x, places)
        unit = 10.0**places
        ends = np.ceil(lo * unit - 1e-9) / unit, np.floor(hi * unit + 1e-9) / unit
        lo, hi = ends if ends[0] <= ends[1] else (lo, hi)
    return np.clip(x, lo, hi)


def texts(column, x):
    """The cells of one column as they stand in a table."""
    if column["type"] == "category":
        return ["" if np.isnan(v) else column["levels"][int(v)] for v in x]
    if column["type"] == "integer":
        return ["" if np.isnan(v) else int(v) for v in x]
    return ["" if np.isnan(v) else v for v in x.tolist()]


def main(path, rows, seed=None):
    """Write rows as CSV to the standard output, columns in the input's order."""
    release = load(path)
    X, classes = draw(release, int(rows), None if seed is None else int(seed))
    shown = {column["name"]: texts(column, X[:, j]) for j, column in enumerate(release["columns"])}
    shown[release["label"]] = classes
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(release["order"])
    out.writerows(zip(*(shown[name] for name in release["order"]), strict=True))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ValueError as problem:
        sys.exit(str(problem))
