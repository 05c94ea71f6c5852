"""Every answer in JSON carries beside its numbers the question, the plan, the version, its format and a checksum.

With these the answer can be computed again by whoever holds the file (``verify.py``). The checksum is no signature:
whoever changes a number can compute it anew. It notices the digits that a recomputation on another machine cannot hold
anybody to, and files that were damaged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from hockeystick.plan.plan import Plan
from hockeystick.values.formats import FORMAT
from hockeystick.values.version import __version__

CHECKSUM = "checksum"  # key of the checksum in an answer, which covers all other keys


def canonical(value: Any) -> str:
    """JSON in one form: keys sorted, no blanks, ASCII only, every number with the digits that give back its double.

    >>> canonical({"b": 1e-05, "a": [1]})
    '{"a":[1],"b":1e-05}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(value: Any) -> str:
    """The SHA-256 of the canonical JSON of a value, in hexadecimal.

    >>> digest({})[:8]
    '44136fa3'
    """
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()


def sealed(answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer with its format and, as its last key, the checksum of all other keys."""
    content = {"format": FORMAT, **{key: value for key, value in answer.items() if key != CHECKSUM}}
    return {**content, CHECKSUM: digest(content)}


def enveloped(kind: str, plan: Plan, asked: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """An answer in JSON that says what was asked, of which plan, and of which version.

    Args:
        kind: the name under which ``hockeystick verify`` knows how to compute it again.
        plan: what was asked about; for a calibration the plan that was found.
        asked: the question in values that JSON has, as the function behind ``kind`` takes it.
        body: the answer.

    >>> from hockeystick import dp_sgd
    >>> list(enveloped("epsilon", dp_sgd(1.0, 0.01, 10), {"delta": 1e-5}, {"epsilon": {"upper": 1.0}}))
    ['format', 'epsilon', 'answer', 'asked', 'plan', 'rounds', 'version', 'checksum']
    """
    about = {"answer": kind, "asked": dict(asked), "plan": plan.to_dict(), "rounds": plan.steps, "version": __version__}
    return sealed({**body, **about})
