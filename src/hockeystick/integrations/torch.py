"""PyTorch: loaders that draw batches exactly as a plan assumes, and recognition of a given loader's scheme.

:func:`loader` makes a ``DataLoader`` over the samplers of ``hockeystick.integrations.batches``. :func:`scheme_of`
returns the sampling scheme of any ``DataLoader`` with the parameters for a plan, or reports that it is unknown. It
recognises the samplers of ``batches``, torch and Opacus by their classes. Every other sampler is unknown, whatever its
name.

>>> import torch
>>> from torch.utils.data import DataLoader, TensorDataset
>>> from hockeystick.integrations.batches import PoissonBatches
>>> data = TensorDataset(torch.zeros(100, 3))
>>> scheme_of(loader(data, PoissonBatches(100, batch_size=10))).sampling
Poisson(sample_rate=0.1, batch_size=10, dataset_size=100)
>>> scheme_of(DataLoader(data, batch_size=10, shuffle=True)).scheme
'shuffled'
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from hockeystick.integrations.batches import Batches
from hockeystick.integrations.draws import drawn
from hockeystick.integrations.needed import missing
from hockeystick.plan.sampling import Sampling
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.plan.sampling.shuffled import Shuffled
from hockeystick.plan.sampling.with_replacement import WithReplacement
from hockeystick.values.errors import InvalidInputError

try:
    import torch
    from torch.utils.data import (
        BatchSampler,
        DataLoader,
        Dataset,
        IterableDataset,
        RandomSampler,
        SequentialSampler,
        SubsetRandomSampler,
        WeightedRandomSampler,
        default_collate,
    )
except ModuleNotFoundError as error:
    raise missing(error) from None

POISSON_OF_OPACUS = ("UniformWithReplacementSampler", "DistributedUniformWithReplacementSampler")
"""Classes of ``opacus.utils.uniform_sampler`` whose batches are Poisson batches, whatever their names say."""


def loader(
    dataset: Dataset[Any],
    batches: Batches,
    collate_fn: Callable[[list[Any]], Any] | None = None,
    **options: Any,
) -> DataLoader[Any]:
    """Return a ``DataLoader`` that draws the given batches.

    An empty batch, which is possible in some schemes, arrives as tensors without rows. Its step releases only noise,
    but still counts as a step.

    Args:
        dataset: dataset of ``batches.dataset_size`` records that are read by index.
        batches: sampler of the batches. Save its state in each checkpoint.
        collate_fn: function that makes tensors from the records of a non-empty batch; by default torch's own.
        options: other arguments of ``DataLoader``, except batch_size, shuffle, sampler, batch_sampler and drop_last.

    Raises:
        InvalidInputError: the dataset does not have ``batches.dataset_size`` records.
    """
    size = len(cast(Sized, dataset))
    if size != batches.dataset_size:
        raise InvalidInputError(
            f"the batches are drawn from {batches.dataset_size} records, but the dataset has {size}; use the same "
            "number",
            "dataset",
        )
    collate = partial(_collated, dataset, collate_fn or default_collate)
    return DataLoader(dataset, batch_sampler=batches, collate_fn=collate, **options)


def _collated(dataset: Dataset[Any], collate: Callable[[list[Any]], Any], records: list[Any]) -> Any:
    """Return records as a batch.

    An empty batch is made by collating one record of the dataset and removing its row.
    """
    return collate(records) if records else _without_rows(collate([dataset[0]]))


def _without_rows(batch: Any) -> Any:
    """Return a batch of one record without this record.

    Raises:
        InvalidInputError: the batch is neither a tensor nor a collection of tensors.
    """
    if isinstance(batch, torch.Tensor):
        return batch[:0]
    if isinstance(batch, dict):
        return {key: _without_rows(value) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_without_rows(value) for value in batch))
    if isinstance(batch, list | tuple):  # fields, or the texts of the one record
        return type(batch)(_without_rows(value) for value in batch if not isinstance(value, str | bytes))
    raise InvalidInputError(
        f"an empty batch cannot be made of {type(batch).__name__}; give a collate_fn that returns tensors", "collate_fn"
    )


@dataclass(frozen=True)
class Recognised:
    """Sampling scheme recognised in a loader.

    Attributes:
        why: evidence and caveats, in one sentence.
        sampling: scheme with its parameters; ``None`` if it is unknown.
    """

    why: str
    sampling: Sampling | None = None

    @property
    def scheme(self) -> str | None:
        """Name of the scheme in a plan file; ``None`` if it is unknown."""
        return None if self.sampling is None else self.sampling.name

    @property
    def parameters(self) -> dict[str, Any]:
        """The other keys of the scheme in a plan file."""
        return {} if self.sampling is None else self.sampling.keys()


def scheme_of(of: DataLoader[Any]) -> Recognised:
    """Recognise the scheme by which a ``DataLoader`` draws its batches.

    Raises:
        InvalidInputError: the argument is no ``DataLoader``, or the scheme refuses its sizes, such as more than 20
            expected draws of one record.
    """
    if not isinstance(of, DataLoader):
        raise InvalidInputError(f"give a torch.utils.data.DataLoader; received {type(of).__name__}", "loader")
    if isinstance(of.dataset, IterableDataset):
        return Recognised("the dataset is iterable and determines the order of its records itself")
    batches = of.batch_sampler
    if isinstance(batches, Batches):
        return Recognised(f"drawn by {batches!r}", batches.sampling)
    if type(batches).__name__ in POISSON_OF_OPACUS and type(batches).__module__.startswith("opacus."):
        rate = drawn(float(cast(Any, batches).sample_rate))
        why = "Opacus' sampler includes each record independently in every step: these are Poisson batches"
        return Recognised(why, Poisson(sample_rate=rate))
    if type(batches) is not BatchSampler:
        return Recognised(f"batches come from {type(batches).__name__}, an unknown sampler")
    return _of_order(batches.sampler, batches.batch_size, batches.drop_last, len(cast(Sized, of.dataset)))


def _of_order(sampler: Any, batch_size: int, drop_last: bool, size: int) -> Recognised:
    """Recognise the scheme of a loader that cuts a sampler's sequence of indices into batches of equal size."""
    if type(sampler) is SequentialSampler:
        found = _shuffled(batch_size, size, drop_last)
        why = (
            f"every epoch cuts all records, in the order of the dataset, into batches of {batch_size}: there is no "
            "sampling, and each record is in one step per epoch; use adjacency 'replace-one', because adding or "
            "removing a record moves others to different batches in a fixed order"
        )
        return replace(found, why=why)
    if type(sampler) is SubsetRandomSampler:
        return _shuffled(batch_size, len(sampler.indices), drop_last)
    if type(sampler) is WeightedRandomSampler:
        if not sampler.replacement:
            return Recognised("records are drawn by weight without replacement, for which nothing is proven")
        weight = float((sampler.weights.max() / sampler.weights.sum()).item())
        why = "each place in a batch is drawn by weight, with replacement; weight is the largest weight of a record"
        return Recognised(why, WithReplacement(draws=batch_size, weight=weight))
    if type(sampler) is not RandomSampler:
        return Recognised(f"the order comes from {type(sampler).__name__}, an unknown sampler")
    if sampler.replacement:
        why = "each place in a batch is drawn from all records, with replacement"
        return Recognised(why, WithReplacement(draws=batch_size, dataset_size=size))
    if sampler.num_samples != size:
        return Recognised(f"the sampler draws {sampler.num_samples} of {size} records per epoch")
    return _shuffled(batch_size, size, drop_last)


def _shuffled(batch_size: int, size: int, drop_last: bool) -> Recognised:
    left_over = size % batch_size
    last = f", the last one of {left_over}" if left_over and not drop_last else ""
    drops = drop_last and 0 < left_over < size
    dropped = f", and {left_over} records per epoch are dropped" if drops else ""
    why = (
        f"a permutation of the records is cut into batches of {batch_size}{last}{dropped}: this is not Poisson sampling"
    )
    return Recognised(why, Shuffled(batch_size=min(batch_size, size), dataset_size=size, drop_last=drops))
