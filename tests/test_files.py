"""Files appear whole or not at all."""

import stat

import pytest

from privgmm import InputError
from privgmm.files import whole_file


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
