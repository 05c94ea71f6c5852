"""Files are written whole or not at all, and an existing one keeps what is its own: mode, owner, links."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hockeystick as hs
from hockeystick.plan.file import load_plan
from hockeystick.values import files

PLAN = hs.dp_sgd(1.0, 0.1, 7)
OLD = b"old content, longer than a plan" * 100


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("kept", [0o600, 0o640, 0o644, 0o666, 0o200])
def test_an_existing_file_keeps_its_mode(kept: int, tmp_path: Path) -> None:
    """A private plan stays private: the umask says what a new file is, not what this one becomes."""
    path = tmp_path / "plan.toml"
    PLAN.save(path)
    path.chmod(kept)
    (2 * PLAN).save(path)
    assert mode(path) == kept
    path.chmod(0o600)
    assert load_plan(path).steps == 14


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_new_file_has_the_mode_of_the_umask(mask: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        PLAN.save(tmp_path / "plan.toml")
    finally:
        os.umask(before)
    assert mode(tmp_path / "plan.toml") == 0o666 & ~mask


def test_who_could_not_read_the_old_content_cannot_read_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The temporary file is private as long as it is not yet known to be as open as the file."""
    path = tmp_path / "plan.toml"
    PLAN.save(path)
    path.chmod(0o600)
    modes: list[int] = []

    def seen(descriptor: int) -> None:
        modes.extend(mode(each) for each in tmp_path.iterdir())

    monkeypatch.setattr(os, "fsync", seen)
    PLAN.save(path)
    assert modes == [0o600, 0o600]


def test_where_the_group_cannot_be_kept_the_new_one_gets_what_all_others_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plan.toml"
    PLAN.save(path)
    path.chmod(0o664)
    old = path.stat()
    new = tmp_path / "new"
    new.touch()

    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "chown", refused)
    another = os.stat_result((*old[:5], old.st_gid + 1, *old[6:]))
    files._take_after(new, another)
    assert mode(new) == 0o644
    files._take_after(new, old)
    assert mode(new) == 0o664


def test_the_owner_is_kept_where_the_system_permits_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root gives the file back to its owner; others keep the group, if it is one of theirs."""
    new = tmp_path / "new"
    new.touch()
    status = new.stat()
    old = os.stat_result((0o100640, *status[1:4], 12345, 54321, *status[6:]))
    for permitted, expected in ((12345, [(12345, 54321)]), (-1, [(12345, 54321), (-1, 54321)])):
        given: list[Any] = []

        def give(path: Path, owner: int, group: int, given: list[Any] = given, permitted: int = permitted) -> None:
            given.append((owner, group))
            if owner != permitted:
                raise PermissionError

        monkeypatch.setattr(os, "chown", give)
        files._take_after(new, old)
        assert given == expected
        assert mode(new) == 0o640


def test_a_read_only_file_is_not_replaced(tmp_path: Path) -> None:
    """Its mode says that it is to stay as it is: also for root, and although the folder would permit it."""
    path = tmp_path / "plan.toml"
    path.write_bytes(OLD)
    path.chmod(0o444)
    with pytest.raises(hs.InvalidInputError) as caught:
        PLAN.save(path)
    assert (
        str(caught.value) == f"{path}: cannot be written: the file is read-only; make it writable or give another name"
    )
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_all_names_of_a_file_show_what_is_written_to_one(tmp_path: Path) -> None:
    one, other = tmp_path / "one.toml", tmp_path / "other.toml"
    one.write_bytes(OLD)
    other.hardlink_to(one)
    PLAN.save(one)
    assert one.samefile(other)
    assert load_plan(other) == PLAN
    assert sorted(tmp_path.iterdir()) == [one, other]


def test_a_failed_write_in_place_puts_the_old_content_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = tmp_path / "one.toml", tmp_path / "other.toml"
    one.write_bytes(OLD)
    other.hardlink_to(one)
    write, calls = os.write, []

    def full(descriptor: int, content: memoryview) -> int:
        calls.append(len(content))
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return write(descriptor, content[:40] if len(calls) == 1 else content)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(hs.InvalidInputError, match="cannot be written: no space left on device"):
        PLAN.save(one)
    assert other.read_bytes() == OLD


def test_a_link_to_itself_is_refused_in_one_line(tmp_path: Path) -> None:
    for ending in ("toml", "svg"):
        path = tmp_path / f"loop.{ending}"
        path.symlink_to(path)
        with pytest.raises(hs.InvalidInputError, match="cannot be written: too many levels of symbolic links"):
            files.write_bytes(path, b"x")
    with pytest.raises(hs.InvalidInputError, match="cannot be written: too many levels of symbolic links"):
        PLAN.save(tmp_path / "loop.toml")
    with pytest.raises(hs.InvalidInputError, match="cannot be read: too many levels of symbolic links"):
        load_plan(tmp_path / "loop.toml")


def test_names_may_be_as_long_as_the_file_system_takes_them(tmp_path: Path) -> None:
    """The temporary file's own name has to fit too; one character more is refused in one line."""
    longest = tmp_path / ("\U0001f600" * 62 + "ab.toml")  # 255 bytes
    PLAN.save(longest)
    assert load_plan(longest) == PLAN
    for name in ("x" * 300 + ".toml", "x" * 300):
        with pytest.raises(hs.InvalidInputError, match=r"file name too long|must end in \.toml or \.json"):
            PLAN.save(tmp_path / name)
        with pytest.raises(hs.InvalidInputError, match=r"file name too long|must end in \.toml or \.json"):
            load_plan(tmp_path / name)


def test_a_pipe_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(hs.InvalidInputError, match="cannot be written: this is a device, a pipe or a socket"):
        PLAN.save(tmp_path / "pipe.toml")
    assert stat.S_ISFIFO((tmp_path / "pipe.toml").stat().st_mode)


KILLED = """
import os, signal, sys
from pathlib import Path
from hockeystick.values import files
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.{name})
files.write_text(Path(sys.argv[1]), "half")
"""


def strays(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.suffix == ".tmp"]


def test_what_a_killed_write_left_is_removed_by_the_next_write_to_that_name(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    PLAN.save(path)
    for name in ("plan.toml", "other.toml"):
        done = subprocess.run([sys.executable, "-c", KILLED.format(name="SIGKILL"), str(tmp_path / name)])
        assert done.returncode == -signal.SIGKILL
    assert len(strays(tmp_path)) == 2
    assert load_plan(path) == PLAN
    (2 * PLAN).save(path)
    assert load_plan(path) == 2 * PLAN
    assert [stray.name.startswith(".other.toml.") for stray in strays(tmp_path)] == [True]


def test_what_a_living_process_writes_stays(tmp_path: Path) -> None:
    """It is stopped in the middle of its write, and goes on after another write to the same name."""
    path = tmp_path / "plan.toml"
    with subprocess.Popen([sys.executable, "-c", KILLED.format(name="SIGSTOP"), str(path)]) as writing:
        assert os.WIFSTOPPED(os.waitpid(writing.pid, os.WUNTRACED)[1])
        PLAN.save(path)
        assert len(strays(tmp_path)) == 1
        writing.send_signal(signal.SIGCONT)
    assert writing.returncode == 0
    assert path.read_text() == "half"
    assert strays(tmp_path) == []
