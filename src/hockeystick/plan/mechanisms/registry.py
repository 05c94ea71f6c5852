"""All mechanisms, for plan files, their schema, and the table of supported combinations."""

from hockeystick.plan.kinds import MECHANISM_CLASSES
from hockeystick.plan.mechanisms.base import Mechanism
from hockeystick.values.late import found

MECHANISMS: tuple[type[Mechanism], ...] = tuple(
    found(f"{__package__}.{module}:{name}") for module, name in MECHANISM_CLASSES.items()
)
