"""``advanced``: advanced composition. An upper bound: epsilon grows with the square root of the number of rounds.

For rounds that are (epsilon_i, delta_i) in both directions, and any slack delta' > 0, with ``V = sum epsilon_i^2``:

Kairouz, Oh, Viswanath 2015 [KOV15], Theorem 3.5: at delta ``1 - (1 - delta') prod (1 - delta_i)``, epsilon is the
smaller of ``sum epsilon_i`` and ``m + sqrt(2 V s)``, with ``m = sum epsilon_i tanh(epsilon_i / 2)`` and ``s`` the
smaller of ``log(1/delta')`` and ``log(e + sqrt(V)/delta')``. It is never above the theorem of Dwork, Rothblum, Vadhan
2010 [DRV10], ``sum
epsilon_i (e^epsilon_i - 1) + sqrt(2 V log(1/delta'))`` at ``delta' + sum delta_i``, nor above zCDP's ``V/2 + sqrt(2 V
log(1/delta'))``, as ``tanh(x/2) <= x/2``.

Proof: the worst loss is epsilon_i or -epsilon_i, with mean ``epsilon_i tanh(epsilon_i/2)``. By Hoeffding's inequality
``P(L > m + x) <= e^(-x^2/2V)``, which is at least delta(m + x). Moreover ``delta(m + x) = int_0^inf e^-u P(L > m + x +
u) du <= e^(-x^2/2V) / (1 + x/V)``, at most ``sqrt(V) e^(-x^2/2V)`` for ``x >= sqrt(V)``: hence the second s.

A search in one variable splits delta between slack and rounds; a common price of delta splits it between kinds of
rounds. Each round's epsilon comes from its own privacy curve, in both directions, with the rounding charged. Simple
composition is used where its epsilon is smaller. Delta at a given epsilon is the smallest delta at which the bound on
epsilon does not exceed it.

Cost: some twenty inversions of a privacy curve for each kind of round, whatever the number of rounds. Known failure:
per-round guarantees ignore that a sampled round rarely has a large loss; for DP-SGD epsilon is tens to hundreds of
times too large. Even under ``add`` or ``remove`` alone, the opposite direction counts too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hockeystick.accountants.shared.privacy_curve import LOST
from hockeystick.accountants.shared.round_guarantee import CARE, Kinds, SplitAccountant


class AdvancedAccountant(SplitAccountant):
    """Advanced composition of per-round guarantees."""

    name = "advanced"
    summary = "upper bound: advanced composition of per-round (epsilon, delta)"

    def composed(self, kinds: Kinds, each: Sequence[float], slack: float) -> float:
        """Return epsilon of the composition from the epsilons of the rounds, at ``delta' = 1 - e^-slack``.

        All terms are positive, so that a relative slack covers the rounding of each sum; LOST covers underflow.
        """
        if any(math.isinf(epsilon) for epsilon in each):
            return math.inf
        parts = [(count, epsilon) for (_, count), epsilon in zip(kinds, each, strict=True)]
        total = math.fsum(count * epsilon for count, epsilon in parts) * (1 + CARE)
        delta = -math.expm1(-slack) * (1 - CARE)
        if delta <= 0:
            return total
        # V and m of the theorem, and the smaller s
        square = math.fsum(count * epsilon * epsilon for count, epsilon in parts) + LOST
        mean = math.fsum(count * epsilon * math.tanh(0.5 * epsilon) for count, epsilon in parts)
        depth = min(-math.log(delta), math.log(math.e + math.sqrt(square) / delta))
        return min(total, (mean + math.sqrt(2 * square * depth)) * (1 + CARE))
