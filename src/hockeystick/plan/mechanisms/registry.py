"""All mechanisms, for plan files, their schema, and the table of supported combinations."""

from hockeystick.plan.mechanisms.approximate_dp import ApproximateDP
from hockeystick.plan.mechanisms.base import Mechanism
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
from hockeystick.plan.mechanisms.report_noisy_max import ReportNoisyMax
from hockeystick.plan.mechanisms.sparse_vector import SparseVector
from hockeystick.plan.mechanisms.staircase import Staircase
from hockeystick.plan.mechanisms.tradeoff import Tradeoff
from hockeystick.plan.mechanisms.truncated_laplace import TruncatedLaplace
from hockeystick.plan.mechanisms.zcdp import ZCDP

MECHANISMS: tuple[type[Mechanism], ...] = (
    Gaussian,
    Laplace,
    RandomizedResponse,
    ApproximateDP,
    MixtureGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    Staircase,
    Binomial,
    TruncatedLaplace,
    Exponential,
    PermuteAndFlip,
    ReportNoisyMax,
    SparseVector,
    LaplaceThreshold,
    GaussianThreshold,
    Pmf,
    PrivacyCurve,
    Tradeoff,
    GDP,
    ZCDP,
    RDP,
    DPSGDJL,
)
"""All mechanisms, in the order of lists for people."""
