"""What your differential privacy really costs: certified two-sided bounds on epsilon and delta under composition.

>>> import hockeystick as hs
>>> plan = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=10_000)
>>> bound = plan.epsilon(delta=1e-6)
>>> bound.lower <= 6.907384495 <= bound.upper
True
"""

import hockeystick.start  # noqa: F401  # first: it says what Ctrl-C does while the rest is imported

# isort: split
from typing import TYPE_CHECKING

from hockeystick.accountants import ACCOUNTANTS
from hockeystick.plan.mechanisms import Gaussian
from hockeystick.plan.plan import Plan, dp_sgd
from hockeystick.plan.round import Round
from hockeystick.plan.sampling import NoSampling, Poisson
from hockeystick.values.adjacency import Adjacency, Direction
from hockeystick.values.bounds import Bound, DeltaBound, DeltaEstimate, DeltaUpperBound, Estimate, UpperBound
from hockeystick.values.errors import (
    BudgetError,
    HockeystickError,
    InvalidInputError,
    NotApplicableError,
    UnreachableError,
    UnsupportedError,
)
from hockeystick.values.late import exports

LATE = {
    "Accountant": "questions.stepper",
    "ApproximateDP": "plan.mechanisms.approximate_dp",
    "Band": "values.band",
    "Binomial": "plan.mechanisms.binomial",
    "Calibration": "questions.calibration",
    "DiscreteGaussian": "plan.mechanisms.discrete_gaussian",
    "DiscreteLaplace": "plan.mechanisms.discrete_laplace",
    "Laplace": "plan.mechanisms.laplace",
    "Pair": "plan.own_pair",
    "Parameter": "questions.parameters",
    "Pmf": "plan.mechanisms.pmf",
    "Profile": "plan.profile",
    "RandomizedResponse": "plan.mechanisms.randomized_response",
    "Staircase": "plan.mechanisms.staircase",
    "ZCDP": "plan.mechanisms.zcdp",
    "Tradeoff": "plan.mechanisms.tradeoff",
    "RDP": "plan.mechanisms.rdp",
    "PrivacyCurve": "plan.mechanisms.privacy_curve",
    "GDP": "plan.mechanisms.gdp",
    "DPSGDJL": "plan.mechanisms.dp_sgd_jl",
    "WithoutReplacement": "plan.sampling.without_replacement",
    "calibrate": "questions.calibration",
    "conversions": "conversions",
    "filters": "filters",
    "load_plan": "plan.file",
    "targets": "targets",
}
"""The module of each public name that most first answers do not need: imported when somebody asks for the name."""

if TYPE_CHECKING:
    from hockeystick import conversions, filters, targets
    from hockeystick.plan.file import load_plan
    from hockeystick.plan.mechanisms.approximate_dp import ApproximateDP
    from hockeystick.plan.mechanisms.binomial import Binomial
    from hockeystick.plan.mechanisms.discrete_gaussian import DiscreteGaussian
    from hockeystick.plan.mechanisms.discrete_laplace import DiscreteLaplace
    from hockeystick.plan.mechanisms.dp_sgd_jl import DPSGDJL
    from hockeystick.plan.mechanisms.gdp import GDP
    from hockeystick.plan.mechanisms.laplace import Laplace
    from hockeystick.plan.mechanisms.pmf import Pmf
    from hockeystick.plan.mechanisms.privacy_curve import PrivacyCurve
    from hockeystick.plan.mechanisms.randomized_response import RandomizedResponse
    from hockeystick.plan.mechanisms.rdp import RDP
    from hockeystick.plan.mechanisms.staircase import Staircase
    from hockeystick.plan.mechanisms.tradeoff import Tradeoff
    from hockeystick.plan.mechanisms.zcdp import ZCDP
    from hockeystick.plan.own_pair import Pair
    from hockeystick.plan.profile import Profile
    from hockeystick.plan.sampling.without_replacement import WithoutReplacement
    from hockeystick.questions.calibration import Calibration, calibrate
    from hockeystick.questions.parameters import Parameter
    from hockeystick.questions.stepper import Accountant
    from hockeystick.values.band import Band
else:
    __getattr__ = exports(__name__, LATE)

__version__ = "0.1.0"

__all__ = [
    "ACCOUNTANTS",
    "DPSGDJL",
    "GDP",
    "RDP",
    "ZCDP",
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
    "Pair",
    "Parameter",
    "Plan",
    "Pmf",
    "Poisson",
    "PrivacyCurve",
    "Profile",
    "RandomizedResponse",
    "Round",
    "Staircase",
    "Tradeoff",
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
