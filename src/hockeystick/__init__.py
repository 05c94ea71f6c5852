"""What your differential privacy really costs: certified two-sided bounds on epsilon and delta under composition.

>>> import hockeystick as hs
>>> plan = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=10_000)
>>> print(plan.epsilon(delta=1e-6))  # the true value is 6.907384495...
6.90738 to 6.90739 (certified)

Where to look:

- what was run: :func:`dp_sgd`, or :class:`Plan` of :class:`Round`, each a mechanism and a way to sample;
  :func:`load_plan` reads a file.
- what it costs: :meth:`Plan.epsilon`, :meth:`Plan.delta`, :meth:`Plan.profile` for attacks, mu and groups,
  :meth:`Plan.compare` for all accountants, :func:`samplings` for every way to make batches.
- what a target takes: :func:`calibrate` with one of ``hockeystick.targets``; :func:`sweep` over a grid.
- while it runs: :class:`Accountant` for training, ``hockeystick.filters`` for budgets, :class:`Ledger` for those of
  a team.
- many questions at once: :func:`epsilons`, :func:`deltas`, :class:`Table`.
- to look at: ``hockeystick.plot``, :func:`explore`; :func:`doctor` is about this machine.
"""

from hockeystick.start import COMMAND  # first: it says what Ctrl-C does while the rest is imported

# isort: split
from typing import TYPE_CHECKING

from hockeystick.values.late import exports
from hockeystick.values.version import __version__

LATE = {
    "ACCOUNTANTS": "accountants",
    "Accountant": "questions.stepper",
    "Adjacency": "values.adjacency",
    "ApproximateDP": "plan.mechanisms.approximate_dp",
    "Band": "values.band",
    "Binomial": "plan.mechanisms.binomial",
    "Bound": "values.bounds",
    "BestOf": "plan.selection",
    "BudgetError": "values.errors",
    "Calibration": "questions.calibration",
    "CyclicPoisson": "plan.sampling.cyclic_poisson",
    "BallsInBins": "plan.sampling.balls_in_bins",
    "DPSGDJL": "plan.mechanisms.dp_sgd_jl",
    "DeltaBound": "values.bounds",
    "DeltaEstimate": "values.bounds",
    "DeltaUpperBound": "values.bounds",
    "Direction": "values.adjacency",
    "DiscreteGaussian": "plan.mechanisms.discrete_gaussian",
    "DiscreteLaplace": "plan.mechanisms.discrete_laplace",
    "Exponential": "plan.mechanisms.exponential",
    "Estimate": "values.bounds",
    "GDP": "plan.mechanisms.gdp",
    "Gaussian": "plan.mechanisms.gaussian",
    "GaussianThreshold": "plan.mechanisms.gaussian_threshold",
    "HockeystickError": "values.errors",
    "InvalidInputError": "values.errors",
    "Laplace": "plan.mechanisms.laplace",
    "LaplaceThreshold": "plan.mechanisms.laplace_threshold",
    "Ledger": "questions.ledger.ledger",
    "MatrixGaussian": "plan.mechanisms.matrix_gaussian",
    "MixtureGaussian": "plan.mechanisms.mixture_gaussian",
    "PermuteAndFlip": "plan.mechanisms.permute_and_flip",
    "NoSampling": "plan.sampling.none",
    "NotApplicableError": "values.errors",
    "Pair": "plan.mechanisms.pair",
    "Parameter": "questions.parameters",
    "Plan": "plan.plan",
    "Pmf": "plan.mechanisms.pmf",
    "Poisson": "plan.sampling.poisson",
    "PrivacyCurve": "plan.mechanisms.privacy_curve",
    "Profile": "plan.profile",
    "RDP": "plan.mechanisms.rdp",
    "RandomAllocation": "plan.sampling.random_allocation",
    "RandomizedResponse": "plan.mechanisms.randomized_response",
    "SparseVector": "plan.mechanisms.sparse_vector",
    "Sweep": "questions.sweeps.table",
    "ReportNoisyMax": "plan.mechanisms.report_noisy_max",
    "Round": "plan.round",
    "Shuffled": "plan.sampling.shuffled",
    "Staircase": "plan.mechanisms.staircase",
    "Table": "questions.tables.table",
    "Tradeoff": "plan.mechanisms.tradeoff",
    "TruncatedLaplace": "plan.mechanisms.truncated_laplace",
    "TruncatedPoisson": "plan.sampling.truncated_poisson",
    "UnreachableError": "values.errors",
    "UnsupportedError": "values.errors",
    "UpperBound": "values.bounds",
    "WithReplacement": "plan.sampling.with_replacement",
    "ZCDP": "plan.mechanisms.zcdp",
    "WithoutReplacement": "plan.sampling.without_replacement",
    "calibrate": "questions.calibration",
    "clipping_norm": "plan.joint",
    "deltas": "questions.many",
    "doctor": "numerics.doctor",
    "dp_sgd": "plan.dp_sgd",
    "epsilons": "questions.many",
    "explore": "explorer.serve",
    "filters": "filters",
    "joint_noise_multiplier": "plan.joint",
    "load_plan": "plan.file",
    "plot": "plot",
    "samplings": "questions.samplings",
    "sensitivity": "plan.mechanisms.matrix_gaussian",
    "sweep": "questions.sweeps.sweep",
    "targets": "targets",
    "unrejected_noise": "questions.audited",
}
"""The module of each public name, which is imported when somebody asks for the name, if it was not before."""

