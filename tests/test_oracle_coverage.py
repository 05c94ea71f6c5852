"""Every mechanism has true values from code that shares nothing with the library, or stands in one short list."""

from __future__ import annotations

from hockeystick.plan.mechanisms import MECHANISMS
from hockeystick.plan.sampling import SAMPLINGS
from oracle.plan import PARAMETERS

WITHOUT_AN_ORACLE: dict[str, str] = {
    "mixture-gaussian": "its lists have an oracle of their own, oracle/mixtures.py, in tests/pairs/test_mixture.py",
    "zcdp": "moments alone are known: tests/plan/test_black_boxes.py holds it against the noise it came from",
    "rdp": "moments alone are known: tests/plan/test_black_boxes.py holds it against the noise it came from",
    "dp-sgd-jl": "tests/plan/test_black_boxes.py integrates over the projections",
}
"""Mechanisms that the oracle does not know, and why."""

SCHEMES = {
    "none": "the oracle composes what is unsampled",
    "poisson": "the oracle mixes before it composes",
    "with-replacement": "tests/plan/test_with_replacement.py holds it against enumerated datasets and a contour",
    "truncated-poisson": "tests/plan/test_truncated_poisson.py holds it against enumerated datasets and a contour",
    "cyclic-poisson": "tests/plan/test_cyclic_poisson.py holds it against the rounds of every group",
    "without-replacement": "simulations of batches, an enumeration and a lattice: plan/test_without_replacement.py, "
    "pairs/test_fixed_size_pair.py",
    "random-allocation": "pairs/test_allocation.py holds it against nested integrals and laws on a grid",
    "shuffled": "no tight answer is known; plan/test_shuffled.py enumerates the orders of a few records",
}
"""Sampling schemes, and what true values they are held against."""

MOST_WITHOUT = 4
"""Mechanisms that may go without an oracle before one has to be written."""


def test_every_mechanism_has_an_oracle() -> None:
    for mechanism in MECHANISMS:
        assert mechanism.name in PARAMETERS or WITHOUT_AN_ORACLE.get(mechanism.name), mechanism.name
    assert len(WITHOUT_AN_ORACLE) <= MOST_WITHOUT
    assert not set(WITHOUT_AN_ORACLE) & set(PARAMETERS)


def test_every_scheme_says_what_it_is_held_against() -> None:
    assert {scheme.name for scheme in SAMPLINGS} == set(SCHEMES)
