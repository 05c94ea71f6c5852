"""Opacus: an accountant for its privacy engine, and an engine that calibrates with certified bounds.

Importing this module registers the accountant with Opacus, whose own engine then accepts it by name:

    import hockeystick.integrations.opacus
    engine = opacus.PrivacyEngine(accountant="hockeystick")

Opacus gives an accountant no information on how batches are made, so no number is called certified under Opacus' own
engine. The engine of this module inspects the loader.

All numbers assume Poisson sampling and, by default, that one record is added or removed. Opacus' own accountants make
the same assumptions.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hockeystick.integrations.draws import Draws, check_accumulated, drawn
from hockeystick.integrations.history import NOISE, RATE, Entry, entries, plan_from_history, training_round
from hockeystick.integrations.needed import missing
from hockeystick.plan.plan import Plan
from hockeystick.questions.calibration import calibrate
from hockeystick.questions.targets import Epsilon
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.bounds import Bound
from hockeystick.values.errors import InvalidInputError, UnsupportedError

try:
    from opacus import PrivacyEngine as OpacusPrivacyEngine
    from opacus.accountants import IAccountant, register_accountant
    from torch.utils.data import BatchSampler, DistributedSampler, RandomSampler, SequentialSampler
except ModuleNotFoundError as error:
    raise missing(error) from None

MECHANISM = "hockeystick"
"""Name of the accountant in Opacus."""

ONLY_POISSON = (
    "poisson_sampling=False is not supported, because no bound is proven for the same steps on other batches; for a "
    "shuffled loader train with opacus.PrivacyEngine, take epsilon of its whole epochs from "
    "hockeystick.dp_sgd(sampling='shuffled'), or leave poisson_sampling out"
)
"""Reason for refusing a loader without Poisson sampling."""

UNSEEN = (
    "the loader was not checked: the number assumes one Poisson batch per step and is wrong with "
    "poisson_sampling=False or gradients accumulated over batches; hockeystick.integrations.opacus.PrivacyEngine "
    "checks it"
)
"""Warning that comes with a number if the engine of this module did not make the loader."""


class HockeystickAccountant(IAccountant):
    """Opacus accountant that answers with certified bounds.

    Args:
        adjacency: neighbouring relation of all answers; it does not affect the history.

    Attributes:
        adjacency: neighbouring relation of all answers.
        history: list of (noise multiplier, sample rate, steps), as in all accountants of Opacus; successive equal steps
            are one entry.
        checked: True if the engine of this module made the loader of every step; otherwise answers are not called
            certified.

    Raises:
        InvalidInputError: the adjacency is unknown.
    """

    def __init__(self, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> None:
        self.history: list[Entry] = []
        self.checked = False
        self.adjacency = Adjacency.parse(adjacency)

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Record one step of the optimiser.

        Raises:
            InvalidInputError: the noise multiplier is below 0, or the sample rate outside (0, 1].
        """
        noise = NOISE.check(noise_multiplier, "noise_multiplier")
        rate, steps = RATE.check(sample_rate, "sample_rate"), 1
        if self.history and tuple(self.history[-1][:2]) == (noise, rate):
            steps += self.history.pop()[2]
        self.history.append((noise, rate, steps))

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """Return the hook that records each step of an Opacus optimiser as a step on one batch at this sample rate.

        The hook raises an UnsupportedError for a step on several batches. Opacus' own hook multiplies the rate by the
        number of batches, which underestimates the cost of such a step.
        """

        def record(optimizer: Any) -> None:
            check_accumulated(optimizer)
            self.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=sample_rate)

        return record

    def get_epsilon(self, delta: float, *, poisson: bool = True, **kwargs: Any) -> float:
        """Return the certified upper end of epsilon so far; infinite after a step without noise.

        Args:
            delta: target delta, in [0, 1).
            poisson: must be True, since the engine determines how batches are made.
            kwargs: arguments of other Opacus accountants (``alphas``, ``eps_error``, ...), which are ignored.

        Raises:
            InvalidInputError: delta is outside its domain.
            UnsupportedError: ``poisson`` is False.
        """
        if not poisson:
            raise UnsupportedError("poisson must be True, because this accountant counts Poisson batches")
        return self.bound(delta).upper

    def bound(self, delta: float, *, gap: float | None = None, proof: bool = False) -> Bound:
        """Return the certified interval of epsilon so far; see :meth:`hockeystick.Plan.epsilon` for the arguments.

        Returns:
            An interval that states its assumptions. If a loader was not inspected, the guarantee is ``"if batches are
            Poisson"``, and a warning says so.

        Raises:
            InvalidInputError: delta is outside its domain, or the history is invalid.
        """
        if any(noise == 0 and steps for noise, _, steps in entries(self.history)):
            domains.delta(delta)
            return Bound(0.0, math.inf, math.inf, reason="a step has no noise (noise_multiplier 0)")
        found = self.plan.epsilon(delta, gap=gap, proof=proof)
        return found if self.checked else replace(found, guarantee="if batches are Poisson")

    @property
    def plan(self) -> Plan:
        """Plan of the recorded steps, at the rates at which Opacus actually draws (``integrations/draws.py``).

        If a loader was not checked, a warning says so, and so does the note of every round.

        Raises:
            InvalidInputError: a step has no noise.
        """
        history = [(noise, drawn(rate), steps) for noise, rate, steps in entries(self.history)]
        plan = plan_from_history(history, self.adjacency)
        if self.checked:
            return plan
        warnings.warn(UNSEEN, stacklevel=2)  # Python shows this warning once
        return plan.with_rounds(replace(item, note=UNSEEN) for item in plan.rounds)

    def __len__(self) -> int:
        """Return the number of optimiser steps."""
        return sum(steps for _, _, steps in self.history)

    @classmethod
    def mechanism(cls) -> str:
        """Return the name of the accountant in Opacus."""
        return MECHANISM

    def state_dict(self, destination: Any = None) -> Any:
        """Return the state that Opacus' base class saves, extended by the adjacency and ``checked``."""
        destination = super().state_dict(destination)
        destination |= {"adjacency": self.adjacency.value, "checked": self.checked}
        return destination

    def load_state_dict(self, state_dict: Any) -> None:
        """Replace the history by a saved one, completely or not at all.

        If the state has no adjacency, add-or-remove is assumed. If it has no ``checked``, its loaders count as not
        inspected.

        Raises:
            InvalidInputError: (a ``ValueError``) the state is not a result of ``state_dict``, or belongs to another
                accountant or adjacency.
            UnsupportedError: the state is of an earlier version and includes passes without Poisson sampling.
        """
        if not isinstance(state_dict, Mapping) or not {"history", "mechanism"} <= set(state_dict):
            raise InvalidInputError(
                "the accountant's state must be a mapping with the keys 'history' and 'mechanism'; received "
                + domains.shown(state_dict),
                "state",
            )
        if state_dict["mechanism"] != MECHANISM:
            raise InvalidInputError(
                f"mechanism must be {MECHANISM!r}; received {domains.shown(state_dict['mechanism'])}; to continue "
                "from another accountant, assign state['history'] to accountant.history, and False to "
                "accountant.checked",
                "mechanism",
            )
        adjacency = Adjacency.parse(state_dict.get("adjacency", Adjacency.ADD_OR_REMOVE))
        if adjacency is not self.adjacency:
            raise InvalidInputError(
                f"adjacency must be {self.adjacency.value!r}, as in this accountant; received a state with "
                f"{adjacency.value!r}; create the engine with adjacency={adjacency.value!r}",
                "adjacency",
            )
        if state_dict.get("unsampled", False):
            raise UnsupportedError(f"the state counts passes over a loader without Poisson sampling; {ONLY_POISSON}")
        checked = state_dict.get("checked", False)
        if not isinstance(checked, bool):
            raise InvalidInputError(f"checked must be true or false; received {domains.shown(checked)}", "checked")
        self.history, self.checked = list(entries(state_dict["history"])), self.checked and checked


