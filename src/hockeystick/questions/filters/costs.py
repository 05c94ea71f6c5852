"""Costs of one round in one direction: its largest loss, its rho, and the probability of an infinite loss.

Let L be the loss of the round, ``log dP/dQ`` under P, and ``K(t) = log E_P [e^(tL); L < inf]``. The three costs are
upper bounds on three numbers: the largest finite loss; the least rho with ``K(t) <= t (1 + t) rho`` for all t > 0
(``pairs/concentrated.py``); and ``P(L = inf)``. All concern one ordered pair of laws; the opposite order is another
direction with its own costs. The costs of independent parts of a round add up.

A dominating pair may replace the round: the round is then a post-processing of the pair (Blackwell; Dong, Roth, Su 2022
[DRS22], Theorem 2.10), and seeing the outcome of the pair reveals no less.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import singledispatch
from typing import NamedTuple

from hockeystick.numerics.rounding import TINY, next_up
from hockeystick.pairs import BlackBoxPair, DominatingPair, GaussianPair, RenyiCurve
from hockeystick.pairs.bounded_range import BoundedRangeCurve
from hockeystick.pairs.composition import RELATIVE
from hockeystick.pairs.discrete import DiscreteGaussianPair
from hockeystick.pairs.joint import JointPair
from hockeystick.plan.mechanisms import Status
from hockeystick.plan.mechanisms.zcdp import ConcentratedCurve
from hockeystick.plan.plan import Round
from hockeystick.plan.sampling import NoSampling
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import UnsupportedError
from hockeystick.values.exact import decimal

BEYOND = Fraction(2**1025)
"""Number in place of an infinite cost; it exceeds every budget, because budgets are doubles."""


class Costs(NamedTuple):
    """Upper bounds on the costs of one run of a round in one direction.

    Attributes:
        loss: largest finite loss, at least 0; :data:`BEYOND` if the losses are unbounded.
        rho: rho of the finite losses; :data:`BEYOND` if none is known.
        failing: probability of an infinite loss.
    """

    loss: Fraction
    rho: Fraction
    failing: Fraction


def costs_of(item: Round, direction: Direction) -> Costs:
    """Return the costs of one run of a round.

    A sampled round with unbounded losses gets no rho here. The rho of the unsampled round would be valid, but it
    charges as much for a batch as for the whole dataset.

    Raises:
        UnsupportedError: nothing is proven for the combination.
    """
    curve = item.curve(direction)
    if item.claim(direction).status is not Status.RENYI and not isinstance(curve, BoundedRangeCurve):
        curve = item.pair(direction)
    found = _costs(curve, item)
    if item.sampling.name != NoSampling.name and found.loss >= BEYOND:
        return found._replace(rho=BEYOND)
    return found


@singledispatch
def _costs(curve: RenyiCurve, item: Round) -> Costs:
    return Costs(BEYOND, BEYOND, Fraction(0))


@_costs.register
def _of_pair(pair: DominatingPair, item: Round) -> Costs:
    rho = pair.rho
    return Costs(largest_loss(pair), Fraction(rho) if rho < math.inf else BEYOND, failing_mass(pair))


@_costs.register
def _of_joint(pair: JointPair, item: Round) -> Costs:
    parts = [(_costs(part, item), count) for part, count in pair.factors]
    return Costs(*(sum((count * part[i] for part, count in parts), Fraction(0)) for i in range(len(Costs._fields))))


@_costs.register
def _of_gaussian(pair: GaussianPair, item: Round) -> Costs:
    """Return costs with ``rho = mu^2 / 2`` (Bun, Steinke 2016 [BS16], Proposition 1.6)."""
    return Costs(BEYOND, square_of(pair, item) / 2, Fraction(0))


@_costs.register
def _of_discrete_gaussian(pair: DiscreteGaussianPair, item: Round) -> Costs:
    """Return costs with ``rho = distance^2 / (2 sigma^2)`` (Canonne, Kamath, Steinke 2020 [CKS20], Theorem 4).

    No outcomes are cut off.
    """
    return Costs(BEYOND, pair.distance**2 / (2 * pair.variance), Fraction(0))


@_costs.register
def _of_bounded_range(curve: BoundedRangeCurve, item: Round) -> Costs:
    """Return costs with ``rho = epsilon^2 / 8`` (proof in ``pairs/bounded_range.py``)."""
    return Costs(curve.epsilon, curve.epsilon**2 / 8, Fraction(0))


@_costs.register
def _of_guarantee(curve: ConcentratedCurve, item: Round) -> Costs:
    return Costs(BEYOND, decimal(curve.rho), Fraction(0))


def square_of(pair: GaussianPair, item: Round) -> Fraction:
    """Return mu^2 of one round.

    It is exact if it follows from the noise as written, so that exact sums fill a budget; otherwise it is computed from
    the pair, rounded up.
    """
    noise = getattr(item.mechanism, "noise_multiplier", None)
    if noise is not None:
        for distance in (1, 2):
            if distance / noise == pair.mu:
                return (distance / decimal(noise)) ** 2
    return decimal(next_up(pair.mu, 2)) ** 2


def largest_loss(pair: DominatingPair) -> Fraction:
    """Return the largest finite loss of a pair, at least 0; :data:`BEYOND` if the losses are unbounded."""
    high = pair.loss_range[1]
    if high == math.inf or pair.stands_in:
        return BEYOND
    exact = pair.exact_supremum
    return max(Fraction(high) + Fraction(pair.supremum_error) if exact is None else exact, Fraction(0))


def failing_mass(pair: DominatingPair) -> Fraction:
    """Return the mass of infinite loss, exact or rounded up."""
    if isinstance(pair, BlackBoxPair):
        return decimal(pair.delta)
    lost = pair.infinite_mass
    return Fraction(lost) * (1 + Fraction(RELATIVE)) + 4 * Fraction(TINY) if lost else Fraction(0)


def charged(name: str, item: Round, direction: Direction) -> Costs:
    """Return the costs of one run of a round for the named filter.

    Raises:
        UnsupportedError: the filter has no cost for the round.
    """
    found = costs_of(item, direction)
    reason = _lacking(name, found)
    if reason is not None:
        raise UnsupportedError(f"the {name} filter does not accept this {item.mechanism.name} round: {reason}")
    return found


def _lacking(name: str, found: Costs) -> str | None:
    """Return the reason why a filter has no cost for a round with these costs; None if it has one."""
    if found.failing and name != "approximate-dp":
        return "the round may fail (delta > 0)"
    if name == "pure" and found.loss >= BEYOND:
        return "its privacy loss is unbounded, or only its moments are known"
    if name == "zcdp" and found.rho >= BEYOND:
        return "no rho close to its privacy is known"
    if name == "approximate-dp" and min(found.loss, found.rho) >= BEYOND:
        return "its privacy loss is unbounded, and no rho close to its privacy is known"
    return None
