"""Passes over a loader that is not Poisson-sampled: what they are proven to cost, and how they are counted.

Let the order of the records be drawn, in each pass anew or not, without a look at the data, and let each record be in
at most one batch of a pass. Compare a dataset with one in which record j is replaced. Given the orders, only one step
of a pass depends on j, the one with its batch: its sum of clipped gradients moves by at most 2 C, and every other
step has the same law given what came before. With s the least noise multiplier of the pass, the pass is therefore
dominated by one unsampled Gaussian round with noise s C on a sum that moves by 2 C. The orders have the same law on
both datasets, and the hockey-stick divergence is jointly convex, so that averaging over them does not increase it.
Adaptive composition (Zhu, Dong, Wang 2022 [ZDW22], Theorem 10) then bounds P passes by P such rounds: an
upper end. From below nothing is said here, as passes may be broken off and their noise may change; of whole epochs with
one noise there is a lower end (``plan/sampling/shuffled.py``).

Where a record is added or removed, the argument fails: the others move to other batches, and where the last batch was
full, the number of steps changes and gives the record away. What is proven there asks for more than passes, and is in
the same place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

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
    "an upper bound without amplification: each pass over a loader that is not Poisson-sampled counts as one round "
    "that sees all records; from below nothing is said, which sampling 'shuffled' does of whole epochs"
)
"""What is said of a plan with passes that are not sampled."""

LEAVE_OUT = "; leave poisson_sampling=False out"
"""The way out, at the end of each refusal of a loader."""


class Recorder(Protocol):
    """What is told of passes: an accountant."""

    def step_of_pass(self, noise: float, begun: int) -> None:
        """A first step of passes that were begun, each of which now costs a round with this noise multiplier."""

    def lower(self, noise: float, lower: float, begun: int) -> None:
        """A later step of passes that were recorded with more noise."""


class Passes(BatchSampler):
    """A batch sampler that counts the passes begun, and the step hook of the optimiser that goes with it.

    A pass counts from its first batch, also where it is broken off. Passes are taken one after the other: from the
    first batch of a pass on, steps belong to that one.

    Args:
        batches: the batch sampler of a loader that :func:`check_loader` has passed.
        optimizer: an optimiser of Opacus.
        recorder: told what the steps cost.
    """

    def __init__(self, batches: Any, optimizer: Any, recorder: Recorder) -> None:
        super().__init__(batches.sampler, batches.batch_size, batches.drop_last)
        self._optimizer, self._recorder = optimizer, recorder
        self._begun, self._drawn, self._taken = 0, 0, 0
        self._recorded = 0  # of the passes begun
        self._last, self._noise = 0, 0.0  # how many the last step that began some recorded, and with what noise

    def __iter__(self) -> Iterator[list[int]]:
        check_begin(self._optimizer)
        self._begun += 1
        mine = self._begun
        for batch in super().__iter__():
            if mine != self._begun:
                raise UnsupportedError(
                    "a pass over the loader goes on after another was begun: its steps cannot be told from those of "
                    "the other; finish or leave one pass before the next"
                )
            self._drawn += 1
            yield batch

    def step(self, optimizer: Any) -> None:
        """Record one step of an optimiser of Opacus, on one batch of the pass that was begun last.

        Raises:
            InvalidInputError: a noise multiplier below 0.
            UnsupportedError: batches that did not come from here, or gradients of several backward passes.
        """
        check_accumulated(optimizer)
        if self._taken >= self._drawn:
            raise UnsupportedError(
                "a step on a batch that is not from the loader that make_private returned: its passes cannot be "
                "counted; train on that loader, one step for each batch"
            )
        self._taken += 1
        noise = NOISE.check(number(optimizer.noise_multiplier), "noise_multiplier")
        if self._begun > self._recorded:
            self._last, self._noise = self._begun - self._recorded, noise
            self._recorded = self._begun
            self._recorder.step_of_pass(noise, self._last)
        elif noise < self._noise:
            self._recorder.lower(self._noise, noise, self._last)
            self._noise = noise


def check_loader(loader: Any) -> None:
    """Whether each record is in at most one batch of a pass, in an order that does not depend on the data.

    Raises:
        UnsupportedError: that is not known of the loader; the message says why.
    """
    if (
        torch.distributed.is_available()
        and torch.distributed.is_initialized()
        and torch.distributed.get_world_size() > 1
    ):
        raise UnsupportedError(
            "poisson_sampling=False with several processes: nothing says that their loaders share the records out"
            + LEAVE_OUT
        )
    for value, wanted in ((loader, DataLoader), (loader.batch_sampler, BatchSampler)):
        if type(value) is not wanted:
            raise UnsupportedError(
                f"poisson_sampling=False needs a {wanted.__name__} of torch itself, of which it is known that no "
                f"record is in two batches of a pass; received {shown(value)}{LEAVE_OUT}"
            )
    if not _at_most_once(loader.batch_sampler.sampler):
        raise UnsupportedError(
            "poisson_sampling=False needs a sampler that is known to draw each record at most once a pass, without a "
            "look at the data: SequentialSampler, RandomSampler without replacement and with num_samples up to the "
            "number of records, SubsetRandomSampler of distinct records; received "
            + shown(loader.batch_sampler.sampler)
            + LEAVE_OUT
        )


def counted(loader: Any, passes: Passes) -> Any:
    """The loader, with batches that are counted."""
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
    """The name of a loader's sampler, where Poisson batches of all records are another law than what it says."""
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


def number(value: Any) -> Any:
    """What a schedule computed, without its tensor."""
    return value.item() if hasattr(value, "item") else value


def _at_most_once(sampler: Sampler[int]) -> bool:
    if type(sampler) is SequentialSampler:
        return True
    if type(sampler) is RandomSampler:
        return not sampler.replacement and sampler.num_samples <= len(sampler.data_source)
    if type(sampler) is SubsetRandomSampler:
        drawn = [int(index) for index in sampler.indices]
        return len(set(drawn)) == len(drawn)
    return False
