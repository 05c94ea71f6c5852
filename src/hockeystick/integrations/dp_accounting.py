"""Integration with dp_accounting: a ``PrivacyAccountant`` with certified bounds, and plans made from its events.

    from hockeystick.integrations.dp_accounting import HockeystickAccountant as PLDAccountant

The accountant returns certified upper ends, computed from the plan ``accountant.plan``.
"""

from __future__ import annotations

import math
from typing import Any

from hockeystick.integrations.dp_events import (
    ADD_OR_REMOVE_ONE,
    PROBABILITY,
    NonPrivate,
    UnsupportedEventError,
    adjacency_of,
    items,
    to_plan,
)
from hockeystick.integrations.needed import missing
from hockeystick.plan.plan import Plan
from hockeystick.questions.stepper import Accountant
from hockeystick.values import domains

try:
    from dp_accounting import PrivacyAccountant
except ModuleNotFoundError as error:
    raise missing(error) from None

__all__ = ["HockeystickAccountant", "UnsupportedEventError", "to_plan"]


class HockeystickAccountant(PrivacyAccountant):
    """Accountant of dp_accounting that answers with certified upper ends.

    Args:
        neighboring_relation: ``ADD_OR_REMOVE_ONE`` (default), ``REPLACE_ONE`` or ``REPLACE_SPECIAL``. Under
            ``REPLACE_ONE``, noise is relative to the norm bound of one record, and a replacement moves a sum by twice
            that bound. ``REPLACE_SPECIAL`` replaces a record by one that contributes nothing; plans call this
            adjacency ``zero-out``.

    Raises:
        InvalidInputError: the relation is unknown.
    """

    def __init__(self, neighboring_relation: Any = ADD_OR_REMOVE_ONE) -> None:
        self._steps = Accountant(adjacency_of(neighboring_relation))
        self._non_private = False
        super().__init__(neighboring_relation)

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        try:
            found = list(items(event, self.neighboring_relation))
        except UnsupportedEventError as error:
            return self.CompositionErrorDetails(invalid_event=error.event, error_message=str(error))
        if do_compose:
            for item in found:
                if isinstance(item, NonPrivate):
                    self._non_private = True
                else:
                    self._steps.step(item, count=count)
        return None

    @property
    def plan(self) -> Plan:
        """Plan of all events composed so far; an event that accesses no data adds nothing."""
        return self._steps.plan

    def get_epsilon(self, target_delta: float) -> float:
        """Return the certified upper end of epsilon.

        Args:
            target_delta: delta in [0, 1]; at delta 1, epsilon is 0.

        Raises:
            InvalidInputError: delta is outside [0, 1].
        """
        delta = PROBABILITY.of("the target delta").check(target_delta, "target_delta")
        if self._non_private:
            return math.inf
        return 0.0 if delta == 1 else self.plan.epsilon(delta).quoted

    def get_delta(self, target_epsilon: float) -> float:
        """Return the certified upper end of delta.

        Args:
            target_epsilon: epsilon, 0 or greater; may be infinite.

        Raises:
            InvalidInputError: epsilon is below 0, or not a number.
        """
        if self._non_private:
            return 1.0
        if target_epsilon == math.inf:
            return 0.0  # no round of an event has infinite loss
        epsilon = domains.epsilon(target_epsilon, "target_epsilon", "the target epsilon")
        return self.plan.delta(epsilon).quoted