class PrivacyEngine(OpacusPrivacyEngine):
    """Opacus engine with certified accounting and calibration.

    It differs from Opacus' own engine in some ways:

    - ``make_private_with_epsilon`` finds the smallest noise for which the certified upper end of epsilon meets the
      target after ``epochs * len(data_loader)`` steps. Opacus assumes ``int(epochs / sample_rate)`` steps, which may be
      one step short, and stops its search within 0.01 of the target.
    - Steps recorded earlier count towards the target.
    - ``poisson_sampling=False`` is refused.

    Args:
        accountant: ``"hockeystick"``.
        secure_mode: the option of Opacus' engine.
        adjacency: neighbouring relation of all answers: ``"add-or-remove"`` (default), ``"add"``, ``"remove"`` or
            ``"replace-one"``.

    Raises:
        InvalidInputError: the accountant or the adjacency is unknown.
    """

    accountant: HockeystickAccountant

    def __init__(
        self,
        *,
        accountant: str = MECHANISM,
        secure_mode: bool = False,
        adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
    ) -> None:
        if accountant != MECHANISM:
            raise InvalidInputError(
                f"accountant must be {MECHANISM!r}; received {domains.shown(accountant)}; for another accountant use "
                "opacus.PrivacyEngine",
                "accountant",
            )
        super().__init__(accountant=accountant, secure_mode=secure_mode)
        self.accountant = HockeystickAccountant(adjacency)
        self.accountant.checked = True

    def make_private(self, *, data_loader: Any, poisson_sampling: bool = True, **kwargs: Any) -> Any:
        """Return module, optimizer and loader made private by Opacus' engine, with its arguments.

        If the loader's sampler does more than go through all records, a warning names it, since Opacus replaces it.

        Raises:
            UnsupportedError: ``poisson_sampling`` is False.
        """
        if not poisson_sampling:
            raise UnsupportedError(ONLY_POISSON)
        if (sampler := _replaced(data_loader)) is not None:
            records = len(data_loader.dataset)
            warnings.warn(
                f"Opacus replaces {sampler} by Poisson batches of all {records} records, "
                f"{records / len(data_loader):.6g} on average, which discards the sampler's weights, draws and "
                "subsets; create the loader from the intended records, with shuffle=True",
                stacklevel=2,
            )
        module, optimizer, *criterion, loader = super().make_private(
            data_loader=data_loader, poisson_sampling=True, **kwargs
        )
        optimizer.attach_step_hook(Draws(loader.batch_sampler, optimizer).step)
        return (module, optimizer, *criterion, loader)

    def make_private_with_epsilon(
        self, *, data_loader: Any, target_epsilon: float, target_delta: float, epochs: float, **kwargs: Any
    ) -> Any:
        """Return module, optimizer and loader made private with the smallest noise certified to meet the target.

        Args:
            data_loader: the loader, as Opacus' engine takes it.
            target_epsilon: target epsilon, greater than 0; steps recorded earlier count towards it.
            target_delta: target delta, in (0, 1).
            epochs: number of further passes over the loader.
            kwargs: other arguments of ``make_private``; ``epsilon_tolerance`` is ignored.

        Raises:
            InvalidInputError: a value is outside its domain, or the target cannot be met.
            UnsupportedError: ``poisson_sampling`` is False.
        """
        kwargs.pop("epsilon_tolerance", None)
        batches = len(data_loader)
        epochs = domains.POSITIVE.of("passes over the loader").check(epochs, "epochs")
        if not kwargs.get("poisson_sampling", True):
            raise UnsupportedError(ONLY_POISSON)
        steps = math.ceil(epochs * batches)
        noise = least_noise_multiplier(target_epsilon, target_delta, drawn(1 / batches), steps, self.accountant.plan)
        return self.make_private(data_loader=data_loader, noise_multiplier=noise, **kwargs)


