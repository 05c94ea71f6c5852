"""The small public classes, and every public function with a number outside its domain."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import hockeystick as hs
from fuzz.cases.mechanisms import ASKED, ASKED_OF_A_SUM, sums
from fuzz.draws import Draw
from fuzz.laws import Held
from fuzz.registry import case
from hockeystick import filters, targets
from hockeystick.plan.sampling.base import claimed, claimed_of

OUTSIDE: tuple[Any, ...] = (
    math.nan, math.inf, -math.inf, -1.0, -5e-324, 10**400, -(10**400), 1e13, 1e101, "1", None, True, [], [0.5], {},
    1j, b"1", object(), np.float64(0.5), np.int64(3), np.array(0.5), np.array([0.5, 0.7]), 0, 1, 0.5, "add", "auto",
)  # fmt: skip
"""Numbers outside most domains, things that are no numbers, and a few that are right."""

PLAN = hs.Plan([hs.Round(hs.Gaussian(2.0), hs.Poisson(0.1), 10)])

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "Gaussian": lambda x, y: hs.Gaussian(x, y),
    "Laplace": lambda x, y: hs.Laplace(x),
    "RandomizedResponse": lambda x, y: hs.RandomizedResponse(x),
    "ApproximateDP": lambda x, y: hs.ApproximateDP(x, y),
    "Poisson": lambda x, y: hs.Poisson(x),
    "WithoutReplacement": lambda x, y: hs.WithoutReplacement(x, y),
    "WithReplacement": lambda x, y: hs.WithReplacement(x, y),
    "TruncatedPoisson": lambda x, y: hs.TruncatedPoisson(0.1, x, y),
    "CyclicPoisson": lambda x, y: hs.CyclicPoisson(x, y),
    "BallsInBins": lambda x, y: hs.BallsInBins(x),
    "MixtureGaussian": lambda x, y: hs.MixtureGaussian((x,), (y,), 1.0),
    "Shuffled": lambda x, y: hs.Shuffled(x, y, y, y),
    "RandomAllocation": lambda x, y: hs.RandomAllocation(10, batch_size=x, steps_taken=y, check_in=x),
    "samplings": lambda x, y: hs.samplings(PLAN, x, y),
    "Round": lambda x, y: hs.Round(hs.Gaussian(1.0), count=x),
    "Plan": lambda x, y: hs.Plan([hs.Round(hs.Gaussian(1.0))], x, y),
    "dp_sgd": lambda x, y: hs.dp_sgd(1.0, x, y),
    "Plan.epsilon": lambda x, y: PLAN.epsilon(x),
    "Plan.delta": lambda x, y: PLAN.delta(x, gap=y),
    "Plan.log_delta": lambda x, y: PLAN.log_delta(x),
    "Plan.profile": lambda x, y: PLAN.profile(x),
    "Profile.delta": lambda x, y: PLAN.profile().delta(x),
    "Profile.log_delta": lambda x, y: PLAN.profile().log_delta(x),
    "Profile.epsilon": lambda x, y: PLAN.profile().epsilon(x),
    "Profile.trade_off": lambda x, y: PLAN.profile().trade_off(x),
    "Profile.tpr": lambda x, y: PLAN.profile().tpr(x),
    "Profile.bayes_risk": lambda x, y: PLAN.profile().bayes_risk(x),
    "Profile.reconstruction": lambda x, y: PLAN.profile().reconstruction(x),
    "Profile.mu": lambda x, y: PLAN.profile().mu(x),
    "Profile.gdp": lambda x, y: PLAN.profile().gdp(x),
    "Profile.group": lambda x, y: PLAN.profile().group(x),
    "Profile.table": lambda x, y: PLAN.profile().table(x),
    "GroupProfile.delta": lambda x, y: PLAN.profile().group(2).delta(x),
    "GroupProfile.tpr": lambda x, y: PLAN.profile().group(2).tpr(x),
    "targets.Epsilon": lambda x, y: targets.Epsilon(x, y),
    "targets.Delta": lambda x, y: targets.Delta(x, y),
    "targets.GaussianDP": lambda x, y: targets.GaussianDP(x),
    "targets.Advantage": lambda x, y: targets.Advantage(x),
    "targets.TruePositiveRate": lambda x, y: targets.TruePositiveRate(x, y),
    "targets.BayesRisk": lambda x, y: targets.BayesRisk(x, y),
    "targets.Reconstruction": lambda x, y: targets.Reconstruction(x, y),
    "calibrate": lambda x, y: hs.calibrate(PLAN, "noise-multiplier", targets.Advantage(0.1), tolerance=x, gap=y),
    "Accountant": lambda x, y: hs.Accountant(x),
    "Accountant.step": lambda x, y: hs.Accountant().step(noise_multiplier=x, sample_rate=0.1, count=y),
    "Accountant.remaining": lambda x, y: hs.Accountant().remaining(noise_multiplier=9.0, sample_rate=0.1, epsilon=x,
                                                                   delta=y),
    "filters.RdpFilter": lambda x, y: filters.RdpFilter(order=x, budget=y),
    "filters.RdpFilter.reaching": lambda x, y: filters.RdpFilter.reaching(epsilon=x, delta=y),
    "filters.ZcdpFilter": lambda x, y: filters.ZcdpFilter(budget=x),
    "filters.GdpFilter": lambda x, y: filters.GdpFilter(budget=x),
    "filters.ApproximateDpFilter": lambda x, y: filters.ApproximateDpFilter(epsilon=x, delta=y),
    "filters.Odometer": lambda x, y: filters.Odometer(delta=x, expected=y),
    "filters.PureDpFilter": lambda x, y: filters.PureDpFilter(x),
    "filters.ZcdpFilter.budget_epsilon": lambda x, y: filters.ZcdpFilter(budget=1.0).budget_epsilon(x),
    "filters.GdpFilter.budget_epsilon": lambda x, y: filters.GdpFilter(budget=1.0).budget_epsilon(x),
    "filters.ZcdpFilter.reaching": lambda x, y: filters.ZcdpFilter.reaching(x, y),
    "filters.GdpFilter.reaching": lambda x, y: filters.GdpFilter.reaching(x, y),
    "joint_noise_multiplier": lambda x, y: hs.joint_noise_multiplier((x, y)),
    "clipping_norm": lambda x, y: hs.clipping_norm((x, y)),
}  # fmt: skip
"""Each public function of numbers with two values in the places where it takes numbers."""


@case("value", *CALLS)
def outside(draw: Draw, held: Held) -> None:
    """A number outside its domain, or what is no number, is refused in one line or taken as the number it is."""
    name = draw.note("call", draw.of(*CALLS))
    one, two = draw.of(*OUTSIDE), draw.of(*OUTSIDE)
    draw.note("values", f"{one!r:.60}, {two!r:.60}")
    held.ask(f"{name}({one!r:.60}, {two!r:.60})", lambda: CALLS[name](one, two), invalid=True)


def _of(mechanism: str, **keys: object) -> dict[str, Any]:
    return {"round": [{"mechanism": mechanism, **keys}]}


def _sampled(**keys: object) -> dict[str, Any]:
    return _of("gaussian", noise_multiplier=1.0, sampling="poisson", **keys)


BEYOND: tuple[tuple[str, Callable[[Any], Any], tuple[Any, ...]], ...] = (
    ("noise_multiplier", lambda x: _of("gaussian", noise_multiplier=x), (0.0, 0.00999, 1.0001e6)),
    ("scale", lambda x: _of("laplace", scale=x), (0.0, 0.00999, 1.0001e6)),
    ("sample_rate", lambda x: _sampled(sample_rate=x), (0.0, 0.9e-10, 1 - 0.9e-6, 1 + 1e-9)),
    ("batch_size", lambda x: _sampled(batch_size=1, dataset_size=x), (10**10 + 10,)),
    ("count", lambda x: _of("gaussian", noise_multiplier=1.0, count=x), (10**12 + 1, 0.5, -1)),
    ("epsilon", lambda x: _of("randomized-response", epsilon=x), (0.9e-6, 100.1, -1.0)),
    ("delta", lambda x: _of("approximate-dp", epsilon=1.0, delta=x), (0.9e-100, 1.0, -1.0)),
    ("mu", lambda x: _of("gdp", mu=x), (0.0, 0.9e-6, 100.1)),
    ("rho", lambda x: _of("zcdp", rho=x), (0.0, 0.9e-13, 10_001.0)),
    ("steps_per_epoch", lambda x: _of("gaussian", noise_multiplier=1.0, sampling="random-allocation",
                                      steps_per_epoch=x), (0, 10**10 + 1)),
    ("sensitivity", lambda x: _of("staircase", epsilon=1.0, sensitivity=x), (0.0, 0.9e-6, 2.0**20 + 1)),
)  # fmt: skip
"""A key, a plan with a value of it, and values just beyond each edge of the declared domain."""

ASKED_BEYOND: dict[str, tuple[Callable[[Any], Any], tuple[float, ...]]] = {
    "epsilon of a question": (lambda x: PLAN.delta(x), (-1e-9, 1.0001e4)),
    "delta of a question": (lambda x: PLAN.epsilon(x), (0.9e-300, 1.0, -1e-9)),
    "delta of another accountant": (lambda x: PLAN.epsilon(x, accountant="rdp"), (0.9e-100,)),
    "rounds of another accountant": (lambda x: hs.dp_sgd(1.0, 0.1, x).epsilon(1e-5, accountant="grid"), (10**9 + 1,)),
}
"""Questions with a value just beyond an edge."""


@case("value", "Plan.from_dict", "Plan.epsilon", "Plan.delta")
def beyond(draw: Draw, held: Held) -> None:
    """What lies just beyond an edge of the domain is refused in one line that names the key and the value."""
    key, made, values = draw.note("key", draw.of(*BEYOND))
    value = draw.note("value", draw.of(*values))
    refused = _refusal(lambda: hs.Plan.from_dict(made(value)))
    held.law(refused is not None and f"{key}" in refused and "must be" in refused, f"{key} {value!r}: {refused}")
    what = draw.note("question", draw.of(*ASKED_BEYOND))
    asked, values = ASKED_BEYOND[what]
    at = draw.note("at", draw.of(*values))
    held.law(_refusal(lambda: asked(at)) is not None, f"{what}: {at!r} is answered")


def _refusal(call: Callable[[], Any]) -> str | None:
    try:
        call()
    except (hs.InvalidInputError, hs.UnsupportedError) as error:
        return str(error)
    return None


SIDES = {"tight": "tight", "between": "between", "upper": "above"}
"""The side of a pair by the status of its claim; of a Renyi claim there is no pair."""

OF_A_SCHEME = (
    "claim", "claim_of", "pair", "known", "curve", "exact", "keys", "dataset_records", "steps_per_epoch",
    "steps_per_round", "steps_of_pass", "broken_off", "participations", "same_for_all", "caution", "of_many",
    "effective",
)  # fmt: skip
PARTS = {
    **dict.fromkeys(("RandomizedResponse", "ApproximateDP", "MixtureGaussian"), ASKED),
    **dict.fromkeys(("Gaussian", "Laplace"), (*ASKED, *ASKED_OF_A_SUM)),
    "NoSampling": OF_A_SCHEME, "Poisson": (*OF_A_SCHEME, "exact_rate", "mixed"),
    "WithoutReplacement": (*OF_A_SCHEME, "rate", "exact_rate"),
    "WithReplacement": (*OF_A_SCHEME, "weight_of_record"), "TruncatedPoisson": (*OF_A_SCHEME, "cut", "kept"),
    "CyclicPoisson": (*OF_A_SCHEME, "within"), "BallsInBins": OF_A_SCHEME,
    "RandomAllocation": (*OF_A_SCHEME, "steps"), "Shuffled": (*OF_A_SCHEME, "steps", "dropped"),
    "Round": ("of_many", "null_record", "of_run", "participations", "same_for_all", "steps_per_round"),
    "Plan": (), "Parameter": (),
    "Adjacency": ("parse", "directions", "both"), "Direction": ("keeps_places", "reverse", "order"),
}  # fmt: skip
"""Classes and what a round asks of them: a mechanism's pair, a scheme's pair of it."""


@case("value", *PARTS, *(f"{name}.{method}" for name, methods in PARTS.items() for method in methods))
def objects(draw: Draw, held: Held) -> None:
    """Mechanisms, sampling schemes, rounds: copies are equal, representations give them back, pairs are there."""
    item = hs.Plan.from_dict(draw.note("round", {"round": [draw.round()]})).rounds[0]
    records = int(draw.spread(1, 1e12))
    fixed = hs.WithoutReplacement(draw.note("batch", draw.batch(records)), draw.note("records", records))
    steps = int(draw.spread(1, 1e6))
    allocated = hs.RandomAllocation(
        draw.note("steps", steps), draw.random.randint(1, steps), draw.random.choice((1, 2, 7)), records
    )
    uneven = hs.RandomAllocation(
        batch_size=draw.batch(records),
        dataset_size=records,
        check_in=Fraction(draw.random.randint(1, 9), 9),
    )
    uneven = uneven.broken_off(draw.random.randint(1, uneven.steps)) or uneven
    shuffled = hs.Shuffled(
        batch_size=draw.random.randint(1, records), dataset_size=records, drop_last=draw.random.random() < 0.5
    )
    held.law(shuffled.steps_per_round == shuffled.steps == shuffled.steps_per_epoch, "steps of a shuffled epoch")
    held.law(allocated.steps == steps and allocated.steps_per_round % steps == 0, "steps of an epoch")
    held.law(0 < fixed.rate <= 1, f"rate {fixed.rate!r}")
    others = (
        hs.WithReplacement(8, weight=0.1), hs.TruncatedPoisson(0.1, 100, 20), hs.CyclicPoisson(3, 0.1),
        hs.BallsInBins(7), allocated, uneven, shuffled, hs.MixtureGaussian((0.0, 1.0, 2.0), (0.5, 0.25, 0.25), 1.0),
    )  # fmt: skip
    for thing in (item, item.mechanism, item.sampling, fixed, *others, hs.NoSampling(), *hs.Adjacency, *hs.Direction,
                  hs.Parameter("steps", costs=True)):  # fmt: skip
        held.same("pickle", pickle.loads(pickle.dumps(thing)), thing)
        held.same("copies", (copy.copy(thing), copy.deepcopy(thing)), (thing, thing))
        held.same("hash", hash(copy.deepcopy(thing)), hash(thing))
        if not isinstance(thing, str):
            held.same(
                "repr",
                eval(repr(thing), {name: getattr(hs, name) for name in hs.__all__} | {"Fraction": Fraction}),
                thing,
            )
    users = hs.Plan([hs.Round(item.mechanism)], "replace-one", unit="user", records_per_unit=2)
    replaced = held.ask("users that are replaced", lambda: users.delta(0.5))
    held.law(replaced is None or item.mechanism.null_record, "an answer about users with other numbers of records")
    for adjacency in hs.Adjacency:
        for direction in adjacency.directions:
            held.law(adjacency.both == (adjacency.both[1].reverse, adjacency.both[0].reverse), f"both of {adjacency}")
            held.law(direction.reverse.reverse is direction, f"the reverse of {direction}, twice")
            held.law(direction.order.order is direction.order, f"the order of {direction}, twice")
            held.law(direction.zeroes == (direction.order is not direction), f"what {direction} zeroes")
            held.law(direction.keeps_places == direction.reverse.keeps_places, f"whether {direction} keeps places")
            held.law(hs.Adjacency.parse(adjacency.value) is adjacency, f"parse {adjacency}")
            sums(held, item.mechanism, direction)
            for scheme in (item.sampling, fixed, allocated, uneven, shuffled, hs.NoSampling()):
                claim = claimed_of(scheme.effective(direction), item.mechanism, direction)  # what a round claims
                held.law(
                    claimed(type(scheme), type(item.mechanism), direction).source,
                    "a claim of the class without a source",
                )
                held.law(scheme.effective(direction) in (scheme, hs.NoSampling()), "another scheme in its place")
                held.law(0 <= scheme.participations(item.count) <= item.count, "more participations than steps")
                held.law(scheme.steps_per_epoch is None or scheme.steps_per_epoch >= 1, "steps of an epoch")
                held.law(scheme.steps_per_round >= 1, "steps of a round")
                held.law(scheme.steps_of_pass is None or scheme.steps_of_pass >= 1, "steps of a pass")
                held.law(0 <= getattr(scheme, "dropped", 0) < records, "records that are dropped")
                ended = scheme.broken_off(1)
                held.law(ended is None or ended.steps_per_round == 1, "steps of an epoch that is broken off")
                made = held.ask("round", lambda scheme=scheme: hs.Round(item.mechanism, scheme), invalid=True)  # type: ignore[misc]
                held.law(claim.source and scheme.keys() is not None, f"a claim without a source: {claim}")
                held.law(scheme.dataset_records is None or scheme.dataset_records >= 1, "records")
                rate = getattr(scheme, "exact_rate", 1)
                held.law(0 < rate <= 1, f"rate {rate}")
                if made is not None and claim.status != "refused":
                    one = held.ask("of one record", lambda made=made, direction=direction: made.of_many(direction, 1))  # type: ignore[misc]
                    known = held.ask("known", lambda made=made, direction=direction: made.known(direction))  # type: ignore[misc]
                    held.same("of one record", one, known)
                    held.ask("of three records", lambda made=made, direction=direction: made.of_many(direction, 3))  # type: ignore[misc]
                    pair = held.ask("pair", lambda made=made, direction=direction: made.pair(direction))  # type: ignore[misc]
                    held.same("the pair above", None if known is None else known.above, pair)
                    held.law(known is None or type(known).__name__.lower() == SIDES[claim.status],
                             f"a side that the claim does not say: {known} of {claim}")  # fmt: skip
                    held.ask("curve", lambda made=made, direction=direction: made.curve(direction))  # type: ignore[misc]
                    held.ask("exact", lambda made=made, direction=direction: made.exact(direction))  # type: ignore[misc]


ANSWERS = ("Bound", "DeltaBound", "UpperBound", "Estimate", "DeltaUpperBound", "DeltaEstimate")


@case("value", *ANSWERS, *(f"{name}.{what}" for name in ANSWERS for what in ("ends", "quoted")), "Band",
      "Bound.gap", "Bound.relative_gap", "Band.quoted", "Band.gap", "Band.columns")  # fmt: skip
def answers(draw: Draw, held: Held) -> None:
    """Intervals: ends in order or refused; copies are equal; gaps are numbers."""
    ends = [draw.of(0.0, 5e-324, 0.5, 1.0, 1e308, math.inf, draw.epsilon()) for _ in range(3)]
    draw.note("ends", ends)
    made = held.ask("Bound", lambda: hs.Bound(ends[0], ends[1], ends[2]), invalid=True)
    held.same("a bound and the order of its ends", made is not None, sorted(ends) == ends)
    if made is not None:
        held.law(0 <= made.relative_gap <= 1 and made.gap >= 0, f"gaps of {made}: {made.gap}, {made.relative_gap}")
        held.same("float", float(made), made.quoted)
    held.law(held.ask("Bound of nan", lambda: hs.Bound(0.0, math.nan, 1.0), invalid=True) is None, "nan in a bound")
    low, mid, high = sorted(ends)
    band = hs.Band(np.array([low]), np.array([mid]), np.array([high]), draw.of("lower", "upper"))
    held.law(not np.isnan(band.gap).any() and band.quoted.shape == (1,) and len(band.columns()) == 3, f"{band}")
    for thing in (hs.Bound(low, mid, high), hs.DeltaBound(low, mid, high), hs.UpperBound(high, "rdp"),
                  hs.Estimate(mid, "gdp"), hs.DeltaUpperBound(high, "rdp"), hs.DeltaEstimate(mid, "gdp")):  # fmt: skip
        held.same("pickle", pickle.loads(pickle.dumps(thing)), thing)
        held.same("copies", (copy.copy(thing), copy.deepcopy(thing)), (thing, thing))
        held.law(thing.quoted in thing.ends.values(), f"quoted {thing}")


@case("value", "HockeystickError", "InvalidInputError", "UnsupportedError", "NotApplicableError", "UnreachableError",
      "BudgetError")  # fmt: skip
def errors(draw: Draw, held: Held) -> None:
    """Errors survive a pickle, as they have to where a pool of processes raises them."""
    for kind in (hs.HockeystickError, hs.InvalidInputError, hs.UnsupportedError, hs.NotApplicableError,
                 hs.UnreachableError, hs.BudgetError):  # fmt: skip
        one = kind(draw.note("text", draw.of("a line", "")))
        held.same("pickle", str(pickle.loads(pickle.dumps(one))), str(one))
    field = pickle.loads(pickle.dumps(hs.InvalidInputError("no", "key"))).field
    held.same("field", field, "key")
