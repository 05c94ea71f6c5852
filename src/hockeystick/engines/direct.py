"""The direct engine for one round: delta is one integral, over the outcomes whose loss exceeds epsilon.

Delta is ``delta(eps) = sup_A P(A) - e^eps Q(A)``. The supremum is attained at ``A = {L > eps} = {x > x0}``, since the
loss increases in x. Therefore

- for every threshold y, the integral of ``p - e^eps q = p (1 - e^(eps - L))`` over ``x > y`` is a lower bound on delta;
- this lower bound falls short of delta by at most ``(e^d - 1) P(between y and x0)``, where d is a bound on
  ``|eps - L|`` between y and x0.

Panels are so narrow that the Gauss-Legendre rule is exact to double precision for p and q (``numerics/legendre.py``).
The P-mass beyond the last panel is at most ``exp(log_floor)``, and is added to the upper end only. The mass below the
first panel is treated in the same way. Atoms are added one by one. All masses are computed in units of ``e^scale``,
where scale is about log delta.

Normal noise is treated separately (``pairs/gaussian_curve.py``): its delta is one integral without a threshold.

Several purely atomic rounds are first combined into one round (``pairs/product.py``), if the sums of their losses are
not too many to list.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hockeystick.engines.base import ATTEMPTS
from hockeystick.engines.guide import DEPTH
from hockeystick.numerics.arrays import by_blocks
from hockeystick.numerics.budget import allows
from hockeystick.numerics.legendre import RULE_ERROR, on_panels, panel_count
from hockeystick.numerics.meet import outward
from hockeystick.numerics.roots import root
from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF
from hockeystick.pairs import Composition, DominatingPair, GaussianPair, SmoothPart
from hockeystick.pairs.base import Atoms
from hockeystick.pairs.gaussian_curve import epsilon_ends, log_delta_ends
from hockeystick.pairs.product import ProductPair, product, terms
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval
from hockeystick.values.side import Side

Array = npt.NDArray[np.float64]

MOST_SUMS = 200_000  # largest number of sums of losses of several purely atomic rounds, which are listed one by one
MAX_PANELS = 20_000  # largest number of panels of one integral
PANEL = 4e3  # units of work of one panel
DEEPEST = -1e40  # log of the smallest P-mass considered
LEAST_SHARE = 1e-290  # floor of ``1 - e^(eps - L)``, which gives a scale even where the loss nearly equals epsilon
OPERATIONS = 64  # roundings charged for one term, not counting those of the densities, of the loss and of the sum
DOUBLINGS = 2.0 ** np.arange(16, dtype=np.float64)  # widths of intervals tried together, relative to the smallest


class DirectEngine:
    """Certified epsilon and log delta of a single round, or of several rounds that count as one.

    Args:
        composition: pairs and counts; the caller handles mass at infinite loss.

    Raises:
        NotApplicableError: there are several rounds whose sums of losses cannot be listed, or the densities of a round
            would need too many panels.
    """

    def __init__(self, composition: Composition) -> None:
        if not self.applies(composition):
            raise NotApplicableError("the plan has more than one round, and too many sums of losses to list")
        one = composition.rounds[0][0]
        self._pair: DominatingPair = one if composition.count == 1 else product(tuple(composition.rounds))
        self._atoms = self._pair.atoms.seen()
        self._log_floor = -DEPTH

    @staticmethod
    def applies(composition: Composition) -> bool:
        """True if there is one round, or rounds with so few atoms that all sums of their losses can be listed."""
        if composition.count == 1:
            return True
        total = 1
        for pair, count in composition.rounds:
            if count > MOST_SUMS or not _of_few_losses(pair):
                return False
            total *= terms(len(pair.atoms.seen().loss), count)
            if not 0 < total <= MOST_SUMS:
                return False
        return composition.count > 0

    @property
    def listed(self) -> bool:
        """True if all losses are atoms, so that delta is a sum without an integral."""
        return _of_few_losses(self._pair)

    @property
    def losses(self) -> int:
        """Number of atoms summed for one epsilon."""
        return len(self._atoms.loss)

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """Return an interval of width about 1e-12 for ``log E (1 - e^(eps - L))_+``; ``gap`` is not used."""
        if isinstance(self._pair, GaussianPair):
            lower, upper = log_delta_ends(epsilon, self._pair.mu)
        else:
            lower, upper = self._ends(epsilon)
        return Interval(lower, 0.5 * (lower + upper) if lower > -math.inf else upper, upper, None, "direct")

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Return an interval for the epsilon at which log delta falls to a target, of relative width about 1e-12.

        The interval contains ``inf {eps >= 0: log E (1 - e^(eps - L))_+ <= log_delta}``.
        """
        if isinstance(self._pair, GaussianPair):
            lower, upper = epsilon_ends(log_delta, self._pair.mu)
            return Interval(lower, upper, upper, None, "direct")
        self._log_floor = log_delta[0] - DEPTH  # tails this far below the target delta are left out
        if self._ends(0.0)[1] <= log_delta[0]:
            return Interval(0.0, 0.0, 0.0, None, "direct")
        upper = self._root(log_delta[0])
        upper = outward(lambda epsilon: self._ends(epsilon)[1] <= log_delta[0], upper, math.ulp(upper), math.inf)
        try:
            lower = outward(lambda epsilon: self._ends(epsilon)[0] > log_delta[1], upper, -4 * math.ulp(upper), 0.0)
        except NotApplicableError as error:  # the upper end remains valid
            return Interval(0.0, upper, upper, str(error), "direct")
        return Interval(lower, upper, upper, None, "direct")

    def _root(self, target: float) -> float:
        """Return an approximation of the epsilon at which the upper end of log delta falls to a target.

        The target must be below log delta at epsilon 0. The search doubles epsilon until log delta is below the target,
        and then uses Brent's method.
        """

        def above(epsilon: float) -> float:
            return max(self._ends(epsilon)[1] - target, -LARGEST)

        low, high = 0.0, max(min(1.0, 0.5 * self._pair.loss_range[1]), 1e-300)
        while above(high) > 0:
            low, high = high, 2 * high
        return root(above, low, high, xtol=1e-300)

    def _ends(self, epsilon: float) -> tuple[float, float]:
        lower, upper = of_atoms(self._pair, self._atoms, epsilon)
        if self._pair.smooth is not None:
            low, high = self._of_densities(self._pair.smooth, epsilon)
            lower, upper = float(np.logaddexp(lower, low)), float(np.logaddexp(upper, high))
        slip = 4 * UNIT_ROUNDOFF * (1 + abs(upper)) if upper > -math.inf else 0.0
        return min(lower - slip, upper), min(upper + slip, 0.0)

    def _of_densities(self, smooth: SmoothPart, epsilon: float) -> tuple[float, float]:
        """Return logs of certified ends of ``int p (1 - e^(eps - L))_+ dx``; far tails are bounded, not integrated."""
        log_floor = self._log_floor  # log of the P-mass that the tails left out may have
        threshold = float(smooth.outcome(np.array([epsilon]))[0])
        if smooth.support(log_floor)[1] <= threshold:
            log_floor = _log_mass_beyond(smooth, threshold) - DEPTH
        for _ in range(ATTEMPTS):
            panels = _panels(smooth, threshold, log_floor)
            if not allows(PANEL * panels):
                raise NotApplicableError("the densities of one round would need too many panels in total")
            lower, upper = _integral(smooth, epsilon, threshold, log_floor, panels)
            if lower == -math.inf or log_floor < lower - 0.8 * DEPTH:
                break
            log_floor = lower - DEPTH
        return lower, upper


