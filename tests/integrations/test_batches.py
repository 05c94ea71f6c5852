"""Batches: each sampler has the law of its scheme, by exact counts of inclusions, and goes on where it was."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from hockeystick import InvalidInputError, Poisson, RandomAllocation, TruncatedPoisson, WithoutReplacement
from hockeystick.integrations.batches import (
    Batches,
    FixedSizeBatches,
    PoissonBatches,
    RandomAllocationBatches,
    subset,
    uniform,
)

LEAST_P = 1e-4
"""A chi-square test of a fixed seed passes or fails for ever; of a right sampler one in ten thousand would fail."""


class Given:
    """Words that are given by hand."""

    def __init__(self, *batches: list[int]) -> None:
        self._batches = list(batches)

    def __call__(self, count: int) -> Any:
        found = np.array(self._batches.pop(0), dtype=np.uint64)
        assert len(found) == count
        return found


def epochs(batches: Batches, count: int) -> list[list[list[int]]]:
    return [list(batches) for _ in range(count)]


def test_poisson_batches_are_coins_of_each_record_and_step() -> None:
    """Three records, every subset as often as independent coins make it; and two steps in a row are independent."""
    rate, rounds = 0.3, 20_000
    drawn = [
        tuple(batch)
        for epoch in epochs(PoissonBatches(3, sample_rate=rate, steps=2, seed=5), rounds)
        for batch in epoch
    ]
    seen = Counter(drawn)
    subsets = [part for size in range(4) for part in combinations(range(3), size)]
    expected = [2 * rounds * rate ** len(part) * (1 - rate) ** (3 - len(part)) for part in subsets]
    assert sum(seen.values()) == 2 * rounds
    assert chisquare([seen[part] for part in subsets], expected).pvalue > LEAST_P
    pairs = Counter((0 in one, 0 in two) for one, two in zip(drawn[::2], drawn[1::2], strict=True))
    of_two = [(a, b) for a in (True, False) for b in (True, False)]
    both = [rounds * math.prod(rate if inside else 1 - rate for inside in pair) for pair in of_two]
    assert chisquare([pairs[pair] for pair in of_two], both).pvalue > LEAST_P


def test_a_record_is_in_where_its_word_is_below_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """At rate 1/4 the first quarter of all words, and not the word with which the second one begins."""
    batches = PoissonBatches(4, sample_rate=0.25)
    monkeypatch.setattr(batches, "_words", lambda: Given([0, 2**62 - 1, 2**62, 2**64 - 1]))
    assert next(iter(batches)) == [0, 1]


def test_rate_one_takes_all() -> None:
    assert list(PoissonBatches(5, sample_rate=1.0)) == [[0, 1, 2, 3, 4]]


def test_batches_of_a_fixed_size_are_subsets_all_equally_likely() -> None:
    rounds = 6_000
    seen = Counter(tuple(batch) for epoch in epochs(FixedSizeBatches(5, 2, seed=11), rounds) for batch in epoch)
    assert len(seen) == math.comb(5, 2)
    assert sum(seen.values()) == 3 * rounds
    assert chisquare(list(seen.values())).pvalue > LEAST_P


def test_each_record_is_in_one_step_of_an_epoch_all_equally_likely() -> None:
    """Two records and three steps: nine equally likely epochs."""
    drawn = epochs(RandomAllocationBatches(2, 3, seed=8), 9_000)
    seen = Counter(tuple(next(step for step in range(3) if i in epoch[step]) for i in range(2)) for epoch in drawn)
    assert all(sorted(index for batch in epoch for index in batch) == [0, 1] for epoch in drawn)
    assert len(seen) == 9
    assert chisquare(list(seen.values())).pvalue > LEAST_P


def test_what_is_kept_of_a_batch_that_is_too_large_is_random() -> None:
    """Three records at rate 1/2, at most one kept: every size with its probability, every record alike."""
    rounds = 16_000
    drawn = epochs(PoissonBatches(3, max_batch_size=1, sample_rate=0.5, steps=1, seed=2), rounds)
    seen = Counter(tuple(epoch[0]) for epoch in drawn)
    kept = (1 - 1 / 8) / 3
    expected = [rounds / 8, *[rounds * kept] * 3]
    assert chisquare([seen[part] for part in [(), (0,), (1,), (2,)]], expected).pvalue > LEAST_P
    two = epochs(PoissonBatches(4, max_batch_size=2, sample_rate=0.9, steps=1, seed=6), rounds)
    full = Counter(tuple(epoch[0]) for epoch in two if len(epoch[0]) == 2)
    assert chisquare(list(full.values())).pvalue > LEAST_P


def test_equal_words_are_drawn_again() -> None:
    """Else the record with the smaller index would be preferred."""
    generator = Given([7, 7, 1, 9], [5, 4, 3, 2])
    assert subset(generator, 4, 2).tolist() == [2, 3]
    assert subset(Given([3, 1, 2]), 3, 3).tolist() == [0, 1, 2]


def test_whole_numbers_are_uniform() -> None:
    """Words of the incomplete last block are drawn again: 2^64 leaves 1 when divided by 3."""
    assert uniform(Given([2**64 - 1, 2**64 - 2, 4], [8]), 3, 3).tolist() == [2, 2, 1]
    assert uniform(Given([2**64 - 1, 5]), 4, 2).tolist() == [3, 1]
    found = np.bincount(uniform(np.random.Philox(3).random_raw, 7, 70_000), minlength=7)
    assert chisquare(found).pvalue > LEAST_P


@pytest.mark.parametrize(
    ("make", "steps"),
    [
        (lambda seed: PoissonBatches(50, batch_size=6, seed=seed), 9),
        (lambda seed: PoissonBatches(50, sample_rate=0.1, steps=4, seed=seed), 4),
        (lambda seed: FixedSizeBatches(50, 6, seed=seed), 9),
        (lambda seed: RandomAllocationBatches(50, 7, seed=seed), 7),
        (lambda seed: PoissonBatches(50, max_batch_size=5, batch_size=6, seed=seed), 9),
    ],
)
def test_a_state_goes_on_where_it_was(make: Any, steps: int) -> None:
    """After any step, also of the second epoch, through JSON; and the same seed gives the same batches."""
    assert len(make(1)) == steps
    whole = epochs(make(1), 3)
    assert epochs(make(1), 3) == whole
    assert epochs(make(2), 3) != whole
    for taken in range(steps + 1):
        first, second = make(1), make(1)
        running = iter(first)
        assert [next(running) for _ in range(taken)] == whole[0][:taken]
        second.load_state_dict(json.loads(json.dumps(first.state_dict())))
        rest = list(second)
        assert rest == (whole[0][taken:] if taken < steps else whole[1])
        assert list(second) == (whole[1] if taken < steps else whole[2])


def test_passes_that_overlap_share_no_batch() -> None:
    """Two releases about one batch would share one draw."""
    batches = PoissonBatches(1000, batch_size=100, steps=4, seed=1)
    drawn = [tuple(batch) for pair in zip(batches, batches, strict=False) for batch in pair]
    drawn += [tuple(batch) for _ in range(3) for batch in itertools.islice(batches, 2)]
    assert len(set(drawn)) == len(drawn) > 8


def test_after_the_last_batch_a_new_epoch_begins_however_the_loop_ended() -> None:
    batches = RandomAllocationBatches(50, 4, seed=1)
    first = list(itertools.islice(batches, 4))
    assert len(list(batches)) == 4
    assert list(itertools.islice(batches, 4)) != first


def test_what_a_loader_has_drawn_ahead_is_drawn_again() -> None:
    whole = list(PoissonBatches(50, batch_size=6, seed=1))
    ahead, resumed = PoissonBatches(50, batch_size=6, seed=1), PoissonBatches(50, batch_size=6, seed=1)
    assert list(itertools.islice(ahead, 5)) == whole[:5]
    resumed.load_state_dict(ahead.state_dict(2))
    assert list(resumed) == whole[2:]


def test_without_a_seed_nothing_can_be_drawn_again() -> None:
    one, two = PoissonBatches(1000, batch_size=100), PoissonBatches(1000, batch_size=100)
    assert list(one) != list(two)
    assert one.state_dict() == {"step": 0, "number": 10, "drawn": None}
    assert "os.urandom" in repr(one)
    assert "seeded" in repr(PoissonBatches(10, batch_size=1, seed=0))


def test_the_scheme_is_what_a_plan_takes() -> None:
    assert PoissonBatches(60_000, batch_size=256).sampling == Poisson(batch_size=256, dataset_size=60_000)
    assert PoissonBatches(60_000, sample_rate=0.01).sampling == Poisson(0.01)
    assert FixedSizeBatches(100, 7).sampling == WithoutReplacement(7, 100)
    assert RandomAllocationBatches(100, 7).sampling == RandomAllocation(7, dataset_size=100)
    assert PoissonBatches(100, max_batch_size=30, batch_size=20).sampling == TruncatedPoisson(0.2, 100, 30)
    assert len(PoissonBatches(60_000, batch_size=256)) == len(FixedSizeBatches(60_000, 256)) == 235


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (lambda: PoissonBatches(0, batch_size=1), "dataset_size"),
        (lambda: PoissonBatches(10), "sample_rate"),
        (lambda: PoissonBatches(10, batch_size=2, steps=0), "steps"),
        (lambda: PoissonBatches(10, batch_size=2, seed=-1), "seed"),
        (lambda: FixedSizeBatches(10, 11), "batch_size"),
        (lambda: FixedSizeBatches(10, 2).load_state_dict({}), "state"),
        (lambda: FixedSizeBatches(10, 2).load_state_dict({"step": 5, "number": 5, "drawn": None}), "step"),
        (lambda: FixedSizeBatches(10, 2).load_state_dict({"step": 1, "number": None, "drawn": None}), "number"),
        (lambda: FixedSizeBatches(10, 2).state_dict(6), "step"),
        (
            lambda: RandomAllocationBatches(3, 2).load_state_dict({"step": 1, "number": 1, "drawn": [0, 2, 1]}),
            "drawn",
        ),
        (lambda: RandomAllocationBatches(3, 2).load_state_dict({"step": 1, "number": 1, "drawn": None}), "drawn"),
        (lambda: RandomAllocationBatches(3, 0), "steps_per_epoch"),
        (lambda: PoissonBatches(10, max_batch_size=0, batch_size=2), "max_batch_size"),
    ],
)
def test_refusals_name_the_key(make: Any, key: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        make()
    assert key in str(caught.value)
