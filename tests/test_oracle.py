"""The oracle against values computed elsewhere and against itself by independent routes."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from mpmath import mp

import oracle
from oracle import closed_forms, composition, quadrature, realspace
from oracle.plan import Round, read_plan
from oracle.real import Mpf

GAUSSIAN = {"mechanism": "gaussian", "noise_multiplier": 1.0, "sampling": "poisson", "sample_rate": 0.01}
LAPLACE = {"mechanism": "laplace", "scale": 1.0}
MIX = [
    {**GAUSSIAN, "count": 1000},
    {"mechanism": "gaussian", "noise_multiplier": 20.0, "count": 10},
    {"mechanism": "laplace", "scale": 10.0, "count": 5},
    {"mechanism": "randomized-response", "epsilon": 0.1, "count": 3},
]
APPROXIMATE = {"mechanism": "approximate-dp", "epsilon": 0.1, "delta": 1e-08, "count": 100}
RESPONSE = {"mechanism": "randomized-response", "epsilon": 0.1, "count": 1000}

# adjacency, rounds, quantity, its argument, value: values computed in 113-bit arithmetic
REFERENCE: list[tuple[str, list[dict[str, Any]], str, str, str]] = [
    ("add", [{**GAUSSIAN, "count": 10000}], "delta", "1", "0.2320263201210964234086632"),
    ("add-or-remove", [{**GAUSSIAN, "count": 10000}], "epsilon", "1e-6", "6.907384495045082347688477"),
    ("add", [{**GAUSSIAN, "count": 100}], "delta", "1", "5.436058755322714772843628e-546"),
    ("add-or-remove", [{**GAUSSIAN, "count": 100}], "epsilon", "1e-6", "0.9542170736171037928335252"),
    ("add-or-remove", [{**GAUSSIAN, "count": 10}], "delta", "0.5", "2.549723415527727386975490e-6"),
    ("add", [{**GAUSSIAN, "count": 10}], "epsilon", "1e-6", "0.07184330978688263481400164"),
    ("replace-one", [{**GAUSSIAN, "count": 1000}], "epsilon", "1e-6", "3.214230966557781131698908"),
    ("add-or-remove", MIX, "delta", "0.5", "0.06024006676005184277889828"),
    ("add", MIX, "epsilon", "1e-6", "2.162106218587608683609508"),
    (
        "add-or-remove",
        [{"mechanism": "gaussian", "noise_multiplier": 1.0, "count": 100}],
        "epsilon",
        "1e-15",
        "128.6780732680568622088796",
    ),
    ("add-or-remove", [{**LAPLACE, "count": 10}], "delta", "2", "0.6128420290499026016008077"),
    ("add-or-remove", [{**LAPLACE, "count": 10}], "epsilon", "1e-5", "9.989962311150627798290942"),
    ("add-or-remove", [{**LAPLACE, "count": 1000}], "epsilon", "1e-15", "562.8580308780634074626798"),
    (
        "add-or-remove",
        [{**LAPLACE, "sampling": "poisson", "sample_rate": 0.01, "count": 1000}],
        "delta",
        "12",
        "4.390026395974268177729280e-305",
    ),
    ("add-or-remove", [APPROXIMATE], "delta", "1.5", "0.05679696963697632383384951"),
    ("add-or-remove", [APPROXIMATE], "epsilon", "1e-8", "inf"),
    ("add-or-remove", [RESPONSE], "delta", "12", "7.046931682453772189090906e-3"),
    ("add-or-remove", [RESPONSE], "epsilon", "1e-3", "14.04446699683743336015672"),
]


def close(value: Mpf, expected: Mpf, digits: int) -> bool:
    """Agreement to a relative 10^-digits (both zero or both infinite also agree)."""
    with mp.workdps(60):
        if value == expected:
            return True
        return bool(abs(value - expected) <= mp.mpf(10) ** -digits * abs(expected))


def literal(text: str) -> Mpf:
    """A decimal literal at 60 digits."""
    with mp.workdps(60):
        return mp.mpf(text)


def one_round(mechanism: str, parameter: str, rate: str, count: int = 1) -> Round:
    """A round with one parameter."""
    return Round(mechanism, (Fraction(parameter),), Fraction(rate), count)


@pytest.mark.share(2)
@pytest.mark.parametrize(("adjacency", "rounds", "quantity", "argument", "expected"), REFERENCE)
def test_reference(adjacency: str, rounds: list[dict[str, Any]], quantity: str, argument: str, expected: str) -> None:
    value = getattr(oracle, quantity)({"adjacency": adjacency, "round": rounds}, argument)
    assert close(value, literal(expected), 20)


@pytest.mark.share(4)
@pytest.mark.parametrize("direction", ["remove", "add", "replace-one"])
@pytest.mark.parametrize(
    ("scale", "rate", "eps"), [("1", "0.01", "0.005"), ("0.5", "0.3", "0.2"), ("2", "0.1", "0.05")]
)
def test_one_round_three_ways(direction: str, scale: str, rate: str, eps: str) -> None:
    entry = one_round("gaussian", scale, rate)
    exact = quadrature.single_delta(entry, direction, eps)
    assert close(quadrature.single_delta_integral(entry, direction, eps), exact, 19)
    assert close(composition.contour_delta([entry], direction, eps), exact, 20)


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_one_round_of_sampled_laplace(direction: str) -> None:
    entry = one_round("laplace", "2", "0.1")
    panels = realspace.LaplacePanels(entry, direction, 20)
    for eps in ("-0.02", "0.005", "0.03"):
        exact = quadrature.single_delta(entry, direction, eps)
        assert close(quadrature.single_delta_integral(entry, direction, eps), exact, 19)
        assert close(panels.delta(eps), exact, 19)


@pytest.mark.parametrize("direction", ["remove", "add", "replace-one"])
def test_two_rounds_by_contour_and_by_nested_quadrature(direction: str) -> None:
    scale, rate, eps = ("2", "0.1", "0.05")
    entry = one_round("gaussian", scale, rate, 2)
    nested = realspace.NestedGaussian(entry, direction, 20, 5).delta(eps)
    assert close(composition.contour_delta([entry], direction, eps), nested, 19)


def test_two_rounds_at_a_small_rate() -> None:
    entry = one_round("gaussian", "1", "0.01", 2)
    nested = realspace.NestedGaussian(entry, "remove", 20, 5).delta("0.5")
    assert close(composition.contour_delta([entry], "remove", "0.5"), nested, 19)


@pytest.mark.share(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("direction", "scale", "rate", "level"), [("add", "1", "0.2", 4), ("replace-one", "2", "0.1", 3)]
)
def test_three_rounds_by_contour_and_by_nested_quadrature(direction: str, scale: str, rate: str, level: int) -> None:
    entry = one_round("gaussian", scale, rate, 3)
    nested = realspace.NestedGaussian(entry, direction, 16, level).delta("0.1")
    assert close(composition.contour_delta([entry], direction, "0.1"), nested, 15)


def test_unlike_sampled_gaussians() -> None:
    """Two unlike rounds: one output by quadrature, the other in closed form."""
    first, second = one_round("gaussian", "2", "0.1"), one_round("gaussian", "3", "0.4")
    with mp.workdps(35):
        step, square, q = mp.mpf("0.1"), mp.mpf(9), mp.mpf("0.4")
        total = mp.zero
        for index in range(-400, 420):
            x = index * step

            def mixing(x: Mpf) -> Mpf:
                return mp.log(1 - q + q * mp.exp((x - mp.mpf("0.5")) / square))

            weight = step * mp.exp(-x * x / (2 * square) + mixing(x)) / (3 * mp.sqrt(2 * mp.pi))
            eps = mp.mpf("0.3") - mixing(x) + mixing(-x)
            total += weight * quadrature.single_delta(first, "replace-one", eps, 25)
    assert close(composition.contour_delta([first, second], "replace-one", "0.3"), total, 19)


def test_gaussian_closed_form_and_contour() -> None:
    entry = one_round("gaussian", "3", "1", 7)
    for direction, factor in (("remove", 1), ("replace-one", 4)):
        exact = closed_forms.gaussian_delta(Fraction(7 * factor, 9), "1.3")
        assert close(composition.contour_delta([entry], direction, "1.3"), exact, 20)
        assert close(closed_forms.gaussian_epsilon(Fraction(7 * factor, 9), exact), literal("1.3"), 25)


def test_laplace_residues_and_panels() -> None:
    for count, eps in ((1, "0.3"), (2, "-0.4"), (5, "1.5"), (20, "4")):
        entry = one_round("laplace", "1", "1", count)
        exact = closed_forms.laplace_delta([(1, count)], eps)
        assert close(realspace.LaplacePanels(entry, "remove", 22).delta(eps), exact, 20)


def test_laplace_with_gaussian_and_atoms() -> None:
    """Contour against conditioning on the Laplace output and on the response, the Gaussian in closed form."""
    rounds = [one_round("gaussian", "1.5", "1", 2), one_round("laplace", "2", "1")]
    rounds.append(one_round("randomized-response", "0.3", "1", 2))
    with mp.workdps(35):
        table = closed_forms.compose_atoms([(closed_forms.randomized_response("0.3"), 2)])
        squared, eps, c = Fraction(8, 9), mp.mpf("0.7"), mp.mpf("0.5")

        def given_laplace(loss: Mpf) -> Mpf:
            return mp.fsum(
                mass * closed_forms.gaussian_delta(squared, eps - loss - jump, 25)
                for jump, mass in zip(table.losses, table.masses, strict=True)
            )

        middle = mp.quad(lambda x: c / 2 * mp.exp(-c * (1 - x)) * given_laplace(c * (2 * x - 1)), [0, 1])
        expected = given_laplace(c) / 2 + mp.exp(-c) / 2 * given_laplace(-c) + middle
    assert close(composition.contour_delta(rounds, "remove", eps), expected, 20)


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_two_rounds_of_sampled_laplace(direction: str) -> None:
    """Panels against conditioning on one output: its two atoms, and quadrature cut at the kinks."""
    entry, single = one_round("laplace", "2", "0.2", 2), one_round("laplace", "2", "0.2")
    low, high = quadrature.loss_ends(single, direction)
    with mp.workdps(30):
        c, q, eps = mp.mpf("0.5"), mp.mpf("0.2"), mp.mpf("0.04")
        sign = 1 if direction == "remove" else -1

        def part(base: Mpf, place: Mpf) -> Mpf:
            mixed = 1 - q + q * mp.exp(c * (2 * place - 1))
            mass = base * mixed if sign > 0 else base
            return mass * quadrature.single_delta(single, direction, eps - sign * mp.log(mixed), 25)

        kinks = [(1 + mp.log((mp.exp(sign * (eps - end)) - 1 + q) / q) / c) / 2 for end in (low, high)]
        cuts = sorted([mp.zero, mp.one, *(kink for kink in kinks if 0 < kink < 1)])
        expected = part(mp.mpf(1) / 2, mp.zero) + part(mp.exp(-c) / 2, mp.one)
        expected += mp.quad(lambda x: part(c * mp.exp(-c * x) / 2, x), cuts)
    assert close(realspace.LaplacePanels(entry, direction, 20).delta(eps), expected, 19)


def test_randomized_response_by_brute_force() -> None:
    """Every one of the 2^8 outcomes of eight unlike responses."""
    epsilons = [Fraction(1, 10)] * 3 + [Fraction(1, 4)] * 4 + [Fraction(2)]
    with mp.workdps(50):
        eps, total = mp.mpf("0.45"), mp.zero
        for signs in itertools.product((1, -1), repeat=len(epsilons)):
            p = q = mp.one
            for sign, e0 in zip(signs, epsilons, strict=True):
                odds = mp.exp(sign * mp.mpf(e0.numerator) / e0.denominator)
                p *= odds / (1 + odds)
                q /= 1 + odds
            total += max(mp.zero, p - mp.exp(eps) * q)
    groups = [(Fraction(1, 10), 3), (Fraction(1, 4), 4), (Fraction(2), 1)]
    assert close(closed_forms.randomized_response_delta(groups, "0.45"), total, 28)
    assert close(closed_forms.randomized_response_epsilon(groups, total), literal("0.45"), 28)


def test_kairouz_oh_viswanath() -> None:
    for index in range(11):
        eps, delta = closed_forms.kairouz_oh_viswanath("0.3", "1e-6", 20, index)
        assert close(closed_forms.approximate_dp_delta([("0.3", "1e-6", 20)], eps), delta, 28)


def test_atoms_beside_sampled_gaussians() -> None:
    """The mass at infinity is taken off, and the rest is a mixture over the atoms."""
    sampled = one_round("gaussian", "1", "0.1", 200)
    atoms = Round("approximate-dp", (Fraction(1, 5), Fraction(1, 1000)), Fraction(1), 2)
    whole = composition.contour_delta([sampled, atoms], "remove", "1.2")
    with mp.workdps(40):
        table = closed_forms.compose_atoms([(closed_forms.approximate_dp("0.2", "0.001"), 2)])
        expected = table.infinite
        for loss, mass in zip(table.losses, table.masses, strict=True):
            expected += mass * composition.contour_delta([sampled], "remove", mp.mpf("1.2") - loss)
    assert close(whole, expected, 19)


def test_epsilon_is_the_inverse() -> None:
    for rounds in ([{**GAUSSIAN, "sample_rate": "0.2", "count": 5}], [{**LAPLACE, "count": 4}], [RESPONSE]):
        plan = {"adjacency": "remove", "round": rounds}
        delta = oracle.delta(plan, "0.25", 25)
        assert close(oracle.epsilon(plan, delta), literal("0.25"), 18)


def test_ends() -> None:
    bounded = {"adjacency": "add", "round": [{**GAUSSIAN, "count": 10}]}
    end = -10 * math.log(0.99)
    assert oracle.delta(bounded, end + 1e-9) == 0
    assert oracle.delta(bounded, 0.9 * end) > 0
    assert oracle.epsilon(bounded, "0.999") == 0
    assert oracle.epsilon({"adjacency": "add-or-remove", "round": [{**GAUSSIAN, "count": 10}]}, 0) == mp.inf
    response = {"adjacency": "add-or-remove", "round": [{**RESPONSE, "epsilon": "0.5", "count": 10}]}
    assert oracle.delta(response, 5) == 0
    assert oracle.epsilon(response, 0) == 5
    laplace = {"adjacency": "replace-one", "round": [{**LAPLACE, "scale": 4, "count": 10}]}
    assert oracle.delta(laplace, 5) == 0
    assert oracle.epsilon(laplace, 0) == 5
    empty = {"adjacency": "add-or-remove", "round": [{**GAUSSIAN, "count": 0}]}
    assert oracle.delta(empty, 0) == 0
    assert oracle.epsilon(empty, 0) == 0


def test_plans_are_read_strictly() -> None:
    with pytest.raises(ValueError, match="unknown mechanism"):
        read_plan({"adjacency": "add", "round": [{"mechanism": "uniform"}]})
    with pytest.raises(ValueError, match="unknown keys"):
        read_plan({"adjacency": "add", "round": [{**GAUSSIAN, "sensitivity": 2}]})
    merged = read_plan({"adjacency": "add-or-remove", "round": [LAPLACE, {**LAPLACE, "count": 3}]})
    assert merged == (("remove",), (one_round("laplace", "1", "1", 4),))
