"""Privacy filters and the odometer: budgets that are never exceeded, by exact recomputation."""

from __future__ import annotations

import copy
import decimal
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import hockeystick as hs
from fuzz.draws import Draw
from fuzz.laws import Held
from fuzz.registry import case
from hockeystick import filters

EXACTLY = decimal.Context(prec=60, Emax=10**9, Emin=-(10**9))
KINDS = ("gaussian", "gaussian", "laplace", "randomized-response", "approximate-dp", "discrete-gaussian", "exponential")
MOST = {"discrete-gaussian": 100.0}  # noise of a sum whose sensitivity may be 3

Budget = filters.PrivacyFilter | filters.Odometer


def _exact(value: float) -> Fraction:
    """The number that a parameter prints as, which is how filters of rational budgets read it."""
    return Fraction(repr(float(value)))


def _rho(item: hs.Round) -> decimal.Decimal | None:
    """rho of one unsampled round under adding or removing a record."""
    mechanism = item.mechanism
    with decimal.localcontext(EXACTLY):
        if isinstance(mechanism, hs.Gaussian | hs.DiscreteGaussian):
            return 1 / (2 * _decimal(mechanism.noise_multiplier) ** 2)
        if isinstance(mechanism, hs.ZCDP):
            return _decimal(mechanism.rho)
        if isinstance(mechanism, hs.Exponential):
            return _decimal(mechanism.epsilon) ** 2 / 8
        if isinstance(mechanism, hs.Laplace):
            theta = 1 / _decimal(mechanism.scale)
            return theta - 1 + (-theta).exp()
        if isinstance(mechanism, hs.RandomizedResponse | hs.ApproximateDP):
            epsilon = _decimal(mechanism.epsilon)
            return epsilon * (1 - (-epsilon).exp()) / (1 + (-epsilon).exp())
    return None


def _loss(item: hs.Round) -> decimal.Decimal | None:
    """Largest finite loss of one such round; none of Gaussian noise, nor of what only its moments are known of."""
    mechanism = item.mechanism
    with decimal.localcontext(EXACTLY):
        if isinstance(mechanism, hs.Laplace):
            return 1 / _decimal(mechanism.scale)
        unbounded = isinstance(mechanism, hs.Gaussian | hs.DiscreteGaussian | hs.ZCDP)
        return None if unbounded else _decimal(mechanism.epsilon)  # type: ignore[attr-defined]


def _decimal(value: float) -> decimal.Decimal:
    """The number that a parameter prints as, in sixty digits."""
    return decimal.Decimal(repr(float(value)))


def _pure(draw: Draw, adjacency: str) -> Budget:
    return filters.PureDpFilter(epsilon=draw.note("epsilon", draw.epsilon()), adjacency=adjacency)


def _zcdp(draw: Draw, adjacency: str) -> Budget:
    if draw.chance(0.3):
        epsilon, delta = draw.note("epsilon", draw.epsilon()), draw.note("delta", draw.delta())
        return filters.ZcdpFilter.reaching(epsilon=epsilon, delta=delta, adjacency=adjacency)
    return filters.ZcdpFilter(budget=draw.note("budget", draw.noise()), adjacency=adjacency)


def _gdp(draw: Draw, adjacency: str) -> Budget:
    if draw.chance(0.3):
        epsilon, delta = draw.note("epsilon", draw.epsilon()), draw.note("delta", draw.delta())
        return filters.GdpFilter.reaching(epsilon=epsilon, delta=delta, adjacency=adjacency)
    return filters.GdpFilter(budget=draw.note("budget", draw.noise()), adjacency=adjacency)


def _rdp(draw: Draw, adjacency: str) -> Budget:
    if draw.chance(0.5):
        epsilon, delta = draw.note("epsilon", draw.epsilon()), draw.note("delta", draw.delta())
        return filters.RdpFilter.reaching(epsilon=epsilon, delta=delta, adjacency=adjacency)
    order = draw.note("order", draw.edge((1 + 2**-52, 1 + 1e-9, 2.0, 1e6, 1e300), 1.001, 1e4))
    return filters.RdpFilter(order=order, budget=draw.note("budget", draw.noise()), adjacency=adjacency)


