"""Rows of many users become distinct histories, exactly; each history has the epsilon of its plan."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick.questions.histories import entries as taken
from hockeystick.questions.histories import merging, naming
from hockeystick.questions.histories.answers import History, answers, canonical, plan_of
from hockeystick.questions.histories.entries import Entries, refusal, sound
from hockeystick.questions.histories.naming import Names, Pairs, Sequences

FINE: History = ((1.0, 0.01, 1000),)

EDGES = [
    math.nan, math.inf, -math.inf, -1.0, -0.0, 0.0, 5e-324, 9e-11, 1e-10, 0.009, 0.01, 0.5, 1 - 1e-6, 1 - 9e-7, 1.0,
    1.5, 2.0, 1e6, 1.1e6, 1e12, 1e12 + 1, 2.0**53, 1e300,
]  # fmt: skip


@pytest.mark.parametrize("alike", [False, True])  # with equal digests all are told apart by what they are
@pytest.mark.parametrize("parts", [1, 3])
@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=9), min_size=3, max_size=40))
def test_sequences_are_equal_where_their_elements_are(alike: bool, parts: int, lists: list[list[int]]) -> None:
    sequences = Sequences()
    seen: dict[tuple[int, ...], int] = {}
    with pytest.MonkeyPatch.context() as patch:
        if alike:
            patch.setattr(naming, "digests", lambda _symbols, _amounts, starts: np.full(len(starts), 5))
        for part in np.array_split(np.arange(len(lists)), parts):
            some = [lists[at] for at in part]
            starts = np.cumsum([0, *(len(one) for one in some)])[:-1].astype(np.int64)
            elements = np.array([element for one in some for element in one])
            numbers = sequences.of((elements // 2).astype(np.int32), elements % 2 + 1.0, starts)
            for one, of in zip(some, numbers.tolist(), strict=True):
                assert seen.setdefault(tuple(one), of) == of
                own = slice(sequences.starts[of], sequences.starts[of + 1])
                assert (2 * sequences.symbols[own] + sequences.amounts[own] - 1).tolist() == one
    assert sorted(seen.values()) == list(range(len(sequences)))


def test_digests_differ_where_an_element_does_and_nothing_else_counts() -> None:
    starts = np.array([0, 2, 4, 6, 8])
    symbols = np.array([0, 1, 0, 2, 0, 1, 0, 1, 0], dtype=np.int32)
    amounts = np.array([3.0, 4.0, 3.0, 4.0, 4.0, 3.0, 3.0, 4.0, 3.0])
    found = naming.digests(symbols, amounts, starts).tolist()
    assert found[0] == found[3]
    assert len(set(found)) == len(starts) - 1


@pytest.mark.parametrize("slots", [1, 17])
def test_pairs_have_one_number_each(slots: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naming, "SLOTS", slots)
    rng = np.random.default_rng(7)
    pairs = Pairs()
    seen: dict[tuple[float, float], int] = {}
    for size in (0, 10, 1000, 3, 1000):
        first, second = (rng.choice([0.1, 0.1 + 2**-56, 1e300, *rng.random(20)], size) for _ in range(2))
        numbers = pairs.of(first, second).tolist()
        for one, other, number in zip(first.tolist(), second.tolist(), numbers, strict=True):
            assert seen.setdefault((one, other), number) == number
    assert sorted(seen.values()) == list(range(len(pairs)))
    assert list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)) == sorted(seen, key=seen.__getitem__)


@pytest.mark.parametrize("slots", [1, 17])  # with two slots nearly every value is looked up among the sorted ones
def test_values_have_one_number_each(slots: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naming, "SLOTS", slots)
    monkeypatch.setattr(naming, "BLOCK", 64)
    rng = np.random.default_rng(5)
    names = Names(np.float64)
    seen: dict[float, int] = {}
    for size in (0, 10, 1000, 3, 1000):
        values = rng.choice([0.0, 0.1, 0.1 + 2**-56, 1e300, *rng.random(300)], size)
        for value, number in zip(values.tolist(), names.of(values).tolist(), strict=True):
            assert seen.setdefault(value, number) == number
    assert sorted(seen.values()) == list(range(len(seen)))
    assert names.values.tolist() == sorted(seen, key=seen.__getitem__)


def test_the_same_rows_are_sound_in_arrays_and_one_by_one() -> None:
    noise, rate, steps = (axis.ravel() for axis in np.meshgrid(EDGES, EDGES, EDGES))
    one_by_one = [refusal(*row) is None for row in zip(noise.tolist(), rate.tolist(), steps.tolist(), strict=True)]
    assert sound(noise, rate, steps).tolist() == one_by_one
    assert (
        sum(one_by_one) == 8 * 6 * 7
    )  # noises 0.01 to 1e6, rates 1e-10 to 1 - 1e-6 and 1, whole steps with 0 and -0.0
    assert str(refusal(0.0, 0.1, 1)).startswith("noise_multiplier must be a number from 0.01 to 1e6")
    assert str(refusal(1.0, None, 1)).endswith("received None")


def grouped_by_hand(rows: list[tuple[int, float, float, int]]) -> dict[int, History]:
    users: dict[int, Counter[tuple[float, float]]] = {}
    for user, noise, rate, steps in rows:
        users.setdefault(user, Counter())[noise, rate] += steps
    return {
        user: tuple((*kind, count) for kind, count in sorted(kinds.items()) if count) for user, kinds in users.items()
    }


@pytest.mark.share(5)
@pytest.mark.parametrize("pieces", [1, 7])
@pytest.mark.parametrize("spread", [1, 2**16, 2**57])  # users who do not differ in their last bits
@pytest.mark.parametrize("near", [1 << 17, 40])  # entries that are grouped at once, in place of a bucket
@pytest.mark.parametrize("ordered", [True, False])
def test_rows_become_the_histories_that_a_loop_finds(
    pieces: int, spread: int, near: int, ordered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "NEAR", near)
    monkeypatch.setattr(merging, "FAR", near)
    if near < 100:
        monkeypatch.setattr(taken, "BLOCK", 300)
        monkeypatch.setattr(taken, "MANY", 500)
    rng = np.random.default_rng(19)
    many = 3000
    rows = [
        (int(user) * spread, float(noise), float(rate), int(steps))
        for user, noise, rate, steps in zip(
            rng.integers(-60, 60, many) * rng.integers(0, 9, many) // 8,
            rng.choice([0.5, 1.0, 2.0], many),
            rng.choice([0.01, 1.0], many),
            rng.choice([0, 1, 5], many),
            strict=True,
        )
    ]
    entries = Entries(ordered)
    for part in np.array_split(np.arange(many), pieces):
        chosen = [rows[at] for at in part]
        users = np.array([row[0] for row in chosen], dtype=np.int64)
        columns = [users, *(np.array([row[at] for row in chosen], dtype=float) for at in (1, 2, 3))]
        entries.add(*columns)
        for column in columns:
            column[:] = 1  # who gives pieces may fill the same arrays again
    found, known = entries.grouped(), grouped_by_hand(rows)
    assert {user: found.histories[at] for user, at in zip(found.users.tolist(), found.history, strict=True)} == known
    assert len(found.users) == len(known)
    if ordered:
        assert found.users.tolist() == list(known)
    assert len(set(found.histories)) == len(found.histories)
    assert not found.wrong


def test_no_rows_have_no_users() -> None:
    entries = Entries()
    entries.add(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0), np.empty(0))
    found = entries.grouped()
    assert (len(found.users), found.histories, found.wrong) == (0, [], {})


def test_a_wrong_row_is_kept_with_its_user_and_counts_for_nothing() -> None:
    entries = Entries()
    entries.add(np.array([1, 2]), np.array([1.0, math.nan]), np.array([0.01, 0.01]), np.array([5.0, 5.0]))
    entries.add(np.array([2, 1, 2]), np.ones(3), np.array([0.01, 0.01, 7.0]), np.array([5.0, 6.0, 5.0]))
    found = entries.grouped()
    assert list(found.wrong) == [2]
    assert "received nan" in found.wrong[2]
    assert found.histories[found.history[0]] == ((1.0, 0.01, 11),)


def test_rows_that_are_not_counted_are_not_looked_at() -> None:
    entries = Entries()
    counted = np.array([True, False, False])
    entries.add(np.array([1, 1, 2]), np.array([1.0, 0.0, 1.0]), np.ones(3), np.ones(3), counted=counted)
    found = entries.grouped()
    assert [found.histories[at] for at in found.history] == [((1.0, 1.0, 1),), ()]
    assert not found.wrong


def test_steps_beyond_exact_sums_are_refused_and_never_too_few() -> None:
    entries = Entries()
    many = 10_000  # of 1e12: a sum beyond 2^53
    entries.add(np.zeros(many, dtype=np.int64), np.ones(many), np.full(many, 0.5), np.full(many, 1e12))
    (history,) = entries.grouped().histories
    assert history[0][2] >= 2**53
    found = answers([history], 1e-6, stop=False)
    assert math.isnan(found.upper[0])
    assert "count must be a whole number from 0 to 1e12" in str(found.reasons[0])


def test_answers_are_those_of_the_plans() -> None:
    histories = [FINE, (), ((0.9, 0.01, 10), (2.0, 1.0, 3)), ((1.5, 1.0, 8),), FINE]
    found = answers(histories, 1e-5)
    assert found.upper[0] == found.upper[4] == hs.epsilons([hs.dp_sgd(1.0, 0.01, 1000)], 1e-5).upper[0]
    assert (found.lower[1], found.upper[1]) == (0.0, 0.0)
    both = (hs.dp_sgd(0.9, 0.01, 10) + hs.Plan([hs.Round(hs.Gaussian(2.0), count=3)])).epsilon(1e-5)
    assert (found.lower[2], found.estimate[2], found.upper[2]) == (both.lower, both.estimate, both.upper)
    assert found.upper[3] == hs.Plan([hs.Round(hs.Gaussian(1.5), count=8)]).epsilon(1e-5).upper
    for at, history in enumerate(histories):
        alone = answers([history], 1e-5)
        assert (alone.lower[0], alone.upper[0]) == (found.lower[at], found.upper[at])


def test_the_adjacency_and_the_gap_are_asked() -> None:
    found = answers([FINE], 1e-5, "replace-one", 1e-3)
    assert found.upper[0] == pytest.approx(
        hs.dp_sgd(1.0, 0.01, 1000, adjacency="replace-one").epsilon(1e-5).upper, rel=2e-3
    )


def test_order_makes_no_difference() -> None:
    entries = [(2.0, 0.01, 5), (1.0, 0.02, 5), (1.0, 0.01, 7), (2.0, 0.01, 1)]
    assert canonical(entries) == canonical(reversed(entries)) == ((1.0, 0.01, 7), (1.0, 0.02, 5), (2.0, 0.01, 6))
    assert plan_of(canonical(entries)).steps == 18


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.5,), "delta must be .*; received 1.5"),
        ((1e-5, "sideways"), "adjacency must be one of"),
        ((1e-5, "add-or-remove", 2.0), "gap must be .*; received 2.0"),
    ],
)
def test_a_wrong_question_is_refused_without_histories(arguments: tuple[float, str, float], message: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=message):
        answers([], *arguments, stop=False)


def test_a_history_without_an_answer_leaves_the_others_theirs() -> None:
    wrong = ((1.0, 0.01, 10**13),)
    found = answers([FINE, wrong], 1e-5, stop=False)
    assert found.upper[0] == answers([FINE], 1e-5).upper[0]
    assert math.isnan(found.upper[1])
    with pytest.raises(hs.InvalidInputError, match="received 10000000000000"):
        answers([FINE, wrong], 1e-5)
