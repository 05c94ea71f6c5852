"""All mechanisms, for plan files, their schema, and the table of supported combinations."""

from hockeystick.plan.mechanisms.base import Mechanism
from hockeystick.values.late import found

PLACES = (
    "gaussian:Gaussian",
    "laplace:Laplace",
    "randomized_response:RandomizedResponse",
    "approximate_dp:ApproximateDP",
    "matrix_gaussian:MatrixGaussian",
    "mixture_gaussian:MixtureGaussian",
    "discrete_gaussian:DiscreteGaussian",
    "discrete_laplace:DiscreteLaplace",
    "skellam:Skellam",
    "staircase:Staircase",
    "binomial:Binomial",
    "truncated_laplace:TruncatedLaplace",
    "exponential:Exponential",
    "permute_and_flip:PermuteAndFlip",
    "report_noisy_max:ReportNoisyMax",
    "sparse_vector:SparseVector",
    "laplace_threshold:LaplaceThreshold",
    "gaussian_threshold:GaussianThreshold",
    "pmf:Pmf",
    "privacy_curve:PrivacyCurve",
    "tradeoff:Tradeoff",
    "pair:Pair",
    "gdp:GDP",
    "zcdp:ZCDP",
    "rdp:RDP",
    "dp_sgd_jl:DPSGDJL",
)
"""File and class of each, in the order of printed lists."""

MECHANISMS: tuple[type[Mechanism], ...] = tuple(found(f"{__package__}.{place}") for place in PLACES)
"""The classes, in the same order."""
