"""Opacus, really training: what its engines are told is what the steps cost."""

from __future__ import annotations

import io
import itertools
import math
import subprocess
import sys
from typing import Any

import opacus
import pytest
import torch
from opacus.accountants import GaussianAccountant, PRVAccountant, RDPAccountant, create_accountant
from opacus.accountants.utils import get_noise_multiplier
from opacus.schedulers import ExponentialNoise
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import hockeystick as hs
from hockeystick.calibration import TOLERANCE
from hockeystick.integrations.history import plan_from_history
from hockeystick.integrations.noise import least_noise_multiplier
from hockeystick.integrations.opacus import HockeystickAccountant, PrivacyEngine

BATCHES = 75
DELTA = 1e-5

torch.set_num_threads(1)  # the tensors are tiny


def parts(batches: int = BATCHES) -> dict[str, Any]:
    """A model, an optimiser and a loader of that many batches."""
    torch.manual_seed(1)
    features = torch.randn(4 * batches, 6)
    loader = DataLoader(TensorDataset(features, (features.sum(dim=1) > 0).long()), batch_size=4)
    module = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    return {"module": module, "optimizer": optimizer, "data_loader": loader, "max_grad_norm": 1.0}


def train(module: Any, optimizer: Any, loader: Any, steps: int | None = None) -> int:
    """One pass over the loader, or as many steps; how many were made."""
    made = 0
    for features, labels in itertools.islice(loader, steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(features), labels).backward()
        optimizer.step()
        made += 1
    return made


@pytest.fixture(params=[opacus.PrivacyEngine, PrivacyEngine], ids=["their engine", "our engine"])
def engine(request: pytest.FixtureRequest) -> Any:
    return request.param(accountant="hockeystick")


