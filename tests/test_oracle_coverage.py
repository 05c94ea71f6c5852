"""Every mechanism has true values from code that shares nothing with the library, or stands in one short list."""

from __future__ import annotations

from hockeystick.plan.mechanisms import MECHANISMS
from hockeystick.plan.sampling import SAMPLINGS
from oracle.plan import PARAMETERS

WITHOUT_AN_ORACLE: dict[str, str] = {
    "zcdp": "moments alone are known: tests/plan/test_black_boxes.py holds it against the noise it came from",
    "rdp": "moments alone are known: tests/plan/test_black_boxes.py holds it against the noise it came from",
    "dp-sgd-jl": "tests/plan/test_black_boxes.py integrates over the projections",
}
"""Mechanisms that the oracle does not know, and why."""

SCHEMES = {
    "none": "the oracle composes what is unsampled",
    "poisson": "the oracle mixes before it composes",
    "without-replacement": "no tight answer is known; plan/test_without_replacement.py holds it against data sets",
}
"""Sampling schemes, and what true values they are held against."""

MOST_WITHOUT = 3
"""Mechanisms that may go without an oracle before one has to be written."""


def test_every_mechanism_has_an_oracle() -> None:
    for mechanism in MECHANISMS:
        assert mechanism.name in PARAMETERS or WITHOUT_AN_ORACLE.get(mechanism.name), mechanism.name
    assert len(WITHOUT_AN_ORACLE) <= MOST_WITHOUT
    assert not set(WITHOUT_AN_ORACLE) & set(PARAMETERS)


def test_every_scheme_says_what_it_is_held_against() -> None:
    assert {scheme.name for scheme in SAMPLINGS} == set(SCHEMES)
