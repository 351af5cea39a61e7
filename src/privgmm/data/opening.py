"""Opening a table: names and types first; small files are then read once, larger ones stream in passes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from privgmm.data.features import ArrayFeatures, Features, StreamedFeatures
from privgmm.data.ids import id_array
from privgmm.data.labels import (
    bounded,
    component_names,
    converted,
    distinct,
    found_classes,
)
from privgmm.data.memory import WHERE, columns_of
from privgmm.data.parts import table_file
from privgmm.data.passes import Nothing, Progress, no_progress
from privgmm.data.persons import Whose
from privgmm.data.reading import Files, PathLike, describe, no_rows
from privgmm.data.source import ArraySource, Source
from privgmm.data.streamed import FileSource, PersonSource, StreamedSource
from privgmm.data.table import Layout
from privgmm.data.validate import finite_rows, refuse_overflowing, unusable
from privgmm.errors import InputError
from privgmm.model.columns import Column
from privgmm.model.labels import find_classes, label_codes, label_positions
from privgmm.model.mixture import class_names
from privgmm.types import ClassName, Codes, Floats, PersonUnit

# Files whose numbers take at most this many bytes in memory are read once and kept: otherwise every query and
# every look at public features would read the file again.
IN_MEMORY_BYTES = 1 << 28
# While a file is read, threads work out whose rows these are for this many batches at a time.
_TOLD_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class Opened:
    """A source and what is known about it. ``classes_from_data``: the class list was read from the labels, a leak that the caller reports."""

    source: Source
    classes: tuple[ClassName, ...]
    feature_names: tuple[str, ...]
    label_name: str | None
    classes_from_data: bool
    # Names of features and label in the order of the input, where they have names there.
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
        """The same with all rows in memory, because ``what`` cannot be done in passes."""
        if isinstance(self.source, ArraySource):
            return self
        if not isinstance(self.source, (FileSource, PersonSource)):
            raise InputError(
                f"{what} needs the table in memory; read it first and give its arrays."
            )
        return replace(self, source=self.source.loaded(what))

    def check(self, public: bool = False) -> None:
        """Refuse unusable rows now, e.g. before a ledger is charged; rows in memory were checked when they were read.

        Where features are ``public``, values whose squares overflow are refused too, since that reveals nothing private.
        """
        if public:
            refuse_overflowing(self.features.chunks(), self.feature_names)
        if isinstance(self.source, (StreamedSource, PersonSource)):
            self.source.check()


@dataclass(frozen=True)
class Asked:
    """How a table is to be opened.

    label, columns : the label column and the features of a file or frame
    classes : the public class list, to which labels are matched as texts (``model.labels``); without
        it the list is read from the labels, which leaks
    n_components : of a table without labels, how many components to fit
    client : a Dask client, whose workers do all passes and must see files under the same path
    progress : told how many rows were passed over
    drop_bad : rows that cannot be used contribute nothing, instead of being refused: a row with an unusable
        feature is left out, a row of no listed class has a negative code
    in_memory : files of at most so many bytes are read once and kept
    persons, ids : how rows of one person count, by a column of the file or frame or by ids (n,) beside an array
    stated : the features as a schema states them, some of which may have categories or missing cells
    """

    label: str | None = None
    columns: Sequence[str] | None = None
    classes: Sequence[ClassName] | None = None
    n_components: int | None = None
    client: Any = None
    progress: Progress = no_progress
    drop_bad: bool = False
    in_memory: int = 0
    persons: PersonUnit | None = None
    ids: Any = None
    stated: tuple[Column, ...] = ()

    @property
    def person(self) -> str | None:
        """The column of persons, where it is one of the table's."""
        return None if self.persons is None or self.ids is not None else self.persons.column


def open_rows(X: Any, y: Any = None, **asked: Any) -> Opened:
    """A source of a frame or array X (n, d) and labels y (n,), of a path, or of a Dask frame or array.

    The keywords are those of ``Asked``. Unlabelled rows have code zero.
    """
    wanted = Asked(**asked)
    if isinstance(X, (str, os.PathLike)):
        if y is not None:
            raise InputError("The labels of a file are one of its columns; name it as label.")
        if wanted.ids is not None:
            raise InputError("The persons of a file are one of its columns; name it as person.")
        return _open_files(X, wanted)
    if wanted.client is not None or hasattr(X, "__dask_graph__"):
        if any(not column.plain for column in wanted.stated):
            raise InputError(
                "Categories and missing cells of a Dask collection cannot be read; save it as Parquet files."
            )
        from privgmm.data.dask_opening import open_collection

        return open_collection(X, y, wanted)
    return _open_memory(X, y, wanted)


def _open_memory(X: Any, y: Any, asked: Asked) -> Opened:
    """A frame or array as a source."""
    label, classes = asked.label, asked.classes
    listed = classes is not None
    found = columns_of(
        X, y, label, asked.columns, listed, asked.drop_bad, asked.person, asked.stated
    )
    texts = found.persons if asked.ids is None else id_array(asked.ids)
    if found.labels is None:
        names, codes = component_names(asked.n_components, classes), np.zeros(len(found.X), np.intp)
    elif isinstance(found.labels, np.ndarray):
        names, codes = find_classes(found.labels, classes)
    else:
        names, codes = _coded([distinct(found.labels, None, asked.drop_bad)], classes, texts=False)
    features = found.layout.features
    layout = replace(found.layout, label=label)
    whose = None
    if asked.persons is not None:
        if len(texts) != len(found.X):
            raise InputError(
                f"Persons must be one per row: {len(found.X)} rows, {len(texts)} persons."
            )
        whose = Whose.of(texts, found.X, asked.persons)
    source = _checked_source(found.X, codes, len(names), layout, WHERE, whose)
    leak = found.labels is not None and classes is None
    named = (features, label, leak, found.layout.order) if found.named else ((), label, leak)
    return Opened(source, names, *named)


