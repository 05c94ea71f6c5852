"""Certified lower and upper bounds on the epsilon and delta of differentially private computations.

>>> import hockeystick as hs
>>> plan = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=10_000)
>>> print(plan.epsilon(delta=1e-6))  # the true value is 6.907384495...
6.90738 to 6.90739 (certified)

Where to look:

- to describe a computation: :func:`dp_sgd`, or a :class:`Plan` of any :class:`Round`; a round is a mechanism with a
  sampling scheme. :func:`load_plan` reads a plan from a file.
- to compute its privacy: :meth:`Plan.epsilon` and :meth:`Plan.delta`; :meth:`Plan.profile` for attacks, mu and group
  privacy; :meth:`Plan.compare` for the answers of all accountants; :func:`samplings` for all sampling schemes.
- to meet a target: :func:`calibrate` with one of ``hockeystick.targets``; :func:`sweep` for a grid of parameters.
- during a computation: :class:`Accountant` for training, ``hockeystick.filters`` for privacy budgets, and
  :class:`Ledger` for budgets that a team shares.
- to answer many questions at once: :func:`epsilons`, :func:`deltas`.
- to see curves: ``hockeystick.plot``, :func:`explore`.
- to check this machine: :func:`doctor`.
"""

from typing import TYPE_CHECKING

from hockeystick.plan.kinds import MECHANISM_CLASSES, SAMPLING_CLASSES
from hockeystick.values.late import exports
from hockeystick.values.version import __version__ as __version__

NAMES = {
    "accountants": "ACCOUNTANTS",
    "explorer.serve": "explore",
    "filters": "filters",
    "numerics.doctor": "doctor",
    "plan.dp_sgd": "dp_sgd",
    "plan.file": "load_plan",
    "plan.joint": "clipping_norm joint_noise_multiplier",
    **{f"plan.mechanisms.{module}": name for module, name in MECHANISM_CLASSES.items()},
    "plan.mechanisms.matrix_gaussian": "MatrixGaussian sensitivity",
    **{f"plan.sampling.{module}": name for module, name in SAMPLING_CLASSES.items()},
    "plan.plan": "Plan",
    "plan.profile": "Profile",
    "plan.round": "Round",
    "plan.selection": "BestOf",
    "plot": "plot",
    "questions.calibration": "Calibration calibrate",
    "questions.ledger.ledger": "Ledger",
    "questions.many": "deltas epsilons",
    "questions.parameters": "Parameter",
    "questions.samplings": "samplings",
    "questions.stepper": "Accountant",
    "questions.sweeps.sweep": "Sweep sweep",
    "targets": "targets",
    "values.adjacency": "Adjacency Direction",
    "values.band": "Band",
    "values.bounds": "Bound DeltaBound DeltaEstimate DeltaUpperBound Estimate UpperBound",
    "values.errors": (
        "BudgetError HockeystickError InvalidInputError NotApplicableError UnreachableError UnsupportedError"
    ),
}
"""Public names of each module; a module is imported when one of its names is first used."""

LATE = {name: module for module, names in NAMES.items() for name in names.split()}
"""Module of each public name."""

