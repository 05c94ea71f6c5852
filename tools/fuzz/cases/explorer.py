"""What the page of live curves is answered: about given plans and about the keys of DP-SGD, as its server answers."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

from fuzz.cases.command import _run
from fuzz.draws import Draw
from fuzz.laws import SECONDS, Held
from fuzz.registry import case
from hockeystick.explorer.answers import WANTS, answer
from hockeystick.explorer.given import Given
from hockeystick.explorer.keys import SCHEMES

CURVES = ("delta", "attack", "steps", "noise")
CURVE_SECONDS = SECONDS * 4  # a headline, how far a curve reaches, and its places within the work of one call


@case("explorer", "explore", "cli.explore")
def given(draw: Draw, held: Held) -> None:
    """A plan as it was given and with something moved: the number of the library, curves in order, or one line."""
    plan = draw.plan()
    shown = Given(plan, "")
    moved = {"delta": repr(draw.note("delta", draw.delta()))}
    keys = [key for key in shown.sliders if key != "delta"]
    if keys and draw.chance(0.5):
        key = draw.note("key", draw.of(*keys))
        moved[key] = repr(draw.note("value", draw.spread(1e-3, 1e3) * float(shown.sliders[key][1])))
    _asked(draw, held, {"given": shown.digest, "moved": moved}, shown)
    if list(moved) == ["delta"]:
        said = held.ask("epsilon", lambda: plan.epsilon(float(moved["delta"])))
        found = held.ask(
            "epsilon of the page", lambda: _answer("epsilon", {"given": shown.digest, "moved": moved}, shown)
        )
        held.same("refused by both", said is None, found is None)
        if said is not None and found is not None:
            upper = found["answer"]["epsilon"]["upper"]
            held.same("the upper end", math.inf if upper is None else upper, said.quoted)


@case("explorer", "explore", "cli.explore")
def keys(draw: Draw, held: Held) -> None:
    """The keys of DP-SGD, as texts: numbers of all sizes, in all ways in which people write them."""
    scheme = draw.of(*SCHEMES)
    made: dict[str, Any] = {"noise_multiplier": repr(draw.noise()), "delta": draw.of("1/60000", repr(draw.delta()))}
    for key in draw.of(*SCHEMES[scheme]):
        made[key] = draw.of("1%", "256/60_000", repr(draw.rate())) if key == "sample_rate" else str(draw.size())
    made[draw.of("steps", "epochs")] = str(draw.count())
    made |= {"sampling": scheme, "adjacency": draw.of("add-or-remove", "replace-one", "zero-out", "add")}
    _asked(draw, held, {"keys": draw.note("keys", made)}, None)


@case("explorer", "cli.explore")
def nothing_to_serve(draw: Draw, held: Held) -> None:
    """A port that is none, or a plan that is none: one line, and no page."""
    arguments = ["explore", *draw.of(["--port", "70000"], ["no-such-plan.toml"], ["--sigma", "1"], ["--delta", "x"])]
    done = _run(held, [*draw.note("arguments", arguments), "--no-browser"])
    held.law(done is not None and done[0] == 2, f"refused: {done}")


def _asked(draw: Draw, held: Held, plan: dict[str, Any], given: Given | None) -> None:
    want = draw.note("want", draw.of(*WANTS))
    target = repr(draw.epsilon())
    found = held.ask(want, lambda: _answer(want, plan, given, target), invalid=True, seconds=CURVE_SECONDS)
    if found is None or want not in CURVES:
        return
    for x, lower, upper, text in zip(found["x"], found["lower"], found["upper"], found["text"], strict=True):
        held.law(float(text[0]) == x, f"{want}: {text} at {x!r}")
        if upper is not None:
            held.law(Decimal(text[2]) >= Decimal(upper), f"{want}: {text} above {upper!r}")
        if lower is not None:
            held.law(upper is None or lower <= upper, f"{want}: ends {lower!r} and {upper!r}")
            held.law(Decimal(text[1]) <= Decimal(lower), f"{want}: {text} below {lower!r}")


def _answer(want: str, plan: dict[str, Any], given: Given | None, target: str = "1") -> dict[str, Any]:
    found = answer({"want": want, "plan": plan, "target": target}, given)
    json.dumps(found, allow_nan=False)
    return found
