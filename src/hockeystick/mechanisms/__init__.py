"""What was run on the data: one frozen dataclass a mechanism, one mechanism a file."""

from hockeystick.mechanisms.approximate_dp import ApproximateDP
from hockeystick.mechanisms.base import Claim, Mechanism, Status
from hockeystick.mechanisms.gaussian import Gaussian
from hockeystick.mechanisms.laplace import Laplace
from hockeystick.mechanisms.randomized_response import RandomizedResponse

MECHANISMS: tuple[type[Mechanism], ...] = (Gaussian, Laplace, RandomizedResponse, ApproximateDP)
"""All mechanisms, in the order in which they are listed to people."""

__all__ = [
    "MECHANISMS",
    "ApproximateDP",
    "Claim",
    "Gaussian",
    "Laplace",
    "Mechanism",
    "RandomizedResponse",
    "Status",
]
