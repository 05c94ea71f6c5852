"""Published claims against certified bounds: ``make demo``.

First the command on one plan, as a user would run it; then every plan in ``examples/plans`` whose source claims an
epsilon.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import hockeystick as hs
from hockeystick.report.answer import epsilon_answer
from hockeystick.report.rounding import exact, round_down, round_up
from hockeystick.report.tables import print_answer

ROOT = Path(__file__).parents[1]
PLANS = ROOT / "examples" / "plans"
FIRST = "bu2020-mnist-clt"
GAP = 1e-3
DIGITS = 4
WIDTH = 80
INTRODUCTION = """Every shipped plan whose source claims an epsilon, and what the claim is for the
sampling that the plan assumes:
"""
LEGEND = """too low: below the certified lower bound: less private than was claimed
valid, not tight: above the certified upper bound; agrees: between the two
Where a note says that the loader samples otherwise than the plan, neither the claim
nor the certified interval is about what was run."""
NOT_TIGHT = "valid, not tight"


@dataclass(frozen=True)
class Comparison:
    """What a source claims of a plan, and what is certified at the same delta."""

    name: str
    plan: hs.Plan
    delta: float
    published: float | None
    bound: hs.Bound
    note: str

    @property
    def interval(self) -> str:
        """The certified interval, rounded outward."""
        lower, upper = round_down(self.bound.lower, DIGITS), round_up(self.bound.upper, DIGITS)
        return lower if lower == upper else f"{lower} to {upper}"

    @property
    def claimed(self) -> str:
        """The published value, to five digits; empty if there is none."""
        return "" if self.published is None else f"{self.published:.5g}"

    @property
    def verdict(self) -> str:
        """Where the published value lies, for the sampling that the plan assumes; empty if there is none."""
        if self.published is None:
            return ""
        if self.published < self.bound.lower:
            return "too low"
        return NOT_TIGHT if self.published > self.bound.upper else "agrees"


def comparisons() -> Iterator[Comparison]:
    """One for each plan in ``examples/plans``, at the delta of the claim, else at the plan's own."""
    for path in sorted(PLANS.glob("*.toml")):
        plan = hs.load_plan(path)
        claim = plan.published or {}
        delta = claim.get("delta", plan.delta_target)
        bound = plan.epsilon(delta, gap=GAP)
        yield Comparison(path.stem, plan, delta, claim.get("epsilon"), bound, claim.get("note", ""))


def main() -> None:
    """Print both parts."""
    os.environ.setdefault("COLUMNS", str(WIDTH))
    plan = hs.load_plan(PLANS / f"{FIRST}.toml")
    assert plan.delta_target is not None
    print(f".venv/bin/hockeystick epsilon examples/plans/{FIRST}.toml\n")
    print_answer(epsilon_answer(plan, plan.delta_target, plan.epsilon()))
    print(f"\n{INTRODUCTION}")
    print(_row("plan", "delta", "claim", "certified", "the claim is"))
    for found in comparisons():
        if found.published is not None:
            delta = exact(float(f"{found.delta:.2g}"))
            print(_row(found.name, delta, found.claimed, found.interval, found.verdict), flush=True)
            if found.note:
                print(fill(f"note: {found.note}", WIDTH, initial_indent="  ", subsequent_indent="  "), flush=True)
    print(f"\n{LEGEND}")


def _row(name: str, delta: str, claimed: str, interval: str, verdict: str) -> str:
    return f"{name:<33}{delta:<7}{claimed:<7}{interval:<17}{verdict}"


if __name__ == "__main__":
    main()
