"""Selections of the best noisy utility: proof of their pure epsilon for any of the usual kinds of noise.

Candidates have utilities of which each changes by at most D between neighbours. Independent noise Z is added to each,
the candidate with the largest sum is chosen, and only its name is released.

**Lemma** (after Dwork, Roth 2014 [DR14], Claim 3.9). Let ``P(Z >= r + c) >= e^(-c/b) P(Z >= r)`` for all r and all
``c >= 0``, as of Laplace, exponential and Gumbel noise of scale b. Then the choice satisfies ``epsilon = 2 D / b``;
where all utilities change in one direction at a time, ``epsilon = D / b``.

Proof. Fix the noise of all candidates but y. On one dataset y wins if its noise is at least some r; on the neighbour,
if it is at least some r', and ``r' <= r + 2 D``, as y's own utility and the best of the others change by at most D each
(in one direction at a time: by D together). So the chance on the neighbour is at least ``e^(-2D/b)`` of that on the
first; average over the noise of the others. Gumbel noise of scale b: with ``u = e^(-r/b)`` the ratio is ``(1 - e^(-u
q)) / (1 - e^-u)``, ``q = e^(-c/b) <= 1``, and ``1 - e^(-uq) >= q (1 - e^-u)`` as ``1 - e^-x`` is concave and 0 at 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hockeystick.pairs import BlackBoxPair
from hockeystick.plan.mechanisms.base import Property, SymmetricMechanism
from hockeystick.values.domains import ROUND_EPSILON


@dataclass(frozen=True)
class NoisySelection(SymmetricMechanism):
    """Choice whose upper bounds use its pure epsilon only.

    Attributes:
        epsilon: pure epsilon of one choice under the plan's own adjacency; 0 or greater.

    Raises:
        InvalidInputError: a value is outside its domain.
    """

    epsilon: Annotated[float, ROUND_EPSILON.of("pure epsilon of one selection")]

    properties = frozenset({Property.GUARANTEE})

    def with_against_without(self) -> BlackBoxPair:
        """Return the worst pair with this epsilon, which does not depend on the direction."""
        return BlackBoxPair(self.epsilon)
