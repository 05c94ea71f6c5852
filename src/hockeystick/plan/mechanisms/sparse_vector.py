"""The sparse vector technique, by its published bound: pure epsilon of each search for an answer above a threshold.

AboveThreshold (Dwork, Roth 2014 [DR14], Algorithm 1) gets a threshold and a stream of queries, each of which changes by
at most D between neighbours and may depend on earlier answers. It adds Laplace noise of scale ``2 D / epsilon`` to the
threshold, and of scale ``4 D / epsilon`` to every query. It reports "below" for each noisy query below the noisy
threshold, and stops at the first one that is not below. However many queries there are, it is epsilon-differentially
private (Theorem 3.23 there).

*Proof.* Let the search stop at query k, and fix the noise of the queries before k. The search stops at k if the noisy
threshold T exceeds g, the largest noisy query before k, and the noisy query k is at least T. On the neighbour, g
changes by at most D. Let T move along with g, which costs a factor ``e^(epsilon / 2)``, as the noise of T has scale ``2
D / epsilon``. Then the noise of query k has to rise by at most ``2 D``, to make up for the change of the query and for
that of T, which costs another factor ``e^(epsilon / 2)``. Averaging over the fixed noise completes the proof.

**Sparse** (Algorithm 2 there) searches again, with a *new* noisy threshold, until c queries were above: c searches,
each with fresh noise. It is the composition of c adaptively chosen mechanisms of pure epsilon. The optimal bound on
that composition is known (Kairouz, Oh, Viswanath 2015 [KOV15]), and is below both published bounds for Sparse: c
epsilon, and the bound of advanced composition.

Several published variants are not private at all (Lyu, Su, Li 2017 [LSL17]). Fresh noise must be added to each query,
and only the words "above" and "below" may be released. If the threshold keeps its noise, the scales must grow with c
(Algorithm 7 there); such a guarantee can be given as ``approximate-dp`` with delta 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hockeystick.pairs import BlackBoxPair
from hockeystick.pairs.joint import JointPair
from hockeystick.plan.mechanisms.base import AS_GIVEN, MOST_PARTS, Claim, Mechanism, Property, Status, claims_of
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import ROUND_EPSILON, whole_numbers

_ABOVE = Claim(
    Status.UPPER,
    "Dwork, Roth 2014 [DR14], Theorem 3.23: pure epsilon of a search; see plan/mechanisms/sparse_vector.py",
)


@dataclass(frozen=True)
class SparseVector(Mechanism):
    """Up to ``cutoff`` searches for queries above a threshold, each with fresh noise.

    The noise is Laplace: of scale ``2 sensitivity / epsilon`` on the threshold, drawn anew for every search, and of
    scale ``4 sensitivity / epsilon`` on every query. The sensitivity is the largest change of a query under the plan's
    own adjacency.

    Args:
        epsilon: pure epsilon of one search; 0 or greater.
        cutoff: number of answers above the threshold after which the run ends.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> SparseVector(epsilon=0.1, cutoff=5).pair(Direction.ADD).loss_range
    (-0.5, 0.5)
    """

    epsilon: Annotated[float, ROUND_EPSILON.of("pure epsilon of one search")]
    cutoff: Annotated[int, whole_numbers(1, MOST_PARTS).of("number of answers above the threshold that ends the run")]

    name = "sparse-vector"
    claims = claims_of(_ABOVE, _ABOVE)
    zeroed = AS_GIVEN
    properties = frozenset({Property.JOINT})

    def pair(self, direction: Direction) -> JointPair:
        """Return the product of the worst pairs with this epsilon, one for each search."""
        return JointPair(((BlackBoxPair(self.epsilon), self.cutoff),))
