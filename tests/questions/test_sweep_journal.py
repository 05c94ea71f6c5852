"""A sweep that is killed: the same file, no row lost, none asked twice, and no journal taken for another one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import hockeystick as hs
from hockeystick.questions.sweeps import rows as made
from hockeystick.questions.sweeps import run
from hockeystick.questions.sweeps.journal import ENDING, Journal, _line
from hockeystick.questions.sweeps.rows import Row

PLAN = hs.dp_sgd(1.0, sample_rate=0.01, steps=1000, delta=1e-5)
GRID = {"noise_multiplier": [0.7, 0.9, 1.3, 2.0], "steps": [300, 1000, 3000]}

NOISES = [0.6 + 0.05 * number for number in range(40)]
LONG_GRID = {"noise_multiplier": NOISES, "steps": [100, 300, 1000, 10_000]}

PROGRAM = f"""
import os, sys
import hockeystick as hs
from hockeystick.questions.sweeps import run
run.MOST = 1
run._Sizes.__init__ = lambda self: setattr(self, "points", 1)
plan = hs.dp_sgd(1.0, sample_rate=0.01, steps=1000, delta=1e-5)
def sweep(noises, **options):
    grid = {LONG_GRID}
    grid["noise_multiplier"] = grid["noise_multiplier"][:noises]
    hs.sweep(plan, grid, output=sys.argv[1], **options)
"""
"""Sweeps of one point a job, in a process that may be killed."""

ONCE = PROGRAM + "sweep(40, jobs=int(sys.argv[2]))"  # to the end, unless it is killed

KILLED = f"""{PROGRAM}
def dies(rows):
    def told(done, of):
        if done == rows:
            os.kill(os.getpid(), 9)
    sweep(3, progress=told)
for rows in (2, 3, 7, 12, None):
    child = os.fork()
    if not child:
        dies(rows)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
"""Processes that kill themselves once they have so many rows, and one that does not."""


