"""Numbers ``sum a e^b`` as balls, and what rounds with finitely many losses have in common."""

from __future__ import annotations

from flint import acb, arb, ctx

from hockeystick.numerics.balls import Ball, ComplexBall, ball, powers, precision
from hockeystick.pairs.exact import Exponential
from hockeystick.values.errors import NotApplicableError

SPARE_BITS = 16
"""By how many bits fewer than are worked with a sum may be known. What rounding loses is one or two for each term."""

MOST_BITS = 1 << 18  # with which a sum is formed whose terms cancel


def exponential_ball(number: Exponential, bits: int | None = None) -> Ball:
    """A ball around ``sum a e^b``, all b different and no a of 0, of ``bits`` correct bits, however much cancels.

    By the theorem of Lindemann and Weierstrass such a sum is 0 only where it has no term, so that some precision
    suffices: it is doubled until the radius is small beside the number. By default the bits are nearly as many as the
    precision of the caller.

    Raises:
        NotApplicableError: the sum is so near 0 that no precision up to ``MOST_BITS`` tells.
    """
    wanted, working = max(ctx.prec - SPARE_BITS, 1) if bits is None else bits, ctx.prec
    while working <= MOST_BITS:
        with precision(working):
            value = sum((ball(factor) * ball(power).exp() for factor, power in number), arb(0))
        if not number or (not value.contains(0) and value.rel_accuracy_bits() >= wanted):
            return +value
        working *= 2
    raise NotApplicableError("two exact masses of a round are too near one another")


def atom_sums(atoms: list[tuple[Ball, Ball, Ball]], t: float, step: float, count: int) -> list[ComplexBall]:
    """``sum p e^((t + i j step) L)`` over the losses L with their masses p under P, for j < count."""
    totals = [acb(0)] * count
    for loss, p, _ in atoms:
        size = p * (arb(t) * loss).exp()
        turns = powers(acb(0, arb(step) * loss).exp(), count)
        totals = [total + size * turn for total, turn in zip(totals, turns, strict=True)]
    return totals
