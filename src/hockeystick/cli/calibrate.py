"""Helpers of the command ``hockeystick calibrate``: they read its target, and fill in the parameter to be found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from hockeystick.cli.numbers import number
from hockeystick.cli.options import FLAGS, delta_of, names_of, number_option, with_options
from hockeystick.values.errors import InvalidInputError

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan
    from hockeystick.questions.parameters import Parameter
    from hockeystick.questions.targets import Target

TARGET_FLAGS = {
    "epsilon": "Target epsilon; needs a delta.",
    "delta": "Delta for --epsilon; overrides the plan's.",
    "mu": "Target mu of Gaussian differential privacy.",
    "advantage": "Target advantage of a membership attack.",
    "tpr": "Target true-positive rate of a membership attack; needs --fpr.",
    "fpr": "False-positive rate for --tpr.",
    "risk": "Target minimum error probability of a membership attack; see --prior.",
    "prior": "Prior probability for --risk; 0.5 by default.",
    "success": "Target success probability of reconstruction; needs --baseline.",
    "baseline": "Success probability of guessing without the output, for --success.",
}
"""Help of each target option, by its name without dashes."""

INSTEAD = {"sample_rate": "batch_size", "batch_size": "sample_rate", "steps": "epochs", "epochs": "steps"}
"""Parameter that replaces another parameter in ``hs.dp_sgd``; a plan has one of the two."""

target_options = with_options(
    *(number_option(f"--{key}", type=number(key), help=text) for key, text in TARGET_FLAGS.items())
)
"""Decorator that adds the options that describe a target."""


def chosen_target(given: Mapping[str, float | None], plan: Plan) -> Target:
    """Return the one target that the options describe.

    Raises:
        InvalidInputError: no target, several targets, or an option that does not belong to the target.
    """
    from dataclasses import MISSING, fields

    from hockeystick.report.calibration import TARGETS

    present = {key: value for key, value in given.items() if value is not None}
    kinds = {kind.name: kind for kind in TARGETS}
    named = [key for key in kinds if key in present]
    if len(named) != 1:
        received = ", ".join(f"--{key}" for key in present) or "none"
        raise InvalidInputError(f"give exactly one target: --{', --'.join(kinds)}; received {received}")
    name, kind = named[0], kinds[named[0]]
    keys = {item.name: item for item in fields(kind)}
    extra = [key for key in present if key not in keys]
    if extra:
        raise InvalidInputError(f"--{extra[0]} cannot be combined with --{name}; leave it out", extra[0])
    if name == "epsilon":
        present["delta"] = delta_of(plan, present.get("delta"))
    missing = [key for key, item in keys.items() if key not in present and item.default is MISSING]
    if missing:
        raise InvalidInputError(f"--{missing[0]} is missing: --{name} requires it", missing[0])
    return kind(**present)


def without_free(free: Iterable[Parameter], flags: dict[str, Any], what: str) -> dict[str, Any]:
    """Return the flags, with a placeholder for each free parameter so that a plan can be built from them.

    Args:
        free: parameters whose values the command itself determines.
        flags: values of the flags; ``None`` where absent.
        what: end of the error message about a flag that sets such a parameter, such as ``"is in --grid"``.

    Raises:
        InvalidInputError: a flag sets a free parameter, or its alternative (such as epochs for steps).
    """
    said = {key for key, value in flags.items() if value is not None}
    filled = dict(flags)
    for parameter in free:
        key = parameter.name.replace("-", "_")
        for each in (key, INSTEAD.get(key)):
            if each in said and key in FLAGS:
                flag, *others = names_of(each)
                named = f"{flag} ({', '.join(others)})" if others else flag
                raise InvalidInputError(
                    f"{named} would have no effect because {parameter.name} {what}; leave it out", each
                )
        if key in FLAGS and said:
            records = flags.get("dataset_size")
            start = parameter.start
            filled[key] = min(start, records) if key == "batch_size" and records is not None else start
    return filled
