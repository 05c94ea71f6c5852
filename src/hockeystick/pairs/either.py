"""A pair drawn at random from several pairs and revealed: the law of the loss is a mixture of their laws of the loss.

Let the pairs have probabilities w_i that do not depend on the data, and moments ``m_i = e^(K_i)``. Then ``H_a = sum_i
w_i H_a(P_i || Q_i)`` and ``m = sum_i w_i m_i``. For ``K = log m`` this gives:

- **on a line** with complex arguments, ``K = log(1 + sum_i w_i (e^(K_i) - 1))``, as the w_i add up to 1; where m is far
  from 1, ``K = log sum_i w_i m_i``. An error e_i of K_i moves m_i by at most ``|e^(K_i)| (e^(e_i) - 1)``. A relative
  error of w_i gives the i-th term the same relative error;
- **decay** along the line: with shares ``s_i = w_i m_i(t) / m(t)`` and bounds rho_i on ``|m_i(t + is)| / m_i(t)``,
  ``|m(t + is)| / m(t) <= 1 - sum_i s_i (1 - rho_i)``. Lower bounds on the shares s_i suffice;
- **on the real line** K is bounded from above by upper bounds on the K_i.

The attribute ``infinite`` adds mass at infinite loss. The pair with this mass is worse, so it serves upper bounds only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from hockeystick.numerics.rounding import SPARE, UNIT_ROUNDOFF
from hockeystick.pairs import moment
from hockeystick.pairs.base import Array, Atoms, DominatingPair
from hockeystick.pairs.transform import ComplexArray, Envelope, Line, Transform, safe_log, safe_log_one_plus
from hockeystick.values.errors import NotApplicableError

LARGE = 1.0  # K(t) above which m is summed; up to it, ``m - 1`` is summed to keep the digits of a small K
UNITS = 32.0  # number of roundings charged for a weight, an exponential and a sum together
STANDING_IN = 4000  # number of outcomes that approximate a law where engines search for an evaluation point


@dataclass(frozen=True, slots=True)
class EitherLine:
    """The log-moment K of the mixture on a vertical line in the complex plane, from the lines of its parts."""

    lines: tuple[Line, ...]
    weights: tuple[float, ...]

    def cost(self, count: int) -> float:
        """Return the approximate number of evaluations for ``count`` points, summed over the lines of all parts."""
        return sum(line.cost(count) for line in self.lines)

    def cumulants(self, step: float, count: int) -> tuple[ComplexArray, Array]:
        """Return K at ``count`` points of the line, ``step`` apart from the real axis up, and a bound on each error."""
        parts = [line.cumulants(step, count) for line in self.lines]
        top = max(float(values[0].real) for values, _ in parts)
        plain = not top <= LARGE
        shift = top if plain else 0.0
        total: ComplexArray = np.zeros(count, dtype=np.complex128)
        error: Array = np.zeros(count)
        with np.errstate(over="ignore", invalid="ignore"):
            for weight, (values, doubt) in zip(self.weights, parts, strict=True):
                size = np.exp(values.real - shift)
                term = np.exp(values - shift) if plain else np.expm1(values)
                total += weight * term
                rounded = UNITS * (np.abs(term) + size * np.abs(values.imag) + size * (np.abs(values) + abs(shift)))
                error += weight * (size * np.expm1(np.minimum(doubt, 700.0)) + UNIT_ROUNDOFF * rounded)
        if not plain:
            return safe_log_one_plus(total, error)
        value, doubt = safe_log(total, error)
        return value + shift, doubt + 4 * UNIT_ROUNDOFF * abs(shift)


@dataclass(frozen=True, slots=True)
class EitherEnvelope:
    """Bound on the decay of the mixture's characteristic function: a weighted mean of the bounds of its parts."""

    envelopes: tuple[Envelope, ...]
    shares: tuple[float, ...]

    @property
    def cost(self) -> float:
        """The number of evaluations per edge, summed over all parts."""
        return sum(envelope.cost for envelope in self.envelopes)

    def log_bound(self, edges: Array) -> Array:
        """Return ``log(1 - sum_i s_i (1 - rho_i))`` at each edge, rounded up (see the module)."""
        fall: Array = np.zeros(len(edges))
        for share, envelope in zip(self.shares, self.envelopes, strict=True):
            fall += share * -np.expm1(envelope.log_bound(edges))
        return np.log1p(-fall * (1 - SPARE))


