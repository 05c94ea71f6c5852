"""``characteristic-function``: the analytical Fourier accountant. An estimate.

Zhu, Dong, Wang 2022 [ZDW22], Algorithm 1 and Section 5: the characteristic functions of the rounds' losses under P are
multiplied, and likewise under Q. Each product phi gives a distribution function by Levy's formula, in Gil-Pelaez's form

    P(L > eps) = phi(0)/2 + (1/pi) int_0^inf Im(e^(-is eps) phi(s)) / s ds,

and ``delta(eps) = P(L > eps) - e^eps Q(L > eps)``. The paper calls this "double quadrature". The phi of one round is an
integral over its densities, by Gauss-Legendre nodes. The integral over s, called the outer integral, is divided into
Gauss-Legendre panels of about half a turn of the integrand, and ends where ``|phi|`` is negligible. If losses lie on a
lattice (randomised response), phi is periodic: the outer integral is then a finite sum over one period, exact up to
rounding.

Cost: the number of nodes of the densities times the number of points of the outer integral, whatever the number of
rounds. Known failure: delta is the difference of one distribution function and e^eps times another. Each is accurate to
about 1e-15, or on a lattice to 1e-15 times the number of rounds. A smaller delta is lost in these rounding errors, so
the method refuses it. The method also refuses losses whose phi decays too slowly or not at all: losses with atoms off a
lattice (Laplace noise), and losses of few rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hockeystick.accountants.published import PublishedAccountant
from hockeystick.accountants.shared.lattice import CARE, FEW_POINTS, RELATIVE
from hockeystick.accountants.shared.privacy_curve import PrivacyCurve, unseen_mass
from hockeystick.accountants.shared.tilted import reach_of
from hockeystick.directions.directions import Directions
from hockeystick.directions.finite import estimated_delta, estimated_epsilon
from hockeystick.numerics.arrays import Array
from hockeystick.numerics.legendre import NODES, rule
from hockeystick.numerics.logarithm import log_one_plus
from hockeystick.numerics.roots import root
from hockeystick.numerics.rounding import LARGEST, UNIT_ROUNDOFF
from hockeystick.pairs import Composition, DominatingPair
from hockeystick.values.bounds import DeltaEstimate, Estimate
from hockeystick.values.errors import NotApplicableError

ComplexArray = npt.NDArray[np.complex128]

LOG_DEAD = math.log(4e-15)  # log of a negligible |phi| or mass, about the rounding of a sum of masses
LOG_LIGHT = -50.0  # log of the weight under P and Q below which a node is dropped
MAX_TERMS = 4e7  # largest number of nodes of the densities times points of the outer integral: some seconds
NO_LATTICE = (
    "the losses of the rounds lie on no common lattice of manageable size, so their characteristic function does "
    "not decay; use accountant 'contour' or 'grid'"
)
"""Reason for refusing a plan of randomised response and black boxes whose losses have no common lattice."""

TOLERATED = 0.01  # largest noise, as a fraction of delta


class CharacteristicFunctionAccountant(PublishedAccountant):
    """Accountant that computes delta from the distribution functions of the loss under P and under Q."""

    name = "characteristic-function"
    summary = "estimate: distribution functions by quadrature of characteristic functions"

    def epsilon_at(self, directions: Directions, delta: float) -> Estimate:
        """Return the epsilon at which ``P(L > epsilon) - e^epsilon Q(L > epsilon)`` is delta."""
        return estimated_epsilon(directions, delta, self.name, _epsilon)

    def delta_at(self, directions: Directions, epsilon: float) -> DeltaEstimate:
        """Return ``P(L > epsilon) - e^epsilon Q(L > epsilon)``."""
        return estimated_delta(directions, epsilon, self.name, _log_delta)


class Tails(NamedTuple):
    """Probabilities that the composed loss is finite and above a threshold, under P and under Q.

    Attributes:
        at: function of eps that returns ``P(eps < L < inf)`` and ``Q(eps < L < inf)``.
        reach: epsilon beyond which both probabilities are negligible.
        noise: approximate rounding error of each probability.
    """

    at: Callable[[float], tuple[float, float]]
    reach: float
    noise: float

    def noise_of_delta(self, epsilon: float) -> float:
        """Return the approximate rounding error of ``P(L > epsilon) - e^epsilon Q(L > epsilon)``."""
        return self.noise * (1 + math.exp(min(epsilon, LARGEST)))


class Laws(NamedTuple):
    """Finite losses of one kind of round, at the nodes of a quadrature, with their weights under P and under Q.

    Attributes:
        losses: losses at the nodes, shape (n,).
        weights: weights of the losses under P and under Q, each of shape (n,).
        totals: probabilities under P and under Q that the loss is finite.
        times: number of rounds of this kind.
    """

    losses: Array
    weights: tuple[Array, Array]
    totals: tuple[float, float]
    times: int


def _log_delta(composition: Composition, epsilon: float) -> float:
    """Return log delta of the finite losses.

    Raises:
        NotApplicableError: delta is not well above its rounding error.
    """
    tails = tails_of(composition)
    delta = _difference(tails, epsilon) if epsilon < tails.reach else 0.0
    if delta * TOLERATED <= tails.noise_of_delta(epsilon):
        raise NotApplicableError(_noisy(tails, delta, epsilon))
    return math.log(delta)


def _epsilon(composition: Composition, delta: float) -> float:
    tails = tails_of(composition)
    if _difference(tails, 0.0) <= delta:
        return 0.0
    heard = delta * TOLERATED / tails.noise - 1
    high = min(math.log(heard), tails.reach) if heard > 0 else -math.inf  # at a larger epsilon, the noise exceeds delta
    if high <= 0 or _difference(tails, high) > delta:
        raise NotApplicableError(_noisy(tails, delta, max(high, 0.0)))
    return root(lambda at: _difference(tails, at) - delta, 0.0, high, xtol=1e-13, rtol=1e-13)


def _difference(tails: Tails, epsilon: float) -> float:
    p, q = tails.at(epsilon)
    return p - math.exp(min(epsilon, LARGEST)) * q  # a larger epsilon leaves only noise, and is refused


def _noisy(tails: Tails, delta: float, epsilon: float) -> str:
    noise, asked = tails.noise_of_delta(epsilon), min(max(delta, 0.0), 1.0)
    return (
        f"the difference of two distribution functions has an error of about {noise:.0e} at epsilon {epsilon:.3g}, "
        f"too much for a delta of {asked:.0e}; raise delta, or use accountant 'contour' or 'grid'"
    )


def tails_of(composition: Composition) -> Tails:
    """Return the tail probabilities of the composed loss under P and under Q, as functions of epsilon.

    Raises:
        NotApplicableError: the characteristic function decays too slowly, or not at all.
    """
    rounds = [_laws(pair, count) for pair, count in composition.rounds]
    if all(pair.smooth is None for pair, _ in composition.rounds):
        return _on_lattice(rounds)
    return _inverted(rounds, _reach(composition))


def _laws(pair: DominatingPair, count: int) -> Laws:
    losses, log_p = PrivacyCurve(pair).nodes
    log_q = log_p - losses
    keep = np.maximum(log_p, log_q) > LOG_LIGHT
    weights = np.exp(log_p[keep]), np.exp(log_q[keep])
    return Laws(losses[keep], weights, (1 - pair.infinite_mass, 1 - unseen_mass(pair)), count)


def _reach(composition: Composition) -> float:
    """Number r such that the sum of losses has negligible probability outside [-r, r].

    Raises:
        NotApplicableError: the loss has atoms that lie on no lattice.
    """
    stays = sum(
        count * math.log(max(float(np.exp(pair.atoms.finite().log_p).sum()), 1e-300))
        for pair, count in composition.rounds
    )
    if stays > LOG_DEAD:
        raise NotApplicableError(
            "the characteristic function does not decay, because the loss has atoms that lie on no lattice (as with "
            "Laplace noise); use accountant 'contour' or 'grid'"
        )
    return reach_of(composition, -LOG_DEAD)


def _inverted(rounds: list[Laws], reach: float) -> Tails:
    """Tail probabilities under P and under Q, by Gil-Pelaez's formula."""
    s, weight, phi = _values(rounds, 3.0 / reach)  # a panel is about half a turn of e^(is (L - eps))
    totals = [math.prod(law.totals[side] ** law.times for law in rounds) for side in (0, 1)]

    def at(epsilon: float) -> tuple[float, float]:
        p, q = (weight * (np.exp(-1j * s * epsilon) * phi).imag).sum(axis=1) / math.pi
        return 0.5 * totals[0] + float(p), 0.5 * totals[1] + float(q)

    # where phi is not negligible, a phase is as large as s times the losses, and is rounded relative to that
    phases = float((weight * s * np.abs(phi).max(axis=0)).sum()) * reach / math.pi
    return Tails(at, reach, max(CARE, UNIT_ROUNDOFF * phases))


