"""A hundred-odd of the random calls of ``make fuzz``: laws that hold whatever the true value is."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType

import click
import numpy as np
import pytest
from fuzz import registry, run
from fuzz.cases import plans
from fuzz.draws import DELTAS, NEAR_ONE, Draw
from fuzz.laws import Held

import hockeystick as hs
from hockeystick.cli import main
from hockeystick.plan.users import GroupProfile
from hockeystick.values.bounds import Answer

SEED = 20261122

MODERATE = 10
"""Moderate plans that are asked here; the whole run draws thousands."""

CHEAP = {
    "accountant.delta": (0, 2), "at-once.deltas": (1, 5), "at-once.epsilons": (1, 2, 3),
    "calibration.calibrate": (2, 5), "calibration.of_a_function": (4, 5), "command.audit": (1, 3),
    "command.compare": (2,), "command.document": (1,), "command.plot": (2, 3), "command.sampling": (0, 3),
    "edge.delta": (2, 3, 4), "edge.epsilon": (0, 3), "group.delta": (0, 5), "group.epsilon": (0, 4),
    "group.tpr": (0, 2), "many.accountants": (0,), "many.answers": (3, 4), "odometer.accountant": (1, 5),
    "picture.figures": (1, 3), "picture.side_by_side": (3, 5), "profile.advantage": (0, 2),
    "profile.bayes_risk": (1, 2), "profile.delta": (0, 4), "profile.epsilon": (0, 2), "profile.gdp": (4, 5),
    "profile.tpr": (0, 4), "profile.trade_off": (0, 2), "selection.best": (1, 5),
}  # fmt: skip
"""Numbers of the cases that are run here of a name, where the first two take more than half a second."""

PATIENCE = 4.0
"""Times what a call may take in ``make fuzz``: here other tests run beside it, whose threads cost processor time."""

ONCE_BROKEN = [(1, 249), (5, 98), (11, 82), (5, 122), (5, 231)]
"""Seed and index of moderate plans that once raised, warned or took too long."""


@pytest.mark.parametrize("index", range(MODERATE))
def test_laws_hold_for_a_random_plan(index: int) -> None:
    """Ends in order, finite, at or below the Renyi bound, no contradiction, monotone. The case is in the message."""
    case = plans.drawn(SEED, index)
    assert not list(plans.problems(case, patience=PATIENCE)), case


@pytest.mark.share(5)
@pytest.mark.parametrize(("seed", "index"), ONCE_BROKEN)
def test_laws_hold_where_they_once_did_not(seed: int, index: int) -> None:
    """An empty window, a tilt too steep for its cells, a transform that is all rounding, an infinite lower end."""
    case = plans.drawn(seed, index)
    assert not list(plans.problems(case, patience=PATIENCE)), case


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("name", "index"), [(name, index) for name in registry.declared() for index in CHEAP.get(name, (0, 1))]
)
def test_laws_hold_for_a_random_call(name: str, index: int) -> None:
    """Of every case a few: what was drawn is in the message."""
    result = run.held(registry.declared()[name], SEED, index, PATIENCE)
    assert not result.wrong, result.said
    assert not result.late, result.said


def test_numbers_of_cases_are_those_of_cases() -> None:
    """No case has gone that is listed."""
    assert set(CHEAP) <= set(registry.declared())


DESCRIPTORS = (property, cached_property, classmethod, staticmethod)


def public_names() -> Iterator[str]:
    """Every public callable and property: of the package, its public modules, what a profile gives, the command."""
    for name in hs.__all__:
        thing = getattr(hs, name)
        if isinstance(thing, ModuleType):
            yield from (f"{name}.{each}" for each in _of_module(thing))
        elif name != "__version__":
            yield from _with_methods(name, thing)
    yield "integrations.history.plan_from_history"
    yield from _with_methods("GroupProfile", GroupProfile)
    yield from _commands("cli", main)


def _of_module(module: ModuleType) -> Iterator[str]:
    own = [name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
    for name in getattr(module, "__all__", own):
        if not name.startswith("_") and callable(getattr(module, name)):
            yield from _with_methods(name, getattr(module, name))


def _with_methods(name: str, thing: object) -> Iterator[str]:
    """A name and, of a class, its public methods and properties; those of a public base are drawn there."""
    yield name
    if inspect.isclass(thing):
        public = [getattr(module, each) for module in (hs, hs.filters, hs.targets) for each in module.__all__]
        own = [base for base in thing.__mro__ if base is thing or base not in public]
        for base in own:
            for attribute, found in vars(base).items():
                drawn = inspect.isfunction(found) or isinstance(found, DESCRIPTORS)
                if drawn and base.__module__.startswith("hockeystick") and not attribute.startswith("_"):
                    yield f"{name}.{attribute}"


def _commands(name: str, command: click.Command) -> Iterator[str]:
    if isinstance(command, click.Group):
        for key, inner in command.commands.items():
            yield from _commands(f"{name}.{key}", inner)
    else:
        yield name


def test_every_public_callable_is_drawn_by_a_case() -> None:
    """What is added to the public names needs a case; what is taken away leaves none behind."""
    covered = {name for entry in registry.declared().values() for name in entry.covers}
    public = set(public_names())
    assert not sorted(public - covered), "no case draws these: MAKERS in fuzz/cases/mechanisms.py, PARTS in values.py"
    assert not sorted(covered - public), "these are no public names"


def test_every_kind_and_every_case_is_drawn() -> None:
    """A run of a few thousand cases has each of them, and the same ones again."""
    drawn = [registry.chosen(SEED, index).name for index in range(3000)]
    assert set(drawn) == set(registry.declared())
    assert drawn == [registry.chosen(SEED, index).name for index in range(3000)]
    assert {registry.chosen(SEED, index, ["group", "plan.moderate_laws"]).kind for index in range(50)} == {
        "group",
        "plan",
    }


def test_moderate_plans_cover_the_domain() -> None:
    """Extremes of every parameter, every mechanism, mixtures, both questions."""
    cases = [plans.drawn(SEED, index) for index in range(300)]
    rounds = [item for case in cases for item in case.plan["round"]]
    assert {item["mechanism"] for item in rounds} == {"gaussian", "laplace", "randomized-response", "approximate-dp"}
    noises = [item["noise_multiplier"] for item in rounds if "noise_multiplier" in item]
    rates = [item["sample_rate"] for item in rounds if "sample_rate" in item]
    counts = [item["count"] for item in rounds]
    assert min(noises) < 0.04
    assert max(noises) > 5e3
    assert min(rates) < 1e-8
    assert max(rates) > 0.5
    assert min(counts) < 3
    assert max(counts) > 3e8
    assert any(len(case.plan["round"]) == 4 for case in cases)
    assert {case.quantity for case in cases} == {"epsilon", "delta"}


def test_extreme_plans_reach_the_ends_of_the_domain() -> None:
    """The ends themselves are drawn: rates of 1e-10 and next to 1, noise of 0.01 and 1e6, 10^12 rounds."""
    draws = [Draw(f"{SEED}:{index}") for index in range(2000)]
    rounds = [item for draw in draws for item in draw.table()["round"]]
    for key, ends in {
        "noise_multiplier": (0.01, 1e6), "scale": (0.01, 1e6), "sample_rate": (1e-10, NEAR_ONE, 1.0),
        "count": (0, 10**12), "epsilon": (0.0, 1e-6, 100.0), "delta": (0.0, 1e-100, 1 - 2.0**-53), "batch_size": (1,),
        "replace_one_distance": (1,),
    }.items():  # fmt: skip
        values = {item[key] for item in rounds if key in item}
        assert values.issuperset(ends), key
    assert {draw.delta() for draw in draws}.issuperset(DELTAS)
    assert {0.0, 1e4} <= {draw.epsilon() for draw in draws}
    assert {1, 10**12} <= {draw.size() for draw in draws}


def test_a_law_that_does_not_hold_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks can fail: an accountant that understates is found out."""
    case = plans.Case({"round": [{"mechanism": "gaussian", "noise_multiplier": 1.0, "count": 3}]}, "epsilon", 1e-5)
    assert not list(plans.problems(case))
    honest = plans.Case.ask

    def understated(self: plans.Case, accountant: str = "auto") -> Answer:
        return hs.Bound(1.0, 1.0, 1.0) if accountant == "auto" else honest(self, accountant)

    monkeypatch.setattr(plans.Case, "ask", understated)
    assert any("contradiction" in problem for problem in plans.problems(case))


