"""The conversions used in papers between descriptions of how far two laws are apart.

There are three descriptions of a pair (P, Q), each of which determines the others:

- the *privacy curve* ``delta(eps) = sup_E P(E) - e^eps Q(E)``, for every real eps;
- the *privacy loss distribution*: the law of ``L = log dP/dQ`` under P, and its law under Q (the pair (Y, X) of
privacy loss random variables of Gopi, Lee, Wutschitz 2021 [GLW21]);
- the *trade-off function* ``f(alpha) = inf {1 - P(E): Q(E) <= alpha}``, ``T(Q, P)`` of Dong, Roth, Su 2022
[DRS22]: the smallest type II error of a test of Q against P at level alpha.

Losses and epsilons are natural logarithms; masses are plain numbers. All computations are ordinary floating point,
accurate to a few roundings of the input, and carry no certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.arrays import of_one_length
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.sampled.poisson import mixed_loss
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import InvalidInputError

Array = npt.NDArray[np.float64]
Curve = Callable[[Array], Array]
"""Function of an array of numbers, one result for each."""

ROUNDING = 1e-9
"""Largest deviation of masses from a total of one, and from ``p = e^loss q``, that counts as rounding."""

CONVEXITY = 1e-12
"""Largest height of a point of a convex curve above the chord of its neighbours that counts as rounding."""

MASS = domains.Domain("a number from 0 to 1", {"minimum": 0, "maximum": 1 + ROUNDING}, "mass at infinite loss")
"""Domain of a mass, which may exceed 1 by rounding."""

LARGEST = 700.0  # largest epsilon whose exponential is formed


@dataclass(frozen=True, slots=True, eq=False)
class LossDistribution:
    """Privacy loss distribution with finitely many losses, under both laws.

    Args:
        losses: finite, strictly increasing losses, shape (n,); an array or a list, like the others.
        p: mass of each loss under P, shape (n,).
        q: mass of each loss under Q, shape (n,); ``p = e^loss q``.
        p_infinite: P-mass at loss ``+inf``, where Q has none.
        q_infinite: Q-mass at loss ``-inf``, where P has none.

    Raises:
        InvalidInputError: an argument is no array of numbers, or masses are negative, do not add up to one, or do not
            match the losses.

    >>> import math
    >>> response = LossDistribution.of_masses(np.array([-1.0, 1.0]), np.array([1, math.e]) / (1 + math.e))
    >>> response.delta(np.array([0.0])).round(6).tolist()  # (e - 1) / (e + 1)
    [0.462117]
    """

    losses: Array
    p: Array
    q: Array
    p_infinite: float = 0.0
    q_infinite: float = 0.0

    def __post_init__(self) -> None:
        for key in ("losses", "p", "q"):
            object.__setattr__(self, key, domains.array(getattr(self, key), key))
        losses, p, q = self.losses, self.p, self.q
        of_one_length(losses=losses, p=p, q=q)
        _increasing(losses)
        for key, masses, rest in (("p", p, self.p_infinite), ("q", q, self.q_infinite)):
            rest = MASS.check(rest, f"{key}_infinite")
            # negative masses and nan are not added up: their sum may have no value
            total = float(masses.sum()) + rest if (masses >= 0).all() and (masses <= 2).all() else math.nan
            if not abs(total - 1) <= ROUNDING:
                raise InvalidInputError(
                    f"{key} must be non-negative and add up to 1 with {key}_infinite; the sum is {total!r}", key
                )
        with np.errstate(over="ignore", invalid="ignore"):
            apart = np.minimum(np.abs(p - q * np.exp(losses)), np.abs(q - p * np.exp(-losses)))
        if (apart > ROUNDING).any():
            raise InvalidInputError("p and q must have the ratio e^loss at each loss", "p")

    @classmethod
    def of_masses(cls, losses: Array, p: Array, p_infinite: float = 0.0) -> LossDistribution:
        """Return the distribution with masses ``p`` under P and ``p e^-loss`` under Q, with the rest of Q at ``-inf``.

        Raises:
            InvalidInputError: the masses are no loss distribution: ``E e^-L`` is above 1.
        """
        losses, p = domains.array(losses, "losses"), domains.array(p, "p")
        of_one_length(losses=losses, p=p)
        _increasing(losses)
        with np.errstate(over="ignore", invalid="ignore"):  # a mass of 0 at a loss whose exponential overflows
            q = np.where(p == 0, 0.0, p * np.exp(-losses))
        rest = 1 - float(q.sum())
        if not rest >= -ROUNDING:
            raise InvalidInputError(f"no loss distribution: E e^-L must be at most 1; received {1 - rest!r}", "p")
        # an excess of the sum of q over 1 within rounding belongs to no outcome
        return cls(losses, p, q, p_infinite, max(0.0, _beyond_rounding(rest, len(q))))

    def delta(self, epsilon: Array) -> Array:
        """Return the privacy curve, ``E_P (1 - e^(eps - L))_+``; shape of ``epsilon``, which may be negative."""
        epsilon = domains.array(epsilon, "epsilon")
        above = epsilon[..., None] < self.losses
        with np.errstate(over="ignore"):
            parts = np.where(above, -np.expm1(np.minimum(epsilon[..., None] - self.losses, 0.0)), 0.0)
        out: Array = parts @ self.p + self.p_infinite
        return out

    def mirrored(self) -> LossDistribution:
        """Return the distribution of (Q, P): losses change sign, and the laws swap.

        >>> one = LossDistribution.of_masses(np.array([0.5]), np.array([0.9]), p_infinite=0.1)
        >>> one.mirrored().p_infinite == one.q_infinite
        True
        """
        return LossDistribution(-self.losses[::-1], self.q[::-1], self.p[::-1], self.q_infinite, self.p_infinite)


@dataclass(frozen=True, slots=True, eq=False)
class TradeOff:
    """Piecewise linear trade-off function: the smallest type II error at each level.

    Args:
        alpha: levels, strictly increasing from 0 to 1, shape (n,).
        beta: type II errors there, convex, from at most 1 down to 0, shape (n,).

    Raises:
        InvalidInputError: an argument is no array of numbers, or beta is not convex and decreasing from ``beta(0) <=
            1`` to ``beta(1) = 0``.

    >>> TradeOff(np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.2, 0.0]))(np.array([0.25])).round(6).tolist()
    [0.6]
    """

    alpha: Array
    beta: Array

    def __post_init__(self) -> None:
        for key in ("alpha", "beta"):
            object.__setattr__(self, key, domains.array(getattr(self, key), key))
        alpha, beta = self.alpha, self.beta
        if alpha.ndim != 1 or alpha.shape != beta.shape or len(alpha) < 2:
            raise InvalidInputError("alpha and beta must be one-dimensional, of one length of at least 2", "alpha")
        if alpha[0] != 0 or abs(alpha[-1] - 1) > ROUNDING or not (np.diff(alpha) > 0).all():
            raise InvalidInputError("alpha must increase from 0 to 1", "alpha")
        if not (beta[0] <= 1 + ROUNDING and abs(beta[-1]) <= ROUNDING and (np.diff(beta) <= 0).all()):
            raise InvalidInputError("beta must decrease from at most 1 to 0", "beta")
        share = (alpha[1:-1] - alpha[:-2]) / (alpha[2:] - alpha[:-2])
        if (beta[1:-1] > (1 - share) * beta[:-2] + share * beta[2:] + CONVEXITY).any():
            raise InvalidInputError("beta must be convex in alpha", "beta")

    def __call__(self, alpha: Array) -> Array:
        """Return the type II errors at levels in [0, 1]; shape of ``alpha``."""
        out: Array = np.interp(domains.array(alpha, "alpha"), self.alpha, self.beta)
        return out


def curve_of_tails(p_above: Curve, q_above: Curve) -> Curve:
    """Return the privacy curve from the tails of the loss: ``delta(eps) = P(L > eps) - e^eps Q(L > eps)``.

    Gopi, Lee, Wutschitz 2021 [GLW21], Theorem 3.3; Balle, Wang 2018 [BW18], Theorem 5.

    Args:
        p_above: ``P(L > eps)``, mass at ``+inf`` included.
        q_above: ``Q(L > eps)``.

    >>> from scipy.special import ndtr
    >>> delta = curve_of_tails(lambda e: ndtr(0.5 - e), lambda e: ndtr(-0.5 - e))  # N(1, 1) against N(0, 1)
    >>> delta(np.array([0.0, 1.0])).round(6).tolist()
    [0.382925, 0.126937]
    """
    return _of_lists(lambda e: p_above(e) - np.exp(e) * q_above(e))


def tails_of_curve(delta: Curve, slope: Curve) -> tuple[Curve, Curve]:
    """Return the tails of the privacy loss under both laws, from the privacy curve and its derivative.

    ``Q(L > eps) = -e^-eps delta'(eps)`` and ``P(L > eps) = delta(eps) - delta'(eps)``, right derivatives where the
    curve has a kink: Gopi, Lee, Wutschitz 2021 [GLW21], Theorem 3.3, whose densities are their derivatives.

    Args:
        delta: privacy curve.
        slope: its derivative.

    Returns:
        ``eps -> P(L > eps)``, mass at ``+inf`` included, and ``eps -> Q(L > eps)``.

    >>> p_above, q_above = tails_of_curve(lambda e: 1 - np.exp(e - 1), lambda e: -np.exp(e - 1))  # eps < 1: loss 1
    >>> p_above(np.array([0.5])).tolist(), q_above(np.array([0.5])).round(6).tolist()  # and Q(L = 1) = 1/e
    ([1.0], [0.367879])
    """
    return _of_lists(lambda e: delta(e) - slope(e)), _of_lists(lambda e: -np.exp(-e) * slope(e))


def dominating_pair(delta: Curve, epsilons: Array) -> LossDistribution:
    """Return a pair that dominates every pair with this privacy curve, with losses among ``epsilons``.

    ``h(alpha) = delta(log alpha)`` is convex and decreasing, ``h(0) = 1``, ``h >= (1 - alpha)_+``, and every such
    function is the curve of a pair (Zhu, Dong, Wang 2022 [ZDW22], after Definition 7): Q uniform on [0, 1]
    and P with the distribution function ``1 + h*(x - 1)``, which is ``f(1 - x)`` for the trade-off function f. Here h
    is replaced by its chords between the epsilons, which lie above it: the tightest pair on these losses (Doroshenko,
    Ghazi, Kamath, Kumar, Manurangsi 2022 [DGK+22]). A pair whose losses are all among them is reproduced.

    Args:
        delta: privacy curve, also evaluated at the negative epsilons given.
        epsilons: losses of the pair, strictly increasing, at most 700, shape (n,).

    Raises:
        InvalidInputError: delta is no privacy curve: beyond rounding, it is not convex in ``e^eps``, increases, is
            below ``(1 - e^eps)_+`` or above 1. A point that rounding has put above the chord of its neighbours is
            dropped.

    >>> from hockeystick.pairs import GaussianPair
    >>> from hockeystick.accountants.shared.privacy_curve import PrivacyCurve
    >>> gaussian = PrivacyCurve(GaussianPair(1.0)).delta
    >>> pair = dominating_pair(gaussian, np.linspace(-4.0, 5.0, 901))
    >>> at = np.array([0.0, 1.0, 1.005])
    >>> [f"{excess:.0e}" for excess in pair.delta(at)[1:] - gaussian(at)[1:] if excess > 1e-12]
    ['4e-06']
    """
    epsilons = domains.array(epsilons, "epsilons")
    alpha = np.exp(np.clip(epsilons, -LARGEST, LARGEST))
    if epsilons.ndim != 1 or not (alpha.size and (abs(epsilons) <= LARGEST).all() and (alpha[1:] > alpha[:-1]).all()):
        raise InvalidInputError(
            "epsilons must be a one-dimensional array, strictly increasing by more than rounding, within "
            f"{LARGEST:g} of 0",
            "epsilons",
        )
    given = domains.array(delta(epsilons), "delta")
    of_one_length(epsilons=epsilons, delta=given)
    least = np.maximum(-np.expm1(epsilons), 0.0)
    if not ((given <= 1 + CONVEXITY).all() and (given >= least - CONVEXITY).all()):
        raise InvalidInputError("a privacy curve lies between (1 - e^eps)_+ and 1; this one does not", "delta")
    kept, slopes = _lower_hull(alpha, given, np.maximum(given + np.expm1(epsilons), 0.0))
    chord = np.interp(alpha, np.append(0.0, alpha[kept]), np.append(1.0, given[kept]))
    if (given - chord > CONVEXITY).any():
        worst = float(epsilons[int(np.argmax(given - chord))])
        raise InvalidInputError(
            f"a privacy curve is decreasing and convex in e^eps; this one is not around {worst:g}", "delta"
        )
    q = np.diff(np.append(slopes, 0.0))
    last, first = (float(given[kept[-1]]), 1 + slopes[0]) if kept else (1.0, 1.0)
    return LossDistribution(epsilons[kept], alpha[kept] * q, q, last, first)


def trade_off(loss: LossDistribution) -> TradeOff:
    """Return the trade-off function, whose most powerful tests reject at the highest losses first (Neyman, Pearson).

    Dong, Roth, Su 2022 [DRS22], Section 2; ``delta(eps) = 1 + f*(-e^eps)`` (Proposition 2.12 there).

    >>> pair = LossDistribution.of_masses(np.array([-1.0, 1.0]), np.array([1, np.e]) / (1 + np.e))
    >>> trade_off(pair)(np.array([0.0, 0.1])).round(6).tolist()  # 1 - e alpha
    [1.0, 0.728172]
    """
    seen = loss.q > 0
    alpha = np.concatenate([[0.0], np.cumsum(loss.q[seen][::-1])])
    beta = np.concatenate([np.cumsum(loss.p[seen])[::-1], [0.0]])
    if loss.q_infinite > 0:
        alpha, beta = np.append(alpha, alpha[-1] + loss.q_infinite), np.append(beta, 0.0)
    last = np.append(np.diff(alpha) > 0, True)  # a mass lost in the rounding of the sum is no step
    return TradeOff(alpha[last], beta[last])


def loss_of_trade_off(f: TradeOff) -> LossDistribution:
    """Return the privacy loss distribution of a piecewise linear trade-off function, one loss ``log(-f')`` a slope.

    Dong, Roth, Su 2022 [DRS22], Section 2. A trade-off function that is not piecewise linear lies *below* its chords,
    so a pair of knots on it is dominated by the true pair and is no upper bound. For a dominating pair, use
    :func:`dominating_pair` with its privacy curve.

    >>> response = loss_of_trade_off(TradeOff(np.array([0.0, 0.25, 1.0]), np.array([1.0, 0.25, 0.0])))
    >>> np.exp(response.losses).round(6).tolist(), response.p.tolist()
    ([0.333333, 3.0], [0.25, 0.75])
    """
    q, p = np.diff(f.alpha)[::-1], -np.diff(f.beta)[::-1]
    seen = p > 0
    with np.errstate(over="ignore"):  # a ratio that overflows has a finite logarithm
        logs = np.log(p[seen] / q[seen])
    losses, p_of, q_of = _merged(np.where(np.isinf(logs), np.log(p[seen]) - np.log(q[seen]), logs), p[seen], q[seen])
    return LossDistribution(losses, p_of, q_of, _beyond_rounding(1 - float(f.beta[0]), len(p)), float(q[~seen].sum()))


def curve_of_trade_off(f: Curve, alpha: Array) -> Curve:
    """Return the privacy curve of a trade-off function, ``delta(eps) = 1 + f*(-e^eps) = sup 1 - f(alpha) - e^eps
    alpha``.

    Dong, Roth, Su 2022 [DRS22], Proposition 2.12. The supremum over the given levels is a lower bound, exact if they
    include all knots of a piecewise linear f.

    >>> from scipy.special import ndtr, ndtri
    >>> gaussian = curve_of_trade_off(lambda a: ndtr(ndtri(1 - a) - 1.0), np.linspace(0, 1, 100_001))
    >>> gaussian(np.array([0.0, 1.0])).round(6).tolist()
    [0.382925, 0.126937]
    """
    alpha = domains.array(alpha, "alpha")
    powers = 1 - f(alpha)
    return _of_lists(
        lambda e: np.array([float(np.max(powers - np.exp(one) * alpha)) for one in e.flat]).reshape(e.shape)
    )


def subsampled(loss: LossDistribution, rate: float, direction: Direction | str = Direction.REMOVE) -> LossDistribution:
    """Return the privacy loss distribution after Poisson sampling, from that of the pair (with the record, without it).

    ``remove``: ``(1 - q) Q + q P`` against Q. The loss is ``log(1 + q (e^L - 1))``, with L drawn from its law under P
    with probability q and from its law under Q otherwise (Gopi, Lee, Wutschitz 2021 [GLW21], Appendix B.2).
    ``add``: Q against that mixture. The loss is the negative, with L drawn from its law under Q. Both dominate the
    sampled mechanism if the pair dominates the unsampled one (Zhu, Dong, Wang 2022 [ZDW22], Theorem 11).

    Args:
        loss: distribution of the law with the record against the law without it, for either direction.
        rate: probability that the record is sampled, in (0, 1].
        direction: ``"remove"`` or ``"add"``.

    Raises:
        InvalidInputError: the rate is outside its domain, or the direction is unknown.

    >>> response = LossDistribution.of_masses(np.array([-1.0, 1.0]), np.array([1, np.e]) / (1 + np.e))
    >>> subsampled(response, 0.1).losses.round(6).tolist()
    [-0.065298, 0.158565]
    >>> subsampled(response, 0.1, "add").losses.round(6).tolist()
    [-0.158565, 0.065298]
    """
    rate = domains.RATE.of("probability that the record is sampled").check(rate, "rate")
    if direction not in (Direction.REMOVE, Direction.ADD):
        raise InvalidInputError(
            f"direction must be 'remove' or 'add'; received {domains.shown(direction)}", "direction"
        )
    if rate == 1:
        return loss if direction == Direction.REMOVE else loss.mirrored()
    losses, p, q = mixed_loss(loss.losses, rate), rate * loss.p + (1 - rate) * loss.q, loss.q
    rest = loss.q_infinite
    if rest > 0:
        losses = np.concatenate([[np.log1p(-rate)], losses])
        p, q, rest = np.concatenate([[(1 - rate) * rest], p]), np.concatenate([[rest], q]), 0.0
    losses, p, q = _merged(losses, p, q)
    removed = LossDistribution(losses, p, q, rate * loss.p_infinite, rest)
    return removed if direction == Direction.REMOVE else removed.mirrored()


def _of_lists(curve: Curve) -> Curve:
    """Wrap a curve so that it accepts lists and numbers."""
    return lambda epsilon: curve(domains.array(epsilon, "epsilon"))


def _increasing(losses: Array) -> None:
    """Refuse losses that are not finite, or not strictly increasing."""
    if not (np.isfinite(losses).all() and (losses[1:] > losses[:-1]).all()):
        raise InvalidInputError("losses must be finite and strictly increasing", "losses")


def _beyond_rounding(rest: float, terms: int) -> float:
    """Remainder of 1 after a sum of ``terms`` masses, or 0 if it is within the rounding of the sum."""
    return 0.0 if abs(rest) <= 4 * UNIT_ROUNDOFF * (terms + 4) else rest


def _lower_hull(alpha: Array, h: Array, excess: Array) -> tuple[list[int], list[float]]:
    """Corners of the largest convex, decreasing function from (0, 1) below the points, and the slope up to each.

    ``excess`` is ``h - (1 - alpha)``, since at small alpha the slope from (0, 1) is lost in the rounding of h.
    """
    kept: list[int] = []
    slopes: list[float] = []
    for i in range(len(alpha)):
        slope = _slope(kept, i, alpha, h, excess)
        while slopes and slope <= slopes[-1]:
            kept.pop()
            slopes.pop()
            slope = _slope(kept, i, alpha, h, excess)
        if slope < 0:
            kept.append(i)
            slopes.append(slope)
    return kept, slopes


def _slope(kept: list[int], i: int, alpha: Array, h: Array, excess: Array) -> float:
    if not kept:
        return float(excess[i] / alpha[i]) - 1
    return float((h[i] - h[kept[-1]]) / (alpha[i] - alpha[kept[-1]]))


def _merged(losses: Array, p: Array, q: Array) -> tuple[Array, Array, Array]:
    """Masses in increasing order of loss, with equal losses merged."""
    distinct, where = np.unique(losses, return_inverse=True)
    p_of: Array = np.zeros(len(distinct))
    q_of: Array = np.zeros(len(distinct))
    np.add.at(p_of, where, p)
    np.add.at(q_of, where, q)
    return distinct, p_of, q_of
