"""Two processes, a killed one, a full disk, a damaged file: the budget is never under-counted."""

import multiprocessing
import os
import resource
import signal
import sqlite3
import time

import pytest

from privgmm.cli import run
from privgmm.errors import BudgetError, InputError
from privgmm.ledger import Ledger, storage
from privgmm.privacy import mu_from_epsilon

DELTA = 1e-5
FORK = multiprocessing.get_context("fork")


def spend_until_refused(path, epsilon, outcome):
    ledger, count = Ledger.open(path), 0
    try:
        while True:
            ledger.spend(mu_from_epsilon(epsilon, DELTA), epsilon, DELTA, "label")
            count += 1
    except BudgetError:
        outcome.put(count)


def test_two_processes_at_once_spend_no_more_than_one_could(tmp_path):
    alone = Ledger.create(tmp_path / "alone.ledger", 1.0, DELTA)
    expected = FORK.Queue()
    spend_until_refused(alone.path, 0.1, expected)
    both = Ledger.create(tmp_path / "both.ledger", 1.0, DELTA)
    outcome = FORK.Queue()
    workers = [
        FORK.Process(target=spend_until_refused, args=(both.path, 0.1, outcome)) for _ in range(3)
    ]
    for worker in workers:
        worker.start()
    counts = [outcome.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    assert sum(counts) == expected.get(timeout=5) == len(both.rows())
    assert len(both.rows()) > 50


def create_one(path, outcome):
    try:
        Ledger.create(path, 1.0, DELTA)
        outcome.put("made")
    except InputError:
        outcome.put("refused")


def test_two_processes_cannot_both_create(tmp_path):
    outcome = FORK.Queue()
    path = tmp_path / "race.ledger"
    workers = [FORK.Process(target=create_one, args=(path, outcome)) for _ in range(4)]
    for worker in workers:
        worker.start()
    results = sorted(outcome.get(timeout=60) for _ in workers)
    for worker in workers:
        worker.join()
    assert results == ["made", "refused", "refused", "refused"]
    assert Ledger.open(path).remaining().total_epsilon == 1.0


def spend_and_tell(path, told):
    ledger = Ledger.open(path)
    for number in range(10_000):
        ledger.spend(1e-4, 1e-3, DELTA, "label", note=str(number))
        os.write(told, b".")


def test_a_killed_process_wastes_budget_but_never_hides_it(tmp_path):
    path = Ledger.create(tmp_path / "killed.ledger", 1.0, DELTA).path
    for wait in (0.0, 0.005, 0.02, 0.05, 0.1, 0.3):
        before = len(Ledger.open(path).rows())
        reader, writer = os.pipe()
        worker = FORK.Process(target=spend_and_tell, args=(path, writer))
        worker.start()
        time.sleep(wait)
        os.kill(worker.pid, signal.SIGKILL)
        worker.join()
        os.close(writer)
        told = len(os.read(reader, 1 << 20))
        os.close(reader)
        written = len(Ledger.open(path).rows()) - before
        # Every spend that returned is on record; one more may be that did not get to say so.
        assert told <= written <= told + 1


def spend_with_a_small_disk(path, outcome):
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
    ledger, count = Ledger(path), 0
    try:
        while count < 5000:
            ledger.spend(1e-4, 1e-3, DELTA, "label", note="x" * 500)
            count += 1
        outcome.put((count, "no refusal"))
    except InputError as problem:
        outcome.put((count, str(problem)))


def test_a_full_disk_is_one_sentence_and_loses_nothing(tmp_path):
    path = Ledger.create(tmp_path / "full.ledger", 1.0, DELTA).path
    outcome = FORK.Queue()
    worker = FORK.Process(target=spend_with_a_small_disk, args=(path, outcome))
    worker.start()
    count, sentence = outcome.get(timeout=60)
    worker.join()
    assert sentence.startswith(f"Cannot use the ledger {path}: ")
    assert len(Ledger.open(path).rows()) >= count > 0


def test_a_stuck_process_is_named_not_waited_for(tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "stuck.ledger", 1.0, DELTA)
    monkeypatch.setattr(storage, "_PATIENCE_SECONDS", 0.05)
    holder = sqlite3.connect(ledger.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(InputError, match="another process is holding it"):
        ledger.spend(0.1, 0.1, DELTA, "label")
    holder.close()
    ledger.spend(0.1, 0.1, DELTA, "label")


def wait_for_the_lock(path, outcome):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    outcome.put("waiting")
    try:
        Ledger(path).spend(0.1, 0.1, DELTA, "label")
    except KeyboardInterrupt:
        outcome.put("interrupted")


def test_ctrl_c_is_heard_while_waiting_for_the_lock(tmp_path):
    ledger = Ledger.create(tmp_path / "held.ledger", 1.0, DELTA)
    holder = sqlite3.connect(ledger.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    outcome = FORK.Queue()
    worker = FORK.Process(target=wait_for_the_lock, args=(ledger.path, outcome))
    worker.start()
    assert outcome.get(timeout=30) == "waiting"
    time.sleep(0.2)
    os.kill(worker.pid, signal.SIGINT)
    # Well before the minute for which a holder is waited for.
    assert outcome.get(timeout=20) == "interrupted"
    worker.join()
    holder.close()
    assert ledger.rows() == []


@pytest.mark.parametrize(
    "content", [b"not a database" * 100, b"", b"SQLite format 3\0", b"\0" * 8192]
)
def test_other_files_are_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "other.file"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a privgmm ledger"):
        Ledger.open(path)
    assert path.read_bytes() == content


def test_another_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE budget (id INTEGER, relation, epsilon, delta)")
    before = path.read_bytes()
    for action in (Ledger.open, lambda p: Ledger.create(p, 1.0, DELTA)):
        with pytest.raises(InputError, match="not a privgmm ledger"):
            action(path)
    assert path.read_bytes() == before


def test_a_creation_that_was_cut_short_can_be_repeated(tmp_path):
    path = tmp_path / "begun.ledger"
    begun = sqlite3.connect(path)
    begun.execute("PRAGMA journal_mode = WAL")
    begun.close()
    assert path.stat().st_size > 0
    assert (
        run(["ledger", "budget", "--ledger", str(path), "--epsilon", "1", "--delta", "1e-5"]) == 0
    )
    assert Ledger.open(path).remaining().total_epsilon == 1.0


def test_a_newer_ledger_is_refused(tmp_path):
    path = Ledger.create(tmp_path / "new.ledger", 1.0, DELTA).path
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 9")
    with pytest.raises(InputError, match="newer privgmm"):
        Ledger.open(path)


def test_a_cost_made_smaller_is_noticed(tmp_path):
    ledger = Ledger.create(tmp_path / "edited.ledger", 1.0, DELTA)
    ledger.spend(0.2, 0.7, DELTA, "label")
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("DROP TRIGGER spend_update")
        connection.execute("UPDATE spend SET cost_mu = 0.1")
    with pytest.raises(InputError, match="damaged"):
        ledger.remaining()


@pytest.mark.parametrize(
    "change",
    ["cost_mu = CAST('0.2' AS BLOB)", "note = CAST(x'6d79ff6e6f7465' AS TEXT)", "kind = x'00'"],
)
def test_cells_of_another_type_are_damage(tmp_path, change):
    ledger = Ledger.create(tmp_path / "typed.ledger", 1.0, DELTA)
    ledger.spend(0.2, 0.7, DELTA, "label")
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("DROP TRIGGER spend_update")
        connection.execute(f"UPDATE spend SET {change}")
    with pytest.raises(InputError, match="damaged"):
        ledger.remaining()


def test_damaged_ledgers_are_refused_or_whole(tmp_path):
    ledger = Ledger.create(tmp_path / "whole.ledger", 1.0, DELTA)
    for number in range(40):
        ledger.spend(1e-3, 1e-3, DELTA, "label", note=f"{number}" * 50)
    whole = ledger.path.read_bytes()
    expected = ledger.rows()
    for cut in range(1, len(whole), 977):
        path = tmp_path / f"cut{cut}.ledger"
        path.write_bytes(whole[:cut])
        with pytest.raises(InputError, match=r"ledger .*\.$"):
            Ledger.open(path)
    for at in range(0, len(whole), 97):
        path = tmp_path / "bit.ledger"
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            rows = Ledger(path).rows()
        except InputError:
            continue
        assert rows == expected


@pytest.mark.parametrize("where", ["missing/a.ledger", "file/a.ledger", "", "a\0b"])
def test_places_that_cannot_hold_a_ledger(tmp_path, where):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"\.$"):
        Ledger.create(f"{tmp_path}/{where}", 1.0, DELTA)
    with pytest.raises(InputError, match=r"\.$"):
        Ledger.open(f"{tmp_path}/{where}")


def test_a_missing_ledger_is_not_made_by_opening_it(tmp_path):
    with pytest.raises(InputError, match="There is no ledger"):
        Ledger.open(tmp_path / "no.ledger")
    assert list(tmp_path.iterdir()) == []
