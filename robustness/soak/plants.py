"""Bugs to plant: a soak that does not find them is worth nothing."""

from __future__ import annotations

import contextlib
from pathlib import Path

from privgmm import files
from privgmm.cli import sample
from privgmm.curate import publish
from privgmm.ledger import ledger, records, storage
from privgmm.releases import Release

from .brief import put


def pay_late() -> None:
    """The ledger is charged after the release was written."""
    charge, save, due = publish._charge, Release.save, []

    def saved(self, path, replace=False):
        save(self, path, replace)
        while due:
            charge(*due.pop())

    put(publish, "_charge", lambda *arguments: due.append(arguments))
    put(Release, "save", saved)


def write_in_place() -> None:
    """Outputs are written where they will stand."""

    @contextlib.contextmanager
    def whole_file(path):
        yield Path(path)

    put(files, "whole_file", whole_file)
    put(sample, "whole_file", whole_file)


def leave_litter() -> None:
    """Temporary files of failed and dead writers stay."""
    put(files, "_sweep", lambda target: None)


def never_sync() -> None:
    """A spend is acknowledged before it is on the disk."""
    connect = storage._connect

    def connected(*arguments):
        connection = connect(*arguments)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    put(storage, "_connect", connected)


def trust_bytes() -> None:
    """The seals of the ledger's rows are not looked at."""

    def unsealed(connection, table):
        return [row[:-1] for row in connection.execute(f"SELECT * FROM {table} ORDER BY id")]

    put(records, "_sealed", unsealed)


def never_refuse() -> None:
    """The ledger takes what does not fit, as it would if the rest were read without a lock."""
    put(ledger, "fits", lambda *arguments: True)


def show_tracebacks() -> None:
    """Failures of the ledger's file are not turned into sentences."""
    put(storage, "sentences", lambda path: contextlib.nullcontext())


# Each with the kind of fault that should bring it to light.
PLANTS = {
    "ledger charged after the release": (pay_late, "kill -9 before a step"),
    "outputs written in place": (write_in_place, "torn write"),
    "temporary files never swept": (leave_litter, "leftovers"),
    "ledger never synced": (never_sync, "power cut"),
    "seals of the ledger not checked": (trust_bytes, "rotten"),
    "ledger that never refuses": (never_refuse, "spenders"),
    "failures not told in a sentence": (show_tracebacks, "disk full from a step on"),
}
