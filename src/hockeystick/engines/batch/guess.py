"""Where the contour of each plan is to be laid: nothing here is certified.

The saddle point solves ``K'(t) = eps + 1/t + 1/(1+t)``; with it log delta is about
``K - t eps - log t - log(1+t) - log(2 pi K*) / 2``, ``K* = K'' + 1/t^2 + 1/(1+t)^2`` (Alghamdi et al. 2023 [AAC+23]),
and falls with log t at the rate ``t^2 K*``. So Newton steps on log t find the saddle point of a log delta from that of
the central limit, ``K ~ v t (t+1) / 2`` with ``v = k q^2 (e^(mu^2) - 1)``; those of an epsilon likewise, as
``t (K' - 1/t - 1/(1+t))`` grows with log t at the rate ``t^2 K*`` and what it has beyond.

K is had from a few dozen nodes. Beyond them lies the hump of the jumps, at ``x = (1+t) mu``, whose part of m(t) is
``q^(1+t) e^(t (1+t) mu^2 / 2)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hockeystick.engines.batch.rows import Array, Columns, Places, Rows, each, least, most, rows_of, together, up
from hockeystick.numerics.normal import HALF_LOG_TWO_PI
from hockeystick.numerics.rounding import UNIT_ROUNDOFF

CLASSES = np.array([32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536], dtype=np.float64)  # of nodes
LOWEST, BESIDE = -9.0, 9.0  # outcomes between which a normal law of variance 1 lies
FARTHER = 2.6  # tilts that are looked at, of that of the central limit
HIGHEST_HUMP = 25.0  # log of the hump's part of m(t) beyond which there is no saddle point
NO_HUMP = -35.0  # log of the hump's part of m(t) that is not seen
WIDEST = 0.5  # distance of the nodes
DEPTH = 20.0  # log of what the trapezoid rule misses of m(t), about
STEPS = 18  # of Newton
NEAR, NEARLY = 0.05, 0.5  # of epsilon and one over the tilt; of log delta: how far off the saddle point may be
CLOSE = 0.02  # of log t: the sum does not depend on where the saddle point is
TILTS = np.array([1.0, 0.85, 0.7, 0.55, 0.4])  # tried, of the saddle point
REACHES = np.array(
    [0.55, 0.65, 0.75, 0.84, 0.92, 1.0, 1.1, 1.2, 1.35, 1.55, 1.8, 2.2, 3.0]
)  # where the right alias may be bounded, of the saddle point
RARE = 1.0  # K at a saddle point below which single losses decide
LEAST_PART, HALVINGS = 1e-7, 12  # of the largest loss: the least epsilon; halvings of the range of its logarithm
SUM_NOISE, NOISE = 100.0, 1000.0  # units of rounding of the sum, and of a cumulant relative to its size, about


@dataclass(frozen=True, slots=True)
class Asked(Columns):
    """Where a plan is asked: at a log delta, or at an epsilon; the other one is not a number, or about the answer."""

    log_delta: Array
    epsilon: Array


@dataclass(frozen=True, slots=True)
class Place(Columns):
    """Where the contour of a plan is laid.

    Attributes:
        t: its tilt.
        right: the tilt at which the alias to the right is bounded.
        period: about P.
        epsilon: about where the plan's answer is, for epsilons.
        depth: about log delta there.
        slope: about ``-d log delta / d eps`` there.
        top: about ``K(t) - t eps``.
        variance: about ``K''(t)``.
        tolerance: wanted relative size of the remainders.
    """

    t: Array
    right: Array
    period: Array
    epsilon: Array
    depth: Array
    slope: Array
    top: Array
    variance: Array
    tolerance: Array

    def of_rows(self, kinds: int) -> Place:
        """The place of each row: its plan's."""
        return self if kinds == 1 else self.at(np.repeat(np.arange(len(self)), kinds))


@dataclass(frozen=True, slots=True)
class First(Columns):
    """The nodes of the first look.

    Attributes:
        start: first tilt.
        most: tilt up to which the nodes see.
        low, high: shape (plans, kinds), the first and the last.
        nodes: how many there have to be.
    """

    start: Array
    most: Array
    low: Array
    high: Array
    nodes: Array


def lifted(rows: Rows, t: Array) -> Array:
    """log of ``q^(1+t) e^(t (1+t) mu^2 / 2)``, the hump's part of m(t)."""
    out: Array = (1 + t) * (rows.log_rate + 0.5 * t * np.square(rows.mu))
    return out


def log_peak(t: Array) -> Array:
    """``t log t - (1+t) log(1+t)``."""
    out: Array = -np.log1p(t) - t * np.log1p(1 / t)
    return out


