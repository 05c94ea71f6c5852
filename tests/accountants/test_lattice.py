"""Accountants on a lattice of losses: their published numbers, their laws, and one-sidedness by brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest

import hockeystick as hs
from hockeystick.accountants import ACCOUNTANTS, evolving, prv
from hockeystick.accountants.evolving import EvolvingAccountant
from hockeystick.accountants.shared.dots import knots_of, law_above, law_below
from hockeystick.accountants.shared.lattice import Enclosed, LatticeLaw, compose, tilt_for_epsilon, window_of
from hockeystick.accountants.shared.privacy_curve import PrivacyCurve
from hockeystick.accountants.shared.rounded import Rounded, rounded
from hockeystick.directions.directions import compositions
from hockeystick.pairs import (
    BlackBoxPair,
    DominatingPair,
    GaussianPair,
    LaplacePair,
    PoissonAddPair,
    PoissonRemovePair,
)
from hockeystick.values.side import Side

Array = npt.NDArray[np.float64]

PAIRS: list[DominatingPair] = [
    GaussianPair(1.0),
    LaplacePair(1.0, 0.5),
    BlackBoxPair(1.0, 1e-3),
    PoissonRemovePair(GaussianPair(1.25), 0.01),
    PoissonAddPair(GaussianPair(1.25), 0.01),
    PoissonRemovePair(LaplacePair(1.0, 2.0), 0.3),
    PoissonAddPair(BlackBoxPair(1.0, 1e-3), 0.1),
]
REMOVE = hs.dp_sgd(1.0, 0.01, 1000, adjacency="remove")


def bracket(plan: hs.Plan, delta: float, name: str, **options: float) -> hs.Bound:
    """Epsilon by a method that ends in an interval."""
    found = plan.epsilon(delta, accountant=name, gap=None, proof=False, **options)
    assert isinstance(found, hs.Bound)
    return found


def delta_of(law: LatticeLaw, epsilon: Array) -> Array:
    """Of one round, by its definition."""
    beyond = np.maximum(law.losses[:, None] - epsilon, 0.0)
    found: Array = (law.mass[:, None] * -np.expm1(-beyond)).sum(axis=0) + law.infinite
    return found


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
@pytest.mark.parametrize("gap", [0.003, 0.02])
def test_chords_lie_above_the_curve_and_tangents_below(pair: DominatingPair, gap: float) -> None:
    """Everywhere, not only at the knots."""
    knots = knots_of(pair, gap, -60.0)
    epsilon = np.linspace(-3.0, 3.0, 501)
    p, q = PrivacyCurve(pair).above(epsilon)
    truth = np.maximum(p - np.exp(epsilon) * q, 0.0)
    above, below = delta_of(law_above(pair, knots), epsilon), delta_of(law_below(pair, knots), epsilon)
    assert (above >= truth * (1 - 1e-11)).all()
    assert (below <= truth * (1 + 1e-11) + 1e-14).all()
    assert (above - below).max() < 3 * gap


def test_rounds_narrower_than_the_gap_cost_connect_the_dots_a_gap_each() -> None:
    """Laplace noise of scale 7000 has losses between two points of the lattice."""
    plan = hs.Plan([hs.Round(hs.Gaussian(17.0), hs.Poisson(0.6), count=62), hs.Round(hs.Laplace(7000.0), count=2)])
    found = bracket(plan, 1e-6, "connect-the-dots", interval=1e-3)
    assert found.lower > found.upper - 3e-3


def test_connect_the_dots_resolves_rounds_of_rare_samples() -> None:
    """Nearly all mass lies between the loss -0.0006 and 0, nearer to each other than two points a thousandth apart."""
    plan = hs.Plan([hs.Round(hs.Gaussian(0.636), hs.Poisson(0.000565), count=110)])
    assert bracket(plan, 4e-7, "connect-the-dots", interval=1e-4).relative_gap < 1e-4
    assert bracket(plan, 4e-7, "connect-the-dots", interval=1e-3).relative_gap < 0.02


def test_connect_the_dots_is_second_order_in_the_gap() -> None:
    """Half the gap, a quarter of the width; and the width is that of the law, ``k h^2 (1 + t) / 8``."""
    widths = [bracket(REMOVE, 1e-5, "connect-the-dots", interval=h).gap for h in (2.5e-4, 1.25e-4, 6.25e-5)]
    for wide, narrow in itertools.pairwise(widths):
        assert wide / narrow == pytest.approx(4.0, rel=0.1)
    rough = REMOVE.epsilon(1e-5, accountant="rdp")
    assert isinstance(rough, hs.UpperBound)
    order = rough.order
    assert order is not None
    assert widths[-1] == pytest.approx(1000 * 6.25e-5**2 * order / 8, rel=0.15)


def test_the_estimate_of_connect_the_dots_cancels_the_second_order() -> None:
    truth = REMOVE.epsilon(1e-5)
    found = bracket(REMOVE, 1e-5, "connect-the-dots", interval=1e-3)
    assert abs(found.estimate - truth.estimate) < 0.1 * found.gap


def test_connect_the_dots_refuses_a_gap_that_is_too_narrow() -> None:
    with pytest.raises(hs.NotApplicableError, match=r"interval .* times as wide"):
        bracket(REMOVE, 1e-5, "connect-the-dots", interval=1e-7)


def test_deltas_far_below_the_round_off_of_a_transform() -> None:
    """The tilt: delta 1e-18, and 1e-40, between narrow ends."""
    for delta in (1.1e-18, 1e-40):
        truth = REMOVE.epsilon(delta)
        found = bracket(REMOVE, delta, "connect-the-dots", interval=1e-4)
        assert found.lower <= truth.upper
        assert found.upper >= truth.lower
        assert found.relative_gap < 1e-4
        coarse = bracket(REMOVE, delta, "connect-the-dots")
        assert coarse.lower <= truth.upper
        assert coarse.upper >= truth.lower
        assert coarse.relative_gap < 1e-3


def test_a_lattice_sum_is_the_sum_by_enumeration() -> None:
    """Three rounds of four atoms: 64 outcomes."""
    law = LatticeLaw(-0.2, 0.1, np.array([0.1, 0.4, 0.3, 0.2]), 1e-3, 0.0)
    laws = [(law, 3)]
    total = Enclosed.of(laws, laws, 2.0, window_of(laws, 2.0), "")
    for epsilon in (0.0, 0.05, 0.13, 0.25):
        delta = 1 - (1 - 1e-3) ** 3
        for outcome in itertools.product(range(4), repeat=3):
            loss = 3 * -0.2 + 0.1 * sum(outcome)
            delta += math.prod(law.mass[list(outcome)]) * -math.expm1(min(epsilon - loss, 0.0))
        low, high = total.log_delta(epsilon, epsilon)
        assert low <= math.log(delta) <= high < low + 1e-9


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_rounding_keeps_the_mean(pair: DominatingPair) -> None:
    """Mean of the rounded losses = mean of the loss, here by quadrature over the densities."""
    law = rounded(pair, 0.03, -60.0)
    losses, log_weight = PrivacyCurve(pair).nodes
    mean = float((np.exp(log_weight) * losses).sum())
    found = float((law.above.mass * law.above.losses).sum())
    assert abs(found - mean) <= law.bias + 1e-12
    assert law.bias < 1e-8


@pytest.mark.parametrize(
    ("rate", "noise", "steps", "delta", "eps_error"),
    [(0.01, 0.3, 1000, 1e-5, 0.05), (0.125, 0.8, 1000, 1e-5, 0.1), (0.01, 1.0, 1000, 1.1e-18, 0.1)],
)
def test_prv_where_its_released_code_was_wrong_or_gave_up(
    rate: float, noise: float, steps: int, delta: float, eps_error: float
) -> None:
    plan = hs.dp_sgd(noise, rate, steps, adjacency="remove")
    found, truth = bracket(plan, delta, "prv", eps_error=eps_error), plan.epsilon(delta)
    assert found.lower <= truth.lower <= truth.upper <= found.upper
    assert found.gap == pytest.approx(2 * eps_error, rel=0.1)


def test_prv_refuses_where_the_domains_leave_out_more_than_the_theorem_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five sixths of delta_error pay for what the domains leave out; no assertion may be all that holds it to that."""
    monkeypatch.setattr(prv, "rounded", lambda *given, **kinds: rounded(*given, **kinds)._replace(lost=1e-6))
    plan = hs.Plan([hs.Round(hs.Gaussian(2.0), count=3)])
    with pytest.raises(hs.NotApplicableError, match=r"leave out 1\.0e-06, more than five sixths of delta_error"):
        plan.epsilon(1e-3, accountant="prv", delta_error=1e-6)


