"""Samplers whose batches have exactly the law that a plan assumes, for any training loop; they need only NumPy.

A bound for a sampling scheme holds only for a loop that draws its batches by that scheme. Each sampler here names its
scheme in :attr:`Batches.sampling`, for use in a :class:`~hockeystick.Round`. If the random bits are independent and
uniform, the batches of a sampler have exactly the law of its scheme, except that a Poisson rate is rounded down:

- Poisson: each record has a random word of 64 bits, and enters the batch if its word is below ``floor(q 2^64)``. The
  probability of this is at most q and at least ``q - 2^-64``. A lower rate protects the record better (joint
  convexity).
- Fixed size: each of the n records has a random word, and the b records with the smallest words form the batch. If two
  words are equal, all n words are drawn again. All subsets of b records are therefore equally likely.
- Random allocation: the step of a record is a random word modulo t, the number of steps. A word in the incomplete last
  block of length t is drawn again. All steps are therefore equally likely.

The words come from the operating system (``os.urandom``) or, with a seed, from the generator Philox, which has a
separate stream for each batch. Anyone who knows the seed can draw the batches again; against everyone else, the
guarantee is as good as the generator. Publish neither the indices nor the seed.

In PyTorch, give a sampler to a ``DataLoader`` as its ``batch_sampler`` (``hockeystick.integrations.torch``). In other
loops, iterate over the sampler: each pass yields the batches of one epoch as lists of indices.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hockeystick.plan.sampling import Sampling
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.plan.sampling.random_allocation import RandomAllocation
from hockeystick.plan.sampling.truncated_poisson import TruncatedPoisson
from hockeystick.plan.sampling.without_replacement import WithoutReplacement
from hockeystick.values import domains
from hockeystick.values.errors import InvalidInputError

Indices = npt.NDArray[np.int64]
Words = Callable[[int], npt.NDArray[np.uint64]]
"""Source of independent uniform words of 64 bits, a function of their number."""

BITS = 64
"""Number of random bits in a word; each decision about a record uses one word."""

TAKEN = "number of batches taken in the current epoch"
"""Meaning of the key ``step`` in messages about a state."""

STATE_KEYS = ("step", "number", "drawn")
"""Keys of a sampler's state."""