def first(rows: Rows, asked: Asked, kinds: int = 1) -> First:
    """Where to look first, of plans of as many kinds."""
    mu2 = np.square(rows.mu)
    variance = together(rows.count * np.square(rows.rate) * np.expm1(np.minimum(mu2, 600.0)), kinds)
    by_delta = np.sqrt(2 * np.maximum(-asked.log_delta - 1.5, 0.5) / variance)
    excess = asked.epsilon - 0.5 * variance
    by_epsilon = 0.5 * (excess + np.sqrt(np.square(excess) + 8 * variance)) / variance
    limit = np.where(np.isnan(asked.epsilon), by_delta, by_epsilon)
    linear = 0.5 * mu2 - rows.log_rate
    hump = (linear + np.sqrt(np.square(linear) + 2 * mu2 * HIGHEST_HUMP)) / mu2 - 1
    farthest = np.minimum(FARTHER * limit + 1e-3, least(hump, kinds))
    seen = each(farthest, kinds)
    high = np.where(lifted(rows, seen) > NO_HUMP, (1 + seen) * rows.mu, rows.mu + 20 / np.sqrt(rows.count)) + BESIDE
    strip = np.minimum(0.97 * math.pi / rows.mu, 7.0)
    dx = np.minimum(WIDEST, 2 * math.pi * strip / (DEPTH + 0.5 * np.square(strip)))
    low = np.full(len(rows), LOWEST)
    if rows.adding:  # no hump, and what is tilted moves down
        farthest, high, low = FARTHER * limit + 1e-3, rows.mu + BESIDE, LOWEST - 20 / np.sqrt(rows.count)
    start, nodes = np.minimum(limit, farthest / FARTHER * 1.5), most((high - low) / dx + 1, kinds)
    return First(start, farthest, low.reshape(-1, kinds), high.reshape(-1, kinds), nodes)


