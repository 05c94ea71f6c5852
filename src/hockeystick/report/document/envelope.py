"""The envelope of an answer in JSON: the keys for its question, plan, version, format and checksum.

``verify.py`` recomputes an answer from these keys. The checksum detects damaged files. It also detects edits of digits
that are too small for recomputation on another machine to detect. The checksum is not a signature: whoever edits a
number can also update the checksum.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from hockeystick.plan.plan import Plan
from hockeystick.values.formats import FORMAT
from hockeystick.values.version import __version__

CHECKSUM = "checksum"  # key of the checksum, which covers all other keys


def canonical(value: Any) -> str:
    """Return canonical JSON: sorted keys, no blanks, ASCII only, shortest digits that round-trip each double.

    >>> canonical({"b": 1e-05, "a": [1]})
    '{"a":[1],"b":1e-05}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON, in hexadecimal.

    >>> digest({})[:8]
    '44136fa3'
    """
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()


def sealed(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer with its format and, as the last key, the checksum of all other keys."""
    content = {"format": FORMAT, **{key: value for key, value in answer.items() if key != CHECKSUM}}
    return {**content, CHECKSUM: digest(content)}


def enveloped(kind: str, plan: Plan, asked: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer in JSON with its question, its plan and the version.

    Args:
        kind: kind of answer, by which ``hockeystick verify`` recomputes it.
        plan: plan of the question; for a calibration, the calibrated plan.
        asked: question as JSON values: keyword arguments of the function that computes answers of this kind.
        body: the numbers of the answer.

    >>> from hockeystick import dp_sgd
    >>> list(enveloped("epsilon", dp_sgd(1.0, 0.01, 10), {"delta": 1e-5}, {"epsilon": {"upper": 1.0}}))
    ['format', 'epsilon', 'answer', 'asked', 'plan', 'rounds', 'version', 'checksum']
    """
    about = {"answer": kind, "asked": dict(asked), "plan": plan.to_dict(), "rounds": plan.steps, "version": __version__}
    return sealed({**body, **about})
