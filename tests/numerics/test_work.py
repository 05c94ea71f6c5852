"""Counted work: what one call may take, how its parts share it, and what answers say once it is used up."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.engines.contour.engine import ContourEngine
from hockeystick.engines.curve import Curve
from hockeystick.engines.grid.engine import GridEngine
from hockeystick.engines.renyi import RenyiEngine
from hockeystick.numerics import work
from hockeystick.numerics.work import (
    CALL,
    LAST,
    RESERVE,
    USED_UP,
    Work,
    WorkLimitError,
    last_resort,
    left,
    one_call,
    overdraft,
    part,
    remembered,
    spend,
    spent,
)
from hockeystick.pairs import Composition, GaussianPair, LaplacePair, PoissonRemovePair
from hockeystick.pairs.renyi import renyi_epsilon
from hockeystick.pairs.sampled import laplace_line
from hockeystick.targets import Epsilon

SAMPLED_LAPLACE = hs.Plan([hs.Round(hs.Laplace(2.0 + i / 7), hs.Poisson(0.01 + i / 997), count=3) for i in range(10)])


@contextmanager
def calls_of(units: float, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let every call that is opened within take that much."""
    with monkeypatch.context() as patch:
        patch.setattr(work, "CALL", units)
        yield


def test_without_a_call_nothing_is_limited() -> None:
    spend(1e30)
    assert left() == math.inf
    assert not spent()


def test_a_call_within_a_call_pays_from_the_outer_one() -> None:
    with one_call():
        assert left() == CALL
        spend(0.25 * CALL)
        with one_call():
            assert left() == 0.75 * CALL
            spend(0.75 * CALL)
        assert spent()
    assert left() == math.inf


def test_a_part_leaves_the_rest_for_what_comes_after() -> None:
    with one_call():
        with part(0.25):
            assert left() == 0.25 * CALL
            with part(0.5):
                spend(0.25 * CALL)
                assert spent()
            assert spent()  # what the inner part took too much is missing in the outer one
        assert left() == 0.75 * CALL


def test_a_step_is_paid_for_before_it_is_taken() -> None:
    question = Work(100.0)
    with pytest.raises(WorkLimitError, match="it would take too long: a step"):
        question.charge(101.0, "a step")
    assert question.left == 100.0
    question.charge(60.0, "a step")
    question.spend(60.0)
    assert question.left == -20.0


def test_answers_of_last_resort_share_what_they_may_take() -> None:
    """Each has the same, until all of them together have had three times that."""
    given = []
    with one_call():
        spend(CALL)
        for _ in range(5):
            with part(0.3), last_resort():
                given.append(max(left(), 0.0))
                spend(given[-1])
        assert left() == -LAST
    assert given == [RESERVE, RESERVE, RESERVE, 0.0, 0.0]


def test_what_is_next_to_free_may_overdraw_a_call_by_its_reserve() -> None:
    assert overdraft() == math.inf
    with one_call():
        assert overdraft() == CALL + RESERVE
        with part(0.25):
            spend(0.5 * CALL)
            assert overdraft() == RESERVE
        spend(0.5 * CALL + 0.25 * RESERVE)
        assert overdraft() == pytest.approx(0.75 * RESERVE)
        spend(RESERVE)
        assert overdraft() == 0.0


