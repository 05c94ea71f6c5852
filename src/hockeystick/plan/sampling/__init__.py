"""Which records a round sees: one frozen dataclass a scheme, one scheme a file."""

from hockeystick.plan.sampling.base import Sampling
from hockeystick.plan.sampling.none import NoSampling
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.plan.sampling.with_replacement import WithReplacement
from hockeystick.plan.sampling.without_replacement import WithoutReplacement

SAMPLINGS: tuple[type[Sampling], ...] = (NoSampling, Poisson, WithoutReplacement, WithReplacement)
"""All schemes, in the order in which they are listed to people."""

__all__ = ["SAMPLINGS", "NoSampling", "Poisson", "Sampling", "WithReplacement", "WithoutReplacement"]
