"""Height at which the sum on a contour is cut, and the bound on the terms beyond it.

The sum runs over the points ``t + i s_j`` with ``s_j = j step``; let ``P = 2 pi / step``. Bounds on the decay of each
round (:class:`Envelope`) give a number rho(S) with ``rho(S) >= prod |m_i(t + is) / m_i(t)|^k_i`` for all s >= S. As
``|z (1 + z)| >= s^2`` and 1/s^2 decreases, the terms between the heights S < S', together with their conjugates below
the real axis, add up to at most

    (2 / P) e^(K(t) - t eps) rho(S) sum 1 / s_j^2 <= e^(K(t) - t eps) rho(S) / pi (step / S^2 + 1/S - 1/S') .

The heights S, S', ... at which rho is evaluated are called edges. The terms beyond the last edge have the same bound
with ``1/S' = 0``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import SPARE
from hockeystick.pairs.transform import Transform
from hockeystick.values.errors import NotApplicableError

Array = npt.NDArray[np.float64]

START = 0.9  # first edge, relative to the edge for a normal law
RATIO = 2**0.2  # ratio of neighbouring edges
EDGES = 6  # number of edges evaluated together
MAX_COST = 3e6  # largest product of the numbers of edges and nodes, which takes half a second
SLOW = "the characteristic function is not known to decay fast enough"  # reason if no edge tried is high enough


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """Height at which the sum on a contour is cut, and bounds on the decay from there on.

    Attributes:
        edges: shape (m,), increasing heights; the sum is cut at the first one.
        bounds: shape (kinds, m); for one round of each kind, an upper bound on ``log |m(t + is) / m(t)|`` for all s
            that are at least an edge.
    """

    edges: Array
    bounds: Array

    @property
    def reach(self) -> float:
        """The height s at which the sum is cut."""
        return float(self.edges[0])

    def log_tail(self, counts: Array, step: float) -> float:
        """Return the log of a bound on the sum of all terms beyond the cut, relative to ``e^(K(t) - t eps)``."""
        return float(log_tails(self.edges, counts @ self.bounds, step)[0]) + SPARE


def cut(
    transforms: list[tuple[Transform, int]],
    t: float,
    step: float,
    depth: float,
    variance: float,
    most: int,
) -> Cut:
    """Return the lowest height tried beyond which the terms of the sum may be left out.

    Args:
        transforms: characteristic function and number of rounds of each kind.
        t: tilt.
        step: distance between the points of the sum.
        depth: log of the allowed sum of the terms beyond the cut, relative to ``e^(K(t) - t eps)``.
        variance: approximate variance of the tilted law.
        most: largest number of points allowed.

    The search tries a few heights (edges) at a time, in increasing order, and ends at the first edge beyond which the
    terms are small enough.

    Raises:
        NotApplicableError: no edge within ``most`` points is high enough, or the bounds take too much work.
    """
    envelopes = [(transform.envelope(t, k), k) for transform, k in transforms]
    counts = np.array([float(k) for _, k in envelopes])
    first = START * math.sqrt(2 * max(-depth, 1.0) / max(variance, 1e-300))
    first = min(max(first, 0.5 * step), 0.5 * most * step)
    look = EDGES * sum(envelope.cost for envelope, _ in envelopes)
    most_looks = MAX_COST / look
    edges = first * RATIO ** np.arange(EDGES, dtype=np.float64)
    for _ in range(max(1, int(most_looks))):
        bounds = np.array([envelope.log_bound(edges) for envelope, _ in envelopes])
        enough = log_tails(edges, counts @ bounds, step) <= depth
        at = int(np.argmax(np.append(enough, True)))
        if edges[min(at, EDGES - 1)] > most * step:
            raise NotApplicableError(SLOW)
        if at < EDGES:
            return Cut(edges[at:], bounds[:, at:])
        edges = edges * RATIO**EDGES
    raise NotApplicableError("finding where the characteristic function decays would take too long")


def log_tails(edges: Array, log_rho: Array, step: float) -> Array:
    """Return, for each edge, the log of the bound on all terms beyond it together, relative to ``e^(K(t) - t eps)``."""
    ends = np.zeros(len(edges))
    np.divide(1.0, edges[1:], out=ends[:-1])
    pieces = log_rho + np.log((step / np.square(edges) + 1 / edges - ends) / math.pi)
    out: Array = np.logaddexp.accumulate(pieces[::-1])[::-1]
    return out