def from_system(count: int) -> npt.NDArray[np.uint64]:
    """Return ``count`` random words of 64 bits from the operating system; no seed reproduces them."""
    return np.frombuffer(os.urandom(count * BITS // 8), dtype=np.uint64)


class Batches(ABC):
    """Sampler of batches by one sampling scheme; each pass over it yields the batches of one epoch.

    Args:
        sampling: sampling scheme.
        dataset_size: number of records; the indices are 0, ..., dataset_size - 1.
        steps: number of batches of an epoch.
        seed: seed of the generator; by default the operating system's secret random numbers are used.

    Attributes:
        sampling: sampling scheme, for the plan that accounts for the training.
    """

    sampling: Sampling

    def __init__(self, sampling: Sampling, dataset_size: int, steps: int, seed: int | None) -> None:
        self.sampling = sampling
        self.dataset_size = domains.whole(dataset_size, "dataset_size", "number of records", least=1)
        self._steps = domains.whole(steps, "steps", "number of batches per epoch", least=1)
        self._seed = None if seed is None else domains.whole(seed, "seed", "seed of the batches")
        self._number = 0  # number of the next batch over all epochs, so that no stream of words is used twice
        self._step = 0
        self._drawn: Indices | None = None  # the draw for the whole epoch, in schemes that draw once per epoch

    @abstractmethod
    def _batch(self, step: int, words: Words) -> Indices:
        """Return the batch of one step of the current epoch, drawn with random bits from ``words``."""

    def _begin(self, words: Words) -> Indices | None:
        """Return the random choices made once for a whole epoch; ``None`` if each step draws separately."""
        return None

    def _words(self) -> Words:
        """Return the source of random bits for the next batch."""
        return from_system if self._seed is None else np.random.Philox(self._seed).jumped(self._number).random_raw

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""
        return self._steps

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the batches of an epoch as lists of indices.

        After an interrupted pass or :meth:`load_state_dict`, only the remaining batches of that epoch are yielded.
        """
        if self._step in (0, self._steps):
            self._step, self._drawn = 0, self._begin(self._words())
        for step in range(self._step, self._steps):
            batch = self._batch(step, self._words()).tolist()
            self._step, self._number = step + 1, self._number + 1
            yield batch
        self._step = 0

    def state_dict(self, step: int | None = None) -> dict[str, Any]:
        """Return a state, in JSON types, from which a sampler made with the same arguments continues.

        Keep the state as secret as the batches.

        Args:
            step: number of batches of the current epoch that training has used; by default all batches yielded so far.
                Give this number if a loader prefetches, since the sampler has then yielded more batches than were used.

        Raises:
            InvalidInputError: ``step`` is not a number of batches of an epoch.
        """
        step = self._step if step is None else domains.whole(step, "step", TAKEN, most=self._steps)
        number = self._number - self._step + step
        drawn = None if self._drawn is None or step in (0, self._steps) else self._drawn.tolist()
        return {"step": step % self._steps, "number": number, "drawn": drawn}

    def load_state_dict(self, state: Any) -> None:
        """Load a state: the next pass yields the remaining batches of the epoch in which the state was saved.

        Raises:
            InvalidInputError: the state does not belong to a sampler made with the same arguments.
        """
        if not isinstance(state, Mapping) or set(state) != set(STATE_KEYS):
            raise InvalidInputError(
                f"the state must have the keys {', '.join(STATE_KEYS)}; received {domains.shown(state)}", "state"
            )
        step = domains.whole(state["step"], "step", TAKEN, most=self._steps - 1)
        number = domains.whole(state["number"], "number", "number of batches taken in all epochs")
        self._drawn = self._checked(state["drawn"], step)
        self._step, self._number = step, number

    def _checked(self, drawn: Any, step: int) -> Indices | None:
        """Return the random choices for a whole epoch from a saved state, after a check; ``None`` if there are none.

        Args:
            drawn: the choices in the state.
            step: number of steps of the epoch already taken.

        Raises:
            InvalidInputError: this scheme cannot have made these choices.
        """
        return None

    def __repr__(self) -> str:
        source = "os.urandom" if self._seed is None else "Philox, seeded"
        return f"{type(self).__name__}({self.sampling!r}, {len(self)} batches per epoch, {source})"


class PoissonBatches(Batches):
    """Poisson batches: each record enters each batch independently (``sampling = "poisson"``). A batch may be empty.

    With ``max_batch_size``, a random subset of that size is used in place of a larger batch
    (``sampling = "truncated-poisson"``).

    Args:
        dataset_size: number of records.
        batch_size: expected size of a batch before truncation; give either this or ``sample_rate``.
        sample_rate: probability that a record enters a batch before truncation.
        max_batch_size: largest size of a batch; unlimited by default.
        steps: number of batches of an epoch; by default ``ceil(dataset_size / batch_size)``, or
            ``ceil(1 / sample_rate)``.
        seed: seed of the generator; by default the operating system's random numbers are used.

    Raises:
        InvalidInputError: a value is outside its domain, or not exactly one of batch_size and sample_rate is given.

    >>> batches = PoissonBatches(60_000, batch_size=256)
    >>> len(batches), batches.sampling.sample_rate
    (235, 0.004266666666666667)
    >>> sum(len(batch) for batch in batches) > 50_000
    True
    >>> max(len(batch) for batch in PoissonBatches(1000, batch_size=18, max_batch_size=20)) <= 20
    True
    """

    sampling: Poisson | TruncatedPoisson

    def __init__(
        self,
        dataset_size: int,
        *,
        batch_size: int | None = None,
        sample_rate: float | None = None,
        max_batch_size: int | None = None,
        steps: int | None = None,
        seed: int | None = None,
    ) -> None:
        size = None if batch_size is None else dataset_size
        poisson = Poisson(sample_rate=sample_rate, batch_size=batch_size, dataset_size=size)
        assert poisson.sample_rate is not None  # derived from the sizes
        sampling: Poisson | TruncatedPoisson = poisson
        if max_batch_size is not None:
            sampling = TruncatedPoisson(poisson.sample_rate, dataset_size, max_batch_size)
        self._rate, self._most = poisson.exact_rate, max_batch_size
        super().__init__(sampling, dataset_size, poisson.steps_per_epoch if steps is None else steps, seed)

    def _batch(self, step: int, words: Words) -> Indices:
        chosen = coins(words, self.dataset_size, self._rate)
        if self._most is None or len(chosen) <= self._most:
            return chosen
        return chosen[subset(words, len(chosen), self._most)]


class FixedSizeBatches(Batches):
    """Batches of a fixed number of distinct records, drawn anew in every step (``sampling = "without-replacement"``).

    Args:
        dataset_size: number of records.
        batch_size: size of every batch.
        steps: number of batches of an epoch; by default ``ceil(dataset_size / batch_size)``.
        seed: seed of the generator; by default the operating system's random numbers are used.

    Raises:
        InvalidInputError: a value is outside its domain, or the batch is larger than the dataset.

    >>> [len(batch) for batch in FixedSizeBatches(10, 4)]
    [4, 4, 4]
    """

    sampling: WithoutReplacement

    def __init__(
        self, dataset_size: int, batch_size: int, *, steps: int | None = None, seed: int | None = None
    ) -> None:
        sampling = WithoutReplacement(batch_size=batch_size, dataset_size=dataset_size)
        super().__init__(sampling, dataset_size, sampling.steps_per_epoch if steps is None else steps, seed)

    def _batch(self, step: int, words: Words) -> Indices:
        return subset(words, self.dataset_size, self.sampling.batch_size)


class RandomAllocationBatches(Batches):
    """Random allocation: each record enters one random batch per epoch (``sampling = "random-allocation"``).

    A batch may be empty.

    Args:
        dataset_size: number of records.
        steps_per_epoch: number of batches of an epoch.
        seed: seed of the generator; by default the operating system's random numbers are used.

    Raises:
        InvalidInputError: a value is outside its domain.

    >>> batches = RandomAllocationBatches(1000, steps_per_epoch=8)
    >>> sorted(index for batch in batches for index in batch) == list(range(1000))
    True
    """

    sampling: RandomAllocation

    def __init__(self, dataset_size: int, steps_per_epoch: int, *, seed: int | None = None) -> None:
        sampling = RandomAllocation(steps_per_epoch=steps_per_epoch, dataset_size=dataset_size)
        super().__init__(sampling, dataset_size, steps_per_epoch, seed)

    def _begin(self, words: Words) -> Indices:
        return uniform(words, len(self), self.dataset_size)

    def _batch(self, step: int, words: Words) -> Indices:
        assert self._drawn is not None  # drawn when the epoch began
        return np.flatnonzero(self._drawn == step)

    def _checked(self, drawn: Any, step: int) -> Indices | None:
        if step == 0:
            return None
        steps = range(len(self))
        if not (isinstance(drawn, list) and len(drawn) == self.dataset_size and all(at in steps for at in drawn)):
            raise InvalidInputError(
                f"drawn must contain the step of each of {self.dataset_size} records, from 0 to {len(self) - 1}; "
                f"received {domains.shown(drawn)}",
                "drawn",
            )
        return np.array(drawn, dtype=np.int64)


def coins(words: Words, among: int, rate: Fraction) -> Indices:
    """Return, in increasing order, a random set of numbers below ``among``.

    Each number is included independently, with probability ``rate``.
    """
    if rate == 1:
        return np.arange(among)
    return np.flatnonzero(words(among) < np.uint64((rate.numerator << BITS) // rate.denominator))


def subset(words: Words, among: int, size: int) -> Indices:
    """Return, in increasing order, a uniformly random subset of ``size`` numbers below ``among``."""
    drawn = words(among)
    while np.unique(drawn).size < among:  # equal words would favour the smaller index
        drawn = words(among)
    return np.sort(np.argpartition(drawn, size - 1)[:size])


def uniform(words: Words, below: int, count: int) -> Indices:
    """Return ``count`` independent uniform whole numbers from 0 to ``below - 1``."""
    blocks = (1 << BITS) // below * below  # words at or above this number are drawn again
    drawn = words(count).copy()
    while (again := np.flatnonzero(drawn > np.uint64(blocks - 1))).size:
        drawn[again] = words(again.size)
    return (drawn % np.uint64(below)).astype(np.int64)
