"""All sampling schemes, for plan files, their schema, and the table of supported combinations."""

from hockeystick.plan.sampling.base import Sampling
from hockeystick.plan.sampling.cyclic_poisson import CyclicPoisson
from hockeystick.plan.sampling.none import NoSampling
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.plan.sampling.random_allocation import RandomAllocation
from hockeystick.plan.sampling.shuffled import Shuffled
from hockeystick.plan.sampling.truncated_poisson import TruncatedPoisson
from hockeystick.plan.sampling.with_replacement import WithReplacement
from hockeystick.plan.sampling.without_replacement import WithoutReplacement

SAMPLINGS: tuple[type[Sampling], ...] = (
    NoSampling,
    Poisson,
    WithoutReplacement,
    RandomAllocation,
    Shuffled,
    WithReplacement,
    TruncatedPoisson,
    CyclicPoisson,
)
"""All sampling schemes, in the order of lists for people."""
