"""Figures and comparisons from Python, and what is measured of the machine."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import hockeystick as hs
from fuzz.draws import Draw
from fuzz.laws import SECONDS, Held
from fuzz.registry import case

KINDS = ("curve", "steps", "tradeoff")

SHARE = 1e-3
"""Of what two answers to one question may differ by that may come from where a profile stops."""


@case("picture", "Plan.plot", "Profile.plot", "plot.curve", "plot.steps", "plot.tradeoff", "plot.save")
def figures(draw: Draw, held: Held) -> None:
    """A figure of few points of one plan or two, written whole; or one line."""
    one, other = draw.plan(), draw.plan()
    which, points = draw.note("figure", draw.of(*KINDS)), draw.note("points", draw.random.randint(2, 4))
    delta, label = draw.note("delta", draw.delta()), draw.note("label", draw.of("a", "$x^{", "<b>\x1b[31m", "\u202e"))
    plans = (one,) if draw.note("alone", draw.chance(0.5)) else (one, other)
    options: dict[str, Any] = {"points": points} | ({"delta": delta} if which in ("curve", "steps") else {})
    options["labels"] = [label] * len(plans)
    limit = 2 * SECONDS * points * len(plans)
    by = draw.note("by", draw.of("plan", "module", "profile"))

    def made() -> object:
        if by == "module":
            return getattr(hs.plot, which)(*plans, **options)
        if by == "profile" and len(plans) == 1:
            return one.profile().plot(which, **options)
        return plans[0].plot(*plans[1:], kind=which, **options)

    figure = held.ask("plot", made, invalid=True, seconds=limit)
    if figure is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / draw.of("figure.svg", "figure.png", "figure.pdf")
        if held.do("save", lambda: hs.plot.save(figure, path)):  # type: ignore[arg-type]
            held.law(path.stat().st_size > 0, "an empty figure")


@case("picture", "Plan.compare", "Accountant.profile")
def side_by_side(draw: Draw, held: Held) -> None:
    """Every accountant once, certified ones meeting one another; and the profile of what an accountant has stepped."""
    plan = draw.plan(kinds=1)
    delta = draw.note("delta", draw.delta())
    rows = held.ask("compare", lambda: list(plan.compare(delta)), seconds=SECONDS * len(hs.ACCOUNTANTS))
    if rows is not None:
        held.same("an accountant twice", len({row.name for row in rows}), len(rows))
        for row in rows:
            held.law((row.answer is None) <= (row.reason is not None), f"{row.name} refuses and gives no reason")
    accountant = hs.Accountant()
    if not held.do("step", lambda: accountant.step(noise_multiplier=draw.noise(), sample_rate=draw.rate())):
        return
    epsilon = draw.note("epsilon", draw.epsilon())
    band = held.ask("profile", lambda: accountant.profile().delta(epsilon))
    asked = held.ask("delta", lambda: accountant.delta(epsilon))
    if band is not None and asked is not None:
        held.at_most("the profile's lower end", float(band.lower), asked.quoted, SHARE)


@case("picture", "doctor", "cli.doctor")
def machine(draw: Draw, held: Held) -> None:
    """The functions are as near as the certificate assumes."""
    found = held.ask("doctor", hs.doctor)
    if found is not None:
        held.law(found.sound and not found.failures, f"not as assumed: {found.failures}")
