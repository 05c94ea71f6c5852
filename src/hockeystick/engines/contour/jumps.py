"""A contour without the core of the law: short where rare jumps decide and the narrow core would need a long one.

For one kind of round, a record being removed, ``m = C + J`` (``pairs/sampled/gaussian_jumps.py``). Of the k-fold law
the core's k-fold law is a part, and what remains is positive too, with the transform ``m^k - C^k``. So

    delta = delta_C + delta_R ,    0 <= delta_C(eps) <= C(y)^k e^(-y eps) peak(y)  for every y > 0,

negligible where eps is beyond the reach of the core, and delta_R is the sum on the contour with ``m^k - C^k`` for
``m^k``; its aliases are at most those of delta. Its terms fall off as the jumps do: as ``|C| <= C(t) <= m(t)`` and
``m(t) >= 1``,

    |m^k - C^k| = |J| |sum_i m^i C^(k-1-i)| <= k |J(t + is)| m(t)^(k-1) <= k |J(t + is)| m(t)^k .

On the line ``m^k - C^k = m^k f`` with ``f = -expm1(k log(1 - J/m))``, of whose exponent an error e moves f by at most
``|1 - f| (e^|e| - 1)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.engines.contour.cut import SPARE, Cut, log_tails
from hockeystick.numerics.logarithm import log_one_plus
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.renyi import log_peak
from hockeystick.pairs.sampled.gaussian_jumps import JumpLine, Split, log_core, log_jump_bound, on_lattice
from hockeystick.pairs.sampled.gaussian_law import Kind, MixtureLaw, Nodes, log_density
from hockeystick.pairs.transform import Transform

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]

TILTS = np.geomspace(2.0, 500.0, 16)  # y of the core, of 1 / eps
DENSITY = 10.0  # nodes for the choice of c, in 1 / mu
LEAST_EPSILON = 1e-290  # below it the tilts that are looked at, of about 1/epsilon, leave the range of a double
MAX_LOOK = 2000  # nodes for the choice of c, at most
LOWEST = -8.0  # the first of these nodes, an outcome
FARTHEST_LOSS = 600.0  # at which nodes are looked for: its exponential is a double, with room
WIDTHS = (0.12, 0.25, 0.06, 0.5)  # w tried, of 1 / mu
DISTANCES = (1.0, 2.5, 5.0)  # of c from where a sharp core would have to end, of w, until the core is light enough
SHIFTS = (4.0, 6.0, 3.0)  # y of the bound on J, of w
STEEPEST = 0.49 * math.pi  # largest y of the bound on J, of 1 / mu
FAR = 4.0  # of the longest reach: beyond, another width will not do
HOPELESS = 64.0  # of the reach times the slope of the loss at c
REACHES = 2.0 ** np.arange(1.0, 18.0)  # heights s at which the line may end, at the first look
NEAR_REACHES = 2.0 ** np.linspace(-1.0, 0.25, 6)  # of that reach, at the second look
FAR_REACHES = np.array([2.0, 4.0])  # of that reach: further edges of the bound on what is cut off


@dataclass(frozen=True, slots=True)
class JumpCut(Cut):
    """Bounds on the end of a line without the core; ``bounds`` are on ``log |J|`` from each edge on, shape (m,)."""

    def log_tail(self, counts: Array, step: float) -> float:
        """Log of the bound on what is left out, relative to ``e^(K(t) - t eps)``."""
        return float(log_tails(self.edges, math.log(counts[0]) + self.bounds, step)[0]) + SPARE


class Choice(NamedTuple):
    """What counts as a jump, and where the line may end; any choice is sound.

    Attributes:
        split: c and w.
        tilt: y of the bound on the core.
        log_core: upper bound on log C(y).
        beyond: where the line may end.
    """

    split: Split
    tilt: float
    log_core: float
    beyond: JumpCut


@dataclass(frozen=True, slots=True)
class Jumps:
    """Jumps on a line.

    Attributes:
        choice: what counts as one, and where the line ends.
        values: shape (n,), J of one round at the points.
        errors: shape (n,), bounds on their errors.
        share: about the part of ``m(t)^k`` that is not the core's.
    """

    choice: Choice
    values: ComplexArray
    errors: Array
    share: float

    @classmethod
    def on(
        cls,
        transforms: list[tuple[Transform, int]],
        t: float,
        step: float,
        epsilon: float,
        wanted: float,
        top: float,
        tolerance: float,
        longest: float,
    ) -> Jumps | None:
        """The jumps of one kind of sampled Gaussian round, a record being removed.

        None for other rounds, where the core reaches eps, and where the line would be too long.

        Args:
            transforms: characteristic functions and counts.
            t: tilt.
            step: distance of the points.
            epsilon: where delta is sought.
            wanted: log of what may be left out of delta.
            top: about ``K(t) - t eps``.
            tolerance: absolute, of J.
            longest: where it has to end.
        """
        ((law, count), *others) = transforms
        if others or not isinstance(law, MixtureLaw) or law.kind is not Kind.REMOVE or epsilon <= 0:
            return None
        high = law.range_for(t, 0.0, tolerance)[1]
        choice = chosen(law, count, t, epsilon, wanted, wanted - top, high, longest)
        if choice is None or choice.beyond.reach > longest:
            return None
        points = math.ceil(choice.beyond.reach / step) + 1
        found = JumpLine(law, choice.split, t, step * (points - 1), tolerance, high).values(step, points)
        if found is None:
            return None
        share = min(count * float(found[0][0].real), 1.0)
        return cls(choice, *found, max(share, 1e-280))

    def core(self, count: int) -> tuple[float, float]:
        """``(y, log C(y)^k peak(y))``, the latter from above."""
        total = count * self.choice.log_core + log_peak(self.choice.tilt)
        return self.choice.tilt, total + SPARE * (1 + abs(total))

    def factor(self, cumulant: ComplexArray, error: Array, count: int) -> tuple[ComplexArray, Array]:
        """f at the points, and bounds on its absolute errors, from K of one round and the errors of that."""
        inverse = np.exp(-cumulant)
        share = self.values * inverse
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            moved = self.errors * np.abs(inverse) * np.exp(error) + np.abs(share) * np.expm1(
                error + UNIT_ROUNDOFF * (32 + 4 * np.abs(cumulant))
            )
            log_size, angle, size = log_one_plus(-share)
            doubt = np.where(size > 2 * moved, moved / (size - moved), np.inf)
            doubt = count * (doubt + 8 * UNIT_ROUNDOFF * (np.abs(log_size) + np.abs(angle)))
            grown, kept, turned = np.expm1(count * log_size), np.exp(count * log_size), count * angle
            height, sine = 2 * np.square(np.sin(0.5 * turned)), kept * np.sin(turned)
            factor = (height - grown * np.cos(turned)) - 1j * sine
            rounded = 8 * UNIT_ROUNDOFF * (height + np.abs(grown) + np.abs(sine))
            return factor, kept * np.expm1(doubt) + rounded


def chosen(
    law: MixtureLaw, count: int, t: float, epsilon: float, wanted: float, depth: float, high: float, longest: float
) -> Choice | None:
    """The split with the shortest line among a few; None where the core reaches epsilon, or there is no bound on it.

    Args:
        law: the round.
        count: how many there are.
        t: tilt.
        epsilon: where delta is sought.
        wanted: log of what may be left out of delta.
        depth: log of what may be left out, relative to ``e^(K(t) - t eps)``.
        high: outcomes above which the integrand of m(t) is light.
        longest: where the line has to end; it is not looked closely where it hardly will.
    """
    found = _core_reach(law, count, epsilon, wanted)
    if found is None:
        return None
    farthest, tilt = found
    steepness = -math.expm1(-float(Nodes(law, np.array([farthest]), t).u[0]))  # slope of the loss at c, of mu
    if steepness * longest < HOPELESS:
        return None

    def tails(split: Split, shift: float, edges: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
        bounds = log_jump_bound(law, split, t, min(shift * split.width, STEEPEST / law.mu), high, edges)
        return bounds, bounds - np.log(edges) + math.log(count / math.pi) <= depth

    width, reach = 0.0, math.inf
    for tried in WIDTHS:
        split = Split(on_lattice(farthest - DISTANCES[0] * tried / law.mu), tried / law.mu)
        enough = tails(split, SHIFTS[0], REACHES)[1]
        if enough.any() and REACHES[np.argmax(enough)] < reach:
            width, reach = tried / law.mu, float(REACHES[np.argmax(enough)])
        if reach > FAR * longest:
            return None
    for distance in DISTANCES:
        split = Split(on_lattice(farthest - distance * width), width)
        bound = log_core(law, split, tilt, count)
        if count * bound - tilt * epsilon + log_peak(tilt) > wanted:
            continue
        edges = np.concatenate([reach * NEAR_REACHES, reach * FAR_REACHES])
        for shift in SHIFTS:
            bounds, enough = tails(split, shift, edges)
            at = int(np.argmax(enough))
            if enough[at] and at < len(edges) - 1:
                return Choice(split, tilt, bound, JumpCut(edges[at:], bounds[at:]))
        return None
    return None


def _core_reach(law: MixtureLaw, count: int, epsilon: float, wanted: float) -> tuple[float, float] | None:
    """A guess at the largest c that a sharp cut could have, and the y that shows it; None where there is none."""
    odds = math.expm1(min(epsilon, FARTHEST_LOSS)) / law.rate
    # a rate so small that the odds leave the range of a double: a 1 beside them is nothing
    log_odds = math.log(odds + 1) if odds < math.inf else min(epsilon, FARTHEST_LOSS) - math.log(law.rate)
    highest = (log_odds + 0.5 * law.mu**2) / law.mu
    number = math.ceil((highest - LOWEST) * law.mu * DENSITY)
    if number > MAX_LOOK or highest <= 0 or epsilon < LEAST_EPSILON:
        return None
    x = np.linspace(LOWEST, highest, number + 1)
    log_weight, u = log_density(x) + math.log(x[1] - x[0]), Nodes(law, x, 0.0).u
    y = TILTS / epsilon
    with np.errstate(over="ignore", invalid="ignore"):
        excess = np.exp(log_weight + np.multiply.outer(1 + y, u)) - np.exp(log_weight)
        logs = count * np.log1p(np.maximum(np.cumsum(excess, axis=1), -0.5))
    bounds = logs - (y * epsilon - np.array([log_peak(one) for one in y.tolist()]))[:, None]
    best = np.argmin(bounds, axis=0)
    fine = np.flatnonzero(bounds[best, np.arange(len(x))] <= wanted - 1.0)
    if not len(fine):
        return None
    return float(x[fine[-1]]), float(y[best[fine[-1]]])
