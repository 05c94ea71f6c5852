"""``edgeworth``: the Edgeworth accountant. An estimate: the central limit with corrections by cumulants.

Wang, Gao, Zhang, Shen, Su 2022 [WGZ+22], the approximate Edgeworth accountant:

    delta(epsilon) = P(L > epsilon) - e^epsilon Q(L > epsilon)

where L is the sum of the losses, and each of the two tail probabilities is replaced by its Edgeworth expansion. Let
``l_j`` be the standardised cumulants of the sum under P, ``z = (epsilon - mean)/deviation`` with its mean and standard
deviation under P, and ``He_j`` the Hermite polynomials. Then (and likewise under Q)

    P(L > epsilon) = Phi(-z) + phi(z) (l_3 He_2/6 + l_4 He_3/24 + l_3^2 He_5/72)

(Hall 1992 [Hal92], Section 2.3). Cumulants of one round are computed by quadrature; the cumulants of the sum are their
sums, also for unequal rounds. The answer for a given delta is the smallest epsilon at which the estimate falls to
delta. The failure probability of black boxes is added to delta in full.

Cost: a few moments for each kind of round, whatever the number of rounds. Known failure: the result is only an
estimate, which may be too large or too small. The corrections are powers of 1/sqrt(rounds) times polynomials in z, so
the error does not shrink with delta. Far in the tail, the errors of the two probabilities no longer cancel. The
estimate may then be negative, and the method refuses it. It may also rise with epsilon; the reason of the result then
says so. The tails of losses on a lattice (randomised response, black boxes) have jumps, but the expansion has none.
"""

from __future__ import annotations

import math

import numpy as np

from hockeystick.accountants.published import PublishedAccountant
from hockeystick.accountants.shared.privacy_curve import PrivacyCurve
from hockeystick.directions.directions import Directions, compositions
from hockeystick.directions.finite import EFFORT
from hockeystick.numerics.arrays import Array
from hockeystick.numerics.roots import root
from hockeystick.numerics.rounding import SPARE
from hockeystick.pairs import Composition
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import DeltaEstimate, Estimate
from hockeystick.values.errors import NotApplicableError

MAX_DEVIATIONS = 40.0  # largest distance from the mean, in standard deviations
LARGEST_COEFFICIENT = 1e280  # largest coefficient; its product with the fifth power of MAX_DEVIATIONS is finite
POINTS = 4001  # points of the grid in the search for the first epsilon whose estimate is at most delta
CUMULANTS_OVERFLOW = (
    "the standardised cumulants exceed the range of a double, because large losses are too rare for so few rounds "
    "to be near normal; use accountant 'contour'"
)
"""Reason for refusing a plan with too large cumulants."""

LATTICE = "the losses lie on a lattice and their sum jumps, which the expansion does not model"
"""Note on an estimate if a round has losses on a lattice."""


class EdgeworthAccountant(PublishedAccountant):
    """Accountant by the Edgeworth expansion of the summed loss, under P and under Q."""

    name = "edgeworth"
    summary = "estimate: the central limit theorem with corrections from cumulants"

    def epsilon_at(self, directions: Directions, delta: float) -> Estimate:
        """Return the smallest epsilon at which the estimate of delta falls to the target."""
        found = [(direction, at, at.epsilon(delta)) for direction, at in self._sums(directions)]
        direction, at, value = max(found, key=lambda item: item[2])
        return Estimate(value, self.name, direction.value, at.doubt(value))

    def delta_at(self, directions: Directions, epsilon: float) -> DeltaEstimate:
        """Return ``P(L > epsilon) - e^epsilon Q(L > epsilon)``, with both probabilities by the expansion.

        Raises:
            NotApplicableError: the difference is negative, or more than 1.
        """
        found = [(direction, at, at.delta(epsilon)) for direction, at in self._sums(directions)]
        direction, at, value = max(found, key=lambda item: item[2])
        if value < 0 or value > 1 + SPARE:
            kind = "negative" if value < 0 else "more than 1"
            raise NotApplicableError(
                f"the expansion is {kind} ({value:.2g}) at epsilon {epsilon:.6g}, which is too far in the tail; use "
                "a smaller epsilon or another accountant"
            )
        value = min(value, 1.0)
        reason = at.doubt(epsilon)
        log = Estimate(math.log(value) if value > 0 else -math.inf, self.name, direction.value, reason)
        return DeltaEstimate(value, self.name, direction.value, reason, log_delta=log)

    def _sums(self, directions: Directions) -> list[tuple[Direction, _Sum]]:
        found = compositions(directions, effort=EFFORT)
        return [(direction, _Sum(composition)) for direction, composition in found]


