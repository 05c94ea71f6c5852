"""One suite over every accountant: on the right side of the truth, monotone, refusing with a reason, citing its source.

The truth is the certified interval of ``auto``, which tests of its own hold against values computed elsewhere; the
records of tests/data/reference_values.json are those values themselves. Each method's published numbers have tests of
their own.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import math
import sys
from functools import cache
from pathlib import Path

import pytest

import hockeystick as hs
from hockeystick.accountants import ACCOUNTANTS
from hockeystick.bounds import Answer
from test_reference import INFINITE, RECORDS, Record, label, plan_of

NAMES = list(ACCOUNTANTS)
OWN = {"auto", "contour", "grid"}
SLACK = 1e-12  # of comparing doubles that were rounded outward

DP_SGD = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=1000)
SAMPLED = hs.Poisson(sample_rate=0.02)
ZOO = {
    "DP-SGD": DP_SGD,
    "DP-SGD, add": hs.dp_sgd(1.0, 0.01, 1000, adjacency="add"),
    "DP-SGD, replace-one": hs.dp_sgd(1.0, 0.01, 100, adjacency="replace-one"),
    "two noises": hs.dp_sgd(1.0, 0.01, 300) + hs.dp_sgd(2.0, 0.05, 200),
    "Gaussian": hs.Plan([hs.Round(hs.Gaussian(4.0), count=30)]),
    "Laplace": hs.Plan([hs.Round(hs.Laplace(10.0), count=50)]),
    "sampled Laplace": hs.Plan([hs.Round(hs.Laplace(2.0), SAMPLED, 100)]),
    "randomised response": hs.Plan([hs.Round(hs.RandomizedResponse(0.2), count=40)]),
    "black box": hs.Plan([hs.Round(hs.ApproximateDP(0.1, 1e-8), count=20)]),
    "mixed": hs.Plan([hs.Round(hs.Gaussian(5.0), count=3), hs.Round(hs.Laplace(5.0), count=4)]),
}
SAMPLE = [RECORDS[i * len(RECORDS) // 40] for i in range(40)]
"""A fixed sample of the values computed elsewhere; ``make validate`` asks all of any file."""

DELTAS = (1e-3, 1e-5, 1e-7)
EPSILONS = (0.1, 1.0, 3.0)

each_accountant = pytest.mark.parametrize("name", NAMES)
each_plan = pytest.mark.parametrize("kind", list(ZOO))


def answered(plan: hs.Plan, name: str, *, delta: float | None = None, epsilon: float | None = None) -> Answer:
    """Epsilon at delta, or delta at epsilon; a refusal, which has to say why on one line, skips the test."""
    refusal = ""
    try:
        return plan.epsilon(delta, accountant=name) if epsilon is None else plan.delta(epsilon, accountant=name)
    except hs.UnsupportedError as error:
        refusal = str(error)
    assert len(refusal) > 20
    assert "\n" not in refusal
    pytest.skip(f"refused: {refusal}")


@cache
def true_epsilon(kind: str, delta: float) -> hs.Bound:
    return ZOO[kind].epsilon(delta)


@cache
def true_delta(kind: str, epsilon: float) -> hs.Bound:
    return ZOO[kind].delta(epsilon)


def is_on_the_right_side(found: Answer, truth: hs.Bound) -> None:
    """A lower end is at most the truth, an upper end at least; an estimate has neither, nor a ``float``."""
    if found.guarantee == "estimate":
        assert isinstance(found, hs.Estimate)
        assert list(found.ends) == ["value"]
        assert found.value >= 0
        assert not hasattr(found, "upper")
        with pytest.raises(TypeError):
            float(found)  # type: ignore[arg-type]
        return
    assert isinstance(found, hs.Bound | hs.UpperBound)
    assert isinstance(found, hs.UpperBound) == (found.guarantee == "upper bound")
    assert found.upper >= truth.lower * (1 - SLACK)
    assert found.ends.get("lower", 0.0) <= truth.upper * (1 + SLACK)
    assert math.isfinite(found.upper) or found.reason


@each_accountant
@each_plan
def test_epsilon_is_on_the_right_side(name: str, kind: str) -> None:
    for delta in DELTAS:
        is_on_the_right_side(answered(ZOO[kind], name, delta=delta), true_epsilon(kind, delta))


@each_accountant
@each_plan
def test_delta_is_on_the_right_side(name: str, kind: str) -> None:
    for epsilon in EPSILONS:
        found = answered(ZOO[kind], name, epsilon=epsilon)
        is_on_the_right_side(found, true_delta(kind, epsilon))
        assert found.quoted <= 1.0 or found.guarantee == "estimate"


@each_accountant
def test_every_accountant_answers_for_dp_sgd(name: str) -> None:
    """The plan that everybody has: epsilon and delta, named after the method."""
    for found in (DP_SGD.epsilon(1e-5, accountant=name), DP_SGD.delta(2.0, accountant=name)):
        assert math.isfinite(found.quoted) or found.reason
        assert name in OWN or found.accountant == name


@each_accountant
@each_plan
def test_a_smaller_delta_has_no_smaller_epsilon(name: str, kind: str) -> None:
    """Lower end at the larger delta <= upper end at the smaller one; estimates keep the order themselves."""
    found = [answered(ZOO[kind], name, delta=delta) for delta in DELTAS]
    for larger, smaller in itertools.pairwise(found):
        assert larger.ends.get("lower", larger.quoted) <= smaller.quoted * (1 + SLACK)


@each_accountant
@each_plan
def test_delta_at_epsilon_of_delta_comes_back(name: str, kind: str) -> None:
    """An upper end of epsilon at delta is good for delta: the lower end of delta there does not exceed it."""
    epsilon = answered(ZOO[kind], name, delta=1e-5).quoted
    if math.isinf(epsilon):
        pytest.skip("no finite epsilon")
    found = answered(ZOO[kind], name, epsilon=epsilon)
    assert found.ends.get("lower", 0.0) <= 1e-5 * (1 + 1e-6)
    if found.guarantee != "certified" and epsilon > 0:
        assert found.quoted <= 1e-5 * 1.05  # the two are inverses of each other, up to what each is found to


@each_accountant
def test_no_rounds_cost_nothing(name: str) -> None:
    plan = hs.Plan([])
    assert answered(plan, name, delta=1e-5).quoted == 0.0
    assert answered(plan, name, epsilon=0.5).quoted == 0.0


@each_accountant
def test_rounds_written_one_by_one_are_the_same_plan(name: str) -> None:
    """Plans are canonical: the answers agree to the last bit."""
    one = hs.dp_sgd(1.0, 0.01, 60) + hs.dp_sgd(2.0, 0.05, 40)
    other = hs.dp_sgd(2.0, 0.05, 40) + hs.dp_sgd(1.0, 0.01, 25) + hs.dp_sgd(1.0, 0.01, 35)
    ask = [answered(plan, name, delta=1e-5) for plan in (one, other)]
    assert ask[0].ends == ask[1].ends


@each_accountant
def test_never_on_the_wrong_side_of_values_computed_elsewhere(name: str) -> None:
    if name in OWN:
        pytest.skip("tests/test_reference.py asks more")
    answers = [(record, found) for record in SAMPLE if (found := answer(record, name)) is not None]
    assert answers
    for record, found in answers:
        assert not math.isnan(found.quoted), label(record)
        if found.guarantee == "estimate":
            continue
        truth = math.inf if record["value"] in INFINITE else float(record["value"])
        assert found.ends.get("lower", 0.0) <= truth * (1 + 1e-15), (label(record), found)
        assert found.quoted >= truth * (1 - 1e-15), (label(record), found)


def answer(record: Record, name: str) -> Answer | None:
    """None where it is refused."""
    plan = plan_of(json.dumps(record["plan"]))
    try:
        if record["quantity"] == "epsilon":
            return plan.epsilon(float(record["delta"]), accountant=name)
        return plan.delta(float(record["epsilon"]), accountant=name)
    except hs.UnsupportedError:
        return None


@each_accountant
def test_an_unknown_option_is_named(name: str) -> None:
    with pytest.raises(hs.InvalidInputError, match="no option 'colour'"):
        DP_SGD.epsilon(1e-5, accountant=name, colour=1.0)


@each_accountant
def test_its_file_cites_its_source_and_says_what_it_costs_and_where_it_fails(name: str) -> None:
    """One file a published method, with citation, cost law and known failure on top."""
    if name in OWN:
        pytest.skip("this library's own")
    text = inspect.getdoc(sys.modules[type(ACCOUNTANTS[name]).__module__]) or ""
    assert f"``{name}``" in text
    for word in ("Cost:", "Known failure:"):
        assert word in text
    assert "arXiv" in text or "ISBN" in text or "doi" in text


def test_published_methods_stand_on_their_own() -> None:
    """No published method is answered by this library's engines: then they could not disagree with them."""
    folder = Path(inspect.getfile(hs)).parent / "accountants"
    allowed = {"auto", "certified", "contour", "curve", "grid", "proof", "proved", "rough"}
    for path in sorted(folder.rglob("*.py")):
        if path.stem in allowed:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
                for module in modules:
                    assert "engines" not in module, (path.name, module)
                    assert not module.startswith("hockeystick.accountants.certified"), path.name
