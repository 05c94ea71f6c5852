"""Beside JAX Privacy (``make test-jax``): banded training by its own configuration, event and calibration."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hockeystick as hs

pytest.importorskip("jax_privacy")
dp_accounting = pytest.importorskip("dp_accounting")
from hockeystick.integrations.dp_accounting import HockeystickAccountant, to_plan  # noqa: E402

STEPS, BANDS, RATE, DELTA = 200, 4, 0.2, 1e-6
ZERO_OUT = dp_accounting.NeighboringRelation.REPLACE_SPECIAL


def banded(noise: float, norm: str = "columns") -> hs.Plan:
    """The run itself, with the strategy whose columns have norm 1."""
    run = hs.MatrixGaussian(noise, STEPS, BANDS, norm, coefficients=(1.0, 0.5, 0.2, 0.1))
    return hs.Plan([hs.Round(run, hs.CyclicPoisson(groups=BANDS, sample_rate=RATE))], "zero-out")


def test_the_event_is_the_run() -> None:
    """``ceil(n / b)`` sampled rounds, in its event and here; its own accountant agrees."""
    from jax_privacy.experimental import accounting

    event = accounting.amplified_bandmf_event(2.0, STEPS, num_bands=BANDS, sampling_prob=RATE)
    (round_,) = to_plan(event, ZERO_OUT).rounds
    assert (round_.count, vars(round_.sampling)["sample_rate"]) == (math.ceil(STEPS / BANDS), RATE)
    found = HockeystickAccountant(ZERO_OUT).compose(event).get_epsilon(DELTA)
    assert found == pytest.approx(banded(2.0).epsilon(DELTA).upper, rel=1e-7)
    theirs = dp_accounting.pld.PLDAccountant(ZERO_OUT).compose(event).get_epsilon(DELTA)
    assert found <= theirs * (1 + 1e-9)
    assert theirs == pytest.approx(found, rel=1e-3)


def test_its_plan_is_calibrated_by_our_accountant() -> None:
    """A whole plan of banded training, whose noise our accountant finds: it costs what was asked."""
    from jax_privacy.experimental.execution_plan import BandMFExecutionPlanConfig

    plan = BandMFExecutionPlanConfig(
        strategy=np.array([1.0, 0.5, 0.2, 0.1]), iterations=STEPS, sampling_prob=RATE, epsilon=1.0, delta=DELTA,
        accountant=HockeystickAccountant(ZERO_OUT),
    ).plan  # fmt: skip
    (round_,) = to_plan(plan.dp_event, ZERO_OUT).rounds
    cost = banded(vars(round_.mechanism)["noise_multiplier"]).epsilon(DELTA)
    assert 0.999 <= cost.upper <= 1.0 + 1e-6
