"""All mechanisms, for plan files, their schema, and the table of supported combinations."""

from hockeystick.plan import mechanisms

MECHANISMS: tuple[type[mechanisms.Mechanism], ...] = tuple(
    getattr(mechanisms, name) for name in mechanisms.LATE if name != "MECHANISMS"
)
"""All mechanisms, in the order of printed lists."""
