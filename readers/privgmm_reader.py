"""Read a privgmm release without privgmm: NumPy alone.  python privgmm_reader.py RELEASE.json ROWS [SEED] > rows.csv

Copy this file wherever you need it. ``load`` checks the digest of the file, ``draw`` makes rows of its model:
of the Gaussians, without the shapes of single columns (``margins``), which privgmm itself draws through.
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
    """(X, classes): synthetic rows in the columns ``release["features"]``, and the class of each."""
    if release.get("encoding"):
        raise ValueError("this table has categories or missing cells; draw its rows with privgmm")
    rng = np.random.default_rng(seed)
    names = release["mixture"]["classes"]
    part = release.get("components") or {**release["mixture"], "owners": range(len(names))}
    weights = np.array(part["weights"])
    means, factors = np.array(part["means"]), np.linalg.cholesky(np.array(part["covariances"]))
    drawn = rng.choice(weights.size, rows, p=weights / weights.sum())
    z = rng.standard_normal((rows, means.shape[1]))
    X = means[drawn] + np.einsum("nij,nj->ni", factors[drawn], z)
    for step in reversed(release["preprocessing"]):
        if step["kind"] == "log":
            X = np.exp(X) - step.get("offset", 0.0)
        elif step["kind"] == "standardise":
            X = X * np.array(step["scale"]) + np.array(step["mean"])
        elif step["kind"] == "pca":
            X = X @ np.array(step["components"]) + np.array(step["mean"])
        else:
            raise ValueError(f"a step of kind {step['kind']!r} is not known to this reader")
    return X, [names[part["owners"][c]] for c in drawn]


def main(path, rows, seed=None):
    """Write rows as CSV to the standard output."""
    release = load(path)
    X, classes = draw(release, int(rows), None if seed is None else int(seed))
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow([*release["features"], release["label"]])
    for row, name in zip(X.tolist(), classes, strict=True):
        out.writerow([*row, name])


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ValueError as problem:
        sys.exit(str(problem))
