"""Location and execution of the checker, a single file that shares no code with this package.

The sources hold it in ``checker/``; a wheel holds it beside the package's modules. Nothing imports it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hockeystick.values.errors import InvalidInputError

NAME = "hockeystick_check.py"  # name of the file, also beside a report
_PACKAGE = Path(__file__).parents[2]  # the installed package
_PLACES = (_PACKAGE / NAME, _PACKAGE.parents[1] / "checker" / NAME)  # in a wheel; in the sources


def source() -> bytes:
    """Return the content of the checker's file.

    Raises:
        InvalidInputError: the installation lacks the checker.
    """
    return _place().read_bytes()


def checked(text: str) -> tuple[int, str]:
    """Run the checker on a report or a plan, in a process that can import only the standard library.

    Args:
        text: content of the file.

    Returns:
        The checker's exit status (0: all proved, 3: not all, 4: not covered, 2: not readable) and the lines it prints.
        Progress messages go to standard error if that is a terminal.

    Raises:
        InvalidInputError: the installation lacks the checker.

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
