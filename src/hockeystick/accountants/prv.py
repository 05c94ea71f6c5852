"""``prv``: privacy random variables, rounded with their mean kept and composed by FFT. Two-sided.

Gopi, Lee, Wutschitz 2021 [GLW21], Algorithms 1 and 2, Theorem 5.5. The loss of each of k rounds is rounded to a lattice
with the gap

    h = eps_error / sqrt((k / 2) log(12 / delta_error))

and keeps its mean (``accountants/shared/rounded.py``). Then the sums of the true and of the rounded losses differ by
more than ``eps_error`` with probability at most ``delta_error``. With delta~ the delta of the rounded losses

    delta~(eps + eps_error) - delta_error <= delta(eps) <= delta~(eps - eps_error) + delta_error,

and epsilon lies between ``eps~(delta + delta_error) - eps_error`` and ``eps~(delta - delta_error) + eps_error``, with
eps~ the epsilon of the rounded losses. A sixth of ``delta_error`` is the failure probability of Hoeffding's inequality;
the rest is for losses outside the domain [-L, L] of a round. The sum is computed on a circle. Bounds on the mass that
wraps around the circle, and on the rounding error of the Fourier transform, widen delta~
(``accountants/shared/lattice.py``). A bound on the error of the means is added to eps_error.

The option ``mesh`` gives the gap in place of ``eps_error``, as in Algorithm 1. The domain of each round is chosen by
the mass outside it, in place of the bounds of Lemma 5.4 and Remark 5.6.

Cost: ``n log n`` with ``n = L / h``, where ``1 / h`` is about ``sqrt(k log(1 / delta_error)) / eps_error``.

Known failure: the interval is always at least ``2 eps_error`` wide, although the error of its middle is only about the
square of the gap. Small errors are therefore expensive, and an epsilon below ``eps_error`` has no lower end above 0.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from hockeystick.accountants.published import SHARE, BracketAccountant, enclosed
from hockeystick.accountants.shared import lattice
from hockeystick.accountants.shared.dots import loss_range
from hockeystick.accountants.shared.guess import guessed_log_delta
from hockeystick.accountants.shared.rounded import Rounded, deviation, rounded, sides
from hockeystick.directions.finite import log_with
from hockeystick.directions.one_sided import LEAST_LOG_DELTA
from hockeystick.pairs import Composition
from hockeystick.values import domains
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval

HOEFFDING = math.log(6.0)  # a sixth of delta_error is for Hoeffding's inequality
EXCESS = 1e-3  # allowed excess over 1 of the product of all masses, a factor of Hoeffding's share
COUPLING = domains.Domain(
    "a number, at least 1e-250 and less than 1",
    {"minimum": 1e-250, "exclusiveMaximum": 1},
    "probability that the coupling fails",
)
"""Domain of delta_error; at its least value, the mass that each of 1e9 rounds may leave out still fits a double."""

Rounds = list[tuple[Rounded, int]]  # rounded laws with their counts, all on one lattice


@dataclass(frozen=True)
class CouplingAccountant(BracketAccountant):
    """Accountant that couples the true sum of losses with a rounded sum.

    The two sums differ by at most about eps_error, except with probability at most delta_error.

    Args:
        eps_error: half of the smallest width of the interval for epsilon.
        delta_error: largest probability that the two sums differ by more. The default is a thousandth of the given
            delta; if epsilon is given, it is a thousandth of a Renyi bound on delta.
    """

    eps_error: Annotated[float, domains.POSITIVE.of("half the width of the interval for epsilon")] = 0.1
    delta_error: Annotated[float | None, COUPLING] = None

    @abstractmethod
    def coupled(self, composition: Composition, log_error: float, delta: float) -> tuple[Rounds, float]:
        """Return the rounded laws of all rounds, and a bound on the difference of the true and the rounded sum.

        The bound holds except with probability ``delta_error``.

        Args:
            composition: all rounds in one direction.
            log_error: logarithm of delta_error.
            delta: approximate delta of the finite losses.
        """

    def epsilon_ends(self, composition: Composition, deltas: tuple[float, float]) -> Interval:
        """Return ``eps~(delta + delta_error) - eps_error`` and ``eps~(delta - delta_error) + eps_error``.

        Here eps~ is the epsilon of the rounded losses.
        """
        least, most = deltas
        error = self.delta_error or SHARE * least
        if error >= least:
            raise NotApplicableError(f"delta_error must be less than delta; received {error:g} at delta {least:g}")
        rounds, distance = self.coupled(composition, math.log(error), least)
        low, high = math.log(most + error) + 1e-15, math.log(least - error) - 1e-15
        lower, upper = self._enclosed(rounds, lambda laws: lattice.tilt_for_delta(laws, high)).epsilon(low, high)
        return enclosed(max(lower - distance, 0.0), upper + distance)

    def log_delta_ends(self, composition: Composition, epsilon: float) -> Interval:
        """Return logs of ``delta~(eps + eps_error) - delta_error`` and of ``delta~(eps - eps_error) + delta_error``.

        Here delta~ is the delta of the rounded losses.
        """
        guess = max(guessed_log_delta(composition, epsilon).value, LEAST_LOG_DELTA)
        error = self.delta_error or math.exp(max(guess + math.log(SHARE), LEAST_LOG_DELTA))
        rounds, distance = self.coupled(composition, math.log(error), math.exp(guess))
        found = self._enclosed(rounds, lambda laws: lattice.tilt_for_epsilon(laws, epsilon))
        lower, upper = found.log_delta(epsilon + distance, epsilon - distance)
        lower, upper = log_less(lower, math.log(error)), log_with(upper, error)
        return enclosed(min(lower, upper), upper)

    def _enclosed(self, rounds: Rounds, tilt_for: Callable[[lattice.Laws], float]) -> lattice.Enclosed:
        above, below = sides(rounds)
        tilt = tilt_for(below)
        return lattice.Enclosed.of(above, below, tilt, lattice.window_of(above, tilt), self.remedy)

    def rounds_of(self, composition: Composition, gap: float, log_lost: float) -> Rounds:
        """Return the rounded law of each kind of round, with its count.

        Raises:
            NotApplicableError: the lattices have too many points, or the product of the rounds' computed masses exceeds
                1 by more than :data:`EXCESS`.
        """
        found, points, excess = [], 0.0, 0.0
        for pair, count in composition.rounds:
            low, high = loss_range(pair, log_lost)
            points += (high - low) / gap
            if points > lattice.MAX_POINTS:
                raise NotApplicableError(f"the rounds would need {points:.1e} points or more; {self.remedy}")
            one = rounded(pair, gap, log_lost, kinds=len(composition.rounds))
            mass = 0.5 * float(one.above.mass.sum() + one.below.mass.sum())
            excess += count * max(mass + one.lost + pair.infinite_mass - 1, 0.0)
            if excess > EXCESS:
                raise NotApplicableError(
                    f"the probabilities add up to {1 + excess:.6g}, but the method needs distributions that add up "
                    "to 1; use accountant 'auto' or 'connect-the-dots'"
                )
            found.append((one, count))
        return found

    @property
    def remedy(self) -> str:
        """Advice for a lattice with too many points."""
        return f"increase eps_error, for example to {4 * self.eps_error:g}"


@dataclass(frozen=True)
class PrvAccountant(CouplingAccountant):
    """Accountant that computes the lower and the upper bound of Theorem 5.5 of Gopi, Lee, Wutschitz.

    Args:
        mesh: gap h itself, in place of ``eps_error``, which is then ``h sqrt((k / 2) log(12 / delta_error))``.
    """

    mesh: Annotated[float | None, domains.POSITIVE.of("mesh size h, instead of eps_error")] = None

    name = "prv"
    summary = "certified: mean-preserving rounding of losses, composed by FFT, +- eps_error"

    def coupled(self, composition: Composition, log_error: float, delta: float) -> tuple[Rounds, float]:
        """Return the rounded laws of Algorithm 2, and eps_error plus the bias of all means.

        Raises:
            NotApplicableError: the domains leave out more than five sixths of delta_error, or a lattice has too many
                points.
        """
        spread = deviation(composition.count, log_error - HOEFFDING)
        gap = self.mesh or self.eps_error / spread
        distance = gap * spread if self.mesh else self.eps_error
        log_lost = log_error - math.log(4 * composition.count) - 8.0
        rounds = self.rounds_of(composition, gap, log_lost)
        lost = sum(count * found.lost for found, count in rounds)
        check_domains(lost, log_error)
        bias = sum(count * found.bias for found, count in rounds)
        return rounds, float(distance + bias) * (1 + 1e-14)

    @property
    def remedy(self) -> str:
        """Advice for a lattice with too many points."""
        return f"increase mesh, for example to {4 * self.mesh:g}" if self.mesh else super().remedy


def check_domains(lost: float, log_error: float) -> None:
    """Refuse domains that leave out more than five sixths of delta_error, which is all that the theorem allows.

    Raises:
        NotApplicableError: the domains leave out more.
    """
    if not lost <= (5 / 6 - EXCESS) * math.exp(log_error):
        raise NotApplicableError(
            f"the domains of the rounds leave out {lost:.1e}, more than five sixths of delta_error; set delta_error to "
            "a larger value, or use accountant 'contour' or 'grid'"
        )


def log_less(log_a: float, log_b: float) -> float:
    """Return ``log(e^a - e^b)``, rounded down; ``-inf`` if the difference is not positive."""
    if log_b >= log_a:
        return -math.inf
    return log_a + math.log(-math.expm1(log_b - log_a)) - 1e-14 * (1 + abs(log_a))
