"""An accountant that is stepped during training and answers for the steps so far.

The history lists the steps in order; a run of equal steps is one item with a count. An answer is bit-identical to the
answer for the plan of the history, however steps and questions alternated, and wherever the state was saved and loaded.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from hockeystick.plan.dp_sgd import noised
from hockeystick.plan.keywords import named_arguments
from hockeystick.plan.mechanisms.gaussian import Gaussian
from hockeystick.plan.plan import Plan
from hockeystick.plan.round import Round
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.questions.remaining import remaining
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.bounds import Bound, DeltaBound
from hockeystick.values.domains import shown, unmet, whole
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.outward import html_table

if TYPE_CHECKING:
    from hockeystick.plan.profile import Profile

RECORDING = threading.RLock()
"""Lock held while a step is recorded, so that none is lost if several threads step one accountant.

All accountants share it, since one with its own lock could not be pickled.
"""

STATE_KEYS = ("adjacency", "history")
"""Keys of an accountant's saved state."""


class Accountant:
    """Accountant that counts the steps of a training run and bounds their privacy.

    The bounds are valid if the parameters of a step do not depend on the results of earlier steps: they are fixed
    beforehand, or a function of the step's number. Parameters chosen after seeing private results need a privacy
    filter.

    Args:
        adjacency: ``"add-or-remove"`` (default), ``"add"``, ``"remove"``, ``"replace-one"`` or ``"zero-out"``.

    Raises:
        InvalidInputError: the adjacency is unknown.

    >>> accountant = Accountant()
    >>> for _ in range(1000):
    ...     accountant.step(noise_multiplier=1.0, sample_rate=0.01)
    >>> len(accountant), len(accountant.history)
    (1000, 1)
    >>> print(accountant.epsilon(delta=1e-6))
    2.12451 to 2.12452 (certified)
    """

    def __init__(self, adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE) -> None:
        self._adjacency = Adjacency.parse(adjacency)
        self._history: list[Round] = []

    def __repr__(self) -> str:
        steps = len(self)
        return f"{type(self).__name__}({self._adjacency.value!r}: {steps} step{'s' if steps != 1 else ''} taken)"

    def _repr_html_(self) -> str:
        """Return the plan of the steps as notebooks show it."""
        return html_table(repr(self), []) if not self._history else self.plan._repr_html_()

    def __copy__(self) -> Self:
        """Return an independent copy."""
        other = self.__class__.__new__(self.__class__)
        other.__dict__.update(self.__dict__)
        other._history = list(self._history)
        return other

    @named_arguments
    def step(
        self,
        item: Round | None = None,
        *,
        noise_multiplier: float | None = None,
        sample_rate: float | None = None,
        count: int = 1,
    ) -> None:
        """Record one step, or ``count`` equal ones.

        Args:
            item: any round; its count is multiplied by ``count``. For a step of DP-SGD, give ``noise_multiplier`` and
                ``sample_rate`` instead.
            noise_multiplier: standard deviation of the noise / clipping norm; 0 for a step without noise, after which
                epsilon is infinite.
            sample_rate: probability that a record enters the batch.
            count: number of steps.

        Raises:
            InvalidInputError: both or neither of a round and a step of DP-SGD are given, or a value is invalid.
        """
        if item is None:
            if noise_multiplier is None or sample_rate is None:
                raise InvalidInputError(
                    "a step needs noise_multiplier and sample_rate, or a Round; received "
                    f"noise_multiplier {shown(noise_multiplier)}, sample_rate {shown(sample_rate)}",
                    "noise_multiplier" if noise_multiplier is None else "sample_rate",
                )
            item = Round(noised(noise_multiplier), Poisson(sample_rate))
        elif noise_multiplier is not None or sample_rate is not None:
            raise InvalidInputError("give either a Round or noise_multiplier and sample_rate; received both", "item")
        elif not isinstance(item, Round):
            raise InvalidInputError(f"a step must be a Round; received {shown(item)}", "item")
        if type(count) is not int or count != 1:
            item = item * whole(count, "count", "number of equal steps")
        if not item.count:
            return
        with RECORDING:
            joined = self._history[-1].joined(item) if self._history else None
            if joined is not None:
                self._history[-1] = joined
            else:
                self._history.append(item)

    @property
    def history(self) -> tuple[Round, ...]:
        """Steps so far, in order; equal steps in a row are one round with a count."""
        return tuple(self._history)

    @property
    def plan(self) -> Plan:
        """Plan of the history."""
        return Plan(self._history, self._adjacency)

    def profile(self) -> Profile:
        """Return the privacy profile of the steps so far: see :meth:`hockeystick.Plan.profile`."""
        return self.plan.profile()

    def __len__(self) -> int:
        """Return the number of steps so far."""
        return sum(item.steps for item in self._history)

    @named_arguments
    def epsilon(self, delta: float, *, gap: float | None = None, proof: bool = False) -> Bound:
        """Return epsilon of the steps so far, as :meth:`Plan.epsilon` does; for its other options use :attr:`plan`.

        Args:
            delta: delta, in [0, 1).
            gap: requested relative width of the interval.
            proof: True to prove the interval by ball arithmetic, or else refuse.

        Raises:
            InvalidInputError: an option is unknown, or a value is outside its domain.

        >>> accountant = Accountant()
        >>> for number in range(50):
        ...     accountant.step(noise_multiplier=1 + 0.01 * number, sample_rate=0.05)
        >>> print(accountant.epsilon(1e-6))
        2.33234 to 2.33235 (certified)
        """
        return self.plan.epsilon(delta, gap=gap, proof=proof)

    @named_arguments
    def delta(self, epsilon: float, *, gap: float | None = None, proof: bool = False) -> DeltaBound:
        """Return delta of the steps so far: see :meth:`Plan.delta`."""
        return self.plan.delta(epsilon, gap=gap, proof=proof)

    def remaining(self, *, noise_multiplier: float, sample_rate: float, epsilon: float, delta: float) -> int:
        """Return the largest number of further steps at these settings that keeps the whole within (epsilon, delta).

        With one step more, the certified upper end exceeds the target. The number is 0 if no step fits. If answers near
        the number are wide because the work limit was reached (see their ``reason``), it is the largest number
        confirmed, and a larger one may fit.

        Args:
            noise_multiplier: standard deviation of the noise / clipping norm of the further steps.
            sample_rate: probability that a record enters the batch of a further step.
            epsilon: target epsilon.
            delta: target delta.

        Raises:
            InvalidInputError: a value is outside its domain.

        >>> accountant = Accountant()
        >>> accountant.step(noise_multiplier=1.0, sample_rate=0.01, count=1000)
        >>> more = accountant.remaining(noise_multiplier=1.0, sample_rate=0.01, epsilon=3.0, delta=1e-6)
        >>> accountant.step(noise_multiplier=1.0, sample_rate=0.01, count=more)
        >>> print(more, accountant.epsilon(1e-6))
        1061 2.99958 to 2.99959 (certified)
        >>> accountant.step(noise_multiplier=1.0, sample_rate=0.01)
        >>> print(accountant.epsilon(1e-6))
        3.00030 to 3.00031 (certified)
        """
        step = Round(Gaussian(noise_multiplier), Poisson(sample_rate))
        return remaining(self.plan, epsilon, delta, step).count

    def state_dict(self) -> dict[str, Any]:
        """Return the state for a checkpoint, everything needed to continue elsewhere, in JSON types.

        >>> accountant = Accountant()
        >>> accountant.step(noise_multiplier=1.0, sample_rate=0.01, count=3)
        >>> other = Accountant()
        >>> other.load_state_dict(accountant.state_dict())
        >>> other.history == accountant.history
        True
        """
        entries = [Plan([item], self._adjacency).to_dict()["round"][0] for item in self._history]
        return {"adjacency": self._adjacency.value, "history": entries}

    def load_state_dict(self, state: Any) -> None:
        """Replace the history and the adjacency by saved ones, completely or not at all.

        Raises:
            InvalidInputError: the state is not a result of :meth:`state_dict`; the message names the key.
        """
        if not isinstance(state, Mapping) or set(state) != set(STATE_KEYS):
            raise InvalidInputError(
                f"the state must be a result of state_dict(), with the keys {' and '.join(map(repr, STATE_KEYS))}; "
                f"received {shown(list(state) if isinstance(state, Mapping) else state)}",
                "state",
            )
        adjacency = Adjacency.parse(state["adjacency"])
        if not isinstance(state["history"], list | tuple):
            raise unmet("history", "must be a list of rounds", state["history"])
        history = [Plan.from_dict({"round": [entry]}).rounds[0] for entry in state["history"]]
        self._adjacency, self._history = adjacency, history
