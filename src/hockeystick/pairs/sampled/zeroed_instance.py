"""The worst instance of one round under zero-out on a batch of fixed size, from below: outcomes told apart by cells.

All other records contribute -1, the record 1 or nothing; in units of the noise and with what the others add up to for
the origin the laws are

    P = (1 - q) N(0, 1) + q N(2 mu, 1)   against   Q = (1 - q) N(0, 1) + q N(mu, 1),

in every round, independently. Their loss falls before it rises, so that outcomes are not told apart by it. What is
composed is the law of the *cell* in which the outcome lies: a function of the outcome, of which processing makes no
more (Zhu, Dong, Wang 2022 [ZDW22], after Definition 7): compositions of it are below those of the instance, in both
orders of the laws. Cells are narrow beside what changes the likelihood ratio, so that little is lost; one edge is the
outcome of loss 0, ``3 mu / 2``, and all beyond the last edges is one cell on either side.

**Rounding.** With z the distance from ``3 mu / 2``, ``x - mu`` and so on formed from it,

    p - q = q phi(x - mu) (e^(mu z) - 1)

has one sign in a cell, and is integrated as it stands by a rule of sixteen nodes on each of the narrow cells, whose
error is below a rounding (``numerics/legendre.py``; ``e^(mu z)`` is a shift of the normal density). So each loss
``log(1 + (P - Q) / Q)`` is good relative to itself: densities err by some ``x^2`` roundings, and where P is less than
half of Q the loss is a difference of logarithms and not small. The outer cells have the normal tails themselves, whose
difference is no smaller than the share ``1 - e^(-mu z)`` of the larger one at their edge: mu is at least LEAST, z ten
or more. All of this is below UNITS roundings of a loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hockeystick.numerics.legendre import HALF_WIDTH, rule
from hockeystick.numerics.normal import HALF_LOG_TWO_PI
from hockeystick.pairs.base import Array, Atoms, DominatingPair, rounding_of
from hockeystick.pairs.sampled.zeroed_pair import ZeroedPair

LEAST, MOST = 0.01, 5.0
"""The mu between which cells are made: below, tails cancel; above, a record in the batch is plain to see anyway."""

DEPTH = 10.0
"""How far the cells reach beyond either centre, in units of the noise: what is left has a mass below 1e-23."""

WIDTH = 0.05
"""Width of a cell in units of the noise, and of ``1 / mu`` where that is less: the ratio changes by some per cent."""

NODES = 16
"""Nodes of the rule on each cell."""

PLAIN = -0.5
"""The ratio less 1 down to which its logarithm is formed from it; below, it is a difference of logarithms."""

UNITS = 2.0**20
"""Roundings of itself by which a loss may be off. A density errs by ``8 x^2``, a tail by ``64 + 16 x^2``, x being at
most 20 from its centre; differences of tails lose a factor of 20 by LEAST, those of a cell next to loss 0 a factor of
``2 / (LEAST WIDTH)`` of the error of the rule, which is below one: less than 2e5 together."""


@dataclass(frozen=True, slots=True)
class OppositePair(DominatingPair):
    """The cells of (1 - q) N(0, 1) + q N(2 mu, 1) against (1 - q) N(0, 1) + q N(mu, 1), or the other way round.

    Attributes:
        mu: the norm bound of one record, in units of the noise, from LEAST to MOST.
        rate: share of the records in a batch, in (0, 1).
        restored: whether P is the law without the contribution.
    """

    mu: float
    rate: float
    restored: bool = False

    @property
    def atoms(self) -> Atoms:
        """A loss for each cell, in increasing order."""
        loss, log_p, log_q = cells(self.mu, self.rate)
        if self.restored:
            loss, log_p, log_q = -loss[::-1], log_q[::-1], log_p[::-1]
        return Atoms(loss, log_p, log_q, UNITS)

    @property
    def smooth(self) -> None:
        """The pair has no smooth part."""

    @property
    def loss_range(self) -> tuple[float, float]:
        """The least and the largest loss of a cell."""
        loss = self.atoms.loss
        return float(loss[0]), float(loss[-1])

    @property
    def supremum_error(self) -> float:
        """The error of the largest loss."""
        return rounding_of(self.loss_range[1], UNITS)

    @property
    def rho(self) -> float:
        """The rho of the pair that dominates every instance."""
        return ZeroedPair(self.mu, self.rate, self.restored).rho

    @property
    def mirrored_rho(self) -> float:
        """The rho of the pair that dominates, which is one in both orders of the laws."""
        return self.rho

    def log_moment(self, t: float) -> float:
        """The sum over the cells, rounded up."""
        return self.atoms.log_moment(t)


@lru_cache(maxsize=64)
def cells(mu: float, rate: float) -> tuple[Array, Array, Array]:
    """Losses and log-masses of the cells, by increasing loss."""
    from scipy.special import log_ndtr

    centre = 1.5 * mu
    low, high = centre + DEPTH, 2 * mu + DEPTH - centre
    width = min(WIDTH, WIDTH / mu, 2 * HALF_WIDTH[NODES] / (4 + high + low))
    below, above = math.ceil(low / width), math.ceil(high / width)
    edges = np.concatenate([np.linspace(-low, 0.0, below + 1), np.linspace(0.0, high, above + 1)[1:]])
    nodes, weights = rule(NODES)
    half = 0.5 * np.diff(edges)
    z = 0.5 * (edges[1:] + edges[:-1])[:, None] + half[:, None] * nodes

    def density(shift: float) -> Array:
        out: Array = np.exp(-0.5 * np.square(z + shift) - HALF_LOG_TWO_PI)
        return out

    def with_tails(inner: Array, shift: float) -> Array:
        outer = log_ndtr(np.array([shift - low, -shift - high]))
        return np.concatenate([inner @ weights * half, np.exp(outer)])

    near, far = density(0.5 * mu), density(-0.5 * mu)
    alone, one, two = with_tails(density(centre), centre), with_tails(near, 0.5 * mu), with_tails(far, -0.5 * mu)
    inner = (near * np.expm1(mu * z)) @ weights * half
    more = np.concatenate([inner, two[-2:] - one[-2:]])
    p, q = (1 - rate) * alone + rate * two, (1 - rate) * alone + rate * one
    share = rate * more / q
    loss = np.where(share > PLAIN, np.log1p(np.maximum(share, PLAIN)), np.log(p) - np.log(q))
    order = np.argsort(loss, kind="stable")
    return loss[order], np.log(p)[order], np.log(q)[order]
