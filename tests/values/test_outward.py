"""Bounds in front of people: every format rounds to the safe side, and what notebooks show is text."""

from __future__ import annotations

import pickle
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hockeystick as hs
from hockeystick.targets import Epsilon
from hockeystick.values.outward import DOWN, UP, html_table, rounded

SPECS = st.sampled_from([".0f", ".2f", ".3e", ".4g", ".1%", ".10f", "f", "e", "%", ">12.3f", "+.2f"])
"""Formats of floats that drop digits."""


@given(st.floats(-1e6, 1e6), SPECS)
def test_an_upper_end_is_never_rounded_down(value: float, spec: str) -> None:
    """In exact decimals: what is printed is not below the number, and what is rounded down not above it."""
    for rounding, sign in ((UP, 1), (DOWN, -1)):
        text = rounded(value, spec, rounding).strip()
        shown = Decimal(text.rstrip("%")) / (100 if text.endswith("%") else 1)
        assert sign * (shown - Decimal(value)) >= 0
        assert abs(shown - Decimal(value)) <= max(Decimal(abs(value)), Decimal(1))


def test_a_format_shows_what_may_be_quoted() -> None:
    bound = hs.Bound(2.3801, 2.3803, 2.3805)
    assert (f"{bound:.2f}", f"{bound:.3g}", f"{bound:>8.1f}", f"{bound:.0%}") == ("2.39", "2.39", "     2.4", "239%")
    assert f"{hs.UpperBound(1.001, 'rdp'):.1f}" == "1.1"
    assert f"{hs.Estimate(1.04, 'gdp'):.1f}" == "1.0"  # an estimate has no safe side
    assert f"{hs.Bound(1.0, 1.0, float('inf'), reason='mass'):.2f}" == "inf"
    assert bound.quoted == 2.3805
    with pytest.raises(hs.InvalidInputError, match=r"must be a float format such as '\.2f'; received 'd'"):
        f"{bound:d}"


def test_print_shows_the_interval_outward() -> None:
    assert str(hs.Bound(2.38512153, 2.38512155, 2.38512158)) == "2.38512 to 2.38513 (certified)"
    assert str(hs.UpperBound(1.00000001, "rdp")) == "at most 1.00001 (upper bound)"
    assert str(hs.Estimate(1.5, "gdp")) == "about 1.5 (estimate)"
    assert f"{hs.Bound(1.0, 1.0, 1.0)}" == "1 (certified)"


def test_bounds_are_values_as_before() -> None:
    """Frozen, without a dictionary, picklable, and with all their digits in ``repr``."""
    bound = hs.Bound(1.0, 1.25, 1.5)
    assert pickle.loads(pickle.dumps(bound)) == bound  # our own
    assert not hasattr(bound, "__dict__")
    assert repr(bound).startswith("Bound(lower=1.0, estimate=1.25, upper=1.5")


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_notebooks_show_tables() -> None:
    plan = hs.dp_sgd(1.0, batch_size=10, dataset_size=1000, epochs=1, delta=1e-5) + 2 * hs.Round(hs.Laplace(10.0))
    sgd = hs.dp_sgd(1.0, 0.1, 10)
    found = hs.calibrate(sgd, "noise-multiplier", Epsilon(1.0, 1e-5))
    shown: dict[str, Any] = {
        "2 kinds": plan, "interval": plan.epsilon(), "at most": hs.UpperBound(1.0, "rdp"), "advantage": sgd.profile(),
        "noise-multiplier = ": found,
        "both orderings": hs.dp_sgd(1.0, 0.1, 10, adjacency="add").profile(),
        "differential privacy with mu at most": sgd.profile().gdp(),
        "0 steps taken": hs.Accountant(),
    }  # fmt: skip
    words = {}
    for name, thing in shown.items():
        elements = Elements(thing._repr_html_())
        assert set(elements.tags) <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
        words[name] = " ".join(elements.words)
    assert "Plan of 102 steps, add-or-remove, delta = 1e-5" in words.pop("2 kinds")
    for name, text in words.items():
        assert name in text, name
    value = words["noise-multiplier = "].split(" = ")[1].split()[0]
    assert float(value) >= found.value
    assert repr(sgd.profile()).startswith("Profile(Plan(rounds=(Round(")


def test_what_is_stepped_and_spent_says_so() -> None:
    accountant, budget = hs.Accountant(), hs.filters.ZcdpFilter(1.0)
    accountant.step(noise_multiplier=1.0, sample_rate=0.01)
    budget.spend(hs.Round(hs.Gaussian(10.0), count=3))
    assert repr(accountant) == "Accountant('add-or-remove': 1 step taken)"
    assert "Plan of 1 step" in accountant._repr_html_()
    assert repr(budget).startswith("ZcdpFilter(")
    assert "of 1 spent" in repr(budget)
    assert str(hs.dp_sgd(1.0, 0.1, 10).profile().gdp()).startswith("mu-Gaussian-DP: mu ")


def test_many_rounds_do_not_flood_a_notebook() -> None:
    plan = hs.Plan([hs.Round(hs.Laplace(float(scale))) for scale in range(1, 31)])
    assert "and 10 more" in plan._repr_html_()


def test_text_stays_text() -> None:
    shown = html_table("<script>", [("a\x1b[31m", "<img src=x onerror=alert(1)> \u202e")])
    assert Elements(shown).tags == ["table", "caption", "tbody", "tr", "th", "td"]
    assert "\x1b" not in shown
    assert "\u202e" not in shown
