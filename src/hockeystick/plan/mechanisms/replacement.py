"""The key ``replace_one_distance``, shared by the mechanisms that add noise.

Noise is relative to the bound C on one record's contribution. Replacing a record moves the sum by up to 2C, unless C
was computed for replacement already.
"""

from __future__ import annotations

from hockeystick.values.domains import Domain

FULL_DISTANCE = 2.0

DISTANCE = Domain(
    "2 (the default: two contributions of norm C may point in opposite directions) or 1 (C was computed for "
    "replacement)",
    {"enum": [1, 2]},
)


def sampling_reason(distance: float, noise: str) -> str | None:
    """Why a round with this distance may not be sampled; ``noise`` is the key of the mechanism's noise."""
    if distance == FULL_DISTANCE:
        return None
    return (
        "replace_one_distance = 1 cannot be combined with Poisson sampling: a bound on the distance alone does not "
        "give the mixture pair; "
        f"leave the key out and give {noise} relative to the norm bound of one record"
    )


def replacement_reason(distance: float) -> str | None:
    """Why a round with this distance only has a meaning under replace-one."""
    if distance == FULL_DISTANCE:
        return None
    return (
        "replace_one_distance = 1 only has a meaning under adjacency 'replace-one': it bounds the change when a record "
        "is replaced, "
        "not the contribution of one record"
    )