def test_prv_on_the_setting_of_its_paper() -> None:
    """Rate 0.01, noise 0.8 (Gopi, Lee, Wutschitz 2021, Figure 1): ten times smaller errors, a tenth of the width."""
    plan = hs.dp_sgd(0.8, 0.01, 1000, adjacency="remove")
    wide, narrow = (bracket(plan, 1e-7, "prv", eps_error=e, delta_error=1e-12) for e in (0.1, 0.01))
    assert wide.lower <= narrow.lower <= plan.epsilon(1e-7).upper
    assert plan.epsilon(1e-7).lower <= narrow.upper <= wide.upper
    assert wide.gap / narrow.gap == pytest.approx(10.0, rel=0.02)


def test_errors_that_leave_nothing_are_refused() -> None:
    for name in ("prv", "evolving"):
        with pytest.raises(hs.NotApplicableError, match="delta_error"):
            REMOVE.epsilon(1e-5, accountant=name, delta_error=1e-4)


def test_two_stages_grow_as_the_fourth_root_of_the_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 times the rounds: groups' lattices twice as long, where a single lattice has four times the points."""
    coarsened = evolving._coarsened

    def points(count: int) -> int:
        """Those of a group of ever more, ever weaker rounds: the law of the sum of all is the same."""
        sizes: list[int] = []

        def counted(group: evolving.Grouped, fine: float, gap: float) -> Rounded:
            sizes.append(len(group.most))
            return coarsened(group, fine, gap)

        monkeypatch.setattr(evolving, "_coarsened", counted)
        plan = hs.Plan([hs.Round(hs.Laplace(math.sqrt(count)), count=count)], adjacency="remove")
        EvolvingAccountant().evolve(compositions(plan.directions)[0][1], math.log(1e-8))
        return sizes[0]

    assert 1.6 < points(160_000) / points(10_000) < 2.6


