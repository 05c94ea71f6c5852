"""What your differential privacy really costs: certified two-sided bounds on epsilon and delta under composition.

>>> import hockeystick as hs
>>> plan = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=10_000)
>>> bound = plan.epsilon(delta=1e-6)
>>> bound.lower <= 6.907384495 <= bound.upper
True
"""

import hockeystick.start  # noqa: F401  # first: it says what Ctrl-C does while the rest is imported

# isort: split
from hockeystick import conversions, filters, targets
from hockeystick.accountants import ACCOUNTANTS
from hockeystick.plan.file import load_plan
from hockeystick.plan.mechanisms import (
    ApproximateDP,
    Binomial,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Pmf,
    RandomizedResponse,
    Staircase,
)
from hockeystick.plan.plan import Plan, dp_sgd
from hockeystick.plan.profile import Profile
from hockeystick.plan.round import Round
from hockeystick.plan.sampling import NoSampling, Poisson, WithoutReplacement
from hockeystick.questions.calibration import Calibration, calibrate
from hockeystick.questions.parameters import Parameter
from hockeystick.questions.stepper import Accountant
from hockeystick.values.adjacency import Adjacency, Direction
from hockeystick.values.band import Band
from hockeystick.values.bounds import Bound, DeltaBound, DeltaEstimate, DeltaUpperBound, Estimate, UpperBound
from hockeystick.values.errors import (
    BudgetError,
    HockeystickError,
    InvalidInputError,
    NotApplicableError,
    UnreachableError,
    UnsupportedError,
)

__version__ = "0.1.0"

__all__ = [
    "ACCOUNTANTS",
    "Accountant",
    "Adjacency",
    "ApproximateDP",
    "Band",
    "Binomial",
    "Bound",
    "BudgetError",
    "Calibration",
    "DeltaBound",
    "DeltaEstimate",
    "DeltaUpperBound",
    "Direction",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Estimate",
    "Gaussian",
    "HockeystickError",
    "InvalidInputError",
    "Laplace",
    "NoSampling",
    "NotApplicableError",
    "Parameter",
    "Plan",
    "Pmf",
    "Poisson",
    "Profile",
    "RandomizedResponse",
    "Round",
    "Staircase",
    "UnreachableError",
    "UnsupportedError",
    "UpperBound",
    "WithoutReplacement",
    "__version__",
    "calibrate",
    "conversions",
    "dp_sgd",
    "filters",
    "load_plan",
    "targets",
]


def __dir__() -> list[str]:
    """The public names, without the modules that importing them leaves here."""
    return __all__
