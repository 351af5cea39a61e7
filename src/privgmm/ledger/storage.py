"""The ledger's file: SQLite in WAL mode, append-only, one sentence for every way it can fail."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from privgmm.errors import InputError

# "pgml", by which a ledger is told from any other SQLite file.
APPLICATION_ID = 0x70676D6C
VERSION = 2
# A spend takes milliseconds; after this long the process that holds the lock is taken to be stuck.
_PATIENCE_SECONDS = 60.0
_TURN_SECONDS = 0.5

# Columns of each version, compared on opening: a flipped bit in the version number must not make rows be read wrongly.
_COLUMNS = {
    1: {
        "budget": "id at relation epsilon delta seal",
        "spend": "id at kind relation epsilon delta note "
        "cost_mu cost_epsilon cost_delta cost_distance seal",
    },
    2: {
        "budget": "id at relation epsilon delta max_rows seal",
        "spend": "id at kind relation epsilon delta note table_name table_digest output "
        "cost_mu cost_epsilon cost_delta cost_distance seal",
    },
}
LAYOUT = (
    """CREATE TABLE budget (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, relation TEXT,
    epsilon REAL NOT NULL CHECK (epsilon > 0), delta REAL NOT NULL CHECK (delta > 0 AND delta < 1),
    max_rows REAL CHECK (max_rows >= 1), seal TEXT NOT NULL
)""",
    # Costs are those between neighbours of the release's own kind (relation).
    """CREATE TABLE spend (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, kind TEXT NOT NULL, relation TEXT,
    epsilon REAL NOT NULL, delta REAL NOT NULL, note TEXT NOT NULL,
    table_name TEXT NOT NULL, table_digest TEXT NOT NULL, output TEXT NOT NULL,
    cost_mu REAL NOT NULL CHECK (cost_mu >= 0), cost_epsilon REAL NOT NULL CHECK (cost_epsilon >= 0),
    cost_delta REAL NOT NULL CHECK (cost_delta >= 0), cost_distance REAL NOT NULL, seal TEXT NOT NULL,
    CHECK (cost_mu > 0 OR cost_epsilon > 0)
)""",
    *(
        f"CREATE TRIGGER {table}_{action.lower()} BEFORE {action} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'append-only'); END"
        for table in ("budget", "spend")
        for action in ("UPDATE", "DELETE")
    ),
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)


@contextlib.contextmanager
def transaction(path: Path, create: bool = False) -> Iterator[sqlite3.Connection]:
    """A connection that holds the write lock; committed to disk when the block ends, or undone.

    The lock is taken before anything is read, so two processes cannot both see the same rest.
    """
    with sentences(path):
        if not create and not path.is_file():
            raise InputError(
                f"There is no ledger at {path}; make one with 'privgmm ledger budget'."
            )
        with contextlib.closing(_locked(path, create)) as connection:
            try:
                if create and _is_empty(connection):
                    for statement in LAYOUT:
                        connection.execute(statement)
                check(connection, path)
                yield connection
            except BaseException:
                connection.rollback()
                raise
            connection.commit()


def is_unmade(path: Path) -> bool:
    """Whether no ledger stands there: no file, or an empty one that a cut-short creation left."""
    with sentences(path):
        if not path.is_file() or path.stat().st_size == 0:
            return True
        with contextlib.closing(_connect(path, False, _PATIENCE_SECONDS)) as connection:
            return _is_empty(connection)


@contextlib.contextmanager
def sentences(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn every failure of the file into one sentence."""
    try:
        yield
    except (sqlite3.NotSupportedError, sqlite3.OperationalError) as problem:
        reason = str(problem)
        if "decode" in reason:
            # A damaged text is no longer valid; SQLite's own message would quote it.
            raise _damaged(path) from None
        if _is_busy(problem):
            reason = "another process is holding it; try again when that has ended"
        raise InputError(f"Cannot use the ledger {path}: {reason}.") from None
    except (sqlite3.Error, sqlite3.Warning):
        raise _damaged(path) from None
    except (OSError, ValueError) as problem:
        if isinstance(problem, InputError):
            raise
        reason = getattr(problem, "strerror", None) or "the path is not usable"
        raise InputError(f"Cannot use the ledger {path}: {reason}.") from None


def _damaged(path: str | os.PathLike[str]) -> InputError:
    return InputError(
        f"{path} is not a privgmm ledger, or it is damaged; restore it from a backup."
    )


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse other databases, newer ledgers and damaged ones."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise InputError(f"{path} is not a privgmm ledger; name another file.")
    if version > VERSION:
        raise InputError(
            f"{path} was written by a newer privgmm (ledger version {version}); upgrade to use it."
        )
    for table, columns in _COLUMNS.get(version, {"version": ""}).items():
        found = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        if " ".join(found) != columns or not found:
            raise sqlite3.DatabaseError(f"table {table} is not that of version {version}")
    (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if state != "ok":
        raise sqlite3.DatabaseError(state)


def _locked(path: Path, create: bool) -> sqlite3.Connection:
    """A connection that holds the write lock. It waits in short turns, so that Ctrl-C works between them."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        connection = None
        try:
            connection = _connect(path, create, min(_TURN_SECONDS, _PATIENCE_SECONDS))
            connection.execute("BEGIN IMMEDIATE")
            return connection
        except BaseException as problem:
            if connection is not None:
                connection.close()
            if not _is_busy(problem) or time.monotonic() > deadline:
                raise


def _is_busy(problem: BaseException) -> bool:
    words = str(problem) if isinstance(problem, sqlite3.OperationalError) else ""
    return "locked" in words or "busy" in words


def _connect(path: Path, create: bool, patience: float) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=patience, isolation_level=None)
    try:
        if create and _is_empty(connection):
            connection.execute("PRAGMA journal_mode = WAL")
        # A spend must be on the disk before its noise is drawn, even if the power fails.
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def _is_empty(connection: sqlite3.Connection) -> bool:
    (objects,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return bool(objects == 0)
