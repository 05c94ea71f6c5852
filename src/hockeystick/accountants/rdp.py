"""``rdp``: Renyi differential privacy, the moments accountant. An upper bound.

Abadi et al. 2016 [ACG+16], Mironov 2017 [Mir17]. The moments of sampled Gaussian rounds (Mironov, Talwar, Zhang 2019
[MTZ19]) are computed by quadrature at any real order. Proposition 12 of Canonne, Kamath, Steinke 2020 [CKS20] converts
the moments to epsilon or delta, at the best real order. For batches of fixed size drawn without replacement, Theorem 27
of Wang, Balle, Kasiviswanathan 2019 [WBK19] bounds the moments of a round; it needs no dominating pair.

``orders=32`` is the moments accountant as it was first published and shipped with TensorFlow. It uses the log-moments
K(t) of the loss at t = 1, 2, ..., 32, and Markov's inequality, ``delta = e^(K(t) - t eps)``, without the factor
``t^t / (1 + t)^(1 + t)`` of the conversion of [CKS20]. It is a valid but looser upper bound.

Cost: about thirty moments per distinct round, whatever the number of rounds. Known failure: each bound uses only one
moment of the loss, so it is usually 5 to 15 % above the true epsilon. The bound is far higher if large losses are rare
(small rates with little noise). There is no lower end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from hockeystick.accountants.published import PublishedAccountant
from hockeystick.accountants.shared.lattice import FEW_POINTS
from hockeystick.directions.directions import Directions, renyi_compositions
from hockeystick.directions.finite import log_with
from hockeystick.directions.one_sided import delta_bound, epsilon_bound, log_left
from hockeystick.pairs import RenyiComposition, renyi
from hockeystick.pairs.renyi import RenyiBound
from hockeystick.pairs.sampled.gaussian_transform import MixtureTransform
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.bounds import DeltaUpperBound, UpperBound
from hockeystick.values.errors import NotApplicableError


@dataclass(frozen=True)
class RdpAccountant(PublishedAccountant):
    """Renyi accountant, which uses the best real order in each direction; the larger bound is the answer.

    Args:
        orders: largest moment t. If given, only t = 1, 2, ..., ``orders`` (Renyi orders t + 1) and Markov's inequality
            are used, instead of the best real t and the conversion of Canonne, Kamath, Steinke.
    """

    orders: Annotated[
        int | None, domains.whole_numbers(1, 4096).of("largest of the integer moments, used with Markov's inequality")
    ] = None

    name = "rdp"
    summary = "upper bound: Renyi moments at the best real order (the moments accountant)"

    def epsilon_at(self, directions: Directions, delta: float) -> UpperBound:
        """Return the epsilon at which the bound on delta, including the mass at infinite loss, falls to ``delta``."""
        direction, found = _worst(directions, lambda composition: self._epsilon(composition, delta))
        return epsilon_bound(self.name, direction, found.value, order=found.order)

    def delta_at(self, directions: Directions, epsilon: float) -> DeltaUpperBound:
        """Return the bound on delta at epsilon, which includes the mass at infinite loss."""
        direction, found = _worst(directions, lambda composition: self._log_delta(composition, epsilon))
        return delta_bound(self.name, direction, found.value, order=found.order)

    def _epsilon(self, composition: RenyiComposition, delta: float) -> RenyiBound:
        infinite = composition.infinite_mass_ends[1]
        edge = composition.largest_loss[1] if composition.largest_loss and not infinite else math.inf
        pure = RenyiBound(edge, math.inf)  # the Renyi divergence of infinite order is the largest loss
        if delta <= infinite or not composition.rounds:
            return pure
        left = log_left(delta, infinite)
        if self.orders is None:
            found = renyi.renyi_epsilon(composition, left)
        else:
            found = _least(self.orders, lambda t: renyi.epsilon_at(composition, t, left + renyi.log_peak(t)))
        return min(found, pure, key=lambda bound: bound.value)

    def _log_delta(self, composition: RenyiComposition, epsilon: float) -> RenyiBound:
        if composition.largest_loss is not None and epsilon >= composition.largest_loss[1]:
            found = RenyiBound(-math.inf, math.inf)
        elif self.orders is None:
            found = renyi.renyi_log_delta(composition, epsilon)
        else:
            found = _least(
                self.orders, lambda t: min(renyi.log_delta_from(composition, t, epsilon) - renyi.log_peak(t), 0.0)
            )
        return found._replace(value=log_with(found.value, composition.infinite_mass_ends[1]))


def _least(orders: int, bound: Callable[[float], float]) -> RenyiBound:
    """Return the least bound at the moments t = 1, 2, ..., ``orders``."""
    found = (RenyiBound(bound(t), 1.0 + t) for t in map(float, range(1, orders + 1)))
    return min(found, key=lambda each: each.value)


def _worst(directions: Directions, ask: Callable[[RenyiComposition], RenyiBound]) -> tuple[Direction, RenyiBound]:
    found = []
    for direction, composition in renyi_compositions(directions):
        transforms = [pair.transform for pair, _ in composition.rounds]
        nodes = sum(found.moment_nodes(1.0) for found in transforms if isinstance(found, MixtureTransform))
        if nodes > FEW_POINTS:
            raise NotApplicableError(
                f"the moments with so little noise would need {nodes:.0e} nodes; use more noise, fewer kinds of "
                "rounds, or accountant 'contour'"
            )
        found.append((direction, ask(composition)))
    return max(found, key=lambda item: item[1].value)
