"""Proofs of discrete Gaussian noise and of privacy curves: against sums over all outcomes, and their remainders."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from flint import acb, arb
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

import hockeystick as hs
from hockeystick.engines.proof.curve_law import CurveLaw, corners, sign
from hockeystick.engines.proof.discrete import DiscreteNoise, noise_moment
from hockeystick.engines.proof.enclosure import Enclosure
from hockeystick.engines.proof.finite_sums import SPARE_BITS, exponential_ball
from hockeystick.engines.proof.lattice import LatticeSum
from hockeystick.engines.proof.rounds import ExactRounds
from hockeystick.numerics.balls import ball, precision
from hockeystick.numerics.decimals import decimal
from hockeystick.pairs.exact import ExactCurve, ExactDiscreteGaussian, exponential
from hockeystick.pairs.points import largest_curve
from hockeystick.values.adjacency import Direction
from oracle.real import to_fraction, to_mpf


def law(variance: Fraction, deep: float = 260.0) -> dict[int, mp.mpf]:
    """The noise around 0, outcome by outcome."""
    far = math.ceil(math.sqrt(2 * deep * float(variance))) + 2
    weights = {
        k: mp.exp(-mp.mpf(k * k) * variance.denominator / (2 * variance.numerator)) for k in range(-far, far + 1)
    }
    total = mp.fsum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


def summed(kinds: list[tuple[DiscreteNoise, int]], epsilon: float) -> mp.mpf:
    """Delta by adding up the losses of every round, one round after the other, in exact places."""
    found: dict[Fraction, mp.mpf] = {Fraction(0): mp.one}
    for noise, count in kinds:
        one = law(noise.variance)
        for _ in range(count):
            more: dict[Fraction, mp.mpf] = {}
            for loss, mass in found.items():
                for k, share in one.items():
                    at = loss + k * noise.spacing + noise.offset
                    more[at] = more.get(at, mp.zero) + mass * share
            found = {at: mass for at, mass in more.items() if mass > mp.mpf("1e-90")}
    e = Fraction(epsilon)
    return mp.fsum(mass * -mp.expm1(to_mpf(e - loss)) for loss, mass in found.items() if loss > e)


def enclosed(kinds: list[tuple[DiscreteNoise, int]], tilt: float, epsilon: float, depth: float) -> Enclosure:
    rounds = ExactRounds(discrete=dict(kinds))
    return LatticeSum(rounds, tilt, epsilon, depth, 1e-9).delta(arb(epsilon))


CASES = [
    ([(DiscreteNoise(1, Fraction(4)), 3)], 1.0),
    ([(DiscreteNoise(2, Fraction(9, 4)), 2)], 0.0),
    ([(DiscreteNoise(1, Fraction(1, 4)), 2)], 5.0),
    ([(DiscreteNoise(1, Fraction(4)), 2), (DiscreteNoise(1, Fraction(6)), 1)], 0.7),
    pytest.param([(DiscreteNoise(1, Fraction(100)), 2)], 0.3, marks=pytest.mark.long),
]


@pytest.mark.parametrize(("kinds", "epsilon"), CASES)
@pytest.mark.parametrize("share", [0.5, 1.0, 2.0])
def test_the_sum_holds_the_truth_at_any_tilt(
    kinds: list[tuple[DiscreteNoise, int]], epsilon: float, share: float
) -> None:
    with mp.workdps(60):
        truth = summed(kinds, epsilon)
        slope = sum(count * noise.distance**2 / float(noise.variance) for noise, count in kinds)
        tilt = share * max((epsilon + 1.0) / slope, 0.5)
        found = enclosed(kinds, tilt, epsilon, float(mp.log(truth)))
        with precision(300):
            exact = ball(to_fraction(truth))
            assert found.lower <= exact * (1 + arb("1e-40"))
            assert exact * (1 - arb("1e-40")) <= found.upper
            assert found.upper - found.lower <= exact * arb("1e-6")


@pytest.mark.parametrize("variance", [Fraction(1, 9), Fraction(1, 2), Fraction(1), Fraction(7), Fraction(400)])
def test_moments_are_sums_over_outcomes(variance: Fraction) -> None:
    """At real and complex orders, beyond a period too."""
    with mp.workdps(60), precision(160):
        one = law(variance, 400.0)
        for t, s in ((0.0, 0.0), (0.3, 0.0), (0.2, 1.0), (0.5, math.pi), (0.1, 7.0), (0.4, -3.0)):
            found = noise_moment(ball(variance), acb(t, s))
            truth = mp.fsum(mass * mp.exp(mp.mpc(t, s) * k) for k, mass in one.items())
            for part, exact in ((found.real, truth.real), (found.imag, truth.imag)):
                assert part.overlaps(ball(to_fraction(exact)) + arb(0, 1e-30))
                assert part.rad() < 1e-25


def test_the_modulus_falls_along_the_period() -> None:
    """What the cut of the sum rests on."""
    for variance in (Fraction(1, 16), Fraction(1), Fraction(5)):
        with precision(200):
            sizes = [abs(noise_moment(ball(variance), acb(arb(0.4), arb.pi() * j / 40))) for j in range(41)]
        assert all(float(after.mid()) <= float(before.mid()) * (1 + 1e-12) for before, after in pairwise(sizes))


def test_an_epsilon_on_the_lattice_is_within() -> None:
    """Losses at epsilon itself add nothing, whichever side of them the ball of epsilon falls on."""
    noise = DiscreteNoise(1, Fraction(3))
    with mp.workdps(50):
        for steps in (0, 3, 7):
            at = steps * noise.spacing + noise.offset
            rounds = ExactRounds(discrete={noise: 1})
            with precision(200):
                found = LatticeSum(rounds, 1.0, float(at), -8.0, 1e-9).delta(ball(at))
            truth = mp.fsum(
                mass * -mp.expm1(to_mpf(at - k * noise.spacing - noise.offset))
                for k, mass in law(noise.variance).items()
                if k > steps
            )
            with precision(200):
                exact = ball(to_fraction(truth))
                assert found.lower <= exact <= found.upper * (1 + arb("1e-30"))
                assert found.upper - found.lower <= exact * arb("1e-6")


@settings(max_examples=20, deadline=None)
@given(st.floats(0.3, 60.0), st.integers(1, 3), st.integers(1, 2000), st.floats(-12.0, -1.0))
def test_proofs_agree_with_certified_answers(noise: float, sensitivity: int, count: int, log_delta: float) -> None:
    made = hs.DiscreteGaussian(round(noise, 3), sensitivity)
    plan = hs.Plan([hs.Round(made, count=count)])
    delta = 10.0**log_delta
    proved, found = plan.epsilon(delta, proof=True), plan.epsilon(delta)
    assert proved.lower <= found.upper
    assert found.lower <= proved.upper
    assert proved.upper - proved.lower <= 1e-6 * proved.upper


def test_beside_other_rounds_and_what_stays_refused() -> None:
    noise = hs.Round(hs.DiscreteGaussian(4.0), count=10)
    mixed = hs.Plan([noise, hs.Round(hs.Gaussian(6.0), count=5), hs.Round(hs.ApproximateDP(0.1, 1e-9))])
    proved, found = mixed.epsilon(1e-6, proof=True), mixed.epsilon(1e-6)
    assert proved.upper - proved.lower <= 1e-6 * proved.upper
    assert max(proved.lower, found.lower) <= min(proved.upper, found.upper)
    refused = hs.Plan([hs.Round(hs.DiscreteGaussian(4.0), hs.Poisson(0.1)), hs.Round(hs.Gaussian(6.0))])
    with pytest.raises(hs.UnsupportedError, match="all losses are atoms"):
        refused.epsilon(1e-6, proof=True)


# ---- privacy curves


def test_signs_of_sums_of_exponentials_are_exact() -> None:
    half = Fraction(1, 2)
    assert sign(exponential()) == 0
    assert sign(exponential((Fraction(1), half), (Fraction(-1), Fraction(0)))) == 1
    tiny = Fraction(math.e)  # off by less than 2e-16
    assert sign(exponential((Fraction(1), Fraction(1)), (-tiny, Fraction(0)))) == 1
    with mp.workdps(80):
        close = to_fraction(mp.e)
    assert sign(exponential((Fraction(1), Fraction(1)), (-close - Fraction(1, 10**70), Fraction(0)))) == -1


def test_sums_of_exponentials_are_known_however_much_of_them_cancels() -> None:
    """``e^-x - e^-2x`` at x = 1e-300 is x less 3/2 x^2; x = 2^-(2^20) asks for more bits than are tried."""
    x = Fraction(1, 10**300)
    with precision(128):
        found = exponential_ball(exponential((Fraction(1), -x), (Fraction(-1), -2 * x)))
        truth = ball(x) * (1 - ball(x) * 3 / 2)
        assert found.overlaps(truth)
        assert found.rel_accuracy_bits() >= 128 - SPARE_BITS
        near = Fraction(1, 1 << (1 << 20))
        with pytest.raises(hs.NotApplicableError, match="too near one another"):
            exponential_ball(exponential((Fraction(1), near), (Fraction(-1), Fraction(0))))


@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_corners_of_a_curve_next_to_each_other_have_masses(rate: float) -> None:
    """Guarantees at 1e-6 and 1e-300 beside it: their slopes differ by what is far below the bits."""
    epsilons = Fraction(1, 10**6), Fraction(1, 10**6) + Fraction(1, 10**300), Fraction(1)
    near = hs.PrivacyCurve(epsilons, (Fraction(1, 1000), Fraction(999, 10**6), Fraction(0)))
    sampling = hs.NoSampling() if rate == 1 else hs.Poisson(rate)
    plan = hs.Plan([hs.Round(near, sampling, 3)], adjacency="add")
    found, certified = plan.epsilon(1e-5, proof=True), plan.epsilon(1e-5)
    assert found.guarantee == "proved"
    assert max(found.lower, certified.lower) <= min(found.upper, certified.upper)
    assert found.upper - found.lower <= 1e-4 * found.upper
    masses = CurveLaw(near.exact(Direction.ADD), None).atoms()
    assert all(p > 0 and q > 0 for _, p, q in masses)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.floats(0.0, 6.0), st.floats(0.0, 0.6)), min_size=1, max_size=6), st.booleans())
def test_the_pair_of_a_curve_is_that_of_sixty_digits(points: list[tuple[float, float]], sampled: bool) -> None:
    """The losses and masses in balls hold those that the pair has in fractions of powers to 60 digits."""
    epsilons, deltas = (tuple(decimal(round(x, 3)) for x in column) for column in zip(*points, strict=True))
    pair = largest_curve(epsilons, deltas)
    with precision(120):
        atoms = CurveLaw(ExactCurve(epsilons, deltas), None).atoms()
        wanted = [(p, q) for p, q in pair.masses if p and q and p > Fraction(1, 10**40)]
        assert len(atoms) == len(wanted)
        for (loss, p, q), (with_, without) in zip(sorted(atoms, key=lambda a: float(a[0].mid())), wanted, strict=True):
            assert p.overlaps(ball(with_) + arb(0, 1e-50))
            assert q.overlaps(ball(without) + arb(0, 1e-50))
            assert (loss.exp() * q).overlaps(p)
        if sampled:
            law_ = CurveLaw(ExactCurve(epsilons, deltas, Fraction(1, 10)), Direction.REMOVE)
            total = sum((p for _, p, _ in law_.atoms()), arb(0)) + ball(law_.infinite_mass)
            assert total.overlaps(arb(1))


def test_corners_that_no_curve_has_are_left_out() -> None:
    """Points on a chord, above it, after the least delta, and the same epsilon twice."""
    e, d = (Fraction(1), Fraction(2), Fraction(3)), (Fraction(1, 10), Fraction(1, 10), Fraction(1, 10))
    assert len(corners(ExactCurve(e, d))) == 3  # (0, 1), and one point with its mirror image
    twice = corners(ExactCurve((Fraction(1), Fraction(1)), (Fraction(1, 2), Fraction(1, 10))))
    assert twice == corners(ExactCurve((Fraction(1),), (Fraction(1, 10),)))
    assert [corner.alpha for corner in corners(ExactCurve((Fraction(1),), (Fraction(1),)))] == [()]


def test_curves_are_proved_sampled_and_not() -> None:
    curve = hs.PrivacyCurve((Fraction(1, 2), Fraction(1), Fraction(2)), (decimal(0.01), decimal(1e-5), Fraction(0)))
    for rounds in (
        [hs.Round(curve, count=8)],
        [hs.Round(curve, hs.Poisson(0.1), count=6)],
        [hs.Round(curve, count=2), hs.Round(hs.ApproximateDP(0.2, 1e-9), count=3)],
        [hs.Round(curve, count=2), hs.Round(hs.Gaussian(3.0), count=3)],
    ):
        plan = hs.Plan(rounds)
        proved, found = plan.epsilon(1e-7, proof=True), plan.epsilon(1e-7)
        assert proved.upper - proved.lower <= 1e-6 * proved.upper
        assert max(proved.lower, found.lower) <= min(proved.upper, found.upper)


def test_exact_rounds_say_where_losses_end() -> None:
    rounds = ExactRounds.of([(ExactDiscreteGaussian(1, Fraction(4)), 3)], Direction.REMOVE)
    assert not rounds.bounded
    assert rounds.number == 4
    bounded = ExactRounds.of([(ExactCurve((Fraction(1),), (Fraction(0),)), 3)], Direction.REMOVE)
    assert bounded.rational_supremum == 3


@pytest.mark.parametrize("changed", ["_count", "_last", "_theta"])
def test_few_points_are_charged_for(changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A period of fewer points, one that is cut earlier, another extra tilt: wider, and the truth is within."""
    kinds = [(DiscreteNoise(1, Fraction(4)), 3)]
    with mp.workdps(60):
        truth = summed(kinds, 1.0)
    period, cut = LatticeSum._period, LatticeSum._cut

    def fewer(self: LatticeSum, start: int, wanted: float) -> int:
        count = period(self, start, wanted)
        if changed == "_theta":
            self._theta *= 3
        return count // 3 if changed == "_count" else count

    def earlier(self: LatticeSum, start: int, wanted: float) -> int:
        last = cut(self, start, wanted)
        return last // 2 if changed == "_last" else last

    monkeypatch.setattr(LatticeSum, "_period", fewer)
    monkeypatch.setattr(LatticeSum, "_cut", earlier)
    widths = []
    for tilt in (0.3, 1.0, 2.5, 6.0):
        found = enclosed(kinds, tilt, 1.0, float(mp.log(truth)))
        with precision(300):
            exact = ball(to_fraction(truth))
            assert found.lower <= exact
            assert exact <= found.upper * (1 + arb("1e-50"))
            widths.append(float((found.upper - found.lower).mid()) / float(truth))
    assert max(widths) > 1e-9


