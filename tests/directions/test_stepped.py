"""A growing history: which direction is told, when points are due, and that the milder direction is shown to be it."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import hockeystick as hs
from hockeystick.directions.stepped import GROWTH, History, Stepped
from hockeystick.values.adjacency import Adjacency, Direction
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval

KINDS = [(1 / (0.8 + 0.05 * number), 0.05) for number in range(16)]


def history_of(kinds: list[tuple[float, float]], counts: list[int]) -> History:
    history = History()
    for number, ((mu, rate), count) in enumerate(zip(kinds, counts, strict=True)):
        history.put(number, mu, rate, count)
    return history


class Told:
    """Sums that answer what they are told."""

    def __init__(self, found: Interval | None, milder: bool) -> None:
        self._found, self._milder = found, milder

    def answer(self) -> Interval | None:
        return self._found

    def adding_is_milder(self, found: Interval) -> bool:
        return self._milder


def answered(
    monkeypatch: pytest.MonkeyPatch, removed: Interval | None, added: Interval | None, milder: bool
) -> hs.Bound | None:
    """What is answered where each direction has such an interval."""
    stepped = Stepped(Adjacency.ADD_OR_REMOVE.directions)
    monkeypatch.setattr(stepped, "_sums", lambda asked, add: Told(added if add else removed, milder))
    return stepped.epsilon(1e-6, None)


def test_the_larger_of_both_ends_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of either direction, where adding a record is not shown to be the milder one."""
    found = answered(monkeypatch, Interval(1.0, 1.5, 2.0), Interval(0.9, 1.6, 2.5), milder=False)
    assert found is not None
    assert (found.lower, found.estimate, found.upper, found.direction) == (1.0, 1.6, 2.5, Direction.ADD)
    found = answered(monkeypatch, Interval(1.0, 1.5, 2.0), Interval(0.9, 1.2, 1.4), milder=False)
    assert found is not None
    assert (found.lower, found.estimate, found.upper, found.direction) == (1.0, 1.5, 2.0, Direction.REMOVE)
    found = answered(monkeypatch, Interval(1.0, 1.5, 2.0), Interval(9.0, 9.0, 9.0), milder=True)
    assert found is not None
    assert found.upper == 2.0


def test_there_is_no_answer_where_one_direction_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is asked then; and where no points are to be had."""
    some = Interval(1.0, 1.5, 2.0)
    assert answered(monkeypatch, None, some, milder=False) is None
    assert answered(monkeypatch, some, None, milder=False) is None
    stepped = Stepped([Direction.REMOVE])

    def none(asked: object, add: bool) -> None:
        raise NotApplicableError("there are no points")

    monkeypatch.setattr(stepped, "_sums", none)
    assert stepped.epsilon(1e-6, None) is None
    assert stepped.delta(1.0, None) is None


def test_adding_a_record_is_shown_to_be_milder_only_where_it_is() -> None:
    """At and above the epsilon of that direction, and nowhere below it."""
    stepped = Stepped(Adjacency.ADD_OR_REMOVE.directions)
    for number, (mu, rate) in enumerate(KINDS):
        stepped.history.put(number, mu, rate, 20)
    removed = stepped.epsilon(1e-6, None)
    assert removed is not None
    assert removed.direction == "remove"
    (sums,) = stepped._kept.values()
    rounds = [hs.Round(hs.Gaussian(1 / mu), hs.Poisson(rate), 20) for mu, rate in KINDS]
    added = hs.Plan(rounds, "add").epsilon(1e-6)
    assert added.upper < removed.lower
    assert sums.adding_is_milder(Interval(removed.lower, removed.estimate, removed.upper))
    for share in (0.3, 0.9, 0.999):
        at = share * added.lower
        assert not sums.adding_is_milder(Interval(at, at, at))
    assert not sums.adding_is_milder(Interval(0.0, 0.0, 0.0))


def test_a_largest_loss_is_at_least_that_of_all_rounds() -> None:
    """``-log(1 - q)`` a round, against fractions of the rates."""
    counts = [3, 1, 1000, 7]
    history = history_of([(1.0, 0.3), (0.5, 0.01), (1.0, 1e-3), (2.0, 0.5)], counts)
    product = math.prod((1 - Fraction(rate)) ** count for rate, count in zip(history.rate, counts, strict=True))
    true = -(math.log(product.numerator) - math.log(product.denominator))
    assert true <= history.largest <= true * (1 + 1e-8)


def test_the_rounds_until_a_time_are_those_that_were_run_then() -> None:
    """Whatever was run since, and in how many calls it was said: a function of the history up to then."""
    early, late = history_of(KINDS[:5], [4] * 5), history_of(KINDS, [4] * 16)
    assert late.time > early.time >= 1
    for time in range(early.time + 1):
        before, after = early.until(time, False), late.until(time, False)
        assert (before.mu == after.mu).all()
        assert (before.count == after.count).all()
    rows = late.until(late.time, True)
    assert rows.add.all()
    variance = float((rows.count * rows.rate**2 * (math.e ** (rows.mu**2) - 1)).sum())
    assert late.variance / GROWTH * 0.99 <= variance <= late.variance * 1.01
