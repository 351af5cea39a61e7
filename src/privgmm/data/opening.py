"""Opening a table: names and types first; small files are then read once, larger ones stream in passes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from privgmm.data.features import ArrayFeatures, Features, StreamedFeatures
from privgmm.data.labels import (
    bounded,
    component_names,
    converted,
    distinct,
    found_classes,
    label_array,
    missing_labels,
    text_kind,
)
from privgmm.data.memory import WHERE, columns_of
from privgmm.data.names import choose
from privgmm.data.parquetfile import ParquetFile
from privgmm.data.parts import check_same_names, open_files, size_of, table_file
from privgmm.data.person_source import PersonSource
from privgmm.data.persons import array_shares, id_array, joined_ids, missing_ids
from privgmm.data.source import ArraySource, Source
from privgmm.data.streamed import FileSource, Nothing, Piece, Progress, StreamedSource, no_progress
from privgmm.data.table import Layout, Table
from privgmm.data.validate import finite_rows, unusable
from privgmm.errors import InputError
from privgmm.model.columns import Column
from privgmm.model.labels import find_classes, label_codes, label_positions
from privgmm.model.mixture import class_names
from privgmm.types import ClassName, Codes, Floats, PersonUnit

PathLike = str | os.PathLike[str]

# Files whose numbers take no more bytes than this in memory are read once and kept: a label-level
# release passes over its table some fourteen times.
IN_MEMORY_BYTES = 1 << 28


@dataclass(frozen=True, eq=False)
class Opened:
    """A source and what is known about it; ``classes_from_data`` is a leak for the caller to report."""

    source: Source
    classes: tuple[ClassName, ...]
    feature_names: tuple[str, ...]
    label_name: str | None
    classes_from_data: bool
    # Features and label as they stand in the input, where they have names there.
    order: tuple[str, ...] = ()

    @cached_property
    def features(self) -> Features:
        """For units that treat features as public."""
        if isinstance(self.source, (StreamedSource, PersonSource)):
            return StreamedFeatures(self.source)
        if isinstance(self.source, ArraySource):
            return ArrayFeatures(self.source.X, self.source.shares)
        raise InputError("This source does not hand out its rows.")

    def loaded(self, what: str) -> Opened:
        """With the rows in memory, for ``what`` cannot be done in passes."""
        if isinstance(self.source, ArraySource):
            return self
        if not isinstance(self.source, (FileSource, PersonSource)):
            raise InputError(
                f"{what} needs the table in memory; read it first and give its arrays."
            )
        return replace(self, source=self.source.loaded(what))

    def check(self) -> None:
        """Refuse unusable rows now, e.g. before a ledger is charged; rows in memory were checked."""
        if isinstance(self.source, (StreamedSource, PersonSource)):
            self.source.check()


@dataclass(frozen=True)
class Files:
    """A table on disk of which no row was read: its layout and its pieces.

    ``lengths`` are the rows of each piece where the metadata tell them (Parquet; None: CSV), ``size``
    the bytes of all files.
    """

    where: str
    layout: Layout
    pieces: tuple[Piece, ...]
    lengths: tuple[int, ...] | None
    size: int

    @property
    def texts(self) -> bool:
        """Whether the labels are texts, of which only all together tell what they stand for."""
        return self.lengths is None

    def fits(self, limit: int) -> bool:
        """Whether the rows may fit into so many bytes, as far as can be known without reading them."""
        if self.lengths is None:
            return self.size <= limit
        return 8 * sum(self.lengths) * len(self.layout.features) <= limit


def describe(
    path: PathLike,
    columns: Sequence[str] | None = None,
    label: str | None = None,
    person: str | None = None,
    stated: tuple[Column, ...] = (),
) -> Files:
    """Names and types of a CSV or Parquet file, or a folder of such parts; each header is read once.

    ``columns`` are the features in their order (default: every column but the label and the column of
    persons), all numeric unless ``stated`` otherwise.
    """
    files = open_files(path)
    choice = choose(files[0].names, columns, label, files[0].path, person)
    check_same_names(files, path)
    size = sum(size_of(file) for file in files)
    layout = Layout(choice.features, choice.label, person=person, order=choice.order, stated=stated)
    parquet = [file for file in files if isinstance(file, ParquetFile)]
    if not parquet:
        texts = tuple(file for file in files if not isinstance(file, ParquetFile))
        return Files(str(path), layout, texts, None, size)
    types = [file.check_types(layout) for file in parquet]
    if any(type_ != types[0] for type_ in types[1:]):
        raise InputError(
            f"The parts in {path} store their label column as different types; "
            "write them from one table."
        )
    pieces = tuple(piece for file in parquet for piece in file.pieces())
    return Files(str(path), layout, pieces, tuple(piece.n_rows for piece in pieces), size)


def open_rows(
    X: Any,
    y: Any = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    classes: Sequence[ClassName] | None = None,
    n_components: int | None = None,
    client: Any = None,
    progress: Progress = no_progress,
    drop_bad: bool = False,
    in_memory: int = 0,
    persons: PersonUnit | None = None,
    ids: Any = None,
    stated: tuple[Column, ...] = (),
) -> Opened:
    """A source of a frame or array X (n, d) and labels y (n,), of a path, or of a Dask frame or array.

    ``label`` and ``columns`` name columns of a file or frame. With a Dask ``client`` its workers
    do the passes; else files of at most ``in_memory`` bytes are read once. Rows that cannot be used are refused, or with ``drop_bad`` contribute nothing: a
    row with an unusable feature is left out, one of no listed class has a negative code. Unlabelled rows have code zero, and ``n_components`` says how many classes to fit.
    ``persons`` says how rows of one person count, by a column of the file or frame or by ``ids`` (n,) beside an array.
    ``stated`` says of which features cells may be categories or missing.
    """
    person = None if persons is None or ids is not None else persons.column
    if isinstance(X, (str, os.PathLike)):
        if y is not None:
            raise InputError("The labels of a file are one of its columns; name it as label.")
        if ids is not None:
            raise InputError("The persons of a file are one of its columns; name it as person.")
        return open_source(
            X,
            columns,
            label,
            classes,
            n_components,
            client,
            progress,
            drop_bad,
            in_memory,
            persons,
            stated,
        )
    if client is not None or hasattr(X, "__dask_graph__"):
        if any(not column.plain for column in stated):
            raise InputError(
                "Categories and missing cells of a Dask collection cannot be read; save it as Parquet files."
            )
        from privgmm.data.dask_opening import open_collection

        return open_collection(
            X, y, label, columns, classes, n_components, client, progress, drop_bad, persons, ids
        )
    found = columns_of(X, y, label, columns, classes is not None, drop_bad, person, stated)
    texts = found.persons if ids is None else id_array(ids)
    if found.labels is None:
        names, codes = component_names(n_components, classes), np.zeros(len(found.X), np.intp)
    elif isinstance(found.labels, np.ndarray):
        names, codes = find_classes(found.labels, classes)
    else:
        names, codes = _coded([distinct(found.labels, None, drop_bad)], classes, texts=False)
    features = found.layout.features
    layout = replace(found.layout, label=label)
    source = _checked_source(found.X, codes, len(names), layout, WHERE, persons, texts)
    leak = found.labels is not None and classes is None
    named = (features, label, leak, found.layout.order) if found.named else ((), label, leak)
    return Opened(source, names, *named)


def open_source(
    path: PathLike,
    columns: Sequence[str] | None = None,
    label: str | None = None,
    classes: Sequence[ClassName] | None = None,
    n_components: int | None = None,
    client: Any = None,
    progress: Progress = no_progress,
    drop_bad: bool = False,
    in_memory: int = 0,
    persons: PersonUnit | None = None,
    stated: tuple[Column, ...] = (),
) -> Opened:
    """A Parquet or CSV file, or a folder of parts, as a source.

    ``classes`` is the public class list; labels are matched to it as texts (``model.labels``).
    Without it the list is read from the label column, which leaks. A table without ``label`` is unlabelled, and
    ``n_components`` says how many components to fit. With ``drop_bad`` rows that cannot be used contribute nothing, instead of being refused.
    With a Dask ``client`` all passes run on its workers, which must see the files under the same path.
    """
    if client is not None and table_file(path).data is not None:
        raise InputError("Workers cannot read standard input; save the table to a file first.")
    person = None if persons is None else persons.column
    files = describe(path, columns, label, person, stated)
    files = replace(files, layout=replace(files.layout, drop_bad=drop_bad))
    if client is None and files.fits(in_memory):
        read = _read_once(files, classes, n_components, progress, in_memory, persons)
        if read is not None:
            return read
    counted = files.lengths is not None and not drop_bad
    lengths = files.lengths if counted and files.lengths is not None else ()
    source: StreamedSource
    if client is None:
        source = FileSource(files.layout, lengths, 0, files.where, files.pieces, progress)
    else:
        from privgmm.data.dask_source import DaskSource

        source = DaskSource(files.layout, lengths, 0, files.where, client, files.pieces, progress)
    return finish(source, files.texts, classes, n_components, counted, persons)


def finish(
    source: StreamedSource,
    texts: bool,
    classes: Sequence[ClassName] | None,
    n_components: int | None,
    counted: bool,
    persons: PersonUnit | None = None,
) -> Opened:
    """Settle the class list, and count the rows unless they are ``counted`` already; then the persons.

    Stated classes are published as stated, and which labels occur changes nothing about them.
    """
    layout, lengths = source.layout, source.lengths
    labelled = layout.label is not None
    if labelled and classes is None:
        # Where rows are counted by metadata, only the label column has to be read.
        asked = replace(layout, features=(), person=None) if counted else layout
        survey, lengths = source.run(asked, None)
        survey.bad.refuse(asked.features, asked.label, source.where, asked.person)
        if not survey.labels:
            raise _no_rows(source.where)
        names, kind = found_classes(survey.labels, texts)
        layout = replace(layout, kind=kind)
    elif labelled:
        names = class_names(classes or ())
        label_positions(names)  # refuses a list in which one text names two classes
    else:
        names = component_names(n_components, classes)
    settled = replace(source, layout=replace(layout, classes=names), n_classes=len(names))
    if not (counted or lengths):
        found, lengths = settled.run(settled.layout, Nothing())
        found.bad.refuse(layout.features, layout.label, source.where, layout.person)
    settled = replace(settled, lengths=lengths)
    return Opened(
        settled if persons is None else PersonSource.of(settled, persons),
        names,
        layout.features,
        layout.label,
        classes_from_data=labelled and classes is None,
        order=layout.order,
    )


def _read_once(
    files: Files,
    classes: Sequence[ClassName] | None,
    n_components: int | None,
    progress: Progress,
    limit: int,
    persons: PersonUnit | None,
) -> Opened | None:
    """All rows in memory, in one pass; None if their numbers take more than ``limit`` bytes after all."""
    layout, n_rows = files.layout, 0
    parts, labels, ids = [np.empty((0, len(layout.features)))], [], []
    for piece in files.pieces:
        for batch in piece.batches(layout):
            n_rows += batch.num_rows
            if 8 * n_rows * len(layout.features) > limit:
                return None
            parts.append(layout.matrix(batch))
            labels.append(layout.labels(batch))
            ids += [layout.ids(batch)] if persons is not None else []
            progress(batch.num_rows)
    X = np.concatenate(parts)
    parts.clear()
    if layout.label is None:
        names, codes = component_names(n_components, classes), np.zeros(n_rows, np.intp)
    else:
        names, codes = _coded(labels, classes, files.texts)
    texts = joined_ids(ids) if persons is not None else None
    source = _checked_source(X, codes, len(names), layout, files.where, persons, texts)
    if layout.label is not None and not names:
        raise _no_rows(files.where)
    leak = layout.label is not None and classes is None
    return Opened(source, names, layout.features, layout.label, leak, layout.order)


def _coded(
    labels: list[tuple[list[Any], Codes]], classes: Sequence[ClassName] | None, texts: bool
) -> tuple[tuple[ClassName, ...], Codes]:
    """The class list, stated or found, and each row's code; ``labels`` are parts as ``distinct`` gives them."""
    kind, parts = None, [values for values, _ in labels]
    if classes is None:
        found = frozenset(value for values in parts for value in values if value is not None)
        names, kind = found_classes(bounded(found), texts)
        parts = [[converted(value, kind) for value in values] for values in parts]
    else:
        names = class_names(classes)
    positions = label_positions(names)
    codes = [np.empty(0, np.intp)]
    for values, (_, at) in zip(parts, labels, strict=True):
        codes.append(label_codes([*values, None], positions)[at])
    return names, np.concatenate(codes)


