"""Few rounds with atoms taken apart: against convolutions in mpmath, the grid, and every charge where it is made."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from hockeystick.engines import auto
from hockeystick.engines.auto import AutoEngine
from hockeystick.engines.contour.apart import EACH, Apart, ApartEngine, Exact, _atoms_on, _power
from hockeystick.engines.contour.sweep import Terms
from hockeystick.engines.grid.engine import GridEngine
from hockeystick.numerics.work import USED_UP, left, one_call
from hockeystick.pairs import Composition, DominatingPair, GaussianPair, LaplacePair
from hockeystick.pairs.finite import FinitePair
from hockeystick.pairs.laplace_window import WindowPair
from hockeystick.pairs.product import seen
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Ends
from oracle.closed_forms import laplace_delta
from oracle.plan import Round
from oracle.realspace import LaplacePanels

Number = Any
THREE = FinitePair(tuple(map(Fraction, ("0.5", "0.3", "0.2"))), tuple(map(Fraction, ("0.4", "0.35", "0.25"))))


def sampled(scale: float, rate: float, *, add: bool = False) -> DominatingPair:
    return (PoissonAddPair if add else PoissonRemovePair)(LaplacePair(1.0, scale), rate)


@pytest.mark.share(3)
@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(
    ("scale", "rate", "count", "share"),
    [
        (1.0, 0.3, 2, 0.2),
        pytest.param(1.0, 0.3, 2, 0.9, marks=pytest.mark.slow),
        pytest.param(1.0, 0.3, 9, 0.4, marks=pytest.mark.slow),
        (4.0, 0.05, 5, 0.3),
        pytest.param(0.7, 0.8, 4, 0.6, marks=pytest.mark.slow),
    ],
)
def test_few_sampled_rounds_against_a_convolution(
    scale: float, rate: float, count: int, share: float, add: bool
) -> None:
    """delta at a share of the largest loss, by convolution on panels in mpmath; and epsilon back from it."""
    composition = Composition([(sampled(scale, rate, add=add), count)])
    epsilon = share * composition.largest_loss[0]  # type: ignore[index]
    entry = Round("laplace", (Fraction(repr(scale)),), Fraction(repr(rate)), count)
    panels = LaplacePanels(entry, "add" if add else "remove", 20)
    with mpmath.workdps(30):
        truth = mp.log(panels.delta(mpf(epsilon)))
    found = ApartEngine(composition).log_delta(epsilon, 1e-7)
    assert found.lower <= truth <= found.upper
    assert found.upper - found.lower <= 1e-7
    log = float(truth)
    back = ApartEngine(composition).epsilon((log, log), None)
    assert back.lower <= epsilon * (1 + 1e-12)
    assert epsilon * (1 - 1e-12) <= back.upper
    assert back.upper - back.lower <= 1e-6 * back.upper


@pytest.mark.parametrize("scales", [((1.0, 10),), ((0.5, 2),), ((1.0, 2), (2.5, 3)), ((20.0, 6),)])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-15])
def test_unsampled_rounds_against_the_closed_form(scales: tuple[tuple[float, int], ...], delta: float) -> None:
    """Ten rounds of scale 1 and the like, where little noise was needed before."""
    composition = Composition([(LaplacePair(1.0, scale), count) for scale, count in scales])
    log = math.log(delta)
    found = ApartEngine(composition).epsilon((log, log), None)
    assert found.upper - found.lower <= 1e-6 * found.upper
    groups = [(Fraction(repr(scale)), count) for scale, count in scales]
    with mpmath.workdps(40):
        below, above = (laplace_delta(groups, Fraction(end), digits=30) for end in (found.lower, found.upper))
        assert above <= mpf(delta) * (1 + mpf(10) ** -14) <= below * (1 + mpf(10) ** -13)


@pytest.mark.slow
def test_rounds_of_several_kinds_against_a_convolution() -> None:
    """Two sampled rounds and three of atoms alone: the atoms' sums are listed, each shifts the rounds' delta."""
    rate, epsilon = 0.2, 0.6
    composition = Composition([(sampled(1.0, rate), 2), (THREE, 3)])
    panels = LaplacePanels(Round("laplace", (Fraction(1),), Fraction("0.2"), 2), "remove", 20)
    truth = mpf(0)
    with mpmath.workdps(30):
        for i in range(27):
            which = (i % 3, i // 3 % 3, i // 9)
            mass = mp.fprod(mpf(THREE.p[j].numerator) / THREE.p[j].denominator for j in which)
            ratio = Fraction(math.prod(THREE.p[j] / THREE.q[j] for j in which))
            at = mpf(epsilon) - mp.log(mpf(ratio.numerator) / ratio.denominator)
            low, high = panels.low * 2, panels.high * 2
            one = mpf(0) if at >= high else (-mp.expm1(at) if at <= low else panels.delta(at))
            truth += mass * one
        truth = mp.log(truth)
    found = ApartEngine(composition).log_delta(epsilon, 1e-8)
    assert found.lower <= truth <= found.upper
    assert found.upper - found.lower <= 1e-8


@settings(max_examples=8, deadline=None)
@given(
    log_scale=st.floats(math.log(0.05), math.log(50.0)),
    log_rate=st.floats(math.log(1e-6), math.log(0.99)),
    log_count=st.floats(0.0, math.log(1e6)),
    digits=st.floats(2.0, 40.0),
    add=st.booleans(),
)
def test_any_rounds_against_the_grid(
    log_scale: float, log_rate: float, log_count: float, digits: float, add: bool
) -> None:
    """The grid knows nothing of characteristic functions: its interval and the one that is answered have to meet."""
    scale, rate = float(f"{math.exp(log_scale):.4g}"), float(f"{math.exp(log_rate):.4g}")
    composition = Composition([(sampled(scale, rate, add=add), int(math.exp(log_count)))])
    log = -digits * math.log(10)
    found = AutoEngine(composition).epsilon((log, log), None)
    rough = GridEngine(composition).epsilon((log, log), 0.01)
    assert found.lower <= rough.upper * (1 + 1e-12)
    assert rough.lower <= found.upper * (1 + 1e-12)


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(("scale", "rate", "count"), [(1.0, 0.01, 1000), (5.0, 0.3, 200), (0.5, 0.05, 5000)])
def test_many_sampled_rounds_lie_inside_the_grid(scale: float, rate: float, count: int, add: bool) -> None:
    """To 1e-6, within the grid's interval."""
    composition = Composition([(sampled(scale, rate, add=add), count)])
    log = math.log(1e-7)
    found = AutoEngine(composition).epsilon((log, log), None)
    grid = GridEngine(composition).epsilon((log, log), 1e-4)
    assert grid.lower <= found.lower <= found.upper <= grid.upper
    assert found.upper - found.lower <= 1e-6 * found.upper
    assert found.engine == "contour"


