"""Calibration: the target is met at the answer and missed just beside it, for any parameter, target and plan."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

import hockeystick as hs
from command import refused, run
from hockeystick import targets
from hockeystick.numerics import budget
from hockeystick.questions.calibration import TOLERANCE
from hockeystick.report.calibration import calibration_answer, calibration_json
from hockeystick.targets import Target

SGD = hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=1000)
GAUSS = hs.Plan([hs.Round(hs.Gaussian(1.0), count=4)])
LAPLACE = hs.Plan([hs.Round(hs.Laplace(3.0), count=10)])
BOXES = hs.Plan([hs.Round(hs.ApproximateDP(0.1, 1e-8), count=30)])


def check(plan: hs.Plan, parameter: str, target: Target, sharp: bool = True) -> hs.Calibration:
    """What has to hold of every calibration."""
    found = hs.calibrate(plan, parameter, target)
    assert target.met(found.achieved)
    assert target.met(target.measure(found.plan, None))
    assert found.beside is not None
    value, bound = found.beside
    assert not target.met(bound)
    if sharp:
        assert target.missed(bound)
    assert abs(value - found.value) <= 1.0001 * TOLERANCE * found.value
    return found


@settings(deadline=None, max_examples=15)
@given(st.floats(0.05, 20.0), st.floats(-12, -2), st.sampled_from([SGD, GAUSS, SGD + hs.Round(hs.Laplace(20.0))]))
def test_noise_meets_epsilon_and_less_noise_does_not(epsilon: float, log_delta: float, plan: hs.Plan) -> None:
    check(plan, "noise", targets.Epsilon(epsilon, 10**log_delta))


@pytest.mark.slow
@settings(deadline=None, max_examples=6)
@given(st.floats(0.3, 5.0), st.floats(-9, -4))
def test_noise_where_only_the_grid_applies(epsilon: float, log_delta: float) -> None:
    check(LAPLACE, "scale", targets.Epsilon(epsilon, 10**log_delta), sharp=False)
    check(BOXES, "epsilon", targets.Epsilon(epsilon, 10**log_delta + 1e-6), sharp=False)


@settings(deadline=None, max_examples=10)
@given(st.floats(0.01, 0.9))
def test_noise_to_an_advantage_is_that_of_the_closed_form(advantage: float) -> None:
    """One Gaussian of distance mu has the advantage 2 Phi(mu / 2) - 1."""
    found = check(hs.Plan([hs.Round(hs.Gaussian(1.0))]), "noise-multiplier", targets.Advantage(advantage))
    assert found.value == pytest.approx(1 / (2 * ndtri((1 + advantage) / 2)), rel=2e-6)


@pytest.mark.long
@settings(deadline=None, max_examples=6)
@given(st.floats(0.05, 4.0), st.floats(-3, -0.5), st.floats(0.1, 0.9))
def test_noise_to_error_rates_is_that_of_the_closed_form(mu: float, log_fpr: float, prior: float) -> None:
    """All of what one Gaussian of distance mu has gives 1 / mu back."""
    plan, fpr = hs.Plan([hs.Round(hs.Gaussian(1.0))]), 10**log_fpr
    tpr = float(ndtr(ndtri(fpr) + mu))
    for target in (targets.TruePositiveRate(tpr, fpr), targets.Reconstruction(tpr, fpr), targets.GaussianDP(mu)):
        found = hs.calibrate(plan, "noise-multiplier", target)
        assert target.met(found.achieved)
        assert found.value == pytest.approx(1 / mu, rel=1e-3)
        assert found.value >= (1 - 1e-9) / mu
    log_odds = abs(math.log(prior / (1 - prior)))
    delta = ndtr(-log_odds / mu + mu / 2) - math.exp(log_odds) * ndtr(-log_odds / mu - mu / 2)
    risk = min(prior, 1 - prior) * (1 - delta)
    if risk < min(prior, 1 - prior) * (1 - 1e-6):
        found = check(plan, "noise-multiplier", targets.BayesRisk(risk, prior))
        assert found.value == pytest.approx(1 / mu, rel=1e-4)


def test_delta_at_epsilon_is_the_same_question() -> None:
    one = check(SGD, "noise-multiplier", targets.Epsilon(1.0, 1e-6))
    other = check(SGD, "noise-multiplier", targets.Delta(1e-6, 1.0))
    assert one.value == pytest.approx(other.value, rel=3e-6)


@settings(deadline=None, max_examples=8)
@given(st.floats(0.5, 4.0), st.sampled_from(["steps", "sample-rate", "noise-multiplier"]))
def test_the_free_parameter_does_not_depend_on_where_the_plan_has_it(epsilon: float, name: str) -> None:
    target = targets.Epsilon(epsilon, 1e-6)
    values = [hs.calibrate(plan, name, target).value for plan in (SGD, hs.calibrate(SGD, name, target).plan)]
    assert values[0] == pytest.approx(values[1], rel=3e-6)


@settings(deadline=None, max_examples=8)
@given(st.floats(0.6, 5.0), st.floats(0.7, 3.0))
def test_whole_numbers_are_exact(epsilon: float, noise: float) -> None:
    """The largest count that meets the target: one more does not."""
    target = targets.Epsilon(epsilon, 1e-6)
    plan = hs.dp_sgd(noise, batch_size=200, dataset_size=20_000, epochs=3)
    for name in ("steps", "epochs", "batch-size"):
        found = hs.calibrate(plan, name, target)
        assert found.value == int(found.value)
        assert target.met(found.achieved)
        if found.beside is not None:
            assert found.beside[0] == found.value + 1
            assert target.missed(found.beside[1])


def test_a_function_may_make_the_plan() -> None:
    """Whatever depends on the parameter: here the steps do on the batch size."""

    def made(batch: float) -> hs.Plan:
        return hs.dp_sgd(1.0, batch_size=int(batch), dataset_size=20_000, epochs=5)

    target = targets.Epsilon(1.5, 1e-6)
    found = hs.calibrate(made, "batch-size", target)
    assert target.met(made(found.value).epsilon(1e-6))
    own = hs.Parameter("sigma", costs=False, least=0.1, most=100.0)
    value = hs.calibrate(lambda sigma: hs.dp_sgd(sigma, 0.01, 1000), own, targets.Epsilon(1.0, 1e-6)).value
    assert value == pytest.approx(hs.calibrate(SGD, "noise", targets.Epsilon(1.0, 1e-6)).value, rel=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("start", [1.0, 1e-3, 50.0])
def test_no_value_beyond_the_range_is_an_answer(start: float) -> None:
    """Noise of 0.7 is needed, and the range ends at 0.5: the search may not begin at 1, which meets the target."""
    own = hs.Parameter("sigma", costs=False, least=0.01, most=0.5, start=start)

    def made(sigma: float) -> hs.Plan:
        return hs.dp_sgd(sigma, 0.01, 10)

    target = targets.Advantage(made(0.7).delta(0.0).upper)
    with pytest.raises(hs.UnreachableError, match=r"at sigma = 0\.5"):
        hs.calibrate(made, own, target)


def test_the_end_of_the_range_is_an_answer() -> None:
    """A target that even the dearest value meets: that value, and nothing beside it."""
    found = hs.calibrate(hs.dp_sgd(100.0, 0.01, 2), "sample-rate", targets.Epsilon(5.0, 1e-6))
    assert (found.value, found.beside) == (1.0, None)


@pytest.mark.parametrize(
    ("plan", "name", "target"),
    [
        (SGD + hs.Round(hs.RandomizedResponse(2.0)), "noise", targets.Epsilon(1.0, 1e-6)),
        (SGD + hs.Round(hs.Gaussian(1.0)), "sample-rate", targets.Epsilon(1.0, 1e-6)),
        (BOXES, "epsilon", targets.Epsilon(1.0, 1e-8)),
    ],
)
def test_what_cannot_be_met_is_refused_with_the_nearest(plan: hs.Plan, name: str, target: Target) -> None:
    with pytest.raises(hs.UnreachableError, match=r"no .* meets epsilon 1; the nearest attainable epsilon is"):
        hs.calibrate(plan, name, target)


@pytest.mark.parametrize(
    ("plan", "name", "message"),
    [
        (SGD, "noize", "parameter must be one of"),
        (SGD, "scale", "no round of the plan has the key 'scale'"),
        (SGD + hs.Round(hs.Gaussian(3.0)), "noise-multiplier", "different values of noise_multiplier"),
        (SGD + hs.Round(hs.Gaussian(3.0)), "steps", "with 2 kinds of rounds; calibrate another"),
        (
            hs.Plan([hs.Round(hs.Gaussian(1.0))]),
            "epochs",
            "epochs needs a sampling scheme with batch_size and dataset_size",
        ),
        (BOXES, "noise", "no round with noise"),
    ],
)
def test_parameters_that_a_plan_does_not_have(plan: hs.Plan, name: str, message: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=message):
        hs.calibrate(plan, name, targets.Epsilon(1.0, 1e-6))


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (targets.Epsilon, (-1.0, 1e-6)),
        (targets.Epsilon, (1.0, 1.0)),
        (targets.Delta, (0.0, 1.0)),
        (targets.GaussianDP, (math.nan,)),
        (targets.TruePositiveRate, (0.01, 0.1)),
        (targets.BayesRisk, (0.4, 0.3)),
        (targets.Reconstruction, (0.1, 0.1)),
    ],
)
def test_targets_outside_their_domain(kind: type[Target], arguments: tuple[float, ...]) -> None:
    with pytest.raises(hs.InvalidInputError):
        kind(*arguments)


def test_the_command_prints_what_the_library_says(tmp_path: Path) -> None:
    SGD.save(tmp_path / "plan.toml")
    arguments = ("calibrate", "noise-multiplier", tmp_path / "plan.toml", "--epsilon", "1", "--delta", "1e-6")
    keys = json.loads(run(*arguments, "--json").stdout)
    found = hs.calibrate(SGD, "noise-multiplier", targets.Epsilon(1.0, 1e-6))
    assert keys["parameter"] == "noise-multiplier"
    assert keys["value"] == found.value
    assert keys["target"] == {"epsilon": 1.0, "delta": 1e-6}
    assert keys["achieved"] == dict(found.achieved.ends)
    assert run(*arguments).stdout.startswith("noise-multiplier = ")


@pytest.mark.parametrize(
    ("options", "key"),
    [
        (["--mu", "1"], "mu"),
        (["--advantage", "0.2"], "advantage"),
        (["--tpr", "0.1", "--fpr", "0.01"], "tpr"),
        (["--risk", "0.4"], "risk"),
        (["--success", "0.3", "--baseline", "0.1"], "success"),
    ],
)
def test_the_command_has_every_target(options: list[str], key: str) -> None:
    flags = ["--sample-rate", "0.01", "--steps", "5000"]
    keys = json.loads(run("calibrate", "noise-multiplier", *flags, *options, "--json").stdout)
    assert key in keys["target"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give exactly one target"),
        (["--mu", "1", "--advantage", "0.1"], "give exactly one target"),
        (["--tpr", "0.1"], "--fpr is missing"),
        (["--mu", "1", "--fpr", "0.1"], "--fpr cannot be combined with --mu"),
        (["--epsilon", "1"], "no delta"),
        (["--epsilon", "-1", "--delta", "1e-6"], "--epsilon must be"),
    ],
)
def test_the_command_refuses_in_one_line(options: list[str], message: str) -> None:
    result = run("calibrate", "steps", "--noise-multiplier", "1", "--sample-rate", "0.01", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@settings(deadline=None, max_examples=6)
@given(st.floats(1.0, 6.0), st.integers(0, 2000), st.floats(0.8, 2.0))
def test_remaining_steps_fit_and_one_more_does_not(epsilon: float, before: int, noise: float) -> None:
    accountant = hs.Accountant()
    accountant.step(noise_multiplier=1.0, sample_rate=0.01, count=before)
    settings_: dict[str, Any] = {"noise_multiplier": noise, "sample_rate": 0.02}
    more = accountant.remaining(**settings_, epsilon=epsilon, delta=1e-6)
    if accountant.epsilon(1e-6).upper > epsilon:
        assert more == 0
        return
    accountant.step(**settings_, count=more)
    assert accountant.epsilon(1e-6).upper <= epsilon
    accountant.step(**settings_)
    assert accountant.epsilon(1e-6).lower > epsilon


def test_a_search_that_is_out_of_work_ends_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer is the Renyi bound then, and a thousandth in the noise is next to nothing beside what that costs."""
    plan = hs.dp_sgd(1.1, sample_rate=0.01, steps=1100, adjacency="replace-one")
    target = targets.Epsilon(4.0, delta=1e-6)
    whole = hs.calibrate(plan, "noise-multiplier", target)
    monkeypatch.setattr(budget, "CALL", 4e6)  # units: one question takes more
    found = hs.calibrate(plan, "noise-multiplier", target)
    assert whole.limited is None
    assert found.limited is not None
    assert budget.USED_UP in found.limited
    assert found.beside is not None
    assert 0 < found.value / found.beside[0] - 1 < 1e-3
    assert found.value > whole.value
    assert target.met(found.achieved)
    assert ("limited", found.limited) in calibration_answer(found).lines


