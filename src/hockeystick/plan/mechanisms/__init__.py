"""What was run on the data: one frozen dataclass a mechanism, one mechanism a file, all of them in ``registry.py``."""

from typing import TYPE_CHECKING

from hockeystick.plan.mechanisms.base import Claim, Mechanism, Property, Status
from hockeystick.values.late import exports

LATE = {
    "MECHANISMS": "registry",
    "ApproximateDP": "approximate_dp",
    "Gaussian": "gaussian",
    "Laplace": "laplace",
    "RandomizedResponse": "randomized_response",
}
"""The file of each name that is imported when somebody asks for it."""

if TYPE_CHECKING:
    from hockeystick.plan.mechanisms.approximate_dp import ApproximateDP
    from hockeystick.plan.mechanisms.gaussian import Gaussian
    from hockeystick.plan.mechanisms.laplace import Laplace
    from hockeystick.plan.mechanisms.randomized_response import RandomizedResponse
    from hockeystick.plan.mechanisms.registry import MECHANISMS
else:
    __getattr__ = exports(__name__, LATE)

__all__ = [
    "MECHANISMS",
    "ApproximateDP",
    "Claim",
    "Gaussian",
    "Laplace",
    "Mechanism",
    "Property",
    "RandomizedResponse",
    "Status",
]