@pytest.mark.long
def test_next_to_the_largest_loss_the_exact_parts_suffice() -> None:
    """At a delta of 1e-30 of two rounds epsilon is the largest loss to 1e-6; at the largest loss delta is 0."""
    composition = Composition([(sampled(1.0, 0.3), 2)])
    largest = composition.largest_loss
    assert largest is not None
    log = math.log(1e-30)
    found = ApartEngine(composition).epsilon((log, log), None)
    assert found.upper == largest[1]
    assert found.lower > largest[0] * (1 - 1e-6)
    panels = LaplacePanels(Round("laplace", (Fraction(1),), Fraction("0.3"), 2), "remove", 45)
    with mpmath.workdps(60):
        assert mp.log(panels.delta(mpf(found.lower))) >= log


def test_truncated_noise_too() -> None:
    """Three sampled rounds of it: finite losses alone, whose mass at infinity is another's."""
    base = WindowPair.truncated_laplace(Fraction(1), Fraction(4), Fraction(1))
    composition = Composition([(PoissonRemovePair(base, 0.2), 3)])
    found = ApartEngine(composition).log_delta(0.4, 1e-7)
    grid = GridEngine(composition).log_delta(0.4, 1e-4)
    assert grid.lower <= found.lower <= found.upper <= grid.upper
    assert found.upper - found.lower <= 1e-7


