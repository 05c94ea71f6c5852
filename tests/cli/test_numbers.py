"""Numbers as people have them: what they stand for, and that a quotient which is no double goes to its safe side."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hockeystick as hs
from command import run
from hockeystick.cli.numbers import DOWN, UP, number
from hockeystick.values.exact import decimal, quotient, towards

KEYS = ["--dataset-size", "60_000", "--epochs", "2"]


@given(st.integers(1, 10**9), st.integers(1, 10**12))
def test_a_quotient_is_on_the_side_that_is_asked_for_and_next_to_it(above: int, below: int) -> None:
    """The decimal that the double prints as is at least (at most) the quotient, by less than a part in 10^15."""
    truth = Fraction(above, below)
    high, low = (decimal(towards(truth, up)) for up in (UP, DOWN))
    assert low <= truth <= high
    assert high - low <= truth / 10**15


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1/60000", Fraction(1, 60000)), ("256/60_000", Fraction(256, 60000)), ("1%", Fraction(1, 100)),
        ("0.5%", Fraction(1, 200)), ("2.5/10", Fraction(1, 4)), (" 1/4 ", Fraction(1, 4)), ("1/0", None),
        ("1//2", None), ("-1/2", None), ("1/2/3", None), ("%", None), ("1/1e3", None), ("9" * 100 + "/1", None),
        ("60,000", None), ("60k", None),
    ],
)  # fmt: skip
def test_what_a_text_stands_for(text: str, value: Fraction | None) -> None:
    assert quotient(text) == value


def test_flags_say_what_more_of_them_costs() -> None:
    """A rate is rounded up, a delta and a noise are rounded down: the answer holds for what was meant."""
    third = Fraction(1, 3)
    for key, up in (("sample_rate", True), ("delta", False), ("noise_multiplier", False), ("epsilon", False)):
        found = decimal(number(key).convert("1/3", None, None))
        assert found > third if up else found < third, key


def test_a_plan_in_flags_as_people_write_them() -> None:
    """The same plan, by the names of papers and by quotients."""
    plain = run("epsilon", "--noise-multiplier", "1.5", "--batch-size", "600", *KEYS, "--delta", "1e-5", "--json")
    said = run("epsilon", "--sigma", "3/2", "--batch", "600", *KEYS, "--delta", "0.001%", "--json")
    assert plain.stdout == said.stdout
    rate = json.loads(run("epsilon", "--sigma", "1", "--sample-rate", "256/60000", "--steps", "9", "--delta", "1/60000",
                          "--json").stdout)  # fmt: skip
    assert decimal(rate["plan"]["round"][0]["sample_rate"]) >= Fraction(256, 60000)
    assert decimal(rate["asked"]["delta"]) <= Fraction(1, 60000)


def test_plan_files_have_quotients_where_people_have_them() -> None:
    plan = 'delta = "1/60000"\n[[round]]\nmechanism = "gaussian"\nnoise_multiplier = 1.0\nsampling = "poisson"\n'
    found = json.loads(run("epsilon", "-", "--json", stdin=plan + 'sample_rate = "256/60000"\ncount = 3\n').stdout)
    assert decimal(found["plan"]["round"][0]["sample_rate"]) >= Fraction(256, 60000)
    assert decimal(found["plan"]["delta"]) <= Fraction(1, 60000)
    refused = run("epsilon", "-", stdin=plan + 'sample_rate = "a third"\n')
    assert refused.stderr.startswith("error: <stdin>: round 1: sample_rate must be 1 or a number from 1e-10")
    beyond = run("epsilon", "-", stdin=plan + 'sample_rate = "4/3"\n')
    assert "sample_rate must be 1 or a number from 1e-10 to 1 - 1e-6" in beyond.stderr


def test_what_is_no_number_is_told_what_is_one() -> None:
    for text in ("60,000", "1,1", "60k", "1.5M", "6,0.1", "x", "1/0", "", "k", "1.0001k", "6,", ",6"):
        result = run("epsilon", "--sigma", "1", "--sample-rate", text, "--steps", "3", "--delta", "1e-5")
        assert result.exit_code == 2
        assert "is not a number; write one such as 60000, 1e-5, 1/60000 or 1%" in result.stderr


def test_epochs_that_are_broken_off_are_told_in_steps() -> None:
    with pytest.raises(hs.InvalidInputError, match=r"give the number of steps, count in a plan file\); received 2\.5"):
        hs.dp_sgd(1.0, batch_size=4, dataset_size=10, epochs=2.5)  # type: ignore[arg-type]
    with pytest.raises(hs.InvalidInputError, match="epochs must be a whole number from 0 to 1e12"):
        hs.dp_sgd(1.0, batch_size=4, dataset_size=10, epochs=-2.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("flags", "same"),
    [
        (["epsilon", "--gap", "1%"], ["epsilon", "--gap", "0.01"]),
        (["audit", "--canaries", "1_000", "--guesses", "200", "--correct", "190", "--significance", "5%"],
         ["audit", "--canaries", "1000", "--guesses", "200", "--correct", "190", "--significance", "0.05"]),
    ],
    ids=["gap", "significance"],
)  # fmt: skip
def test_every_flag_takes_a_share_as_people_write_it(flags: list[str], same: list[str]) -> None:
    rest = ["--noise-multiplier", "1.5", "--batch-size", "600", *KEYS, "--delta", "1e-5", "--json"]
    said = run(*flags, *rest)
    assert said.exit_code == 0, said.stderr
    assert said.stdout == run(*same, *rest).stdout
