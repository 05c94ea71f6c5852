"""Laws of a likelihood ratio on given points, in balls: above the true law in convex order, and below it.

Let ``R = dP/dQ`` be a likelihood ratio under Q. With ``a = e^eps``

    removing a record:  delta(eps) = E_Q (R - a)_+ ,        adding one:  delta(eps) = E_Q (1 - a R)_+ ,

(where P has nothing that Q has not). Of independent rounds ``R = R_1 R_2 ...``, and both integrands are convex in every
factor, as they are in every summand of a factor that is a sum. So what follows may be done to each factor, or summand,
by itself, one after the other: given all others, delta is the mean of a convex function of it.

**Above.** An outcome of ratio r between two points ``y < y'`` is split between them with its mean kept: the shares
``(y' - r) / (y' - y)`` at y and ``(r - y) / (y' - y)`` at y'. By Jensen's inequality no convex function has a smaller
mean. Of all outcomes between y and y', of mass w and moment ``m = E[R; ...]`` together, ``(y' w - m) / (y' - y)`` come
to y and ``(m - y w) / (y' - y)`` to y'.

**Below.** Outcomes that are merged into their mean make the mean of every convex function smaller, by the same
inequality. To merge on to a point r, take outcomes L below it and H above it, of masses ``w_L, w_H``, with the lacks
``D_L = r w_L - m_L > 0`` and ``D_H = m_H - r w_H > 0``. Of L the share ``min(1, D_H / D_L)`` and of H the share
``min(1, D_L / D_H)`` have together the mean r exactly. What remains of either is left out.

**Leaving out.** Both integrands are at least 0, so that outcomes may be left out of a law from below: all divergences
fall. From above what is left out is charged: ``(r - a)_+ <= r`` and ``(1 - a r)_+ <= 1``, so that with a part of the
law above, a measure nu,

    E_Q (R - a)_+ <= int (r - a)_+ d nu + 1 - int r d nu ,      E_Q (1 - a R)_+ <= int (1 - a r)_+ d nu + 1 - nu(1) :

mass under P is charged where a record is removed, mass under Q where it is added. (The law above is a probability with
the mean 1, as all splitting keeps both.) So *every* mass may be rounded down, on both sides, far tails may be cut, and
products of parts are parts of the product; nothing has to be kept account of but the two sums at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flint import arb

from hockeystick.numerics.balls import Ball

SHARE_BITS = 96
"""Bits of the share of a part that is merged on to one point and not on to the next; the mass that a rounded share
leaves out is that much smaller than the part's."""


class Part(NamedTuple):
    """Some outcomes: their mass under Q, and the moment ``E_Q[R; ...]``, which is their mass under P."""

    mass: Ball
    moment: Ball


def whole_below(mass: Ball, bits: int) -> int:
    """``2^bits`` times a mass, rounded down to a whole number that is at least 0; 0 of what is no number."""
    scaled = (mass * arb(2) ** bits).lower()
    if not scaled > 0:
        return 0
    found = scaled.floor().unique_fmpz()
    return 0 if found is None else int(found)


def spread(points: Sequence[Ball], parts: Sequence[Part]) -> list[Ball]:
    """Masses at the points, every part split between those on either side of it.

    Args:
        points: increasing.
        parts: ``parts[j]`` holds outcomes from ``points[j]`` to ``points[j + 1]`` only.

    >>> [float(mass) for mass in spread([arb(0), arb(1), arb(2)], [Part(arb(1), arb("0.5")), Part(arb(0), arb(0))])]
    [0.5, 0.5, 0.0]
    """
    out = [arb(0)] * len(points)
    for j, (mass, moment) in enumerate(parts):
        if mass.is_zero():
            continue
        low, high = points[j], points[j + 1]
        width = high - low
        out[j] += (high * mass - moment) / width
        out[j + 1] += (moment - low * mass) / width
    return out


