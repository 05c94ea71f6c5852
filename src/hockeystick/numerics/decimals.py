"""Parameters as the numbers that people write: the exact decimal in place of the double next to it."""

from hockeystick.values.exact import decimal

__all__ = ["decimal"]
