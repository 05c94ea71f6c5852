"""Every mechanism has true values from code that shares nothing with the library."""

from __future__ import annotations

import importlib

from hockeystick.plan.mechanisms.registry import MECHANISMS
from hockeystick.plan.sampling.registry import SAMPLINGS
from oracle.definitions import DEFINITIONS, OTHER

SCHEMES = {
    "none": "the oracle composes what is unsampled",
    "poisson": "the oracle mixes before it composes",
    "with-replacement": "tests/plan/test_with_replacement.py holds it against enumerated datasets and a contour",
    "truncated-poisson": "tests/plan/test_truncated_poisson.py holds it against enumerated datasets and a contour",
    "cyclic-poisson": "tests/plan/test_cyclic_poisson.py holds it against the rounds of every group",
    "without-replacement": "simulations of batches, an enumeration and a lattice: plan/test_without_replacement.py, "
    "pairs/test_fixed_size_pair.py",
    "random-allocation": "pairs/test_allocation.py holds it against nested integrals and laws on a grid",
    "balls-in-bins": "tests/plan/test_sampled_runs.py holds it against simulations and a chain's transfer operator",
    "shuffled": "no tight answer is known; plan/test_shuffled.py enumerates the orders of a few records",
}
"""Sampling schemes, and what true values they are held against."""


def test_every_mechanism_has_a_definition_or_an_oracle_of_its_own() -> None:
    assert {mechanism.name for mechanism in MECHANISMS} == DEFINITIONS.keys() | OTHER.keys()
    for module, _ in OTHER.values():
        assert importlib.import_module(f"oracle.{module}").__doc__


def test_every_scheme_says_what_it_is_held_against() -> None:
    assert {scheme.name for scheme in SAMPLINGS} == set(SCHEMES)
