"""The checker that shares nothing with this package: where its one file is, and how it is run.

It stands in ``checker/`` of the sources; a wheel has it beside the package's modules, and nothing imports it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hockeystick.values.errors import InvalidInputError

NAME = "hockeystick_check.py"  # of the file, also beside a report
_PACKAGE = Path(__file__).parents[2]  # the folder that is imported
_PLACES = (_PACKAGE / NAME, _PACKAGE.parents[1] / "checker" / NAME)  # of a wheel; of the sources


def source() -> bytes:
    """The checker's file.

    Raises:
        InvalidInputError: it was left out of the installation.
    """
    return _place().read_bytes()


def checked(text: str) -> tuple[int, str]:
    """Run the checker on a report or a plan, in a process that sees the standard library alone.

    Args:
        text: the content of the file.

    Returns:
        its status (0: all proved, 3: not all, 4: not covered, 2: not readable), and the lines that it prints.

    Raises:
        InvalidInputError: the checker was left out of the installation.

    >>> checked('{"round": [{"mechanism": "laplace", "scale": 10}], "adjacency": "zero-out"}')
    (4, "not covered: adjacency 'zero-out'\\n")
    """
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "utf8", str(_place()), "-"],
        input=text.encode(),
        stdout=subprocess.PIPE,
        check=False,
    )
    return run.returncode, run.stdout.decode()


def _place() -> Path:
    for place in _PLACES:
        if place.exists():
            return place
    raise InvalidInputError(f"{NAME} is not where it was installed: install hockeystick again")
