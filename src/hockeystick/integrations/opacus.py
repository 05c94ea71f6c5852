"""Opacus: an accountant for its privacy engine, and an engine that also calibrates with certified bounds.

Importing this module registers the accountant with Opacus, whose own engine then takes it by name:

    import hockeystick.integrations.opacus
    engine = opacus.PrivacyEngine(accountant="hockeystick")

The numbers are for Poisson sampling and for adding or removing one record, as Opacus' own are.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

from opacus import PrivacyEngine as OpacusPrivacyEngine
from opacus.accountants import IAccountant, register_accountant

from hockeystick import domains
from hockeystick.bounds import Bound
from hockeystick.errors import InvalidInputError, UnsupportedError
from hockeystick.integrations.history import NOISE, RATE, Entry, entries, plan_from_history
from hockeystick.integrations.noise import least_noise_multiplier
from hockeystick.plan import Plan

MECHANISM = "hockeystick"
"""The name under which Opacus knows the accountant."""

NOT_POISSON = (
    "poisson_sampling=False: the batches are not Poisson samples, and the epsilon that is reported is for Poisson "
    "sampling only; leave poisson_sampling out, or account for the shuffled loader by "
    "hockeystick.Plan([hockeystick.Round(hockeystick.Gaussian(noise_multiplier), count=epochs)], 'replace-one')"
)


class HockeystickAccountant(IAccountant):
    """Opacus' accountant interface over certified bounds.

    Attributes:
        history: list of (noise multiplier, sample rate, steps), as all accountants of Opacus keep it; equal steps in a
            row are one entry.
    """

    history: list[Entry]

    def __init__(self) -> None:
        self.history = []

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Record one step of the optimiser.

        Raises:
            InvalidInputError: a noise multiplier below 0, or a sample rate outside (0, 1].
        """
        noise = NOISE.check(_number(noise_multiplier), "noise_multiplier")
        rate = RATE.check(_number(sample_rate), "sample_rate")
        if self.history and tuple(self.history[-1][:2]) == (noise, rate):
            self.history[-1] = (noise, rate, self.history[-1][2] + 1)
        else:
            self.history.append((noise, rate, 1))

    def get_epsilon(self, delta: float, *, poisson: bool = True, **kwargs: Any) -> float:
        """What was spent so far: the certified upper end of epsilon; infinite after a step without noise.

        Args:
            delta: target, in [0, 1).
            poisson: must be true: the number is for Poisson sampling only.
            kwargs: what other accountants of Opacus take (``alphas``, ``eps_error``, ...); there is nothing to choose
                here, and they are not used.

        Raises:
            InvalidInputError: delta outside its domain.
            UnsupportedError: ``poisson`` is false.
        """
        if not poisson:
            raise UnsupportedError(
                "poisson must be True: no bound is proven for the same steps on batches of another kind; "
                "docs/loader.md has one for shuffled batches"
            )
        return self.bound(delta).upper

    def bound(self, delta: float, *, gap: float | None = None, proof: bool = False) -> Bound:
        """The certified interval that holds epsilon: see :meth:`hockeystick.Plan.epsilon`.

        Raises:
            InvalidInputError: delta outside its domain, or a history that is none.
        """
        if any(noise == 0 and steps for noise, _, steps in entries(self.history)):
            domains.open_probability(delta, "delta", "the target delta")
            return Bound(0.0, math.inf, math.inf, reason="a step without noise: noise_multiplier 0")
        return self.plan.epsilon(delta, gap=gap, proof=proof)

    @property
    def plan(self) -> Plan:
        """The plan that the history adds up to.

        Raises:
            InvalidInputError: a step without noise.
        """
        return plan_from_history(self.history)

    def __len__(self) -> int:
        """The number of steps of the optimiser."""
        return sum(steps for _, _, steps in self.history)

    @classmethod
    def mechanism(cls) -> str:
        """The name under which Opacus knows the accountant."""
        return MECHANISM

    def load_state_dict(self, state_dict: Any) -> None:
        """Replace the history by a saved one, whole or not at all.

        Raises:
            InvalidInputError: (a ``ValueError``) it is not what ``state_dict`` gives, or that of another accountant.
        """
        for key in ("history", "mechanism"):
            if not isinstance(state_dict, Mapping) or key not in state_dict:
                raise InvalidInputError(
                    "the accountant's state must be a mapping with the keys 'history' and 'mechanism'; received "
                    + domains.shown(state_dict),
                    key,
                )
        if state_dict["mechanism"] != MECHANISM:
            raise InvalidInputError(
                f"mechanism must be {MECHANISM!r}; received {domains.shown(state_dict['mechanism'])}; to go on with "
                "the steps of another accountant, assign state['history'] to accountant.history",
                "mechanism",
            )
        self.history = list(entries(state_dict["history"]))


class PrivacyEngine(OpacusPrivacyEngine):
    """Opacus' engine with certified accounting and calibration.

    It differs from Opacus' own in three places: ``make_private_with_epsilon`` finds the least noise for which the
    certified upper end of epsilon meets the target after ``epochs * len(data_loader)`` steps (Opacus counts
    ``int(epochs / sample_rate)``, which may be one short, and stops within 0.01 of the target); steps recorded before
    count towards the target; and ``poisson_sampling=False`` warns.

    Args:
        accountant: ``"hockeystick"``.
        secure_mode: as for Opacus.

    Raises:
        InvalidInputError: any other accountant.
    """

    accountant: HockeystickAccountant

    def __init__(self, *, accountant: str = MECHANISM, secure_mode: bool = False) -> None:
        if accountant != MECHANISM:
            raise InvalidInputError(
                f"accountant must be {MECHANISM!r}; received {domains.shown(accountant)}; for that one use "
                "opacus.PrivacyEngine",
                "accountant",
            )
        super().__init__(accountant=accountant, secure_mode=secure_mode)

    def make_private(self, *, poisson_sampling: bool = True, **kwargs: Any) -> Any:
        """As Opacus' own, with the same arguments.

        Warns:
            UserWarning: ``poisson_sampling`` is false: the epsilon reported is not for such batches.
        """
        if not poisson_sampling:
            warnings.warn(NOT_POISSON, stacklevel=2)
        return super().make_private(poisson_sampling=poisson_sampling, **kwargs)

    def make_private_with_epsilon(
        self, *, data_loader: Any, target_epsilon: float, target_delta: float, epochs: float, **kwargs: Any
    ) -> Any:
        """As Opacus' own, with the same arguments; the noise is the least that is certified to meet the target.

        Args:
            data_loader: as for Opacus.
            target_epsilon: target, greater than 0; steps recorded before count.
            target_delta: target, in (0, 1).
            epochs: passes over the loader still to come.
            kwargs: everything else that ``make_private`` takes; ``epsilon_tolerance`` has no use here.

        Raises:
            InvalidInputError: a value outside its domain, or a target that cannot be met.
        """
        kwargs.pop("epsilon_tolerance", None)
        batches = len(data_loader)
        epochs = domains.POSITIVE.of("passes over the loader").check(epochs, "epochs")
        noise = least_noise_multiplier(
            target_epsilon, target_delta, 1 / batches, math.ceil(epochs * batches), spent=self.accountant.plan
        )
        return self.make_private(data_loader=data_loader, noise_multiplier=noise, **kwargs)


def _number(value: Any) -> Any:
    """What a schedule computed, without its tensor."""
    return value.item() if hasattr(value, "item") else value


register_accountant(MECHANISM, HockeystickAccountant, force=True)
