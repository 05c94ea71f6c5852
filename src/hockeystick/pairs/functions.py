"""Cells of two laws given as functions: densities, distribution functions, or a trade-off function.

A cell is an interval of outcomes, with the mass of each law and bounds on the likelihood ratio. The functions are
evaluated at finitely many points. Assumptions about their values between these points are stated with every answer
(``Pair.premises``). All other errors enter the error bounds of the masses or the bounds on the ratios:

- the error of the integral of a density over a cell: the difference of the Gauss-Legendre rules with 8 and 16 nodes;
- the error of the values of densities or distribution functions: the accuracy that the user states, and roundings;
- the range of the ratio in a cell: from the least to the largest ratio at the nodes. Where the ratio is not monotone,
  the range of its logarithm is widened at each end by its own width;
- a total mass below 1: upper bounds count the missing mass as mass that only one law has, and lower bounds do not count
  it. The stated accuracy does not reduce the missing mass. A total that exceeds 1 by more than the errors is refused.

Any choice of cells is sound. Cells are halved until both rules agree. Then cells are chosen so that ``|dL|``, the width
of a cell in the loss, depends only weakly on the mass of the cell, through the power 1/8 of the mass. So cells in the
tail are narrow too, which matters because delta depends on the losses there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.legendre import rule
from hockeystick.numerics.rounding import TINY
from hockeystick.pairs.base import Array
from hockeystick.pairs.knots import Cells, increasing
from hockeystick.pairs.renyi import SLACK
from hockeystick.values import domains
from hockeystick.values.errors import InvalidInputError

Function: TypeAlias = Callable[[Array], npt.ArrayLike]
"""A function of an array of places, or of one place."""

CELLS = 4000  # target number of cells
MOST_CELLS = 9500  # largest number of cells of one pair: lists in a plan file hold 10,000 numbers
OCTAVES = (-30, 333)  # range of j: the first places have distances 2^j from each given place, on both sides
AGREED = 1e-12  # relative difference up to which both rules count as agreeing
LEAST_DENSITY = 1e-130  # panels with smaller densities form one cell: their products with a ratio could underflow
LEAST_MASS = 1e-150  # a smaller mass is set to 0, with an error bound: its product with a ratio may leave doubles
LEAST_RATIO = 1e-140  # a smaller lower bound on a ratio is set to 0
SPAN = 0.25  # largest change of the loss across a cell: a cell with a larger change is halved
POWER = 0.125  # exponent with which the mass of a cell enters the choice of its width; see the module
MISSED = 1e-6  # largest allowed distance of a total mass from 1


def shifted(function: Function, distance: float) -> Function:
    """Return the density or distribution function of a law after the law is shifted upwards by ``distance``."""
    return lambda x: function(x - distance)


def asked(function: Function, x: Array, key: str) -> Array:
    """Return the values of a user's function at the places x; a function of one number is called once per place.

    Raises:
        InvalidInputError: a value is negative or not a finite number; ``key`` names the function.
    """
    try:
        found = np.asarray(function(x))
    except Exception:  # the function may accept only one number, so it is called again for each place
        found = np.empty(0)
    if found.shape == x.shape and found.dtype.kind in "fiu":
        values = found.astype(np.float64)
    else:
        values = np.array([_asked_at(function, place, key) for place in x.tolist()])
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        at = float(x[wrong][0])
        raise InvalidInputError(
            f"{key} must return a finite number, 0 or greater, everywhere; received {values[wrong][0]} at {at!r}",
            key,
        )
    return values


def _asked_at(function: Function, place: float, key: str) -> float:
    """Return the value of a function at one place.

    Raises:
        InvalidInputError: the function raised an exception, or did not return a number.
    """
    try:
        return float(function(place))  # type: ignore[arg-type]
    except Exception as error:  # any exception of the user's function is reported, with the place
        raise InvalidInputError(
            f"{key} must be a function of an array or of one number that returns a number everywhere, including the "
            f"tails; at {place!r} it raised {type(error).__name__}: {domains.one_line(str(error))}; return the limit "
            "there",
            key,
        ) from None


class _Panels:
    """Values, masses and quadrature errors of two densities on panels, the intervals between neighbouring places."""

    def __init__(self, p: Function, q: Function, left: Array, right: Array, accuracy: float) -> None:
        half, middle = 0.5 * (right - left), 0.5 * left + 0.5 * right
        values, masses, errors = [], [], []
        for function, key in ((p, "p"), (q, "q")):
            found = []
            for nodes in (8, 16):
                x, weight = rule(nodes)
                seen = asked(function, (middle[:, None] + half[:, None] * x).ravel(), key).reshape(-1, nodes)
                found.append((seen @ weight) * half)
            ends = asked(function, np.concatenate([left, right]), key).reshape(2, -1).T
            coarse, fine = found
            values.append(np.concatenate([ends, seen], axis=1))
            masses.append(fine)
            errors.append(np.abs(fine - coarse))
        (self.p, self.q), (self.p_rule, self.q_rule) = masses, errors
        both = np.concatenate(values, axis=1)
        tiny = ((both > 0) & (both < LEAST_DENSITY)).any(axis=1)
        self.faint = tiny | (both.max(axis=1) < LEAST_DENSITY)
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = np.log(values[0]) - np.log(values[1])  # nan where neither law has mass
            known = ~np.isnan(loss)
            # the least and the largest loss at the nodes; inf and -inf where both densities are 0
            self.low = np.where(known, loss, np.inf).min(axis=1)
            self.high = np.where(known, loss, -np.inf).max(axis=1)
            self.doubt = 2 * accuracy + SLACK
            # the loss is not monotone, even allowing for the errors of the densities
            self.turns = self.low < np.minimum(loss[:, 0], loss[:, 1]) - 2 * self.doubt
            self.turns |= self.high > np.maximum(loss[:, 0], loss[:, 1]) + 2 * self.doubt
            span = self.high - self.low
        self.turns &= ~self.faint
        self.span = np.where(np.isfinite(span), span, 0.0)


def _around(places: Array) -> Array:
    """Return the given places and, on both sides of each, places at distances that are powers of 2 (OCTAVES)."""
    octaves = 2.0 ** np.arange(*OCTAVES)
    return np.unique(np.concatenate([places, *((places[:, None] + sign * octaves).ravel() for sign in (-1, 1))]))


def _halved(p: Function, q: Function, places: Array, accuracy: float) -> Array:
    """Return the places after panels are halved on which the two rules differ, or on which the loss varies much.

    The halving stops when there would be more than MOST_CELLS panels.
    """
    done: list[Array] = []
    left, right = places[:-1], places[1:]
    while len(left):
        panels = _Panels(p, q, left, right, accuracy)
        middle = 0.5 * left + 0.5 * right
        again = (panels.p_rule > AGREED * panels.p) | (panels.q_rule > AGREED * panels.q) | (panels.span > SPAN)
        again &= ~panels.faint & (right - left > 4 * np.spacing(np.abs(middle)))
        done.append(left[~again])
        if sum(map(len, done)) + 2 * int(again.sum()) > MOST_CELLS:
            done.append(left[again])
            break
        left, right = np.concatenate([left[again], middle[again]]), np.concatenate([middle[again], right[again]])
    return np.unique(np.concatenate([*done, places[-1:]]))


def of_densities(p: Function, q: Function, places: Array, accuracy: float) -> Cells:
    """Return cells of two laws given by their densities.

    Args:
        p: density of P.
        q: density of Q.
        places: points where a density jumps or has a corner, and points near most of the mass.
        accuracy: relative error of each value of a density.

    Raises:
        InvalidInputError: the values are not densities, or an integral differs from 1.
    """
    rough = _halved(p, q, _around(places), accuracy)
    panels = _Panels(p, q, rough[:-1], rough[1:], accuracy)
    weight = panels.span ** (1 - POWER) * np.maximum(panels.p, panels.q) ** POWER
    parts = np.ceil(CELLS * weight / max(float(weight.sum()), LEAST_MASS)).astype(np.intp)
    even = [
        np.linspace(a, b, n, endpoint=False) for a, b, n in zip(rough, rough[1:], np.maximum(parts, 1), strict=False)
    ]
    fine = np.unique(np.concatenate([*even, rough[-1:]]))
    return _cells(_Panels(p, q, fine[:-1], fine[1:], accuracy), np.diff(fine), accuracy)


def _cells(panels: _Panels, widths: Array, accuracy: float) -> Cells:
    with np.errstate(over="ignore"):
        more = np.where(panels.turns, panels.span, 0.0) + panels.doubt
        least, reverse = np.exp(panels.low - more), np.exp(-panels.high - more)
    p, p_error, p_missed = _total(panels.p, panels.p_rule, accuracy, "p")
    q, q_error, q_missed = _total(panels.q, panels.q_rule, accuracy, "q")
    # tiny densities have lost their digits: all cells that have such densities become one cell
    faint = panels.faint
    lost = TINY * float(widths[faint].sum())
    ends = [float(mass[faint].sum()) for mass in (p, q)]
    doubts = [end + float(error[faint].sum()) + lost for end, error in zip(ends, (p_error, q_error), strict=True)]
    ratios = (np.where(np.isfinite(one) & (one > LEAST_RATIO), one, 0.0) for one in (least, reverse))
    # mass missing from a total may belong to any outcomes, also to outcomes that only one law has
    beyond = (0.0, 0.0, p_missed, q_missed, 0.0, 0.0)
    rows = zip((p, q, p_error, q_error, *ratios), (*ends, *doubts, 0.0, 0.0), beyond, strict=True)
    cells = Cells(*(np.append(one[~faint], more) for one, *more in rows))
    for mass, error in ((cells.p, cells.p_error), (cells.q, cells.q_error)):
        small = mass < LEAST_MASS
        error[small] += mass[small]
        mass[small] = 0.0
    return cells


def _total(mass: Array, rule_error: Array, accuracy: float, key: str) -> tuple[Array, Array, float]:
    """Return the masses of the panels, bounds on their errors, and the missing mass.

    The missing mass is the part of the difference ``1 - total`` that the errors of the quadrature cannot explain.

    Raises:
        InvalidInputError: the total mass differs from 1 by more than is allowed.
    """
    total, rounded = float(mass.sum()), float(rule_error.sum()) + SLACK
    if not 1 - MISSED - rounded - accuracy <= total <= 1 + rounded + accuracy:
        raise InvalidInputError(
            f"{key} must integrate to 1; received a density whose integral is {total:.13g}; normalize it, pass knots "
            "near its mass and its jumps, or pass the error of its values as accuracy",
            key,
        )
    return mass, rule_error + (accuracy + SLACK) * mass, max(1 - total - rounded, 0.0)


def of_distributions(p: Function, q: Function, places: Array, accuracy: float) -> Cells:
    """Return cells of two laws given by their distribution functions.

    The likelihood ratio dP/dQ must not decrease along the line.

    Args:
        p: distribution function of P.
        q: distribution function of Q.
        places: points near most of the mass.
        accuracy: absolute error of each value of a distribution function.

    Raises:
        InvalidInputError: the values are not distribution functions, or the ratio decreases.
    """
    x = _around(places)
    while True:
        below, other = asked(p, x, "p"), asked(q, x, "q")
        _refuse_falls(below, other, accuracy)
        p_mass, q_mass = np.maximum(np.diff(below), 0.0), np.maximum(np.diff(other), 0.0)
        seen = (p_mass > 1e3 * accuracy) & (q_mass > 1e3 * accuracy)
        loss = np.zeros(len(p_mass))
        loss[seen] = np.log(p_mass[seen] / q_mass[seen])
        span = np.where(seen, np.abs(np.gradient(loss)), 0.0)
        weight = span ** (1 - POWER) * np.maximum(p_mass, q_mass) ** POWER * seen
        wide = (weight > weight.sum() / CELLS) | (seen & (span > SPAN))
        middle = 0.5 * x[:-1] + 0.5 * x[1:]
        wide &= (x[:-1] < middle) & (middle < x[1:])
        if not wide.any() or len(x) + wide.sum() > MOST_CELLS:
            return of_values(below, other, accuracy)
        x = np.sort(np.concatenate([x, middle[wide]]))


def _refuse_falls(p: Array, q: Array, accuracy: float) -> None:
    """Refuse values of distribution functions that decrease, or that leave [0, 1], by more than their errors.

    Raises:
        InvalidInputError: some values decrease, or leave [0, 1].
    """
    for values, key in ((p, "p"), (q, "q")):
        if (np.diff(values) < -2 * accuracy).any() or values.min() < -accuracy or values.max() > 1 + accuracy:
            raise InvalidInputError(
                f"{key} must rise from 0 to 1, but its values at the knots do not; give them in increasing order", key
            )


def of_values(p: Array, q: Array, accuracy: float) -> Cells:
    """Return the cells between neighbouring knots, from the values of two distribution functions at the knots.

    Neighbouring cells are merged until both masses of each are far above their errors. The likelihood ratio dP/dQ must
    not decrease.

    Raises:
        InvalidInputError: the values decrease or leave [0, 1], or the ratio decreases.
    """
    _refuse_falls(p, q, accuracy)
    kept = [0]
    p, q = (np.concatenate([[0.0], values, [1.0]]) for values in (p, q))
    for place in range(1, len(p)):
        if min(p[place] - p[kept[-1]], q[place] - q[kept[-1]]) > 1e4 * accuracy:
            kept.append(place)
    kept[-1 if len(kept) > 1 else 0 :] = [len(p) - 1] if len(kept) > 1 else [0, len(p) - 1]
    error = np.full(len(kept) - 1, 2 * accuracy)
    p, q = (np.maximum(np.diff(values[kept]), 0.0) for values in (p, q))
    return Cells(p, q, error, error, *increasing(p, q, error, error))


def of_trade_off(function: Function, accuracy: float) -> Cells:
    """Return cells of the pair with a given trade-off function.

    An outcome is a rate of false alarms alpha; under Q it is uniform on [0, 1]. As the trade-off function is convex,
    the likelihood ratio dP/dQ does not increase with alpha.

    Raises:
        InvalidInputError: the values are not those of a trade-off function.
    """

    def missed(x: Array) -> Array:
        return asked(function, 1 - np.clip(x, 0, 1), "beta")  # rises in x = 1 - alpha, as the misses fall in alpha

    try:
        return of_distributions(missed, lambda x: np.clip(x, 0, 1), np.array([0.0, 1.0]), accuracy)
    except InvalidInputError as error:
        if error.field == "beta":
            raise
        raise InvalidInputError(
            "beta must be convex and fall from at most 1 at a rate of 0 to 0 at a rate of 1; its values do not", "beta"
        ) from None