def _raised(error: Exception) -> Held:
    def call() -> None:
        raise error

    held = Held()
    assert held.ask("call", call) is None
    return held


def test_a_call_may_refuse_and_may_not_fail() -> None:
    """Raw exceptions and warnings do not hold; refusals do, unless they call a value of the domain invalid."""
    assert "ZeroDivisionError" in _raised(ZeroDivisionError("no")).wrong[0]
    assert "RuntimeWarning" in _raised(RuntimeWarning("no")).wrong[0]
    assert not _raised(hs.UnsupportedError("no pair is proven")).wrong
    assert "in its domain" in _raised(hs.InvalidInputError("no")).wrong[0]
    assert "not one line" in _raised(hs.UnsupportedError("two\nlines")).wrong[0]
    assert "characters" in _raised(hs.UnsupportedError("x" * 1000)).wrong[0]
    held = Held()
    held.ask("overflow", lambda: np.array([1e308]) * 10)
    assert "RuntimeWarning" in held.wrong[0]


def test_a_call_that_takes_too_long_is_given_up() -> None:
    """By processor time: sleeping costs none, computing does, and an ``except Exception`` does not hold it up."""
    held = Held()

    def stubborn() -> None:
        total = 0.0
        while True:
            try:
                total += math.sin(total)
            except Exception:  # noqa: S112  # what a library might do
                continue

    assert held.ask("for ever", stubborn, seconds=0.05) is None
    assert len(held.wrong) == 1
    assert "for ever: given up after 0 s" in held.wrong[0]


