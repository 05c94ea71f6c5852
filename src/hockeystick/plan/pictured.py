"""What plans and profiles ask of the floors above them: figures, the answers of all accountants side by side, and
derivatives.

A floor knows none that is above it. What draws, compares and differentiates is found by its name when somebody asks,
and this is the one place where that is done: everything else that a plan does it does itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from hockeystick.values.late import found

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hockeystick.plan.plan import Plan
    from hockeystick.values.bounds import Answer, Estimate

ABOVE = {
    "plotted": "hockeystick.plot.shown:plotted",
    "swept": "hockeystick.plot.sweeps:swept",
    "compared": "hockeystick.report.comparison:compared",
    "gradient": "hockeystick.questions.gradient:gradient",
}
"""What is found above, by the name under which it is asked for here."""


class Compared(Protocol):
    """What one accountant says of a plan: a row of a :class:`Comparison`."""

    @property
    def name(self) -> str:
        """The name of the accountant."""

    @property
    def answer(self) -> Answer | None:
        """Its number; ``None`` where it refuses the plan."""

    @property
    def reason(self) -> str | None:
        """Why it refuses the plan, or what is known to be wrong with its number; ``None`` otherwise."""

    @property
    def seconds(self) -> float:
        """The wall-clock time of the answer or the refusal."""


class Comparison(Protocol):
    """The answers of all accountants, certified intervals first; notebooks show it as a table."""

    def __iter__(self) -> Iterator[Compared]:
        """The rows, in the order of the table."""

    def __len__(self) -> int:
        """How many rows there are."""

    def __getitem__(self, name: str) -> Compared:
        """The row of an accountant."""

    def _repr_html_(self) -> str: ...


def figure_of(kind: str, *plans: Plan, **options: Any) -> Figure:
    """A figure of plans, see ``hockeystick.plot``."""
    figure: Figure = found(ABOVE["plotted"])(kind, *plans, **options)
    return figure


def sweep_figure(kind: str, sweep: Any, **options: Any) -> Figure:
    """A figure of a sweep, see ``hockeystick.plot``."""
    figure: Figure = found(ABOVE["swept"])(kind, sweep, **options)
    return figure


def comparison_of(plan: Plan, delta: float | None, epsilon: float | None) -> Comparison:
    """The answers of all accountants about a plan."""
    compared: Comparison = found(ABOVE["compared"])(plan, delta, epsilon)
    return compared


def gradient_of(plan: Plan, parameter: str, delta: float | None, epsilon: float | None) -> Estimate:
    """The derivative of what a plan costs by one of its parameters, which calibration knows by name."""
    estimate: Estimate = found(ABOVE["gradient"])(plan, parameter, delta=delta, epsilon=epsilon)
    return estimate
