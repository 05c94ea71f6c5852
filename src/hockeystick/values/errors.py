"""Errors that hockeystick raises on purpose.

Each message is one line that names the problem, the value received, the accepted values and the remedy, so that it can
be shown to users as it stands.
"""


class HockeystickError(Exception):
    """Base class of all errors that hockeystick raises on purpose."""


class InvalidInputError(HockeystickError, ValueError):
    """Error for a value outside its domain, a malformed plan file, or arguments that contradict each other.

    Attributes:
        field: key of the invalid value, or ``None``. A caller can add to the message which file or round has this key.
    """

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class UnsupportedError(HockeystickError):
    """Error for a plan for which no dominating pair is proven, or which an accountant cannot handle."""


class NotApplicableError(UnsupportedError):
    """Error of a method that cannot handle a plan at a reasonable cost; the message says what to change."""


class UnreachableError(HockeystickError):
    """Error for a target that no value of a parameter meets; the message states the nearest attainable one."""


class BudgetError(HockeystickError):
    """Error for a round that a privacy filter does not allow; the message states the budget left."""
