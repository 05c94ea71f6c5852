"""``rdp``: Renyi differential privacy, the moments accountant. An upper bound in either direction.

Abadi et al. 2016 [ACG+16], Mironov 2017 [Mir17]; for the sampled Gaussian Mironov, Talwar, Zhang
2019 [MTZ19], here with moments by quadrature at any real order. Converted at the best real order by Canonne,
Kamath, Steinke 2020 [CKS20], Proposition 12. Batches of fixed size drawn without replacement: Wang, Balle,
Kasiviswanathan 2019 [WBK19], Theorem 27, a bound on the moments of a round that needs no dominating pair.

Cost: about thirty moments per distinct round, whatever the number of rounds. Known failure: one moment of the loss is
all that it keeps, so that it overstates epsilon, by some 5 to 15 % as a rule and by far more where large losses are
rare (small rates with little noise). There is no lower end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

from hockeystick.accountants.base import Accountant
from hockeystick.accountants.shared.guess import moment_seconds
from hockeystick.directions.directions import Directions, renyi_compositions
from hockeystick.directions.one_sided import delta_bound, epsilon_bound, log_left
from hockeystick.pairs import RenyiComposition
from hockeystick.pairs.renyi import RenyiBound, renyi_epsilon, renyi_log_delta
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import DeltaUpperBound, UpperBound
from hockeystick.values.errors import NotApplicableError

LITTLE_NOISE = 2.5  # seconds of moments that so little noise may take, in one direction
PURE = math.inf  # the order at which the Renyi divergence is the largest loss


class RdpAccountant(Accountant):
    """Moments at real orders, the best order, each direction apart, the maximum last."""

    name: ClassVar[str] = "rdp"
    summary: ClassVar[str] = "upper bound: Renyi moments at the best real order (the moments accountant)"

    def epsilon(self, directions: Directions, delta: float, gap: float | None) -> UpperBound:
        """The epsilon at which ``delta_finite`` is at most delta less the mass at infinite loss."""
        self.refuse_gap(gap)
        direction, found = _worst(directions, lambda composition: _epsilon(composition, delta))
        return epsilon_bound(self.name, direction, found.value, order=found.order)

    def delta(self, directions: Directions, epsilon: float, gap: float | None) -> DeltaUpperBound:
        """``delta_finite`` plus the mass at infinite loss."""
        self.refuse_gap(gap)
        direction, found = _worst(directions, lambda composition: _log_delta(composition, epsilon))
        return delta_bound(self.name, direction, found.value, order=found.order)


def _worst(directions: Directions, ask: Callable[[RenyiComposition], RenyiBound]) -> tuple[Direction, RenyiBound]:
    found = []
    for direction, composition in renyi_compositions(directions):
        seconds = moment_seconds(composition)
        if seconds > LITTLE_NOISE:
            raise NotApplicableError(
                f"moments of so little noise would take about {seconds:.0f} s; give more noise, or fewer kinds of "
                "rounds, or use accountant 'contour'"
            )
        found.append((direction, ask(composition)))
    return max(found, key=lambda item: item[1].value)


def _epsilon(composition: RenyiComposition, delta: float) -> RenyiBound:
    infinite = composition.infinite_mass_ends[1]
    pure = RenyiBound(composition.largest_loss[1] if composition.largest_loss and not infinite else math.inf, PURE)
    if delta <= infinite or not composition.rounds:
        return pure
    found = renyi_epsilon(composition, log_left(delta, infinite))
    return min(found, pure, key=lambda bound: bound.value)


def _log_delta(composition: RenyiComposition, epsilon: float) -> RenyiBound:
    if composition.largest_loss is not None and epsilon >= composition.largest_loss[1]:
        found = RenyiBound(-math.inf, PURE)
    else:
        found = renyi_log_delta(composition, epsilon)
    infinite = composition.infinite_mass_ends[1]
    if infinite == 0:
        return found
    total = math.log(math.exp(found.value) + infinite)
    return RenyiBound(min(total + 1e-15 * (1 + abs(total)), 0.0), found.order)
