"""All sampling schemes, for what goes through them: plan files, their schema, the table of what is supported."""

from hockeystick.plan.sampling.base import Sampling
from hockeystick.plan.sampling.none import NoSampling
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.plan.sampling.without_replacement import WithoutReplacement

SAMPLINGS: tuple[type[Sampling], ...] = (NoSampling, Poisson, WithoutReplacement)
"""All sampling schemes, in the order in which they are listed to people."""
