"""Mechanisms: one frozen dataclass per mechanism, one mechanism per file."""

from typing import TYPE_CHECKING

from hockeystick.plan.mechanisms.base import Claim as Claim
from hockeystick.plan.mechanisms.base import Mechanism as Mechanism
from hockeystick.plan.mechanisms.base import Property as Property
from hockeystick.plan.mechanisms.base import Status as Status
from hockeystick.values.late import exports

LATE = {
    "Gaussian": "gaussian",
    "Laplace": "laplace",
    "RandomizedResponse": "randomized_response",
    "ApproximateDP": "approximate_dp",
    "MatrixGaussian": "matrix_gaussian",
    "MixtureGaussian": "mixture_gaussian",
    "DiscreteGaussian": "discrete_gaussian",
    "DiscreteLaplace": "discrete_laplace",
    "Staircase": "staircase",
    "Binomial": "binomial",
    "TruncatedLaplace": "truncated_laplace",
    "Exponential": "exponential",
    "PermuteAndFlip": "permute_and_flip",
    "ReportNoisyMax": "report_noisy_max",
    "SparseVector": "sparse_vector",
    "LaplaceThreshold": "laplace_threshold",
    "GaussianThreshold": "gaussian_threshold",
    "Pmf": "pmf",
    "PrivacyCurve": "privacy_curve",
    "Tradeoff": "tradeoff",
    "Pair": "pair",
    "GDP": "gdp",
    "ZCDP": "zcdp",
    "RDP": "rdp",
    "DPSGDJL": "dp_sgd_jl",
    "MECHANISMS": "registry",
}
"""File of each name, imported on first use: all mechanisms, in the order of printed lists."""

if TYPE_CHECKING:
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
    from hockeystick.plan.mechanisms.mixture_gaussian import MixtureGaussian as MixtureGaussian
    from hockeystick.plan.mechanisms.pair import Pair as Pair
    from hockeystick.plan.mechanisms.permute_and_flip import PermuteAndFlip as PermuteAndFlip
    from hockeystick.plan.mechanisms.pmf import Pmf as Pmf
    from hockeystick.plan.mechanisms.privacy_curve import PrivacyCurve as PrivacyCurve
    from hockeystick.plan.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
    from hockeystick.plan.mechanisms.rdp import RDP as RDP
    from hockeystick.plan.mechanisms.registry import MECHANISMS as MECHANISMS
    from hockeystick.plan.mechanisms.report_noisy_max import ReportNoisyMax as ReportNoisyMax
    from hockeystick.plan.mechanisms.sparse_vector import SparseVector as SparseVector
    from hockeystick.plan.mechanisms.staircase import Staircase as Staircase
    from hockeystick.plan.mechanisms.tradeoff import Tradeoff as Tradeoff
    from hockeystick.plan.mechanisms.truncated_laplace import TruncatedLaplace as TruncatedLaplace
    from hockeystick.plan.mechanisms.zcdp import ZCDP as ZCDP
else:
    __getattr__ = exports(__name__, LATE)