@dataclass(frozen=True, slots=True)
class EitherTransform(Transform):
    """The characteristic function of the mixture."""

    transforms: tuple[Transform, ...]
    weights: tuple[float, ...]

    @property
    def highest_tilt(self) -> float:
        """The largest t at which K of every part is known on a vertical line; it may be infinite."""
        return min(transform.highest_tilt for transform in self.transforms)

    def line(self, t: float, reach: float, tolerance: float) -> EitherLine:
        """Return K of the mixture on the vertical line through t, from the lines of all parts."""
        return EitherLine(tuple(transform.line(t, reach, tolerance) for transform in self.transforms), self.weights)

    def envelope(self, t: float, count: int) -> EitherEnvelope:
        """Return the bound on the decay at t, from the parts' bounds and lower bounds on their shares of the moment."""
        ends = []
        for transform in self.transforms:
            values, errors = transform.line(t, 0.0, SPARE).cumulants(1.0, 1)
            ends.append((float(values[0].real - errors[0]), float(values[0].real + errors[0])))
        top = max(high for _, high in ends)
        whole = sum(p * math.exp(high - top) for p, (_, high) in zip(self.weights, ends, strict=True))
        shares = [p * math.exp(low - top) / whole for p, (low, _) in zip(self.weights, ends, strict=True)]
        known = [share if math.isfinite(share) else 0.0 for share in shares]
        return EitherEnvelope(tuple(transform.envelope(t, count) for transform in self.transforms), tuple(known))

    def upper(self, t: float, slack: float) -> float:
        """Upper bound on the log-moment K(t), from upper bounds on K(t) of the parts."""
        return _log_mean([transform.upper(t, slack) for transform in self.transforms], self.weights)


def _log_mean(bounds: list[float], weights: tuple[float, ...]) -> float:
    """Upper bound on ``log sum_i w_i e^(K_i)``, given upper bounds on the K_i and the weights w_i."""
    top = max(bounds)
    if not top < math.inf:
        return math.inf
    if top > LARGE:
        total = math.fsum(p * math.exp(bound - top) for p, bound in zip(weights, bounds, strict=True))
        return moment.rounded_up(top + math.log(total), 1.0)
    return moment.rounded_up(math.log1p(math.fsum(p * math.expm1(k) for p, k in zip(weights, bounds, strict=True))))


@dataclass(frozen=True, slots=True)
class EitherPair(DominatingPair):
    """A mixture of pairs without atoms: a pair is drawn at random, and the choice is revealed.

    Each of the pairs has a characteristic function.

    Attributes:
        parts: the pairs.
        weights: the probability of each pair, to a few roundings; the exact probabilities sum to 1.
        infinite: additional mass at infinite loss.
    """

    parts: tuple[DominatingPair, ...]
    weights: tuple[float, ...]
    infinite: float

    @property
    def atoms(self) -> Atoms:
        """The atom of mass ``infinite`` at infinite loss; no atoms if that mass is 0."""
        return Atoms.none().beside(self.infinite, 0.0)

    @property
    def smooth(self) -> NoReturn:
        """Not available, because the loss is not a function of one scalar outcome.

        Raises:
            NotApplicableError: always.
        """
        raise NotApplicableError(
            "only the moments of a mixture of rounds are known, not the distribution of its loss; use accountant "
            "'auto', 'contour' or 'rdp'"
        )

    @property
    def loss_range(self) -> tuple[float, float]:
        """The least of the lower ends and the largest of the upper ends of the parts' loss ranges."""
        ranges = [part.loss_range for part in self.parts]
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    @property
    def supremum_error(self) -> float:
        """Bound on the rounding error of the largest loss: the largest of the parts' bounds."""
        return max(part.supremum_error for part in self.parts)

    @property
    def transform(self) -> EitherTransform | None:
        """The mixture of the characteristic functions; ``None`` if some part has none."""
        found = [part.transform for part in self.parts]
        if any(transform is None for transform in found):
            return None
        return EitherTransform(tuple(transform for transform in found if transform is not None), self.weights)

    @property
    def rho(self) -> float:
        """The largest rho of the parts, because a mean of moments is at most the largest moment."""
        return math.inf if self.infinite else max(part.rho for part in self.parts)

    def log_moment(self, t: float) -> float:
        """Upper bound on the log-moment K(t), from upper bounds on K(t) of the parts, rounded up."""
        return _log_mean([part.log_moment(t) for part in self.parts], self.weights)

    def standing_in(self, log_floor: float) -> tuple[Array, Array]:
        """Return losses and approximate log-masses of all parts at equidistant outcomes, to guide a search."""
        losses, masses = [], []
        for part, weight in zip(self.parts, self.weights, strict=True):
            smooth = part.smooth
            assert smooth is not None
            x = np.linspace(*smooth.support(log_floor), STANDING_IN)
            losses.append(smooth.loss(x))
            masses.append(smooth.log_p(x) + math.log((x[1] - x[0]) * weight))
        return np.concatenate(losses), np.concatenate(masses)
