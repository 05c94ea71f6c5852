"""Every mechanism against its definition: the answers of the library beside sums over the outcomes.

A pair that is claimed tight and is that of less noise, or masses that are off by a bin, pass all tests that know no
law. Here is the law.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import hockeystick as hs
from hockeystick.pairs import DominatingPair
from hockeystick.pairs.check import check_pair
from hockeystick.plan.mechanisms import Status
from hockeystick.plan.sampling.base import claimed_of
from hockeystick.values.adjacency import Direction
from oracle.definition import Definition, counts, delta
from oracle.definitions import DEFINITIONS, OTHER, discrete_laplace
from toys import Flattered, Geometric, OneOff, register

DIRECTIONS = {"remove": Direction.REMOVE, "add": Direction.ADD, "replace-one": Direction.REPLACE_ONE}
SAMPLED: dict[str, tuple[float, dict[str, Any]]] = {
    "none": (1.0, {}),
    "poisson": (0.25, {"sampling": "poisson", "sample_rate": 0.25}),
    "without-replacement": (0.25, {"sampling": "without-replacement", "batch_size": 5, "dataset_size": 20}),
}
ASKED = ((1, 0.0), (1, 0.4), (2, 0.7))  # rounds and epsilons
CELLS = 1e-4  # relative: what sums over cells miss of a delta
WIDE = 1e-3  # relative: by how much a tight answer may exceed the truth


def status(keys: dict[str, Any], direction: str) -> Status:
    (entry,) = hs.Plan.from_dict({"adjacency": direction, "round": [keys]}).rounds
    return claimed_of(entry.sampling, entry.mechanism, DIRECTIONS[direction]).status


def hold(name: str, definition: Definition, sampling: str, direction: str) -> Status:
    """Hold the library against a definition, as far as the claim goes; the claim."""
    rate, more = SAMPLED[sampling]
    keys = {"mechanism": name, **definition.keys, **more}
    found = status(keys, direction)
    if found in (Status.REFUSED, Status.RENYI) or (sampling, direction) == ("without-replacement", "replace-one"):
        return found
    p, q = definition.laws(direction, sampling, rate)
    for rounds, epsilon in ASKED:
        answer = hs.Plan.from_dict({"adjacency": direction, "round": [{**keys, "count": rounds}]}).delta(epsilon)
        truth = delta(p, q, epsilon, rounds)
        assert answer.ends["upper"] >= truth * (1 - CELLS) - 1e-12, (rounds, epsilon, truth, answer)
        if found is Status.TIGHT:
            assert answer.ends["lower"] <= truth * (1 + CELLS) + 1e-12, (rounds, epsilon, truth, answer)
            assert answer.ends["upper"] <= truth * (1 + WIDE) + 1e-9, (rounds, epsilon, truth, answer)
    return found


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("sampling", SAMPLED)
@pytest.mark.parametrize("name", DEFINITIONS)
def test_answers_are_those_of_the_definition(name: str, sampling: str, direction: str) -> None:
    hold(name, DEFINITIONS[name], sampling, direction)


GEOMETRIC = Definition({}, *counts(-80, 80), discrete_laplace(2.0, 1))


def test_a_right_claim_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, Geometric)
    assert hold("geometric", GEOMETRIC, "none", "remove") is Status.TIGHT
    assert hold("geometric", GEOMETRIC, "poisson", "add") is Status.TIGHT
    assert hold("geometric", GEOMETRIC, "none", "replace-one") is Status.TIGHT


@pytest.mark.parametrize("toy", [Flattered, OneOff])
def test_a_false_claim_does_not(toy: type[Geometric], monkeypatch: pytest.MonkeyPatch) -> None:
    """The pair of a tenth more noise, and masses off by a bin: each fits in itself, and is not the mechanism's."""
    register(monkeypatch, toy)
    for direction in (Direction.REMOVE, Direction.ADD):
        check_pair(toy().pair(direction))
        with pytest.raises(AssertionError):
            hold(toy.name, GEOMETRIC, "none", direction.value)


INSTANCES = {
    **{name: each.keys for name, each in DEFINITIONS.items()},
    **{name: keys for name, (_, keys) in OTHER.items()},
}


def pairs_of(name: str, direction: str, sampling: str) -> Iterator[DominatingPair]:
    """All pairs above and below of an instance."""
    keys = {"mechanism": name, **INSTANCES[name], **SAMPLED[sampling][1]}
    if status(keys, direction) in (Status.REFUSED, Status.RENYI):
        return
    (entry,) = hs.Plan.from_dict({"adjacency": direction, "round": [keys]}).rounds
    known = entry.sampling.known(entry.mechanism, DIRECTIONS[direction])
    yield known.above
    yield from known.below


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("sampling", SAMPLED)
@pytest.mark.parametrize("name", INSTANCES)
def test_pairs_fit_in_themselves(name: str, sampling: str, direction: str) -> None:
    for pair in pairs_of(name, direction, sampling):
        check_pair(pair)
