"""What was run on the data: one frozen dataclass a mechanism, one mechanism a file."""

from hockeystick.plan.mechanisms.approximate_dp import ApproximateDP
from hockeystick.plan.mechanisms.base import Claim, Mechanism, Property, Status
from hockeystick.plan.mechanisms.gaussian import Gaussian
from hockeystick.plan.mechanisms.laplace import Laplace
from hockeystick.plan.mechanisms.mixture_gaussian import MixtureGaussian
from hockeystick.plan.mechanisms.randomized_response import RandomizedResponse

MECHANISMS: tuple[type[Mechanism], ...] = (Gaussian, Laplace, RandomizedResponse, ApproximateDP, MixtureGaussian)
"""All mechanisms, in the order in which they are listed to people."""

__all__ = [
    "MECHANISMS",
    "ApproximateDP",
    "Claim",
    "Gaussian",
    "Laplace",
    "Mechanism",
    "MixtureGaussian",
    "Property",
    "RandomizedResponse",
    "Status",
]
