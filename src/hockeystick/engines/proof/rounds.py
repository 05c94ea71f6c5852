"""Rounds of one direction in exact numbers, kept as rationals until a precision is chosen."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from flint import arb

from hockeystick.engines.proof.atoms import DiscreteNoise, FiniteLaw
from hockeystick.numerics.balls import Ball, ball
from hockeystick.pairs import Composition, DominatingPair
from hockeystick.pairs.base import Atoms
from hockeystick.pairs.exact import ExactDiscreteGaussian, ExactFinite, ExactGaussian, ExactLaplace, ExactRound
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.pairs.laplace import LaplacePair
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair
from hockeystick.pairs.sampled.replaced_gaussian import PoissonSubstitutionPair
from hockeystick.values.adjacency import Direction

DEEP = -60.0  # log of the mass of discrete noise that the rounds in doubles leave out
MAX_EXACT = 300  # largest number of rounds with infinite losses whose mass at infinity is computed as a fraction


@dataclass(frozen=True, slots=True)
class SampledGaussian:
    """The Poisson-sampled Gaussian in one direction, with mu = distance / standard deviation and 0 < rate < 1."""

    mu: Fraction
    rate: Fraction
    direction: Direction


class RoughPair(DominatingPair):
    """Approximate pair in doubles for a round whose losses are atoms; it omits the rarest outcomes."""

    loss_range = -math.inf, math.inf
    smooth = None

    def __init__(self, law: FiniteLaw | DiscreteNoise) -> None:
        outcomes, _ = law.outcomes(DEEP)
        loss = np.array([float(outcome.loss.mid()) for outcome in outcomes])
        log_p = np.array([float(outcome.p.log().mid()) for outcome in outcomes])
        self._atoms = Atoms(loss, log_p, log_p - loss)

    @property
    def atoms(self) -> Atoms:
        """The atoms of the finite losses."""
        return self._atoms

    def log_moment(self, t: float) -> float:
        """Return ``K(t) = log E_P e^(tL)`` over the atoms kept."""
        return self._atoms.log_moment(t)


SAMPLED: dict[Direction, Callable[[float, float], DominatingPair]] = {
    Direction.REMOVE: lambda mu, rate: PoissonRemovePair(GaussianPair(mu), rate),
    Direction.ADD: lambda mu, rate: PoissonAddPair(GaussianPair(mu), rate),
    Direction.REPLACE_ONE: PoissonSubstitutionPair,
}
"""The pair of a sampled Gaussian round in doubles, from mu and the rate."""


@dataclass
class ExactRounds:
    """The distinct rounds of one direction, with counts.

    Attributes:
        mu_squared: sum of count * mu^2 over the unsampled Gaussians (Dong, Roth, Su 2022 [DRS22], Corollary 3.3).
        sampled: Poisson-sampled Gaussians.
        laplace: unsampled Laplace noise, by theta = distance / scale.
        finite: laws of finitely many losses, some of which may be infinite.
        discrete: discrete Gaussian noise.
    """

    mu_squared: Fraction = Fraction(0)
    sampled: Counter[SampledGaussian] = field(default_factory=Counter)
    laplace: Counter[Fraction] = field(default_factory=Counter)
    finite: Counter[FiniteLaw] = field(default_factory=Counter)
    discrete: Counter[DiscreteNoise] = field(default_factory=Counter)

    @classmethod
    def of(cls, kinds: Iterable[tuple[ExactRound, int]], direction: Direction) -> ExactRounds:
        """Return the rounds of one direction, from exact rounds of each kind and their counts."""
        out = cls()
        for item, count in kinds:
            match item:
                case ExactGaussian(mu, rate) if rate == 1:
                    out.mu_squared += count * mu**2
                case ExactGaussian(mu, rate):
                    out.sampled[SampledGaussian(mu, rate, direction)] += count
                case ExactLaplace(theta):
                    out.laplace[theta] += count
                case ExactFinite():
                    out.finite[FiniteLaw(item, None if item.rate == 1 else direction)] += count
                case ExactDiscreteGaussian(distance, variance, rate):
                    noise = DiscreteNoise(distance, variance, rate, None if rate == 1 else direction)
                    out.discrete[noise] += count
        return out

    @property
    def composition(self) -> Composition:
        """Return the rounds in doubles, from which the search chooses its parameters; no end depends on them."""
        rounds: list[tuple[DominatingPair, int]] = [
            (SAMPLED[item.direction](float(item.mu), float(item.rate)), count) for item, count in self.sampled.items()
        ]
        rounds += [(LaplacePair(float(theta), 1.0), count) for theta, count in self.laplace.items()]
        rounds += [(RoughPair(law), count) for law, count in self.atomic]
        if self.mu_squared:
            rounds.append((GaussianPair(math.sqrt(self.mu_squared)), 1))
        return Composition(rounds)

    @property
    def smooth(self) -> bool:
        """True if some round has a loss that is not purely atomic."""
        return bool(self.mu_squared or self.sampled or self.laplace)

    @property
    def atomic(self) -> list[tuple[FiniteLaw | DiscreteNoise, int]]:
        """Return the rounds whose losses are all atoms, with counts."""
        return [*self.finite.items(), *self.discrete.items()]

    @property
    def empty(self) -> bool:
        """True if there are no rounds."""
        return not (self.smooth or self.atomic)

    @property
    def number(self) -> int:
        """Return an upper bound on the number of rounds, where all unsampled Gaussian rounds together count as one."""
        return 1 + sum(kind.total() for kind in (self.sampled, self.laplace, self.finite, self.discrete))

    def finite_mass(self) -> Ball:
        """Return the probability that no round has infinite loss, as a ball."""
        out = arb(1)
        for law, count in self.finite.items():
            out *= ball(1 - law.infinite_mass) ** count
        return out

    @property
    def exact_infinite_mass(self) -> Fraction | None:
        """Return ``P(some round has infinite loss)`` if it is a fraction of a reasonable length, else ``None``."""
        failing = {law: count for law, count in self.finite.items() if law.infinite_mass}
        if sum(failing.values()) > MAX_EXACT:
            return None
        return 1 - math.prod(((1 - law.infinite_mass) ** count for law, count in failing.items()), start=Fraction(1))

    @property
    def bounded(self) -> bool:
        """True if the finite losses are bounded above."""
        added = {item.direction for kind in (self.sampled, self.discrete) for item in kind} <= {Direction.ADD}
        return added and not self.mu_squared

    @property
    def rational_supremum(self) -> Fraction | None:
        """Return the largest finite loss if it is a rational number, else ``None``."""
        largest = [(law.largest, count) for law, count in self.finite.items()]
        largest += list(self.laplace.items())
        if self.mu_squared or self.sampled or self.discrete or any(loss is None for loss, _ in largest):
            return None
        return sum((count * loss for loss, count in largest if loss is not None), Fraction(0))

    def supremum(self) -> Ball:
        """Return the largest finite loss of bounded rounds."""
        out = arb(0)
        for kind in (self.sampled, self.discrete):  # largest losses of adding a record: g >= 1 - q
            for item, count in kind.items():
                out -= count * (1 - ball(item.rate)).log()
        for law, count in self.finite.items():
            top = arb.neg_inf()
            for atom in law.outcomes(0.0)[0]:
                top = top.max(atom.loss)
            out += count * top
        for theta, count in self.laplace.items():
            out += count * ball(theta)
        return out