@pytest.mark.parametrize(
    "rounds",
    [
        [(GaussianPair(1.0), 1), (LaplacePair(1.0, 1.0), 2)],
        [(LaplacePair(1.0, 1.0), 1)],
        [(THREE, 5)],
        [(sampled(1.0, 0.1), 10**6)],
        [(LaplacePair(1.0, 1.0 + i), 2) for i in range(9)],
    ],
    ids=["densities", "one", "atoms", "many", "kinds"],
)
def test_what_is_not_taken_apart(rounds: list[tuple[DominatingPair, int]]) -> None:
    """Other densities, a single round, atoms alone, too many sums, too many kinds."""
    with pytest.raises(NotApplicableError):
        ApartEngine(Composition(rounds))


# Charges --------------------------------------------------------------------------------------------------------------


def test_the_atoms_on_a_line_are_within_their_errors() -> None:
    """With the true rate and scale, far up, where phases have turned many times."""
    pair, t = sampled(0.21, 0.13), 3.0
    s = np.array([0.0, 1.0, 1e3, 1e6])
    scale = 2.0
    values, errors = _atoms_on(pair, t, s, scale)
    with mpmath.workdps(40):
        theta, q = 1 / mpf("0.21"), mpf("0.13")
        for j, height in enumerate(s.tolist()):
            z = mp.mpc(t, height)
            true = mpf(0)
            for loss, mass in ((-theta, mpf(1) / 2), (theta, mp.exp(-theta) / 2)):
                true += mass * mp.exp((1 + z) * mp.log(1 - q + q * mp.exp(loss)))
            assert abs(true * mp.exp(-scale) - mp.mpc(complex(values[j]))) <= errors[j]
    assert len(seen(pair).loss) == 2


def test_powers_are_within_their_roundings() -> None:
    """Of numbers on the unit circle and inside; of 0 too."""
    a = np.array([0.0, 1.0, -1.0, 1j, 0.999 * np.exp(2.5j), 0.3 - 0.2j])
    for count in (0, 1, 7, 1000):
        found = _power(a, count)
        with mpmath.workdps(40):
            for one, value in zip(a.tolist(), found.tolist(), strict=True):
                true = mp.mpc(one) ** count if count else mp.mpc(1)
                assert abs(true - mp.mpc(value)) <= 64 * 2.0**-53 * max(count, 1)


def flat(lower: float, upper: float) -> Any:
    """A contour whose ends are the same everywhere."""

    class Flat:
        def log_delta(self, epsilon: Any) -> Ends:
            ones = np.ones(len(epsilon))
            return Ends(lower * ones, 0.5 * (lower + upper) * ones, upper * ones)

    return Flat()


def test_the_parts_add_up_on_either_side() -> None:
    """Lower ends to the lower end, upper ends to the upper one."""
    parts = Exact(THREE, ())
    low, high = parts.exact(0.1)
    found = Apart(parts, flat(-5.0, -4.0)).log_delta(np.array([0.1]))
    assert found.lower[0] <= np.logaddexp(low, -5.0) <= found.lower[0] + 1e-13
    assert found.upper[0] - 1e-13 <= np.logaddexp(high, -4.0) <= found.upper[0]
    assert Exact(None, ()).exact(0.1) == (-math.inf, -math.inf)


def laid(composition: Composition, epsilon: float, gap: float) -> Terms:
    return ApartEngine(composition).laid(epsilon, gap).rest