def test_a_search_ends_with_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirteen values are measured, of which ten found nothing left and took the last resort each."""
    accountant = hs.Accountant()
    monkeypatch.setattr(work, "CALL", 3e8)
    with one_call():
        more = accountant.remaining(noise_multiplier=0.28674906500518804, sample_rate=1e-10, epsilon=0.00277,
                                    delta=5.57e-12)  # fmt: skip
        assert left() > -1.1 * LAST
    assert 0 <= more <= 10**12
    if more:
        accountant.step(noise_multiplier=0.28674906500518804, sample_rate=1e-10, count=more)
        assert accountant.epsilon(5.57e-12).upper <= 0.00277


def test_a_question_takes_no_more_than_its_call_has_left() -> None:
    with one_call():
        question = Work()
        spend(CALL - 10.0)
        assert question.left == pytest.approx(10.0)
        with pytest.raises(WorkLimitError):
            question.charge(20.0, "a step")
        question.charge(10.0, "a step")
        assert spent()


def test_engines_refuse_once_it_is_used_up() -> None:
    composition = Composition([(PoissonRemovePair(GaussianPair(1.0), 0.1), 10)])
    with one_call():
        spend(CALL)
        for engine in (ContourEngine(composition), GridEngine(composition)):
            with pytest.raises(WorkLimitError):
                engine.epsilon((math.log(1e-5),) * 2, None)
        found = RenyiEngine(composition).epsilon((math.log(1e-5),) * 2, None)
    assert found.upper >= renyi_epsilon(composition, math.log(1e-5)).value  # of fewer orders


@pytest.mark.parametrize("units", [1e5, 1e7, 4e7])
def test_an_answer_that_had_to_be_short_is_wider_and_says_why(units: float, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = SAMPLED_LAPLACE.epsilon(1e-6)
    assert whole.upper - whole.lower <= 1e-3 * whole.upper
    with calls_of(units, monkeypatch):
        short = SAMPLED_LAPLACE.epsilon(1e-6)
    assert short.lower <= whole.lower <= whole.upper <= short.upper < math.inf
    assert (short.upper - short.lower) > 2 * (whole.upper - whole.lower)
    assert short.reason is not None
    assert "too long" in short.reason or USED_UP in short.reason


def test_the_same_call_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was asked before: nothing is counted by a clock."""
    with calls_of(4e7, monkeypatch):
        first, _, again = (SAMPLED_LAPLACE.epsilon(delta) for delta in (1e-6, 1e-9, 1e-6))
    assert (first.lower, first.estimate, first.upper) == (again.lower, again.estimate, again.upper)


def test_what_is_paid_for_once_in_a_call_is_paid_for_in_each() -> None:
    """Laid now or by an earlier call, asked for once or often, in a part or in the whole."""

    @remembered(4, once=True)
    def laid(at: float) -> float:
        spend(1000.0)
        return -at

    taken = []
    for times in (1, 3):
        with one_call():
            for _ in range(times):
                with part(0.5):
                    assert laid(2.0) == -2.0
                laid(2.0)
            laid(3.0)
            taken.append(CALL - left())
    assert taken == [2000.0, 2000.0]


def test_what_is_shared_is_paid_for_once_by_all_that_remember_it() -> None:
    """A result that is remembered with what it shares: its own work each time, and what is shared once in a call."""

    @remembered(4, once=True)
    def shared(at: float) -> float:
        spend(1000.0)
        return -at

    @remembered(4)
    def found(at: float, more: float) -> float:
        spend(10.0)
        return shared(at) + more

    taken = []
    for _ in range(2):
        with one_call():
            found(1.0, 0.5)
            found(1.0, 0.5)
            found(1.0, 0.25)
            shared(1.0)
            taken.append(CALL - left())
    assert taken == [1030.0, 1030.0]


def test_what_is_refused_is_paid_for_each_time_and_what_it_shares_once() -> None:
    @remembered(4, once=True)
    def shared(at: float) -> float:
        spend(1000.0)
        return at

    @remembered(4)
    def refusing(at: float) -> float:
        spend(10.0 + 0.0 * shared(at))
        raise hs.NotApplicableError("nothing is known")

    with one_call():
        for _ in range(2):
            with pytest.raises(hs.NotApplicableError):
                refusing(1.0)
        assert CALL - left() == 1020.0


def test_an_answer_does_not_depend_on_envelopes_that_were_laid_before() -> None:
    """The ends are the same when asked again, and so is what they took: what is laid already is paid for."""
    for kept in (laplace_line.kept_tail, laplace_line.kept_grids, laplace_line.log_moment_upper):
        kept.cache_clear()
    rounds = [
        hs.Round(hs.Gaussian(0.3), hs.Poisson(0.272), 81),
        hs.Round(hs.Laplace(100.0), hs.Poisson(0.0075), 42),
    ]
    found, taken = [], []
    for _ in range(2):
        with one_call():
            found.append(hs.Plan(rounds, adjacency="add").epsilon(5.26e-271))
            taken.append(CALL - left())
    assert laplace_line.kept_tail.cache_info().hits > 0
    assert (found[0].lower, found[0].upper) == (found[1].lower, found[1].upper)
    assert taken[0] == taken[1]


