"""Sampling schemes: one frozen dataclass a scheme, one scheme a file, all of them in ``registry.py``."""

from typing import TYPE_CHECKING

from hockeystick.plan.sampling.base import Sampling
from hockeystick.plan.sampling.none import NoSampling
from hockeystick.values.late import exports

LATE = {
    "SAMPLINGS": "registry",
    "CyclicPoisson": "cyclic_poisson",
    "Poisson": "poisson",
    "TruncatedPoisson": "truncated_poisson",
    "WithReplacement": "with_replacement",
    "RandomAllocation": "random_allocation",
    "Shuffled": "shuffled",
    "WithoutReplacement": "without_replacement",
}
"""File of each name, which is imported on first use."""

if TYPE_CHECKING:
    from hockeystick.plan.sampling.cyclic_poisson import CyclicPoisson
    from hockeystick.plan.sampling.poisson import Poisson
    from hockeystick.plan.sampling.random_allocation import RandomAllocation
    from hockeystick.plan.sampling.registry import SAMPLINGS
    from hockeystick.plan.sampling.shuffled import Shuffled
    from hockeystick.plan.sampling.truncated_poisson import TruncatedPoisson
    from hockeystick.plan.sampling.with_replacement import WithReplacement
    from hockeystick.plan.sampling.without_replacement import WithoutReplacement
else:
    __getattr__ = exports(__name__, LATE)

__all__ = [
    "SAMPLINGS",
    "CyclicPoisson",
    "NoSampling",
    "Poisson",
    "RandomAllocation",
    "Sampling",
    "Shuffled",
    "TruncatedPoisson",
    "WithReplacement",
    "WithoutReplacement",
]
