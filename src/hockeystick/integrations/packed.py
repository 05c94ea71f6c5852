"""Histories as bytes, by which Spark and Beam compare them: equal bytes where histories are equal, and nowhere else."""

from __future__ import annotations

import struct

from hockeystick.questions.histories.answers import History

ENTRY = struct.Struct("<ddq")
"""Noise multiplier, sample rate and steps of one kind of step."""

MOST_STEPS = (1 << 63) - 1
"""The largest number that is written; a history of as many steps has no answer, as one of more has none."""


def packed(history: History) -> bytes:
    """A history as bytes, of as many steps as can be written where it has more.

    >>> unpacked(packed(((1.0, 0.01, 50), (2.0, 1.0, 3))))
    ((1.0, 0.01, 50), (2.0, 1.0, 3))
    """
    return b"".join(ENTRY.pack(noise, rate, min(steps, MOST_STEPS)) for noise, rate, steps in history)


def unpacked(said: bytes) -> History:
    """The history that some bytes say."""
    return tuple(ENTRY.iter_unpack(said))


__all__ = ["packed", "unpacked"]
