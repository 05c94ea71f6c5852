"""Groups of up to a million million records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import hockeystick as hs
from fuzz.draws import Draw
from fuzz.laws import Held
from fuzz.registry import case


@case("group", "Profile.group", "GroupProfile", "GroupProfile.delta")
def delta(draw: Draw, held: Held) -> None:
    """At least that of one record, falling in epsilon; of unsampled Gaussian rounds at least the group's true one."""
    gaussian = draw.chance(0.3)
    plan = hs.Plan([hs.Round(hs.Gaussian(draw.note("noise", draw.noise())))]) if gaussian else draw.plan()
    size, at = draw.note("size", draw.size()), draw.note("epsilon", sorted(draw.epsilon() for _ in range(3)))
    group = held.ask(f"group({size})", lambda: plan.profile().group(size))
    found = None if group is None else held.ask(f"group({size}).delta({at})", lambda: group.delta(at))
    if group is None or found is None:
        return
    held.band("group.delta", found, 1.0)
    held.falling("group.delta along epsilon", found)
    single = held.ask("delta", lambda: group.profile.delta(at))
    if single is not None:
        held.law((single.lower <= found.upper * (1 + 1e-12)).all(), f"one record {single} above the group {found}")
    noise = draw.said.get("noise", 0.0) / size
    if gaussian and noise >= 0.01:
        true = held.ask("delta of the group's plan", lambda: hs.Plan([hs.Round(hs.Gaussian(noise))]).delta(at[0]))
        if true is not None:
            held.at_most("the group's true delta", true.lower, float(found.upper[0]))


@case("group", "GroupProfile.epsilon")
def epsilon(draw: Draw, held: Held) -> None:
    """At least that of one record; the group's delta at it is within the target."""
    plan = draw.plan()
    size, at = draw.note("size", draw.size()), draw.note("delta", draw.delta())
    group = held.ask(f"group({size})", lambda: plan.profile().group(size))
    found = None if group is None else held.ask(f"group({size}).epsilon({at})", lambda: group.epsilon(at))
    if group is None or found is None:
        return
    high = float(found.upper)
    held.law(float(found.lower) <= high, f"ends of {found}")
    if np.isfinite(high) and size > 1 and high <= 1e4:
        back = held.ask("delta there", lambda: group.delta(high))
        held.law(back is not None and float(back.upper) <= at * (1 + 1e-9), f"delta {back} at {high}, wanted {at}")


@case("group", "GroupProfile.tpr")
def tpr(draw: Draw, held: Held) -> None:
    """At least that of one record and the baseline; never less for a larger group."""
    plan = draw.sgd() if draw.chance(0.3) else draw.plan(both=draw.chance(0.9))
    size, at = draw.note("size", draw.size()), draw.note("fpr", draw.several(draw.probability))
    group = held.ask(f"group({size})", lambda: plan.profile().group(size))
    found = None if group is None else held.ask(f"group({size}).tpr({at})", lambda: group.tpr(at))
    if group is None or found is None:
        return
    held.band("group.tpr", found, 1.0)
    held.law((found.upper >= np.asarray(at) * (1 - 1e-12)).all(), f"group.tpr {found} below guessing {at}")
    smaller = held.ask("smaller group", lambda: group.profile.group(max(size // 2, 1)).tpr(at))
    if smaller is not None:
        held.law((smaller.lower <= found.upper + 1e-12).all(), f"a smaller group {smaller} above {found}")


@case("group", "Plan.of_records", "Plan.by_group", "Plan.whole", "Plan.with_rounds", "Plan.premises")
def users(draw: Draw, held: Held) -> None:
    """Users with several records are protected no more than single records, and no less than group privacy says."""
    plan = draw.plan()
    size, at = draw.note("size", draw.of(2, 3, 10, 1000)), draw.note("epsilon", draw.epsilon())
    about = replace(plan, unit="user", records_per_unit=size)
    held.law(not about.of_records, "users with several records are told from records")
    held.law(about.whole == about.by_group, "what is by group privacy is answered for as a whole, and nothing else")
    held.law("unit user" in about.premises, f"premises {list(about.premises)}")
    held.same("with its own rounds", about.with_rounds(plan.rounds), about)
    found = held.ask(f"delta({at}) of users", lambda: about.delta(at))
    single = held.ask(f"delta({at})", lambda: plan.delta(at))
    if found is None or single is None:
        return
    held.at_most("delta of one record", single.ends.get("lower", 0.0), float(found))
    group = held.ask(f"group({size}).delta({at})", lambda: plan.profile().group(size).delta(at))
    if group is not None:
        held.at_most("delta of users", found.ends.get("lower", 0.0), float(group.upper))
