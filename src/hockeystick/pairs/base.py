"""The two types that every engine works on: a dominating pair, and the part of a pair that has densities.

Symbols: ``x`` is the outcome (a scalar), ``L = log dP/dQ`` the privacy loss, whose law is that under P, and ``p_inf =
P(L = +inf)``. All arrays are one-dimensional float64. Names that begin with ``log_`` hold natural logarithms.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import TINY, UNIT_ROUNDOFF, next_up
from hockeystick.pairs import concentrated, moment
from hockeystick.pairs.transform import SampledTransform, Transform

if TYPE_CHECKING:
    from fractions import Fraction

    from hockeystick.pairs.closed_transforms import AtomTransform

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """Point masses of the privacy loss.

    Attributes:
        loss: shape (n,), the loss of each atom; ``-inf`` where P has no mass, ``+inf`` where Q has none.
        log_p: shape (n,), log of the mass under P.
        log_q: shape (n,), log of the mass under Q.
        units: bound on the error of each loss beyond a few roundings, in roundings of ``|loss|``.
        slip: shape (n,), or one number for all atoms: bound on a further absolute error of each loss.
        log_slip: shape (n,), or one number for all atoms: bound on the absolute error of each log-mass beyond a few
            roundings of ``1 + |log-mass|``.
    """

    loss: Array
    log_p: Array
    log_q: Array
    units: float = 0.0
    slip: Array | float = 0.0
    log_slip: Array | float = 0.0

    @staticmethod
    def none() -> Atoms:
        """Return the atoms of a law without atoms: empty arrays."""
        return NO_ATOMS

    def finite(self) -> Atoms:
        """Return the atoms whose loss is finite."""
        which = np.isfinite(self.loss)
        return self if which.all() else self.kept(which)

    def kept(self, which: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Atoms:
        """Return the atoms that a mask or an index array selects, with their errors."""
        slip = self.slip if isinstance(self.slip, float) else self.slip[which]
        log_slip = self.log_slip if isinstance(self.log_slip, float) else self.log_slip[which]
        return Atoms(self.loss[which], self.log_p[which], self.log_q[which], self.units, slip, log_slip)

    def seen(self) -> Atoms:
        """Return the atoms whose loss is finite and that have mass under P."""
        which = np.isfinite(self.loss) & np.isfinite(self.log_p)
        return self if which.all() else self.kept(which)

    def beside(self, only_p: float, only_q: float) -> Atoms:
        """Return these atoms with two more: P-mass ``only_p`` at loss +inf, and Q-mass ``only_q`` at loss -inf.

        A mass of 0 adds no atom. These atoms must declare no errors, because the result declares none.
        """
        low, high = [math.log(only_q)] if only_q else [], [math.log(only_p)] if only_p else []
        none = -math.inf
        return Atoms(
            np.concatenate([[none for _ in low], self.loss, [math.inf for _ in high]]),
            np.concatenate([[none for _ in low], self.log_p, high]),
            np.concatenate([low, self.log_q, [none for _ in high]]),
        )

    def log_moment(self, t: float) -> float:
        """Upper bound on K(t) of the finite losses, with each loss and each mass raised by its declared error."""
        return moment.atoms(self.loss + self.slip, self.log_p + self.log_slip, t, self.units)


NO_ATOMS = Atoms(np.empty(0), np.empty(0), np.empty(0))
"""Atoms of a law without atoms: one shared object, since thousands of rounds return it."""


class Masses(NamedTuple):
    """Masses of both laws below and above each of n outcomes x, counting only the part of a pair with densities.

    Attributes:
        p_below: shape (n,), P-mass below x.
        p_above: shape (n,), P-mass above x.
        q_below: shape (n,), Q-mass below x.
        q_above: shape (n,), Q-mass above x.
    """

    p_below: Array
    p_above: Array
    q_below: Array
    q_above: Array


class SmoothPart(Protocol):
    """The part of a pair (P, Q) with densities p and q on an interval of outcomes x; the loss strictly increases in x.

    Both densities extend to entire functions of complex x. They satisfy ``|p(x + iy)| <= p(x) exp(growth * |y| + y^2 /
    2)`` and likewise for q, which bounds the error of Gauss-Legendre quadrature on a panel (see
    ``engines/grid/cells.py``).

    Some parts consist of two halves that meet at an outcome of loss 0, the ``kink`` (:func:`kink_of`). Then each half
    satisfies the conditions above, and no quadrature panel spans the kink.
    """

    def log_p(self, x: Array) -> Array:
        """The logarithm of the density under P at each x."""
        ...

    def loss(self, x: Array) -> Array:
        """The privacy loss at each x, increasing in x."""
        ...

    def log_contrast(self, x: Array) -> Array:
        """The log of a bound b on ``|p - q|`` at each x, which also bounds the difference at complex outcomes.

        ``|p(x + iy) - q(x + iy)| <= b(x) exp(growth * |y| + y^2 / 2)`` holds, as for the densities.
        """
        ...

    def masses(self, x: Array) -> Masses:
        """The masses of both laws below and above each x, with a relative error of a few roundings.

        Any x may be infinite.
        """
        ...

    def outcome(self, loss: Array) -> Array:
        """Return the x of each given loss; for a loss outside the range of losses, the nearer end of the support."""
        ...

    def loss_error(self, x: Array) -> Array:
        """Bound on the absolute rounding error of :meth:`loss` at each x, as a multiple of the unit round-off."""
        ...

    def log_p_error(self, x: Array) -> Array:
        """Bound on the absolute rounding error of :meth:`log_p` at each x, as a multiple of the unit round-off."""
        ...

    def growth(self, x: Array) -> Array:
        """The constant ``growth`` at each x, from the class's bound on the densities at complex outcomes ``x + iy``."""
        ...

    def support(self, log_mass: float) -> tuple[float, float]:
        """Return an interval of x; P has mass at most ``exp(log_mass)`` below it, and at most that much above it."""
        ...


