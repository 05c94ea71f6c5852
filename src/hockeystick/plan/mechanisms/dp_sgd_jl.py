"""DP-SGD-JL: a gradient step whose norms are estimated by random projections before they are clipped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hockeystick.pairs.knots import KnottedPair
from hockeystick.plan.mechanisms.base import AS_ABSENT, Claim, Property, Status, SymmetricMechanism, claims_of, refused
from hockeystick.values.domains import Domain, whole_numbers

_UPPER = Claim(
    Status.UPPER,
    "Bu, Gopi, Kulkarni, Lee, Shen, Tantipongpipat 2021 [BGK+21], for the step; proof of the pair in pairs/jl.py",
)

_REPLACED = refused("no dominating pair is proven for two random sensitivities in opposite directions")


@dataclass(frozen=True)
class DPSGDJL(SymmetricMechanism):
    """Normal noise on a sum of gradients that are clipped by norms estimated from random projections.

    The estimate of a norm may be too small, so the sensitivity is random: ``sqrt(r / X)`` times the clipping bound,
    where X is chi-squared with r degrees of freedom. No Renyi divergence is finite, so accountants of moments do not
    apply.

    Args:
        noise_multiplier: standard deviation of the noise divided by the clipping bound, 0.1 to 1000.
        projections: number r of random projections of each gradient.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> from hockeystick import Direction
    >>> DPSGDJL(noise_multiplier=1.0, projections=20).pair(Direction.REMOVE).infinite_mass < 1e-9
    True
    """

    noise_multiplier: Annotated[
        float,
        Domain("a number from 0.1 to 1000", {"minimum": 0.1, "maximum": 1000}).of(
            "standard deviation of the noise / clipping bound"
        ),
    ]
    projections: Annotated[int, whole_numbers(1, 100_000).of("number of random projections that estimate a norm")]

    name = "dp-sgd-jl"
    claims = claims_of(_UPPER, _REPLACED)
    zeroed = AS_ABSENT
    properties = frozenset({Property.INFINITE_LOSS})

    def with_against_without(self) -> KnottedPair:
        """Return the mixture of Gaussian pairs over the random projections, which are taken as public."""
        from hockeystick.pairs.jl import jl_pair  # late: needs SciPy's special functions, which most plans do not

        return jl_pair(self.noise_multiplier, self.projections)
