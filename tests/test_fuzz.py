"""A hundred of the random plans of ``make fuzz``: laws that hold whatever the true value is."""

from __future__ import annotations

from pathlib import Path

import fuzz
import pytest

import hockeystick as hs
from hockeystick.bounds import Answer

SEED = 20261121

ONCE_BROKEN = [(1, 249), (5, 98), (11, 82), (5, 122), (5, 231)]
"""Seed and index of cases that once raised, warned or took too long."""


@pytest.mark.parametrize("index", range(100))
def test_laws_hold_for_a_random_plan(index: int) -> None:
    """Ends in order, finite, at or below the Renyi bound, no contradiction, monotone. The case is in the message."""
    case = fuzz.drawn(SEED, index)
    assert not list(fuzz.problems(case)), case


@pytest.mark.parametrize(("seed", "index"), ONCE_BROKEN)
def test_laws_hold_where_they_once_did_not(seed: int, index: int) -> None:
    """An empty window, a tilt too steep for its cells, a transform that is all rounding, an infinite lower end."""
    case = fuzz.drawn(seed, index)
    assert not list(fuzz.problems(case)), case


def test_the_draw_covers_the_domain() -> None:
    """Extremes of every parameter, every mechanism, mixtures, both questions."""
    cases = [fuzz.drawn(SEED, index) for index in range(300)]
    rounds = [item for case in cases for item in case.plan["round"]]
    assert {item["mechanism"] for item in rounds} == {"gaussian", "laplace", "randomized-response", "approximate-dp"}
    noises = [item["noise_multiplier"] for item in rounds if "noise_multiplier" in item]
    rates = [item["sample_rate"] for item in rounds if "sample_rate" in item]
    counts = [item["count"] for item in rounds]
    assert min(noises) < 0.04
    assert max(noises) > 5e3
    assert min(rates) < 1e-8
    assert max(rates) > 0.5
    assert min(counts) < 3
    assert max(counts) > 3e8
    assert any(len(case.plan["round"]) == 4 for case in cases)
    assert {case.quantity for case in cases} == {"epsilon", "delta"}


def test_a_law_that_does_not_hold_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks can fail: an accountant that understates is found out."""
    case = fuzz.Case({"round": [{"mechanism": "gaussian", "noise_multiplier": 1.0, "count": 3}]}, "epsilon", 1e-5)
    assert not list(fuzz.problems(case))
    honest = fuzz.Case.ask

    def understated(self: fuzz.Case, accountant: str = "auto") -> Answer:
        return hs.Bound(1.0, 1.0, 1.0) if accountant == "auto" else honest(self, accountant)

    monkeypatch.setattr(fuzz.Case, "ask", understated)
    assert any("contradiction" in problem for problem in fuzz.problems(case))


def test_a_run_goes_on_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The state is kept after every case."""
    monkeypatch.chdir(tmp_path)
    asked: list[fuzz.Case] = []

    def answered(case: fuzz.Case) -> tuple[list[str], float, float, str, float]:
        asked.append(case)
        return ["wrong"] if len(asked) == 2 else [], 0.1, 1e8, "contour", 1e-7

    monkeypatch.setattr(fuzz, "run", answered)
    for cases, status in ((3, 1), (5, 1)):
        monkeypatch.setattr("sys.argv", ["fuzz.py", str(cases), "9"])
        assert fuzz.main() == status
    assert asked == [fuzz.drawn(9, index) for index in range(5)]
    assert "5 cases, 1 failed" in capsys.readouterr().out