def test_a_whole_number_whose_neighbour_may_meet_the_target_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two are neighbours, and still the answer may not be the most: nothing but the upper end of one is known."""
    plan = hs.dp_sgd(1.1, sample_rate=0.01, steps=1000, adjacency="replace-one")
    target = targets.Epsilon(4.0, delta=1e-6)
    whole = hs.calibrate(plan, "steps", target)
    monkeypatch.setattr(budget, "CALL", 5e5)  # units: one question takes more
    found = hs.calibrate(plan, "steps", target)
    assert whole.limited is None
    assert whole.beside is not None
    assert target.missed(whole.beside[1])
    assert ("just beside", f"steps = {whole.beside[0]:.0f} does not meet it") in calibration_answer(whole).lines
    assert found.value < whole.value
    assert found.limited is not None
    assert found.beside is not None
    assert found.beside[0] == found.value + 1
    assert not target.missed(found.beside[1])
    lines = calibration_answer(found).lines
    assert ("just beside", f"steps = {found.beside[0]:.0f} could not be shown to meet it") in lines
    assert ("limited", found.limited) in lines


def test_a_batch_size_says_what_the_search_for_its_stair_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """The size next to the answer is on the next stair, which a search of its own has looked for."""
    plan = hs.dp_sgd(1.1, batch_size=600, dataset_size=60_000, epochs=10, adjacency="replace-one")
    target = targets.Epsilon(4.0, delta=1e-6)
    assert hs.calibrate(plan, "batch-size", target).limited is None
    monkeypatch.setattr(budget, "CALL", 3e6)
    assert hs.calibrate(plan, "batch-size", target).limited is not None


@pytest.mark.long
def test_epochs_stop_where_a_plan_can_have_no_more_steps() -> None:
    """10**12 steps are the most: with three an epoch, a third as many epochs."""
    plan = hs.dp_sgd(1e6, batch_size=87_802, dataset_size=179_000, epochs=10)
    found = hs.calibrate(plan, "epochs", targets.Delta(1e-3, epsilon=2.0))
    assert found.value == 10**12 // 3
    assert found.beside is None


@pytest.mark.parametrize(
    ("parameter", "flags", "named"),
    [
        (
            "noise-multiplier",
            ["--sigma", "2", "--sample-rate", "0.01", "--steps", "10"],
            "--noise-multiplier (--sigma)",
        ),
        ("sample-rate", ["--sigma", "2", "--sample-rate", "0.01", "--steps", "10"], "--sample-rate"),
        (
            "sample-rate",
            ["--sigma", "2", "--batch", "5", "--dataset-size", "9", "--steps", "10"],
            "--batch-size (--batch)",
        ),
        (
            "batch-size",
            ["--sigma", "2", "--sample-rate", "0.1", "--dataset-size", "9", "--steps", "9"],
            "--sample-rate",
        ),
        ("steps", ["--sigma", "2", "--sample-rate", "0.01", "--epochs", "10"], "--epochs"),
        ("epochs", ["--sigma", "2", "--sample-rate", "0.01", "--epochs", "10"], "--epochs"),
    ],
)
def test_a_flag_that_would_not_be_used_is_refused(parameter: str, flags: list[str], named: str) -> None:
    """Of a plan file the value is the start of the search; of a flag people expect that it counts."""
    said = refused("calibrate", parameter, *flags, "--epsilon", "1", "--delta", "1e-5")
    assert said == f"{named} would have no effect because {parameter} is calibrated; leave it out"


TWO = hs.dp_sgd(1.0, batch_size=600, dataset_size=60_000, epochs=100) + 5 * hs.Round(hs.Laplace(10.0))


def test_epochs_are_those_of_the_only_round_that_says_any() -> None:
    """The others stay as they are; the answer is that of a function which changes the one round."""
    target = targets.Epsilon(3.0, 1e-6)
    found = hs.calibrate(TWO, "epochs", target)

    def made(epochs: float) -> hs.Plan:
        return hs.dp_sgd(1.0, batch_size=600, dataset_size=60_000, epochs=int(epochs)) + 5 * hs.Round(hs.Laplace(10.0))

    assert found.plan == made(found.value)
    assert made(found.value).epsilon(1e-6).upper <= 3.0 < made(found.value + 1).epsilon(1e-6).lower
    assert hs.sweep(TWO, {"epochs": [20]}, delta=1e-6).rows[0]["steps"] == 2005


def test_a_count_that_is_nobody_s_names_what_can_be_changed() -> None:
    with pytest.raises(hs.InvalidInputError) as caught:
        hs.calibrate(TWO, "steps", targets.Epsilon(3.0, 1e-6))
    assert str(caught.value) == (
        "steps is ambiguous in a plan with 2 kinds of rounds; calibrate another parameter, or pass a function that "
        "makes the plan to calibrate in Python"
    )
    more = TWO + hs.dp_sgd(2.0, batch_size=600, dataset_size=60_000, epochs=3)
    with pytest.raises(hs.InvalidInputError, match="a plan with 2 kinds of rounds with epochs"):
        hs.calibrate(more, "epochs", targets.Epsilon(3.0, 1e-6))


@pytest.mark.parametrize(("name", "most"), [("noise", 100.0), ("noise-multiplier", 500.0)])
def test_a_search_ends_where_a_mechanism_does(name: str, most: float) -> None:
    """Discrete Gaussian noise is taken up to 500: beyond, a value that nobody gave was called out of its domain."""
    limited = hs.Plan([hs.Round(hs.DiscreteGaussian(5.0), count=100), hs.Round(hs.ApproximateDP(0.5, 0.0), count=1)])
    with pytest.raises(hs.UnreachableError, match=f"no {name} meets epsilon 0.3; the nearest .* at {name} = {most:g}"):
        hs.calibrate(limited, name, targets.Epsilon(0.3, 1e-6))
    met = hs.calibrate(limited, name, targets.Epsilon(0.7, 1e-6))
    assert met.value < most
    assert met.achieved.upper <= 0.7


def test_a_common_factor_comes_with_the_noises_that_it_makes() -> None:
    """Rounded up each, so that they can be used in place of the factor, and named beside the noise they replace."""
    plan = hs.Plan(
        [hs.Round(hs.Laplace(10.0), name="counts"), *(item for item in TWO.rounds if item.sampling.name == "poisson")]
    )
    found = hs.calibrate(plan, "noise", targets.Epsilon(1.0, 1e-6))
    (said,) = (text for label, text in calibration_answer(found).lines if label == "noises")
    first, second = said.split("; ")
    assert first.startswith("gaussian noise multiplier ")
    assert first.endswith(" for 1")
    assert second.startswith("laplace scale ")
    assert second.endswith(" for 10 (counts)")
    gaussian, laplace = (float(part.partition(" for ")[0].rsplit(" ", 1)[1]) for part in (first, second))
    assert found.value <= gaussian <= found.value * (1 + 1e-6)
    assert 10 * found.value <= laplace <= 10 * found.value * (1 + 1e-6)


def test_a_calibration_is_printed_in_a_line_and_formatted_on_its_safe_side() -> None:
    """A noise up and a rate down; of a parameter of one's own by the side on which the target is missed."""
    target = targets.Epsilon(1.0, 1e-6)
    noise = hs.calibrate(SGD, "noise-multiplier", target)
    assert str(noise) == f"noise-multiplier = {noise:.7g}, for epsilon = 1, delta = 1e-6: achieved {noise.achieved}"
    assert noise.value <= float(f"{noise:.3f}") < noise.value + 1e-3
    rate = hs.calibrate(SGD, "sample-rate", target)
    assert rate.value - 1e-5 < float(f"{rate:.5f}") <= rate.value
    own = hs.calibrate(lambda size: hs.dp_sgd(size, 0.01, 1000), hs.Parameter("width", costs=False), target)
    assert own.value <= float(f"{own:.3f}") < own.value + 1e-3
    assert str(own).startswith(f"width = {own:.7g}, for ")
    assert own._repr_html_().startswith("<table>")
    assert str(hs.calibrate(SGD, "steps", target)).startswith("steps = ")


def test_rounds_that_a_common_factor_leaves_as_they_are_are_named() -> None:
    """Coins and guarantees have no noise multiplier and no scale."""
    others = [hs.Round(hs.Binomial(200)), hs.Round(hs.Exponential(0.1)), hs.Round(hs.ApproximateDP(0.1, 1e-9))]
    target = hs.targets.Epsilon(5.0, delta=1e-6)
    found = hs.calibrate(hs.Plan([hs.Round(hs.Gaussian(2.0), count=5), *others]), "noise", target)
    assert ("unchanged", "approximate-dp, binomial, exponential: their noise is not scaled") in calibration_answer(
        found
    ).lines
    assert calibration_json(found)["as_they_are"] == ["approximate-dp", "binomial", "exponential"]
    alone = hs.calibrate(hs.Plan([hs.Round(hs.Gaussian(2.0)), hs.Round(hs.Laplace(3.0))]), "noise", target)
    assert "unchanged" not in dict(calibration_answer(alone).lines)
    assert calibration_json(alone)["as_they_are"] == []
