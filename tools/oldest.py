"""The oldest releases that the package says it runs with, as constraints for pip: ``python tools/oldest.py``.

They are the lower bounds of the run-time dependencies in pyproject.toml, which is the one place where they are written.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def constraints(pyproject: Path = PYPROJECT) -> list[str]:
    """``numpy==1.26`` for each ``numpy>=1.26``.

    Raises:
        ValueError: a dependency that is not written as a name and a lower bound.
    """
    found = []
    for line in tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]["dependencies"]:
        name, separator, release = line.partition(">=")
        if not separator or not release or not set(release) <= set("0123456789."):
            raise ValueError(f"a dependency must be a name and a lower bound, name>=1.2; received {line!r}")
        found.append(f"{name.strip()}=={release}")
    return found


if __name__ == "__main__":
    print("\n".join(constraints()))