def test_answers_out_of_order_are_reported() -> None:
    """Each law sees its own fault."""
    held = Held()
    held.answer("fine", hs.Bound(0.0, 0.5, 1.0), 1.0)
    held.band("fine", hs.Band(np.zeros(2), np.zeros(2), np.ones(2), "upper"), 1.0)
    held.falling("fine", hs.Band(np.array([0.5, 0.1]), np.array([0.6, 0.1]), np.array([0.7, 0.6]), "upper"))
    held.meet("fine", hs.Bound(0.0, 0.5, 1.0), hs.UpperBound(0.5, "rdp"))
    assert not held.wrong
    held.answer("infinite", hs.Bound(0.0, 0.5, math.inf))
    held.answer("above", hs.Bound(0.0, 0.5, 2.0), 1.0)
    held.answer("not a number", hs.Estimate(math.nan, "gdp"))
    held.band("out of order", hs.Band(np.ones(1), np.ones(1), np.zeros(1), "upper"))
    held.falling("rises", hs.Band(np.array([0.1, 0.8]), np.array([0.6, 0.9]), np.array([0.7, 0.9]), "upper"))
    held.meet("apart", hs.Bound(0.6, 0.7, 1.0), hs.UpperBound(0.5, "rdp"))
    assert [line.split(":")[0] for line in held.wrong] == [
        "infinite", "above", "not a number", "out of order", "rises", "apart"
    ]  # fmt: skip


def test_a_case_runs_in_a_process_of_its_own() -> None:
    """What is found there comes back, an exception of the case itself too."""
    broken = registry.Entry("test", "test.broken", lambda draw, held: held.law(draw.note("x", 1) > 1, "no"), ())
    assert run.run(broken, 1, 1) == run.Result(["no"], said="{'x': 1}")
    raising = registry.Entry("test", "test.raising", lambda draw, held: [][1], ())
    assert "IndexError" in run.run(raising, 1, 1).wrong[0]


def test_a_run_goes_on_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The state is kept after every case."""
    monkeypatch.chdir(tmp_path)
    asked: list[tuple[str, int]] = []

    def answered(entry: registry.Entry, seed: int, index: int) -> run.Result:
        asked.append((entry.name, index))
        return run.Result(["wrong"] if len(asked) == 2 else [], seconds=0.1)

    monkeypatch.setattr(run, "run", answered)
    assert run.main(["3", "9"]) == 1
    assert run.main(["5", "9"]) == 1
    assert asked == [(registry.chosen(9, index).name, index) for index in range(5)]
    assert "5 cases, 1 failed" in capsys.readouterr().out
    assert run.main(["5", "9", "--only", "3"]) == 0
    assert asked[-1] == (registry.chosen(9, 3).name, 3)


def test_a_time_is_a_finding_where_it_is_seen_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = registry.declared()[next(iter(registry.declared()))]
    slow, quick = run.Result([], ("epsilon: took 6.0 s",), 6.0, "epsilon"), run.Result([], (), 4.0, "epsilon")
    for answers, wrong in (([slow, quick], 0), ([slow, slow], 1), ([quick], 0)):
        left = iter(answers)
        monkeypatch.setattr(run, "_once", lambda *_, left=left: next(left))
        assert len(run.run(entry, SEED, 0).wrong) == wrong
        assert next(left, None) is None


def test_what_is_wrong_in_either_run_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = registry.declared()[next(iter(registry.declared()))]
    left = iter([run.Result(["one"], ("took",), 6.0), run.Result(["two"], (), 4.0)])
    monkeypatch.setattr(run, "_once", lambda *_: next(left))
    assert run.run(entry, SEED, 0).wrong == ["one", "two"]