def _open_files(path: PathLike, asked: Asked) -> Opened:
    """A Parquet or CSV file, or a folder of parts, as a source."""
    if asked.client is not None and table_file(path).data is not None:
        raise InputError("Workers cannot read standard input; save the table to a file first.")
    files = describe(path, asked.columns, asked.label, asked.person, asked.stated)
    files = replace(files, layout=replace(files.layout, drop_bad=asked.drop_bad))
    if asked.client is None and files.fits(asked.in_memory):
        read = _read_once(files, asked)
        if read is not None:
            return read
    counted = files.lengths is not None and not asked.drop_bad
    lengths = files.lengths if counted and files.lengths is not None else ()
    source: StreamedSource
    if asked.client is None:
        source = FileSource(files.layout, lengths, 0, files.where, files.pieces, asked.progress)
    else:
        from privgmm.data.dask_source import DaskSource

        source = DaskSource(
            files.layout, lengths, 0, files.where, asked.client, files.pieces, asked.progress
        )
    return finish(source, files.texts, asked, counted)


def finish(source: StreamedSource, texts: bool, asked: Asked, counted: bool) -> Opened:
    """Find the class list, count the rows unless they are ``counted`` already, and count the persons.

    Stated classes are published as stated; which labels occur has no influence on them.
    """
    layout, lengths, classes = source.layout, source.lengths, asked.classes
    labelled = layout.label is not None
    if labelled and classes is None:
        # Where the metadata tell the number of rows, only the label column has to be read.
        least = replace(layout, features=(), person=None) if counted else layout
        survey, lengths = source.run(least, None)
        survey.bad.refuse(least.features, least.label, source.where, least.person)
        if not survey.labels:
            raise no_rows(source.where)
        names, kind = found_classes(survey.labels, texts)
        layout = replace(layout, kind=kind)
    elif labelled:
        names = class_names(classes or ())
        label_positions(names)  # refuses a list in which one text names two classes
    else:
        names = component_names(asked.n_components, classes)
    settled = replace(source, layout=replace(layout, classes=names), n_classes=len(names))
    if not (counted or lengths):
        found, lengths = settled.run(settled.layout, Nothing())
        found.bad.refuse(layout.features, layout.label, source.where, layout.person)
    settled = replace(settled, lengths=lengths)
    return Opened(
        settled if asked.persons is None else PersonSource.of(settled, asked.persons),
        names,
        layout.features,
        layout.label,
        classes_from_data=labelled and classes is None,
        order=layout.order,
    )


def _read_once(files: Files, asked: Asked) -> Opened | None:
    """All rows in memory, read in one pass; None if their numbers turn out to take more bytes than allowed."""
    layout, n_rows, classes, persons = files.layout, 0, asked.classes, asked.persons
    parts, labels = [np.empty((0, len(layout.features)))], []
    whose, waiting = None if persons is None else Whose(persons), list[tuple[Floats, Any]]()
    for piece in files.pieces:
        for batch in piece.batches(layout):
            n_rows += batch.num_rows
            if 8 * n_rows * len(layout.features) > asked.in_memory:
                return None
            parts.append(layout.matrix(batch))
            labels.append(layout.labels(batch))
            if whose is not None:
                waiting.append((parts[-1], layout.id_column(batch)))
                if len(waiting) == _TOLD_AT_ONCE:
                    whose.add(waiting)
                    waiting.clear()
            asked.progress(batch.num_rows)
    if whose is not None:
        whose.add(waiting)
        waiting.clear()
    X = np.concatenate(parts)
    parts.clear()
    if layout.label is None:
        names, codes = component_names(asked.n_components, classes), np.zeros(n_rows, np.intp)
    else:
        names, codes = _coded(labels, classes, files.texts)
    source = _checked_source(X, codes, len(names), layout, files.where, whose)
    if layout.label is not None and not names:
        raise no_rows(files.where)
    leak = layout.label is not None and classes is None
    return Opened(source, names, layout.features, layout.label, leak, layout.order)


def _coded(
    labels: list[tuple[list[Any], Codes]], classes: Sequence[ClassName] | None, texts: bool
) -> tuple[tuple[ClassName, ...], Codes]:
    """The class list, stated or found, and each row's code; ``labels`` are what ``distinct`` returned for each part."""
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
    whose: Whose | None = None,
) -> ArraySource:
    """Rows in memory as a source: unusable ones are refused, or left out where the layout says so."""
    if layout.drop_bad:
        kept = finite_rows(X) if whose is None else whose.kept
        X, codes = X[kept], codes[kept]
    else:
        bad = unusable(X, codes)
        if whose is not None:
            bad += bad.of_persons(sum(whose.missing))
        person = None if whose is None else whose.persons.column
        bad.refuse(layout.features, layout.label, where, person)
    return ArraySource(X, codes, n_classes, shares=None if whose is None else whose.shares())
