"""What your differential privacy really costs: certified two-sided bounds on epsilon and delta under composition.

>>> import hockeystick as hs
>>> plan = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=10_000)
>>> bound = plan.epsilon(delta=1e-6)
>>> bound.lower <= 6.907384495 <= bound.upper
True
"""

from hockeystick.start import COMMAND  # first: it says what Ctrl-C does while the rest is imported

# isort: split
from typing import TYPE_CHECKING

from hockeystick.values.late import exports

LATE = {
    "ACCOUNTANTS": "accountants",
    "Accountant": "questions.stepper",
    "Adjacency": "values.adjacency",
    "ApproximateDP": "plan.mechanisms.approximate_dp",
    "Band": "values.band",
    "Bound": "values.bounds",
    "BudgetError": "values.errors",
    "Calibration": "questions.calibration",
    "CyclicPoisson": "plan.sampling.cyclic_poisson",
    "DeltaBound": "values.bounds",
    "DeltaEstimate": "values.bounds",
    "DeltaUpperBound": "values.bounds",
    "Direction": "values.adjacency",
    "Estimate": "values.bounds",
    "Gaussian": "plan.mechanisms.gaussian",
    "HockeystickError": "values.errors",
    "InvalidInputError": "values.errors",
    "Laplace": "plan.mechanisms.laplace",
    "MixtureGaussian": "plan.mechanisms.mixture_gaussian",
    "NoSampling": "plan.sampling.none",
    "NotApplicableError": "values.errors",
    "Parameter": "questions.parameters",
    "Plan": "plan.plan",
    "Poisson": "plan.sampling.poisson",
    "Profile": "plan.profile",
    "RandomAllocation": "plan.sampling.random_allocation",
    "RandomizedResponse": "plan.mechanisms.randomized_response",
    "Round": "plan.round",
    "Shuffled": "plan.sampling.shuffled",
    "TruncatedPoisson": "plan.sampling.truncated_poisson",
    "UnreachableError": "values.errors",
    "UnsupportedError": "values.errors",
    "UpperBound": "values.bounds",
    "WithReplacement": "plan.sampling.with_replacement",
    "WithoutReplacement": "plan.sampling.without_replacement",
    "calibrate": "questions.calibration",
    "conversions": "conversions",
    "dp_sgd": "plan.plan",
    "filters": "filters",
    "load_plan": "plan.file",
    "samplings": "questions.samplings",
    "targets": "targets",
}
"""The module of each public name, which is imported when somebody asks for the name, if it was not before."""

if TYPE_CHECKING:
    from hockeystick import conversions, filters, targets
    from hockeystick.accountants import ACCOUNTANTS
    from hockeystick.plan.file import load_plan
    from hockeystick.plan.mechanisms.approximate_dp import ApproximateDP
    from hockeystick.plan.mechanisms.gaussian import Gaussian
    from hockeystick.plan.mechanisms.laplace import Laplace
    from hockeystick.plan.mechanisms.mixture_gaussian import MixtureGaussian
    from hockeystick.plan.mechanisms.randomized_response import RandomizedResponse
    from hockeystick.plan.plan import Plan, dp_sgd
    from hockeystick.plan.profile import Profile
    from hockeystick.plan.round import Round
    from hockeystick.plan.sampling.cyclic_poisson import CyclicPoisson
    from hockeystick.plan.sampling.none import NoSampling
    from hockeystick.plan.sampling.poisson import Poisson
    from hockeystick.plan.sampling.random_allocation import RandomAllocation
    from hockeystick.plan.sampling.shuffled import Shuffled
    from hockeystick.plan.sampling.truncated_poisson import TruncatedPoisson
    from hockeystick.plan.sampling.with_replacement import WithReplacement
    from hockeystick.plan.sampling.without_replacement import WithoutReplacement
    from hockeystick.questions.calibration import Calibration, calibrate
    from hockeystick.questions.parameters import Parameter
    from hockeystick.questions.samplings import samplings
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
else:
    __getattr__ = exports(__name__, LATE)

    if not COMMAND:  # which says its version and its help without a plan
        import hockeystick.plan.plan  # noqa: F401  # and all that the common question takes: its answer loads no more

__version__ = "0.1.0"

__all__ = [
    "ACCOUNTANTS",
    "Accountant",
    "Adjacency",
    "ApproximateDP",
    "Band",
    "Bound",
    "BudgetError",
    "Calibration",
    "CyclicPoisson",
    "DeltaBound",
    "DeltaEstimate",
    "DeltaUpperBound",
    "Direction",
    "Estimate",
    "Gaussian",
    "HockeystickError",
    "InvalidInputError",
    "Laplace",
    "MixtureGaussian",
    "NoSampling",
    "NotApplicableError",
    "Parameter",
    "Plan",
    "Poisson",
    "Profile",
    "RandomAllocation",
    "RandomizedResponse",
    "Round",
    "Shuffled",
    "TruncatedPoisson",
    "UnreachableError",
    "UnsupportedError",
    "UpperBound",
    "WithReplacement",
    "WithoutReplacement",
    "__version__",
    "calibrate",
    "conversions",
    "dp_sgd",
    "filters",
    "load_plan",
    "samplings",
    "targets",
]


def __dir__() -> list[str]:
    """The public names, without the modules that importing them leaves here."""
    return __all__
