"""Files are written whole or not at all, and an existing one keeps its mode."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

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


def test_a_link_is_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target.toml", tmp_path / "link.toml"
    target.write_bytes(OLD)
    link.symlink_to(target)
    PLAN.save(link)
    assert link.is_symlink()
    assert load_plan(target) == PLAN


def test_a_failed_write_leaves_the_old_content_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plan.toml"
    path.write_bytes(OLD)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(hs.InvalidInputError, match="cannot be written: no space left on device"):
        PLAN.save(path)
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_a_killed_write_leaves_the_old_content(tmp_path: Path) -> None:
    code = """
import os, signal, sys
from hockeystick.values import files
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
files.write_text(sys.argv[1], "half")
"""
    path = tmp_path / "plan.toml"
    PLAN.save(path)
    done = subprocess.run([sys.executable, "-c", code, str(path)])
    assert done.returncode == -signal.SIGKILL
    assert load_plan(path) == PLAN
