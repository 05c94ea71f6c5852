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
from hockeystick.questions.histories.answers import History, answers
from hockeystick.questions.histories.entries import Entries, refusal, sound

FINE: History = ((1.0, 0.01, 1000),)

EDGES = [
    math.nan, math.inf, -math.inf, -1.0, -0.0, 0.0, 5e-324, 9e-11, 1e-10, 0.009, 0.01, 0.5, 1 - 1e-6, 1 - 9e-7, 1.0,
    1.5, 2.0, 1e6, 1.1e6, 1e12, 1e12 + 1, 2.0**53, 1e300,
]  # fmt: skip


@pytest.mark.parametrize("parts", [1, 3])
@settings(max_examples=60, deadline=None)
@given(st.lists(st.dictionaries(st.integers(0, 3), st.integers(1, 3)), min_size=3, max_size=40))
def test_histories_are_equal_where_their_steps_are(parts: int, users: list[dict[int, int]]) -> None:
    entries = Entries()
    for part in np.array_split(np.arange(len(users)), parts):
        rows = [(user, kind, steps) for user in part.tolist() for kind, steps in (users[user] or {0: 0}).items()]
        columns = (np.array(column) for column in zip(*rows, strict=True))
        user, kind, steps = columns
        entries.add(user, 1.0 + kind // 2, 0.25 * (1 + kind % 2), steps.astype(float))
    found = entries.grouped()
    assert found.users.tolist() == list(range(len(users)))
    assert len(found.histories) == len(set(found.histories)) == len({tuple(sorted(own.items())) for own in users})
    for place, own in zip(found.history.tolist(), users, strict=True):
        expected = sorted((1.0 + which // 2, 0.25 * (1 + which % 2), many) for which, many in own.items())
        assert found.histories[place] == tuple(expected)


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


@pytest.mark.share(2)
@pytest.mark.parametrize("pieces", [1, 7])
@pytest.mark.parametrize("spread", [1, 2**57])
def test_rows_become_the_histories_that_a_loop_finds(pieces: int, spread: int, monkeypatch: pytest.MonkeyPatch) -> None:
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
    entries = Entries()
    for part in np.array_split(np.arange(many), pieces):
        chosen = [rows[at] for at in part]
        users = np.array([row[0] for row in chosen], dtype=np.int64)
        columns = [users, *(np.array([row[at] for row in chosen], dtype=float) for at in (1, 2, 3))]
        entries.add(*columns)
        for column in columns:
            column[:] = 1  # who gives pieces may fill the same arrays again
    found, known = entries.grouped(), grouped_by_hand(rows)
    assert {user: found.histories[at] for user, at in zip(found.users.tolist(), found.history, strict=True)} == known
    assert found.users.tolist() == list(known)
    assert len(set(found.histories)) == len(found.histories)


def test_no_rows_have_no_users() -> None:
    entries = Entries()
    entries.add(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0), np.empty(0))
    found = entries.grouped()
    assert (len(found.users), found.histories) == (0, [])


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
    both = hs.dp_sgd(0.9, 0.01, 10) + hs.Plan([hs.Round(hs.Gaussian(2.0), count=3)])
    many, alone = hs.epsilons([both], 1e-5), both.epsilon(1e-5)
    assert (found.lower[2], found.upper[2]) == (many.lower[0], many.upper[0])
    assert max(found.lower[2], alone.lower) <= min(found.upper[2], alone.upper)
    assert found.upper[3] == hs.Plan([hs.Round(hs.Gaussian(1.5), count=8)]).epsilon(1e-5).upper
    for at, history in enumerate(histories):
        one = answers([history], 1e-5)
        assert (one.lower[0], one.upper[0]) == (found.lower[at], found.upper[at])


def test_the_adjacency_and_the_gap_are_asked() -> None:
    found = answers([FINE], 1e-5, "replace-one", 1e-3)
    assert found.upper[0] == pytest.approx(
        hs.dp_sgd(1.0, 0.01, 1000, adjacency="replace-one").epsilon(1e-5).upper, rel=2e-3
    )


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
