"""All sampling schemes, for plan files, their schema, and the table of supported combinations."""

from hockeystick.plan.kinds import SAMPLING_CLASSES
from hockeystick.plan.sampling.base import Sampling
from hockeystick.values.late import found

SAMPLINGS: tuple[type[Sampling], ...] = tuple(
    found(f"{__package__}.{module}:{name}") for module, name in SAMPLING_CLASSES.items()
)