def test_groups_of_many_kinds_are_counted_before_the_first_is_composed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred different rounds make some forty groups, each of which would fit by itself."""
    composed: list[object] = []
    monkeypatch.setattr(evolving, "convolved", lambda *arguments: composed.append(arguments))
    rounds = [hs.Round(hs.Laplace(12.0 + 3 * i), count=500 * (1 + i % 7)) for i in range(100)]
    with pytest.raises(hs.NotApplicableError, match=r"groups of rounds would need .* or more; increase eps_error"):
        hs.Plan(rounds).epsilon(1e-5, accountant="evolving")
    assert not composed


def test_evolving_brackets_several_kinds_of_rounds() -> None:
    plan = hs.dp_sgd(1.0, 0.01, 300, adjacency="remove") + hs.dp_sgd(2.0, 0.05, 45, adjacency="remove")
    found, truth = bracket(plan, 1e-5, "evolving"), plan.epsilon(1e-5)
    assert found.lower <= truth.lower <= truth.upper <= found.upper
    assert found.gap == pytest.approx(0.2, rel=0.1)


def test_buckets_are_squared_when_the_range_is_left_and_still_bracket() -> None:
    """The first factor covers a hundredth of one round: many squarings. More buckets, a narrower interval."""
    truth = REMOVE.epsilon(1e-5)
    found = [bracket(REMOVE, 1e-5, "privacy-buckets", buckets=n, correction=0) for n in (4000, 8000, 16000)]
    for interval in found:
        assert interval.lower <= truth.lower <= truth.upper <= interval.upper
    for wide, narrow in itertools.pairwise(found):
        assert narrow.gap == pytest.approx(0.5 * wide.gap, rel=0.3)  # first order


def test_buckets_refuse_a_delta_that_rounding_drowns() -> None:
    with pytest.raises(hs.NotApplicableError, match="is too large for a delta"):
        bracket(REMOVE, 1e-14, "privacy-buckets", buckets=1000)


def test_the_tilt_is_a_matter_of_precision_only() -> None:
    """Two tilts, one answer."""
    pair = PoissonRemovePair(GaussianPair(1.0), 0.01)
    laws = [(law_above(pair, knots_of(pair, 2e-3, -60.0)), 1000)]
    best = tilt_for_epsilon(laws, 1.5)
    one, other = (compose(laws, t, window_of(laws, t), Side.ABOVE, "").log_delta(1.5) for t in (best, 0.5 * best))
    assert one == pytest.approx(other, abs=1e-6)


def test_names_are_registered() -> None:
    assert {"connect-the-dots", "privacy-buckets", "prv", "evolving"} <= set(ACCOUNTANTS)


def test_a_direction_near_the_end_of_its_loss_is_no_burden() -> None:
    """In the direction add the loss ends at 1.005: delta at 1 is below the range of a double, its curve mere dust."""
    plan = hs.dp_sgd(1.0, 0.01, 100)
    found = bracket_of_delta(plan, 1.0)
    assert found.lower <= plan.delta(1.0).upper
    assert found.upper >= plan.delta(1.0).lower
    assert found.relative_gap < 1e-3


def bracket_of_delta(plan: hs.Plan, epsilon: float) -> hs.Bound:
    found = plan.delta(epsilon, accountant="connect-the-dots", gap=None, proof=False, interval=1e-4)
    assert isinstance(found, hs.Bound)
    return found


@pytest.mark.parametrize("rounds", [22, 100])
def test_a_lower_end_far_above_zero_is_found(rounds: int) -> None:
    """At epsilon 0 the tilted masses drown in the rounding of the transform; that is not where to start from."""
    plan = hs.dp_sgd(0.8, 1.0, rounds)
    truth = plan.epsilon(1e-7)
    for name, width in (("prv", 0.21), ("connect-the-dots", 1e-5)):
        found = bracket(plan, 1e-7, name)
        assert found.lower <= truth.upper
        assert truth.lower <= found.upper
        assert found.gap < width


def test_a_bulk_within_one_cell_is_not_rounded_up_to_its_end() -> None:
    """Noise 0.5, rate 2e-5: nearly all of a round's loss lies between two knots, and its mean has to be kept."""
    plan = hs.dp_sgd(0.5, 2e-5, 20_000, adjacency="remove")
    found = plan.epsilon(1e-8, accountant="connect-the-dots")
    assert found.quoted == pytest.approx(plan.epsilon(1e-8).upper, rel=1e-3)
    assert found.quoted >= plan.epsilon(1e-8).lower