def kink_of(smooth: SmoothPart | None) -> float | None:
    """Return the outcome at which the two halves of a smooth part meet; ``None`` if the part is not in two halves."""
    kink: float | None = getattr(smooth, "kink", None)
    return kink


def terms_of(smooth: SmoothPart) -> int:
    """Return the number of normal densities in the mixture that a smooth part is built from, a measure of its cost."""
    while (base := getattr(smooth, "base", None)) is not None:
        smooth = base
    terms: int = getattr(smooth, "terms", 1)
    return terms


def transform_of_atoms(atoms: Atoms) -> AtomTransform:
    """Return the characteristic function of the finite losses that have mass under P."""
    from hockeystick.pairs.closed_transforms import AtomTransform  # late: not for normal noise, without atoms

    atoms = atoms.seen()
    slip, log_slip = float(np.max(atoms.slip, initial=0.0)), float(np.max(atoms.log_slip, initial=0.0))
    return AtomTransform(tuple(atoms.loss), tuple(atoms.log_p), atoms.units, slip, log_slip)


def rounding_of(loss: float, units: float = 0.0) -> float:
    """Bound on the absolute error of a loss: a few roundings from its computation, plus ``units`` more roundings."""
    return (16 + units) * UNIT_ROUNDOFF * abs(loss)


class RenyiCurve(ABC):
    """The log-moments of the privacy loss of one round in one direction, which a Renyi bound needs.

    Rounds without a known dominating pair implement only this interface. Curves are immutable, and a composition merges
    equal curves.

    Attributes:
        seconds: time that one search for the best order may spend on the log-moments of this round; 0 if negligible.
        patience: additional units of work that may be spent on computing a bound for this round.
        factors: (curve, count) tuples whose sum is this curve. A composition uses them in place of this curve. Most
            curves have none.
    """

    seconds: ClassVar[float] = 0.0
    patience: ClassVar[float] = 0.0
    factors: Sequence[tuple[RenyiCurve, int]] = ()

    @property
    @abstractmethod
    def loss_range(self) -> tuple[float, float]:
        """Lower and upper bound on the finite losses under P, if possible their infimum and supremum.

        Each of the two numbers may be infinite.
        """

    @property
    def infinite_mass(self) -> float:
        """The probability of infinite loss, ``P(L = +inf)``."""
        return 0.0

    @property
    def variation(self) -> float:
        """Upper bound on the total variation distance of P and Q, which is the delta at epsilon 0; 1 if none is known.

        If no loss is infinite, the distance is ``E_P (1 - e^-L)_+``, which is at most the largest loss.
        """
        high = self.loss_range[1]
        if not high < 1 or self.infinite_mass:
            return 1.0
        return min(next_up(max(high + self.supremum_error, 0.0)), 1.0)

    @property
    def stands_in(self) -> bool:
        """True if, under P or Q, an atom of mass at most twice the least double replaces outcomes cut off in the tail.

        Such an atom has more mass than the outcomes that it replaces, so lower bounds on delta must not count it. An
        atom at infinite loss needs no correction, as the lower bound on so small a mass is 0 anyway. A mixture of both
        laws, as in Poisson sampling, makes the loss of the atom finite. Then the mass of the atom is subtracted from
        lower bounds on delta (``RenyiComposition.standing_mass``).
        """
        return False

    @property
    def exact_supremum(self) -> Fraction | None:
        """The largest finite loss as an exact fraction; ``None`` if the parameters do not determine such a fraction.

        The value of each parameter is the decimal that it prints as.
        """
        return None

    @property
    def supremum_error(self) -> float:
        """Bound on the rounding error of the upper end of :attr:`loss_range`."""
        return rounding_of(self.loss_range[1])

    @property
    def transform(self) -> Transform | None:
        """The characteristic function of the finite losses; ``None`` if it is not known."""
        return None

    @abstractmethod
    def log_moment(self, t: float) -> float:
        """A certified upper bound on ``K(t) = log E_P [e^(tL); L < inf]`` for t > 0; see ``pairs/moment.py``."""

    @classmethod
    def fold(cls, rounds: Sequence[tuple[Self, int]]) -> Sequence[tuple[Self, int]]:
        """Return (curve, count) tuples with the same composition as the given ones, and fewer of them if possible.

        A class that is closed under composition returns a single curve; any other class returns ``rounds`` unchanged.
        """
        return rounds


