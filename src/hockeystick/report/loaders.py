"""Data loaders that draw batches as each sampling scheme requires, with their names in their own documentation."""

from __future__ import annotations

from collections.abc import Mapping

LOADERS: Mapping[str, tuple[str, ...]] = {
    "none": ("full-batch training: the whole dataset in every step",),
    "poisson": (
        "hockeystick.integrations.batches.PoissonBatches",
        "Opacus: PrivacyEngine.make_private (poisson_sampling=True, its default)",
        "JAX Privacy: CyclicPoissonSampling(cycle_length=1), its default, not truncated",
    ),
    "without-replacement": (
        "hockeystick.integrations.batches.FixedSizeBatches",
        "NumPy: generator.choice(n, b, replace=False), anew in every step",
    ),
    "random-allocation": (
        "hockeystick.integrations.batches.RandomAllocationBatches",
        "any loader in which each record draws its step of the epoch, anew in every epoch",
        "JAX Privacy: BallsInBinsSampling, which keeps its assignment over all epochs: declare epochs_per_assignment",
    ),
    "shuffled": (
        "PyTorch: DataLoader(shuffle=True), the most common setting",
        "Opacus: make_private(poisson_sampling=False) with such a loader",
        "TensorFlow: Dataset.shuffle(buffer of all records).batch(...).repeat(...)",
        "Grain: IndexSampler(shuffle=True), MapDataset.shuffle().batch()",
    ),
    "with-replacement": (
        "PyTorch: RandomSampler(replacement=True), WeightedRandomSampler",
        "NumPy: generator.integers(n, size=b), anew in every step",
    ),
    "truncated-poisson": (
        "hockeystick.integrations.batches.PoissonBatches(max_batch_size=...)",
        "JAX Privacy: CyclicPoissonSampling(truncated_batch_size=...)",
    ),
    "balls-in-bins": ("JAX Privacy: BallsInBinsSampling with correlated noise, one assignment for all epochs",),
    "cyclic-poisson": ("JAX Privacy: CyclicPoissonSampling(cycle_length=...)",),
}
"""Loaders of each scheme, including schemes that have no proof yet."""