def test_importing_registers_it_and_changes_nothing_else() -> None:
    assert isinstance(create_accountant("hockeystick"), HockeystickAccountant)
    for name, kind in (("rdp", RDPAccountant), ("prv", PRVAccountant), ("gdp", GaussianAccountant)):
        assert type(create_accountant(name)) is kind
    code = (
        "import opacus, opacus.accountants.utils as u, opacus.privacy_engine as e\n"
        "modules = [opacus, u, e, e.PrivacyEngine, opacus.accountants.IAccountant]\n"
        "before = [dict(vars(m)) for m in modules]\n"
        "import hockeystick.integrations.opacus\n"
        "assert before == [dict(vars(m)) for m in modules]\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_training_counts_the_steps_and_gives_the_epsilon_of_their_plan(engine: Any) -> None:
    module, optimizer, loader = engine.make_private(**parts(), noise_multiplier=1.1)
    made = train(module, optimizer, loader)
    assert made == BATCHES
    assert len(engine.accountant) == made
    assert engine.accountant.history == [(1.1, 1 / BATCHES, made)]
    plan = hs.dp_sgd(noise_multiplier=1.1, sample_rate=1 / BATCHES, steps=made)
    assert engine.accountant.plan == plan
    assert engine.get_epsilon(DELTA) == plan.epsilon(DELTA).upper
    assert engine.accountant.bound(DELTA).ends == plan.epsilon(DELTA).ends


def test_beside_their_accountants_on_the_same_history() -> None:
    """RDP and PRV are upper bounds; the Gaussian approximation falls below the certified lower end."""
    ours, rdp, prv, gdp = HockeystickAccountant(), RDPAccountant(), PRVAccountant(), GaussianAccountant()
    for accountant in (ours, rdp, prv, gdp):
        accountant.history = [(1.0, 0.01, 1000)]
    bound = ours.bound(DELTA)
    assert bound.relative_gap < 1e-6
    assert ours.get_epsilon(DELTA) == bound.upper
    assert bound.upper < rdp.get_epsilon(DELTA)
    assert bound.upper < prv.get_epsilon(DELTA) < bound.upper + 0.02
    assert gdp.get_epsilon(DELTA) < 0.9 * bound.lower
    shown = [f"{accountant.get_epsilon(DELTA):.3f}" for accountant in (prv, rdp, gdp)]
    assert (f"{bound.estimate:.4f}", *shown) == ("1.8282", "1.838", "2.101", "1.618")  # docs/integrations.md
    assert len(prv) == 1
    assert len(ours) == 1000


def test_their_calibration_takes_it_as_it_stands() -> None:
    engine = opacus.PrivacyEngine(accountant="hockeystick")
    kwargs = {"target_epsilon": 2.0, "target_delta": DELTA, "epochs": 2}
    module, optimizer, loader = engine.make_private_with_epsilon(**parts(), **kwargs)
    made = sum(train(module, optimizer, loader) for _ in range(2))
    assert made == 2 * BATCHES
    assert 1.98 < engine.get_epsilon(DELTA) <= 2.0


def test_their_calibration_is_one_step_short_and_ours_is_not() -> None:
    """Three epochs of 75 batches: ``int(3 / (1 / 75))`` is 224."""
    assert int(3 / (1 / BATCHES)) == 224
    target = 1.5
    theirs = get_noise_multiplier(
        target_epsilon=target,
        target_delta=DELTA,
        sample_rate=1 / BATCHES,
        epochs=3,
        accountant="hockeystick",
        epsilon_tolerance=1e-5,
    )
    assert plan_from_history([(theirs, 1 / BATCHES, 224)]).epsilon(DELTA).upper <= target
    assert plan_from_history([(theirs, 1 / BATCHES, 225)]).epsilon(DELTA).lower > target

    engine = PrivacyEngine()
    kwargs = {"target_epsilon": target, "target_delta": DELTA, "epochs": 3, "epsilon_tolerance": 0.01}
    module, optimizer, loader = engine.make_private_with_epsilon(**parts(), **kwargs)
    assert sum(train(module, optimizer, loader) for _ in range(3)) == len(engine.accountant) == 225
    assert engine.get_epsilon(DELTA) <= target
    missed = optimizer.noise_multiplier * (1 - 2 * TOLERANCE)
    assert plan_from_history([(missed, 1 / BATCHES, 225)]).epsilon(DELTA).upper > target


def test_what_was_spent_before_counts_towards_the_target() -> None:
    engine = PrivacyEngine()
    module, optimizer, loader = engine.make_private(**parts(), noise_multiplier=1.5)
    train(module, optimizer, loader)
    kwargs = {"target_epsilon": 2.0, "target_delta": DELTA, "epochs": 1}
    with pytest.warns(UserWarning, match="new dataset object"):
        module, optimizer, loader = engine.make_private_with_epsilon(**parts(), **kwargs)
    train(module, optimizer, loader)
    assert len(engine.accountant.history) == 2
    assert 1.999 < engine.get_epsilon(DELTA) <= 2.0
    with pytest.raises(hs.InvalidInputError, match=r"target_epsilon must be greater than 1\.999.*spent.*received 1\.0"):
        engine.make_private_with_epsilon(**parts(), **{**kwargs, "target_epsilon": 1.0})


def test_checkpoint_and_resume(engine: Any) -> None:
    """Stopped after 40 steps and gone on with elsewhere: bit for bit the epsilon of 75 steps."""
    module, optimizer, loader = engine.make_private(**parts(), noise_multiplier=1.1)
    train(module, optimizer, loader, 40)
    saved = io.BytesIO()
    engine.save_checkpoint(path=saved, module=module, optimizer=optimizer)

    other = type(engine)(accountant="hockeystick")
    resumed, resumed_optimizer, loader = other.make_private(**parts(), noise_multiplier=1.1)
    saved.seek(0)
    other.load_checkpoint(path=saved, module=resumed, optimizer=resumed_optimizer)
    assert all(torch.equal(a, b) for a, b in zip(module.parameters(), resumed.parameters(), strict=True))
    assert other.get_epsilon(DELTA) == engine.get_epsilon(DELTA)
    train(resumed, resumed_optimizer, loader, 35)
    assert other.accountant.history == [(1.1, 1 / BATCHES, 75)]
    assert other.get_epsilon(DELTA) == hs.dp_sgd(1.1, 1 / BATCHES, 75).epsilon(DELTA).upper
    assert len(engine.accountant) == 40


def test_a_schedule_of_noise_is_recorded_step_by_step() -> None:
    engine = PrivacyEngine()
    module, optimizer, loader = engine.make_private(**parts(5), noise_multiplier=1.0)
    scheduler = ExponentialNoise(optimizer, gamma=1.25)
    for _ in range(3):
        train(module, optimizer, loader)
        scheduler.step()
    assert engine.accountant.history == [(1.0, 0.2, 5), (1.25, 0.2, 5), (1.5625, 0.2, 5)]
    assert engine.get_epsilon(DELTA) == plan_from_history(engine.accountant.history).epsilon(DELTA).upper


def test_a_batch_in_pieces_is_one_step() -> None:
    engine = PrivacyEngine()
    module, optimizer, loader = engine.make_private(**parts(8), noise_multiplier=1.0)
    with BatchMemoryManager(data_loader=loader, max_physical_batch_size=2, optimizer=optimizer) as pieces:
        assert train(module, optimizer, pieces) > 8
    assert engine.accountant.history == [(1.0, 0.125, 8)]


def test_without_poisson_sampling_ours_warns() -> None:
    with pytest.warns(UserWarning, match="not Poisson samples.*Poisson sampling only"):
        PrivacyEngine().make_private(**parts(3), noise_multiplier=1.0, poisson_sampling=False)
    with pytest.warns(UserWarning, match="Poisson sampling only"):
        PrivacyEngine().make_private_with_epsilon(
            **parts(3), target_epsilon=3.0, target_delta=DELTA, epochs=1, poisson_sampling=False
        )


def test_without_noise_epsilon_is_infinite() -> None:
    engine = PrivacyEngine()
    module, optimizer, loader = engine.make_private(**parts(3), noise_multiplier=0.0)
    train(module, optimizer, loader)
    assert engine.get_epsilon(DELTA) == math.inf
    bound = engine.accountant.bound(DELTA)
    assert (bound.lower, bound.upper) == (0.0, math.inf)
    assert bound.reason == "a step without noise: noise_multiplier 0"
    with pytest.raises(hs.InvalidInputError, match="history entry 1: noise_multiplier must be greater than 0"):
        _ = engine.accountant.plan


def test_nothing_run_has_cost_nothing() -> None:
    assert HockeystickAccountant().get_epsilon(DELTA) == 0.0
    assert len(HockeystickAccountant()) == 0


def test_arguments_of_other_accountants_are_taken() -> None:
    accountant = HockeystickAccountant()
    accountant.step(noise_multiplier=1.0, sample_rate=0.1)
    asked = [accountant.get_epsilon(DELTA, alphas=[2, 3]), accountant.get_epsilon(DELTA, eps_error=0.1, poisson=True)]
    assert asked == [accountant.get_epsilon(DELTA)] * 2
    with pytest.raises(hs.UnsupportedError, match="poisson must be True"):
        accountant.get_epsilon(DELTA, poisson=False)


@pytest.mark.parametrize(
    ("noise", "rate", "message"),
    [
        (-1.0, 0.1, "noise_multiplier must be a finite number, 0 or greater .*received -1.0"),
        (math.nan, 0.1, "noise_multiplier"),
        (1.0, 1.5, "sample_rate must be a number greater than 0 and at most 1 .*received 1.5"),
        (1.0, 0.0, "sample_rate"),
    ],
)
def test_a_step_outside_its_domain_is_refused(noise: float, rate: float, message: str) -> None:
    accountant = HockeystickAccountant()
    with pytest.raises(hs.InvalidInputError, match=message):
        accountant.step(noise_multiplier=noise, sample_rate=rate)
    assert accountant.history == []


def test_noise_may_come_in_a_tensor() -> None:
    accountant = HockeystickAccountant()
    accountant.step(noise_multiplier=torch.tensor(1.5), sample_rate=0.1)  # type: ignore[arg-type, unused-ignore]
    assert accountant.history == [(1.5, 0.1, 1)]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (None, "must be a mapping with the keys 'history' and 'mechanism'; received None"),
        ({"history": []}, "'mechanism'"),
        ({"history": [], "mechanism": "rdp"}, "received 'rdp'.*assign state\\['history'\\] to accountant.history"),
        ({"history": 3, "mechanism": "hockeystick"}, "history must be a list"),
        ({"history": [(1.0, 0.1)], "mechanism": "hockeystick"}, "history entry 1 must be .noise_multiplier"),
        ({"history": [(1.0, 0.1, 1), (1.0, 7, 1)], "mechanism": "hockeystick"}, "history entry 2: sample_rate"),
        ({"history": [(1.0, 0.1, 0.5)], "mechanism": "hockeystick"}, "history entry 1: steps must be a whole number"),
    ],
)
def test_a_state_that_is_none_is_refused_whole(state: Any, message: str) -> None:
    accountant = HockeystickAccountant()
    accountant.step(noise_multiplier=1.0, sample_rate=0.5)
    with pytest.raises(ValueError, match=message) as caught:
        accountant.load_state_dict(state)
    assert isinstance(caught.value, hs.InvalidInputError)
    assert "\n" not in str(caught.value)
    assert accountant.history == [(1.0, 0.5, 1)]


