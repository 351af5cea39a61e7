"""Mutation list: break one privacy-relevant constant at a time; its killer test must fail.

Run by hand or by ``make mutants``: ``python tests/audit/mutants.py [part of a name]``. Exit 1 if any
mutant survives or no longer applies.
"""

from __future__ import annotations

import os
import re
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
TEST_CHARGE = "tests/curate/test_noise_and_charge.py"
TEST_ROWWISE = "tests/test_rowwise.py"
TEST_IDS = "tests/data/test_ids.py"
TEST_PERSONS_DATA = "tests/data/test_persons.py"
TEST_PERSONS = "tests/queries/test_persons_sensitivity.py"
TEST_PERSON_RELEASES = "tests/curate/test_person_releases.py"
TEST_MOMENTS, TEST_ASSIGNED = (
    "tests/queries/test_class_moments_sensitivity.py",
    "tests/queries/test_assigned.py",
)
TAPE = "tests/tape/test_tape.py::"
NOISE, PUBLISH = "privacy/noise.py", "curate/publish.py"
OPENDP = "np.array(make_gaussian(*space, scale=scale)([0] * size), dtype=np.int64)"
NUMPY = "np.rint(np.random.default_rng({}).standard_normal(size) * scale).astype(np.int64)"
CHARGE = "    if charge is not None:\n        _charge(charge, request, public_digest(request))\n"
RELEASED = "    return Release("
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
    Mutant("conversions: a coarse search", "privacy/conversions.py", "4 * sys.float_info.epsilon", "1e-3", TEST_ACCOUNTING),
    Mutant("conversions: another tail", "privacy/conversions.py", "logcdf=log_ndtr", "logcdf=lambda x: log_ndtr(x) / 2", TEST_ACCOUNTING),
    Mutant("sqrt(2) dropped in composition", ACCOUNTING, "math.fsum(mu * mu for", "0.5 * math.fsum(mu * mu for", TEST_ACCOUNTING),
    Mutant("OpenDP scale off by 10 %", "privacy/noise.py", "scale=scale)", "scale=0.9 * scale)", TEST_NOISE),
    Mutant("seeded scale off by 10 %", "privacy/noise.py", "standard_normal(size) * scale", "standard_normal(size) * 0.9 * scale", TEST_NOISE),
    Mutant("OpenDP replaced by NumPy", NOISE, OPENDP, NUMPY.format(""), TEST_NOISE),
    Mutant("OpenDP replaced by NumPy, seeded by the clock", NOISE, OPENDP, NUMPY.format("__import__('time').time_ns()"), TEST_NOISE),
    Mutant("OpenDP replaced by NumPy, seen by a release", NOISE, OPENDP, NUMPY.format(""), TEST_CHARGE),
    Mutant("a release seeds itself", "curate/proven.py", "OpenDPNoise() if request.asked.seed is None", "OpenDPNoise() if request.asked.seed == 0", TEST_CHARGE, ("SeededNoise(request.asked.seed)", "SeededNoise(request.asked.seed or 1)")),
    Mutant("categories: a missing number is filled from the other rows", "model/columns.py", "np.where(absent, self.fills[j], x)", "np.where(absent, np.median(x), x)", "tests/model/test_encoding.py"),
    Mutant("categories: a stated column of the histograms is not paid for", "queries/column_histograms.py", "ones = 1 + self.kernel.low.shape[1]", "ones = self.kernel.low.shape[1]", "tests/model/test_encoding.py"),
    Mutant("categories: filled from the other rows, seen by the tape", "model/columns.py", "np.where(absent, self.fills[j], x)", "np.where(absent, np.median(x), x)", TAPE + "test_categories_and_missing_cells[csv-add-remove]"),
    Mutant("categories: levels numbered as they come", "data/table.py", "codes = level_codes([*values, None], stated.levels)[at]", "codes = level_codes([*values, None], sorted(stated.levels, key=lambda name: name not in values))[at]", TAPE + "test_categories_and_missing_cells[csv-add-remove]"),
    Mutant("categories: the types of other cells decide on the empty text", "data/memory.py", "[None if isinstance(value, str) and not value else value for value in values]", "values", TAPE + "test_the_empty_text_is_a_missing_cell_whatever_the_other_cells_are"),
    Mutant("categories: encoded by the rows of one label", "curate/proven.py", "public_encoding(request.rows.features, request.columns)", "public_encoding(ArrayFeatures(request.source.X[request.source.codes == 1]), request.columns)", TAPE + "test_categories_beside_private_labels[csv]"),
    Mutant("categories: an unlisted level spoils its column", "data/table.py", "place = np.where(codes >= 0, codes, np.nan)", "place = np.where(codes >= 0, codes, np.nan) * (1.0 if (codes >= -1).all() else np.nan)", TAPE + "test_categories_and_missing_cells[csv-add-remove]"),
    Mutant("overflow wraps", "data/source.py", "if (((before ^ total) & (part ^ total)) < 0).any():", "if False:", "tests/data/test_source.py"),
    Mutant("class moments: two classes counted as one", "queries/class_moments.py", "across = 2 * own", "across = own", TEST_RAW),
    Mutant("class moments: one block, replacement forgotten", "queries/class_moments.py", "return max(own, within)", "return own", TEST_MOMENTS),
    Mutant("class moments: one block, dropped row forgotten", "queries/class_moments.py", "return max(own, within)", "return within", TEST_MOMENTS),
    Mutant("class moments: one block for several", "queries/class_moments.py", "if n_blocks > 1:", "if n_blocks > 2:", TEST_MOMENTS),
    Mutant("class moments: a line for a plane", "queries/class_moments.py", "if dim == 1:", "if dim <= 2:", TEST_MOMENTS),
    Mutant("class moments: clip skipped", "queries/class_moments.py", "u *= np.minimum(inner, inner / norm)", "u *= inner", TEST_RAW, ("if outside.any():", "if False:")),
    Mutant("class moments: grid step", "queries/class_moments.py", "np.full(d, GRID / self.shape.mean)", "np.full(d, GRID / self.shape.mean / 2)", TEST_RAW),
    Mutant("within classes: half of the sensitivity", "queries/assigned.py", "return self.query.sensitivity(adjacency)", "return self.query.sensitivity(adjacency) / 2", TEST_MOMENTS),
    Mutant("within classes: a dropped row counts", "queries/assigned.py", "block = np.full(X.shape[0], -1, dtype=np.intp)", "block = np.zeros(X.shape[0], dtype=np.intp)", TEST_ASSIGNED),
    Mutant("within classes: rows seen beside the others", "queries/assigned.py", "first + rule(np.take(X, members, axis=0))", "first + rule(np.take(X - X.mean(axis=0), members, axis=0))", TEST_ASSIGNED),
    Mutant("within classes: seen beside the others, by the tape", "queries/assigned.py", "first + rule(np.take(X, members, axis=0))", "first + rule(np.take(X - X.mean(axis=0), members, axis=0))", TAPE + "test_components_per_class"),
    Mutant("components: rows counted without noise", "proven/record/mechanism.py", "else curator.noisy_rows", "else float(curator._source.n_rows)", TAPE + "test_components_of_few_rows"),
    Mutant("histograms: sqrt(2) dropped", "queries/column_histograms.py", "else 2 * ones", "else ones", TEST_RAW),
    Mutant("histograms: counts forgotten", "queries/column_histograms.py", "ones = 1 + self", "ones = self", TEST_RAW),
    Mutant("shells: sqrt(2) dropped", "queries/radial_counts.py", 'return 1.0 if adjacency == "add-remove" else math.sqrt(2.0)', "return 1.0", "tests/queries/test_radial_counts.py"),
    Mutant("shells: a row counted twice", "queries/radial_counts.py", "totals[k] = np.bincount(shell, minlength=shells)", "totals[k] = 2 * np.bincount(shell, minlength=shells)", "tests/queries/test_radial_counts.py"),
    Mutant("label table: sqrt(2) dropped", "queries/cell_counts.py", "return math.sqrt(2.0)", "return 1.0", TEST_RAW),
    Mutant("column moments: replace counted as add", "queries/column_moments.py", "return max(2.0 * math.sqrt(d), largest)", "return largest", "tests/queries/test_column_moments.py"),
    Mutant("column moments: a dropped row forgotten", "queries/column_moments.py", "return max(2.0 * math.sqrt(d), largest)", "return 2.0 * math.sqrt(d)", "tests/queries/test_column_moments.py"),
    Mutant("number of rows published under add-remove", "curate/opened.py", "@property\n    def public_units(self) -> int | None:\n", "@property\n    def public_units(self) -> int | None:\n        return self.source.n_units\n\n    def _unused(self) -> int | None:\n", TAPE + "test_every_way_in[csv-add-remove]"),
    Mutant("persons: every row counts in full", "data/source.py", "return (self.parts << shift) // self.wholes", "return np.full_like(self.wholes, 1 << shift)", TEST_RAW),
    Mutant("persons: weights rounded up", "data/source.py", "return (self.parts << shift) // self.wholes", "return -((-self.parts << shift) // self.wholes)", TEST_PERSONS),
    Mutant("persons: rows beyond the most count too", "data/register.py", "np.append(parts, [1, 0, 0])", "np.append(parts, [1, 1, 0])", TEST_PERSONS),
    Mutant("persons: ties at the last row all count", "data/register.py", "left = np.minimum(most - sheet.before[ends], tied)", "left = tied", TEST_PERSONS),
    Mutant("persons: a row of another part is taken", "data/register.py", "            used[byte] += size", "            used[byte] += 0", TEST_PERSONS_DATA),
    Mutant("persons: short ids without their length", "data/ids.py", "second | lengths.astype(np.uint64) << np.uint64(56)", "second", TEST_IDS),
    Mutant("persons: the order of rows chooses", "data/persons.py", "return mixed(row_words(np.ascontiguousarray(X.T) + 0.0, _SALT) + np.uint64(WORD_STEP))", "return np.arange(X.shape[0], dtype=np.uint64)", TEST_PERSONS),
    Mutant("persons: rows of unlisted labels are not counted", "data/passes.py", "            kept = finite_rows(X) & ~missing_ids(ids)\n            if not", "            kept = finite_rows(X) & ~missing_ids(ids) & (layout.codes(batch) >= 0)\n            if not", TAPE + "test_a_person_with_all_rows"),
    Mutant("persons: the number of rows is published", "curate/opened.py", "if self.unit == \"record\" and (self.drop_bad or counts_rows):", "if self.unit == \"record\" and False:", TAPE + "test_a_person_with_all_rows"),
    Mutant("persons: a ledger charges them as rows", PUBLISH, 'kind = request.asked, request.unit if request.person is None else "person"', "kind = request.asked, request.unit", TEST_PERSON_RELEASES),
    Mutant("linear maps by BLAS", "rowwise.py", "    scratch = np.empty(z.shape[1])\n    # From the last", "    return lower @ z\n    # From the last", TEST_ROWWISE),
    Mutant("projections by BLAS", "rowwise.py", "    out = np.empty((X.shape[0], directions.shape[0]))", "    return (X - centre) @ directions.T", TEST_ROWWISE),
    Mutant("projections by BLAS, seen by the tape", "rowwise.py", "    out = np.empty((X.shape[0], directions.shape[0]))", "    return (X - centre) @ directions.T", TAPE + "test_one_row_more_moves_no_other_row"),
    Mutant("class names typed by the labels of a file", "data/opening.py", "        names = class_names(classes)\n", "        kinds = text_kind({str(word) for words in parts for word in words if word is not None})\n        names = tuple(converted(str(name), kinds) for name in class_names(classes))\n", TAPE + "test_class_names_are_not_typed_by_private_labels", ("from privgmm.data.labels import (\n", "from privgmm.data.labels import (\n    text_kind,\n")),
    Mutant("class names typed by the labels of a streamed file", "data/opening.py", "        names = class_names(classes or ())\n", "        kinds = text_kind({str(label) for label in source.run(layout, None)[0].labels})\n        names = tuple(converted(str(name), kinds) for name in class_names(classes or ()))\n", TAPE + "test_class_names_are_not_typed_by_private_labels", ("from privgmm.data.labels import (\n", "from privgmm.data.labels import (\n    text_kind,\n")),
    Mutant("class names in the order of the labels of an array", "model/labels.py", "return names, label_codes(found, positions)[at]", "return class_names(sorted(classes, key=lambda name: name not in found)), label_codes(found, positions)[at]", TAPE + "test_class_names_are_not_typed_by_private_labels"),
    Mutant("bounds of a paid step read from rows", "transform/prepare.py", "return paid(rows, *_box_around(region))", "return paid(rows, rows.min(axis=0), rows.max(axis=0))", TAPE + "test_every_preprocessing_step"),
    Mutant("a row outside a ball makes a logarithm fail", "transform/prepare.py", "rows = np.clip(step.apply(rows), *_box_around(region))", "rows = step.apply(rows)", TAPE + "test_no_row_makes_a_step_fail"),
    Mutant("a cell decides what kind of file it is", "data/parts.py", 'start.partition(b"\\n")[0]', "start", TAPE + "test_a_row_that_cannot_be_used_shows_nowhere[csv-replace]"),
    Mutant("a warning quotes a cell of a spreadsheet", "data/sheetfile.py", 'warnings.simplefilter("ignore")', "pass", "tests/cli/test_peoples_tables.py"),
    Mutant("an empty table of capped persons fails", "data/register.py", "np.append(sheet.starts, sheet.counts.size)[1:] - 1", "np.append(sheet.starts[1:], sheet.counts.size) - 1", TAPE + "test_an_empty_table_of_persons_however_it_is_written"),
    Mutant("ledger: a release charges half", PUBLISH, "mu = mu_from_epsilon(asked.epsilon, asked.delta)", "mu = mu_from_epsilon(asked.epsilon, asked.delta) / 2", TEST_CHARGE),
    Mutant("ledger: charged after the release", PUBLISH, CHARGE, "", TEST_CHARGE, (RELEASED, CHARGE + RELEASED)),
    Mutant("ledger: mu does not add", "ledger/composition.py", "math.sqrt(math.fsum(c.mu * c.mu for c in costs))", "max([c.mu for c in costs], default=0.0)", TEST_LEDGER),
    Mutant("ledger: loose epsilons do not add", "ledger/composition.py", "math.fsum(c.epsilon for c in costs)", "max([c.epsilon for c in costs], default=0.0)", TEST_LEDGER),
    Mutant("ledger: add-remove counted once", "ledger/composition.py", '("replace", "add-remove"): 2', '("replace", "add-remove"): 1', TEST_LEDGER),
    Mutant("ledger: labels accepted for records", "ledger/composition.py", '("replace", "replace"): 1', '("replace", "replace"): 1, ("replace", "label"): 1', TEST_LEDGER),
    Mutant("ledger: rows count once for a person", "ledger/composition.py", "max_rows * _STEPS_PER_ROW[protected, released]", "_STEPS_PER_ROW[protected, released]", TEST_LEDGER),
    Mutant("ledger: other budgets not asked", "ledger/ledger.py", "for budget in stated.budgets:\n                _check_room", "for budget in stated.budgets[:1]:\n                _check_room", TEST_LEDGER),
    Mutant("ledger: k steps of delta counted once", "ledger/composition.py", "delta *= math.inf if far", "delta *= 1.0 if not far", TEST_LEDGER),
    Mutant("ledger: costs of version 1 halved twice", "ledger/records.py", "Cost(mu / steps, distance=distance)", "Cost(mu / steps / 2, distance=distance)", TEST_LEDGER),
    Mutant("ledger: another table is taken", "ledger/records.py", "if not _known(", "if False and not _known(", TEST_LEDGER),
    Mutant("ledger: private class list in the digest", "curate/publish.py", "request.labelled and not request.rows.classes_from_data", "request.labelled", TEST_LEDGER),
    Mutant("ledger: lock taken late", "ledger/storage.py", "BEGIN IMMEDIATE", "BEGIN DEFERRED", TEST_LEDGER),
    Mutant("ledger: seals not checked", "ledger/records.py", "seal != _seal(tuple(row))", "False", TEST_LEDGER),
]  # fmt: skip


