"""Mechanisms: one frozen dataclass a mechanism, one mechanism a file, all of them in ``registry.py``."""

from typing import TYPE_CHECKING

from hockeystick.plan.mechanisms.base import Claim, Mechanism, Property, Status
from hockeystick.values.late import exports

LATE = {
    "MECHANISMS": "registry",
    "ApproximateDP": "approximate_dp",
    "Binomial": "binomial",
    "DiscreteGaussian": "discrete_gaussian",
    "DiscreteLaplace": "discrete_laplace",
    "Exponential": "exponential",
    "Gaussian": "gaussian",
    "GaussianThreshold": "gaussian_threshold",
    "Laplace": "laplace",
    "LaplaceThreshold": "laplace_threshold",
    "MixtureGaussian": "mixture_gaussian",
    "PermuteAndFlip": "permute_and_flip",
    "Pmf": "pmf",
    "RandomizedResponse": "randomized_response",
    "SparseVector": "sparse_vector",
    "ReportNoisyMax": "report_noisy_max",
    "Staircase": "staircase",
    "ZCDP": "zcdp",
    "Tradeoff": "tradeoff",
    "TruncatedLaplace": "truncated_laplace",
    "RDP": "rdp",
    "PrivacyCurve": "privacy_curve",
    "GDP": "gdp",
    "DPSGDJL": "dp_sgd_jl",
}
"""File of each name, which is imported on first use."""

if TYPE_CHECKING:
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
    from hockeystick.plan.mechanisms.mixture_gaussian import MixtureGaussian
    from hockeystick.plan.mechanisms.permute_and_flip import PermuteAndFlip
    from hockeystick.plan.mechanisms.pmf import Pmf
    from hockeystick.plan.mechanisms.privacy_curve import PrivacyCurve
    from hockeystick.plan.mechanisms.randomized_response import RandomizedResponse
    from hockeystick.plan.mechanisms.rdp import RDP
    from hockeystick.plan.mechanisms.registry import MECHANISMS
    from hockeystick.plan.mechanisms.report_noisy_max import ReportNoisyMax
    from hockeystick.plan.mechanisms.sparse_vector import SparseVector
    from hockeystick.plan.mechanisms.staircase import Staircase
    from hockeystick.plan.mechanisms.tradeoff import Tradeoff
    from hockeystick.plan.mechanisms.truncated_laplace import TruncatedLaplace
    from hockeystick.plan.mechanisms.zcdp import ZCDP
else:
    __getattr__ = exports(__name__, LATE)

__all__ = [
    "DPSGDJL",
    "GDP",
    "MECHANISMS",
    "RDP",
    "ZCDP",
    "ApproximateDP",
    "Binomial",
    "Claim",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "Gaussian",
    "GaussianThreshold",
    "Laplace",
    "LaplaceThreshold",
    "Mechanism",
    "MixtureGaussian",
    "PermuteAndFlip",
    "Pmf",
    "PrivacyCurve",
    "Property",
    "RandomizedResponse",
    "ReportNoisyMax",
    "SparseVector",
    "Staircase",
    "Status",
    "Tradeoff",
    "TruncatedLaplace",
]
