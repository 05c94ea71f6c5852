"""``tcdp``: truncated concentrated differential privacy, which sampling does amplify. An upper bound.

Bun, Dwork, Rothblum, Steinke 2018 [BDRS18], "Composable and versatile privacy via truncated CDP":
a round is (rho, omega)-tCDP if ``D_alpha(P || Q) <= rho alpha`` for 1 < alpha < omega (Definition 1). A composition has
the sum of the rho and the smallest omega. Sampling at a rate s amplifies the guarantee: a (rho, inf) round becomes
about (s^2 rho, log(1/s) / rho)-tCDP, if rho and s are small. The constants of their theorem give the proposal tried
here: where rho and s are at most 0.1 and ``log(1/s) >= max(3 rho (2 + log2(1/rho)), 6 rho)``, the sampled round is
proposed to be ``(13 s^2 rho, log(1/s) / (4 rho))``-tCDP.

No answer depends on that theorem, which is for samples of a fixed size and replaced records, nor on whether its
conditions and constants are quoted correctly: the proposal is proved for the pair at hand, or dropped. The proof is by
certified upper
bounds on the moments ``K(t) = log E e^(t L)`` on a grid ``t_0 = 0 < t_1 < ... = omega - 1``: K is convex and K(0) <= 0
(the finite mass is at most 1), so that K(t)/t grows, and for ``t_(j-1) < t <= t_j``

    K(t) / (t (1 + t)) <= K(t_j) / (t_j (1 + t_(j-1))) <= 13 s^2 rho,

which is Definition 1 at every order below omega, without a claim about orders beyond. Other constants could make the
bound looser, or cause the proposal to be dropped (the bound without amplification then remains), but never make it
wrong.

Converted as in ``zcdp``, at orders below omega only; the better of the bounds with and without amplification counts.

Cost: some eighty moments for each kind of sampled round. Known failure: the proposal needs rho <= 0.1, that is, noise
above 2.24 times the contribution of a record; with less noise the result gives this reason, and is that of ``zcdp``.
Even where the proposal holds, the factor 13 remains (the moments themselves are near s^2 rho), and omega excludes the
orders that small deltas need.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hockeystick.accountants.zcdp import CARE, MomentAccountant, Moments, quadratic, rho, unamplified
from hockeystick.pairs import Composition, DominatingPair

MAX_PROPOSED = 0.1  # largest rho and rate for a proposal
LOSS = 13.0  # ratio of the proposed rho to s^2 rho
SHARE = 4.0  # divisor in the proposed omega, log(1/s) / (4 rho)
FIRST_T, T_RATIO = 1e-3, 1.25  # grid of t on which the proposal is verified
UNKNOWN_MOMENT = 1e300  # value of an unknown moment


@dataclass(frozen=True)
class Truncated:
    """Bound on the moments: ``K(t) <= t (1 + t) rho`` for ``t < omega - 1``.

    Attributes:
        rho: rho of the whole composition.
        omega: first order without a bound; ``inf`` if every order has one.
    """

    rho: float
    omega: float

    def moment(self, t: float) -> float:
        """Return the bound on K(t), ``UNKNOWN_MOMENT`` from ``t = omega - 1`` on."""
        return quadratic(self.rho)(t) if 1 + t < self.omega else UNKNOWN_MOMENT


class TcdpAccountant(MomentAccountant):
    """Sums of rho, amplified where this is verified, converted at the best order below omega."""

    name = "tcdp"
    summary = "upper bound: truncated concentrated DP; sampling helps if noise is large"
    effort = 4.5  # thirteen milliseconds

    def moments(self, composition: Composition) -> list[Moments]:
        """Return the bound without amplification and, if some round is amplified, the bound with amplification."""
        plain = Truncated(rho(composition), math.inf)
        rhos, omega = [], math.inf
        for pair, count in composition.rounds:
            found = amplified(pair) if pair.sampled_from else None
            if isinstance(found, Truncated) and found.rho < pair.rho:
                rhos.append(count * found.rho)
                omega = min(omega, found.omega)
            else:
                rhos.append(count * pair.rho)
        total = Truncated(math.fsum(rhos) * (1 + CARE), omega)
        laws = [plain] if total.omega == math.inf else [total, plain]
        return [Moments(law.moment, min(1.0, 0.5 * (law.omega - 1))) for law in laws]

    def note(self, pair: DominatingPair) -> str | None:
        """Return the reason why a sampled round was not amplified."""
        found = amplified(pair) if unamplified(pair) else None
        if isinstance(found, str):
            return f"sampling is ignored, because the amplification theorem does not apply: {found}"
        return None


def amplified(pair: DominatingPair) -> Truncated | str:
    """Return the proved proposal for a sampled pair, or the reason why there is none."""
    assert pair.sampled_from is not None
    rate, base = pair.sampled_from
    if rate > MAX_PROPOSED or base > MAX_PROPOSED:
        return f"rate {rate:.3g} and rho {base:.3g} of the unsampled round would both have to be at most {MAX_PROPOSED}"
    if base == 0:
        return Truncated(0.0, math.inf)  # no loss, sampled or not
    depth = -math.log(rate)
    if depth < max(3 * base * (2 - math.log2(base)), 6 * base):
        return f"rho {base:.3g} of the unsampled round is too large for the rate {rate:.3g}"
    found = Truncated(LOSS * rate * rate * base * (1 + CARE), depth / (SHARE * base))
    if not _verified(pair, found):
        return "the conclusion of the theorem could not be verified for Poisson sampling"
    return found


def _verified(pair: DominatingPair, claim: Truncated) -> bool:
    """True if certified moments prove the claim at every order below the claim's omega."""
    last, before, t = claim.omega - 1, 0.0, FIRST_T
    while before < last:
        t = min(t, last)
        if not pair.log_moment(t) / (t * (1 + before)) * (1 + CARE) <= claim.rho:
            return False
        before, t = t, t * T_RATIO
    return True
