"""``privgmm schema``: a schema file to fill in, from names and kinds of columns alone."""

from __future__ import annotations

from pathlib import Path

from privgmm.cli.terminal import plain, working
from privgmm.data.parts import TableFile
from privgmm.errors import InputError
from privgmm.files import check_target, whole_file
from privgmm.model.schema import like_identifier, schema_text


def run(data: TableFile, label: str | None, output: Path | None, overwrite: bool = False) -> None:
    """``privgmm schema``: names and kinds of columns, to be filled in."""
    from privgmm.data.reading import file_kinds

    if output is not None:
        check_target(output, data, overwrite=overwrite)
    with working("Reading the kinds of the columns"):
        kinds = file_kinds(data)
    if label is not None and label not in kinds:
        from privgmm.data.names import offered

        raise InputError(f"{data} has no label column {label!r}; {offered(tuple(kinds))}.")
    text = schema_text(kinds, label, Path(data).name)
    if output is None:
        print(text, end="")
        return
    with whole_file(output) as temporary:
        temporary.write_text(text, encoding="utf-8")
    print(
        f"Wrote {plain(output)}: the names of {len(kinds)} columns and whether they hold numbers, integers or "
        "texts, and no value. Fill in what its comments ask for."
    )
    dropped = [name for name in kinds if like_identifier(name) and name != label]
    if dropped:
        print(f"Left out, being named like identifiers: {', '.join(map(plain, dropped))}.")
