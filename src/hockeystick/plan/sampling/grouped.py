"""Correlated noise within groups: a run whose strategy has at most as many bands as there are groups of records.

A record belongs to one of b groups, and takes part in no steps but g, g + b, g + 2b, .. of a run of n steps, where g
depends on the group. The law by which it takes part is fixed beforehand and independent of data, noise and all other
records. Let ``c_i`` be the columns of the strategy C, which is lower triangular with at most b bands, and s the noise.
Let ``B_j = 1`` if the record takes part in the j-th step of its group, ``i_j = g + j b``, and else 0.

**Theorem.** The run is dominated by ``v_j = |c_{i_j}| B_j + s Z_j`` against ``s Z_j``, with independent standard normal
Z. This is a round with noise ``s / |c_{i_j}|`` for each step of the group, sampled by the law of B. *Proof*: subtract
what the other records contribute. Since C has b bands, row t of the release is then
``<B_j c_{i_j}(t) x_{i_j}> + s z_t`` for the one j with ``i_j <= t < i_j + b``. Given the past, the gradient
``x_{i_j}``, of norm at most 1, is fixed before row ``i_j``. So the b rows of j are a randomised function of
``B_j |c_{i_j}| + s Z_j``: this number is multiplied by the direction of ``c_{i_j}`` times x, and noise is added across
this direction and, for a shorter x, along it. The function is the same whatever B is, and the blocks of b rows are
independent given B. Gradients along one direction attain the bound. Choquette-Choo, Ganesh, McKenna, McMahan, Rush,
Thakurta, Xu 2023 [CGM+23] prove the case of cyclic Poisson sampling.

**Groups differ** in the norms of their columns, and by one step where b does not divide n. *Above*, the j-th norm of
every group is replaced by the largest j-th norm of all groups. This is an upper bound, because more noise is a
post-processing. *Poisson sampling*: a group with fewer steps is one with more steps of which the rest is ignored.
*Random allocation*: a draw from more steps costs less (by the argument for larger batches in ``random_allocation.py``),
so the groups with ``floor(n / b)`` steps count, with the largest norm of all. *Below* is the pair of one of the groups;
for random allocation, all its norms are replaced by its smallest one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import DominatingPair, GaussianPair
from hockeystick.pairs.joint import JointPair
from hockeystick.pairs.sides import Between
from hockeystick.plan.mechanisms.base import Claim, Mechanism, Status, refused

if TYPE_CHECKING:
    from hockeystick.plan.mechanisms.matrix_gaussian import MatrixGaussian

Array = npt.NDArray[np.float64]
Sampled = Callable[[GaussianPair], DominatingPair]
"""Function from the Gaussian pair of a step's noise to the pair of a sampled step of the record's group."""

GROUPED = Claim(Status.BRACKET, "proof in plan/sampling/grouped.py, after Choquette-Choo et al. 2023 [CGM+23]")
"""Claim for correlated noise with at most as many bands as groups."""

WHY = "the columns of the strategy differ in norm, or their norms are known only up to rounding"


def run_of(mechanism: Mechanism) -> MatrixGaussian:
    """Return the mechanism, typed as a run; its properties must declare it to be one."""
    return cast("MatrixGaussian", mechanism)


def refusal(run: MatrixGaussian, groups: int, name: str) -> Claim | None:
    """Return a refusal if the theorems on records in groups do not apply to a run, else None."""
    places = -(-run.steps // groups)
    if run.min_separation != groups:
        return refused(
            f"min_separation of correlated noise must be {groups}, the number of {name}; received {run.min_separation}"
        )
    if run.participations < places:
        return refused(
            f"max_participations must be at least {places}, the number of steps in which a record may take part; "
            f"received {run.participations}; leave it out"
        )
    return None


def banded(run: MatrixGaussian, groups: int) -> Claim:
    """Return the claim for sampling within groups; it is a refusal if the strategy has more bands than groups."""
    bands = run.strategy.bands
    found = refusal(run, groups, "groups")
    if found is None and bands > groups:
        reason = f"with {groups} groups a strategy may have at most {groups} bands; received {bands}"
        return refused(f"{reason}; use sampling 'balls-in-bins' or 'none', or fewer bands")
    return found or GROUPED


def poisson(run: MatrixGaussian, groups: int, sampled: Sampled) -> Between:
    """Return an upper and a lower pair of a run in which each step samples from its group independently."""
    grid = _squares(run, groups)
    one = grid[:, int(grid.sum(axis=0).argmax())]
    return Between(_product(run, grid.max(axis=1), 1, sampled), (_product(run, one, -1, sampled),), WHY)


def allocated(run: MatrixGaussian, steps_per_epoch: int, sampled: Sampled) -> Between:
    """Return an upper and a lower pair of a run in which a record draws one of its group's steps in each epoch."""
    grid = _squares(run, run.min_separation)
    places, longer = divmod(run.steps, run.min_separation)
    epochs, least = places // steps_per_epoch, grid[:places, longer:].min(axis=0).max()
    ends = (_product(run, np.full(epochs, square), side, sampled) for square, side in ((grid.max(), 1), (least, -1)))
    above, below = ends
    return Between(above, (below,), WHY)


def _squares(run: MatrixGaussian, groups: int) -> Array:
    """Squared norms of the columns of C, shape (steps of a group, groups); 0 where a group has one step less."""
    found = run.strategy.products(0)
    out = np.zeros((-(-len(found) // groups), groups))
    out.ravel()[: len(found)] = found
    return out


def _product(run: MatrixGaussian, squares: Array, side: int, sampled: Sampled) -> JointPair:
    """Product of one sampled round for each squared norm, at distances rounded up (side 1) or down (-1)."""
    known = 1 + side * (run.strategy.error + 8 * UNIT_ROUNDOFF)
    counts = Counter(math.sqrt(max(square * known, 0.0)) / run.noise_multiplier for square in squares[squares > 0])
    return JointPair(tuple((sampled(GaussianPair(mu)), count) for mu, count in counts.items()))
