"""Batches drawn against steps taken: a step of the optimiser is on one batch of the loader, whole or in pieces.

Opacus adds up clipped gradients for as long as steps are skipped (``signal_skip_step``). Its ``BatchMemoryManager``
does so with the pieces of one Poisson batch: together they are one step at the sample rate q. A loop that does so with
k batches of the loader takes a step in which one record may be several times: its sum moves by as many clipping norms
as Binomial(k, q) says (``MixtureGaussian``), for which no sample rate stands. Such steps are refused.

Pieces are told from batches by counting: ``BatchMemoryManager`` signals once for each batch that it draws that a step
is not to be skipped, so that in a pass the steps taken and those signalled ahead are as many as the batches drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from hockeystick.values.errors import UnsupportedError

ON_EACH = (
    "one record may be in several of them; take a step on each batch, and for larger batches give the DataLoader "
    "a larger batch_size, and cut them into pieces by opacus.utils.batch_memory_manager.BatchMemoryManager"
)
"""Why a step on several batches is refused, and the way out."""


STRANGE = (
    "a step on a batch that is not from the loader that make_private returned, or a second step on one batch: its "
    "batches cannot be counted; train on that loader, one step for each batch"
)
"""Why a step is refused that no batch was drawn for.

The law of such a batch is nobody's: that of the loader that was given to ``make_private`` is shuffled, and two releases
about one batch have one draw together, and not one each.
"""


class Draws:
    """The batches that a Poisson-sampled loader draws, and the step hook of the optimiser that goes with them.

    Args:
        sampler: the batch sampler of a loader that Opacus made; from now on it counts what it draws. It remains of its
            class, on which ``BatchMemoryManager`` looks.
        optimizer: an optimiser of Opacus, whose step hook records each step.
    """

    def __init__(self, sampler: Any, optimizer: Any) -> None:
        self._optimizer, self._record = optimizer, optimizer.step_hook
        self._drawn = self._taken = 0  # in the pass that was begun last
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
                f"{steps - self._drawn} of the {steps} shares of batches that this process drew in a pass were empty, "
                "and Opacus leaves those out: steps no longer go with those of other processes, nor with the sample "
                "rate; give the DataLoader a larger batch_size, of which no process draws an empty share"
            )

    def step(self, optimizer: Any) -> None:
        """Record one step of the optimiser, on one batch.

        Raises:
            InvalidInputError: a noise multiplier below 0.
            UnsupportedError: a step on several batches, or more steps than batches.
        """
        if self._taken >= self._drawn:
            raise UnsupportedError(STRANGE)
        self._taken += 1
        ahead = optimizer._step_skip_queue  # of batches that workers draw ahead, the last one perhaps in part
        if optimizer._is_last_step_skipped and self._taken + ahead.count(False) + ahead[-1:].count(True) != self._drawn:
            raise UnsupportedError(
                f"a step after skipped ones (signal_skip_step), on several batches: {self._drawn} were drawn in this "
                f"pass, for steps up to number {self._taken}; {ON_EACH}"
            )
        self._record(optimizer)


def check_accumulated(optimizer: Any) -> None:
    """Refuse a step on gradients of several backward passes.

    Raises:
        UnsupportedError: there are several.
    """
    if optimizer.accumulated_iterations != 1:
        raise UnsupportedError(f"a step on {optimizer.accumulated_iterations} accumulated batches; {ON_EACH}")


def check_begin(optimizer: Any) -> None:
    """Refuse a pass over a loader while gradients of an earlier one wait for their step.

    Raises:
        UnsupportedError: steps were skipped, or signalled and not taken.
    """
    if optimizer._is_last_step_skipped or optimizer._step_skip_queue:
        raise UnsupportedError(
            "a pass over the loader begins while gradients of the one before wait for their step: a record may be in "
            "both; go through a loader of BatchMemoryManager to its end, or call make_private anew, which drops them"
        )
