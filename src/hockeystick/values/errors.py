"""Errors that hockeystick raises on purpose.

Each message is one line that names the problem, the value received, the accepted values and the remedy, so that it can
be shown to users as it stands.
"""


class HockeystickError(Exception):
    """Base class of all errors that hockeystick raises on purpose."""


class InvalidInputError(HockeystickError, ValueError):
    """A value outside its domain, a malformed plan file, or arguments that contradict each other.

    Attributes:
        field: the offending key, or ``None``. With it, a caller can add to the message which file or round has the key.
    """

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class UnsupportedError(HockeystickError):
    """A combination for which no dominating pair is proven, or which an accountant cannot handle."""


class NotApplicableError(UnsupportedError):
    """A method that cannot handle a plan, or not at a reasonable cost; the message says what to change."""


class UnreachableError(HockeystickError):
    """A target that no value of a parameter meets; the message says what comes nearest."""


class BudgetError(HockeystickError):
    """A round that a privacy filter does not allow; the message says what is left."""
