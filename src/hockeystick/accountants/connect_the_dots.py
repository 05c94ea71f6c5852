"""``connect-the-dots``: the privacy curve of one round, discretised above and below, composed by FFT. Two-sided.

Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022 [DGK+22], Section 4: between the points ``(e^eps_i, delta(eps_i))``
the curve is replaced by its chords. The chords are the privacy curve of a law with losses at the eps_i. This law
dominates the round, and is the tightest of all dominating laws with losses at the eps_i. The law for the lower end is
dominated by the round. Its privacy curve is the lower convex hull of a polygon below tangents of the round's curve, one
in the middle of each cell between two eps_i (``accountants/shared/dots.py``, with proofs). Composition preserves
domination, so the upper and the lower law are each composed without further error terms.

With gap h and k rounds the chords add ``k h^2 / 6`` to the variance of the sum of losses, and the tangents reduce it by
``k h^2 / 12``. The interval for epsilon is therefore about ``k h^2 (1 + t) / 8`` wide, t the saddle point. The estimate
lies a third of the way from the lower to the upper end.

Cost: ``n log n`` for n lattice points; n is the range of the sum of all rounds divided by the gap, about
``sqrt(k) / h``. Known failure: the width grows as ``k h^2``. The gap therefore has to shrink as ``1 / sqrt(k)``, which
takes too many points for a million rounds of a narrow law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from hockeystick.accountants.published import BracketAccountant, enclosed
from hockeystick.accountants.shared import lattice
from hockeystick.accountants.shared.dots import commensurable_gap, knots_of, law_above, law_below, loss_range
from hockeystick.accountants.shared.guess import guessed_epsilon, guessed_log_delta
from hockeystick.directions.one_sided import LEAST_LOG_DELTA
from hockeystick.pairs import Composition
from hockeystick.values import domains
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval
from hockeystick.values.side import Side

WIDTH = 1e-3  # default gap of losses, and the relative width of epsilon for which a formula narrows it
LEAN = 1 / 3  # place of the estimate between the ends, where the leading errors of both cancel
MAX_ORDER = 1e4  # largest Renyi order in the error formula, which fails near the largest loss of a bounded law
NOTHING_SEEN = f"no tangents exist beyond a loss of {-LEAST_LOG_DELTA:.0f}, where probabilities under Q underflow"
"""Reason for a wide interval or a missing lower end: delta depends on losses without tangents."""

ALL_INFINITE = "up to rounding, a round has no probability at finite losses; use accountant 'contour'"
"""Reason for refusing a plan in which all losses of some round are infinite, up to rounding."""

REMEDY = "leave out the option interval or make it {factor:.0f} times as wide"
"""Remedy for a lattice with too many points."""


@dataclass(frozen=True)
class ConnectTheDotsAccountant(BracketAccountant):
    """Connect-the-dots: chords of the privacy curve for the upper end, tangents for the lower end.

    Args:
        interval: gap of the lattice of losses. The default is 1e-3; it is narrower if a relative width of 1e-3 of
            epsilon requires that, and wider if the lattice would have more than a million points. If the loss has
            atoms, the gap may be slightly smaller, which places the atoms on the lattice.
    """

    interval: Annotated[float | None, domains.POSITIVE.of("step of the lattice of losses")] = None

    name = "connect-the-dots"
    summary = "certified: chords and tangents of the privacy curve on a lattice, composed by FFT"

    def epsilon_ends(self, composition: Composition, deltas: tuple[float, float]) -> Interval:
        """Return certified ends of epsilon.

        At the lower end, the delta of the lower law exceeds the target. At the upper end, the delta of the upper law is
        at most the target.
        """
        least, most = map(math.log, deltas)
        guess = guessed_epsilon(composition, least)
        total = _laws(composition, self._gap(composition, least, guess.value, guess.order), least, Side.ABOVE)
        low, high = self._sums(composition, total, least, lattice.tilt_for_delta(total, least)).epsilon(most, least)
        reason = NOTHING_SEEN if _unseen(composition, least) and low < (1 - WIDTH) * high < math.inf else None
        return enclosed(low, high, reason, LEAN)

    def log_delta_ends(self, composition: Composition, epsilon: float) -> Interval:
        """Return certified ends of log delta, from the composed lower laws and the composed upper laws."""
        guess = guessed_log_delta(composition, epsilon)
        total = _laws(composition, self._gap(composition, guess.value, epsilon, guess.order), guess.value, Side.ABOVE)
        found = self._sums(composition, total, guess.value, lattice.tilt_for_epsilon(total, epsilon))
        low, high = found.log_delta(epsilon, epsilon)
        reason = NOTHING_SEEN if _unseen(composition, guess.value) and low < high - WIDTH else None
        return enclosed(low, high, reason, LEAN)

    def _gap(self, composition: Composition, log_delta: float, epsilon: float, order: float) -> float:
        pairs = [pair for pair, _ in composition.rounds]
        size = max(epsilon, 1 / order) if math.isfinite(order) else epsilon
        needed = math.sqrt(8 * WIDTH * size / (composition.count * min(order, MAX_ORDER)))
        ranges = [loss_range(pair, _floor(composition, log_delta)) for pair in pairs]
        total = sum(high - low for low, high in ranges)
        gap = self.interval or min(WIDTH, needed)
        if self.interval is None:
            gap = max(gap, total / lattice.FEW_POINTS)
        elif total / gap > lattice.MAX_POINTS:
            raise NotApplicableError(
                f"the rounds would need {total / gap:.1e} lattice points, more than {lattice.MAX_POINTS:.1e}: "
                + REMEDY.format(factor=math.ceil(total / gap / lattice.MAX_POINTS) + 1)
            )
        return commensurable_gap(pairs, gap)

    def _sums(self, composition: Composition, above: lattice.Laws, log_delta: float, tilt: float) -> lattice.Enclosed:
        """The composed upper and lower laws; the gap of the lattice may be widened unless the caller gave it."""
        window = lattice.window_of(above, tilt)
        gap = above[0][0].gap
        factor = math.ceil((window.high - window.low) / gap / lattice.FEW_POINTS)
        if self.interval is None and factor > 1:
            gap = commensurable_gap([pair for pair, _ in composition.rounds], factor * gap)
            above = _laws(composition, gap, log_delta, Side.ABOVE)
            window = lattice.window_of(above, tilt)
        below = _laws(composition, gap, log_delta, Side.BELOW)
        remedy = REMEDY.format(factor=math.ceil(lattice.points_of(window, gap) / lattice.FEW_POINTS))
        return lattice.Enclosed.of(above, below, tilt, window, remedy)


def _unseen(composition: Composition, log_delta: float) -> bool:
    """True if some round has losses so large that their Q-masses underflow and the lower law has no tangents there."""
    floor = _floor(composition, log_delta)
    return any(
        loss_range(pair, floor)[1] > -LEAST_LOG_DELTA for pair, _ in composition.rounds if pair.smooth is not None
    )


def _floor(composition: Composition, log_delta: float) -> float:
    return max(log_delta + lattice.LOG_OUTSIDE - math.log(composition.count), LEAST_LOG_DELTA)


def _laws(composition: Composition, gap: float, log_delta: float, side: Side) -> lattice.Laws:
    floor = _floor(composition, log_delta)
    build = law_above if side is Side.ABOVE else law_below
    laws = [(build(pair, knots_of(pair, gap, floor)), count) for pair, count in composition.rounds]
    if side is Side.ABOVE and not lattice.has_mass(laws):
        raise NotApplicableError(ALL_INFINITE)
    return laws