def _of_few_losses(pair: DominatingPair) -> bool:
    """True if all losses of the pair are atoms; false if it has densities, or if only its moments are known."""
    try:
        return pair.smooth is None
    except NotApplicableError:
        return False


def of_atoms(pair: DominatingPair, atoms: Atoms, epsilon: float) -> tuple[float, float]:
    """Return logs of certified ends of ``sum p (1 - e^(eps - L))_+`` over atoms of a pair."""
    loss, log_p = atoms.loss, atoms.log_p
    if not len(loss):
        return -math.inf, -math.inf
    # if the loss is unbounded, no atom is at its supremum, which would have its own error
    farthest = pair.supremum_error if pair.loss_range[1] < math.inf else atoms.slip
    slip = (OPERATIONS + atoms.units) * UNIT_ROUNDOFF * (np.abs(loss) + abs(epsilon))
    slip += atoms.slip if isinstance(pair, ProductPair) else np.maximum(atoms.slip, farthest)
    blur = OPERATIONS * UNIT_ROUNDOFF * (1 + np.abs(log_p)) + atoms.log_slip
    ends = []
    for side in Side:
        excess = loss + side * slip - epsilon
        kept = excess > 0
        with np.errstate(divide="ignore"):
            logs = log_p[kept] + np.log(-np.expm1(-excess[kept]))
        logs += side * blur[kept]
        ends.append(_log_sum(logs) + side * len(logs) * UNIT_ROUNDOFF if kept.any() else -math.inf)
    return ends[0], ends[1]


def _log_sum(logs: Array) -> float:
    """Return the logarithm of a sum of masses, given the logarithms of the masses."""
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum())) if top > -math.inf else top


def _panels(smooth: SmoothPart, threshold: float, log_floor: float) -> int:
    """Return the number of panels that the integral above the threshold needs.

    Raises:
        NotApplicableError: the integral needs more than MAX_PANELS panels.
    """
    low, high = smooth.support(log_floor)
    start = min(max(threshold, low), high)
    growth = float(smooth.growth(np.array([start, high])).max())
    panels = panel_count(start, high, growth)
    if not panels <= MAX_PANELS:
        raise NotApplicableError("the densities of one round would need too many panels")
    return int(panels)


