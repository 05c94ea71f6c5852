"""One round of the Laplace kind as two parts: its atoms, and what is between them, whose delta has a closed form.

With the notation of ``laplace_law.py``, c e^(-(l + theta)/2) the density of Q in l, and ``D(x) = int (1 - e^(x - L))_+
dP`` over what is between the atoms, for any real x. Let ``u(l*) = x`` in the direction remove, where the losses above x
are those of ``l > l*``. As ``g(l) - g(l*) = q (e^l - e^l*)``,

    D(x) = int_(l*)^theta c e^(-(l + theta)/2) q (e^l - e^l*) dl = 8 c q e^((l* - theta)/2) sinh^2((theta - l*)/4) .

In the direction add the loss is -u, and with ``u(l*) = -x`` those above x are of ``l < l*``, where ``1 - e^x g(l) =
e^x q (e^l* - e^l)``, so that

    D(x) = 8 c q e^x e^((l* - theta)/2) sinh^2((l* + theta)/4) ,    e^x = 1 / g(l*) .

Below the least loss x0 all of the part counts: ``D(x) = D(x0) + (e^x0 - e^x) N``, ``N = 2 c (1 - e^-theta)`` what the
second law has of it; above the largest loss D is 0. A round that is not sampled is that of q = 1 in the direction
remove.

**Rounding.** D falls with x. l* is moved until u of it, with the bound on its own error, is on the safe side of x;
what remains are a few roundings of D itself, and those of theta in the distance to the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import TINY, UNIT_ROUNDOFF
from hockeystick.pairs.base import Atoms, DominatingPair
from hockeystick.pairs.product import seen
from hockeystick.pairs.sampled.laplace_law import OWN_UNITS, RATE_UNITS, THETA_UNITS, LaplaceLaw
from hockeystick.pairs.sampled.poisson import mixed_slope, rate_error, unmixed_loss
from hockeystick.values.side import Side

Array = npt.NDArray[np.float64]

STEPS = 60  # doublings of the distance by which l* is moved
STRAIGHT = 1e-3  # distance over which u is a straight line, as far as the first step goes
BEYOND = 1.25  # how far the first step goes, of what that line lacks: roundings let it fall short otherwise
UNITS = 64.0  # roundings of one value


@dataclass(frozen=True)
class EndsPair(DominatingPair):
    """The atoms of a round alone: what is between them is left out.

    Attributes:
        whole: the round.
    """

    whole: DominatingPair

    @property
    def atoms(self) -> Atoms:
        """The atoms of finite loss that the round's P can show."""
        return seen(self.whole)

    @property
    def smooth(self) -> None:
        """None: what is between the atoms is left out."""

    @property
    def loss_range(self) -> tuple[float, float]:
        """The range of the whole round's losses, in which the atoms are."""
        return self.whole.loss_range

    def log_moment(self, t: float) -> float:
        """The K(t) of the whole round, of which the atoms are a part."""
        return self.whole.log_moment(t)


def log_between(law: LaplaceLaw, x: Array, slip: Array, side: Side) -> Array:
    """An end of log D at each x, which may be off by slip.

    Args:
        law: the round, with q = 1 where every record takes part.
        x: where.
        slip: bounds on the absolute errors of x.
        side: of the end.
    """
    x = x - float(side) * slip  # D falls with x
    first, last = (law.theta, -law.theta) if law.add else (-law.theta, law.theta)  # where the loss is least, and most
    sign = law.sign
    where, u, error = _inverse(law, sign * x, -sign * float(side))
    exponent = 0.5 * (where - law.theta)
    if law.add:
        exponent = exponent - u + float(side) * error
    out = _log_closed(law, np.abs(last - where), exponent, side)
    _, ends, errors = _Place.of(law, np.array([first, last]))
    least, most = (sign * ends).tolist()
    out = np.where(x > most + float(errors[1]), -math.inf, out)
    every = sign * where <= sign * first  # all losses are above x
    if every.any():
        gap = np.maximum(least + float(side) * float(errors[0]) - x, 0.0)
        with np.errstate(divide="ignore"):
            rest = law.log_top + math.log(-math.expm1(-law.theta)) + least + np.log(-np.expm1(-gap))
        size = 1 + abs(law.log_top) + law.theta + abs(least)
        rest = rest + float(side) * (UNITS * UNIT_ROUNDOFF * size + float(errors[0]))
        both = np.logaddexp(out, rest)
        both = both + float(side) * 4 * UNIT_ROUNDOFF * np.abs(np.where(np.isfinite(both), both, 0.0))
        out = np.where(every, both, out)
    return out


