"""``privgmm release``: read the table, charge the ledger, publish."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from privgmm.cli.announce import announce, confirm
from privgmm.cli.stated import bounds_of, center_of, listed
from privgmm.cli.terminal import Terminated, Watch, plain, watching
from privgmm.data.parts import TableFile
from privgmm.errors import InputError
from privgmm.files import check_target
from privgmm.model.schema import Schema
from privgmm.releases.release import UNLABELLED
from privgmm.types import Unit

if TYPE_CHECKING:
    from privgmm.curate.request import MechanismName, RecordAdjacency
    from privgmm.ledger import Charge


@dataclass(frozen=True)
class Options:
    """The command line of ``privgmm release``."""

    data: TableFile
    label: str | None
    unit: Unit
    epsilon: float
    delta: float
    components: int | None
    bounds: str | None
    radius: float | None
    center: Path | None
    classes: str | None
    columns: str | None
    preprocess: str | None
    mechanism: MechanismName
    adjacency: RecordAdjacency
    objective: Literal["balanced", "paper"]
    ledger: Path | None
    ledger_table: str | None
    note: str
    engine: str
    scheduler: str | None
    seed: int | None
    output: Path
    on_bad_row: Literal["refuse", "drop"]
    classes_from_data: bool
    # Options of the published method, as ``privgmm.release`` takes them.
    published: dict[str, Any]
    schema: Path | None = None
    overwrite: bool = False
    yes: bool = False
    person: str | None = None
    count: Literal["persons", "rows"] = "persons"
    max_rows: int | None = None
    diagnose: bool = False
    components_per_class: str = "1"


def run(options: Options) -> None:
    """``privgmm release``: one table in, one release file out."""
    from privgmm.curate import release
    from privgmm.privacy.accounting import check_epsilon_delta
    from privgmm.releases.wording import not_usable

    check_epsilon_delta(options.epsilon, options.delta)
    check_target(
        options.output,
        options.data,
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
    charge = _charge(options)
    if not options.yes:
        announce(options, schema)
    with (
        _telling_what_was_spent(charge),
        _client(options) as client,
        watching() as watch,
    ):
        result = release(
            **_rows(options, schema, client),
            epsilon=options.epsilon,
            delta=options.delta,
            unit=options.unit,
            radius=options.radius,
            center=None if options.center is None else center_of(options.center),
            mechanism=options.mechanism,
            adjacency=options.adjacency,
            objective=options.objective,
            components_per_class=_per_class(options.components_per_class),
            seed=options.seed,
            published=options.published,
            n_components=options.components,
            label_name=label or UNLABELLED,
            ledger=charge,
            note=options.note,
            ledger_table=options.ledger_table,
            on_bad_row=options.on_bad_row,
            progress=watch.passed,
            stage=watch.stage,
            diagnose=_telling(options, watch) if options.diagnose else None,
        )
        result.save(options.output, replace=True)
    if options.mechanism == "published":
        print("Note: the published method's guarantee is not proven; do not rely on it.")
    print(f"Wrote {plain(options.output)}: {plain(result.guarantee.promise)}")
    lost = not_usable(result)
    for sentence in lost:
        print(plain(sentence))
    if lost and options.unit == "record" and not options.diagnose:
        print(
            "If more was expected: --diagnose tells you, and only you, whether the bounds hold the rows."
        )
    if charge is not None:
        _print_rest(charge)


def _telling(options: Options, watch: Watch) -> Callable[[tuple[str, ...]], None]:
    """Shows a diagnosis and, where somebody can answer, asks before anything is spent."""

    def tell(sentences: tuple[str, ...]) -> None:
        with watch.still():
            for sentence in sentences:
                print(f"For your eyes only: {plain(sentence)}", file=sys.stderr)
            if not options.yes:
                confirm()

    return tell


def _charge(options: Options) -> Charge | None:
    from privgmm.ledger import Charge, Ledger

    if options.ledger is None:
        return None
    return Charge(Ledger(options.ledger), Path(options.data).name, options.output.name)


@contextmanager
def _telling_what_was_spent(charge: Charge | None) -> Iterator[None]:
    """Whoever interrupts a release, or loses it to a full disk, hears what it has cost already."""
    try:
        yield
    except InputError as problem:
        spent = "" if charge is None else _spent(charge)
        if not spent:
            raise
        raise InputError(f"{problem} {spent}") from None
    except (KeyboardInterrupt, Terminated) as stop:
        spent = "" if charge is None else _spent(charge) or "Nothing was spent."
        # A kind of its own: the parser swallows KeyboardInterrupt.
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
    """What is left; the release stands, so a ledger that cannot be read now is no failure of it."""
    try:
        rest = [budget.words for budget in charge.ledger.budgets()]
    except InputError as problem:
        rest = [f"What remains is not known: {problem}"]
    for words in rest:
        print(plain(f"Ledger {charge.ledger.path}: {words}"))


def _check_classes(options: Options, schema: Schema) -> None:
    """Names read from private labels are published without protection: only if the user says so."""
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


def _rows(options: Options, schema: Schema, client: Any) -> dict[str, Any]:
    """The arguments that say which rows of the file or folder."""
    return {
        "X": options.data,
        "schema": schema,
        "label": options.label,
        "columns": listed(options.columns),
        "person": options.person,
        "count": options.count,
        "max_rows": options.max_rows,
        "classes": listed(options.classes),
        "bounds": bounds_of(options.bounds),
        "preprocessing": _steps(options.preprocess),
        "client": client,
    }


def _client(options: Options) -> AbstractContextManager[Any]:
    if options.engine == "local":
        return nullcontext()
    from privgmm.data.dask_opening import connected

    return connected(options.scheduler)


def _per_class(text: str) -> Any:
    """A number or "auto", as ``privgmm.release`` takes and checks them."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else text


def _steps(text: str | None) -> list[Any]:
    """log,standardise,pca:5 -- or a JSON file of steps with public parameters."""
    if text is None:
        return []
    if text.endswith(".json"):
        from privgmm.transform import public_steps

        return list(public_steps(Path(text)))
    return [part.strip() for part in text.split(",")]
