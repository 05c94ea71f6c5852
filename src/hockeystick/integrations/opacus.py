"""Opacus: an accountant for its privacy engine, and an engine that also calibrates with certified bounds.

Importing this module registers the accountant with Opacus, whose own engine then takes it by name:

    import hockeystick.integrations.opacus
    engine = opacus.PrivacyEngine(accountant="hockeystick")

That engine does not tell an accountant how batches are made, so that no number of it is called certified. The engine of
this module looks at the loader.

The numbers are for Poisson sampling and for adding or removing one record, as Opacus' own are, unless an engine of this
module is told otherwise: with ``adjacency="replace-one"`` it also accounts for a loader that is not Poisson-sampled, by
what is proven of one (``integrations/passes.py``).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hockeystick.integrations.draws import Draws, check_accumulated
from hockeystick.integrations.history import NOISE, RATE, Entry, entries, plan_from_history
from hockeystick.integrations.needed import missing
from hockeystick.integrations.noise import least_noise_multiplier
from hockeystick.integrations.passes import NO_AMPLIFICATION, Passes, check_loader, counted, number, replaced
from hockeystick.plan.caveats import told
from hockeystick.plan.plan import Plan
from hockeystick.plan.round import NO_SAMPLING
from hockeystick.plan.sampling import Poisson
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
"""The name under which Opacus knows the accountant."""

PASSES_ONLY = (
    "poisson_sampling=False: this engine counts passes, which bound the cost under 'replace-one' and not under {0!r}, "
    "where the other records move to other batches; use PrivacyEngine(adjacency='replace-one'), or for whole epochs of "
    "a uniform order account by hand with sampling='shuffled' (hockeystick.dp_sgd), or leave poisson_sampling out"
)
"""Why a loader without Poisson sampling is refused; ``{0!r}`` is the adjacency."""

UNSEEN = (
    "nobody looked at the loader: the number is for one Poisson batch a step, and wrong with poisson_sampling=False or "
    "gradients accumulated over batches; hockeystick.integrations.opacus.PrivacyEngine looks at it"
)
"""The warning with a number of an accountant that was not made by the engine of this module."""


class HockeystickAccountant(IAccountant):
    """Opacus' accountant interface over certified bounds.

    Args:
        adjacency: neighbouring relation of all answers; the history is the same for each.

    Attributes:
        history: list of (noise multiplier, sample rate, steps), as all accountants of Opacus keep it; equal steps in a
            row are one entry. A pass over a loader that is not Poisson-sampled is one step at rate 1.
        unsampled: whether there were such passes; answers are then upper bounds, and nothing is known from below.
        checked: whether the engine of this module made the loader of every step; else no answer is called certified.

    Raises:
        InvalidInputError: an unknown adjacency.
    """

    history: list[Entry]
    unsampled: bool
    checked: bool

    def __init__(self, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> None:
        self.history = []
        self.unsampled = False
        self.checked = False
        self._adjacency = Adjacency.parse(adjacency)

    @property
    def adjacency(self) -> Adjacency:
        """The neighbouring relation of all answers."""
        return self._adjacency

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Record one step of the optimiser.

        Raises:
            InvalidInputError: a noise multiplier below 0, or a sample rate outside (0, 1].
        """
        noise = NOISE.check(number(noise_multiplier), "noise_multiplier")
        self._append(noise, RATE.check(number(sample_rate), "sample_rate"), 1)

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """The hook that records each step of an optimiser of Opacus: on one batch at this sample rate.

        The hook raises an UnsupportedError for a step on several batches. Opacus' own multiplies the rate by their
        number: that is the law of no such step, and costs less.
        """

        def record(optimizer: Any) -> None:
            check_accumulated(optimizer)
            self.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=sample_rate)

        return record

    def step_of_pass(self, noise: float, begun: int) -> None:
        """The first step of passes over a loader that is not Poisson-sampled: each is a step at rate 1.

        Raises:
            UnsupportedError: an adjacency under which nothing is proven of them.
        """
        if self.adjacency is not Adjacency.REPLACE_ONE:
            raise UnsupportedError(PASSES_ONLY.format(self.adjacency.value))
        self.unsampled = True
        self._append(noise, 1.0, begun)

    def lower(self, noise: float, lower: float, begun: int) -> None:
        """A later step of the same passes has less noise: that is what they cost from then on."""
        for index in reversed(range(len(self.history))):
            known, rate, steps = self.history[index]
            if (known, rate) == (noise, 1.0) and steps >= begun:
                self.history[index : index + 1] = [(noise, 1.0, steps - begun)] * (steps > begun)
                break
        # Where a state was loaded in between there is nothing to take back; the passes then count twice, never less.
        self._append(lower, 1.0, begun)

    def _append(self, noise: float, rate: float, steps: int) -> None:
        if self.history and tuple(self.history[-1][:2]) == (noise, rate):
            steps += self.history.pop()[2]
        self.history.append((noise, rate, steps))

    def get_epsilon(self, delta: float, *, poisson: bool = True, **kwargs: Any) -> float:
        """What was spent so far: the certified upper end of epsilon; infinite after a step without noise.

        Args:
            delta: target, in [0, 1).
            poisson: must be true: how batches were made is for the engine to say, and no other number for the same
                steps is known here.
            kwargs: what other accountants of Opacus take (``alphas``, ``eps_error``, ...); there is nothing to choose
                here, and they are not used.

        Raises:
            InvalidInputError: delta outside its domain.
            UnsupportedError: ``poisson`` is false.
        """
        if not poisson:
            raise UnsupportedError(
                "poisson must be True: no bound is proven for the same steps on batches of another kind; for a "
                "shuffled loader use hockeystick.integrations.opacus.PrivacyEngine(adjacency='replace-one') with "
                "make_private(poisson_sampling=False), which counts its passes"
            )
        return self.bound(delta).upper

    def bound(self, delta: float, *, gap: float | None = None, proof: bool = False) -> Bound | UpperBound:
        """The certified interval that holds epsilon: see :meth:`hockeystick.Plan.epsilon`.

        Returns:
            An interval; after passes over a loader that is not Poisson-sampled an :class:`UpperBound`, as nothing is
            known of them from below. Both say what they assume. Of steps on a loader that nobody looked at, the
            guarantee of the interval is ``"if batches are Poisson"``, and a warning says so.

        Raises:
            InvalidInputError: delta outside its domain, or a history that is none.
        """
        if any(noise == 0 and steps for noise, _, steps in entries(self.history)):
            delta = domains.open_probability(delta, "delta", "the target delta")
            samplings = [NO_SAMPLING if rate == 1 else Poisson(rate) for _, rate, _ in entries(self.history)]
            nothing = Bound(0.0, math.inf, math.inf, reason="a step without noise: noise_multiplier 0")
            return told(nothing, samplings, delta)
        found = self.plan.epsilon(delta, gap=gap, proof=proof)
        if not self.checked:
            warnings.warn(UNSEEN, stacklevel=2)  # which Python shows once
        if not self.unsampled:
            return found if self.checked else replace(found, guarantee="if batches are Poisson")
        reason = "; ".join(filter(None, (NO_AMPLIFICATION, found.reason)))
        above = UpperBound(found.upper, found.accountant, found.direction, reason=reason)
        return told(above, self.plan.samplings, delta)

    @property
    def plan(self) -> Plan:
        """The plan that the history adds up to; with a round for each pass over a loader that is not Poisson-sampled.

        Raises:
            InvalidInputError: a step without noise.
        """
        return plan_from_history(self.history, self.adjacency)

    def __len__(self) -> int:
        """The number of steps of the optimiser, a pass over a loader that is not Poisson-sampled being one."""
        return sum(steps for _, _, steps in self.history)

    @classmethod
    def mechanism(cls) -> str:
        """The name under which Opacus knows the accountant."""
        return MECHANISM

    def state_dict(self, destination: Any = None) -> Any:
        """The state of an accountant of Opacus, the adjacency, and ``unsampled`` and ``checked``."""
        destination = super().state_dict(destination)
        destination |= {"adjacency": self.adjacency.value, "unsampled": self.unsampled, "checked": self.checked}
        return destination

    def load_state_dict(self, state_dict: Any) -> None:
        """Replace the history by a saved one, whole or not at all.

        A state without an adjacency is one of add-or-remove, and of Poisson-sampled steps alone, at whose loader nobody
        looked.

        Raises:
            InvalidInputError: (a ``ValueError``) it is not what ``state_dict`` gives, that of another accountant, or of
                another adjacency.
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
        adjacency = Adjacency.parse(state_dict.get("adjacency", Adjacency.ADD_OR_REMOVE))
        if adjacency is not self.adjacency:
            raise InvalidInputError(
                f"adjacency must be {self.adjacency.value!r}, the accountant's own; received a state of "
                f"{adjacency.value!r}: make the engine with adjacency={adjacency.value!r}",
                "adjacency",
            )
        flags = {key: state_dict.get(key, False) for key in ("unsampled", "checked")}
        for key, flag in flags.items():
            if not isinstance(flag, bool):
                raise InvalidInputError(f"{key} must be true or false; received {domains.shown(flag)}", key)
        self.history, self.unsampled = list(entries(state_dict["history"])), flags["unsampled"]
        self.checked = self.checked and flags["checked"]


class PrivacyEngine(OpacusPrivacyEngine):
    """Opacus' engine with certified accounting and calibration.

    It differs from Opacus' own in three places: ``make_private_with_epsilon`` finds the least noise for which the
    certified upper end of epsilon meets the target after ``epochs * len(data_loader)`` steps (Opacus counts
    ``int(epochs / sample_rate)``, which may be one short, and stops within 0.01 of the target); steps recorded before
    count towards the target; and with ``poisson_sampling=False`` it accounts for the loader that there is, or refuses.

    Args:
        accountant: ``"hockeystick"``.
        secure_mode: as for Opacus.
        adjacency: neighbouring relation of all answers: ``"add-or-remove"`` (default), ``"add"``, ``"remove"`` or
            ``"replace-one"``, the one under which something is proven of loaders that are not Poisson-sampled.

    Raises:
        InvalidInputError: any other accountant, or an unknown adjacency.
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
                f"accountant must be {MECHANISM!r}; received {domains.shown(accountant)}; for that one use "
                "opacus.PrivacyEngine",
                "accountant",
            )
        super().__init__(accountant=accountant, secure_mode=secure_mode)
        self.accountant = HockeystickAccountant(adjacency)
        self.accountant.checked = True

    def make_private(self, *, data_loader: Any, poisson_sampling: bool = True, **kwargs: Any) -> Any:
        """Module, optimizer and loader made private by Opacus' engine, with its arguments.

        With ``poisson_sampling=False`` each pass over the loader that is returned counts as one unsampled round,
        training or not: what is evaluated on the same records takes a loader of its own. A warning tells of a sampler
        that Opacus replaces by another law than a shuffle of all records.

        Raises:
            UnsupportedError: ``poisson_sampling`` is false, and the adjacency is not ``"replace-one"`` or it is not
                known that the loader has each record in at most one batch of a pass.
        """
        if poisson_sampling:
            if (sampler := replaced(data_loader)) is not None:
                records = len(data_loader.dataset)
                warnings.warn(
                    f"Opacus replaces {sampler} by Poisson batches of all {records} records, "
                    f"{records / len(data_loader):.6g} on average: weights, draws and subsets of the sampler are gone; "
                    "make the loader of the records that are meant, with shuffle=True",
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
        """Module, optimizer and loader made private with the least noise that is certified to meet the target.

        Args:
            data_loader: as for Opacus.
            target_epsilon: target, greater than 0; steps recorded before count.
            target_delta: target, in (0, 1).
            epochs: passes over the loader still to come.
            kwargs: everything else that ``make_private`` takes; ``epsilon_tolerance`` has no use here.

        Raises:
            InvalidInputError: a value outside its domain, or a target that cannot be met.
            UnsupportedError: a loader that :meth:`make_private` refuses.
        """
        kwargs.pop("epsilon_tolerance", None)
        batches = len(data_loader)
        epochs = domains.POSITIVE.of("passes over the loader").check(epochs, "epochs")
        rate, steps = 1 / batches, math.ceil(epochs * batches)
        if not kwargs.get("poisson_sampling", True):
            self._check_passes(data_loader)
            rate, steps = 1.0, math.ceil(epochs)
        noise = least_noise_multiplier(target_epsilon, target_delta, rate, steps, spent=self.accountant.plan)
        return self.make_private(data_loader=data_loader, noise_multiplier=noise, **kwargs)

    def _check_passes(self, data_loader: Any) -> None:
        if self.accountant.adjacency is not Adjacency.REPLACE_ONE:
            raise UnsupportedError(PASSES_ONLY.format(self.accountant.adjacency.value))
        check_loader(data_loader)


register_accountant(MECHANISM, HockeystickAccountant, force=True)
