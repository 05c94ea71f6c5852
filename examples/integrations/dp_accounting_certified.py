"""What 10,000 steps of DP-SGD cost, and how much noise epsilon 1 takes, with dp_accounting."""

import dp_accounting
from hockeystick.integrations.dp_accounting import HockeystickAccountant as PLDAccountant

DELTA = 1e-6


def training(noise_multiplier: float) -> dp_accounting.DpEvent:
    """10,000 steps at a sample rate of 1 %."""
    step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(noise_multiplier))
    return dp_accounting.SelfComposedDpEvent(step, 10_000)


accountant = PLDAccountant()
accountant.compose(training(1.0))
print(f"epsilon {accountant.get_epsilon(DELTA):.5f} at delta {DELTA:g}")

noise = dp_accounting.calibrate_dp_mechanism(PLDAccountant, training, 1.0, DELTA)
print(f"noise multiplier {noise:.4f} for epsilon 1")