def test_another_accountant_is_for_their_engine() -> None:
    with pytest.raises(hs.InvalidInputError, match="accountant must be 'hockeystick'; received 'rdp'"):
        PrivacyEngine(accountant="rdp")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"target_epsilon": 0.0}, "target_epsilon must be a finite number greater than 0"),
        ({"target_delta": 1.0}, "delta must be a number greater than 0 and less than 1"),
        ({"epochs": 0}, "epochs must be a finite number greater than 0"),
    ],
)
def test_targets_outside_their_domain_are_refused(changed: dict[str, float], message: str) -> None:
    kwargs = {"target_epsilon": 1.0, "target_delta": DELTA, "epochs": 1, **changed}
    with pytest.raises(hs.InvalidInputError, match=message):
        PrivacyEngine().make_private_with_epsilon(**parts(3), **kwargs)


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0, 40.0])
@pytest.mark.parametrize(("rate", "steps"), [(1.0, 3), (0.01, 1000), (0.2, 50)])
def test_the_noise_meets_the_target_and_just_less_misses_it(epsilon: float, rate: float, steps: int) -> None:
    noise = least_noise_multiplier(epsilon, DELTA, rate, steps)
    assert hs.dp_sgd(noise, rate, steps).epsilon(DELTA).upper <= epsilon
    assert hs.dp_sgd(noise * (1 - 2 * TOLERANCE), rate, steps).epsilon(DELTA).upper > epsilon
