"""``advanced``: advanced composition. An upper bound: epsilon grows with the square root of the number of rounds.

Let round i be (epsilon_i, delta_i)-differentially private in both directions (P against Q, and Q against P), let
``V = sum epsilon_i^2``, and let delta' > 0 be any number, the slack.

Kairouz, Oh, Viswanath 2015 [KOV15], Theorem 3.5: at delta ``1 - (1 - delta') prod (1 - delta_i)``, epsilon is the
smaller of ``sum epsilon_i`` and ``m + sqrt(2 V s)``, with ``m = sum epsilon_i tanh(epsilon_i / 2)`` and ``s`` the
smaller of ``log(1/delta')`` and ``log(e + sqrt(V)/delta')``. This epsilon is never above that of Dwork, Rothblum,
Vadhan 2010 [DRV10], ``sum epsilon_i (e^epsilon_i - 1) + sqrt(2 V log(1/delta'))`` at delta ``delta' + sum delta_i``,
nor above zCDP's ``V/2 + sqrt(2 V log(1/delta'))``, as ``tanh(x/2) <= x/2``.

Proof: in the worst case the loss of round i takes the values epsilon_i and -epsilon_i only, with mean
``epsilon_i tanh(epsilon_i/2)``. For their sum L, Hoeffding's inequality gives ``P(L > m + x) <= e^(-x^2/2V)``, and
``delta(m + x) <= P(L > m + x)``: this is the first value of s. Moreover ``delta(m + x) = int_0^inf e^-u P(L > m + x +
u) du <= e^(-x^2/2V) / (1 + x/V)``, at most ``sqrt(V) e^(-x^2/2V)`` for ``x >= sqrt(V)``: this is the second value of s.

The slack is half of delta, none or all of it, whichever gives the smallest epsilon. The rest is divided among the
rounds equally, or in proportion to the squares of the epsilons at equal parts. Each round's epsilon is read from its
own privacy curve, in both directions, and rounded up. Simple composition is used where its epsilon is smaller. For a
given epsilon, the answer is the smallest delta at which the bound on epsilon is at most the given one.

Cost: a few inversions of a privacy curve for each kind of round, whatever the number of rounds. Known failure:
per-round guarantees ignore that a sampled round rarely has a large loss; for DP-SGD, epsilon is tens to hundreds of
times too large. Even if the plan has only the direction ``add`` or ``remove``, the bound also depends on the opposite
direction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hockeystick.accountants.shared.lattice import CARE
from hockeystick.accountants.shared.privacy_curve import LOST
from hockeystick.accountants.shared.round_guarantee import Kinds, SplitAccountant


class AdvancedAccountant(SplitAccountant):
    """Accountant by advanced composition of per-round guarantees."""

    name = "advanced"
    summary = "upper bound: advanced composition of per-round (epsilon, delta)"

    def composed(self, kinds: Kinds, each: Sequence[float], slack: float) -> float:
        """Return an upper bound on epsilon of the composition at ``delta' = 1 - e^-slack``, from the rounds' epsilons.

        The sums are raised by a relative margin that covers their rounding, since all terms are positive. ``LOST`` is
        added to V in case its terms underflow.
        """
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
