"""What your differential privacy really costs: certified two-sided bounds on epsilon and delta under composition.

>>> import hockeystick as hs
>>> plan = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=10_000)
>>> bound = plan.epsilon(delta=1e-6)
>>> bound.lower <= 6.907384495 <= bound.upper
True
"""

from hockeystick.accountants import ACCOUNTANTS
from hockeystick.adjacency import Adjacency, Direction
from hockeystick.bounds import Bound, DeltaBound, DeltaEstimate, DeltaUpperBound, Estimate, UpperBound
from hockeystick.errors import HockeystickError, InvalidInputError, NotApplicableError, UnsupportedError
from hockeystick.mechanisms import ApproximateDP, Gaussian, Laplace, RandomizedResponse
from hockeystick.odometer import Accountant
from hockeystick.plan import Plan, Round, dp_sgd
from hockeystick.planfile import load_plan
from hockeystick.sampling import NoSampling, Poisson, WithoutReplacement

__version__ = "0.1.0"

__all__ = [
    "ACCOUNTANTS",
    "Accountant",
    "Adjacency",
    "ApproximateDP",
    "Bound",
    "DeltaBound",
    "DeltaEstimate",
    "DeltaUpperBound",
    "Direction",
    "Estimate",
    "Gaussian",
    "HockeystickError",
    "InvalidInputError",
    "Laplace",
    "NoSampling",
    "NotApplicableError",
    "Plan",
    "Poisson",
    "RandomizedResponse",
    "Round",
    "UnsupportedError",
    "UpperBound",
    "WithoutReplacement",
    "__version__",
    "dp_sgd",
    "load_plan",
]
