"""Checks that the attributes of a dominating pair are consistent, which every engine assumes and no engine verifies.

Engines return certified numbers even for an inconsistent pair. Such a pair has, for example, a total mass of 1.3,
losses that are not the logarithm of ``p / q``, or a range that leaves out an atom. :func:`check_pair` finds such
faults. It has no information about the mechanism, so it accepts a correct pair of another mechanism. Only a proof,
supported by a test against the definition, shows that a pair dominates its mechanism.
"""

from __future__ import annotations

import math

import numpy as np

from hockeystick.numerics.legendre import on_panels, panel_count
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs.base import Array, DominatingPair, SmoothPart, kink_of, rounding_of
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair
from hockeystick.values.errors import InvalidInputError

NEAR = 1e-9  # allowed error of the quadrature, in masses and in moments
LOG_TAIL = -60.0  # log of the mass that the quadrature leaves out
ROUNDINGS = 64  # allowed roundings of a log-mass, each of ``1 + |log-mass|``
ORDERS = (0.1, 1.0, 8.0)  # values of t at which the log-moments K(t) are checked
RATE = 0.5  # sampling rate at which the sampled pairs are checked


def check_pair(pair: DominatingPair) -> None:
    """Refuse a pair whose atoms, densities, range and moments contradict each other.

    A pair passes if both laws have total mass 1, including infinite losses and the atoms that replace outcomes cut off
    in the tail. Each loss must be the logarithm of ``p / q``, to within the errors that the atoms declare (``units``,
    ``slip``, ``log_slip``), and must lie in ``loss_range``. The loss of a smooth part must increase. ``log_moment`` and
    ``rho`` must be at least the values that follow from the law. A pair that has only atoms must also pass after
    Poisson sampling.

    Args:
        pair: a pair whose atoms and densities are known.

    Raises:
        InvalidInputError: the pair is inconsistent; the message names the attribute, its value and the value implied by
            the others.
        NotApplicableError: only the moments of the pair are known.

    >>> from hockeystick.pairs import LaplacePair
    >>> check_pair(LaplacePair(distance=1.0, scale=2.0))
    """
    if pair.factors:
        for factor, _ in pair.factors:
            assert isinstance(factor, DominatingPair)
            check_pair(factor)
        return
    _check(pair)
    if pair.smooth is None:
        for made in (PoissonRemovePair, PoissonAddPair):
            _check(made(pair, RATE))


def _check(pair: DominatingPair) -> None:
    name, atoms, smooth = type(pair).__name__, pair.atoms, pair.smooth
    loss, log_p, log_q = atoms.loss, atoms.log_p, atoms.log_q
    blur = atoms.log_slip + ROUNDINGS * UNIT_ROUNDOFF * (1 + np.where(np.isfinite(log_p), np.abs(log_p), 0.0))
    with np.errstate(invalid="ignore"):
        ratio = log_p - log_q
        off = atoms.slip + 2 * blur + (16 + atoms.units) * UNIT_ROUNDOFF * np.abs(loss)
        fits = np.where(np.isfinite(ratio), np.abs(loss - ratio) <= off, loss == ratio)
    fits |= np.isneginf(log_p) & np.isneginf(log_q)
    if not fits.all():
        at = int(np.argmin(fits))
        _refuse(name, f"atoms.loss[{at}]", loss[at], "log_p - log_q to within units, slip and log_slip", ratio[at])
    near = NEAR + float((np.exp(np.maximum(log_p, log_q)) * np.expm1(np.minimum(blur, 1.0))).sum())
    tails = {"P": 0.0, "Q": 0.0}
    if smooth is not None:
        x, log_weight = _nodes(smooth)
        beyond = smooth.masses(np.array(smooth.support(LOG_TAIL)))
        tails = {
            "P": float(beyond.p_below[0] + beyond.p_above[1]),
            "Q": float(beyond.q_below[0] + beyond.q_above[1]),
        }
        dense = smooth.loss(x)
        if not (np.diff(dense) >= -2 * UNIT_ROUNDOFF * smooth.loss_error(x)[1:]).all():
            _refuse(name, "smooth.loss", "values that decrease in places", "increasing in x", "increasing ones")
        density = smooth.log_p(x) + log_weight
        loss, log_p = np.concatenate([loss, dense]), np.concatenate([log_p, density])
        log_q = np.concatenate([log_q, density - dense])
    for law, masses in (("P", log_p), ("Q", log_q)):
        total = float(np.exp(masses).sum()) + tails[law]
        if not abs(total - 1) <= near:
            _refuse(
                name, f"the mass of {law}", total, f"1 to within {near:.1g}, including the mass at infinite loss", 1
            )
    seen = np.isfinite(loss) & (log_p > -math.inf)
    loss, log_p = loss[seen], log_p[seen]
    (low, high), widest = pair.loss_range, float(np.max(atoms.slip, initial=0.0))
    if len(loss):
        under, over = low - rounding_of(low, atoms.units) - widest, high + max(pair.supremum_error, widest)
        least, most = float(loss.min()), float(loss.max())
        if not (low == -math.inf or under <= least) or not (high == math.inf or most <= over):
            _refuse(name, "loss_range", pair.loss_range, "a range that holds all finite losses", (least, most))
    exact = pair.exact_supremum
    if exact is not None and not abs(float(exact) - high) <= pair.supremum_error + rounding_of(high):
        _refuse(name, "exact_supremum", float(exact), "the upper end of loss_range", high)
    for t in ORDERS:
        moment = float(np.logaddexp.reduce(log_p + t * loss)) if len(loss) else -math.inf
        for key, bound in (("log_moment", pair.log_moment(t)), ("rho", t * (1 + t) * pair.rho)):
            if not bound >= moment - near * (1 + abs(moment)):
                _refuse(name, f"{key} at t = {t}", bound, "at least the moment of the law", moment)


def _nodes(smooth: SmoothPart) -> tuple[Array, Array]:
    """Return quadrature nodes over the support, and the logarithms of their weights; no panel spans a kink."""
    low, high = smooth.support(LOG_TAIL)
    kink = kink_of(smooth)
    growth = float(smooth.growth(np.array([low, high])).max())
    edges = np.linspace(low, high, int(panel_count(low, high, growth)) + 1)
    if kink is not None:
        edges = np.unique(np.append(edges, kink))
    x, weights = on_panels(edges)
    return x, np.log(weights)


def _refuse(name: str, what: str, found: object, accepted: str, truth: object) -> None:
    raise InvalidInputError(
        f"{name}: {what} must be {accepted}; received {found}, but the rest of the pair gives {truth}"
    )
