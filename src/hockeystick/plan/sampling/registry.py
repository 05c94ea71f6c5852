"""All sampling schemes, for plan files, their schema, and the table of supported combinations."""

from hockeystick.plan.sampling.base import Sampling
from hockeystick.values.late import found

PLACES = (
    "none:NoSampling",
    "poisson:Poisson",
    "without_replacement:WithoutReplacement",
    "random_allocation:RandomAllocation",
    "balls_in_bins:BallsInBins",
    "shuffled:Shuffled",
    "with_replacement:WithReplacement",
    "truncated_poisson:TruncatedPoisson",
    "cyclic_poisson:CyclicPoisson",
)
"""File and class of each, in the order of printed lists."""

SAMPLINGS: tuple[type[Sampling], ...] = tuple(found(f"{__package__}.{place}") for place in PLACES)
"""The classes, in the same order."""
