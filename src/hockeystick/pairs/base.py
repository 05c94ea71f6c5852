"""The two types every engine works on: a dominating pair, and the smooth part of one.

Symbols: ``x`` the outcome (a scalar), ``L = log dP/dQ`` the privacy loss, under P. ``p_inf = P(L = +inf)``.
All arrays are one-dimensional float64; all masses are natural logarithms.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import TINY, UNIT_ROUNDOFF, next_up
from hockeystick.pairs import concentrated, moment
from hockeystick.pairs.transform import Transform

if TYPE_CHECKING:
    from decimal import Decimal
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
        units: further error of each loss, beyond a few roundings, in roundings of ``|loss|``.
        slip: shape (n,), or one number for all: additional absolute error of each loss.
        log_slip: shape (n,), or one number for all: additional error of each log-mass, beyond a few roundings of
            ``1 + |log-mass|``.
    """

    loss: Array
    log_p: Array
    log_q: Array
    units: float = 0.0
    slip: Array | float = 0.0
    log_slip: Array | float = 0.0

    @staticmethod
    def none() -> Atoms:
        """Return the atoms of a law that has none."""
        return NO_ATOMS

    def finite(self) -> Atoms:
        """Return the atoms whose loss is finite."""
        which = np.isfinite(self.loss)
        return self if which.all() else self.kept(which)

    def kept(self, which: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Atoms:
        """Return a selection of the atoms, with their errors."""
        slip = self.slip if isinstance(self.slip, float) else self.slip[which]
        log_slip = self.log_slip if isinstance(self.log_slip, float) else self.log_slip[which]
        return Atoms(self.loss[which], self.log_p[which], self.log_q[which], self.units, slip, log_slip)

    def seen(self) -> Atoms:
        """Return the atoms whose loss is finite and that have mass under P."""
        which = np.isfinite(self.loss) & np.isfinite(self.log_p)
        return self if which.all() else self.kept(which)

    def beside(self, only_p: float, only_q: float) -> Atoms:
        """Return these atoms, which declare no errors, beside masses that one law has alone; 0 adds none."""
        low, high = [math.log(only_q)] if only_q else [], [math.log(only_p)] if only_p else []
        none = -math.inf
        return Atoms(
            np.concatenate([[none for _ in low], self.loss, [math.inf for _ in high]]),
            np.concatenate([[none for _ in low], self.log_p, high]),
            np.concatenate([low, self.log_q, [none for _ in high]]),
        )

    def log_moment(self, t: float) -> float:
        """Upper bound on K(t) of the finite losses: each loss and mass is taken at its upper end."""
        return moment.atoms(self.loss + self.slip, self.log_p + self.log_slip, t, self.units)


NO_ATOMS = Atoms(np.empty(0), np.empty(0), np.empty(0))
"""Atoms of a law without atoms: one shared object, since thousands of rounds return it."""


class Masses(NamedTuple):
    """Masses of a smooth part on either side of each x, under either law.

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
    """The part of a pair with densities p, q over an interval of x on which the loss strictly increases.

    Both densities continue to entire functions of x with ``|p(x + iy)| <= p(x) exp(growth * |y| + y^2 / 2)``, likewise
    q: this bounds the error of Gauss-Legendre quadrature on a panel (see ``engines/grid/cells.py``).

    A part that is made of two halves may have a ``kink``: the outcome, of loss 0, at which they meet. Each half
    continues as above, and no quadrature panel spans the kink (:func:`kink_of`).
    """

    def log_p(self, x: Array) -> Array:
        """The logarithm of the density under P at each x."""
        ...

    def loss(self, x: Array) -> Array:
        """Privacy loss, increasing in x."""
        ...

    def log_contrast(self, x: Array) -> Array:
        """Log of a bound on ``|p - q|`` that extends to the complex plane with the growth of the densities."""
        ...

    def masses(self, x: Array) -> Masses:
        """Masses of both laws on either side of each x, with a relative error of a few roundings; x may be infinite."""
        ...

    def outcome(self, loss: Array) -> Array:
        """Return the x at which the loss takes each value, or the end of the support where there is none."""
        ...

    def loss_error(self, x: Array) -> Array:
        """Bound on the rounding error of :meth:`loss`, in units of the unit round-off (absolute)."""
        ...

    def log_p_error(self, x: Array) -> Array:
        """Bound on the rounding error of :meth:`log_p`, in units of the unit round-off (absolute)."""
        ...

    def growth(self, x: Array) -> Array:
        """The growth constant of the densities around x (see the class)."""
        ...

    def support(self, log_mass: float) -> tuple[float, float]:
        """Return an interval of x with P-mass at most ``exp(log_mass)`` on either side of it."""
        ...


def kink_of(smooth: SmoothPart | None) -> float | None:
    """Return the outcome of loss 0 at which the two halves of a smooth part meet; ``None`` if it has no halves."""
    kink: float | None = getattr(smooth, "kink", None)
    return kink


def terms_of(smooth: SmoothPart) -> int:
    """Return the number of normal densities in each density of a smooth part; its cost is proportional to that."""
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
    """Bound on the rounding error of a loss computed in a few operations, plus ``units`` more roundings of it."""
    return (16 + units) * UNIT_ROUNDOFF * abs(loss)


class RenyiCurve(ABC):
    """Interface of a round in one direction for a Renyi bound; some rounds have no dominating pair.

    Curves are immutable values: equal ones are interchangeable, and a composition merges them.

    Attributes:
        seconds: time that the moments of one such round may take; 0 if negligible.
        patience: additional units of work that an engine may spend on a question about it.
        factors: curves, with counts, whose sum a composition uses in place of this one; none for most curves.
    """

    seconds: ClassVar[float] = 0.0
    patience: ClassVar[float] = 0.0
    factors: Sequence[tuple[RenyiCurve, int]] = ()

    @property
    @abstractmethod
    def loss_range(self) -> tuple[float, float]:
        """Infimum and supremum of the finite losses under P, or bounds on them; infinite where unbounded."""

    @property
    def infinite_mass(self) -> float:
        """The probability of infinite loss, ``P(L = +inf)``."""
        return 0.0

    @property
    def variation(self) -> float:
        """Upper bound on the total variation distance of both laws, the delta at epsilon 0; 1 if none is known.

        Where no loss is infinite it is ``E_P (1 - e^-L)_+``, at most the largest loss.
        """
        high = self.loss_range[1]
        if not high < 1 or self.infinite_mass:
            return 1.0
        return min(next_up(max(high + self.supremum_error, 0.0)), 1.0)

    @property
    def stands_in(self) -> bool:
        """True if masses of up to twice the least double, under either law, only stand in for outcomes in the tail.

        A stand-in mass exceeds that of the outcomes it replaces, so it must not count for lower bounds. At infinite
        loss this needs no correction, as the lower end of that mass is 0 anyway. Where a mixture of both laws makes the
        loss finite, the stand-in mass is subtracted from lower ends (``RenyiComposition.standing_mass``).
        """
        return False

    @property
    def exact_supremum(self) -> Fraction | None:
        """The exact largest finite loss, if the parameters, taken as the decimals they print as, determine it."""
        return None

    @property
    def supremum_error(self) -> float:
        """Bound on the rounding of the upper end of :attr:`loss_range`."""
        return rounding_of(self.loss_range[1])

    @property
    def transform(self) -> Transform | None:
        """The characteristic function of the finite losses, where it is known."""
        return None

    @abstractmethod
    def log_moment(self, t: float) -> float:
        """A certified upper bound on ``K(t) = log E_P [e^(tL); L < inf]``, t > 0; see ``pairs/moment.py``."""

    @classmethod
    def fold(cls, rounds: Sequence[tuple[Self, int]]) -> Sequence[tuple[Self, int]]:
        """Return an equivalent composition of curves of this family, given as (curve, count).

        Families closed under composition fold many rounds into one; the others are returned as they are.
        """
        return rounds


class DominatingPair(RenyiCurve):
    """A dominating pair (P, Q) in one direction: ``delta(eps) = E_P (1 - e^(eps - L))_+``.

    Attributes:
        failure: description, for readers, of what happens at infinite loss.
    """

    failure: ClassVar[str] = "an outcome rules out one of the two datasets"

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
        """``P(L = +inf)``; at least :data:`TINY` where it is positive, so that it never rounds to 0.

        Every mass is known only to within the smallest double. For a mass below that double,
        ``RenyiComposition.infinite_mass_ends`` therefore returns the lower end 0 and an upper end above the truth.
        """
        atoms = self.atoms
        if not atoms.loss.size:
            return 0.0
        at_infinity = atoms.log_p[np.isposinf(atoms.loss)]
        return max(float(np.exp(at_infinity).sum()), TINY) if (at_infinity > -math.inf).any() else 0.0

    @property
    def spacing(self) -> Fraction | float | None:
        """Lattice spacing of a pair of atoms: all distances between finite losses are whole multiples of it.

        A fraction is exact; a double is off by its rounding. ``None`` if no such spacing is known.
        """
        return None

    @property
    def transform(self) -> Transform | None:
        """The characteristic function of the finite losses, if known; by default known for pairs of atoms only."""
        return None if self.smooth is not None else transform_of_atoms(self.atoms)

    @property
    def loss_range(self) -> tuple[float, float]:
        """The least and the largest finite loss of a pair that has only atoms, 0 if there is none; others define it.

        Raises:
            NotImplementedError: the pair has densities.
        """
        loss = self._only_atoms("loss_range").seen().loss
        return (float(loss.min()), float(loss.max())) if len(loss) else (0.0, 0.0)

    def _only_atoms(self, member: str) -> Atoms:
        if self.smooth is not None:
            raise NotImplementedError(f"{type(self).__name__} has densities, so it must define {member}")
        return self.atoms

    def log_moment(self, t: float) -> float:
        """Upper bound on K(t) of a pair that has only atoms, of total mass 1 under either law; other pairs define it.

        Raises:
            NotImplementedError: the pair has densities.
        """
        atoms = self._only_atoms("log_moment")
        if atoms.units or np.any(atoms.slip) or np.any(atoms.log_slip):
            return atoms.log_moment(t)  # charges the declared errors, which the sharper bound does not
        return moment.of_law(atoms.loss, atoms.log_p, atoms.log_q, t)

    def sampled_transform(self, rate: float, add: bool) -> Transform | None:
        """Return the transform after Poisson sampling, for the direction that adds or removes the record, if known."""
        return None

    def standing_in(self, log_floor: float) -> tuple[Array, Array] | None:
        """Return losses and log-masses that approximate a law without atoms or computable densities, for a search."""
        return None

    @property
    def limit_variance(self) -> float | None:
        """Contribution of a round to mu^2 in the central limit theorem, if known in closed form."""
        return None

    @property
    def rho(self) -> float:
        """A rho of zero-concentrated privacy, ``K(t) <= t (1 + t) rho`` for t > 0; see ``pairs/concentrated.py``."""
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
        return None

    @property
    def wider(self) -> tuple[tuple[DominatingPair, int], ...]:
        """Pairs, with counts, that engines know better and whose product dominates this one; by default itself."""
        return ((self, 1),)

    @property
    def mirrored_rho(self) -> float:
        """The rho of the pair with P and Q exchanged; infinite if none is known."""
        return math.inf if self.mirror is None else self.mirror.rho

    @property
    def sampled_from(self) -> tuple[float, float] | None:
        """``(rate, rho)`` of a Poisson-sampled pair: the sampling rate and the rho of an unsampled round."""
        return None

    def sampled_log_moment(self, rate: float, add: bool, t: float) -> float:
        """Upper bound on K(t) after Poisson sampling; called only for pairs with a smooth part."""
        raise NotImplementedError(f"{type(self).__name__} has no moments after sampling ({rate=}, {add=}, {t=})")

    @property
    def ratio_moments(self) -> Callable[[int], list[Decimal]] | None:
        """Function that lists ``E_Q (dP/dQ)^i``, i = 0, ..., most, in the decimal context; ``None`` if unknown.

        All are moments of one pair that dominates this one: its parameter is a few units in the last place larger.
        Each has an error of at most ``2 (i + 1)^2`` units in the last place, plus that from rounding the exponent.
        """
        return None
