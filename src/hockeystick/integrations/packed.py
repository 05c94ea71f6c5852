"""Histories as bytes, which are equal if and only if the histories are; Spark and Beam compare them."""

from __future__ import annotations

import struct

from hockeystick.questions.histories.answers import History

ENTRY = struct.Struct("<ddq")
"""Noise multiplier, sample rate and steps of one kind of step."""

MOST_STEPS = (1 << 63) - 1
"""Largest number of steps written; neither such a history nor a longer one has an answer."""


def packed(history: History) -> bytes:
    """Return a history as bytes, with its number of steps capped.

    >>> unpacked(packed(((1.0, 0.01, 50), (2.0, 1.0, 3))))
    ((1.0, 0.01, 50), (2.0, 1.0, 3))
    """
    return b"".join(ENTRY.pack(noise, rate, min(steps, MOST_STEPS)) for noise, rate, steps in history)


def unpacked(said: bytes) -> History:
    """Return the history in some bytes."""
    return tuple(ENTRY.iter_unpack(said))


__all__ = ["packed", "unpacked"]
