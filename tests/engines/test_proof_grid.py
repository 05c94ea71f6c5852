"""Proofs of rounds with atoms alone by laws on a grid: each step on its side, and answers against enumerated sums."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

import hockeystick as hs
import oracle
from hockeystick.engines.proof.atoms import DiscreteNoise, FiniteLaw, Outcome
from hockeystick.engines.proof.cells import Cells, Scale, power, together
from hockeystick.engines.proof.grid import GridLaws
from hockeystick.engines.proof.rounds import ExactRounds
from hockeystick.engines.proof.search import Enclosure
from hockeystick.numerics.balls import ball, precision
from hockeystick.pairs.exact import finite_law
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import NotApplicableError
from oracle.real import to_fraction, to_mpf

BITS = 96
FEW = 11  # bits of a mass, with which roundings decide
EPSILONS = (-1.5, -0.3, 0.0, 0.2, 0.7, 1.9)
SMALL = arb("1e-40")  # what balls of 200 bits may come to, in the laws below

masses = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=2, max_size=5)
"""P- and Q-masses of the outcomes of a round, up to factors."""


def pair(weights: Sequence[tuple[int, int]]) -> list[tuple[Fraction, Fraction]]:
    p, q = sum(a for a, _ in weights), sum(b for _, b in weights)
    return [(Fraction(a, p), Fraction(b, q)) for a, b in weights]


def outcomes(law: Sequence[tuple[Fraction, Fraction]]) -> list[Outcome]:
    return [Outcome((ball(p) / ball(q)).log(), ball(p), ball(q)) for p, q in law]


def composed(
    one: Sequence[tuple[Fraction, Fraction]], other: Sequence[tuple[Fraction, Fraction]]
) -> list[tuple[Fraction, Fraction]]:
    return [(a * c, b * d) for a, b in one for c, d in other]


def truth(law: Sequence[tuple[Fraction, Fraction]], epsilon: float) -> arb:
    """``sum (p - e^eps q)_+`` over all outcomes."""
    odds = arb(epsilon).exp()
    return sum(((ball(p) - odds * ball(q)).max(arb(0)) for p, q in law), arb(0))


def of_above(law: Cells, offset: arb, epsilon: float) -> arb:
    parts, spacing = arb(2) ** -law.scale.bits, law.scale.spacing(law.fine)
    total = parts * law.lost
    for place, mass in enumerate(law.above):
        total += parts * mass * (-(arb(epsilon) - offset - spacing * (law.first + place)).expm1()).max(arb(0))
    return total


def of_below(law: Cells, epsilon: float) -> arb:
    """The largest ``P(E) - e^eps Q(E)``: over the cells where that is positive."""
    p, q, odds = arb(2) ** -law.scale.bits, arb(2) ** -law.scale.q_bits, arb(epsilon).exp()
    return sum(((p * a - odds * q * b).max(arb(0)) for a, b in zip(law.p, law.q, strict=True)), arb(0))


def made(law: Sequence[tuple[Fraction, Fraction]], scale: Scale, fine: int) -> tuple[Cells, arb]:
    found = outcomes(law)
    offset = found[0].loss.mid()
    return Cells.of(found, offset, scale, fine, arb(0)), offset


def held(cells: Cells, offset: arb, law: Sequence[tuple[Fraction, Fraction]]) -> None:
    assert len(cells.above) == len(cells.p) == len(cells.q)
    for epsilon in EPSILONS:
        exact = truth(law, epsilon)
        assert of_above(cells, offset, epsilon) > exact - SMALL
        assert of_below(cells, epsilon) < exact + SMALL


@settings(max_examples=40, deadline=None)
@given(masses, st.floats(0.05, 2.0), st.integers(-1, 4), st.sampled_from([FEW, BITS]))
def test_one_round_is_between(weights: list[tuple[int, int]], unit: float, fine: int, bits: int) -> None:
    """At every real epsilon, not only from 0 on: compositions rest on that. Coarser grids too."""
    with precision(200):
        law = pair(weights)
        cells, offset = made(law, Scale(arb(unit), bits, bits + 2), fine)
        held(cells, offset, law)
        held(cells.coarser(), offset, law)
        held(cells.coarser().coarser(), offset, law)


@settings(max_examples=30, deadline=None)
@given(masses, masses, st.floats(0.05, 1.0), st.floats(0, 1 / 16), st.sampled_from([FEW, BITS]))
def test_two_rounds_and_what_is_cut_are_between(
    first: list[tuple[int, int]], second: list[tuple[int, int]], unit: float, cut: float, bits: int
) -> None:
    """On grids of their own, with up to a sixteenth cut at either end."""
    with precision(200):
        laws, scale, parts = (pair(first), pair(second)), Scale(arb(unit), bits, bits + 2), int(cut * 2**bits)
        one, other = made(laws[0], scale, 3), made(laws[1], scale, 2)
        both = together(one[0], other[0], 64, parts)
        assert both.length <= 64
        held(both, one[1] + other[1], composed(*laws))
        again = together(both, both, 32, parts)
        held(again, 2 * (one[1] + other[1]), composed(composed(*laws), composed(*laws)))


@pytest.mark.parametrize("count", [1, 2, 3, 6, 7])
def test_powers_are_of_all_rounds(count: int) -> None:
    with precision(200):
        law = pair([(9, 1), (2, 3), (1, 7)])
        cells, offset = made(law, Scale(arb(0.5), BITS, BITS), 6)
        whole = [(Fraction(1), Fraction(1))]
        for _ in range(count):
            whole = composed(whole, law)
        sizes: list[int] = []

        def parts(size: int) -> int:
            sizes.append(size)
            return 0

        powered = power(cells, count, 1 << 12, parts)
        held(powered, count * offset, whole)
        assert len(sizes) == count.bit_length() + count.bit_count() - 2
        assert max(sizes, default=1) == count
        assert of_above(powered, count * offset, 0.2) - truth(whole, 0.2) < 1e-3


def test_each_rounding_is_to_the_safe_side() -> None:
    """Products and splits with so few bits that every rounding shows."""
    scale = Scale(arb(1), 4, 4)
    one = Cells(scale, 0, 0, [3, 5], 2, [3, 5], [3, 5])
    squared = one.times(one)
    assert (squared.above, squared.lost) == ([1, 2, 2], 4)  # 9, 30 and 25 sixteenths
    assert (squared.p, squared.q) == ([0, 1, 1], [1, 2, 2])
    coarse = Cells(scale, 0, 1, [15], 1, [1], [3]).coarser()
    assert coarse == Cells(scale, -1, 0, [5, 11], 1, [1, 0], [3, 0])  # 4.03 and 10.97
    coarse = Cells(scale, 0, 1, [0, 2, 0], 1, [1, 2, 4], [3, 5, 6]).coarser()
    assert coarse == Cells(scale, -1, 0, [0, 2, 0], 1, [1, 6, 0], [3, 11, 0])
    seven = [7, 7, 7, 7, 7]
    assert Cells(scale, 0, 5, [1, 2, 9, 2, 1], 3, seven, seven).cut(3) == Cells(scale, 0, 7, [12], 6, [7], [7])
    third = Outcome(arb(0), ball(Fraction(1, 3)), ball(Fraction(1, 3)))
    made = Cells.of([third], arb(0), scale, 0, ball(Fraction(1, 100)))
    assert made == Cells(scale, 0, 0, [6, 0], 1, [5, 0], [6, 0])


def test_no_mass_is_above_1() -> None:
    """Upper bounds on masses that are below 1 anyway: with few bits their roundings would else be squared each time."""
    scale = Scale(arb(1), 4, 5)
    one, other = (Cells(scale, 0, 0, [a, a, a], 0, [4, 4, 4], [q, q, q]) for a, q in ((15, 31), (9, 20)))
    assert one.times(other).above == [9, 16, 16, 16, 9]
    assert one.times(other).q == [20, 32, 32, 32, 20]
    doubtful = Outcome(arb(0.5), arb("1", "3"), arb("1", "3"))
    assert Cells.of([doubtful], arb(0), scale, 0, arb(0)).above == [16, 16]


def test_a_loss_far_below_the_precision_is_split_as_any_other() -> None:
    """Its share is not the quotient of two differences from 1, of which nothing is left: 3/4 of it go up."""
    with precision(128):
        tiny = arb("1e-85")
        law = Cells.of([Outcome(tiny * 3 / 4, arb(1), arb(1))], arb(0), Scale(tiny.mid(), BITS, BITS), 0, arb(0))
        assert [mass >> BITS - 40 for mass in law.above] == [1 << 38, 3 << 38]


def test_a_loss_on_the_grid_is_not_split() -> None:
    """Exactly one lattice: both ends differ by roundings alone, and none of the mass moves."""
    with precision(300):
        step = arb(1) / 3
        found = [Outcome(step * n, ball(Fraction(1, 4)), ball(Fraction(1, 4)) * (-step * n).exp()) for n in range(4)]
        law = Cells.of(found, found[1].loss.mid(), Scale(step.mid(), BITS, BITS), 0, arb(0))
        assert law.first == -1
        assert [mass >> BITS - 40 for mass in law.above[:4]] == [1 << 38] * 4
        assert sum(law.above[4:]) < 8


def test_noise_is_all_of_its_outcomes() -> None:
    """The masses, and what is left out of them: Z has a bound on its tail of its own."""
    for variance in (Fraction(1, 16), Fraction(4), Fraction(150)):
        noise = DiscreteNoise(2, variance, Fraction(1), None)
        with precision(160), mp.workdps(60):
            weights = {
                k: mp.exp(-mp.mpf(k * k) / 2 / mp.mpf(variance.numerator) * variance.denominator)
                for k in range(-400, 401)
            }
            whole = mp.fsum(weights.values())
            found, left = noise.outcomes(-30.0)
            beyond = mp.one
            for outcome, x in zip(found, range(-(len(found) // 2) + 1, len(found)), strict=False):
                exact = to_fraction(weights[x - 2] / whole), to_fraction(weights[x] / whole)
                assert outcome.p.overlaps(ball(exact[0]) + arb(0, 1e-40))
                assert outcome.q.overlaps(ball(exact[1]) + arb(0, 1e-40))
                assert (outcome.loss - (outcome.p / outcome.q).log()).overlaps(arb(0))
                beyond -= weights[x - 2] / whole
            assert left >= ball(to_fraction(beyond)) - arb("1e-40")
            assert left < 2e-13


CASES: list[tuple[dict[str, object], str, float]] = [
    (
        {"mechanism": "discrete-gaussian", "noise_multiplier": 1.0, "sampling": "poisson", "sample_rate": 0.1},
        "remove",
        0.1,
    ),
    (
        {"mechanism": "discrete-gaussian", "noise_multiplier": 0.9, "sampling": "poisson", "sample_rate": 0.1},
        "add",
        0.1,
    ),
    (
        {"mechanism": "discrete-gaussian", "noise_multiplier": 0.7, "sampling": "poisson", "sample_rate": 0.3},
        "remove",
        1.5,
    ),
    ({"mechanism": "binomial", "trials": 8, "probability": 0.4}, "remove", 0.6),
    ({"mechanism": "pmf", "p": ["0.5", "0.3", "0.2"], "q": ["0.2", "0.2", "0.6"]}, "add", 1.0),
    ({"mechanism": "discrete-laplace", "scale": 3.0, "sensitivity": 4}, "remove", 0.9),
]


def laws(item: dict[str, object], adjacency: str, count: int, epsilon: float, length: int) -> Enclosure:
    plan = hs.Plan.from_dict({"adjacency": adjacency, "round": [{**item, "count": count}]})
    direction = Direction(adjacency)
    rounds = ExactRounds.of(plan.directions.exact(direction), direction)
    depth = plan.delta(epsilon).log_delta.lower
    return GridLaws(rounds, epsilon, depth, 1.0, 1e-6, length).delta(arb(epsilon))


@pytest.mark.parametrize(("item", "adjacency", "epsilon"), CASES)
def test_a_few_rounds_are_their_sums(item: dict[str, object], adjacency: str, epsilon: float) -> None:
    """Within, and of second order in the grid."""
    count = 2 if item["mechanism"] == "discrete-gaussian" else 5  # the oracle lists all sums
    table = {"adjacency": adjacency, "round": [{**item, "count": count}]}
    exact = oracle.delta(table, epsilon, 30)
    plan = hs.Plan.from_dict(table)
    for alone in plan.directions.exact(Direction(adjacency)):
        rounds = ExactRounds.of([alone], Direction(adjacency))
        infinite = rounds.exact_infinite_mass
        assert infinite is not None
        exact -= to_mpf(infinite)
    widths = []
    for length in (512, 4096):
        found = laws(item, adjacency, count, epsilon, length)
        with precision(200):
            assert found.lower <= ball(to_fraction(exact)) * (1 + arb("1e-14"))
            assert ball(to_fraction(exact)) * (1 - arb("1e-14")) <= found.upper
            widths.append(float((found.upper - found.lower) / found.upper))
    assert widths[1] <= max(widths[0] / 16, 1e-7)


def test_on_a_lattice_there_is_no_width() -> None:
    with precision(128):
        found = laws({"mechanism": "discrete-laplace", "scale": 3.0, "sensitivity": 4}, "remove", 50, 3.0, 4096)
        assert found.upper - found.lower <= found.upper * arb("1e-7")


@pytest.mark.long
@settings(max_examples=12, deadline=None)
@given(
    st.floats(0.5, 20.0),
    st.floats(-3.0, -0.3),
    st.integers(2, 1000),
    st.floats(-10.0, -3.0),
    st.sampled_from(["add", "remove"]),
)
def test_sampled_noise_agrees_with_the_certified_answer(
    noise: float, log_rate: float, count: int, log_delta: float, adjacency: str
) -> None:
    made = hs.Round(hs.DiscreteGaussian(round(noise, 3)), hs.Poisson(round(10.0**log_rate, 6)), count)
    plan, delta = hs.Plan([made], adjacency=adjacency), 10.0**log_delta
    found = plan.epsilon(delta)
    proved = plan.epsilon(delta, proof=True)
    assert proved.guarantee == "proved"
    assert max(proved.lower, found.lower) <= min(proved.upper, found.upper)
    width = (proved.upper - proved.lower) / proved.upper
    assert width <= 1e-4 or (proved.reason and proved.upper - proved.lower <= 1e-4)


def test_kinds_of_rounds_with_atoms_are_proved_together() -> None:
    plan = hs.Plan(
        [
            hs.Round(hs.DiscreteGaussian(4.0), count=10),
            hs.Round(hs.RandomizedResponse(0.3), count=3),
            hs.Round(hs.DiscreteGaussian(3.0), hs.Poisson(0.1), 4),
        ],
        adjacency="remove",
    )
    proved, found = plan.epsilon(1e-6, gap=1e-4, proof=True), plan.epsilon(1e-6)
    assert proved.accountant == "grid of whole numbers"
    assert max(proved.lower, found.lower) <= min(proved.upper, found.upper)
    width = (proved.upper - proved.lower) / proved.upper
    assert width <= 1e-4 or (proved.reason and proved.upper - proved.lower <= 1e-4)
    deltas, certified = plan.delta(1.0, gap=1e-3, proof=True), plan.delta(1.0)
    assert max(deltas.lower, certified.lower) <= min(deltas.upper, certified.upper)
    assert deltas.upper - deltas.lower <= 1e-3 * deltas.upper


def rounds_of(masses: list[Fraction], count: int) -> ExactRounds:
    return ExactRounds(finite=Counter({FiniteLaw(finite_law(masses, masses[::-1]), None): count}))


def test_cells_around_epsilon_are_in_doubt() -> None:
    """An epsilon of which a ball cannot say on which side of a loss it lies: what lies there is counted from above."""
    half = Fraction(1, 2)
    found = GridLaws(rounds_of([half, half / 2, half / 2], 9), 1.0, -1.0, 1.0, 1e-6, 512)
    wide = arb("1.0", "0.5")
    assert found.upper(wide) >= found.upper(arb("0.5"))
    assert found.lower(wide) <= found.lower(arb("1.5"))


def test_what_is_left_out_of_a_round_is_lost() -> None:
    """An outcome too light to be kept has its mass at infinity: also where its loss is above epsilon."""
    tiny = Fraction(1, 10**12)
    p = [Fraction(1, 2) - tiny, Fraction(1, 2), tiny]
    q = [Fraction(1, 2), Fraction(1, 2) - tiny / 10**12, tiny / 10**12]
    rounds = ExactRounds(finite=Counter({FiniteLaw(finite_law(p, q), None): 1}))
    with precision(200):
        found = GridLaws(rounds, 1.0, 0.0, 1.0, 1e-6, 512).delta(arb(1))
        assert found.lower == 0
        assert ball(tiny) * (1 - arb("1e-6")) <= found.upper


def test_what_has_infinite_loss_is_added() -> None:
    """Binomial noise shows what is possible with the record alone."""
    plan = hs.Plan([hs.Round(hs.Binomial(20), count=12)], adjacency="remove")
    proved, found = plan.delta(1.0, proof=True), plan.delta(1.0)
    assert proved.accountant == "grid of whole numbers"
    assert max(proved.lower, found.lower) <= min(proved.upper, found.upper)


def test_light_cells_do_not_hide_the_best_event() -> None:
    """Rounds of two losses and a rare third one, whose cells have masses that are all rounding."""
    plan = hs.Plan([hs.Round(hs.ApproximateDP(0.3, 1e-9), hs.Poisson(0.01), 1000)])
    found = plan.epsilon(1e-5, proof=True)
    assert found.relative_gap <= 1e-6


def test_a_large_epsilon_is_met() -> None:
    """Beyond what the exponential of a double can be."""
    plan = hs.Plan([hs.Round(hs.DiscreteGaussian(3.0), count=10_000)])
    proved, found = plan.epsilon(1e-6, proof=True), plan.epsilon(1e-6)
    assert max(proved.lower, found.lower) <= min(proved.upper, found.upper)
    assert proved.lower > 713
    assert proved.relative_gap <= 1e-6


def test_a_record_that_is_added_has_a_largest_loss() -> None:
    noise = DiscreteNoise(1, Fraction(4), Fraction(1, 10), Direction.ADD)
    rounds = ExactRounds(discrete=Counter({noise: 7}))
    assert rounds.bounded
    assert rounds.supremum().overlaps(-7 * arb("0.9").log())
    plan = hs.Plan([hs.Round(hs.DiscreteGaussian(2.0), hs.Poisson(0.1), 7)], adjacency="add")
    assert plan.delta(0.8, proof=True).upper == 0.0
    assert plan.epsilon(0.0, proof=True).upper == pytest.approx(-7 * math.log(0.9))


def test_a_single_round_of_very_many_outcomes_is_not_composed() -> None:
    plan = hs.Plan([hs.Round(hs.DiscreteGaussian(43.5), hs.Poisson(0.036))], adjacency="add")
    proved, certified = plan.delta(1e-300, proof=True), plan.delta(1e-300)
    assert proved.lower <= certified.upper
    assert certified.lower <= proved.upper


def test_laws_are_not_begun_where_they_could_not_be_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Laws of fewer cells give the answer then."""
    rounds = rounds_of([Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], 1000)
    GridLaws(rounds, 1.0, -5.0, 1.0, 1e-2, 512)
    monkeypatch.setattr("hockeystick.engines.proof.grid.MOST_BITS", 1e5)
    with pytest.raises(NotApplicableError, match="too many distinct sums"):
        GridLaws(rounds, 1.0, -5.0, 1.0, 1e-2, 512)