def _checked_source(
    X: Floats,
    codes: Codes,
    n_classes: int,
    layout: Layout,
    where: str,
    persons: PersonUnit | None = None,
    ids: Any = None,
) -> ArraySource:
    """Rows in memory as a source: unusable ones are refused, or left out where the layout says so."""
    if persons is not None and len(ids) != X.shape[0]:
        raise InputError(f"Persons must be one per row: {X.shape[0]} rows, {len(ids)} persons.")
    if layout.drop_bad:
        kept = finite_rows(X) if persons is None else finite_rows(X) & ~missing_ids(ids)
        X, codes, ids = X[kept], codes[kept], None if persons is None else ids.filter(kept)
    else:
        bad = unusable(X, codes)
        if persons is not None:
            bad += bad.of_persons(ids.null_count)
        person = None if persons is None else persons.column
        bad.refuse(layout.features, layout.label, where, person)
    shares = None if persons is None else array_shares(ids, X, persons)
    return ArraySource(X, codes, n_classes, shares=shares)


def _no_rows(where: str) -> InputError:
    return InputError(f"{where} has no rows; give a table with data.")


def read_table(
    path: PathLike, columns: Sequence[str] | None = None, label: str | None = None
) -> Table:
    """Read a CSV or Parquet file, or a folder of such parts, into memory.

    Missing and infinite cells are refused with their count per column.
    """
    import pyarrow as pa

    files = describe(path, columns, label)
    chunks = list(_usable_chunks(files))
    X = np.concatenate([rows for rows, _ in chunks])
    if label is None:
        return Table(X, None, files.layout.features)
    joined = pa.chunked_array([column for _, column in chunks])
    kind = text_kind(set(joined.unique().to_pylist())) if files.texts else None
    return Table(X, label_array(joined, kind), files.layout.features, label)