def _values(rounds: list[Laws], width: float) -> tuple[Array, Array, ComplexArray]:
    """Nodes s, weights divided by s, and the characteristic functions under P and Q at the nodes.

    The shapes are (n,), (n,) and (2, n). The nodes are those of Gauss-Legendre panels of a given width; panels are
    added until both functions are negligible.

    Raises:
        NotApplicableError: the characteristic functions decay too slowly.
    """
    unit, rule_weight = rule(NODES)
    nodes = sum(len(law.losses) for law in rounds)
    block = max(int(2e6 / (nodes * NODES)), 1)  # panels in a block
    parts: list[tuple[Array, Array, ComplexArray]] = []
    start, spent = 0, 0.0
    while True:
        middle = width * (start + np.arange(block) + 0.5)
        s = (middle[:, None] + 0.5 * width * unit).ravel()
        log_phi = _log_phi(rounds, s)
        parts.append((s, np.tile(0.5 * width * rule_weight, block) / s, np.exp(log_phi)))
        alive = float(log_phi.real[:, -NODES:].max())
        if alive < LOG_DEAD:
            break
        start, spent = start + block, spent + len(s) * nodes
        # from here on log |phi| falls no faster than a parabola, which may be too slow
        if spent > MAX_TERMS or alive * (MAX_TERMS / spent) ** 2 > LOG_DEAD:
            raise NotApplicableError(
                f"the characteristic function has not decayed at s = {s[-1]:.3g}, because the rounds are too few "
                "and too far from normal; use accountant 'contour' or 'grid'"
            )
    s, weight, phi = (np.concatenate(column, axis=-1) for column in zip(*parts, strict=True))
    return s, weight, phi


