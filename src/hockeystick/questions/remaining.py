"""The number of further rounds that may be run after a plan within a target epsilon."""

from __future__ import annotations

from dataclasses import dataclass

from hockeystick.plan.plan import Plan
from hockeystick.plan.round import Round
from hockeystick.plan.sampling import NoSampling
from hockeystick.questions.calibration import calibrate
from hockeystick.questions.parameters import Parameter
from hockeystick.questions.targets import Epsilon
from hockeystick.values.bounds import Answer
from hockeystick.values.domains import MAX_COUNT
from hockeystick.values.errors import InvalidInputError, UnreachableError


@dataclass(frozen=True, slots=True)
class Remaining:
    """Number of further rounds that fit a target, and the cost of the plan without them, with them, and with one more.

    Attributes:
        count: largest number of further units within the target.
        unit: ``"epochs"``, ``"steps"`` or ``"rounds"``.
        more: one unit, as a round.
        spent: cost of the plan as it is.
        achieved: total cost with ``count`` more units.
        beside: total cost with ``count + 1`` more units.
        target: target epsilon and delta.
    """

    count: int
    unit: str
    more: Round
    spent: Answer
    achieved: Answer
    beside: Answer
    target: Epsilon


def remaining(plan: Plan, epsilon: float, delta: float, more: Round | None = None) -> Remaining:
    """Return the largest number of further epochs (or steps) that keeps a plan within (epsilon, delta).

    Args:
        plan: the plan so far.
        epsilon: the target epsilon.
        delta: the target delta.
        more: round to repeat; by default the plan's own round, if the plan has one kind.

    Raises:
        InvalidInputError: a value is outside its domain, or ``more`` is missing though there are several kinds of
            rounds.
        UnsupportedError: a round has no proved dominating pair.

    >>> from hockeystick import dp_sgd
    >>> plan = dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60)
    >>> found = remaining(plan, 3.0, 1e-5)
    >>> print(f"{found.count} {found.unit}: {found.achieved}; one more: {found.beside}")
    30 epochs: 2.98323 to 2.98324 (certified); one more: 3.00161 to 3.00162 (certified)
    """
    target = Epsilon(epsilon, delta)
    one = _unit(plan, more)
    steps = "steps" if one.steps == 1 and one.sampling != NoSampling() else "rounds"
    unit = "epochs" if one.epochs is not None else steps

    def extended(count: float) -> Plan:
        return plan.with_rounds([*plan.rounds, one * int(count)]) if count else plan

    most = max((MAX_COUNT - plan.steps) // max(one.steps, 1) - 1, 0)  # so that one more round is still valid
    own = next((item for item in plan.rounds if item.mechanism == one.mechanism), one)
    start = min(max(own.count // max(one.count, 1), 1), most)
    free = Parameter(unit, costs=True, least=0, most=most, whole=True, start=start)
    spent = plan.epsilon(delta)
    try:
        found = calibrate(extended, free, target)
    except UnreachableError:
        return Remaining(0, unit, one, spent, spent, extended(1).epsilon(delta), target)
    count = int(found.value)
    beside = extended(count + 1).epsilon(delta) if found.beside is None else found.beside[1]
    # the search's own answers are returned: if asked again, a question might have less work left
    return Remaining(count, unit, one, spent, found.achieved if count else spent, beside, target)


def _unit(plan: Plan, more: Round | None) -> Round:
    """Return the unit to repeat: one epoch if the round has epochs, otherwise one run of the round."""
    if more is None:
        if len(plan.kinds) != 1:
            raise InvalidInputError(
                f"the plan has {len(plan.kinds)} kinds of rounds; give a plan with only the round to repeat (--more "
                "FILE)",
                "more",
            )
        more = plan.rounds[0]
    return more.changed(count=1) if more.epochs is None else more.changed(epochs=1)
