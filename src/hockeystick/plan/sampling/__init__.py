"""Sampling schemes: one frozen dataclass per scheme, one scheme per file."""

from typing import TYPE_CHECKING

from hockeystick.plan.sampling.base import Sampling as Sampling
from hockeystick.plan.sampling.none import NoSampling as NoSampling
from hockeystick.values.late import exports

LATE = {
    "Poisson": "poisson",
    "WithoutReplacement": "without_replacement",
    "RandomAllocation": "random_allocation",
    "BallsInBins": "balls_in_bins",
    "Shuffled": "shuffled",
    "WithReplacement": "with_replacement",
    "TruncatedPoisson": "truncated_poisson",
    "CyclicPoisson": "cyclic_poisson",
    "SAMPLINGS": "registry",
}
"""File of each name, imported on first use: all other schemes, in the order of printed lists."""

if TYPE_CHECKING:
    from hockeystick.plan.sampling.balls_in_bins import BallsInBins as BallsInBins
    from hockeystick.plan.sampling.cyclic_poisson import CyclicPoisson as CyclicPoisson
    from hockeystick.plan.sampling.poisson import Poisson as Poisson
    from hockeystick.plan.sampling.random_allocation import RandomAllocation as RandomAllocation
    from hockeystick.plan.sampling.registry import SAMPLINGS as SAMPLINGS
    from hockeystick.plan.sampling.shuffled import Shuffled as Shuffled
    from hockeystick.plan.sampling.truncated_poisson import TruncatedPoisson as TruncatedPoisson
    from hockeystick.plan.sampling.with_replacement import WithReplacement as WithReplacement
    from hockeystick.plan.sampling.without_replacement import WithoutReplacement as WithoutReplacement
else:
    __getattr__ = exports(__name__, LATE)
