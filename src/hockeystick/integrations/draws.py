"""Check that each optimiser step under Opacus uses exactly one Poisson batch of the loader, whole or in pieces.

Opacus adds up clipped gradients while steps are skipped (``signal_skip_step``). Its ``BatchMemoryManager`` uses this to
process one Poisson batch in pieces, which together are one step at the sample rate q. A loop can also add up k Poisson
batches and then take one step, in which one record may occur several times. The record then moves the sum of the step
by Binomial(k, q) clipping norms (``MixtureGaussian``), which no sample rate describes. Such steps are refused.

A count distinguishes pieces from batches. For each batch that it draws, ``BatchMemoryManager`` signals once that a step
must not be skipped. Within a pass over the loader, the number of batches drawn therefore equals the number of steps
taken plus the number of signals for steps not yet taken.

**Rate of the draws.** Opacus takes the records whose ``torch.rand`` is below the rate. These random numbers are
multiples of 2^-24, compared in single precision. Let the rate be 1/n with n at most 2^24. Then the remainder of 2^24 /
n is 0 or at least 1, so that rounding the rate to single precision moves it past no multiple. Therefore ceil(2^24 / n)
multiples are below the rate, and the rate of the draws is ceil(2^24 / n) / 2^24. Plans have this rate; the history has
the rate that Opacus states. For any other rate r, ceil(2^24 r) / 2^24 is at least the rate of the draws, also if the
comparison is in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from hockeystick.values.errors import UnsupportedError

ON_EACH = (
    "a record may be in several of them; take one step per batch; for larger batches, increase the DataLoader's "
    "batch_size and split them with opacus.utils.batch_memory_manager.BatchMemoryManager"
)
"""Reason for refusing a step on several batches, and the remedy."""


STRANGE = (
    "this step uses a batch from another loader than make_private returned, or repeats a batch, so batches cannot "
    "be counted; train on that loader, one step per batch"
)
"""Reason for refusing a step for which no batch was drawn.

The law of the batch of this step is unknown: the loader given to ``make_private`` shuffles, and two steps on a repeated
batch share one draw.
"""


MULTIPLES = 1 << 24
"""Number of values of ``torch.rand`` in single precision."""


def drawn(rate: float) -> float:
    """Return the actual rate at which Opacus draws records if its sample rate is ``rate``.

    >>> drawn(1 / 64) == 1 / 64, drawn(1 / 60) * 2**24
    (True, 279621.0)
    """
    return math.ceil(rate * MULTIPLES) / MULTIPLES


class Draws:
    """Count of the batches that a Poisson-sampled loader draws, with a step hook that checks each step against it.

    Args:
        sampler: batch sampler of a loader made by Opacus. It is changed to count its draws. Its class keeps its name,
            since ``BatchMemoryManager`` depends on the class.
        optimizer: Opacus optimiser whose step hook records each step.
    """

    def __init__(self, sampler: Any, optimizer: Any) -> None:
        self._optimizer, self._record = optimizer, optimizer.step_hook
        self._drawn = self._taken = 0  # numbers of batches drawn and steps taken in the latest pass
        kind = type(sampler)
        counting = {"__module__": kind.__module__, "__iter__": lambda own: self._of_pass(kind.__iter__(own), len(own))}
        sampler.__class__ = type(kind.__name__, (kind,), counting)

    def _of_pass(self, batches: Iterable[Any], steps: int) -> Iterator[Any]:
        check_begin(self._optimizer)
        self._drawn = self._taken = 0
        for batch in batches:
            self._drawn += 1
            yield batch
        if self._drawn < steps:
            raise UnsupportedError(
                f"{steps - self._drawn} of the {steps} batch shares that this process drew in a pass were empty, and "
                "Opacus skips those, so steps no longer match other processes or the sample rate; increase the "
                "DataLoader's batch_size until no share is empty"
            )

    def step(self, optimizer: Any) -> None:
        """Record one step of the optimiser, which must use exactly one batch.

        Raises:
            InvalidInputError: the noise multiplier is below 0.
            UnsupportedError: the step uses several batches, or no batch was drawn for it.
        """
        if self._taken >= self._drawn:
            raise UnsupportedError(STRANGE)
        self._taken += 1
        ahead = optimizer._step_skip_queue  # a signal for each piece drawn ahead; the last batch may be incomplete
        if optimizer._is_last_step_skipped and self._taken + ahead.count(False) + ahead[-1:].count(True) != self._drawn:
            raise UnsupportedError(
                f"a step after skipped ones (signal_skip_step) covers several batches: {self._drawn} were drawn in "
                f"this pass, for steps up to number {self._taken}; {ON_EACH}"
            )
        self._record(optimizer)


def check_accumulated(optimizer: Any) -> None:
    """Refuse a step on the gradients of several backward passes.

    Raises:
        UnsupportedError: the gradients are from several backward passes.
    """
    if optimizer.accumulated_iterations != 1:
        raise UnsupportedError(f"this step accumulates {optimizer.accumulated_iterations} batches; {ON_EACH}")


def check_begin(optimizer: Any) -> None:
    """Refuse a new pass over a loader while gradients of an earlier pass wait for their step.

    Raises:
        UnsupportedError: steps were skipped, or signalled but not taken.
    """
    if optimizer._is_last_step_skipped or optimizer._step_skip_queue:
        raise UnsupportedError(
            "a new pass over the loader begins while gradients of the previous pass await their step, so a record "
            "may be in both; iterate a BatchMemoryManager loader to its end, or call make_private again, which "
            "drops the gradients"
        )
