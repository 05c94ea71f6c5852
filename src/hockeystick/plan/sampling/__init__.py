"""Which records a round sees: one frozen dataclass a scheme, one scheme a file, all of them in ``registry.py``."""

from typing import TYPE_CHECKING

from hockeystick.plan.sampling.base import Sampling
from hockeystick.plan.sampling.none import NoSampling
from hockeystick.values.late import exports

LATE = {"SAMPLINGS": "registry", "Poisson": "poisson", "WithoutReplacement": "without_replacement"}
"""The file of each name that is imported when somebody asks for it."""

if TYPE_CHECKING:
    from hockeystick.plan.sampling.poisson import Poisson
    from hockeystick.plan.sampling.registry import SAMPLINGS
    from hockeystick.plan.sampling.without_replacement import WithoutReplacement
else:
    __getattr__ = exports(__name__, LATE)

__all__ = ["SAMPLINGS", "NoSampling", "Poisson", "Sampling", "WithoutReplacement"]