def test_a_profile_that_had_to_be_short_says_so_and_the_next_call_does_better(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = SAMPLED_LAPLACE.profile()
    with calls_of(1e6, monkeypatch):
        short = profile.delta([0.1, 0.5])
    assert short.reason == USED_UP
    whole = profile.delta([0.1, 0.5])
    assert whole.reason is None
    assert (np.ravel(whole.upper) <= np.ravel(short.upper)).all()
    wide, narrow = (np.ravel(found.upper - found.lower) for found in (short, whole))
    assert wide[0] > 1000 * np.ravel(whole.upper)[0]  # next to nothing was known
    assert narrow[0] <= 2.5e-3 * np.ravel(whole.upper)[0]  # 1.6e-3 to 2.4e-3 by where the atoms of such a plan fall
    assert narrow[1] == 0


@pytest.mark.slow
def test_a_calibration_that_had_to_be_short_is_on_the_safe_side(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Epsilon(1.0, 1e-6)
    with calls_of(2e8, monkeypatch):
        short = hs.calibrate(SAMPLED_LAPLACE, "noise", target)
    whole = hs.calibrate(SAMPLED_LAPLACE, "noise", target)
    assert short.value >= whole.value * (1 - 1e-6)
    assert target.met(short.plan.epsilon(1e-6))
    assert short.achieved.reason is not None


def test_large_groups_are_not_taken_record_by_record_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    group = hs.dp_sgd(1.0, 0.001, 100).profile().group(150)
    step_by_step = group.tpr(1e-6)
    assert step_by_step.reason is None
    with calls_of(3e7, monkeypatch):
        short = hs.dp_sgd(1.0, 0.001, 100).profile().group(150).tpr(1e-6)
    assert short.reason is not None
    assert float(short.upper) >= float(step_by_step.upper)


def test_sections_that_were_not_laid_for_want_of_work_are_laid_the_next_time() -> None:
    curve, at = Curve(Composition([(PoissonRemovePair(LaplacePair(1.0, 2.0), 0.1), 20)])), np.array([0.3])
    for _ in range(6):  # more often than a kind may fail
        with one_call():
            spend(CALL)
            wide = curve.log_delta(at)
    with one_call():
        narrow = curve.log_delta(at)
    assert narrow.width[0] <= 1e-3 < wide.width[0]
    assert wide.lower[0] <= narrow.lower[0] <= narrow.upper[0] <= wide.upper[0]


@pytest.mark.long
def test_many_kinds_take_the_renyi_bound_of_all_of_them() -> None:
    """Gathered into 32 kinds these rounds alone gave 3.17."""
    rounds = [hs.Round(hs.Laplace(1.0 + 8 * i / 383), hs.Poisson(1e-4 + 0.1 * (i * 7 % 384) / 384)) for i in range(384)]
    plan = hs.Plan(rounds)
    found, rough = plan.epsilon(1e-6), plan.epsilon(1e-6, accountant="rdp")
    assert found.upper <= rough.ends["upper"] * 1.01


def test_published_methods_refuse_more_kinds_than_they_end_with() -> None:
    rounds = [hs.Round(hs.Laplace(1.0 + i / 1000), hs.Poisson(0.01)) for i in range(1400)]
    with pytest.raises(hs.NotApplicableError, match="1400 different kinds of rounds would take about 7 s; give fewer"):
        hs.Plan(rounds).epsilon(1e-6, accountant="prv")


def test_what_a_method_takes_for_one_kind_decides_how_many_it_is_asked_about() -> None:
    """Moments take 3 ms for a kind, advanced composition 13 ms: of 200 kinds the first are had within four seconds."""
    plan = hs.Plan([hs.Round(hs.Gaussian(2.0 + i / 1000), hs.Poisson(0.01)) for i in range(200)])
    with pytest.raises(hs.NotApplicableError, match="200 different kinds of rounds would take about 3 s; give fewer"):
        plan.epsilon(1e-6, accountant="advanced")
    assert plan.epsilon(1e-6, accountant="rdp").ends["upper"] < 1
