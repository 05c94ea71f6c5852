"""Everything hockeystick raises on purpose.

Each message is one line that names what was wrong, the value received, what is accepted and the remedy, so that it can
be shown to a person as it stands.
"""


class HockeystickError(Exception):
    """Base class of all errors that hockeystick raises on purpose."""


class InvalidInputError(HockeystickError, ValueError):
    """A value outside its domain, a malformed plan file, or arguments that contradict each other.

    ``field`` names the offending key where there is one, so that a caller that knows more (the file, the round) can
    say so.
    """

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class UnsupportedError(HockeystickError):
    """A combination for which no dominating pair is proven, or which an accountant cannot treat."""


class NotApplicableError(UnsupportedError):
    """A method that cannot treat a plan, or not at a reasonable price; the message says what to change."""


class UnreachableError(HockeystickError):
    """A target that no value of a parameter meets; the message says what comes nearest."""


class BudgetError(HockeystickError):
    """A round that a privacy filter does not allow; the message says what is left."""