if TYPE_CHECKING:
    from hockeystick import filters as filters
    from hockeystick import plot as plot
    from hockeystick import targets as targets
    from hockeystick.accountants import ACCOUNTANTS as ACCOUNTANTS
    from hockeystick.explorer.serve import explore as explore
    from hockeystick.numerics.doctor import doctor as doctor
    from hockeystick.plan.dp_sgd import dp_sgd as dp_sgd
    from hockeystick.plan.file import load_plan as load_plan
    from hockeystick.plan.joint import clipping_norm as clipping_norm
    from hockeystick.plan.joint import joint_noise_multiplier as joint_noise_multiplier
    from hockeystick.plan.mechanisms.approximate_dp import ApproximateDP as ApproximateDP
    from hockeystick.plan.mechanisms.binomial import Binomial as Binomial
    from hockeystick.plan.mechanisms.discrete_gaussian import DiscreteGaussian as DiscreteGaussian
    from hockeystick.plan.mechanisms.discrete_laplace import DiscreteLaplace as DiscreteLaplace
    from hockeystick.plan.mechanisms.dp_sgd_jl import DPSGDJL as DPSGDJL
    from hockeystick.plan.mechanisms.exponential import Exponential as Exponential
    from hockeystick.plan.mechanisms.gaussian import Gaussian as Gaussian
    from hockeystick.plan.mechanisms.gaussian_threshold import GaussianThreshold as GaussianThreshold
    from hockeystick.plan.mechanisms.gdp import GDP as GDP
    from hockeystick.plan.mechanisms.laplace import Laplace as Laplace
    from hockeystick.plan.mechanisms.laplace_threshold import LaplaceThreshold as LaplaceThreshold
    from hockeystick.plan.mechanisms.matrix_gaussian import MatrixGaussian as MatrixGaussian
    from hockeystick.plan.mechanisms.matrix_gaussian import sensitivity as sensitivity
    from hockeystick.plan.mechanisms.mixture_gaussian import MixtureGaussian as MixtureGaussian
    from hockeystick.plan.mechanisms.pair import Pair as Pair
    from hockeystick.plan.mechanisms.permute_and_flip import PermuteAndFlip as PermuteAndFlip
    from hockeystick.plan.mechanisms.pmf import Pmf as Pmf
    from hockeystick.plan.mechanisms.privacy_curve import PrivacyCurve as PrivacyCurve
    from hockeystick.plan.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
    from hockeystick.plan.mechanisms.rdp import RDP as RDP
    from hockeystick.plan.mechanisms.report_noisy_max import ReportNoisyMax as ReportNoisyMax
    from hockeystick.plan.mechanisms.skellam import Skellam as Skellam
    from hockeystick.plan.mechanisms.sparse_vector import SparseVector as SparseVector
    from hockeystick.plan.mechanisms.staircase import Staircase as Staircase
    from hockeystick.plan.mechanisms.tradeoff import Tradeoff as Tradeoff
    from hockeystick.plan.mechanisms.truncated_laplace import TruncatedLaplace as TruncatedLaplace
    from hockeystick.plan.mechanisms.zcdp import ZCDP as ZCDP
    from hockeystick.plan.plan import Plan as Plan
    from hockeystick.plan.profile import Profile as Profile
    from hockeystick.plan.round import Round as Round
    from hockeystick.plan.sampling.balls_in_bins import BallsInBins as BallsInBins
    from hockeystick.plan.sampling.cyclic_poisson import CyclicPoisson as CyclicPoisson
    from hockeystick.plan.sampling.none import NoSampling as NoSampling
    from hockeystick.plan.sampling.poisson import Poisson as Poisson
    from hockeystick.plan.sampling.random_allocation import RandomAllocation as RandomAllocation
    from hockeystick.plan.sampling.shuffled import Shuffled as Shuffled
    from hockeystick.plan.sampling.truncated_poisson import TruncatedPoisson as TruncatedPoisson
    from hockeystick.plan.sampling.with_replacement import WithReplacement as WithReplacement
    from hockeystick.plan.sampling.without_replacement import WithoutReplacement as WithoutReplacement
    from hockeystick.plan.selection import BestOf as BestOf
    from hockeystick.questions.calibration import Calibration as Calibration
    from hockeystick.questions.calibration import calibrate as calibrate
    from hockeystick.questions.ledger.ledger import Ledger as Ledger
    from hockeystick.questions.many import deltas as deltas
    from hockeystick.questions.many import epsilons as epsilons
    from hockeystick.questions.parameters import Parameter as Parameter
    from hockeystick.questions.samplings import samplings as samplings
    from hockeystick.questions.stepper import Accountant as Accountant
    from hockeystick.questions.sweeps.sweep import Sweep as Sweep
    from hockeystick.questions.sweeps.sweep import sweep as sweep
    from hockeystick.values.adjacency import Adjacency as Adjacency
    from hockeystick.values.adjacency import Direction as Direction
    from hockeystick.values.band import Band as Band
    from hockeystick.values.bounds import Bound as Bound
    from hockeystick.values.bounds import DeltaBound as DeltaBound
    from hockeystick.values.bounds import DeltaEstimate as DeltaEstimate
    from hockeystick.values.bounds import DeltaUpperBound as DeltaUpperBound
    from hockeystick.values.bounds import Estimate as Estimate
    from hockeystick.values.bounds import UpperBound as UpperBound
    from hockeystick.values.errors import BudgetError as BudgetError
    from hockeystick.values.errors import HockeystickError as HockeystickError
    from hockeystick.values.errors import InvalidInputError as InvalidInputError
    from hockeystick.values.errors import NotApplicableError as NotApplicableError
    from hockeystick.values.errors import UnreachableError as UnreachableError
    from hockeystick.values.errors import UnsupportedError as UnsupportedError
else:
    __getattr__ = exports(__name__, LATE)

__all__ = sorted([*LATE, "__version__"])


def __dir__() -> list[str]:
    """Return the public names, without the submodules that become attributes when they are imported."""
    return __all__
