"""Epochs with unequal steps, or with none for a record: moments against nested integrals, answers by other laws."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import ndtr

from hockeystick.accountants import ACCOUNTANTS
from hockeystick.directions.directions import Directions
from hockeystick.engines.contour.engine import ContourEngine
from hockeystick.pairs import AllocationPair, Composition, GaussianPair, PoissonAddPair, PoissonRemovePair
from hockeystick.pairs.gathered import gathered
from hockeystick.pairs.sampled import allocation_columns, allocation_decay
from hockeystick.pairs.sampled.allocation import epoch
from hockeystick.pairs.sampled.allocation_decay import AllocationEnvelope
from hockeystick.pairs.sampled.allocation_law import AllocationLaw, Groups
from hockeystick.pairs.sampled.allocation_line import AllocationLine
from hockeystick.pairs.sampled.allocation_series import on_rays
from hockeystick.values.adjacency import Direction
from oracle.allocation import Array, ComplexArray, delta_of, grid_laws, hockey_stick, nested_uneven, sampled, two_steps

F = Fraction
NONE = F(0)

LAWS: list[tuple[float, Fraction, Groups]] = [
    (1.0, NONE, ((F(2, 5), 2), (F(1, 5), 1))),
    (0.5, NONE, ((F(9, 10), 1), (F(1, 10), 1))),
    (1.0, F(1, 2), ((F(1, 4), 2),)),
    (0.5, F(1, 10), ((F(3, 10), 3),)),
    (2.0, F(1, 3), ((F(1, 2), 1), (F(1, 6), 1))),
    (1.5, F(9, 10), ((F(1, 10), 1),)),
]
"""Epochs of up to three steps: mu, the probability of no step, groups of steps."""


def spread(groups: Groups) -> list[float]:
    return [float(weight) for weight, count in groups for _ in range(count)]


def even_decay(law: AllocationLaw, s: Array) -> Array:
    """What an epoch of as many steps falls off like where the record is in one of them."""
    steps = law.steps
    return AllocationEnvelope(AllocationLaw(law.mu, NONE, ((F(1, steps), steps),)), 2.0).log_bound(s)


def truth(law: AllocationLaw, zeta: npt.NDArray[np.complexfloating[Any, Any]]) -> ComplexArray:
    return nested_uneven(law.mu, spread(law.groups), float(law.constant), zeta)


def moments(
    law: AllocationLaw, alpha: float, sign: int, tolerance: float, step: float, count: int
) -> tuple[ComplexArray, Array]:
    values, errors, top = AllocationLine(law, alpha, sign, step * count, tolerance).moments(step, count)
    return values * math.exp(top), errors * math.exp(top)


@pytest.mark.parametrize(("alpha", "sign"), [(2.0, 1), (2.5, 1), (-1.25, -1), (-3.0, -1)])
@pytest.mark.parametrize(("mu", "constant", "groups"), LAWS)
def test_moments_of_few_steps(mu: float, constant: Fraction, groups: Groups, alpha: float, sign: int) -> None:
    """To 1e-13 of the moment on the real axis, and within the error that is stated; with few nodes likewise."""
    law = AllocationLaw(mu, constant, groups)
    true = truth(law, alpha + 1j * sign * 0.9 / mu * np.arange(8))
    values, errors = moments(law, alpha, sign, 1e-16, 0.9 / mu, 8)
    assert np.abs(values - true).max() <= 1e-13 * abs(true[0])
    assert (np.abs(values - true) <= errors + 3e-14 * abs(true[0])).all()
    assert errors.max() <= 1e-10 * abs(true[0])
    for tolerance in (1e-1, 1e-3):
        values, errors = moments(law, alpha, sign, tolerance, 0.9 / mu, 8)
        assert (np.abs(values - true) <= errors + 3e-14 * abs(true[0])).all()
        assert errors.max() <= 8 * tolerance * abs(true[0])


@pytest.mark.parametrize(("mu", "constant", "groups"), LAWS)
def test_bounds_on_real_moments(mu: float, constant: Fraction, groups: Groups) -> None:
    law = AllocationLaw(mu, constant, groups)
    for n in range(1, 6):
        true = math.log(truth(law, np.array([n + 0j]))[0].real)
        assert -1e-13 <= law.log_whole(n) - true <= 1e-9 * (1 + true)
        assert -1e-13 <= law.log_moment_above(float(n))[0] - true <= 1e-8 * (1 + true)
    for alpha in (-8.0, -2.0, -0.5, 0.5, 1.5, 3.3):
        true = math.log(truth(law, np.array([alpha + 0j]))[0].real)
        assert true - 1e-13 <= law.log_above(alpha)


def test_bounds_on_real_moments_are_those_that_are_meant() -> None:
    """Each of the closed forms is the least somewhere: the geometric mean, the constant, and convexity."""
    many = AllocationLaw(1.0, F(1, 10), ((F(9, 1000), 100),))
    assert many.log_power_above(-1.0) == pytest.approx(0.5 * (0.9 + 100 * 0.009**2), rel=1e-9)
    assert AllocationLaw(2.0, F(1, 2), ((F(1, 2), 1),)).log_power_above(-9.0) == pytest.approx(
        9 * math.log(2), rel=1e-9
    )
    rare = AllocationLaw(1.0, F(999, 1000), ((F(1, 1000), 1),))
    assert rare.log_power_above(3.0) == pytest.approx(math.log1p(0.001 * math.expm1(3.0)), rel=1e-9)


def test_whole_moments_beyond_those_that_are_formed() -> None:
    """In logarithms, to the order 200, against exact sums of a law with one step."""
    law = AllocationLaw(0.3, F(3, 4), ((F(1, 4), 1),))
    for n in (40, 200):
        with mp.workdps(40):
            true = mp.log(mp.fsum(
                mp.binomial(n, k) * mp.mpf(0.75) ** (n - k) * mp.mpf(0.25) ** k * mp.exp(mp.mpf(0.045) * k * (k - 1))
                for k in range(n + 1)
            ))  # fmt: skip
        assert 0 <= law.log_moment_above(float(n))[0] - true <= 1e-8 * true


@pytest.mark.parametrize(("name", "value"), [("DEPTH", 4.0), ("REACH", 2.5)])
def test_the_quadrature_in_x_is_charged(monkeypatch: pytest.MonkeyPatch, name: str, value: float) -> None:
    """With a coarse step, or a short range, that is what errs, of each group, and the bound on it is kept."""
    v = np.array([-6.0, -3.0, -1.5, -0.8, 0.1, 0.9])
    laws = [
        AllocationLaw(1.0, F(1, 5), ((F(2, 5), 2),)),
        AllocationLaw(1.0, NONE, ((F(1, 100), 1), (F(99, 100), 1))),
        AllocationLaw(1.0, NONE, ((F(99, 100), 1), (F(1, 100), 1))),
    ]
    exact = {(law, n): on_rays(law, n, [(0.9, None, v)], 0.69)[0] for law in laws for n in (0, 2)}
    monkeypatch.setattr(allocation_columns, name, value)
    for (law, n), rows in exact.items():
        coarse = on_rays(law, n, [(0.9, None, v)], 0.69)[0]
        scale = np.exp(coarse.log_scale - rows.log_scale)
        off = np.abs(coarse.value * scale - rows.value)
        assert off.max() > 1e-5
        assert (off <= coarse.error * scale + rows.error).all()


def test_transforms_on_a_ray() -> None:
    """``E Lambda^n e^(-r Lambda)`` against mpmath: two unequal steps and a constant part, from small to large r."""
    mu, angle, first, second, constant = 1.0, 1.2, F(1, 2), F(1, 10), F(2, 5)
    v = np.array([-9.0, -2.0, 0.2, 2.0])
    law = AllocationLaw(mu, constant, ((first, 1), (second, 1)))
    for n in (0, 2):
        rows = on_rays(law, n, [(angle, None, v)], 0.69)[0]
        with mp.workdps(20):
            for at in range(len(v)):
                r = mp.exp(mp.mpc(v[at], angle)) / mp.mpf(0.5)

                def part(weight: float, k: int, r: mp.mpc = r) -> mp.mpc:
                    def density(x: mp.mpf) -> mp.mpc:
                        y = weight * mp.exp(mu * x - mp.mpf(mu) ** 2 / 2)
                        return mp.exp(-x * x / 2 - r * y) * y**k

                    return mp.quad(density, mp.linspace(-11, 15, 27)) / mp.sqrt(2 * mp.pi)

                one, two = ([part(w, k) for k in range(n + 1)] for w in (mp.mpf(1) / 2, mp.mpf(1) / 10))
                steady = [mp.mpf(2) / 5, mp.exp(-r * mp.mpf(2) / 5)]
                true = steady[1] * mp.fsum(
                    mp.factorial(n) / (mp.factorial(i) * mp.factorial(j) * mp.factorial(n - i - j))
                    * one[i] * two[j] * steady[0] ** (n - i - j)
                    for i in range(n + 1) for j in range(n + 1 - i)
                )  # fmt: skip
                off = abs(mp.mpc(rows.value[at]) - true * mp.exp(-rows.log_scale[at] - rows.log_shared))
                assert off <= rows.error[at] + 1e-13, (n, at)


def test_places_and_what_lies_below_them() -> None:
    """Bounds on the distribution function of S, against the normal one for one step, and drawn for many."""
    for mu, weight in ((1.0, F(1, 2)), (0.3, F(9, 10)), (2.5, F(1, 100))):
        place, log_below = allocation_decay._below(AllocationLaw(mu, 1 - weight, ((weight, 1),)))
        below = np.exp(log_below)
        exact = ndtr((np.log(place[1:] / float(weight)) + 0.5 * mu * mu) / mu)
        assert (below >= exact).all()
        assert (below[exact > 1e-12] <= 30 * exact[exact > 1e-12]).all()
    law = AllocationLaw(1.0, F(1, 2), ((F(1, 100), 40), (F(1, 20), 2)))
    random = np.random.default_rng(4)
    s = np.exp(random.standard_normal((20_000, 42)) - 0.5) @ np.array(spread(law.groups))
    place, log_below = allocation_decay._below(law)
    below = np.exp(log_below)
    found = (s[:, None] < place[None, 1:]).mean(axis=0)
    assert (found <= below + 0.02).all()


@pytest.mark.parametrize("alpha", [-4.0, -1.5, 1.5, 4.0])
@pytest.mark.parametrize(
    ("mu", "constant", "groups"),
    [
        *LAWS[2:],
        (0.3, F(1, 10**6), ((F(999_999, 3 * 10**6), 3),)),
        (0.3, F(1, 2), ((F(1, 2), 1),)),
    ],
)
def test_the_envelope_bounds_the_fall(mu: float, constant: Fraction, groups: Groups, alpha: float) -> None:
    law = AllocationLaw(mu, constant, groups)
    farthest = (40.0, 20.0, 7.0)[len(spread(groups)) - 1] / mu  # to where the nested sums have their digits
    s = np.concatenate([[0.0], np.geomspace(0.1, farthest, 16)])
    sizes = np.abs(truth(law, alpha + 1j * s))
    bounds = AllocationEnvelope(law, alpha).log_bound(s)
    assert (sizes / sizes[0] <= np.exp(bounds) * (1 + 1e-9) + 1e-12).all()
    assert (np.diff(bounds) <= 0).all()
    assert bounds[0] == 0
    assert alpha < 0 or bounds[-1] < -0.1


def test_the_envelope_is_close_where_there_is_next_to_no_constant_part() -> None:
    """With one part in a million constant, the decay is that of the mean of normal variables, but for a quarter."""
    law = AllocationLaw(0.3, F(1, 10**6), ((F(999_999, 3 * 10**6), 3),))
    s = np.array([10.0, 20.0, 30.0])
    assert (AllocationEnvelope(law, 2.0).log_bound(s) <= 0.75 * even_decay(law, s)).all()


def test_the_envelope_far_out_where_its_terms_leave_the_range_of_a_double() -> None:
    """A tilt of -250 and a constant of 1e-3: ``c^alpha`` is 1e750 times the moment, and there is a decay."""
    law = AllocationLaw(1 / 3, F(1, 1000), ((F(999, 10**7), 10_000),))
    s = np.array([0.0, 400.0, 800.0])
    bounds = AllocationEnvelope(law, -250.0).log_bound(s)
    values, errors, _ = AllocationLine(law, -250.0, -1, 800.0, 1e-12).moments(400.0, 3)
    assert (np.abs(values) - errors <= np.exp(bounds) * (np.abs(values[0]) + errors[0])).all()
    assert bounds[2] <= 0.6 * even_decay(law, s)[2]


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(("mu", "steps", "constant", "epsilon"), [
    (0.5, 100, F(1, 2), 0.05), (0.5, 12, F(1, 10), 0.5), (0.4, 300, F(7, 10), 0.005), (0.7, 8, F(1, 2), 0.3),
])  # fmt: skip
def test_one_epoch_lies_between_laws_on_a_grid(
    mu: float, steps: int, constant: Fraction, epsilon: float, add: bool
) -> None:
    """A record that may be in no step: the average of lognormals on a grid, moved towards 1."""
    laws = grid_laws(mu, steps, 0.02, 2500)
    share = float(1 - constant)
    low, high = ((1 - share + share * values, mass) for values, mass in (laws[1], laws[0]))
    slack = 2 * math.exp(epsilon) * laws[2] + 1e-12
    pair = epoch(mu, (((1 - constant) / steps, steps),), constant, add)
    assert isinstance(pair, AllocationPair)
    found = ContourEngine(Composition([(pair, 1)])).log_delta(epsilon, None)
    ends = hockey_stick(*low, epsilon, add) - slack, hockey_stick(*high, epsilon, add) + slack
    assert ends[0] <= math.exp(found.upper)
    assert math.exp(found.lower) <= ends[1]
    assert ends[1] - ends[0] <= 2e-2 * ends[1]
    assert found.upper - found.lower <= 1e-6


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize("last", [F(1, 50), F(1, 25)])
def test_an_uneven_epoch_lies_between_laws_on_a_grid(last: Fraction, add: bool) -> None:
    """Nineteen equal steps beside a smaller one: the sum of a law on a grid and of a single one, each with its mean."""
    mu, epsilon = 0.5, 0.3
    rest = (1 - last) / 19
    many, one = grid_laws(mu, 19, 0.02, 2000), grid_laws(mu, 1, 0.02, 2000)
    slack = 4 * math.exp(epsilon) * (many[2] + one[2]) + 1e-9

    def delta(side: int) -> float:
        total = 0.0
        values, mass = (many[0], many[1])[side]
        keep = mass > 1e-13
        for value, weight in zip(*(one[0], one[1])[side], strict=True):
            if weight > 1e-14:
                shifted = float(1 - last) * values[keep] + float(last) * value
                total += weight * hockey_stick(shifted, mass[keep], epsilon, add)
        return total

    pair = epoch(mu, ((rest, 19), (last, 1)), NONE, add)
    assert isinstance(pair, AllocationPair)
    found = ContourEngine(Composition([(pair, 1)])).log_delta(epsilon, None)
    low, high = delta(1) - slack, delta(0) + slack
    assert low <= math.exp(found.upper)
    assert math.exp(found.lower) <= high
    assert high - low <= 2e-2 * high
    assert found.upper - found.lower <= 1e-6


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize("mu", [0.3, 0.5, 1.0])
def test_half_of_two_steps_by_one_integral(mu: float, add: bool) -> None:
    """A record that is in one of two steps with probability 1/2: for eps >= 0, delta at an epsilon that is moved.

    ``Lambda = (1 + M)/2``, M the mean of two: ``(Lambda - a)_+ = (M - (2a - 1))_+ / 2``, and
    ``(1 - a Lambda)_+ = (1 - a/2) (1 - a M / (2 - a))_+``.
    """
    pair = epoch(mu, ((F(1, 4), 2),), F(1, 2), add)
    for epsilon in (0.05, 0.3, 0.6):
        a = math.exp(epsilon)
        if add:
            true = (1 - a / 2) * two_steps(mu, math.log(a / (2 - a)), True)
        else:
            true = 0.5 * two_steps(mu, math.log(2 * a - 1), False)
        found = ContourEngine(Composition([(pair, 1)])).log_delta(epsilon, None)
        assert math.exp(found.lower) <= true * (1 + 1e-9) + 1e-14, epsilon
        assert true * (1 - 1e-9) - 1e-14 <= math.exp(found.upper), epsilon
        assert found.upper - found.lower <= 2e-5 or true < 1e-11, epsilon


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(("mu", "groups", "constant", "epochs"), [
    (1.0, ((F(1, 5), 3), (F(1, 10), 1)), F(3, 10), 3), (1.5, ((F(2, 7), 3), (F(1, 7), 1)), NONE, 2),
    (0.8, ((F(1, 20), 6),), F(7, 10), 5),
])  # fmt: skip
def test_several_epochs_agree_with_outcomes_that_are_drawn(
    mu: float, groups: Groups, constant: Fraction, epochs: int, add: bool
) -> None:
    losses = sampled(mu, spread(groups), epochs, 200_000, 11)[1 if add else 0]
    engine = ContourEngine(Composition([(epoch(mu, groups, constant, add), epochs)]))
    for epsilon in (0.0, 0.3, 1.0):
        found = engine.log_delta(epsilon, None)
        low, high = delta_of(losses, epsilon, 1e-9)
        assert low <= math.exp(found.upper)
        assert math.exp(found.lower) <= high


@pytest.mark.parametrize("add", [False, True])
def test_a_loss_has_an_end_where_the_ratio_has_a_least_value(add: bool) -> None:
    """``Lambda >= c``: a record there with probability 1/2, two epochs: no loss of adding is above 2 log 2."""
    pair = epoch(1.0, ((F(1, 20), 10),), F(1, 2), add)
    assert pair.loss_range == ((-math.inf, math.log(2)) if add else (-math.log(2), math.inf))
    accountant = ACCOUNTANTS["auto"]
    for epsilon in (0.5, 1.4):
        direction = Direction.ADD if add else Direction.REMOVE
        found = accountant.delta(Directions.of_pairs({direction: [(pair, 2)]}), epsilon, None)
        assert (found.ends["upper"] == 0) == (add and epsilon > 2 * math.log(2))


def test_what_an_epoch_is_made_of() -> None:
    third = F(1, 3)
    assert epoch(1.0, ((third, 2), (third, 1)), NONE, True) == AllocationPair(
        AllocationLaw(1.0, NONE, ((third, 3),)), True
    )
    assert epoch(1.0, ((F(1), 1),), NONE, True) == GaussianPair(1.0)
    assert epoch(1.0, ((third, 2), (F(1, 9), 0)), third, True) == AllocationPair(
        AllocationLaw(1.0, third, ((third, 2),)), True
    )
    assert epoch(1.0, ((F(1, 4), 1),), F(3, 4), True) == PoissonAddPair(GaussianPair(1.0), 0.25)
    assert epoch(1.0, ((F(1, 4), 1),), F(3, 4), False) == PoissonRemovePair(GaussianPair(1.0), 0.25)
    assert epoch(1.0, ((F(1, 9), 1), (F(4, 9), 2)), NONE, False).limit_variance == pytest.approx(
        math.expm1(1) * 33 / 81
    )
    assert epoch(1.0, ((F(1, 1000), 10),), F(99, 100), True).loss_range[1] == pytest.approx(
        -math.log1p(-0.01), rel=1e-15
    )


@pytest.mark.parametrize("add", [False, True])
def test_one_step_is_poisson_sampling(add: bool) -> None:
    """The law of an epoch of one step, as a pair of epochs, answers as the sampled Gaussian does."""
    poisson = (PoissonAddPair if add else PoissonRemovePair)(GaussianPair(1.0), 0.25)
    ours = AllocationPair(AllocationLaw(1.0, F(3, 4), ((F(1, 4), 1),)), add)
    for count in (5, 40):
        one, other = (
            ContourEngine(Composition([(pair, count)])).epsilon((math.log(1e-5),) * 2, None) for pair in (ours, poisson)
        )
        assert one.lower <= other.upper
        assert other.lower <= one.upper
        assert one.upper - one.lower <= 1e-6 * one.upper


WIDTHS = [
    (noise, steps, epochs, constant, last)
    for noise in (0.4, 0.8, 3.0) for steps in (8, 1000, 10_000) for epochs in (1, 20)
    for constant, last in ((NONE, F(1, 3)), (F(1, 2), F(1)), (F(1, 100), F(1)))
]  # fmt: skip


@pytest.mark.share(7)
@pytest.mark.slow
@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(("noise", "steps", "epochs", "constant", "last"), WIDTHS)
def test_answers_are_narrow(
    noise: float, steps: int, epochs: int, constant: Fraction, last: Fraction, add: bool
) -> None:
    """To 1e-6 of epsilon, or to 1e-7 where that is below 0.1."""
    whole = (1 - constant) / (steps - 1 + last)
    pair = epoch(1 / noise, ((whole, steps - 1), (whole * last, 1)), constant, add)
    for delta in (1e-7, 1e-5):
        found = ContourEngine(Composition([(pair, epochs)])).epsilon((math.log(delta),) * 2, None)
        assert found.upper - found.lower <= max(1e-6 * found.upper, 1e-7)


def test_many_kinds_of_epochs_are_gathered() -> None:
    """300 kinds that differ in their noise alone lie between few of them."""
    rounds = [(epoch(0.5 + 1e-4 * k, ((F(1, 200), 100),), F(1, 2), False), 1) for k in range(300)]
    found = gathered(Composition(rounds))
    for side in (found.milder, found.worse):
        assert len(side.rounds) <= 40
        assert all(isinstance(pair, AllocationPair) and pair.law.constant == F(1, 2) for pair, _ in side.rounds)
