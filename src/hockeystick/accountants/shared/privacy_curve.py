"""The privacy curve of one round and the law of its loss, from which published accountants compute.

``delta(eps) = P(L > eps) - e^eps Q(L > eps)``, the mass at infinite loss included (Balle, Wang 2018 [BW18], Theorem 5).
The two probabilities are computed in closed form. Expectations are computed by Gauss-Legendre quadrature over the
densities, which is accurate to about 1e-14, without a certified error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hockeystick.accountants.shared.lattice import MAX_POINTS
from hockeystick.numerics.arrays import Array
from hockeystick.numerics.legendre import NODES, on_panels, panel_count
from hockeystick.pairs.base import DominatingPair
from hockeystick.values.errors import NotApplicableError

END_OF_RANGE = -800.0  # log of a mass below the range of a double
LOST = 1e-300  # bound on a mass that underflows
LIGHT = -120.0  # log of a mass that is left out where no bound depends on it


@dataclass(frozen=True)
class PrivacyCurve:
    """Law of the loss of one round of a dominating pair; its methods take arrays of losses.

    >>> from hockeystick.pairs.gaussian import GaussianPair
    >>> epsilon = np.array([0.0, 1.0])
    >>> p, q = PrivacyCurve(GaussianPair(1.0)).above(epsilon)
    >>> (p - times_exp(q, epsilon)).round(6).tolist()
    [0.382925, 0.126937]

    Raises:
        NotApplicableError: the pair declares errors of its losses or log-masses beyond rounding.
    """

    pair: DominatingPair

    def __post_init__(self) -> None:
        atoms = self.pair.atoms
        if np.max(atoms.slip, initial=0.0) > 0 or np.max(atoms.log_slip, initial=0.0) > 0:
            raise NotApplicableError(
                "this method does not account for the declared errors of a round's losses or probabilities (slip, "
                "log_slip); use accountant 'auto' or 'grid'"
            )

    def above(self, loss: Array) -> tuple[Array, Array]:
        """Return ``P(loss < L < inf)`` and ``Q(loss < L < inf)``, both of the shape of ``loss``."""
        return self._masses(loss, above=True)

    def below(self, loss: Array) -> tuple[Array, Array]:
        """Return ``P(L <= loss)`` and ``Q(L <= loss)``, both of the shape of ``loss``; L = -inf is included."""
        return self._masses(loss, above=False)

    def outcome(self, loss: Array) -> Array:
        """Return, for each loss, the outcome with this loss in the continuous part of the pair; 0 if there is none."""
        smooth = self.pair.smooth
        return np.zeros_like(loss) if smooth is None else smooth.outcome(loss)

    @cached_property
    def nodes(self) -> tuple[Array, Array]:
        """Losses and log-weights under P, such that ``E_P[f(L); L < inf] = sum exp(log_weight) f(loss)``.

        Raises:
            NotApplicableError: the densities need too many nodes.
        """
        finite = self.pair.atoms.finite()
        seen = np.isfinite(finite.log_p)
        losses, weights = [finite.loss[seen]], [finite.log_p[seen]]
        smooth = self.pair.smooth
        if smooth is not None:
            low, high = smooth.support(END_OF_RANGE)
            growth = float(smooth.growth(np.array([low, high])).max())
            panels = panel_count(low, high, growth)
            if panels * NODES > MAX_POINTS:
                raise NotApplicableError("the densities of one round would need too many nodes of quadrature")
            x, weight = on_panels(np.linspace(low, high, int(panels) + 1))
            losses.append(smooth.loss(x))
            weights.append(smooth.log_p(x) + np.log(weight))
        return np.concatenate(losses), np.concatenate(weights)

    def _masses(self, loss: Array, above: bool) -> tuple[Array, Array]:
        """P-mass and Q-mass of finite losses above each loss if ``above``, else of all losses at or below it."""
        atoms = self.pair.atoms.finite() if above else self.pair.atoms
        order = np.argsort(atoms.loss, kind="stable")
        first = np.searchsorted(atoms.loss[order], loss, side="right")  # index of the first atom above each loss
        mass = np.exp([atoms.log_p[order], atoms.log_q[order]])
        none = np.zeros((2, 1))
        sums = [np.cumsum(mass[:, ::-1], axis=1)[:, ::-1], none] if above else [none, np.cumsum(mass, axis=1)]
        p, q = np.hstack(sums)[:, first]
        if self.pair.smooth is None:
            return p, q
        masses = self.pair.smooth.masses(self.outcome(loss))
        return (p + masses.p_above, q + masses.q_above) if above else (p + masses.p_below, q + masses.q_below)


def unseen_mass(pair: DominatingPair) -> float:
    """Return ``Q(L = -inf)``, the Q-mass of outcomes that are impossible under P."""
    atoms = pair.atoms
    return float(np.exp(atoms.log_q[np.isneginf(atoms.loss)]).sum())


def outcome_roundings(x: Array) -> Array:
    """Return the square of the outcome x, at most 1600.

    The error of a distribution function at x grows by this number of roundings, because x is rounded.
    """
    roundings: Array = np.square(np.minimum(np.abs(x), 40.0))
    return roundings


def times_exp(q: Array, epsilon: Array) -> Array:
    """Return ``q e^epsilon``; 0 where q is 0."""
    with np.errstate(divide="ignore", over="ignore"):
        product: Array = np.exp(np.log(q) + epsilon)
    return product