if TYPE_CHECKING:
    from hockeystick import filters, plot, targets
    from hockeystick.accountants import ACCOUNTANTS
    from hockeystick.explorer.serve import explore
    from hockeystick.numerics.doctor import doctor
    from hockeystick.plan.dp_sgd import dp_sgd
    from hockeystick.plan.file import load_plan
    from hockeystick.plan.joint import clipping_norm, joint_noise_multiplier
    from hockeystick.plan.mechanisms.approximate_dp import ApproximateDP
    from hockeystick.plan.mechanisms.binomial import Binomial
    from hockeystick.plan.mechanisms.discrete_gaussian import DiscreteGaussian
    from hockeystick.plan.mechanisms.discrete_laplace import DiscreteLaplace
    from hockeystick.plan.mechanisms.dp_sgd_jl import DPSGDJL
    from hockeystick.plan.mechanisms.exponential import Exponential
    from hockeystick.plan.mechanisms.gaussian import Gaussian
    from hockeystick.plan.mechanisms.gaussian_threshold import GaussianThreshold
    from hockeystick.plan.mechanisms.gdp import GDP
    from hockeystick.plan.mechanisms.laplace import Laplace
    from hockeystick.plan.mechanisms.laplace_threshold import LaplaceThreshold
    from hockeystick.plan.mechanisms.matrix_gaussian import MatrixGaussian, sensitivity
    from hockeystick.plan.mechanisms.mixture_gaussian import MixtureGaussian
    from hockeystick.plan.mechanisms.pair import Pair
    from hockeystick.plan.mechanisms.permute_and_flip import PermuteAndFlip
    from hockeystick.plan.mechanisms.pmf import Pmf
    from hockeystick.plan.mechanisms.privacy_curve import PrivacyCurve
    from hockeystick.plan.mechanisms.randomized_response import RandomizedResponse
    from hockeystick.plan.mechanisms.rdp import RDP
    from hockeystick.plan.mechanisms.report_noisy_max import ReportNoisyMax
    from hockeystick.plan.mechanisms.sparse_vector import SparseVector
    from hockeystick.plan.mechanisms.staircase import Staircase
    from hockeystick.plan.mechanisms.tradeoff import Tradeoff
    from hockeystick.plan.mechanisms.truncated_laplace import TruncatedLaplace
    from hockeystick.plan.mechanisms.zcdp import ZCDP
    from hockeystick.plan.plan import Plan
    from hockeystick.plan.profile import Profile
    from hockeystick.plan.round import Round
    from hockeystick.plan.sampling.balls_in_bins import BallsInBins
    from hockeystick.plan.sampling.cyclic_poisson import CyclicPoisson
    from hockeystick.plan.sampling.none import NoSampling
    from hockeystick.plan.sampling.poisson import Poisson
    from hockeystick.plan.sampling.random_allocation import RandomAllocation
    from hockeystick.plan.sampling.shuffled import Shuffled
    from hockeystick.plan.sampling.truncated_poisson import TruncatedPoisson
    from hockeystick.plan.sampling.with_replacement import WithReplacement
    from hockeystick.plan.sampling.without_replacement import WithoutReplacement
    from hockeystick.plan.selection import BestOf
    from hockeystick.questions.audited import unrejected_noise
    from hockeystick.questions.calibration import Calibration, calibrate
    from hockeystick.questions.ledger.ledger import Ledger
    from hockeystick.questions.many import deltas, epsilons
    from hockeystick.questions.parameters import Parameter
    from hockeystick.questions.samplings import samplings
    from hockeystick.questions.stepper import Accountant
    from hockeystick.questions.sweeps.sweep import sweep
    from hockeystick.questions.sweeps.table import Sweep
    from hockeystick.questions.tables.table import Table
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
        import hockeystick.plan.dp_sgd  # noqa: F401  # and all that the common question takes: its answer loads no more

__all__ = [
    "ACCOUNTANTS",
    "DPSGDJL",
    "GDP",
    "RDP",
    "ZCDP",
    "Accountant",
    "Adjacency",
    "ApproximateDP",
    "BallsInBins",
    "Band",
    "BestOf",
    "Binomial",
    "Bound",
    "BudgetError",
    "Calibration",
    "CyclicPoisson",
    "DeltaBound",
    "DeltaEstimate",
    "DeltaUpperBound",
    "Direction",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Estimate",
    "Exponential",
    "Gaussian",
    "GaussianThreshold",
    "HockeystickError",
    "InvalidInputError",
    "Laplace",
    "LaplaceThreshold",
    "Ledger",
    "MatrixGaussian",
    "MixtureGaussian",
    "NoSampling",
    "NotApplicableError",
    "Pair",
    "Parameter",
    "PermuteAndFlip",
    "Plan",
    "Pmf",
    "Poisson",
    "PrivacyCurve",
    "Profile",
    "RandomAllocation",
    "RandomizedResponse",
    "ReportNoisyMax",
    "Round",
    "Shuffled",
    "SparseVector",
    "Staircase",
    "Sweep",
    "Table",
    "Tradeoff",
    "TruncatedLaplace",
    "TruncatedPoisson",
    "UnreachableError",
    "UnsupportedError",
    "UpperBound",
    "WithReplacement",
    "WithoutReplacement",
    "__version__",
    "calibrate",
    "clipping_norm",
    "deltas",
    "doctor",
    "dp_sgd",
    "epsilons",
    "explore",
    "filters",
    "joint_noise_multiplier",
    "load_plan",
    "plot",
    "samplings",
    "sensitivity",
    "sweep",
    "targets",
    "unrejected_noise",
]


def __dir__() -> list[str]:
    """The public names, without the modules that importing them leaves here."""
    return __all__
