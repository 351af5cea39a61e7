"""Files appear whole or not at all."""

import os
import stat

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
