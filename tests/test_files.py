"""Files appear whole or not at all."""

import errno
import os
import signal
import stat
import sys
from pathlib import Path

import pytest

from privgmm import InputError
from privgmm.files import check_target, whole_file


def test_success_replaces_the_old_file(tmp_path):
    target = tmp_path / "out"
    target.write_text("old")
    with whole_file(target) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]
    assert stat.S_IMODE(target.stat().st_mode) & 0o600 == 0o600


def test_failure_leaves_nothing(tmp_path):
    def fail_halfway():
        with whole_file(tmp_path / "out") as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_halfway()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["no/such/folder/out", "", "a\0b", "x" * 300 + "/y"])
def test_unusable_paths_are_one_sentence(tmp_path, name):
    with pytest.raises(InputError), whole_file(tmp_path / name) as temporary:
        temporary.write_text("x")
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_or_device_is_never_replaced(tmp_path):
    """-o /dev/null, by a user who may, would put an ordinary file there for everybody."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="no ordinary file"), whole_file(tmp_path / "pipe"):
        pass
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    with pytest.raises(InputError, match="no ordinary file"):
        check_target(tmp_path / "pipe")


def test_an_input_is_never_overwritten(tmp_path):
    data, folder = tmp_path / "t.csv", tmp_path / "parts"
    folder.mkdir()
    for path in (data, folder / "1.csv"):
        path.write_text("a\n1\n")
    (tmp_path / "link.csv").symlink_to(data)
    for target in (data, tmp_path / "link.csv", tmp_path / "parts/../t.csv"):
        with pytest.raises(InputError, match="this command reads it"):
            check_target(target, None, data)
    with pytest.raises(InputError, match="this command reads it"):
        check_target(folder / "1.csv", folder)
    check_target(tmp_path / "new.json", data, folder, tmp_path / "none")
    check_target(folder / "new.json", folder, "-1,1" * 1000)


@pytest.mark.parametrize("name", ["no/such/folder/out", ".", "a\0b/c", "x" * 300])
def test_unusable_targets_are_one_sentence(tmp_path, name):
    with pytest.raises(InputError, match="Cannot write"):
        check_target(tmp_path / name)


def killed_writer(target):
    """A process that dies inside the block; returns when it is dead."""
    pid = os.fork()
    if pid == 0:
        with whole_file(target) as temporary:
            temporary.write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)


def test_what_a_killed_writer_left_is_private_and_removed_by_the_next(tmp_path):
    target = tmp_path / "out"
    killed_writer(target)
    (left,) = tmp_path.iterdir()
    assert stat.S_IMODE(left.stat().st_mode) == 0o600
    with whole_file(target) as temporary:
        temporary.write_text("whole")
    assert list(tmp_path.iterdir()) == [target]


def test_files_of_living_writers_and_of_others_stay(tmp_path):
    target, other = tmp_path / "out", tmp_path / ".out.mine.part"
    other.write_text("x")
    with whole_file(target) as first:
        with whole_file(target) as second:
            second.write_text("second")
        assert first.exists()
        first.write_text("first")
    assert target.read_text() == "first"
    assert sorted(tmp_path.iterdir()) == [other, target]


def test_an_interrupt_while_the_file_is_made_leaves_nothing(tmp_path, monkeypatch):
    make = os.open

    def interrupted(path, *arguments):
        os.close(make(path, *arguments))
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "open", interrupted)
    with pytest.raises(KeyboardInterrupt), whole_file(tmp_path / "out"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_first_failure_is_told_even_if_cleaning_up_fails_too(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "replace", fail)
    monkeypatch.setattr(Path, "unlink", fail)
    refused = pytest.raises(InputError, match=r"Cannot write .*: Input/output error\.")
    with refused, whole_file(tmp_path / "out") as temporary:
        temporary.write_text("x")


def test_the_file_is_synced_before_it_is_named_and_the_folder_after(tmp_path, monkeypatch):
    synced, sync = [], os.fsync

    def noted(handle):
        kind = "folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file"
        synced.append((kind, (tmp_path / "out").exists()))
        sync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    with whole_file(tmp_path / "out") as temporary:
        temporary.write_text("x")
    assert synced == [("file", False), ("folder", True)]


def test_a_read_only_folder_is_refused_beforehand(tmp_path, monkeypatch):
    # Root may write anywhere, so the answer is the system's only in name.
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    with pytest.raises(InputError, match="read-only"):
        check_target(tmp_path / "out")


def test_without_locks_files_are_whole_too(tmp_path, monkeypatch):
    """As on Windows, where nothing is locked or swept and only closed files are moved."""
    monkeypatch.setattr(sys, "platform", "win32")
    target = tmp_path / "a.json"
    for text in ("old", "new"):
        with whole_file(target) as path:
            path.write_text(text)
    with pytest.raises(ZeroDivisionError), whole_file(target) as path:
        path.write_text(f"half, {1 / 0}")
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]
