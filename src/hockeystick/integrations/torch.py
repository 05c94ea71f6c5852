"""PyTorch: loaders that draw batches exactly as a plan assumes, and recognition of a given loader's scheme.

:func:`loader` makes a ``DataLoader`` over the samplers of ``hockeystick.integrations.batches``. :func:`scheme_of`
returns the sampling scheme of a ``DataLoader`` with its parameters, for a plan. It recognises the samplers of
``batches``, torch and Opacus by their classes, and refuses every other sampler, whatever its name.

>>> import torch
>>> from torch.utils.data import DataLoader, TensorDataset
>>> from hockeystick.integrations.batches import PoissonBatches
>>> data = TensorDataset(torch.zeros(100, 3))
>>> scheme_of(loader(data, PoissonBatches(100, batch_size=10)))
Poisson(sample_rate=0.1, batch_size=10, dataset_size=100)
>>> scheme_of(DataLoader(data, batch_size=10, shuffle=True))
Shuffled(steps_per_epoch=10, batch_size=10, dataset_size=100, drop_last=False)
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from functools import partial
from typing import Any, cast

from hockeystick.integrations.batches import Batches
from hockeystick.integrations.draws import drawn
from hockeystick.integrations.needed import missing
from hockeystick.plan.sampling import Sampling
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.plan.sampling.shuffled import Shuffled
from hockeystick.plan.sampling.with_replacement import WithReplacement
from hockeystick.values.errors import InvalidInputError, UnsupportedError

try:
    import torch
    from torch.utils.data import (
        BatchSampler,
        DataLoader,
        Dataset,
        RandomSampler,
        SequentialSampler,
        SubsetRandomSampler,
        WeightedRandomSampler,
        default_collate,
    )
except ModuleNotFoundError as error:
    raise missing(error) from None

POISSON_OF_OPACUS = ("UniformWithReplacementSampler", "DistributedUniformWithReplacementSampler")
"""Classes of ``opacus.utils.uniform_sampler`` that draw Poisson batches, although their names mention replacement."""


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
    if isinstance(batch, list | tuple):  # a collection of fields, or the texts of the single record
        return type(batch)(_without_rows(value) for value in batch if not isinstance(value, str | bytes))
    raise InvalidInputError(
        f"an empty batch cannot be made of {type(batch).__name__}; give a collate_fn that returns tensors", "collate_fn"
    )


def scheme_of(of: DataLoader[Any]) -> Sampling:
    """Return the sampling scheme of a ``DataLoader`` with its parameters, for the round of a plan.

    Batches in the order of the dataset also count as shuffled, since every epoch divides all records into batches. Use
    adjacency ``replace-one`` for them, since adding or removing a record moves others to different batches.

    Raises:
        InvalidInputError: the argument is no ``DataLoader``, or the scheme refuses its sizes, such as more than 20
            expected draws of one record.
        UnsupportedError: the scheme is unknown, or nothing is proven for it.
    """
    if not isinstance(of, DataLoader):
        raise InvalidInputError(f"give a torch.utils.data.DataLoader; received {type(of).__name__}", "loader")
    batches = of.batch_sampler
    if isinstance(batches, Batches):
        return batches.sampling
    if type(batches).__name__ in POISSON_OF_OPACUS and type(batches).__module__.startswith("opacus."):
        return Poisson(sample_rate=drawn(float(cast(Any, batches).sample_rate)))
    sampler: Any = batches.sampler if type(batches) is BatchSampler else None
    if type(sampler) in (SequentialSampler, SubsetRandomSampler, RandomSampler, WeightedRandomSampler):
        batch = of.batch_sampler.batch_size
        if type(sampler) is WeightedRandomSampler and sampler.replacement:
            weight = float((sampler.weights.max() / sampler.weights.sum()).item())
            return WithReplacement(draws=batch, weight=weight)  # the likeliest record is protected least
        size = len(getattr(sampler, "data_source", sampler))
        if getattr(sampler, "replacement", False):
            return WithReplacement(draws=batch, dataset_size=size)
        if type(sampler) is not WeightedRandomSampler and len(sampler) == size:
            drops = of.batch_sampler.drop_last and 0 < size % batch < size
            return Shuffled(batch_size=min(batch, size), dataset_size=size, drop_last=drops)
    raise UnsupportedError(
        f"no sampling scheme is known for batches from {type(batches).__name__} and {type(of.sampler).__name__}"
    )
