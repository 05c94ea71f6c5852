"""The conformance set: its form, its brackets computed again, and the judge of other accountants' answers."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import judge
import pytest
from conformance import SET, confirmed, differs, named, stored, tables
from jsonschema import Draft202012Validator

CASES = {case["id"]: case for case in stored()}
LOOSE = {"choice-02": 0.01}
"""Cases whose bracket is wider than 1e-4, because no tight answer is known, and their relative widths."""
QUICK = ("gaussian-01", "gaussian-10", "dp-sgd-02", "laplace-01", "keys-01", "allocation-03", "choice-01", "other-02")


def test_the_set_has_the_form_that_the_schema_says() -> None:
    schema = json.loads(SET.with_name("schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    read = json.loads(SET.read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(read)
    read["cases"][0]["lower"] = "1,5"
    assert not Draft202012Validator(schema).is_valid(read)


def test_there_are_a_hundred_cases_and_they_are_those_of_the_list() -> None:
    assert len(stored()) == len(CASES) == 100
    assert {name: {key: case[key] for key in ("title", "plan", "question")} for name, case in CASES.items()} == named()


def test_brackets_are_narrow() -> None:
    for name, case in CASES.items():
        lower, upper = Decimal(case["lower"]), Decimal(case["upper"])
        assert lower <= upper
        assert lower == upper or upper - lower <= Decimal(LOOSE.get(name, 1e-4)) * upper, name


def test_most_brackets_meet_what_shares_no_code_with_the_package() -> None:
    checked = [case for case in CASES.values() if case["checked_by"]]
    assert len(checked) >= 85
    for case in checked:
        for by in case["checked_by"]:
            assert Decimal(by["lower"]) <= Decimal(case["upper"]), case["id"]
            assert Decimal(by["upper"]) >= Decimal(case["lower"]), case["id"]


@pytest.mark.parametrize("name", QUICK)
def test_the_oracle_still_says_so(name: str) -> None:
    (now,), (then,) = confirmed(name, CASES[name]), CASES[name]["checked_by"]
    assert now["by"] == then["by"]
    for end in ("lower", "upper"):
        assert float(now[end]) == pytest.approx(float(then[end]), rel=1e-12)


def test_a_bracket_that_the_oracle_contradicts_is_not_written() -> None:
    with pytest.raises(ValueError, match=r"^gaussian-01: "):
        confirmed("gaussian-01", CASES["gaussian-01"] | {"lower": "4.3", "upper": "4.37717809"})


@pytest.mark.share(5)
@pytest.mark.parametrize("name", CASES)
def test_a_bracket_computed_again_agrees(name: str) -> None:
    assert differs(CASES[name]) is None


def test_a_bracket_that_was_changed_is_noticed() -> None:
    case = CASES["gaussian-01"]
    assert "now" in str(differs(case | {"lower": "4.3772", "upper": "4.3773"}))
    assert "now" in str(differs(case | {"lower": "4.3770", "upper": "4.3771"}))


@pytest.mark.parametrize(
    ("answer", "kind", "off"),
    [
        ({"value": 1.9}, "wrong side", "0.05"),
        ({"value": "2.0"}, "within", "0"),
        ({"value": 2.2}, "other side", "0.1"),
        ({"value": "inf"}, "infinite", "inf"),
        ({"value": "nan"}, "failed", "0"),
        ({"value": 2.2, "side": "lower"}, "wrong side", "0.1"),
        ({"value": 1.9, "side": "lower"}, "other side", "0.05"),
        ({"inexpressible": "no word for it"}, "inexpressible", "0"),
        ({"failed": "too long"}, "failed", "0"),
    ],
)
def test_verdicts(answer: dict[str, Any], kind: str, off: str) -> None:
    found, far = judge.verdict({"lower": "2", "upper": "2"}, answer)
    assert found == kind
    assert far == pytest.approx(Decimal(off))


def test_verdicts_at_the_ends() -> None:
    """Zero and infinity have no relative distance."""
    assert judge.verdict({"lower": "0", "upper": "0"}, {"value": 0.0}) == ("within", Decimal(0))
    assert judge.verdict({"lower": "0", "upper": "0"}, {"value": 1e-9}) == ("other side", Decimal("inf"))
    assert judge.verdict({"lower": "inf", "upper": "inf"}, {"value": 5.0}) == ("wrong side", Decimal("inf"))
    assert judge.verdict({"lower": "inf", "upper": "inf"}, {"value": "inf"}) == ("within", Decimal(0))


def test_what_is_on_the_wrong_side_is_listed() -> None:
    answers = [
        {"id": "gaussian-01", "accountant": "a", "value": 4.0, "seconds": 1},
        {"id": "gaussian-02", "accountant": "a", "value": 0.2, "seconds": 2},
    ]
    text = tables("\n".join(map(json.dumps, answers)))
    assert "| wrong side | 1 |" in text
    assert "| gaussian-01 | one release; epsilon at delta 1e-05 | a | 4.0 |" in text
    assert "| gaussian-02" not in text
