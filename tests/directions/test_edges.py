"""Engines, profiles and searches at the edges of the domain: an answer on the safe side, and work that is counted."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import hockeystick as hs
from hockeystick.directions.tradeoff import Nodes
from hockeystick.engines.contour.engine import ContourEngine
from hockeystick.engines.contour.smoothed import Smoothing
from hockeystick.engines.curve import Curve
from hockeystick.engines.direct import DirectEngine
from hockeystick.engines.grid.engine import GridEngine
from hockeystick.numerics.budget import CALL, Budget
from hockeystick.numerics.lattice import GridLaw, Mesh, Tail
from hockeystick.pairs import Composition, GaussianPair, LaplacePair, PoissonAddPair, PoissonRemovePair
from hockeystick.pairs.sampled.gaussian_line import MixtureLine
from hockeystick.pairs.sampled.gaussian_transform import Kind, MixtureTransform
from hockeystick.plan import users
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    """A warning that escapes is an error for whoever runs under ``-W error``."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


class TestGroups:
    def test_of_any_size_in_a_few_steps(self) -> None:
        """Where the steps creep by a rounding each, they would not end."""
        nothing = hs.Plan([hs.Round(hs.RandomizedResponse(0.5), count=0)]).profile()
        before = time.process_time()
        band = nothing.group(10**12).tpr([1e-3, 0.5])
        assert time.process_time() - before < 5
        assert band.upper == pytest.approx([1e-3, 0.5], rel=1e-9)
        assert band.reason is not None
        assert "group" in band.reason

    @pytest.mark.parametrize("size", [201, 1000, 50_000])
    def test_hold_the_truth_of_a_larger_group(self, size: int) -> None:
        """Of unsampled Gaussians, whose groups are Gaussians of k times the distance."""
        mu = 2.0 / size
        fpr = np.array([1e-6, 1e-3, 0.3, 0.9])
        band = hs.Plan([hs.Round(hs.Gaussian(1 / mu))]).profile().group(size).tpr(fpr)
        truth = ndtr(ndtri(fpr) + size * mu)
        assert (truth <= band.upper).all()
        assert (band.upper <= 1).all()
        assert (band.reason is None) == (size - 1 <= users.MOST_STEPS)

    @pytest.mark.parametrize("steps", [0, 1, 3])
    def test_steps_that_are_not_taken_cost_width_only(self, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of randomised response: k steps are one of k times the epsilon, here for any number taken one by one."""
        epsilon, size, fpr = 0.3, 5, np.array([1e-4, 0.2, 0.6])
        profile = hs.Plan([hs.Round(hs.RandomizedResponse(epsilon))]).profile()
        exact = profile.group(size).tpr(fpr).upper
        monkeypatch.setattr(users, "MOST_STEPS", steps)
        wide = profile.group(size).tpr(fpr)
        assert (exact <= wide.upper * (1 + 1e-12)).all()
        assert (wide.upper < 1).all()
        assert wide.reason is not None

    def test_of_one_step_are_as_before(self) -> None:
        profile = hs.Plan([hs.Round(hs.Gaussian(2.0))]).profile()
        assert profile.group(2).tpr(0.1).reason is None


class TestWorkIsCounted:
    def test_grids_of_a_curve_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """None is begun once those before have spent what there is; the answer is wider, and certified."""
        composition = Composition([(LaplacePair(1.0, 2.0), 20)])
        at = np.linspace(0.5, 4.0, 5)
        known = Curve(composition).log_delta(at)
        monkeypatch.setattr(GridEngine, "at", _refused)
        monkeypatch.setattr(ContourEngine, "at", _refused)
        monkeypatch.setattr(Smoothing, "at", _refused)
        found = Curve(composition).log_delta(at)
        assert (found.lower == -math.inf).all()
        assert (found.upper >= known.upper - 1e-6).all()
        assert (found.upper < 0).all()

    def test_the_integrals_of_one_round_end(self) -> None:
        """The upper end is found first; where the panels do not last for the lower one it is 0, and says so."""
        composition = Composition([(PoissonRemovePair(GaussianPair(1.0), 0.5), 1)])
        engine = DirectEngine(composition)
        target = (math.log(1e-3), math.log(1e-3))
        with Budget(CALL) as budget:
            exact = engine.epsilon(target, None)
        used = CALL - budget.left
        assert used < CALL / 100
        with Budget(used - 1):
            found = DirectEngine(composition).epsilon(target, None)
        assert (found.lower, found.upper) == (0.0, exact.upper)
        assert found.limited is not None
        with Budget(1.0), pytest.raises(NotApplicableError, match="too many panels"):
            DirectEngine(composition).epsilon(target, None)

    def test_moments_of_too_many_nodes_are_bounded_roughly(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """At a tilt of 1e14 the nodes have to reach as far as ``(1 - q)^-t`` does; ``K <= -t log(1 - q)`` is left."""

        def never(*_: object) -> object:
            raise AssertionError

        transform = MixtureTransform.sampled(2e-11, 2e-4, Kind.ADD)
        assert transform.line(1e14, 0.0, 1e-300).nodes > 100_000
        monkeypatch.setattr(MixtureLine, "cumulants", never)
        assert transform.log_moment(1e14) == math.inf
        bound = PoissonAddPair(GaussianPair(2e-11), 2e-4).log_moment(1e14)
        assert 0 < bound <= -1e14 * math.log1p(-2e-4) * (1 + 1e-9)


def _refused(*_: object) -> Interval:
    raise NotApplicableError("not here")


class TestBeyondTheRangeOfADouble:
    def test_moments_and_tails(self) -> None:
        """An infinite moment bounds nothing: a probability is then at most 1, and no number is no bound either."""
        law = GridLaw(Mesh(0.0, 1e300, 1e-300, 0.0), -1, np.array([0.5, 0.25, 0.25]))
        assert law.log_moment(1e10) == math.inf
        tail = Tail([(law, 1)], 1e10, +1)
        assert tail.log_beyond(1e299) == 0.0
        assert tail.log_weight_beyond(1e299) == math.inf

    def test_nodes_of_one_exponential(self) -> None:
        """Epsilons so near that ``e^eps`` is one double: no slope can be taken between, the safe ones are -1 and 0."""
        nodes = Nodes(np.array([0.0, 1e-20, 2e-20, 1.0]), *(np.array([0.5, 0.5, 0.5, 0.1]),) * 3)
        b, low = nodes.vertices()
        assert np.isfinite(b).all()
        assert np.isfinite(low).all()
        # the line of slope -1 through (1, 0.5) and that of slope 0 through (e, 0.1) cross
        crossing = (b > 1) & (b < math.e * (1 - 1e-9))
        assert b[crossing] == pytest.approx([1.4])
        assert low[crossing] == pytest.approx([0.1])


@pytest.mark.parametrize(
    "other",
    [
        hs.Round(hs.RandomizedResponse(1.0)),
        hs.Round(hs.Gaussian(1.0)),
        hs.Round(hs.Gaussian(1.0), hs.Poisson(0.1), 10),
        hs.Round(hs.DiscreteGaussian(1.0)),
    ],
)
def test_two_laws_without_a_common_outcome_beside_another_round(other: hs.Round) -> None:
    """No finite loss has any mass, which no method may be asked to compose: delta is 1, and no epsilon is enough."""
    plan = hs.Plan([hs.Round(hs.Binomial(trials=1, sensitivity=2)), other])
    for accountant in hs.ACCOUNTANTS:
        found = plan.delta(1.0, accountant=accountant)
        assert f"{found:.9f}" == "1.000000000"
        if isinstance(found, hs.DeltaBound):
            assert 1 - 1e-11 < found.lower <= found.upper == 1
        assert f"{plan.epsilon(0.5, accountant=accountant):.1f}" == "inf"
    profile = plan.profile()
    assert (profile.delta([0.0, 1.0]).lower > 1 - 1e-11).all()
    assert (profile.delta([0.0, 1.0]).upper == 1).all()
    assert (profile.epsilon([0.0, 0.5]).lower == math.inf).all()
    assert profile.tpr([1e-3, 0.1]).lower.tolist() == pytest.approx([1.0, 1.0], abs=1e-6)
    assert profile.mu().upper == math.inf
    best = plan.selection("geometric", 5).delta(1.0)
    assert isinstance(best, hs.DeltaBound)
    assert best.lower == pytest.approx(1.0)