def _approximate(draw: Draw, adjacency: str) -> Budget:
    epsilon, delta = draw.note("epsilon", draw.epsilon()), draw.note("delta", draw.delta())
    slack = draw.note("slack", None if draw.chance(0.6) else delta * draw.of(1.0, 0.5, 1e-3))
    return filters.ApproximateDpFilter(epsilon=epsilon, delta=delta, slack=slack, adjacency=adjacency)


def _currency(draw: Draw, adjacency: str) -> Budget:
    noise, sampling = draw.note("noise", draw.of(1.0, 2.0, 10.0)), draw.note("rate", draw.of(None, 0.01))
    reference = hs.Round(hs.Gaussian(noise), hs.NoSampling() if sampling is None else hs.Poisson(sampling))
    if draw.chance(0.5):
        epsilon, delta = draw.note("epsilon", draw.of(0.5, 2.0)), draw.note("delta", draw.of(1e-9, 1e-6))
        return filters.CurrencyFilter.reaching(reference, epsilon, delta, adjacency=adjacency)
    rounds = draw.note("rounds of the reference", draw.of(1, 30, 500))
    return filters.CurrencyFilter(reference, rounds, draw.note("slack", draw.of(1e-12, 1e-8, 1e-5)), adjacency)


def _odometer(draw: Draw, adjacency: str) -> Budget:
    expected, delta = draw.note("expected", draw.epsilon()), draw.note("delta", draw.delta())
    return filters.Odometer(delta=delta, expected=expected, adjacency=adjacency)


MAKERS: dict[str, Callable[[Draw, str], Budget]] = {
    "PureDpFilter": _pure, "ZcdpFilter": _zcdp, "GdpFilter": _gdp, "RdpFilter": _rdp,
    "ApproximateDpFilter": _approximate, "CurrencyFilter": _currency, "Odometer": _odometer,
}  # fmt: skip
ASKED = ("allows", "spend", "history", "said", "price", "costs", "fits", "more_of")
OF_A_FILTER = ("budget_epsilon",)
METHODS = {
    "PrivacyFilter": (*ASKED, *OF_A_FILTER, "budget", "spent", "spent_of", "remaining", "remaining_of"),
    "PureDpFilter": (*ASKED, *OF_A_FILTER),
    "ZcdpFilter": (*ASKED, *OF_A_FILTER, "reaching"),
    "GdpFilter": (*ASKED, *OF_A_FILTER, "reaching"),
    "RdpFilter": (*ASKED, *OF_A_FILTER, "reaching"),
    "ApproximateDpFilter": (*ASKED, *OF_A_FILTER, "budget", "spent_of", "remaining_of", "spent_delta", "budget_delta"),
    "CurrencyFilter": (*ASKED, *OF_A_FILTER, "spent_slack", "reaching"),
    "Odometer": (*ASKED, "spent", "epsilon", "spent_delta", "budget_delta"),
}
COVERED = tuple(f"filters.{name}.{method}" for name, methods in METHODS.items() for method in methods)


@case("filter", "filters.PrivacyFilter", *(f"filters.{name}" for name in MAKERS), *COVERED)
def spend(draw: Draw, held: Held) -> None:
    """Rounds chosen to come near to the budget: what was allowed stays within it, what was refused leaves no trace."""
    name = draw.note("filter", draw.of(*MAKERS))
    adjacency = draw.note("adjacency", draw.of("add-or-remove", "add", "remove"))
    made = held.ask(name, lambda: MAKERS[name](draw, adjacency), invalid=True)
    if made is None:
        return
    rounds = draw.note("rounds", [_round(draw, made) for _ in range(draw.random.randint(1, 6))])
    for table in rounds:
        item = hs.Plan.from_dict({"round": [table]}).rounds[0]
        before, said = made.history, made.said()
        allowed = held.ask("allows", partial(made.allows, item))
        if allowed is None:
            continue
        _priced(held, made, item, allowed)
        spent = held.do("spend", partial(made.spend, item))
        held.same("allows and spend", allowed, spent)
        if not spent:
            held.same("history after a refusal", (made.history, made.said()), (before, said))
        else:
            held.same("history", made.history, (*before, item))
        held.law("nan" not in made.said(), made.said())
        twin = draw.of(pickle.loads(pickle.dumps(made)), copy.deepcopy(made), copy.copy(made))
        held.same("a copy", (twin.history, twin.said()), (made.history, made.said()))
    _within(draw, held, made)


