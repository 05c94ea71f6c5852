"""Passes over a loader without Poisson sampling: proof of their cost, and how they are counted.

Let the order of the records be drawn independently of the data, whether anew in each pass or not, and let each record
be in at most one batch of a pass. Compare a dataset with one in which record j is replaced. Given the orders, only one
step of a pass depends on j, the step whose batch contains it: its sum of clipped gradients moves by at most 2 C, and
every other step has the same law given what came before. With s the least noise multiplier of the pass, the pass is
therefore dominated by one unsampled Gaussian round with noise s C on a sum that moves by 2 C. The orders have the same
law on both datasets,
and the hockey-stick divergence is jointly convex, so that averaging over them does not increase it. Adaptive
composition (Zhu, Dong, Wang 2022 [ZDW22], Theorem 10) then bounds P passes by P such rounds: an upper end. There is no
lower end here, since passes may be interrupted and their noise may change; whole epochs with constant noise have a
lower end (``plan/sampling/shuffled.py``).

If a record is added or removed, the argument fails: the other records move to other batches, and if the last batch was
full, the number of steps changes and reveals the record. The bound for that case needs further assumptions; it is in
``plan/sampling/shuffled.py`` too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hockeystick.integrations.draws import check_accumulated, check_begin
from hockeystick.integrations.history import NOISE
from hockeystick.integrations.needed import missing
from hockeystick.values.domains import shown
from hockeystick.values.errors import UnsupportedError

try:
    import torch
    from torch.utils.data import (
        BatchSampler,
        DataLoader,
        DistributedSampler,
        RandomSampler,
        Sampler,
        SequentialSampler,
        SubsetRandomSampler,
    )
except ModuleNotFoundError as error:
    raise missing(error, brings="opacus") from None

NO_AMPLIFICATION = (
    "an upper bound without amplification: each pass over a loader without Poisson sampling counts as one round "
    "that sees all records; there is no lower bound, which sampling 'shuffled' has for whole epochs"
)
"""Assumption stated for a plan with passes without Poisson sampling."""

LEAVE_OUT = "; leave poisson_sampling=False out"
"""Remedy at the end of each refusal of a loader."""


class Passes(BatchSampler):
    """Batch sampler that counts the passes begun; it also provides the matching step hook for the optimiser.

    A pass counts from its first batch on, even if it is interrupted. Passes do not overlap: steps belong to the latest
    pass that has drawn a batch.

    Args:
        batches: batch sampler of a loader accepted by :func:`check_loader`.
        optimizer: Opacus optimiser.
        recorder: ``HockeystickAccountant`` that records the steps.
    """

    def __init__(self, batches: Any, optimizer: Any, recorder: Any) -> None:
        super().__init__(batches.sampler, batches.batch_size, batches.drop_last)
        self._optimizer, self._recorder = optimizer, recorder
        self._begun, self._drawn, self._taken = 0, 0, 0
        self._recorded = 0  # number of passes recorded
        self._last, self._noise = 0, 0.0  # number of passes in the latest record, and its noise

    def __iter__(self) -> Iterator[list[int]]:
        check_begin(self._optimizer)
        self._begun += 1
        mine = self._begun
        for batch in super().__iter__():
            if mine != self._begun:
                raise UnsupportedError(
                    "a pass over the loader continues after another has started, so their steps cannot be "
                    "distinguished; finish or abandon one pass before the next"
                )
            self._drawn += 1
            yield batch

    def step(self, optimizer: Any) -> None:
        """Record one step of an Opacus optimiser, on one batch of the latest pass.

        Raises:
            InvalidInputError: the noise multiplier is below 0.
            UnsupportedError: the batch came from elsewhere, or the step uses several backward passes.
        """
        check_accumulated(optimizer)
        if self._taken >= self._drawn:
            raise UnsupportedError(
                "this step uses a batch from another loader than make_private returned, so passes cannot be "
                "counted; train on that loader, one step per batch"
            )
        self._taken += 1
        noise = NOISE.check(optimizer.noise_multiplier, "noise_multiplier")
        if self._begun > self._recorded:
            self._last, self._noise = self._begun - self._recorded, noise
            self._recorded = self._begun
            self._recorder.step_of_pass(noise, self._last)
        elif noise < self._noise:
            self._recorder.lower(self._noise, noise, self._last)
            self._noise = noise


def check_loader(loader: Any) -> None:
    """Refuse a loader unless each record is in at most one batch of a pass, in an order independent of the data.

    Raises:
        UnsupportedError: this is not known of the loader; the message says why.
    """
    if (
        torch.distributed.is_available()
        and torch.distributed.is_initialized()
        and torch.distributed.get_world_size() > 1
    ):
        raise UnsupportedError(
            "poisson_sampling=False is not supported with several processes, because their loaders might not "
            "partition the records" + LEAVE_OUT
        )
    for value, wanted in ((loader, DataLoader), (loader.batch_sampler, BatchSampler)):
        if type(value) is not wanted:
            raise UnsupportedError(
                f"poisson_sampling=False needs a {wanted.__name__} from torch, which puts no record into two batches "
                f"of a pass; received {shown(value)}{LEAVE_OUT}"
            )
    if not _at_most_once(loader.batch_sampler.sampler):
        raise UnsupportedError(
            "poisson_sampling=False needs a data-independent sampler that draws each record at most once per pass: "
            "SequentialSampler, RandomSampler without replacement and with num_samples up to the number of records, "
            "or SubsetRandomSampler of distinct records; received " + shown(loader.batch_sampler.sampler) + LEAVE_OUT
        )


def counted(loader: Any, passes: Passes) -> Any:
    """Return the loader with counted batches."""
    return DataLoader(
        loader.dataset,
        batch_sampler=passes,
        num_workers=loader.num_workers,
        collate_fn=loader.collate_fn,
        pin_memory=loader.pin_memory,
        timeout=loader.timeout,
        worker_init_fn=loader.worker_init_fn,
        multiprocessing_context=loader.multiprocessing_context,
        generator=loader.generator,
        prefetch_factor=loader.prefetch_factor,
        persistent_workers=loader.persistent_workers,
    )


def replaced(loader: Any) -> str | None:
    """Return the name of a loader's sampler if replacing it by Poisson batches of all records changes its law."""
    known = (SequentialSampler, RandomSampler, DistributedSampler)
    batches = loader.batch_sampler
    if type(batches).__module__.startswith("opacus."):
        return None
    if type(batches) is not BatchSampler:
        return type(batches).__name__
    sampler = batches.sampler
    all_once = not isinstance(sampler, RandomSampler) or (
        not sampler.replacement and sampler.num_samples == len(sampler.data_source)
    )
    return None if type(sampler) in known and all_once else type(sampler).__name__


def _at_most_once(sampler: Sampler[int]) -> bool:
    if type(sampler) is SequentialSampler:
        return True
    if type(sampler) is RandomSampler:
        return not sampler.replacement and sampler.num_samples <= len(sampler.data_source)
    if type(sampler) is SubsetRandomSampler:
        drawn = [int(index) for index in sampler.indices]
        return len(set(drawn)) == len(drawn)
    return False
