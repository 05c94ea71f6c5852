"""Statements: the numbers are those of the library, and neither form takes a text for anything but text."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import hockeystick as hs
from hockeystick.report.document.latex import latex
from hockeystick.report.document.statement import statement_json
from hockeystick.report.rounding import round_up
from hockeystick.values.errors import InvalidInputError

SGD = hs.dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60, delta=1e-5)


def test_each_number_is_that_of_the_library() -> None:
    """With sampling, without it as so many unsampled releases, shuffled, and for people with three records."""
    found = statement_json(SGD, None, 3)
    unsampled = hs.Plan([hs.Round(hs.Gaussian(1.1), count=14_100)]).epsilon(1e-5)
    shuffled = hs.dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60, sampling="shuffled").epsilon(1e-5)
    people = replace(SGD, unit="user", records_per_unit=3).epsilon(1e-5)
    for bound, sentence in (
        (SGD.epsilon(), "satisfies ({}, 1e-5)-differential privacy for single records"),
        (unsampled, "epsilon <= {} without amplification by sampling"),
        (shuffled, "epsilon <= {} for shuffled batches"),
        (people, "For people with up to 3 records each, epsilon <= {} at the same delta."),
    ):
        assert sentence.format(round_up(float(bound.upper))) in found["text"]
    assert "not valid for shuffled or fixed-size batches" in found["text"]
    assert found["people"]["upper"] == float(people.upper)


def test_latex_says_the_same_with_mathematics() -> None:
    found = statement_json(SGD, None)
    assert found["latex"].startswith(r"The computation satisfies $(2.39, 10^{-5})$-differential privacy")
    assert r"$\varepsilon \le 6290$" in found["latex"]
    bare = found["latex"].replace("$", "").replace(r"\varepsilon \le", "epsilon <=").replace(r"\delta", "delta")
    assert bare.replace("10^{-5}", "1e-5") == found["text"]


def test_a_sentence_is_left_out_where_there_is_nothing_to_say() -> None:
    text = statement_json(hs.Plan([hs.Round(hs.Laplace(10.0), count=5)]), 1e-6)["text"]
    assert "amplification" not in text
    assert "The guarantee assumes" not in text
    assert "laplace (scale 10; 5 times)" in text
    many = hs.Plan([hs.Round(hs.Laplace(float(scale))) for scale in range(10, 15)])
    assert "5 steps: laplace (scale 10; once);" in statement_json(many, 1e-6)["text"]
    assert "; 1 further kind." in statement_json(many, 1e-6)["text"]


def test_a_weak_guarantee_is_called_so_and_advice_is_left_out() -> None:
    shuffled = hs.dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60, sampling="shuffled")
    text = statement_json(shuffled, 1e-5)["text"]
    assert "Caution: this number gives a single person no meaningful protection" in text
    assert "Caution: shuffled batches have no proven amplification." in text
    assert "The guarantee assumes shuffled sampling: each record" in text
    assert "Caution" not in statement_json(SGD, None)["text"]
    users = statement_json(hs.dp_sgd(1.1, 0.01, 10, unit="user", records_per_unit=2), 1e-5)["text"]
    assert "differ by the addition or removal of all records of one user" in users


def test_what_is_infinite_is_no_guarantee() -> None:
    leaky = hs.Plan([hs.Round(hs.ApproximateDP(epsilon=1.0, delta=0.1))])
    found = statement_json(leaky, 1e-5, 2)
    assert found["text"].startswith("The computation satisfies no differential privacy at delta = 1e-5")
    assert "epsilon is infinite" in found["text"]
    assert "is infinite" in found["latex"]


def test_an_upper_bound_is_called_one() -> None:
    assert (
        "The numbers are proven upper bounds, computed"
        in statement_json(hs.Plan([hs.Round(hs.ZCDP(rho=0.1))]), 1e-5)["text"]
    )


def test_no_character_commands_latex() -> None:
    """Every special character leaves as a command that shows it; control characters do not leave at all."""
    written = latex('\\input{x} 100% $ & # _ ^ ~ < > | "')
    left = re.sub(r"\\(text\w+\{\}|[{}$&#%_])", "", written)
    assert not set(left) & set('\\{}$&#%_^~<>|"')
    assert latex("1.25e-10") == r"$1.25 \cdot 10^{-10}$"
    assert latex("2.1e-5, 1e-5") == r"$2.1 \cdot 10^{-5}$, $10^{-5}$"
    assert latex("SHA-256 1234567890123e45...") == "SHA-256 1234567890123e45..."


def test_a_statement_is_on_one_line() -> None:
    plan = hs.Plan([hs.Round(hs.Laplace(10.0), name="a\x1b[31m\u202e\nb")], delta=1e-5)
    for form in ("text", "latex"):
        assert not set(statement_json(plan, None)[form]) & set("\x1b\u202e\n")


def test_a_delta_and_whole_records_are_asked_for() -> None:
    with pytest.raises(InvalidInputError, match="no delta"):
        statement_json(hs.dp_sgd(1.0, 0.1, 10), None)
    with pytest.raises(InvalidInputError, match="records_per_person must be a whole number"):
        statement_json(SGD, None, 2.5)


def test_the_best_of_several_runs_is_said_to_be_all_that_is_released() -> None:
    """The number is that of the selection, and the steps are those of one run, of which nothing is published."""
    one = hs.Plan([hs.Round(hs.Gaussian(4.0))])
    plan = hs.Plan.from_dict({**one.to_dict(), "selection": {"runs": "negative-binomial", "shape": 0.5, "mean": 8}})
    found = statement_json(plan, 1e-5)
    assert found["epsilon"]["upper"] == plan.epsilon(1e-5).upper
    text = found["text"]
    assert "The best of 8 runs on average (negative-binomial, shape 0.5) is released. Each run has 1 step:" in text
    assert "only the best run is released" in text
    assert "They hold if no results of other runs are published." in text
    assert "all intermediate results" not in text
    assert "all intermediate results are published" in statement_json(one, 1e-5)["text"]