def iter_batches(
    path: PathLike, columns: Sequence[str] | None = None, label: str | None = None
) -> Iterator[Table]:
    """The same rows as ``read_table`` in bounded memory, as a sequence of tables.

    Names and types are checked at once. Unusable cells end the sequence with the sentence (and
    the counts over the whole table) that ``read_table`` would give, so results built on the chunks before it must be
    thrown away. The label column of a CSV is passed over once beforehand, so that all chunks
    agree on whether it holds numbers.
    """
    return _tables(describe(path, columns, label))


def _tables(files: Files) -> Iterator[Table]:
    layout, kind = files.layout, None
    if files.texts and layout.label is not None:
        only = replace(layout, features=())
        found = (only.labels(batch)[0] for piece in files.pieces for batch in piece.batches(only))
        kind = text_kind({text for values in found for text in values if text is not None})
    for X, column in _usable_chunks(files):
        if X.shape[0]:
            labels = None if column is None else label_array(column, kind)
            yield Table(X, labels, layout.features, layout.label)


def _usable_chunks(files: Files) -> Iterator[tuple[Floats, Any]]:
    """(features, Arrow label column or None) of each batch; at the end, what is unusable is refused."""
    layout, n_rows = files.layout, 0
    bad = unusable(np.empty((0, len(layout.features))))
    for piece in files.pieces:
        for batch in piece.batches(layout):
            X, column = layout.matrix(batch), layout.label_column(batch)
            n_rows += batch.num_rows
            bad += unusable(X)
            if column is not None:
                bad += bad.of_labels(missing_labels(*layout.labels(batch)))
            # After the first unusable cell the pass goes on only to count.
            if not bad.any:
                yield X, column
    if n_rows == 0:
        raise _no_rows(files.where)
    bad.refuse(layout.features, layout.label, files.where)
