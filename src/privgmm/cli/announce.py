"""What a release is about to use, shown to the person at the terminal before any noise is drawn."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from privgmm.cli.terminal import plain
from privgmm.errors import InputError
from privgmm.model.columns import Column
from privgmm.model.schema import Schema, like_identifier

if TYPE_CHECKING:
    from privgmm.cli.options import ReleaseOptions
    from privgmm.data.parts import TableFile

_LISTED = 40
_PROTECTED = {"label": "each row's label (all other columns count as public)", "record": "each row"}
_OF_PERSONS = {
    "label": "the labels of all rows of each {} (all other columns count as public)",
    "record": "each {}, with all of its rows",
}


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
