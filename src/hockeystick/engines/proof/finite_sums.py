"""Numbers ``sum a e^b`` as balls, and what rounds with finitely many losses have in common."""

from __future__ import annotations

from flint import acb, arb

from hockeystick.numerics.balls import Ball, ComplexBall, ball, powers
from hockeystick.pairs.exact import Exponential


def exponential_ball(mass: Exponential) -> Ball:
    """A ball around ``sum a e^b``."""
    return sum((ball(factor) * ball(power).exp() for factor, power in mass), arb(0))


def atom_sums(atoms: list[tuple[Ball, Ball, Ball]], t: float, step: float, count: int) -> list[ComplexBall]:
    """``sum p e^((t + i j step) L)`` over the losses L with their masses p under P, for j < count."""
    totals = [acb(0)] * count
    for loss, p, _ in atoms:
        size = p * (arb(t) * loss).exp()
        turns = powers(acb(0, arb(step) * loss).exp(), count)
        totals = [total + size * turn for total, turn in zip(totals, turns, strict=True)]
    return totals
