"""Figures for use from Python: one or several plans in one figure, with a mark at the epsilon to quote.

Each function takes plans and returns a matplotlib figure. Notebooks show the figure, ``figure.savefig`` writes it to a
file, and :func:`hockeystick.plot.save` does so atomically. The extra ``plot`` installs matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any

from hockeystick.plan.plan import Plan
from hockeystick.plot.draw import drawn
from hockeystick.plot.panel import Panel
from hockeystick.plot.plans import LEAST_DELTA, POINTS, curve_panel, reach, steps_panel, tradeoff_panel
from hockeystick.plot.style import OTHERS
from hockeystick.values.domains import choice, cut, shown
from hockeystick.values.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PLANS = len(OTHERS)  # largest number of plans in one figure


def curve(
    *plans: Plan,
    delta: float | None = None,
    start: float | None = None,
    stop: float | None = None,
    points: int = POINTS,
    accountants: Sequence[str] = (),
    labels: Sequence[str] = (),
) -> Figure:
    """Draw certified bounds on delta against epsilon, with a mark at each plan's delta and the epsilon to quote.

    Args:
        plans: one to six plans.
        delta: delta of the marks; by default the plan's own delta, and no mark for a plan without one.
        start: least epsilon; 0 by default.
        stop: largest epsilon; by default large enough that delta falls to 1e-12 for every plan.
        points: number of points at which delta is computed.
        accountants: accountants whose answers are drawn with the band; for a single plan only.
        labels: names of the plans in the legend, one for each plan.

    Raises:
        InvalidInputError: the number of plans or of labels is wrong, or accountants are given with several plans.
        UnsupportedError: a round has no proved dominating pair, or an accountant has no answer.
        HockeystickError: matplotlib is missing.

    >>> import hockeystick as hs
    >>> figure = curve(hs.dp_sgd(1.0, 0.01, 1000, delta=1e-5), stop=3.0, points=5)  # doctest: +SKIP
    """
    _check(plans, labels, accountants)
    end = max(map(reach, plans)) if stop is None else stop  # all curves end where the longest one ends
    return _figure([curve_panel(plan, start, end, points, accountants, delta) for plan in plans], labels)


def steps(
    *plans: Plan,
    delta: float | None = None,
    points: int = POINTS,
    accountants: Sequence[str] = (),
    labels: Sequence[str] = (),
) -> Figure:
    """Draw epsilon against the number of rounds run, with a mark for the whole plan.

    Args:
        plans: one to six plans.
        delta: target delta; each plan's own by default.
        points: number of points at which epsilon is computed.
        accountants: accountants whose answers are drawn with the band; for a single plan only.
        labels: names of the plans in the legend, one for each plan.

    Raises:
        InvalidInputError: the number of plans or of labels is wrong, a plan has no delta, or the deltas differ.
        UnsupportedError: a round has no proved dominating pair, or an accountant has no answer.
        HockeystickError: matplotlib is missing.
    """
    _check(plans, labels, accountants)
    panels = [steps_panel(plan, delta, points, accountants) for plan in plans]
    if len({panel.ylabel for panel in panels}) > 1:
        raise InvalidInputError("the plans have different deltas, but a figure has one; pass delta", "delta")
    return _figure(panels, labels)


def tradeoff(*plans: Plan, logarithmic: bool = False, points: int = POINTS, labels: Sequence[str] = ()) -> Figure:
    """Draw certified bounds on the two error rates of the best attack against each other, compared with guessing.

    Args:
        plans: one to six plans.
        logarithmic: True to show the true-positive rate instead, on logarithmic axes, as is usual for attacks.
        points: number of false-positive rates.
        labels: names of the plans in the legend, one for each plan.

    Raises:
        InvalidInputError: the number of plans or of labels is wrong.
        UnsupportedError: the adjacency compares the two datasets in one direction only.
        HockeystickError: matplotlib is missing.
    """
    _check(plans, labels)
    return _figure([tradeoff_panel(plan, logarithmic, points) for plan in plans], labels)


FIGURES: dict[str, Callable[..., Any]] = {"curve": curve, "steps": steps, "tradeoff": tradeoff}
"""Figures by the names that ``plan.plot`` and the command line accept."""


def plotted(kind: str, *plans: Plan, **options: Any) -> Figure:
    """Draw a figure by name, for ``plan.plot`` and ``profile.plot``.

    Raises:
        InvalidInputError: the name or an option is unknown, or the figure refuses its arguments.
        UnsupportedError: no guarantee is proved for a round.
        HockeystickError: matplotlib is missing.
    """
    if kind not in list(FIGURES):
        raise InvalidInputError(choice("kind", kind, list(FIGURES)), "kind")
    taken = [key for key in signature(FIGURES[kind]).parameters if key != "plans"]
    for key in options:
        if key not in taken:
            raise InvalidInputError(
                f"the figure {kind!r} has no option {shown(key)}; its options are {', '.join(taken)}", key
            )
    figure: Figure = FIGURES[kind](*plans, **options)
    return figure


def _check(plans: Sequence[Plan], labels: Sequence[str], accountants: Sequence[str] = ()) -> None:
    for plan in plans:
        if not isinstance(plan, Plan):
            raise InvalidInputError(f"a figure takes plans; received {shown(plan)}", "plans")
    if not 1 <= len(plans) <= MOST_PLANS:
        raise InvalidInputError(f"a figure takes 1 to {MOST_PLANS} plans; received {len(plans)}", "plans")
    if isinstance(labels, str) or (labels and len(labels) != len(plans)):
        raise InvalidInputError(
            f"labels must have one label for each of {len(plans)} plans; received {shown(labels)}", "labels"
        )
    if len(plans) > 1 and accountants:
        raise InvalidInputError(
            "accountants can be drawn for a single plan only; leave them out of a figure of several"
        )


def _figure(panels: Sequence[Panel], labels: Sequence[str]) -> Figure:
    """Draw panels in one: the certified band of a single plan, or two lines for the lower and upper bounds of each."""
    first, named = panels[0], [literal(text) for text in labels]
    bands = [panel.bracket for panel in panels if panel.bracket is not None]  # every figure of a plan has one
    if len(bands) == 1:
        return drawn([replace(first, bracket=replace(bands[0], label=named[0])) if named else first])
    lines = list(first.lines)
    for number, band in enumerate(bands):
        label = named[number] if named else f"plan {number + 1}"
        unique = label if label not in named[:number] else f"{label} ({number + 1})"
        lines.append(replace(band, label=unique))
    ends = [panel.xlim for panel in panels if panel.xlim is not None]
    floors = [panel.ylim[0] for panel in panels if panel.ylim[0] is not None]
    low = min(floors, default=None)
    if low is not None and first.yscale == "log":  # the deepest plan sets the lower edge
        low = min(max(low, LEAST_DELTA / 3), max(floors))
    together = replace(
        first,
        lines=lines,
        bracket=None,
        xlim=(min(left for left, _ in ends), max(right for _, right in ends)),
        ylim=(low, first.ylim[1]),
        points=[point for panel in panels for point in panel.points],
    )
    return drawn([together])


def literal(text: str) -> str:
    """Return a text with its dollar signs escaped, since matplotlib would take the text between them for mathematics.

    >>> literal("a $b$")
    'a \\\\$b\\\\$'
    """
    return cut(str(text)).replace("$", "\\$")