def _priced(held: Held, made: Budget, item: hs.Round, allowed: bool) -> None:
    """A price is never negative, and whoever allows a round allows as many as it says."""
    nothing = (Fraction(0),) * len(made.limits)
    for direction in made.adjacency.directions:
        price = held.ask("price", partial(made.price, item, direction, nothing))
        costs = held.ask("costs", partial(made.costs, item, direction))
        held.law(price is not None and min(price) >= 0 and costs is not None and min(costs) >= 0, f"price {price}")
    held.law(made.fits(nothing), "nothing does not fit")
    if not isinstance(made, filters.CurrencyFilter):
        more = held.ask("more_of", partial(made.more_of, item))
        held.law(more is not None and (item.count <= more) is allowed, f"{item.count} of {more} more, {allowed}")


def _round(draw: Draw, made: Budget) -> dict[str, object]:
    """A round whose count is near to what the budget has room for, as often as not."""
    if not isinstance(made, filters.CurrencyFilter) and draw.chance(0.1):
        return {"mechanism": "zcdp", "rho": draw.edge((1e-13, 0.5, 1e4), 1e-9, 10.0), "count": draw.count()}
    kind = draw.of(*KINDS)
    table = draw.round(isinstance(made, filters.RdpFilter) and kind != "exponential" and draw.chance(0.5), kind)
    budget = draw.said.get("budget", draw.said.get("epsilon", 1.0))
    if draw.chance(0.5):
        count = draw.of(1, 3, 10, 1000)
        table["count"] = count
        table.pop("epochs", None)
        share = math.sqrt(budget / count) if isinstance(made, filters.ZcdpFilter) else budget / math.sqrt(count)
        key = next(key for key in ("noise_multiplier", "scale", "epsilon") if key in table)
        wanted = share if key == "epsilon" else 1 / share if share > 0 else 1.0
        wanted *= draw.of(1.0, 0.5, 2.0, 1 + 2**-52, 0.7071067811865476)
        table[key] = min(max(wanted, 0.01), MOST.get(kind, 100.0 if key == "epsilon" else 1e6))
    return table


def _fails(item: hs.Round, direction: hs.Direction) -> bool:
    """True if a loss may be infinite; what stands in for the far tail of discrete noise is no such loss."""
    if item.mechanism.name == "zcdp":  # it has no pair
        return False
    pair = item.pair(direction)
    return pair.infinite_mass > 0 and not pair.stands_in


def _within(draw: Draw, held: Held, made: Budget) -> None:
    history = made.history
    if isinstance(made, filters.ZcdpFilter | filters.GdpFilter):
        costs = [_rho(item) for item in history if item.count]
        with decimal.localcontext(EXACTLY):
            total = sum((item.count * (_rho(item) or 0) for item in history), decimal.Decimal(0))
            # a budget that reaches (epsilon, delta) is found by the filter, and printed in its currency
            most = _decimal(made.budget) / (1 if isinstance(made, filters.ZcdpFilter) else 2)
            if None not in costs and not any(isinstance(item.mechanism, hs.ApproximateDP) for item in history):
                held.law(total <= most, f"rho spent exceeds the budget by {total / most - 1:.1e} of it")
    if isinstance(made, filters.RdpFilter):
        directions = hs.Adjacency.parse(draw.said["adjacency"]).directions
        failing = [item for item in history if any(_fails(item, direction) for direction in directions)]
        held.law(not failing, f"a Renyi divergence of {failing}")
        gaussian = [
            item for item in history if isinstance(item.mechanism, hs.Gaussian) and item.sampling.name == "none"
        ]
        with decimal.localcontext(EXACTLY):
            total = sum((item.count * (_rho(item) or 0) for item in gaussian), decimal.Decimal(0)) * _decimal(
                made.order
            )
            held.law(total <= _decimal(made.budget), f"order {made.order}: {float(total)!r} exceeds {made.budget!r}")
    if isinstance(made, filters.ApproximateDpFilter | filters.Odometer):
        _approximate_budget(draw, held, made)
    delta = draw.said.get("delta", 1e-6)
    if isinstance(made, filters.Odometer):
        promised = held.ask("epsilon", lambda: made.epsilon(delta))
    else:
        held.law(0 <= made.spent <= made.budget, f"{made.currency}: spent {made.spent!r} of {made.budget!r}")
        held.law(
            0 <= made.remaining <= made.budget, f"{made.currency}: remaining {made.remaining!r} of {made.budget!r}"
        )
        promised = held.ask("budget_epsilon", lambda: made.budget_epsilon(delta))
    if promised is None:
        return
    held.law(promised >= 0, f"epsilon at {delta}: {promised}")
    if "epsilon" in draw.said and "delta" in draw.said:
        held.at_most("budget_epsilon of what reaches epsilon", promised, draw.said["epsilon"])
    plan = hs.Plan(history, draw.said["adjacency"])
    found = held.ask("epsilon of the history", lambda: plan.epsilon(delta))
    if found is not None and not isinstance(found, hs.UpperBound):  # of guarantees there is no lower end
        held.at_most(f"epsilon of the history, which {made.name} allowed", found.lower, promised)