class Look:
    """K of plans and its derivatives from a few nodes.

    Args:
        rows: of plans of one class of nodes.
        seen: the plans' first look.
        nodes: how many there are.
        kinds: of each plan.
    """

    def __init__(self, rows: Rows, seen: First, nodes: int, kinds: int = 1) -> None:
        self._rows, self._seen, self._kinds = rows, seen, kinds
        low = seen.low.ravel()
        dx = (seen.high.ravel() - low) / (nodes - 1)
        x = up(low) + up(dx) * np.arange(nodes, dtype=np.float64)
        towards = up(rows.mu) * (x - up(0.5 * rows.mu))
        self._u = np.log1p(up(rows.rate) * np.expm1(np.minimum(towards, 600.0)))
        self._log = up(np.log(dx) - HALF_LOG_TWO_PI) - 0.5 * np.square(x)
        if rows.adding:
            self._u = -self._u
        else:
            self._log += self._u

    @classmethod
    def of(cls, look: Look, plans: Places) -> Look:
        """The look at some of the plans."""
        out = cls.__new__(cls)
        rows = rows_of(plans, look._kinds)
        out._rows, out._seen, out._kinds = look._rows.at(rows), look._seen.at(plans), look._kinds
        out._u, out._log = look._u[rows], look._log[rows]
        return out

    def cumulants(self, t: Array) -> tuple[Array, Array, Array]:
        """K, K' and K'' at a tilt for each plan."""
        weight = up(each(t, self._kinds)) * self._u
        weight += self._log
        top = weight.max(axis=1)
        weight -= up(top)
        np.exp(weight, out=weight)
        total = weight.sum(axis=1)
        weight *= self._u
        mean = weight.sum(axis=1) / total
        weight *= self._u
        bend = np.maximum(weight.sum(axis=1) / total - mean * mean, 1e-300)
        count, kinds = self._rows.count, self._kinds
        return (
            together(count * (top + np.log(total)), kinds),
            together(count * mean, kinds),
            together(count * bend, kinds),
        )

    def value(self, t: Array) -> Array:
        """K at a tilt for each plan, with the hump where the nodes do not see it."""
        count, kinds = self._rows.count, self._kinds
        t = each(t, kinds)
        weight = up(t) * self._u
        weight += self._log
        top = weight.max(axis=1)
        weight -= up(top)
        np.exp(weight, out=weight)
        seen: Array = top + np.log(weight.sum(axis=1))
        if self._rows.adding:
            return together(count * seen, kinds)
        beyond = (1 + t) * self._rows.mu + 3.0 > self._seen.high.ravel()
        return together(count * np.where(beyond, np.logaddexp(seen, lifted(self._rows, t)), seen), kinds)

    def saddle(self, asked: Asked) -> Array:
        """About the saddle point of each plan; below it where the hump takes over within a small step of log t.

        Newton's steps are kept between the largest tilt known to be too small and the least known to be too large.
        """
        at_epsilon = ~np.isnan(asked.epsilon)
        log_t, highest = np.log(self._seen.start), np.log(self._seen.most)
        low, high = np.full(len(log_t), -np.inf), highest.copy()
        going = np.ones(len(log_t), dtype=bool)
        for number in range(STEPS):
            t = np.exp(log_t)
            k0, k1, k2 = self.cumulants(t)
            left, one = 1 / t, 1 / (1 + t)
            epsilon, bend = k1 - left - one, k2 + left * left + one * one
            rate = t * t * bend
            log_delta = k0 - t * epsilon - np.log(t * (1 + t)) - HALF_LOG_TWO_PI - 0.5 * np.log(bend)
            short = np.where(at_epsilon, asked.epsilon - epsilon, log_delta - asked.log_delta)
            plain = np.where(at_epsilon, t, 1.0) * short / rate
            # both grow as fast as an exponential where the hump takes over: their logarithms are more nearly straight
            size, goal = (
                np.where(at_epsilon, epsilon, -log_delta),
                np.where(at_epsilon, asked.epsilon, -asked.log_delta),
            )
            by_log = np.log(goal / size) * size * np.where(at_epsilon, t, 1.0) / rate
            step = np.where(size > 0.5 * goal, by_log, plain)
            low = np.where(going & (short > 0), log_t, low)
            high = np.where(going & (short <= 0), log_t, high)
            moved = log_t + np.clip(step, -0.7, 0.7)
            middle = np.where(low > -np.inf, 0.5 * (low + high), log_t - 1.0)
            newton = (moved > low) & (moved < high)
            if number % 3 == 2:  # from either side the other one may hardly be approached
                newton &= (low == -np.inf) | (np.abs(moved - log_t) <= CLOSE)
            moved = np.where(newton, moved, middle)
            near = np.abs(short) <= np.where(at_epsilon, NEAR * (np.abs(asked.epsilon) + 1 / t), NEARLY)
            ended = (newton & near & (np.abs(moved - log_t) <= CLOSE)) | (high - low <= CLOSE)
            log_t = np.where(going, np.where(high - low <= CLOSE, low, moved), log_t)
            going &= ~ended
            if not going.any():
                break
        return np.exp(np.where(going & (low > -np.inf), low, log_t))

    def single(self, log_delta: Array) -> Array:
        """About the epsilon at which a single loss decides, ``delta ~ k delta_1(eps)``: up to twice the largest one."""
        weight = np.exp(self._log) * up(self._rows.count)
        high, goal = 2 * most(self._u.max(axis=1), self._kinds), np.exp(log_delta)
        low = LEAST_PART * high
        for _ in range(HALVINGS):
            middle = np.sqrt(low * high)
            above = -np.expm1(np.minimum(up(each(middle, self._kinds)) - self._u, 0.0))
            over = together((above * weight).sum(axis=1), self._kinds) > goal
            low, high = np.where(over, middle, low), np.where(over, high, middle)
        return high

    def place(self, asked: Asked, gap: float, relative: bool) -> Place:
        """The tilt, among a few up to the saddle point, whose period is shortest, as far as rounding allows."""
        saddle = self.saddle(asked)
        k0, k1, k2 = self.cumulants(saddle)
        at_epsilon = ~np.isnan(asked.epsilon)
        bulk = k1 - 1 / saddle - 1 / (1 + saddle)
        rare = np.flatnonzero(~at_epsilon & (k0 < RARE))
        if len(rare):
            some = Look.of(self, rare)
            one = some.single(asked.log_delta[rare])
            weighs = np.square(k0)[rare]
            bulk[rare] = one + np.maximum(bulk[rare] - one, 0.0) * weighs / (4 + weighs)
        epsilon = np.where(at_epsilon, asked.epsilon, np.maximum(bulk, 0.0))
        chernoff = np.minimum(k0 - saddle * epsilon + log_peak(saddle), 0.0)
        bend = k2 + saddle**-2 + (1 + saddle) ** -2
        near = k0 - saddle * epsilon - np.log(saddle * (1 + saddle)) - HALF_LOG_TWO_PI - 0.5 * np.log(bend)
        seen = np.maximum(np.minimum(near, chernoff), chernoff - 20.0)
        depth = np.where(np.isnan(asked.log_delta), seen, asked.log_delta)
        absolute = np.full(len(saddle), 0.1 * gap)
        tolerance = np.clip(absolute * epsilon * saddle, 1e-13, 1e-2) if relative else absolute
        wanted = depth + np.log(tolerance) - 2.0
        right = [saddle * reach for reach in REACHES.tolist()]
        lost = [self.value(at) - at * epsilon + log_peak(at) - wanted + 1.0 for at in right]
        room = np.log(tolerance) + depth
        best = [saddle, 2 * saddle, np.full(len(saddle), np.inf)]
        for tilt in TILTS.tolist():
            t = tilt * saddle
            value = self.value(t)
            base = value - t * epsilon - np.log(t * (1 + t))
            cumulant = 3 * np.abs(value)  # K and t K' of a normal law
            allowed = (np.log(UNIT_ROUNDOFF * (SUM_NOISE + NOISE * cumulant)) + base <= room) | (tilt == 1.0)
            for at, alias in zip(right, lost, strict=True):
                theta = at - t
                found = np.where(
                    theta > 0.03 * t, np.maximum(alias / np.maximum(theta, 1e-300), (1.0 - wanted) / t), np.inf
                )
                better = allowed & (found < best[2])
                best = [np.where(better, new, old) for new, old in zip((t, at, found), best, strict=True)]
        t, at, period = best
        k0, _, k2 = self.cumulants(t)
        return Place(t, at, period, epsilon, depth, saddle, k0 - t * epsilon, k2, tolerance)