class _Sum:
    """Sum of the losses of all rounds in one direction, with the estimates that its cumulants give."""

    def __init__(self, composition: Composition) -> None:
        self._lost = composition.infinite_mass
        self._lattice = any(pair.smooth is None for pair, _ in composition.rounds)
        self._laws = np.zeros((2, 4))
        for pair, count in composition.rounds:
            loss, log_p = PrivacyCurve(pair).nodes
            self._laws += count * np.array([cumulants(loss, np.exp(log_p)), cumulants(loss, np.exp(log_p - loss))])
        self._constant = not (self._laws[:, 1] > 0).all()
        mean, variance = self._laws[0, :2]
        self._grid = np.linspace(0.0, max(mean, 0.0) + MAX_DEVIATIONS * math.sqrt(max(variance, 0.0)), POINTS)

    def _finite(self, epsilon: Array) -> Array:
        """Estimate of delta at each epsilon, given that the loss is finite; it may be negative."""
        if self._constant:
            return np.zeros_like(epsilon)
        with np.errstate(over="ignore", divide="ignore"):
            p, q = (tail(law, epsilon) for law in self._laws)
            lifted: Array = np.sign(q) * np.exp(epsilon + np.log(np.abs(q)))  # e^epsilon alone may leave the range
        return p - lifted

    def delta(self, epsilon: float) -> float:
        finite = float(self._finite(np.array([epsilon]))[0])
        return self._lost + (1 - self._lost) * finite

    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon at which the estimate is at most delta; ``inf`` if there is none."""
        if delta < self._lost:
            return math.inf
        target = (delta - self._lost) / (1 - self._lost)
        below = self._finite(self._grid) <= target
        if below[0]:
            return 0.0
        if not below.any():
            return math.inf
        first = int(np.argmax(below))
        low, high = self._grid[first - 1 : first + 1]
        return root(lambda e: float(self._finite(np.array([e]))[0]) - target, low, high, xtol=1e-300)

    def doubt(self, epsilon: float) -> str | None:
        """Return the reason to doubt the estimate at this epsilon; ``None`` if every loss is constant."""
        if math.isinf(epsilon):
            return "the estimate never falls to delta, because infinite losses have a larger probability or delta is 0"
        said = ["an expansion in 1/sqrt(rounds) without an error bound"]
        if self._lattice:
            said.append(LATTICE)
        inside = self._finite(self._grid[self._grid <= epsilon])
        if (np.diff(inside) > 0).any() or (inside < 0).any():
            said.append("the expansion is not monotone up to this epsilon, so it no longer follows the tail")
        return "; ".join(said) if not self._constant else None


def cumulants(loss: Array, weight: Array) -> Array:
    """Return the first four cumulants of a law on finitely many losses, its weights normalised to sum to 1."""
    weight = weight / weight.sum()
    mean = float((weight * loss).sum())
    m2, m3, m4 = (float((weight * (loss - mean) ** power).sum()) for power in (2, 3, 4))
    return np.array([mean, m2, m3, m4 - 3 * m2**2])


def tail(law: Array, x: Array) -> Array:
    """Return ``P(sum > x)`` by the Edgeworth expansion; ``law`` holds the first four cumulants of the sum.

    Raises:
        NotApplicableError: the standardised cumulants are beyond the range of a double.
    """
    from numpy.polynomial.hermite_e import hermeval
    from scipy.special import ndtr

    mean, variance, third, fourth = law.tolist()
    deviation = math.sqrt(variance)
    l3, l4 = _standardised(third, deviation, 3), _standardised(fourth, deviation, 4)
    z = (x - mean) / deviation
    coefficients = np.array([0.0, 0.0, l3 / 6, l4 / 24, 0.0, l3 * l3 / 72])
    if not (np.abs(coefficients) < LARGEST_COEFFICIENT).all():
        raise NotApplicableError(CUMULANTS_OVERFLOW)
    z = np.clip(z, -MAX_DEVIATIONS, MAX_DEVIATIONS)  # beyond it the density is 0
    density = np.exp(-0.5 * np.square(z)) / math.sqrt(2 * math.pi)
    expansion: Array = ndtr(-z) + density * hermeval(z, coefficients)
    return expansion


def _standardised(cumulant: float, deviation: float, order: int) -> float:
    """The cumulant divided by ``deviation ** order``, without computing that power, which may overflow."""
    for _ in range(order):
        cumulant /= deviation
    return cumulant