@pytest.mark.parametrize("add", [False, True])
def test_what_is_cut_off_is_within_its_bound(add: bool) -> None:
    """Two sampled rounds cut early: the sum of the terms beyond is below the tail that is stated."""
    composition = Composition([(sampled(1.0, 0.4, add=add), 2)])
    near, far = laid(composition, 0.4, 1e-2), laid(composition, 0.4, 1e-9)
    assert far.s[-1] > 3 * near.s[-1]
    engine = ApartEngine(composition)
    step = float(near.s[1])
    count = 40 * len(near.s)
    scale = float(composition.rounds[0][0].transform.line(near.t, 0.0, 1e-16).cumulants(1.0, 1)[0][0].real)  # type: ignore[union-attr]
    terms, _ = engine._terms(near.t, step, count, [scale], 1e-14)
    beyond = float(np.abs(terms[len(near.s) :]).sum()) / near.period
    assert 0 < beyond <= math.exp(near.log_tail)


@pytest.mark.long
def test_rounding_is_charged_to_the_terms() -> None:
    """Against the same terms in mpmath: their errors, weighed as the sum does, are within the slack."""
    scale, rate, n, t, step = 1.0, 0.3, 5, 2.0, 40.0
    pair = sampled(scale, rate)
    engine = ApartEngine(Composition([(pair, n)]))
    top = float(pair.transform.line(t, 0.0, 1e-16).cumulants(1.0, 1)[0][0].real)  # type: ignore[union-attr]
    terms, slack = engine._terms(t, step, 6, [top], 1e-15)
    total = mpf(0)
    with mpmath.workdps(40):
        q, th = mpf("0.3"), mpf(1)
        for j in range(6):
            z = mp.mpc(t, step * j)

            def value(loss: Number, z: Number = z) -> Number:
                return mp.exp((1 + z) * mp.log(1 - q + q * mp.exp(loss)))

            atoms = value(-th) / 2 + mp.exp(-th) * value(th) / 2
            between = mp.quad(lambda x, v=value: mp.exp(-(x + th) / 2) / 4 * v(x), mp.linspace(-th, th, 60))
            rest = (atoms + between) ** n - atoms**n - n * between * atoms ** (n - 1)
            true = rest * mp.exp(-n * mpf(top)) / (z * (1 + z)) * (2 if j else 1)
            total += abs(true - mp.mpc(complex(terms[j])))
        assert total * step / (2 * mp.pi) <= slack < mpf(10) ** -11


def test_the_closed_form_of_what_is_between_atoms_far_apart_is_in_range() -> None:
    """Of a scale of 1/1500 the hyperbolic sine of a quarter of the distance is not; its logarithm is."""
    exact = ApartEngine(Composition([(LaplacePair(1.0, 1 / 1500), 1), (LaplacePair(1.0, 1 / 1400), 1)]))._parts()
    for epsilon in (0.0, 1.0, 750.0, 1450.0):
        lower, upper = exact.exact(epsilon)
        assert -800 < lower <= upper < 1e-9


def test_each_epsilon_is_counted_however_few_the_atoms() -> None:
    """Few sums at thousands of epsilons took seconds that no allowance knew of."""
    exact = ApartEngine(Composition([(LaplacePair(1.0, 0.6), 2)]))._parts()
    with one_call():
        before = left()
        exact.exact(0.3)
        assert before - left() > EACH


def test_engines_that_give_up_for_one_reason_have_it_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Tired:
        def __init__(self, composition: Composition) -> None:
            pass

        def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Any:
            raise NotApplicableError(USED_UP)

    monkeypatch.setattr(auto, "ENGINES", (Tired, Tired, Tired))
    found = AutoEngine(Composition([(sampled(1.0, 0.01), 1000)])).epsilon((-14.0, -14.0), None)
    assert found.limited == f"only the Renyi bound applies: {USED_UP}"
