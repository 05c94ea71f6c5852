"""Every charge of the accountants that round losses to a lattice, where it is made: sums, roundings, stages, ends.

Sums are held against the worst law that their errors allow, laws of one round against closed forms, and the two ends of
``prv`` and ``evolving`` against what their theorems say of a Gaussian round.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.optimize import brentq
from scipy.stats import norm

import hockeystick as hs
from hockeystick.accountants.evolving import Evolution, EvolvingAccountant, Grouped, _coarsened
from hockeystick.accountants.prv import PrvAccountant
from hockeystick.accountants.shared.lattice import Enclosed, LatticeLaw, window_of
from hockeystick.accountants.shared.rounded import Rounded, deviation, rounded
from hockeystick.directions.directions import compositions
from hockeystick.numerics.lattice import Window
from hockeystick.pairs import BlackBoxPair, Composition, DominatingPair, GaussianPair
from hockeystick.values.side import Side

# A sum and its errors ---------------------------------------------------------------------------------------------

MASSES = (3, 4, 2, 1)  # tenths, at the losses -1, 0, 1 and 2
ROUNDS, SUM_TILT = 6, 0.3


def ends(law: LatticeLaw, count: int, window: tuple[float, float], tilt: float, epsilon: float) -> tuple[float, float]:
    """Both ends of log delta of so many rounds."""
    laws = [(law, count)]
    return Enclosed.of(laws, laws, tilt, Window(*window, 1.0, 1.0), "").log_delta(epsilon, epsilon)


def test_mass_at_infinity_is_widened_by_its_roundings() -> None:
    """The probability that one of many rounds fails, against 50 digits, where it is all there is of delta."""
    for i in range(60):
        failing, count = 10.0 ** -(1 + i / 7), 3 + 5 * i
        law = LatticeLaw(-0.5, 0.5, np.array([1 - failing]), failing, 0.0)
        low, high = ends(law, count, (-0.5 * count - 1, -0.5 * count + 1), 1e-6, 5.0)
        with mpmath.workdps(50):
            exact = mp.log(1 - (1 - mpf(failing)) ** count)
            assert low <= exact <= high
            assert high - low < 1e-11


def truth_of_sum(epsilon: float) -> float:
    """log delta of six rounds of :data:`MASSES`, by all outcomes in whole numbers."""
    total = [1]
    for _ in range(ROUNDS):
        total = [
            sum(m * total[k - j] for j, m in enumerate(MASSES) if 0 <= k - j < len(total))
            for k in range(len(total) + 3)
        ]
    losses = [k - ROUNDS for k in range(len(total))]
    delta = math.fsum(
        m / 10.0**ROUNDS * -math.expm1(epsilon - loss) for loss, m in zip(losses, total, strict=True) if loss > epsilon
    )
    return math.log(delta)


@pytest.mark.parametrize(("window", "epsilon"), [((-8.0, 1.0), 0.5), ((0.0, 13.0), 0.5), ((-2.0, 4.0), 1.5)])
def test_what_lies_outside_the_window_is_charged(window: tuple[float, float], epsilon: float) -> None:
    """The window leaves out sums that count, or takes in sums that do not, by wrapping them around."""
    low, high = ends(LatticeLaw(-1.0, 1.0, np.array(MASSES) / 10, 0.0, 0.0), ROUNDS, window, SUM_TILT, epsilon)
    assert low <= truth_of_sum(epsilon) <= high


@pytest.mark.parametrize("slip", [0.0, 0.01, 0.1])
def test_losses_are_moved_by_their_slip_to_either_side(slip: float) -> None:
    """Six rounds, each of which may be off by as much."""
    low, high = ends(LatticeLaw(-1.0, 1.0, np.array(MASSES) / 10, 0.0, slip), ROUNDS, (-8.0, 14.0), SUM_TILT, 0.5)
    assert low == pytest.approx(truth_of_sum(0.5 + ROUNDS * slip), abs=1e-11)
    assert high == pytest.approx(truth_of_sum(0.5 - ROUNDS * slip), abs=1e-11)


def test_tilted_masses_are_rounded_to_both_sides() -> None:
    """Against 50 digits, at tilts that make most of some masses and next to nothing of others."""
    law = LatticeLaw(-7.3, 0.37, np.exp(-np.linspace(0.0, 60.0, 41)), 0.0, 0.0)
    for tilt in (0.0, 0.7, 3.3, 11.0):
        below, above = law.tilted(tilt, Side.BELOW), law.tilted(tilt, Side.ABOVE)
        with mpmath.workdps(50):
            for j, (mass, low, high) in enumerate(zip(law.mass, below.mass, above.mass, strict=True)):
                exact = mpf(mass) * mp.exp(mpf(tilt) * (mpf(-7.3) + j * mpf(0.37)) - mpf(above.mesh.kappa))
                assert low <= exact <= high <= exact * (1 + mpf(10) ** -11) + mpf(10) ** -280


def test_the_scale_of_many_rounds_is_charged() -> None:
    """A thousand million rounds with one finite loss each: the rounding of its logarithm counts as often."""
    count = 10**9
    for i in range(20):
        mass, loss = 0.3 + 0.031 * i, 1e-9 * (1 + i)
        low, high = ends(LatticeLaw(loss, 0.5, np.array([mass]), 0.0, 0.0), count, (-1.0, 30.0), 0.5, 0.5)
        with mpmath.workdps(50):
            exact = count * mp.log(mpf(mass)) + mp.log(1 - mp.exp(mpf(0.5) - count * mpf(loss)))
            assert low <= exact <= high


# One round, rounded -----------------------------------------------------------------------------------------------


def mean_of(law: LatticeLaw) -> float:
    """The mean of a law, given that its loss is finite."""
    return float((law.mass * law.losses).sum() / law.mass.sum())


def off(found: Rounded, mean: float) -> float:
    """How far the mean of the rounded law is from that of the loss, relative to what it may be."""
    return abs(mean_of(found.above) - mean) / found.bias


@pytest.mark.parametrize("epsilon", [0.4, 0.9, 1.7])
@pytest.mark.parametrize("delta", [0.0, 0.6])
def test_the_mean_of_atoms_is_known_to_its_bias(epsilon: float, delta: float) -> None:
    """All mass of a cell at one place: the chord is as far off as it can be. Few cells, as of 100 kinds of rounds."""
    found = rounded(BlackBoxPair(epsilon, delta), 0.3, -60.0, kinds=100)
    assert off(found, epsilon * math.tanh(epsilon / 2)) <= 1
    assert found.bias < 1e-5
    finite = float(found.above.mass.sum())
    assert finite == pytest.approx(1 - delta, rel=1e-12)


@pytest.mark.parametrize("gap", [0.02, 0.1])
def test_the_mean_of_a_gaussian_loss_is_known_to_its_bias(gap: float) -> None:
    found = rounded(GaussianPair(1.0), gap, -60.0, kinds=100)
    assert off(found, 0.5) <= 1
    assert found.bias < 1e-4


@pytest.mark.parametrize("log_lost", [-2.0, -0.9])
def test_what_a_domain_leaves_out_is_no_less_than_what_lies_beyond(log_lost: float) -> None:
    """Of a Gaussian loss of mean 2 and standard deviation 2: one domain leaves out a little, the other a third."""
    found = rounded(GaussianPair(2.0), 0.5, log_lost)
    low, high = (0.5 * round(float(at) / 0.5) for at in found.above.losses[[0, -1]])
    beyond = norm.sf((high + 0.25 - 2) / 2) + norm.cdf((low - 0.25 - 2) / 2)
    assert 0.01 < beyond <= found.lost <= 1.3 * beyond
    kept = np.linspace(low - 0.25, high + 0.25, 200_001)
    weight = norm.pdf((kept - 2) / 2)
    assert abs(mean_of(found.above) - float((kept * weight).sum() / weight.sum())) <= found.bias


def test_masses_of_cells_are_rounded_to_both_sides() -> None:
    """Against 40 digits: some of sixty cells come out too light, and some too heavy."""
    gap, found = 0.25, rounded(GaussianPair(1.0), 0.25, -200.0)
    centre = int(np.argmin(np.abs(found.above.losses)))
    with mpmath.workdps(40):
        for j in range(centre - 30, centre + 30):
            at = mpf(round(float(found.above.losses[j]) / gap)) * gap
            cell = mp.ncdf(at + gap / 2 - mpf(0.5)) - mp.ncdf(at - gap / 2 - mpf(0.5))
            if at > 0:
                cell = mp.ncdf(mpf(0.5) - at + gap / 2) - mp.ncdf(mpf(0.5) - at - gap / 2)
            assert found.below.mass[j] <= cell <= found.above.mass[j]


def test_hoeffdings_inequality_holds_for_fair_coins() -> None:
    """Four errors of half a gap to either side: their sum is two gaps with probability 1/8, which is above eta."""
    signs = list(product((-0.5, 0.5), repeat=4))
    for eta in (0.12, 0.124, 0.5, 0.6):
        most = deviation(4, math.log(eta))
        assert sum(abs(sum(each)) > most for each in signs) / len(signs) <= eta
    assert deviation(4, math.log(0.12)) == pytest.approx(math.sqrt(2 * math.log(2 / 0.12)), rel=1e-14)
    assert deviation(16, math.log(0.12)) == pytest.approx(math.sqrt(8 * math.log(2 / 0.12)), rel=1e-14)


# Stages -----------------------------------------------------------------------------------------------------------

DOUBTFUL = Rounded(
    LatticeLaw(-1.0, 1.0, np.array([0.33, 0.44, 0.22, 0.11]), 0.0, 0.0),
    LatticeLaw(-1.0, 1.0, np.array([0.27, 0.36, 0.18, 0.09]), 0.0, 0.0),
    0.0,
    0.0,
)
"""One round whose masses are known to a tenth."""


def test_masses_of_a_group_hold_every_law_between_their_ends() -> None:
    found = EvolvingAccountant()._grouped(Evolution([(DOUBTFUL, 6)], 0.0, 0.0, 0.0, 0), [(((0, 2),), 3)], 1.5, -60.0)
    ((both, times),) = found.laws
    assert times == 3
    inner = [sum(a * b for i, a in enumerate(MASSES) for k, b in enumerate(MASSES) if i + k == n) for n in range(7)]
    for side, factor in ((both.above, Fraction(11, 10)), (both.below, Fraction(9, 10))):
        masses = np.zeros(len(side.mass))
        for n, mass in enumerate(inner):
            at = round((n - 2) / 1.5) - round((side.first + 0.0) / 1.5)
            masses[at] += float(mass * factor**2) / 100
        assert side.mass == pytest.approx(masses, rel=1e-9, abs=1e-12)


def test_the_mean_of_a_group_is_known_to_its_bias() -> None:
    """Of every law between: masses all high on one side of a point, all low on the other, move the mean most."""
    most, least = np.array([0.3, 0.5, 0.2, 0.4]), np.array([0.1, 0.2, 0.1, 0.3])
    both = _coarsened(Grouped(-1.0, most, least, 0.0, 0.0, 0.0, 0.0), 1.0, 2.4)
    losses = np.arange(-1.0, 3.0)
    shift = both.above.first - 2.4 * round(both.above.first / 2.4)
    at = 2.4 * np.rint(losses / 2.4) + shift
    worst = 0.0
    for choice in product((0, 1), repeat=4):
        mass = np.where(choice, most, least)
        worst = max(worst, abs(float((mass * (at - losses)).sum() / mass.sum())))
    assert 0.1 < worst <= both.bias
    other = _coarsened(Grouped(-1.0, most, least, 0.0, 0.0, 0.0, 0.3), 1.0, 2.4)
    assert other.above.infinite == 0.3
    assert other.below.infinite == 0.0
    assert other.bias >= both.bias + 2.4 * 0.3 / float(least.sum()) * (1 - 1e-12)  # it may lie anywhere


def test_places_that_are_lost_in_a_transform_are_at_infinity() -> None:
    """Rounded up no sum of masses is lost; a tilt would lift the error of a place far out, which is none of its own."""
    size = 60
    law = LatticeLaw(-1.0, 1.0, np.array(MASSES) / 10, 0.0, 0.0)
    found = Grouped.of([(law, size)], [(law, size)], Window(-size - 2.0, 4.0 * size, 0.5, 0.5))
    total = np.array([1.0])
    for _ in range(size):
        total = np.convolve(total, np.array(MASSES) / 10)
    unseen = [i for i, mass in enumerate(found.most.tolist()) if mass == 0]
    start = round(found.first) + size
    there = [total[i + start] for i in unseen if 0 <= i + start < len(total)]
    assert 0 < sum(there) <= found.infinite < 1e-10
    assert float(found.most.sum()) + found.infinite >= 1.0
    assert found.infinite >= 2 * len(unseen) * 1e-17


@pytest.mark.parametrize(("rate", "rounds"), [(4e-3, 1000), (1e-3, 250)])
def test_the_plans_of_the_papers_are_answered_by_default(rate: float, rounds: int) -> None:
    """Figures 3 and 1b of Gopi, Lee, Wutschitz 2021: about twice eps_error wide, and not forty-five for two."""
    plan = hs.dp_sgd(0.8, rate, rounds, adjacency="remove")
    truth, found = plan.epsilon(1e-7), plan.epsilon(1e-7, accountant="evolving")
    assert isinstance(found, hs.Bound)
    assert found.lower <= truth.lower <= truth.upper <= found.upper
    assert found.upper - found.lower <= 0.25


def test_what_the_domain_of_a_group_leaves_out_is_charged_twice_and_moves_the_mean() -> None:
    """It is lost where it belongs and found where it does not, once for every group; forty rounds each."""
    size, times, gap = 40, 3, 1.5
    law = LatticeLaw(-1.0, 1.0, np.array(MASSES) / 10, 0.0, 0.0)

    def lost_by(groups: int, log_lost: float) -> Evolution:
        before = Evolution([(Rounded(law, law, 0.0, 0.0), size * groups)], 0.0, 0.0, 0.0, 0)
        return EvolvingAccountant()._grouped(before, [(((0, size),), groups)], gap, log_lost)

    whole, one, several = lost_by(times, -60.0), lost_by(1, math.log(0.4)), lost_by(times, math.log(0.4))
    total = np.array([1.0])
    for _ in range(size):
        total = np.convolve(total, np.array(MASSES) / 10)
    sums = np.arange(len(total)) - size
    (both, _) = one.laws[0]
    beyond = float(total[(sums > both.above.losses[-1] + gap / 2) | (sums < both.above.losses[0] - gap / 2)].sum())
    window = window_of([(law, size)], 0.0, math.log(0.1))
    outside = Grouped.of([(law, size)], [(law, size)], window).outside
    assert 1e-3 < beyond <= outside
    assert whole.lost < 1e-15
    assert one.lost >= 2 * outside
    assert several.lost >= times * 2 * outside
    assert several.bias - whole.bias >= times * 2 * gap * outside * (1 - 1e-9)
    assert whole.error > 0


# Both ends --------------------------------------------------------------------------------------------------------


def gaussian_delta(epsilon: float, mu: float = 1.0) -> float:
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


def gaussian_epsilon(delta: float) -> float:
    return float(brentq(lambda epsilon: gaussian_delta(epsilon) - delta, 0.0, 10.0, xtol=1e-12))


@pytest.mark.parametrize("accountant", [PrvAccountant, EvolvingAccountant])
def test_both_ends_are_the_theorems(accountant: type[PrvAccountant] | type[EvolvingAccountant]) -> None:
    """Errors so large that each charge is seen: half of delta, and three tenths of epsilon.

    Rounding moves the curve of a single Gaussian round itself by far less than the theorem allows for.
    """
    delta, error, eps_error = 0.01, 0.005, 0.3
    method = accountant(eps_error=eps_error, delta_error=error)
    composition = Composition([(GaussianPair(1.0), 1)])
    found = method.epsilon_ends(composition, (delta, delta))
    assert found.upper == pytest.approx(gaussian_epsilon(delta - error) + eps_error, abs=0.02)
    assert found.lower == pytest.approx(gaussian_epsilon(delta + error) - eps_error, abs=0.02)
    epsilon = 1.2
    logs = method.log_delta_ends(composition, epsilon)
    assert math.exp(logs.upper) == pytest.approx(gaussian_delta(epsilon - eps_error) + error, rel=0.02)
    assert math.exp(logs.lower) == pytest.approx(gaussian_delta(epsilon + eps_error) - error, rel=0.02)


@pytest.mark.parametrize("name", ["prv", "evolving"])
def test_the_bias_of_means_is_added_to_the_distance(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of three rounds has a mean that is off by a quarter."""
    module = "hockeystick.accountants.prv"

    def biased(pair: DominatingPair, gap: float, log_lost: float, kinds: int) -> Rounded:
        return rounded(pair, gap, log_lost, kinds)._replace(bias=0.25)

    plan = hs.Plan([hs.Round(hs.Laplace(2.0), count=3)])
    before = plan.epsilon(1e-3, accountant=name, gap=None, proof=False)
    monkeypatch.setattr(f"{module}.rounded", biased)
    after = plan.epsilon(1e-3, accountant=name, gap=None, proof=False)
    assert isinstance(before, hs.Bound)
    assert isinstance(after, hs.Bound)
    assert before.lower - after.lower == pytest.approx(0.75, abs=1e-3)
    assert after.upper == pytest.approx(min(before.upper + 0.75, 1.5), abs=1e-3)


