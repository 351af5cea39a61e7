"""``privgmm release``: show the person at the terminal what is about to be used, read the table, charge the ledger, publish."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privgmm.cli.options import ReleaseOptions
from privgmm.cli.stated import bounds_of, center_of, listed, table_of
from privgmm.cli.terminal import Terminated, Watch, plain, watching
from privgmm.data.parts import TableFile
from privgmm.errors import InputError
from privgmm.files import check_target
from privgmm.model.columns import Column
from privgmm.model.schema import Schema, like_identifier
from privgmm.releases.release import UNLABELLED

if TYPE_CHECKING:
    from privgmm.ledger import Charge

# So many columns are named.
_LISTED = 40
_PROTECTED = {"label": "each row's label (all other columns count as public)", "record": "each row"}
_OF_PERSONS = {
    "label": "the labels of all rows of each {} (all other columns count as public)",
    "record": "each {}, with all of its rows",
}
# Options that are not handed on as typed: their texts and files are read first (``_read`` and ``run``).
_READ = {
    "columns", "classes", "bounds", "center", "components_per_class", "schema", "ledger", "diagnose",
}  # fmt: skip


def run(options: ReleaseOptions) -> None:
    """``privgmm release``: one table in, one release file out."""
    from privgmm.curate import release
    from privgmm.privacy.accounting import check_epsilon_delta
    from privgmm.releases.wording import not_usable

    check_epsilon_delta(options.epsilon, options.delta)
    table = table_of(options.data, options.separator, options.decimal, options.encoding)
    check_target(
        options.output,
        table.path,
        options.ledger,
        options.center,
        options.bounds,
        options.preprocess,
        options.schema,
        overwrite=options.overwrite,
    )
    schema = Schema() if options.schema is None else Schema.load(options.schema)
    label = options.label or schema.label
    if label is None and options.components is None:
        raise InputError("Name the label column with --label, or give --components without one.")
    _check_classes(options, schema)
    if options.scheduler is not None and options.engine != "dask":
        raise InputError("A scheduler goes with --engine dask.")
    charge = _charge(options, table)
    if not options.yes:
        announce(options, table, schema)
    with (
        _telling_what_was_spent(charge),
        _client(options) as client,
        watching() as watch,
    ):
        result = release(
            **_by_name(options),
            **_read(options, table),
            schema=None if options.schema is None else schema,
            label_name=label or UNLABELLED,
            ledger=charge,
            client=client,
            **watch.told,
            diagnose=_telling(options, watch) if options.diagnose else None,
        )
        result.save(options.output, replace=True)
    if options.mechanism == "published":
        print("Note: the published method's guarantee is not proven; do not rely on it.")
    promise, lost = result.guarantee.promise, not_usable(result)
    print(f"Wrote {plain(options.output)}: {plain(promise)}")
    for sentence in lost:
        print(plain(sentence))
    if lost and options.unit == "record" and not options.diagnose:
        print(
            "If more was expected: --diagnose tells you, and only you, whether the bounds hold the rows."
        )
    if charge is not None:
        _print_rest(charge)


def _telling(options: ReleaseOptions, watch: Watch) -> Callable[[tuple[str, ...]], None]:
    """A function that shows a diagnosis and, where somebody can answer, asks before anything is spent."""

    def tell(sentences: tuple[str, ...]) -> None:
        with watch.still():
            for sentence in sentences:
                print(f"For your eyes only: {plain(sentence)}", file=sys.stderr)
            if not options.yes:
                confirm()

    return tell


def _charge(options: ReleaseOptions, table: TableFile) -> Charge | None:
    from privgmm.ledger import Charge, Ledger

    if options.ledger is None:
        return None
    return Charge(Ledger(options.ledger), Path(table).name, options.output.name)


@contextmanager
def _telling_what_was_spent(charge: Charge | None) -> Iterator[None]:
    """Tell a user who interrupts a release, or loses it to a full disk, what the ledger was charged already."""
    try:
        yield
    except InputError as problem:
        spent = "" if charge is None else _spent(charge)
        if not spent:
            raise
        raise InputError(f"{problem} {spent}") from None
    except (KeyboardInterrupt, Terminated) as stop:
        spent = "" if charge is None else _spent(charge) or "Nothing was spent."
        # An exception class of our own, because the parser swallows KeyboardInterrupt.
        raise Terminated(spent, stop.code if isinstance(stop, Terminated) else 130) from None


def _spent(charge: Charge) -> str:
    """What this release has written into the ledger."""
    where = charge.ledger.path
    try:
        rows = charge.ledger.charged()
    except InputError:
        return f"The ledger {where} may be charged; see 'privgmm ledger show'."
    return " ".join(
        f"The ledger {where} is charged: epsilon={row.epsilon:g} at delta={row.delta:g} stays spent "
        f"(entry {row.number})."
        for row in rows
    )


def _print_rest(charge: Charge) -> None:
    """Print what is left of the budget. The release is made, so a ledger that cannot be read now is no failure."""
    try:
        rest = [budget.words for budget in charge.ledger.budgets()]
    except InputError as problem:
        rest = [f"What remains is not known: {problem}"]
    for words in rest:
        print(plain(f"Ledger {charge.ledger.path}: {words}"))


def _check_classes(options: ReleaseOptions, schema: Schema) -> None:
    """Refuse to read class names from private labels, which publishes them unprotected, unless the user asks for it."""
    stated = options.classes is not None or schema.classes is not None
    labelled = options.label is not None or schema.label is not None
    if options.classes_from_data and stated:
        raise InputError("State the classes or give --classes-from-data, not both.")
    if labelled and not stated and not options.classes_from_data:
        how = (
            "--classes a,b,c" if options.schema is None else f"classes = [...] in {options.schema}"
        )
        raise InputError(
            f"State the class list with {how}; --classes-from-data reads it from the "
            "private labels instead, and makes a release that must not be published."
        )


def _by_name(options: ReleaseOptions) -> dict[str, Any]:
    """The options that ``privgmm.release`` takes by the same name and as they were typed."""
    from privgmm.curate.request import ReleaseRequest

    taken = {option.name for option in fields(ReleaseRequest)} - _READ
    given = {name: getattr(options, name) for name in taken if hasattr(options, name)}
    return {name: v.value if isinstance(v, Enum) else v for name, v in given.items()}


def _read(options: ReleaseOptions, table: TableFile) -> dict[str, Any]:
    """The options whose texts and files must be read first, as ``privgmm.release`` takes them."""
    paper = {
        "smoothing": options.smoothing,
        "method": options.solver and options.solver.value,
        "scalable": options.scalable or None,
        "neighbours": options.neighbours and options.neighbours.value,
    }
    return {
        "X": table,
        "columns": listed(options.columns),
        "classes": listed(options.classes),
        "bounds": bounds_of(options.bounds),
        "center": None if options.center is None else center_of(options.center),
        "n_components": options.components,
        "components_per_class": _per_class(options.components_per_class),
        "preprocessing": _steps(options.preprocess),
        "published": {name: value for name, value in paper.items() if value is not None},
    }


def _client(options: ReleaseOptions) -> AbstractContextManager[Any]:
    if options.engine == "local":
        return nullcontext()
    from privgmm.data.dask_opening import connected

    return connected(options.scheduler)


def _per_class(text: str) -> Any:
    """A number, or else the text itself, such as "auto"; ``privgmm.release`` checks it."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else text


