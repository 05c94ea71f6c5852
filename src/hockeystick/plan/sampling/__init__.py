"""Sampling schemes: one frozen dataclass per scheme, one scheme per file."""

from hockeystick.plan.sampling.base import Sampling as Sampling
from hockeystick.plan.sampling.none import NoSampling as NoSampling