def least_noise_multiplier(epsilon: float, delta: float, sample_rate: float, steps: int, spent: Plan) -> float:
    """Return the smallest noise multiplier with which Poisson-sampled Gaussian steps meet (epsilon, delta).

    Args:
        epsilon: target epsilon, greater than 0.
        delta: target delta, in (0, 1).
        sample_rate: probability that a record enters a batch, in (0, 1].
        steps: number of steps to run, at least 1.
        spent: plan of earlier steps, which count towards the target and set the adjacency.

    Returns:
        A noise multiplier at which the certified upper end of epsilon is at most the target. It exceeds the smallest
        such noise multiplier by at most one part per million.

    Raises:
        InvalidInputError: a value is outside its domain, or earlier steps exceed the target.
        UnreachableError: no noise multiplier meets the target.
    """
    epsilon = domains.POSITIVE.of("the target epsilon").check(epsilon, "target_epsilon")
    target = Epsilon(epsilon, delta=domains.TARGET_DELTA.check(delta, "delta"))
    used = spent.epsilon(delta).upper
    if used >= epsilon:
        raise InvalidInputError(
            f"target_epsilon must be greater than {used!r}, the epsilon of the recorded steps at delta {delta:g}; "
            f"received {epsilon!r}",
            "target_epsilon",
        )
    return calibrate(lambda noise: spent + training_round(noise, sample_rate, steps), "noise-multiplier", target).value


def _replaced(loader: Any) -> str | None:
    """Return the name of the loader's sampler if it does more than go through all records; else ``None``."""
    known = (SequentialSampler, RandomSampler, DistributedSampler)
    batches = loader.batch_sampler
    if type(batches).__module__.startswith("opacus."):
        return None
    if type(batches) is not BatchSampler:
        return type(batches).__name__
    sampler = batches.sampler
    all_once = not isinstance(sampler, RandomSampler) or (
        not sampler.replacement and sampler.num_samples == len(sampler.data_source)
    )
    return None if type(sampler) in known and all_once else type(sampler).__name__


register_accountant(MECHANISM, HockeystickAccountant, force=True)
