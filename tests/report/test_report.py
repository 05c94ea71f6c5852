"""What is shown to people: no rounding ever makes a guarantee look better than it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick.plan.mechanisms.registry import MECHANISMS
from hockeystick.plan.sampling.base import claimed
from hockeystick.plan.sampling.registry import SAMPLINGS
from hockeystick.report.answer import Answer, delta_answer, delta_json, epsilon_answer, epsilon_json
from hockeystick.report.claims import Verdict, verdict
from hockeystick.report.rounding import exact, exp_down, exp_up, round_down, round_up
from hockeystick.report.supported import supported_markdown, supported_rows
from hockeystick.report.tables import print_answer
from hockeystick.values.adjacency import Direction

finite = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
digits = st.integers(1, 8)
logs = st.floats(min_value=-1e7, max_value=700)


def unit(x: Fraction, length: int) -> Fraction:
    """The spacing of decimals of so many digits around x > 0."""
    lead = Decimal(x.numerator).adjusted() - Decimal(x.denominator).adjusted()
    while Fraction(10) ** lead > x:
        lead -= 1
    while Fraction(10) ** (lead + 1) <= x:
        lead += 1
    return Fraction(10) ** (lead - length + 1)


@pytest.mark.parametrize("shown", [round_up, round_down, exact, exp_up, exp_down])
def test_nan_is_not_shown_as_a_number(shown: Callable[[float], str]) -> None:
    """It compares as neither more nor less than 0, and is no minus infinity for that."""
    with pytest.raises(ValueError, match=r"(?i)nan"):
        shown(math.nan)


@given(finite, digits)
def test_rounding_is_outward_and_as_near_as_the_digits_allow(x: float, length: int) -> None:
    up, down, true = Fraction(round_up(x, length)), Fraction(round_down(x, length)), Fraction(x)
    assert down <= true <= up
    if x:
        assert up - true < unit(true, length)
        assert true - down < unit(true, length)


@given(finite, digits)
def test_no_more_digits_than_asked(x: float, length: int) -> None:
    for text in (round_up(x, length), round_down(x, length)):
        assert len(text.split("e")[0].replace(".", "").strip("0")) <= length


@given(logs, digits)
def test_numbers_known_by_their_logarithm_are_rounded_outward(log: float, length: int) -> None:
    up, down = exp_up(log, length), exp_down(log, length)
    with mpmath.workdps(80):
        true = mpmath.exp(mpmath.mpf(log))
        assert mpmath.mpf(down) <= true <= mpmath.mpf(up)
        if log < -999_999 * math.log(10):  # an exponent that is not to be read
            assert (up, down) == ("1e-999999", "0")
            return
        spacing = true * mpmath.mpf(10) ** (1 - length) * (1 + mpmath.mpf(10) ** -30)
        assert max(mpmath.mpf(up) - true, true - mpmath.mpf(down)) <= spacing


@given(st.floats(min_value=-700, max_value=700))
def test_both_ways_of_rounding_agree_up_to_the_rounding_of_exp(log: float) -> None:
    x = math.exp(log)
    assert Fraction(exp_up(log, 6)) >= Fraction(x) * (1 - Fraction(1, 2**50))
    assert Fraction(exp_up(log, 6)) <= Fraction(round_up(x * (1 + 2**-50), 6))


@pytest.mark.parametrize(
    ("x", "up", "down"),
    [
        (6.90738, "6.91", "6.90"),
        (0.0, "0", "0"),
        (1.0, "1", "1"),
        (9.999, "10.0", "9.99"),
        (123456.7, "124000", "123000"),
        (12345678.0, "1.24e7", "1.23e7"),
        (0.1, "0.101", "0.100"),  # the double lies above the decimal
        (0.00123, "0.00123", "0.00122"),  # the double lies below the decimal
        (1e-7, "1.00e-7", "9.99e-8"),
        (5e-324, "4.95e-324", "4.94e-324"),
        (math.inf, "infinite", "infinite"),
    ],
)
def test_written_forms(x: float, up: str, down: str) -> None:
    assert (round_up(x), round_down(x)) == (up, down)


@pytest.mark.parametrize(
    ("log", "up", "down"),
    [
        (-math.inf, "0", "0"),
        (math.inf, "infinite", "infinite"),
        (0.0, "1", "1"),
        (-1e300, None, None),
        (-(2.0**70), None, None),
    ],
)
def test_extreme_logarithms(log: float, up: str | None, down: str | None) -> None:
    assert up is None or (exp_up(log), exp_down(log)) == (up, down)
    assert len(exp_up(log)) < 320


@pytest.mark.parametrize(("x", "text"), [(1e-6, "1e-6"), (0.01, "0.01"), (3.01, "3.01"), (60000, "60000"), (0.0, "0")])
def test_parameters_are_shown_as_they_were_given(x: float, text: str) -> None:
    assert exact(x) == text


def lines_of(answer: Answer) -> dict[str, str]:
    return dict(answer.lines)


def test_the_upper_end_is_what_is_quoted() -> None:
    plan = hs.dp_sgd(1.0, batch_size=600, dataset_size=60_000, epochs=100)
    bound = hs.Bound(6.9070000001, 6.9072, 6.90738, accountant="grid", direction="remove")
    answer = epsilon_answer(plan, 1e-6, bound)
    assert answer.headline == "epsilon <= 6.91 at delta = 1e-6"
    lines = lines_of(answer)
    assert lines["certified interval"] == "6.90700 to 6.90738"
    assert lines["rounds"] == "10000 (100 epochs of 100)"
    assert lines["adjacency"] == "add-or-remove"
    assert lines["direction"] == "remove (the worse direction)"
    assert lines["accountant"] == "grid (certified)"
    assert "not valid for shuffled" in lines["sampling poisson"]
    assert not {"warning", "reason", "published"} & set(lines)


@pytest.mark.parametrize(("delta", "warned"), [(1e-5, False), (1 / 60_000, True), (0.1, True)])
def test_a_delta_that_lets_a_record_through_is_warned_of(delta: float, warned: bool) -> None:
    plan = hs.dp_sgd(1.0, batch_size=600, dataset_size=60_000, epochs=1)
    assert ("warning" in lines_of(epsilon_answer(plan, delta, hs.Bound(1, 1, 1)))) is warned
    at_epsilon = delta_answer(plan, 1.0, hs.DeltaBound(0.0, delta, delta))
    assert ("warning" in lines_of(at_epsilon)) is warned


def test_infinity_is_said_in_words_with_its_reason() -> None:
    bound = hs.Bound(math.inf, math.inf, math.inf, reason="the plan has no pure epsilon")
    answer = epsilon_answer(hs.dp_sgd(1.0, 0.1, 1), 0.0, bound)
    assert answer.headline == "epsilon is infinite at delta = 0"
    assert lines_of(answer)["reason"] == "the plan has no pure epsilon"
    keys = epsilon_json(hs.dp_sgd(1.0, 0.1, 1), 0.0, bound)
    assert keys["epsilon"] == {"lower": None, "estimate": None, "upper": None}
    assert keys["reason"] == "the plan has no pure epsilon"


def test_a_delta_below_the_range_of_a_double_is_shown_from_its_logarithm() -> None:
    log = hs.Bound(-3222.5, -3222.4, -3222.4)
    answer = delta_answer(hs.dp_sgd(1.0, 0.1, 1), 50.0, hs.DeltaBound(0.0, 0.0, 5e-324, log_delta=log))
    assert answer.headline == "delta <= 3.39e-1400 at epsilon = 50"
    assert lines_of(answer)["certified interval"] == "3.06218e-1400 to 3.38425e-1400"


def test_delta_zero_is_zero() -> None:
    answer = delta_answer(hs.dp_sgd(1.0, 0.1, 1), 50.0, hs.DeltaBound(0.0, 0.0, 0.0))
    assert answer.headline == "delta <= 0 at epsilon = 50"
    keys = delta_json(hs.dp_sgd(1.0, 0.1, 1), 50.0, hs.DeltaBound(0.0, 0.0, 0.0))
    assert keys["log_delta"] == {"lower": None, "estimate": None, "upper": None}


def test_an_estimate_is_not_called_a_bound() -> None:
    answer = epsilon_answer(hs.dp_sgd(1.0, 0.1, 1), 1e-5, hs.Estimate(1.0, "gdp"))
    assert answer.headline == "epsilon is about 1 at delta = 1e-5"
    assert lines_of(answer)["estimate"] == "1"


@pytest.mark.parametrize(
    ("published", "text"),
    [
        ({"epsilon": 3.01}, "epsilon 3.01"),
        ({"epsilon": 1.0, "delta": 0.0}, "epsilon 1 at delta 0"),
        (
            {"epsilon": 3.01, "delta": 1e-5, "accountant": "moments accountant", "source": "a\n\x1b[31mpage"},
            "epsilon 3.01 at delta 1e-5 (moments accountant; a [31mpage)",
        ),
    ],
)
def test_what_a_source_claims(published: dict[str, object], text: str) -> None:
    plan = hs.Plan(hs.dp_sgd(1.0, 0.1, 1).rounds, published=published)
    assert lines_of(epsilon_answer(plan, 1e-5, hs.Bound(1, 1, 1)))["published"] == text


def test_the_supported_table_holds_every_combination() -> None:
    rows = [(row, direction) for row in supported_rows() for direction in row.directions]
    assert len(rows) == len(MECHANISMS) * len(SAMPLINGS) * len(Direction)
    found = {(row.mechanism, row.sampling, direction): row.claim for row, direction in rows}
    for mechanism in MECHANISMS:
        for sampling in SAMPLINGS:
            for direction in Direction:
                assert found[mechanism.name, sampling.name, direction] == claimed(sampling, mechanism, direction)
    assert all(claim.source for claim in found.values())


def test_the_markdown_table_has_a_row_for_each_claim() -> None:
    lines = supported_markdown().splitlines()
    assert len(lines) == 2 + len(supported_rows())
    assert {line.replace("\\|", "").count("|") for line in lines} == {6}
    assert "| `gaussian` | `none` | remove, add, replace-one | tight |" in lines[2]


def test_nothing_is_cut_on_a_narrow_screen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    plan = hs.dp_sgd(1.0, 0.1, 10**12)
    print_answer(epsilon_answer(plan, 1e-6, hs.Bound(6.9070000001, 6.9072, 6.90738)))
    shown = capsys.readouterr().out
    assert "6.90700 to 6.90738" in shown
    assert "1000000000000" in shown
    assert "…" not in shown
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_exponents_of_many_digits_are_rounded_to_one_that_can_be_read() -> None:
    assert exp_up(-1e43) == "1e-999999"
    assert exp_down(-1e43) == "0"
    assert exp_up(-2_302_582.0, 3) == "2.21e-999999"


@pytest.mark.parametrize(
    ("claimed", "verdict"),
    [
        ({"epsilon": 0.9, "delta": 1e-5}, "too low for this plan: below the lower end"),
        ({"epsilon": 1.1, "delta": 1e-5}, "consistent with the interval"),
        ({"epsilon": 1.3, "delta": 1e-5}, "valid for this plan, not tight: above the upper end"),
        ({"epsilon": 0.9, "delta": 1e-6}, None),
        ({"epsilon": 0.9}, None),
        ({"source": "a page"}, None),
    ],
)
def test_a_claim_is_judged_at_its_own_delta(claimed: dict[str, object], verdict: str | None) -> None:
    plan = hs.Plan(hs.dp_sgd(1.0, 0.1, 1).rounds, published=claimed)
    assert lines_of(epsilon_answer(plan, 1e-5, hs.Bound(1.0, 1.1, 1.2))).get("the claim is") == verdict
    above = lines_of(epsilon_answer(plan, 1e-5, hs.UpperBound(1.2, "rdp"))).get("the claim is")
    assert above == (verdict if verdict is not None and verdict.startswith("valid") else None)
    assert "the claim is" not in lines_of(epsilon_answer(plan, 1e-5, hs.Estimate(1.2, "gdp")))


@pytest.mark.parametrize(
    ("lower", "upper", "found"),
    [
        (None, 1.2, None),
        (None, 1.0, Verdict.NOT_TIGHT),
        (1.1, 1.2, Verdict.AGREES),
        (1.0, 1.1, Verdict.AGREES),
        (1.0, math.inf, Verdict.AGREES),
        (1.2, math.inf, Verdict.TOO_LOW),
        (1.2, None, Verdict.TOO_LOW),
        (1.0, None, Verdict.AGREES),
        (None, None, None),
    ],
)
def test_a_claim_is_no_agreement_with_an_upper_end_alone(
    lower: float | None, upper: float | None, found: Verdict | None
) -> None:
    assert verdict({"epsilon": 1.1, "delta": 1e-5}, 1e-5, lower, upper) is found


def test_the_supported_table_of_one_mechanism_is_its_part_of_the_whole() -> None:
    whole = supported_rows()
    for mechanism in ("laplace", "gdp"):
        part = supported_rows(mechanism)
        assert part == [row for row in whole if row.mechanism == mechanism] != []
    with pytest.raises(hs.InvalidInputError, match=r"mechanism must be one of .*; did you mean 'laplace'\?"):
        supported_rows("laplac")
