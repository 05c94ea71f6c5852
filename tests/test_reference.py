"""The bounds against true values computed elsewhere to 18 digits and more (tests/data/reference_values.json)."""

from __future__ import annotations

import itertools
import json
import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hockeystick import Bound, DeltaBound, Plan
from hockeystick.plan.plan import Certified

Record = dict[str, Any]

DATA = Path(__file__).parent / "data" / "reference_values.json"
RECORDS: list[Record] = json.loads(DATA.read_text(encoding="utf-8"))["records"]
FAR: list[Record] = json.loads(DATA.read_text(encoding="utf-8"))["far"]
GAP = Fraction(1, 1000)  # the default
NARROW = 1e-6  # what the default accountant has of all of them
INFINITE = ("inf", "Infinity")


def label(record: Record) -> str:
    plan = record["plan"]
    rounds = " + ".join("{count}x {mechanism}".format(**item) for item in plan["round"])
    first = plan["round"][0]
    details = ", ".join(f"{key} {first[key]:g}" for key in ("noise_multiplier", "scale", "sample_rate") if key in first)
    given = "delta" if record["quantity"] == "epsilon" else "epsilon"
    return f"{record['quantity']} at {given} {record[given]}: {rounds}, {details} ({plan['adjacency']})"


@cache
def plan_of(text: str) -> Plan:
    return Plan.from_dict(json.loads(text))


def answer(record: Record, accountant: Certified) -> Bound:
    plan = plan_of(json.dumps(record["plan"]))
    if record["quantity"] == "epsilon":
        return plan.epsilon(delta=float(record["delta"]), accountant=accountant)
    return plan.delta(epsilon=float(record["epsilon"]), accountant=accountant)


@pytest.mark.parametrize("record", RECORDS, ids=label)
@pytest.mark.parametrize("accountant", ["auto", "grid"])
def test_the_truth_lies_within_the_bounds(record: Record, accountant: Certified) -> None:
    """``lower <= truth <= upper`` in exact arithmetic, no wider than was asked; exact at 0 and at infinity."""
    found = answer(record, accountant)
    if record["value"] in INFINITE:
        assert found.lower == found.upper == math.inf
        assert found.reason
        return
    true = Fraction(Decimal(record["value"]))
    if true == 0:
        assert found.lower == found.upper == 0.0
        return
    lower, upper = Fraction(found.lower), Fraction(found.upper)
    assert lower <= true <= upper
    assert upper - lower <= GAP * upper
    assert lower <= Fraction(found.estimate) <= upper


@pytest.mark.parametrize("record", [record for record in [*RECORDS, *FAR] if Decimal(record["value"]) != 0], ids=label)
def test_the_default_accountant_is_within_a_millionth(record: Record) -> None:
    """Of epsilon, or of delta by its logarithm, also where delta is below the range of a double."""
    found = answer(record, "auto")
    if record["quantity"] == "epsilon":
        if record["value"] not in INFINITE:
            assert Fraction(found.lower) <= Fraction(Decimal(record["value"])) <= Fraction(found.upper)
            assert found.upper - found.lower <= NARROW * found.upper
        return
    assert isinstance(found, DeltaBound)
    true = Decimal(record["value"]).ln()
    assert Decimal(found.log_delta.lower) <= true <= Decimal(found.log_delta.upper)
    assert found.log_delta.upper - found.log_delta.lower <= NARROW


def test_the_sample_covers_mechanisms_adjacencies_and_extremes() -> None:
    """Every mechanism, relation and quantity is there, values of exactly 0 and infinity too."""
    rounds = [item for record in RECORDS for item in record["plan"]["round"]]
    assert {"gaussian", "laplace", "randomized-response", "approximate-dp"} <= {item["mechanism"] for item in rounds}
    adjacencies = {record["plan"]["adjacency"] for record in RECORDS}
    assert adjacencies == {"add", "remove", "add-or-remove", "replace-one"}
    assert {record["quantity"] for record in RECORDS} == {"epsilon", "delta"}
    values = {record["value"] for record in RECORDS}
    assert "0" in values
    assert values & set(INFINITE)


def of_each_plan() -> dict[str, list[Record]]:
    plans: dict[str, list[Record]] = {}
    for record in RECORDS:
        plans.setdefault(json.dumps(record["plan"]), []).append(record)
    return plans


@pytest.mark.parametrize("text", of_each_plan(), ids=lambda text: label(of_each_plan()[text][0]))
def test_the_truths_lie_within_the_bands_of_a_profile(text: str) -> None:
    """All of a plan's epsilons at once, and all of its deltas, among others that lie in between."""
    profile = plan_of(text).profile()
    for quantity, given, ask in (("delta", "epsilon", profile.delta), ("epsilon", "delta", profile.epsilon)):
        records = [record for record in of_each_plan()[text] if record["quantity"] == quantity]
        at = [float(record[given]) for record in records]
        between = [math.sqrt(a * b) for a, b in itertools.pairwise(at)]
        band = ask([*at, *between]) if at else None
        for i, record in enumerate(records):
            assert band is not None
            lower, upper = float(band.lower[i]), float(band.upper[i])
            if record["value"] in INFINITE:
                assert upper == math.inf
                continue
            true = Fraction(Decimal(record["value"]))
            assert Fraction(lower) <= true
            assert upper == math.inf or true <= Fraction(upper)
