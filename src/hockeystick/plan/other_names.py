"""Names that other tools use for keys of a round, with the corresponding names of this library.

Only exact synonyms are listed, not names that other tools use for several things. They appear only in messages that
refuse an unknown name. They are never accepted, so that plan files have one spelling for each thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

KEY_NAMES: Mapping[str, tuple[str, ...]] = {
    "b": ("scale",),
    "batch": ("batch_size",),
    "eps": ("epsilon",),
    "iterations": ("count", "steps"),
    "k": ("categories",),
    "lot_size": ("batch_size",),
    "max_batch": ("max_batch_size",),
    "n": ("dataset_size",),
    "noise": ("noise_multiplier", "scale"),
    "num_buckets": ("categories",),
    "num_steps": ("count", "steps"),
    "q": ("sample_rate",),
    "sampling_rate": ("sample_rate",),
    "sigma": ("noise_multiplier",),
    "steps": ("count",),
}
"""Names of keys of a round, each with the keys that it may stand for, the likeliest first."""


def key_meant(key: object, known: Iterable[str]) -> str | None:
    """Return the key among ``known`` that has the meaning of another tool's key, or ``None``.

    >>> key_meant("sigma", ["noise_multiplier", "count"]), key_meant("sigma", ["scale"])
    ('noise_multiplier', None)
    """
    names = set(known)
    return next((name for name in KEY_NAMES.get(str(key).lower(), ()) if name in names), None)
