"""All sampling schemes, for plan files, their schema, and the table of supported combinations."""

from hockeystick.plan import sampling

SAMPLINGS: tuple[type[sampling.Sampling], ...] = (
    sampling.NoSampling,
    *(getattr(sampling, name) for name in sampling.LATE if name != "SAMPLINGS"),
)
"""All sampling schemes, in the order of printed lists."""