def _integral(
    smooth: SmoothPart, epsilon: float, threshold: float, log_floor: float, panels: int
) -> tuple[float, float]:
    low, high = smooth.support(log_floor)
    start = min(max(threshold, low), high)
    if start == high:
        return -math.inf, log_floor + math.log(2.0)
    x, weight = on_panels(np.linspace(start, high, panels + 1))
    log_p, loss = by_blocks(smooth.log_p, x), by_blocks(smooth.loss, x)
    down = np.minimum(epsilon - loss, 1.0)  # positive by rounding only
    share = -np.expm1(down)
    scale = float((log_p + np.log(np.maximum(np.abs(share), LEAST_SHARE))).max())
    if not float((log_p - scale).max()) < LARGEST:  # delta is so small that densities in its unit exceed all doubles
        raise NotApplicableError("the mass of one round beyond epsilon is too small beside its densities")
    mass = weight * np.exp(log_p - scale)
    own = (
        UNIT_ROUNDOFF * (2 * by_blocks(smooth.log_p_error, x) + np.abs(log_p) + abs(scale) + OPERATIONS) * np.abs(share)
    )
    moved = UNIT_ROUNDOFF * (2 * by_blocks(smooth.loss_error, x) + 2 * np.abs(loss) + 2 * abs(epsilon)) * np.exp(down)
    value = float((mass * share).sum())
    # p - e^eps q = (p - q) - (e^eps - 1) q; the rule's error is relative to each of these two parts
    contrast = weight * np.exp(np.minimum(by_blocks(smooth.log_contrast, x) - scale, LARGEST))
    rule_error = RULE_ERROR * (contrast - mass * math.expm1(-epsilon) * np.exp(down))
    error = float((mass * (own + moved) + rule_error).sum())
    missing = 2 * math.exp(min(log_floor - scale, LARGEST))
    if start == threshold:
        missing += math.exp(min(_log_beside(smooth, epsilon, threshold, low, high) - scale, LARGEST))
    slip = 4 * UNIT_ROUNDOFF * (1 + abs(scale))
    lower = math.log(value - error) + scale - slip if value > error else -math.inf
    return lower, math.log(value + error + missing) + scale + slip


def _log_mass_beyond(smooth: SmoothPart, threshold: float) -> float:
    """Return the log of about the largest P-mass that ``smooth.support`` can cut from the upper tail above a threshold.

    With any larger mass, the upper end of the support is at or below the threshold.
    """
    low, high = DEEPEST, -1.0
    while high / low < 1 - 1e-14:
        middle = -math.sqrt(low * high)
        if smooth.support(middle)[1] <= threshold:
            high = middle
        else:
            low = middle
    return low


def _log_beside(smooth: SmoothPart, epsilon: float, threshold: float, low: float, high: float) -> float:
    """Return the log of a bound on ``int |p - e^eps q|`` between the computed threshold and the true one.

    Between the two thresholds, the loss differs from epsilon at most as much as at the computed threshold. Consider an
    interval of outcomes at whose lower end the loss is certainly below epsilon, and at whose upper end it is certainly
    above. The mass between the two thresholds is at most the mass of this interval. If no such interval is found, since
    the loss may be nearly constant, the mass is bounded by 1.
    """

    def off(x: Array) -> tuple[Array, Array]:
        value = smooth.loss(x) - epsilon
        return value, 2 * UNIT_ROUNDOFF * (smooth.loss_error(x) + np.abs(value) + abs(epsilon))

    def on_both_sides(widths: Array) -> tuple[Array, Array]:
        """Return loss minus epsilon, with error bounds, at the threshold and at all distances below and above it."""
        return off(np.concatenate([[threshold], threshold - widths, threshold + widths]))

    widths = 8 * UNIT_ROUNDOFF * (abs(threshold) + high - low) * DOUBLINGS
    value, error = on_both_sides(widths)
    log_apart = math.log(math.expm1(min(abs(float(value[0])) + float(error[0]), LARGEST)) + 1e-300)
    while widths[0] < high - low:
        (left, right), (left_error, right_error) = value[1:].reshape(2, -1), error[1:].reshape(2, -1)
        apart = np.flatnonzero((left < -left_error) & (right > right_error) & (widths < high - low))
        if len(apart):
            width, at = float(widths[apart[0]]), np.array([threshold])
            growth = float(smooth.growth(at)[0])
            log_mass = float(smooth.log_p(at)[0]) + growth * width + 0.5 * width**2 + math.log(2 * width)
            return log_apart + min(log_mass, 0.0) + 1e-6
        widths = 2 * float(widths[-1]) * DOUBLINGS
        value, error = on_both_sides(widths)
    return log_apart
