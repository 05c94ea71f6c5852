"""Opacus: an accountant for its privacy engine, and an engine that calibrates with certified bounds.

Importing this module registers the accountant with Opacus, whose own engine then accepts it by name:

    import hockeystick.integrations.opacus
    engine = opacus.PrivacyEngine(accountant="hockeystick")

Opacus does not tell an accountant how batches are made, so under Opacus' own engine no number is called certified. The
engine of this module inspects the loader.

By default the numbers assume Poisson sampling and adding or removing one record, like Opacus' own. With
``adjacency="replace-one"`` the engine of this module also accounts for a loader without Poisson sampling, by the bound
proved in ``integrations/passes.py``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hockeystick.integrations.draws import Draws, check_accumulated, drawn
from hockeystick.integrations.history import NOISE, RATE, Entry, entries, plan_from_history
from hockeystick.integrations.needed import missing
from hockeystick.integrations.noise import least_noise_multiplier
from hockeystick.integrations.passes import NO_AMPLIFICATION, Passes, check_loader, counted, replaced
from hockeystick.plan.caveats import told
from hockeystick.plan.plan import Plan
from hockeystick.plan.round import NO_SAMPLING
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.bounds import Bound, UpperBound
from hockeystick.values.errors import InvalidInputError, UnsupportedError

try:
    from opacus import PrivacyEngine as OpacusPrivacyEngine
    from opacus.accountants import IAccountant, register_accountant
except ModuleNotFoundError as error:
    raise missing(error) from None

MECHANISM = "hockeystick"
"""Name of the accountant in Opacus."""

PASSES_ONLY = (
    "poisson_sampling=False requires adjacency 'replace-one', because this engine counts passes, which do not bound "
    "the cost under {0!r}; use PrivacyEngine(adjacency='replace-one'), or for whole epochs in a uniform order train "
    "with opacus.PrivacyEngine and take epsilon from hockeystick.dp_sgd(sampling='shuffled'), or leave "
    "poisson_sampling out"
)
"""Reason for refusing a loader without Poisson sampling; ``{0!r}`` is the adjacency."""

UNSEEN = (
    "the loader was not checked: the number assumes one Poisson batch per step and is wrong with "
    "poisson_sampling=False or gradients accumulated over batches; hockeystick.integrations.opacus.PrivacyEngine "
    "checks it"
)
"""Warning with a number of an accountant that the engine of this module did not make."""


class HockeystickAccountant(IAccountant):
    """Opacus' accountant interface over certified bounds.

    Args:
        adjacency: neighbouring relation of all answers; it does not affect the history.

    Attributes:
        history: list of (noise multiplier, sample rate, steps), as in all accountants of Opacus; successive equal steps
            are one entry. A pass over a loader without Poisson sampling is one step at rate 1.
        unsampled: True if there were passes without Poisson sampling; answers are then upper bounds without a lower
            end.
        checked: True if the engine of this module made the loader of every step; otherwise answers are not called
            certified.

    Raises:
        InvalidInputError: the adjacency is unknown.
    """

    def __init__(self, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> None:
        self.history: list[Entry] = []
        self.unsampled = False
        self.checked = False
        self._adjacency = Adjacency.parse(adjacency)

    @property
    def adjacency(self) -> Adjacency:
        """Neighbouring relation of all answers."""
        return self._adjacency

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Record one step of the optimiser.

        Raises:
            InvalidInputError: the noise multiplier is below 0, or the sample rate outside (0, 1].
        """
        noise = NOISE.check(noise_multiplier, "noise_multiplier")
        self._append(noise, RATE.check(sample_rate, "sample_rate"), 1)

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """Return the hook that records each step of an Opacus optimiser as a step on one batch at this sample rate.

        The hook raises an UnsupportedError for a step on several batches. Opacus' own hook multiplies the rate by the
        number of batches, which underestimates the cost of such a step.
        """

        def record(optimizer: Any) -> None:
            check_accumulated(optimizer)
            self.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=sample_rate)

        return record

    def step_of_pass(self, noise: float, begun: int) -> None:
        """Record passes over a loader without Poisson sampling at their first step, each pass as a step at rate 1.

        Raises:
            UnsupportedError: no bound for passes is proved under the adjacency.
        """
        if self.adjacency is not Adjacency.REPLACE_ONE:
            raise UnsupportedError(PASSES_ONLY.format(self.adjacency.value))
        self.unsampled = True
        self._append(noise, 1.0, begun)

    def lower(self, noise: float, lower: float, begun: int) -> None:
        """Replace the noise of recorded passes by the lower noise of a later step, which then determines their cost."""
        for index in reversed(range(len(self.history))):
            known, rate, steps = self.history[index]
            if (known, rate) == (noise, 1.0) and steps >= begun:
                self.history[index : index + 1] = [(noise, 1.0, steps - begun)] * (steps > begun)
                break
        # If a state was loaded in between, there is no entry to replace, and the passes count twice, never less.
        self._append(lower, 1.0, begun)

    def _append(self, noise: float, rate: float, steps: int) -> None:
        if self.history and tuple(self.history[-1][:2]) == (noise, rate):
            steps += self.history.pop()[2]
        self.history.append((noise, rate, steps))

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
            raise UnsupportedError(
                "poisson must be True, because no bound is proven for the same steps on other batches; for a "
                "shuffled loader use hockeystick.integrations.opacus.PrivacyEngine(adjacency='replace-one') with "
                "make_private(poisson_sampling=False), which counts passes"
            )
        return self.bound(delta).upper

    def bound(self, delta: float, *, gap: float | None = None, proof: bool = False) -> Bound | UpperBound:
        """Return the certified interval of epsilon, see :meth:`hockeystick.Plan.epsilon`.

        Returns:
            An interval, or an :class:`UpperBound` after passes over a loader without Poisson sampling, which have no
            lower bound. Both state their assumptions. If a loader was not inspected, the guarantee is ``"if batches are
            Poisson"``, and a warning says so.

        Raises:
            InvalidInputError: delta is outside its domain, or the history is invalid.
        """
        if any(noise == 0 and steps for noise, _, steps in entries(self.history)):
            delta = domains.delta(delta)
            samplings = [NO_SAMPLING if rate == 1 else Poisson(rate) for _, rate, _ in entries(self.history)]
            nothing = Bound(0.0, math.inf, math.inf, reason="a step has no noise (noise_multiplier 0)")
            return told(nothing, samplings, delta)
        found = self._plan.epsilon(delta, gap=gap, proof=proof)
        if not self.checked:
            warnings.warn(UNSEEN, stacklevel=2)  # Python shows it once
        if not self.unsampled:
            return found if self.checked else replace(found, guarantee="if batches are Poisson")
        reason = "; ".join(filter(None, (NO_AMPLIFICATION, found.reason)))
        above = UpperBound(found.upper, found.accountant, found.direction, reason=reason)
        return told(above, self._plan.samplings, delta)

    @property
    def plan(self) -> Plan:
        """Plan of the history, at the rates of the draws (``integrations/draws.py``).

        Raises:
            InvalidInputError: a step has no noise.
            UnsupportedError: there were passes over a loader without Poisson sampling: they have only an upper bound,
                which no plan expresses.
        """
        if self.unsampled:
            raise UnsupportedError(
                "passes over a loader without Poisson sampling have an upper bound, accountant.bound(delta), and no "
                "plan; for whole epochs use hockeystick.dp_sgd(sampling='shuffled', adjacency='replace-one')"
            )
        return self._plan

    @property
    def _plan(self) -> Plan:
        """Plan of the history, with an unsampled round for each pass: a bound from above."""
        history = [(noise, drawn(rate), steps) for noise, rate, steps in entries(self.history)]
        return plan_from_history(history, self.adjacency)

    def __len__(self) -> int:
        """Return the number of optimiser steps; a pass over a loader without Poisson sampling counts as one step."""
        return sum(steps for _, _, steps in self.history)

    @classmethod
    def mechanism(cls) -> str:
        """Return the name of the accountant in Opacus."""
        return MECHANISM

    def state_dict(self, destination: Any = None) -> Any:
        """Return the state of an Opacus accountant with the adjacency, ``unsampled`` and ``checked``."""
        destination = super().state_dict(destination)
        destination |= {"adjacency": self.adjacency.value, "unsampled": self.unsampled, "checked": self.checked}
        return destination

    def load_state_dict(self, state_dict: Any) -> None:
        """Replace the history by a saved one, completely or not at all.

        A state without an adjacency means add-or-remove, Poisson-sampled steps, and loaders that were not inspected.

        Raises:
            InvalidInputError: (a ``ValueError``) the state is not a result of ``state_dict``, or belongs to another
                accountant or adjacency.
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
                f"mechanism must be {MECHANISM!r}; received {domains.shown(state_dict['mechanism'])}; to continue "
                "from another accountant, assign state['history'] to accountant.history",
                "mechanism",
            )
        adjacency = Adjacency.parse(state_dict.get("adjacency", Adjacency.ADD_OR_REMOVE))
        if adjacency is not self.adjacency:
            raise InvalidInputError(
                f"adjacency must be {self.adjacency.value!r}, as in this accountant; received a state with "
                f"{adjacency.value!r}; create the engine with adjacency={adjacency.value!r}",
                "adjacency",
            )
        flags = {key: state_dict.get(key, False) for key in ("unsampled", "checked")}
        for key, flag in flags.items():
            if not isinstance(flag, bool):
                raise InvalidInputError(f"{key} must be true or false; received {domains.shown(flag)}", key)
        self.history, self.unsampled = list(entries(state_dict["history"])), flags["unsampled"]
        self.checked = self.checked and flags["checked"]


class PrivacyEngine(OpacusPrivacyEngine):
    """Opacus engine with certified accounting and calibration.

    It differs from Opacus' own engine in three ways. ``make_private_with_epsilon`` finds the smallest noise for which
    the certified upper end of epsilon meets the target after ``epochs * len(data_loader)`` steps; Opacus counts
    ``int(epochs / sample_rate)``, which may be one short, and stops within 0.01 of the target. Steps recorded earlier
    count towards the target. With ``poisson_sampling=False`` it accounts for the actual loader, or refuses it.

    Args:
        accountant: ``"hockeystick"``.
        secure_mode: as for Opacus.
        adjacency: neighbouring relation of all answers: ``"add-or-remove"`` (default), ``"add"``, ``"remove"`` or
            ``"replace-one"``, the only one with a bound for loaders without Poisson sampling.

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

        With ``poisson_sampling=False`` each pass over the returned loader counts as one unsampled round, even without
        training, so evaluation on the same records needs its own loader. If Opacus replaces a sampler that does not
        simply shuffle all records, a warning names it.

        Raises:
            UnsupportedError: ``poisson_sampling`` is False, and the adjacency is not ``"replace-one"``, or the loader
                is not known to have each record in at most one batch of a pass.
        """
        if poisson_sampling:
            if (sampler := replaced(data_loader)) is not None:
                records = len(data_loader.dataset)
                warnings.warn(
                    f"Opacus replaces {sampler} by Poisson batches of all {records} records, "
                    f"{records / len(data_loader):.6g} on average, which discards the sampler's weights, draws and "
                    "subsets; create the loader from the intended records, with shuffle=True",
                    stacklevel=2,
                )
        else:
            self._check_passes(data_loader)
        module, optimizer, *criterion, loader = super().make_private(
            data_loader=data_loader, poisson_sampling=poisson_sampling, **kwargs
        )
        if poisson_sampling:
            optimizer.attach_step_hook(Draws(loader.batch_sampler, optimizer).step)
            return (module, optimizer, *criterion, loader)
        passes = Passes(loader.batch_sampler, optimizer, self.accountant)
        optimizer.attach_step_hook(passes.step)
        return (module, optimizer, *criterion, counted(loader, passes))

    def make_private_with_epsilon(
        self, *, data_loader: Any, target_epsilon: float, target_delta: float, epochs: float, **kwargs: Any
    ) -> Any:
        """Return module, optimizer and loader made private with the smallest noise certified to meet the target.

        Args:
            data_loader: as for Opacus.
            target_epsilon: target epsilon, greater than 0; steps recorded earlier count towards it.
            target_delta: target delta, in (0, 1).
            epochs: number of further passes over the loader.
            kwargs: other arguments of ``make_private``; ``epsilon_tolerance`` is ignored.

        Raises:
            InvalidInputError: a value is outside its domain, or the target cannot be met.
            UnsupportedError: :meth:`make_private` refuses the loader.
        """
        kwargs.pop("epsilon_tolerance", None)
        batches = len(data_loader)
        epochs = domains.POSITIVE.of("passes over the loader").check(epochs, "epochs")
        rate, steps = drawn(1 / batches), math.ceil(epochs * batches)
        if not kwargs.get("poisson_sampling", True):
            self._check_passes(data_loader)
            rate, steps = 1.0, math.ceil(epochs)
        noise = least_noise_multiplier(target_epsilon, target_delta, rate, steps, spent=self.accountant._plan)
        return self.make_private(data_loader=data_loader, noise_multiplier=noise, **kwargs)

    def _check_passes(self, data_loader: Any) -> None:
        if self.accountant.adjacency is not Adjacency.REPLACE_ONE:
            raise UnsupportedError(PASSES_ONLY.format(self.accountant.adjacency.value))
        check_loader(data_loader)


register_accountant(MECHANISM, HockeystickAccountant, force=True)