class DominatingPair(RenyiCurve):
    """A dominating pair (P, Q) in one direction: ``delta(eps) = E_P (1 - e^(eps - L))_+``.

    Attributes:
        failure: phrase that tells readers of an answer what happens at infinite loss.
        symmetric: True if exchanging P and Q leaves the law of the loss unchanged.
    """

    failure: ClassVar[str] = "an outcome rules out one of the two datasets"
    symmetric: ClassVar[bool] = False

    @property
    @abstractmethod
    def atoms(self) -> Atoms:
        """Point masses of the loss, including those at infinite loss."""

    @property
    def smooth(self) -> SmoothPart | None:
        """The part with densities; ``None`` for a pair that has only atoms."""
        return None

    @property
    def infinite_mass(self) -> float:
        """The probability of infinite loss, ``P(L = +inf)``; a positive one is at least :data:`TINY`, so never 0.

        Every mass is known only to within the smallest double. For a mass below that double,
        ``RenyiComposition.infinite_mass_ends`` therefore has the lower end 0 and an upper end above the true mass.
        """
        atoms = self.atoms
        if not atoms.loss.size:
            return 0.0
        at_infinity = atoms.log_p[np.isposinf(atoms.loss)]
        return max(float(np.exp(at_infinity).sum()), TINY) if (at_infinity > -math.inf).any() else 0.0

    @property
    def spacing(self) -> Fraction | float | None:
        """Lattice spacing of a pair that has only atoms: all differences of finite losses are whole multiples of it.

        A ``Fraction`` is exact; a ``float`` may be off by a rounding. ``None`` if no such spacing is known.
        """
        return None

    @property
    def transform(self) -> Transform | None:
        """The characteristic function of the finite losses; ``None`` if it is not known.

        This default returns it for pairs that have only atoms.
        """
        return None if self.smooth is not None else transform_of_atoms(self.atoms)

    @property
    def loss_range(self) -> tuple[float, float]:
        """The least and the largest finite loss under P; ``(0, 0)`` if there is none.

        This default serves pairs that have only atoms; pairs with densities must override it.
        """
        loss = self.atoms.seen().loss
        return (float(loss.min()), float(loss.max())) if len(loss) else (0.0, 0.0)

    def log_moment(self, t: float) -> float:
        """Upper bound on the log-moment K(t), from the atoms.

        This default serves pairs that have only atoms, of total mass 1 under either law; pairs with densities must
        override it.
        """
        atoms = self.atoms
        if atoms.units or np.any(atoms.slip) or np.any(atoms.log_slip):
            return atoms.log_moment(t)  # charges the declared errors, which the sharper bound does not
        return moment.of_law(atoms.loss, atoms.log_p, atoms.log_q, t)

    def sampled_transform(self, rate: float, add: bool) -> SampledTransform | None:
        """Return the characteristic function of the losses after Poisson sampling at ``rate``; ``None`` if unknown.

        The direction is that of adding a record if ``add`` is True, and that of removing a record otherwise.
        """
        return None

    def standing_in(self, log_floor: float) -> tuple[Array, Array] | None:
        """Return losses and log-masses that approximate the law of the loss where its densities are not available.

        Engines use the approximation only to search for an evaluation point. The result is ``None`` where engines can
        use the densities and atoms themselves.
        """
        return None

    @property
    def limit_variance(self) -> float | None:
        """Amount that one round adds to ``mu^2`` in the central limit theorem; ``None`` if no closed form is known."""
        return None

    @property
    def rho(self) -> float:
        """A rho of zero-concentrated privacy: ``K(t) <= t (1 + t) rho`` for all t > 0.

        See ``pairs/concentrated.py``.
        """
        low, high = self.loss_range
        if high == math.inf:
            return math.inf
        most = max(high + self.supremum_error, 0.0)
        if low == -math.inf or np.isinf(self.atoms.loss).any():
            return most
        return min(most, concentrated.mutual(max(most, -low + rounding_of(low))))

    @property
    def mirror(self) -> DominatingPair | None:
        """The pair with P and Q exchanged; ``None`` if it is not available."""
        return self if self.symmetric else None

    @property
    def wider(self) -> tuple[tuple[DominatingPair, int], ...]:
        """(pair, count) tuples whose product dominates this pair; by default the pair itself.

        Engines try these pairs where this pair gives no sharp upper bound.
        """
        return ((self, 1),)
