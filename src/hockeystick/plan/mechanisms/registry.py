"""All mechanisms, for what goes through them: plan files, their schema, the table of what is supported."""

from hockeystick.plan.mechanisms.approximate_dp import ApproximateDP
from hockeystick.plan.mechanisms.base import Mechanism
from hockeystick.plan.mechanisms.gaussian import Gaussian
from hockeystick.plan.mechanisms.laplace import Laplace
from hockeystick.plan.mechanisms.randomized_response import RandomizedResponse

MECHANISMS: tuple[type[Mechanism], ...] = (Gaussian, Laplace, RandomizedResponse, ApproximateDP)
"""All mechanisms, in the order in which they are listed to people."""