@pytest.fixture
def single(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Jobs of one point each, and a list of the points that are asked."""
    asked: list[int] = []

    def noted(job: Any) -> Any:
        asked.extend(range(job.start, job.stop))
        return made.answered(job)

    monkeypatch.setattr(run, "MOST", 1)
    monkeypatch.setattr(run._Sizes, "__init__", lambda self: setattr(self, "points", 1))
    monkeypatch.setattr(run, "answered", noted)
    return asked


def stopped(output: Path, after: int, **options: Any) -> bytes:
    """The journal of a sweep that was interrupted when it had so many rows."""

    def told(done: int, of: int) -> None:
        if done == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hs.sweep(PLAN, GRID, output=output, progress=told, **options)
    return Path(f"{output}{ENDING}").read_bytes()


def test_processes_that_are_killed_one_after_the_other_end_with_the_same_file(tmp_path: Path) -> None:
    output, whole = tmp_path / "a.csv", tmp_path / "whole.csv"
    done = subprocess.run([sys.executable, "-c", KILLED, str(output)], check=True, capture_output=True, text=True)
    assert done.stdout.split() == [*[str(-signal.SIGKILL)] * 4, "0"]
    hs.sweep(PLAN, {**LONG_GRID, "noise_multiplier": NOISES[:3]}, output=whole)
    assert output.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "whole.csv"]


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_process_that_is_killed_at_twenty_moments_ends_with_the_same_file(tmp_path: Path, jobs: str) -> None:
    """From outside, whatever it is doing: importing, computing, writing."""
    whole, output = tmp_path / "whole.csv", tmp_path / "a.csv"
    journal = Path(f"{output}{ENDING}")
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", ONCE, str(whole), "1"], check=True)
    seconds = time.monotonic() - begun
    draw = random.Random(20)
    kept = [0]
    for _ in range(20):
        process = subprocess.Popen([sys.executable, "-c", ONCE, str(output), jobs])
        time.sleep(draw.uniform(0.05, 0.4) * seconds)
        process.kill()
        process.wait()
        kept.append(journal.read_bytes().count(b"\n") if journal.exists() else 0)
        if output.exists():
            break
        assert kept[-1] >= kept[-2]
    assert len(kept) > 3
    subprocess.run([sys.executable, "-c", ONCE, str(output), jobs], check=True)
    assert output.read_bytes() == whole.read_bytes()
    assert not journal.exists()


def test_what_was_cut_off_anywhere_is_asked_again_and_nothing_else(tmp_path: Path, single: list[int]) -> None:
    """A kill leaves any beginning of what was written: of each line none, a part, or all but its end."""
    output = tmp_path / "a.csv"
    whole = hs.sweep(PLAN, GRID).to_csv().encode()
    content = stopped(output, 5)
    header = content.index(b"\n") + 1
    draw = random.Random(3)
    ends = [header, len(content) - 1, len(content), *(draw.randrange(header, len(content)) for _ in range(4))]
    for end in ends:
        Path(f"{output}{ENDING}").write_bytes(content[:end])
        output.unlink(missing_ok=True)
        single.clear()
        hs.sweep(PLAN, GRID, output=output)
        kept = content[:end].count(b"\n") - 1
        assert single == list(range(kept, 12))
        assert output.read_bytes() == whole


def test_zeros_at_the_end_are_what_a_power_cut_leaves(tmp_path: Path, single: list[int]) -> None:
    output = tmp_path / "a.csv"
    content = stopped(output, 3)
    Path(f"{output}{ENDING}").write_bytes(content + b"\0" * 100)
    single.clear()
    hs.sweep(PLAN, GRID, output=output)
    assert single == list(range(3, 12))


def test_rows_that_came_out_of_order_are_not_asked_again(tmp_path: Path, single: list[int]) -> None:
    output = tmp_path / "a.csv"
    content = stopped(output, 4).splitlines(keepends=True)
    Path(f"{output}{ENDING}").write_bytes(b"".join([content[0], content[4], content[2]]))
    single.clear()
    hs.sweep(PLAN, GRID, output=output)
    assert single == [0, 2, *range(4, 12)]
    assert output.read_text(encoding="utf-8") == hs.sweep(PLAN, GRID).to_csv()


def test_a_sweep_that_was_all_but_finished_is_only_written(tmp_path: Path, single: list[int]) -> None:
    output = tmp_path / "a.csv"
    content = stopped(output, 12)
    single.clear()
    assert hs.sweep(PLAN, GRID, output=output).to_csv() == output.read_text(encoding="utf-8")
    assert single == []
    assert content.count(b"\n") == 13


@pytest.mark.parametrize(
    ("plan", "grid", "options"),
    [
        (hs.dp_sgd(1.0, 0.02, 1000, delta=1e-5), GRID, {}),
        (PLAN, {**GRID, "steps": [300, 1000, 3001]}, {}),
        (PLAN, dict(reversed(GRID.items())), {}),
        (PLAN, GRID, {"delta": 1e-6}),
        (PLAN, GRID, {"epsilon": 1.0}),
        (PLAN, GRID, {"gap": 1e-3}),
    ],
    ids=["plan", "values", "order", "delta", "epsilon", "gap"],
)
def test_the_journal_of_another_sweep_is_refused(
    tmp_path: Path, plan: hs.Plan, grid: dict[str, Any], options: dict[str, Any]
) -> None:
    output = tmp_path / "a.csv"
    content = stopped(output, 12)
    with pytest.raises(hs.InvalidInputError, match=r"journal of another sweep.*fresh=True \(--fresh\)"):
        hs.sweep(plan, grid, output=output, **options)
    assert Path(f"{output}{ENDING}").read_bytes() == content
    found = hs.sweep(plan, grid, output=output, fresh=True, **options)
    assert output.read_text(encoding="utf-8") == found.to_csv()


def test_another_version_does_not_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped(tmp_path / "a.csv", 12)
    monkeypatch.setattr("hockeystick.questions.sweeps.sweep.__version__", "0.0.0")
    with pytest.raises(hs.InvalidInputError, match="journal of another sweep"):
        hs.sweep(PLAN, GRID, output=tmp_path / "a.csv")


def test_a_sweep_that_stopped_at_a_wrong_row_goes_on_without_stopping(tmp_path: Path, single: list[int]) -> None:
    """What becomes of a row without an answer changes no other row."""
    grid = {"noise_multiplier": [0.7, -1.0, 2.0]}
    with pytest.raises(hs.InvalidInputError, match="row 1"):
        hs.sweep(PLAN, grid, output=tmp_path / "a.csv", errors="stop")
    single.clear()
    assert hs.sweep(PLAN, grid, output=tmp_path / "a.csv").unanswered == 1
    assert single == [1, 2]


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"x" * 10_000, _line({"journal": "another"})])
def test_what_is_no_journal_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / f"a.csv{ENDING}"
    path.write_bytes(content)
    with pytest.raises(hs.InvalidInputError, match="it is no journal of a sweep"):
        hs.sweep(PLAN, GRID, output=tmp_path / "a.csv")
    assert path.read_bytes() == content


def test_a_journal_that_is_damaged_in_its_middle_is_refused(tmp_path: Path, single: list[int]) -> None:
    content = bytearray(stopped(tmp_path / "a.csv", 4))
    content[content.index(b"\n") + 20] ^= 1
    Path(f"{tmp_path / 'a.csv'}{ENDING}").write_bytes(content)
    with pytest.raises(hs.InvalidInputError, match="damaged, not only at its end"):
        hs.sweep(PLAN, GRID, output=tmp_path / "a.csv")


def test_rows_of_no_point_are_refused(tmp_path: Path) -> None:
    content = stopped(tmp_path / "a.csv", 12)
    row = Row(float("nan"), 1, 0.0, 0.0, 0.0, "", "certified", "", 0.0, 0.0)
    Path(f"{tmp_path / 'a.csv'}{ENDING}").write_bytes(content + _line({"at": 12, "rows": [row]}))
    with pytest.raises(hs.InvalidInputError, match="rows of no point"):
        hs.sweep(PLAN, GRID, output=tmp_path / "a.csv")


def test_two_processes_do_not_write_one_journal(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    held = Journal(tmp_path / "a.csv", "x", 1)
    with pytest.raises(hs.InvalidInputError, match="another process writes this sweep"):
        Journal(tmp_path / "a.csv", "x", 1)
    held.close()
    Journal(tmp_path / "a.csv", "x", 1).remove()
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(hs.InvalidInputError, match="cannot be written"):
        hs.sweep(PLAN, GRID, output=tmp_path / "no" / "a.csv")


def test_every_kind_of_number_comes_back_from_a_journal(tmp_path: Path) -> None:
    row = Row(3, 10, 0.0, 0.1 + 0.2, float("inf"), "auto", "certified", 'a "reason"\n', 5e-324, 1.7976931348623157e308)
    one = Journal(tmp_path / "a.csv", "x", 2)
    one.add(1, [row])
    one.close()
    two = Journal(tmp_path / "a.csv", "x", 2)
    assert two.rows == {1: row}
    assert type(two.rows[1].value) is int
    two.remove()


def test_a_row_is_on_the_disk_before_it_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told of progress, the journal has been handed to the disk."""
    synced: list[int] = []
    real = os.fsync

    def noted(file: int) -> None:
        synced.append(os.fstat(file).st_size)
        real(file)

    monkeypatch.setattr(os, "fsync", noted)
    sizes: list[tuple[int, int]] = []
    path = Path(f"{tmp_path / 'a.csv'}{ENDING}")
    hs.sweep(PLAN, GRID, output=tmp_path / "a.csv", progress=lambda *_: sizes.append((path.stat().st_size, synced[-1])))
    assert all(there == handed for there, handed in sizes)