def test_prv_on_a_given_mesh() -> None:
    """As Algorithm 1 has it: a mesh stands for its ``eps_error``."""
    plan = hs.dp_sgd(0.8, 4e-3, 1000, adjacency="remove")
    mesh = 1e-4
    half = mesh * math.sqrt(500 * math.log(12e10))
    on_mesh = plan.epsilon(1e-7, accountant="prv", delta_error=1e-10, mesh=mesh)
    by_error = plan.epsilon(1e-7, accountant="prv", delta_error=1e-10, eps_error=half)
    assert isinstance(on_mesh, hs.Bound)
    assert isinstance(by_error, hs.Bound)
    assert (on_mesh.lower, on_mesh.upper) == pytest.approx((by_error.lower, by_error.upper), abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.1005, 0.2005, 0.0105])
def test_a_largest_loss_on_the_edge_of_a_cell_is_in_the_domain(epsilon: float) -> None:
    """But for its rounding it lies on the last edge, beyond which the domain left half of the mass out."""
    plan = hs.Plan([hs.Round(hs.RandomizedResponse(epsilon), count=100)], "replace-one")
    found, truth = plan.epsilon(1e-6, accountant="prv", mesh=1e-3), plan.epsilon(1e-6)
    assert isinstance(found, hs.Bound)
    assert found.lower <= truth.lower
    assert truth.upper <= found.upper < found.lower + 0.08