COMMAND = (
    sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-o", "addopts=",
    "--hypothesis-profile", "first failure",
)  # fmt: skip


def run(mutant: Mutant, folder: Path) -> tuple[str, str]:
    """'killed', 'SURVIVED' or 'DOES NOT APPLY', and the test that failed."""
    copy = folder / "src"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    target = copy / "privgmm" / mutant.file
    text = target.read_text()
    for old, new in ((mutant.old, mutant.new), mutant.also):
        if old and text.count(old) != 1:
            return "DOES NOT APPLY", mutant.file
        text = text.replace(old, new) if old else text
    target.write_text(text)
    found = subprocess.run(
        [*COMMAND, mutant.killer],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", found.stdout, re.MULTILINE)
    # 1: tests failed. Anything else (2: interrupted by an import error, 5: none found) is no kill.
    outcome = {0: "SURVIVED", 1: "killed"}.get(found.returncode, f"ERROR {found.returncode}")
    return outcome, (failed or [mutant.killer])[0]


def main(wanted: str = "") -> int:
    chosen = [mutant for mutant in MUTANTS if wanted in mutant.name]
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for mutant in chosen:
            started = time.monotonic()
            outcome, test = run(mutant, Path(folder))
            bad += outcome != "killed"
            print(
                f"{outcome:<15}{time.monotonic() - started:5.1f} s  {mutant.name}  ({test})",
                flush=True,
            )
    print(f"{len(chosen) - bad} of {len(chosen)} mutants killed.")
    return 1 if bad or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
