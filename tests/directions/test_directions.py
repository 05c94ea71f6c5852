"""Accountants know directions and no plan: they answer for pairs that are given by hand as for those of a plan."""

from __future__ import annotations

from typing import Any

import pytest

import hockeystick as hs
from hockeystick.directions.directions import Directions
from hockeystick.pairs import (
    BlackBoxPair,
    DominatingPair,
    GaussianPair,
    LaplacePair,
    PoissonAddPair,
    PoissonRemovePair,
    RenyiCurve,
)
from toys import Curve

REMOVE, ADD, REPLACE = hs.Direction.REMOVE, hs.Direction.ADD, hs.Direction.REPLACE_ONE
BASE = GaussianPair(0.5)
GIVEN: list[tuple[hs.Plan, dict[hs.Direction, list[tuple[DominatingPair, int]]]]] = [
    (hs.Plan([hs.Round(hs.Gaussian(10.0), count=30)], "remove"), {REMOVE: [(GaussianPair(0.1), 30)]}),
    (
        hs.Plan([hs.Round(hs.RandomizedResponse(0.1), count=40)]),
        {REMOVE: [(BlackBoxPair(0.1), 40)], ADD: [(BlackBoxPair(0.1), 40)]},
    ),
    (
        hs.dp_sgd(2.0, 0.01, 1000),
        {REMOVE: [(PoissonRemovePair(BASE, 0.01), 1000)], ADD: [(PoissonAddPair(BASE, 0.01), 1000)]},
    ),
    (
        hs.Plan([hs.Round(hs.Gaussian(20.0), count=9), hs.Round(hs.Laplace(20.0), count=5)], "replace-one"),
        {REPLACE: [(GaussianPair(0.1), 9), (LaplacePair(2.0, 20.0), 5)]},
    ),
]


def answer(name: str, directions: Directions, asks: str) -> Any:
    """The numbers, or what is said in place of them."""
    try:
        if asks == "epsilon":
            found: Any = hs.ACCOUNTANTS[name].epsilon(directions, 1e-5, None)
        else:
            found = hs.ACCOUNTANTS[name].delta(directions, 0.5, None)
    except hs.HockeystickError as error:
        return type(error), str(error)
    return found.ends, found.accountant, found.direction


@pytest.mark.share(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", hs.ACCOUNTANTS)
def test_every_accountant_answers_for_given_pairs_as_for_a_plan(name: str) -> None:
    answered = False
    for plan, rounds in GIVEN:
        for asks in ("epsilon", "delta"):
            found = answer(name, Directions.of_pairs(rounds), asks)
            assert found == answer(name, plan.directions, asks)
            answered = answered or isinstance(found[0], dict)
    assert answered


def test_the_neighbouring_relation_follows_from_the_directions() -> None:
    pair: list[tuple[RenyiCurve, int]] = [(BASE, 1)]
    for adjacency in hs.Adjacency:
        found = Directions.of_pairs(dict.fromkeys(adjacency.directions, pair))
        assert found.adjacency is adjacency
        assert found.known_from_below
        assert not Directions.of_pairs(dict.fromkeys(adjacency.directions, pair), tight=False).known_from_below


def test_curves_are_given_beside_pairs() -> None:
    given = Directions.of_pairs({REMOVE: [(GaussianPair(0.1), 400), (Curve(0.005), 1)]})
    assert not given.known_from_below
    for name in hs.ACCOUNTANTS:
        if name in ("auto", "contour", "grid", "rdp"):
            assert hs.ACCOUNTANTS[name].epsilon(given, 1e-6, None).quoted > 9.9
        else:
            with pytest.raises(hs.UnsupportedError, match="has only a Renyi curve"):
                hs.ACCOUNTANTS[name].epsilon(given, 1e-6, None)
    assert hs.ACCOUNTANTS["auto"].epsilon(given, 1e-6, None).ends["lower"] == 0.0


def test_what_is_given_is_checked() -> None:
    pair = [(BASE, 1)]
    bad: list[Any] = [
        {},
        {REMOVE: pair, REPLACE: pair},
        {REMOVE: pair, ADD: [(BASE, 2)]},
        {REMOVE: pair, ADD: [*pair, *pair]},
        {REMOVE: [(BASE, -1)]},
        {REMOVE: [(1.0, 1)]},
        pair,
    ]
    for rounds in bad:
        with pytest.raises(hs.InvalidInputError, match="round"):
            Directions.of_pairs(rounds)
    with pytest.raises(hs.UnsupportedError, match="proofs are not implemented"):
        Directions.of_pairs({REMOVE: pair}).exact(REMOVE)
