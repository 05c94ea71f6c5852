"""Sums of losses that are listed: against exact rationals, and what each may be off by."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp

from hockeystick.pairs import Composition
from hockeystick.pairs.base import Atoms
from hockeystick.pairs.finite import FinitePair, log_fraction
from hockeystick.pairs.product import ProductPair, power, terms

P = (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5))
Q = (Fraction(2, 5), Fraction(7, 20), Fraction(1, 4))
PAIR = FinitePair(P, Q)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 3, 40, 400])
def test_sums_and_masses_are_those_of_the_multinomial_law(count: int) -> None:
    """Every atom to what it says that it may be off by, from exact rationals."""
    found = ProductPair([(PAIR, count)]).atoms
    assert len(found.loss) == terms(3, count) == math.comb(count + 2, 2)
    truth = []
    with mp.workdps(50):
        losses = [mp.log(mp.mpf(p.numerator * q.denominator) / (p.denominator * q.numerator)) for p, q in PAIR.masses]
        masses = [mp.mpf(p.numerator) / p.denominator for p, _ in PAIR.masses]
        for first in range(count + 1):
            for second in range(count - first + 1):
                n = (first, second, count - first - second)
                ways = math.comb(count, first) * math.comb(count - first, second)
                loss = mp.fsum(k * one for k, one in zip(n, losses, strict=True))
                truth.append((loss, mp.log(ways) + mp.fsum(k * mp.log(one) for k, one in zip(n, masses, strict=True))))
        slip, log_slip = (
            np.broadcast_to(found.slip, found.loss.shape),
            np.broadcast_to(found.log_slip, found.loss.shape),
        )
        by_loss = sorted(zip(found.loss.tolist(), found.log_p.tolist(), slip, log_slip, strict=True))
        for (loss, log_p, off, log_off), (true_loss, true_log) in zip(by_loss, sorted(truth), strict=True):
            assert abs(loss - true_loss) <= off
            assert abs(log_p - true_log) <= log_off
            assert off <= 1e-11
            assert log_off <= 1e-10


def test_several_kinds_are_added_one_by_one() -> None:
    other = FinitePair((Fraction(1, 3), Fraction(2, 3)), (Fraction(2, 3), Fraction(1, 3)))
    found = ProductPair([(PAIR, 2), (other, 3)]).atoms
    masses: dict[Fraction, Fraction] = defaultdict(Fraction)
    for sequence in itertools.product(*([range(3)] * 2), *([range(2)] * 3)):
        p, q = Fraction(1), Fraction(1)
        for place, outcome in enumerate(sequence):
            law = PAIR if place < 2 else other
            p, q = p * law.p[outcome], q * law.q[outcome]
        masses[p / q] += p
    for ratio, mass in masses.items():
        near = np.abs(found.loss - log_fraction(ratio)) < 1e-12
        assert float(np.exp(found.log_p[near]).sum()) == pytest.approx(float(mass), rel=1e-12)
    assert float(np.exp(found.log_p).sum()) == pytest.approx(1.0, rel=1e-12)


def test_what_an_atom_admits_is_passed_on() -> None:
    """Slips of the losses and of the masses of one round count as often as the atom is met."""
    one = Atoms(np.array([0.0, 1.0]), np.log([0.5, 0.5]), np.log([0.5, 0.5]), 0.0, np.array([0.0, 1e-3]), 1e-4)
    found = power(one, 5)
    order = np.argsort(found.loss)
    slip = np.asarray(found.slip)
    assert slip[order] == pytest.approx(1e-3 * np.arange(6), rel=1e-8)
    assert found.log_slip == pytest.approx(np.full(6, 5e-4), rel=1e-8)


def test_units_of_a_round_are_passed_on() -> None:
    one = Atoms(np.array([1.0, 2.0]), np.log([0.5, 0.5]), np.log([0.5, 0.5]), 1e6)
    assert float(np.min(power(one, 3).slip)) >= 3e6 * 2.0**-53


@pytest.mark.parametrize(
    "ratio", [Fraction(1, 3), Fraction(10**200 + 1, 10**200), Fraction(2**3000), Fraction(1, 7**2000)]
)
def test_logarithms_of_fractions(ratio: Fraction) -> None:
    with mp.workdps(450):
        truth = mp.log(mp.mpf(ratio.numerator) / ratio.denominator)
        assert abs(log_fraction(ratio) - truth) <= 4 * 2.0**-53 * abs(truth)


def test_only_what_p_shows_is_listed() -> None:
    law = FinitePair((Fraction(1, 2), Fraction(1, 2), Fraction(0)), (Fraction(1, 2), Fraction(0), Fraction(1, 2)))
    assert law.atoms.loss.tolist() == [-math.inf, 0.0, math.inf]
    assert law.atoms.seen().loss.tolist() == [0.0]
    assert Composition([(law, 3)]).infinite_mass == pytest.approx(0.875)


def test_of_no_atoms_there_is_no_sum() -> None:
    """Of an empty list of atoms the multinomial law would have one sum, of mass 0!: rounds without atoms have none."""
    for count in (1, 2, 7):
        found = power(Atoms.none(), count)
        assert len(found.loss) == len(found.log_p) == len(found.log_q) == 0


@pytest.mark.parametrize("count", [2, 3, 193_100_372, 10**15])
def test_a_single_atom_is_repeated_without_a_list_of_factorials(count: int) -> None:
    """One atom of many rounds has one sum: its loss and its mass against 50 digits."""
    one = Atoms(np.array([0.1]), np.array([-0.3]), np.array([-0.4]))
    found = power(one, count)
    assert len(found.loss) == 1
    with mp.workdps(50):
        for value, each, off in ((found.loss, 0.1, found.slip), (found.log_p, -0.3, found.log_slip)):
            assert abs(mp.mpf(float(value[0])) - count * mp.mpf(each)) <= float(np.ravel(off)[0]) <= 1e-13 * count