def _log_closed(law: LaplaceLaw, distance: Array, exponent: Array, side: Side) -> Array:
    """``log (8 c q e^exponent sinh^2(distance / 4))`` on its safe side; minus infinity where the distance is not."""
    moved = np.maximum(distance + float(side) * THETA_UNITS * UNIT_ROUNDOFF * law.theta, 0.0)
    y = 0.25 * moved
    with np.errstate(divide="ignore"):
        log_sinh = y + np.log(-np.expm1(-2 * y)) - math.log(2)  # which is in range whatever the distance
    out = law.log_top + math.log(4 * law.rate) + exponent + 2 * log_sinh
    size = np.where(np.isfinite(out), np.abs(out), 0.0) + np.abs(exponent) + abs(law.log_top) + law.theta + y
    end: Array = out + float(side) * UNITS * UNIT_ROUNDOFF * (1 + size)
    return end


def _error(law: LaplaceLaw, loss: Array, u: Array) -> Array:
    """Bound on the absolute error of u at losses that are taken for exact; theta is off where they are at an end."""
    own = OWN_UNITS * np.abs(u) + THETA_UNITS * law.theta * mixed_slope(loss, u, law.rate)
    rates = 0.0 if law.rate == 1 else RATE_UNITS * rate_error(loss, u, law.rate)
    out: Array = UNIT_ROUNDOFF * (own + rates) + 4 * TINY  # next to 0 roundings are not relative
    return out


class _Place(NamedTuple):
    """Losses before sampling, one for each x.

    Attributes:
        loss: l, in [-theta, theta].
        u: computed from it.
        error: bound on the absolute error of u.
    """

    loss: Array
    u: Array
    error: Array

    @classmethod
    def of(cls, law: LaplaceLaw, loss: Array) -> _Place:
        """These losses, and their u."""
        u = law.mixed(loss)
        return cls(loss, u, _error(law, loss, u))


def _inverse(law: LaplaceLaw, u: Array, side: float) -> _Place:
    """An l in [-theta, theta] whose u is at least (+1) or at most (-1) the one given; the end where none is.

    It is tried at the inverse of u first. Where this misses by no more than its error, l is moved: by what the slope
    of u says, and twice as far until it holds.
    """
    guess = u if law.rate == 1 else unmixed_loss(u, law.rate)
    guess = np.minimum(np.maximum(guess, -law.theta), law.theta)
    found = _Place.of(law, guess.copy())
    short = np.flatnonzero((side * (found.u - u) < found.error) & (side * guess < law.theta))
    if not len(short):
        return found
    start, target = guess[short], u[short]
    lacking = found.error[short] - side * (found.u[short] - target)
    slope = 1.0 if law.rate == 1 else mixed_slope(start, found.u[short], law.rate)
    with np.errstate(divide="ignore"):
        straight = np.minimum(BEYOND * lacking / slope, STRAIGHT)
    step = np.maximum(straight, 4 * UNIT_ROUNDOFF * np.maximum(np.abs(start), STRAIGHT))
    for _ in range(STEPS):
        moved = _Place.of(law, np.minimum(np.maximum(start + side * step, -law.theta), law.theta))
        for kept, new in zip(found, moved, strict=True):
            kept[short] = new
        still = (side * (moved.u - target) < moved.error) & (side * moved.loss < law.theta)
        if not still.any():
            return found
        short, start, target, step = short[still], start[still], target[still], 2 * step[still]
    found.loss[short] = side * law.theta
    return _Place.of(law, found.loss)
