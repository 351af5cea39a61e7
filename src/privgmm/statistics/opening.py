"""Opening a table that may be larger than memory: names and types first, then at most one pass."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from privgmm.checks import whole
from privgmm.errors import InputError
from privgmm.frames.csvfile import csv_names
from privgmm.frames.labels import Kind, label_array, text_kind
from privgmm.frames.names import choose
from privgmm.frames.parquetfile import check_parquet_types, parquet_names
from privgmm.frames.parts import Format, find_parts
from privgmm.model.mixture import ClassName, class_names
from privgmm.statistics.features import ArrayFeatures, Features, StreamedFeatures
from privgmm.statistics.layout import Layout
from privgmm.statistics.parquet_source import ParquetSource
from privgmm.statistics.pieces import CsvPiece, Piece, parquet_pieces
from privgmm.statistics.source import ArraySource, Source
from privgmm.statistics.streamed import StreamedSource
from privgmm.statistics.tally import MOST_CLASSES, Progress, no_progress, refuse_unusable


@dataclass(frozen=True, eq=False)
class Opened:
    """A source and what is known about it; ``classes_from_data`` is a leak for the caller to report."""

    source: Source
    classes: tuple[ClassName, ...]
    feature_names: tuple[str, ...]
    label_name: str | None
    classes_from_data: bool

    @property
    def features(self) -> Features:
        """For units that treat features as public."""
        if isinstance(self.source, StreamedSource):
            return StreamedFeatures(self.source)
        if isinstance(self.source, ArraySource):
            return ArrayFeatures(self.source.X)
        raise InputError("This source does not hand out its rows.")

    def check(self) -> None:
        """Refuse unusable rows now, e.g. before a ledger is charged; rows in memory were checked."""
        if isinstance(self.source, StreamedSource):
            self.source.check()


def open_source(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    label: str | None = None,
    classes: Sequence[ClassName] | None = None,
    n_components: int | None = None,
    client: Any = None,
    progress: Progress = no_progress,
) -> Opened:
    """A Parquet or CSV file, or a folder of parts, as a source.

    ``classes`` is the public class list; texts may spell the numbers of a numeric label column.
    Without it the label column is passed over once and the list is read from it, which leaks. A
    table without ``label`` is unlabelled, and ``n_components`` says how many components to fit.
    With a Dask ``client`` all passes run on its workers, which must see the files under the same path.
    """
    format_, files = find_parts(path)
    layout, kind = _described(format_, files, columns, label, str(path))
    pieces: tuple[Piece, ...]
    lengths: tuple[int, ...] = ()
    if format_ == "csv":
        pieces = tuple(CsvPiece(str(file)) for file in files)
    else:
        row_groups = parquet_pieces(files)
        pieces, lengths = row_groups, tuple(piece.n_rows for piece in row_groups)
    source: StreamedSource
    if client is None:
        source = ParquetSource(layout, lengths, 0, str(path), pieces, progress)
    else:
        from privgmm.statistics.dask_source import DaskSource

        source = DaskSource(layout, lengths, 0, str(path), client, pieces, progress)
    return finish(source, kind, classes, n_components, counted=format_ == "parquet")


def file_features(
    path: str | os.PathLike[str], columns: Sequence[str] | None, label: str | None
) -> tuple[str, ...]:
    """The names of the features that ``open_source`` would use; no row is read."""
    format_, files = find_parts(path)
    return _described(format_, files, columns, label, str(path))[0].features


def finish(
    source: StreamedSource,
    kind: Kind | None,
    classes: Sequence[ClassName] | None,
    n_components: int | None,
    counted: bool,
) -> Opened:
    """Settle the class list, and count the rows unless they are ``counted`` already."""
    layout, found, lengths = source.layout, frozenset[ClassName](), source.lengths
    labelled = layout.label is not None
    if not counted or (labelled and classes is None):
        # Where rows are counted by metadata, only the label column has to be read.
        asked = replace(layout, features=()) if counted else layout
        survey, lengths = source.run(asked, None)
        refuse_unusable(survey, asked, source.where)
        found = survey.labels
    if sum(lengths) == 0:
        raise InputError(f"{source.where} has no rows; give a table with data.")
    if not labelled:
        names = component_names(n_components, classes)
    else:
        if kind is None:  # the texts of a CSV: only all of them together tell what they stand for
            kind = text_kind({str(text) for text in found})
            layout = replace(layout, kind=kind)
            found = frozenset(_as_kind([str(text) for text in found], kind))
        names = class_names(sorted(found)) if classes is None else _stated(classes, kind)
    settled = replace(layout, classes=names)
    return Opened(
        replace(source, layout=settled, lengths=lengths, n_classes=len(names)),
        names,
        layout.features,
        layout.label,
        classes_from_data=labelled and classes is None,
    )


def label_kind(type_: Any) -> Kind:
    """What a label column of this Arrow type holds."""
    import pyarrow as pa

    value = type_.value_type if pa.types.is_dictionary(type_) else type_
    if pa.types.is_boolean(value):
        return "boolean"
    if pa.types.is_integer(value):
        return "integer"
    return "number" if pa.types.is_floating(value) else "text"


def _described(
    format_: Format,
    files: tuple[Path, ...],
    columns: Sequence[str] | None,
    label: str | None,
    where: str,
) -> tuple[Layout, Kind | None]:
    """Columns chosen from the first file, once the others are known to agree with it."""
    read_names = csv_names if format_ == "csv" else parquet_names
    names = read_names(files[0])
    choice = choose(names, columns, label, str(files[0]))
    if any(set(read_names(file)) != set(names) for file in files[1:]):
        raise InputError(
            f"The parts in {where} do not have the same columns; write them from one table."
        )
    layout = Layout(choice.features, choice.label)
    if format_ == "csv":
        return layout, None
    kinds = [check_parquet_types(file, choice) for file in files]
    if any(kind != kinds[0] for kind in kinds[1:]):
        raise InputError(
            f"The parts in {where} store their label column as different types; "
            "write them from one table."
        )
    return layout, None if label is None else label_kind(kinds[0])


def component_names(
    n_components: int | None, classes: Sequence[ClassName] | None
) -> tuple[ClassName, ...]:
    if n_components is None:
        raise InputError("Rows without labels need n_components, the number of components to fit.")
    whole(n_components, "The number of components", at_most=MOST_CLASSES)
    names = range(n_components) if classes is None else classes
    listed = class_names(names)
    if len(listed) != n_components:
        raise InputError(f"{n_components} components need as many names, got {len(listed)}.")
    return listed


def _stated(classes: Sequence[ClassName], kind: Kind) -> tuple[ClassName, ...]:
    """The stated class list in the type of the label column."""
    names = class_names(classes)
    texts = [name for name in names if isinstance(name, str)]
    if kind == "text" or len(texts) < len(names):
        return names
    try:
        return class_names(_as_kind(texts, kind))
    except (KeyError, ValueError):
        noun = "booleans" if kind == "boolean" else "numbers"
        raise InputError(f"The label column holds {noun}, so the class list must too.") from None


def _as_kind(texts: list[str], kind: Kind) -> list[ClassName]:
    import pyarrow as pa

    values: list[ClassName] = np.asarray(label_array(pa.array(texts, pa.string()), kind)).tolist()
    return values
