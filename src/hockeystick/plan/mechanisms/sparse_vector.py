"""The sparse vector technique, by its published bound: pure epsilon of each search for an answer above a threshold.

AboveThreshold (Dwork, Roth 2014 [DR14], Algorithm 1) gets a threshold and a stream of queries, each of which changes by
at most D between neighbours and may depend on earlier answers. It adds Laplace noise of scale ``2 D / epsilon`` to the
threshold, and of scale ``4 D / epsilon`` to every query, reports each that is below, and stops at the first that is
not. However many queries there are, it is epsilon-differentially private (Theorem 3.23 there).

*Proof.* Let the search stop at query k, and fix the noise of the queries before. It stops there if the noisy threshold
T exceeds the largest noisy query g before, and query k with its noise is at least T. On the neighbour g changes by at
most D: let T move along with it, which costs a factor ``e^(epsilon / 2)`` for a scale of ``2 D / epsilon``; then query
k has to gain at most ``2 D`` more, by its own change and by that of T: another ``e^(epsilon / 2)``. Average over the
rest.

**Sparse** (Algorithm 2 there) searches again, with a *new* noisy threshold, until c queries were above: c searches,
each with fresh noise. It is the composition of c mechanisms of pure epsilon, chosen adaptively. The optimum of that
composition is known (Kairouz, Oh, Viswanath 2015 [KOV15]), and is below both published bounds of the technique, c
epsilon and that of advanced composition.

Several published variants are not private at all (Lyu, Su, Li 2017 [LSL17]). Fresh noise must be added to each query,
and only the words "above" and "below" may be released. If the threshold keeps its noise, the scales must grow with c
(Algorithm 7 there); such a guarantee can be given as ``approximate-dp`` with delta 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hockeystick.pairs import BlackBoxPair
from hockeystick.pairs.joint import JointPair
from hockeystick.plan.mechanisms.base import AS_GIVEN, Claim, Mechanism, Property, Status, claims_of
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import ROUND_EPSILON, whole_numbers

MAX_SEARCHES = 1_000_000
"""Largest number of searches of one run."""

_ABOVE = Claim(
    Status.UPPER,
    "Dwork, Roth 2014 [DR14], Theorem 3.23: pure epsilon of a search; see plan/mechanisms/sparse_vector.py",
)


@dataclass(frozen=True)
class SparseVector(Mechanism):
    """Up to ``cutoff`` searches for queries above a threshold, each with fresh noise.

    Noise is Laplace, of scale ``2 sensitivity / epsilon`` on the threshold, anew for every search, and of scale ``4
    sensitivity / epsilon`` on every query. The sensitivity is that under the plan's own adjacency.

    Args:
        epsilon: pure epsilon of one search; 0 or greater.
        cutoff: number of answers above the threshold that ends the run.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> SparseVector(epsilon=0.1, cutoff=5).pair(Direction.ADD).loss_range
    (-0.5, 0.5)
    """

    epsilon: Annotated[float, ROUND_EPSILON.of("pure epsilon of one search")]
    cutoff: Annotated[int, whole_numbers(1, MAX_SEARCHES).of("number of answers above the threshold that ends the run")]

    name = "sparse-vector"
    claims = claims_of(_ABOVE, _ABOVE)
    zeroed = AS_GIVEN
    properties = frozenset({Property.JOINT})

    def pair(self, direction: Direction) -> JointPair:
        """Return the product of the worst pairs with this epsilon, one for each search."""
        return JointPair(((BlackBoxPair(self.epsilon), self.cutoff),))