def _steps(text: str | None) -> list[Any]:
    """The steps of a text such as log,standardise,pca:5, or of a JSON file with public parameters."""
    if text is None:
        return []
    if text.endswith(".json"):
        from privgmm.transform import public_steps

        return list(public_steps(Path(text)))
    return [part.strip() for part in text.split(",")]


def announce(options: ReleaseOptions, table: TableFile, schema: Schema) -> None:
    """Show columns, kinds, classes and what is protected, and ask whether to go on.

    It asks only where somebody can read and answer: scripts and pipes go on in silence. With ``--diagnose`` the
    question comes after the diagnosis.
    """
    if not _somebody_there():
        return
    print("\n".join(lines(options, table, schema)), file=sys.stderr)
    if not options.diagnose:
        confirm()


def confirm() -> None:
    """Ask the person at the terminal whether to go on, before anything is spent."""
    if not _somebody_there():
        return
    print("Release this? [Y/n] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("", "y", "yes"):
        raise InputError("Nothing was released and nothing was spent.")


def _somebody_there() -> bool:
    return sys.stderr.isatty() and sys.stdin.isatty()


def lines(options: ReleaseOptions, table: TableFile, schema: Schema) -> list[str]:
    """What is to be released, one fact per line. Only names are used; no row is read."""
    from privgmm.cli.stated import listed
    from privgmm.data.reading import describe

    label = options.label or schema.label
    wanted = listed(options.columns) or list(schema.names) or None
    person = options.person or schema.person
    names = describe(table, wanted, label, person).layout.features
    protected = (_PROTECTED if person is None else _OF_PERSONS)[options.unit.value]
    protected = protected.format(plain(person))
    stated = {column.name: column for column in schema.columns}
    classes = listed(options.classes) or schema.classes
    told = "read from the labels" if classes is None else _some([str(name) for name in classes])
    said = [
        f"About to release {plain(table)}",
        f"  protected  {protected}, epsilon {options.epsilon:g}, delta {options.delta:g}",
    ]
    if label is None:
        said.append(f"  components {options.components}, the rows having no label")
    else:
        said += [f"  label      {plain(label)}", f"  classes    {told}"]
    shown = names[:_LISTED]
    for j, name in enumerate(shown):
        head = "columns" if j == 0 else ""
        said.append(f"  {head:10} {plain(name)}: {_words(stated.get(name, Column(name)))}")
    if len(names) > len(shown):
        said.append(f"  {'':10} and {len(names) - len(shown)} more")
    if schema.dropped:
        said.append(f"  left out   {_some(list(schema.dropped))}")
    suspects = [name for name in names if like_identifier(name)]
    if suspects:
        verb = "is named like an identifier" if len(suspects) == 1 else "are named like identifiers"
        said.append(
            f"Warning: {_some(suspects)} {verb}, whose mean and spread mean nothing; leave out such columns "
            'with --columns, or with type = "drop" in a schema.'
        )
    return said


def _words(column: Column) -> str:
    if column.type == "category":
        text = f"category of {_some(list(column.levels))}"
    elif column.lo is None:
        text = column.type
    else:
        text = f"{column.type} from {column.lo:g} to {column.hi:g}"
    return text + (", cells may be missing" if column.missing else "")


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(plain(name) for name in names[:_LISTED]) + more