def test_evolving_refuses_domains_that_lose_more_than_the_theorem_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five sixths of delta_error pay for them."""

    def lossy(pair: DominatingPair, gap: float, log_lost: float, kinds: int) -> Rounded:
        return rounded(pair, gap, log_lost, kinds)._replace(lost=4.5e-4)

    monkeypatch.setattr("hockeystick.accountants.prv.rounded", lossy)
    composition = compositions(hs.Plan([hs.Round(hs.Gaussian(2.0), count=2)]).directions)[0][1]
    assert composition.count == 1  # Gaussian rounds are one, by folding
    EvolvingAccountant(delta_error=1e-3).evolve(composition, math.log(1e-3))
    with pytest.raises(hs.NotApplicableError, match="leave out"):
        EvolvingAccountant().evolve(composition, math.log(5e-4))


def test_prv_refuses_domains_that_lose_more_than_the_theorem_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three rounds lose nine tenths of delta_error between them, where five sixths would be allowed, and half of it."""
    composition = Composition([(BlackBoxPair(0.5), 3)])

    def lossy(share: float) -> None:
        lost = share * 1e-3 / 3
        monkeypatch.setattr(
            "hockeystick.accountants.prv.rounded", lambda *given, **kinds: rounded(*given, **kinds)._replace(lost=lost)
        )

    lossy(0.5)
    PrvAccountant(delta_error=1e-3).epsilon_ends(composition, (0.01, 0.01))
    lossy(0.9)
    with pytest.raises(hs.NotApplicableError, match="more than five sixths"):
        PrvAccountant(delta_error=1e-3).epsilon_ends(composition, (0.01, 0.01))