def _approximate_budget(draw: Draw, held: Held, made: filters.ApproximateDpFilter | filters.Odometer) -> None:
    """Deltas within delta - slack, and the sum of losses or of rhos within epsilon, in sixty digits.

    An odometer says no less than the sum of the losses, or than ``R + 2 sqrt(R log(1/slack))``, below which no line is.
    """
    run = [item for item in made.history if item.count]
    rhos, losses = [_rho(item) for item in run], [_loss(item) for item in run]
    if None in rhos:
        held.law(False, f"a round without a rho was allowed: {made.history}")
        return
    given = draw.said["delta"]
    slack = draw.said.get("slack")
    slack = 0.5 * given if slack is None else slack
    failing = [item for item in run if isinstance(item.mechanism, hs.ApproximateDP)]
    deltas = sum((item.count * _exact(item.mechanism.delta) for item in failing), Fraction(0))  # type: ignore[attr-defined]
    held.law(deltas <= _exact(given), f"delta spent is {float(deltas)!r} of {given!r}")
    with decimal.localcontext(EXACTLY):
        rho = decimal.Decimal(sum(item.count * (cost or 0) for item, cost in zip(run, rhos, strict=True)))
        loss = decimal.Decimal(sum(item.count * (cost or 0) for item, cost in zip(run, losses, strict=True)))
        if isinstance(made, filters.Odometer):
            line = rho + 2 * (rho * -_decimal(slack).ln()).sqrt()
            least = line if None in losses else min(loss, line)
            held.law(_decimal(made.spent) >= least, f"odometer: {made.spent!r} is below {float(least)!r}")
            return
        most = _decimal(draw.said["epsilon"])  # budgets are the decimals that they are written as
        basic = None not in losses and loss <= most
        held.law(basic or _implies(rho, most, _decimal(min(slack, given))), f"rho {float(rho)!r} and losses "
                 f"{float(loss)!r} were allowed for {draw.said['epsilon']!r} at {slack!r}")  # fmt: skip


def _implies(rho: decimal.Decimal, epsilon: decimal.Decimal, slack: decimal.Decimal) -> bool:
    """True if ``t (1 + t) rho - t eps + t log t - (1 + t) log(1 + t) <= log slack`` for some t."""

    def log_delta(t: decimal.Decimal) -> decimal.Decimal:
        return t * (1 + t) * rho - t * epsilon + t * t.ln() - (1 + t) * (1 + t).ln()

    low, high = decimal.Decimal("1e-12"), decimal.Decimal("1e12")
    for _ in range(200):  # it is convex in t
        left, right = low * (high / low) ** (decimal.Decimal(1) / 3), low * (high / low) ** (decimal.Decimal(2) / 3)
        low, high = (low, right) if log_delta(left) < log_delta(right) else (left, high)
    return log_delta(low) <= slack.ln() + abs(slack.ln()) * decimal.Decimal("1e-12")