def _log_phi(rounds: list[Laws], s: Array) -> ComplexArray:
    """Logarithm of the composition's characteristic functions at each s, shape (2, n): under P, and under Q.

    The difference ``phi - phi(0) = sum w (e^(isL) - 1)`` is computed in place of phi, which keeps the digits of a phi
    near phi(0).
    """
    out = np.zeros((2, len(s)), dtype=np.complex128)
    for law in rounds:
        half = 0.5 * np.multiply.outer(s, law.losses)
        cosine = np.cos(half)
        sine = np.sin(half, out=half)
        weights = np.stack([weight / total for weight, total in zip(law.weights, law.totals, strict=True)], axis=1)
        turned = (np.multiply(cosine, sine, out=cosine) @ weights).T
        moved = -2 * (np.square(sine, out=sine) @ weights).T + 2j * turned
        for side in (0, 1):
            log_size, angle, _ = log_one_plus(moved[side])
            out[side] += law.times * (np.maximum(log_size, -LARGEST) + math.log(law.totals[side]) + 1j * angle)
    return out


def _on_lattice(rounds: list[Laws]) -> Tails:
    """Tail probabilities of losses on the lattice ``base + j d``, from the masses of their sum S at its N points.

    The masses are ``P(S = base + j d) = (1/N) sum_m e^(-2 pi i jm/N) prod phi_i(2 pi m/(N d))^k_i``, and likewise under
    Q.

    Raises:
        NotApplicableError: the losses lie on no lattice, or it has too many points.
    """
    gaps = [float(gap) for law in rounds for gap in np.diff(np.sort(law.losses)) if gap > 0]
    step = min(gaps, default=1.0)
    with np.errstate(over="ignore"):
        places = [(law.losses - law.losses.min()) / step for law in rounds]
    if not all(float(place.max()) <= FEW_POINTS for place in places):
        raise NotApplicableError(NO_LATTICE)
    off = max(float(np.abs(place - np.rint(place)).max()) for place in places)
    points = 1 + sum(law.times * int(np.rint(place.max())) for law, place in zip(rounds, places, strict=True))
    if off > RELATIVE or points > FEW_POINTS:
        raise NotApplicableError(NO_LATTICE)
    base = math.fsum(law.times * float(law.losses.min()) for law in rounds)
    losses = base + step * np.arange(points)
    p, q = (_lattice_masses(rounds, places, points, side) for side in (0, 1))

    def at(epsilon: float) -> tuple[float, float]:
        above = losses > epsilon
        return float(p[above].sum()), float(q[above].sum())

    # powers multiply the rounding of a transform
    return Tails(at, float(losses[-1]), max(CARE, UNIT_ROUNDOFF * sum(law.times for law in rounds)))


def _lattice_masses(rounds: list[Laws], places: list[Array], points: int, side: int) -> Array:
    from scipy.fft import irfft, rfft

    product = np.ones(points // 2 + 1, dtype=np.complex128)
    for law, place in zip(rounds, places, strict=True):
        mass = np.zeros(points)
        np.add.at(mass, np.rint(place).astype(np.int64), law.weights[side])
        phi = rfft(mass)
        with np.errstate(divide="ignore"):
            log_size = law.times * np.log(np.abs(phi))
        product *= np.exp(log_size + 1j * law.times * np.angle(phi))
    masses: Array = irfft(product, points)
    return masses
