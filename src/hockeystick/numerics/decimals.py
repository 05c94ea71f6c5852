"""Parameters as people write them: the exact decimal instead of the nearest double."""

from hockeystick.values.exact import decimal

__all__ = ["decimal"]