def test_an_epsilon_in_doubt_is_charged_for() -> None:
    """A wide ball of epsilon around a loss: its two ends have deltas that the enclosure holds."""
    noise = DiscreteNoise(1, Fraction(3))
    at = 2 * noise.spacing + noise.offset
    made = LatticeSum(ExactRounds(discrete={noise: 1}), 1.0, float(at), -8.0, 1e-12)
    with precision(200):
        wide = made.delta(ball(at) + arb(0, 1e-4))
        for move in (Fraction(-1, 20_000), Fraction(1, 20_000)):
            one = made.delta(ball(at + move))
            assert wide.lower <= one.lower
            assert one.upper <= wide.upper


def test_the_remainder_of_the_series_is_that_of_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Series that end early: the ball is wide, and holds the moment."""
    for variance in (Fraction(1, 9), Fraction(1, 2), Fraction(2)):
        for w in ((0.3, 1.0), (0.1, 3.1), (0.0, 2.0)):
            with precision(300):
                sharp = noise_moment(ball(variance), acb(*w))
                with monkeypatch.context() as patched:
                    patched.setattr("hockeystick.engines.proof.discrete.SPARE_BITS", -298)
                    rough = noise_moment(ball(variance), acb(*w))
                assert rough.real.rad() > 1e-60
                assert rough.contains(sharp)