def merged(points: Sequence[Ball], parts: Sequence[Part], start: int, first: int) -> list[Ball]:
    """Masses at the points, parts merged on to them: upward from between two points, and downward.

    Where the cells about the points begin does not change on the way but slowly, so that the walk begins where most
    outcomes are, halfway between two points. What is left at the bottom, where too little is below the next point, is
    merged with the points next above it; what is left at the top is left out.

    Args:
        points: increasing, 0 or greater.
        parts: increasing; each between two neighbouring points, for a narrow result.
        start: number of points below the place where the walk begins.
        first: number of parts below it.
    """
    up, _ = _walk(points[start:], parts[first:], 1)
    down, rest = _walk(points[:start][::-1], parts[:first][::-1], -1)
    out = down[::-1] + up
    if rest:
        _gather(points, out, rest)
    return out


def _walk(points: Sequence[Ball], parts: Sequence[Part], sign: int) -> tuple[list[Ball], list[Part]]:
    """Masses of one point after the other, each of what lies before it and as much of the next as balances it.

    Args:
        points: in the order of the walk.
        parts: likewise.
        sign: 1 upward, -1 downward.

    Returns:
        The masses, and what could not be balanced any more.
    """
    out = [arb(0)] * len(points)
    queue = list(parts)
    at = 0
    for j, point in enumerate(points):
        near, lack = [], arb(0)  # before the point
        while at < len(queue):
            part = queue[at]
            off = (point * part.mass - part.moment) * sign
            if not off > 0:
                break
            near.append(part)
            lack += off
            at += 1
        while at < len(queue) and (point * queue[at].mass - queue[at].moment).is_zero():  # on the point: there it stays
            out[j] += queue[at].mass
            at += 1
        if not near:
            continue
        beyond, excess, balanced = [], arb(0), False
        while at < len(queue):
            part = queue[at]
            off = (part.moment - point * part.mass) * sign
            if excess + off < lack:
                beyond.append(part)
                excess += off
                at += 1
                continue
            share = _share(lack - excess, off)
            beyond.append(Part(part.mass * share, part.moment * share))
            queue[at] = Part(part.mass * (1 - share), part.moment * (1 - share))
            excess += off * share
            balanced = True
            break
        if not balanced:
            return out, near + beyond
        out[j] += _balanced(sum((part.mass for part in near), arb(0)), lack,
                            sum((part.mass for part in beyond), arb(0)), excess)  # fmt: skip
    return out, queue[at:]


def _share(wanted: Ball, whole: Ball) -> Ball:
    """About ``wanted / whole`` between 0 and 1: exact, a choice."""
    if not whole > 0:
        return arb(1)
    scaled = (wanted / whole * arb(2) ** SHARE_BITS).mid().floor().unique_fmpz()
    if scaled is None:
        return arb(1)
    return arb(min(max(int(scaled), 0), 1 << SHARE_BITS)) / arb(2) ** SHARE_BITS


def _balanced(near: Ball, lack: Ball, beyond: Ball, excess: Ball) -> Ball:
    """The mass of as much of both sides of a point as has its mean there."""
    if not (lack > 0 and excess > 0):
        return arb(0)
    one = arb(1)
    return near * one.min(excess / lack) + beyond * one.min(lack / excess)


def _gather(points: Sequence[Ball], masses: list[Ball], rest: Sequence[Part]) -> None:
    """Merge what is left at the bottom on to the first point above its mean, with what it takes of the points above.

    What has been merged on to a point has its mean there, so that a share of it may be merged again.
    """
    mass, moment = sum((part.mass for part in rest), arb(0)), sum((part.moment for part in rest), arb(0))
    target = next((j for j, point in enumerate(points) if point * mass > moment), None)
    if target is None:
        return
    lack, taken = points[target] * mass - moment, []
    for j in range(target + 1, len(points)):
        distance = points[j] - points[target]
        wanted = lack / distance
        last = bool(wanted <= masses[j])
        share = wanted if last else wanted.min(masses[j])
        taken.append(share)
        lack -= share * distance
        if last:
            break
    else:
        return  # too little is above: the rest is left out
    for j, share in enumerate(taken, target + 1):
        masses[j] -= share
    masses[target] += mass + sum(taken, arb(0))
