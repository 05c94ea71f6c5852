"""The commands that README.md and the documentation show, and what they print.

``make readme`` runs every ``$ hockeystick ...`` and ``$ make demo`` in a ``console`` block and writes what it prints
back under it; ``tests/test_readme.py`` compares.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "roads").glob("*.md")))
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
PROMPT = "$ "


def blocks(page: str) -> list[str]:
    """The console blocks of a page that show a command we run."""
    return [block for block in BLOCK.findall(page) if any(_arguments(line) for line in block.splitlines())]


def printed(block: str) -> str:
    """The block with what its commands print now."""
    lines: list[str] = []
    ours = False
    for line in block.splitlines():
        arguments = _arguments(line)
        if line.startswith(PROMPT):
            ours = arguments is not None
        if arguments is not None:
            lines += [line, *_output(arguments).splitlines()]
        elif not ours:
            lines.append(line)
    return "".join(line.rstrip() + "\n" for line in lines)


def _arguments(line: str) -> tuple[str, ...] | None:
    """What to run for a line, if it is a command of ours."""
    if line == f"{PROMPT}make demo":
        return (str(ROOT / "tools" / "demo.py"),)
    if line.startswith(f"{PROMPT}hockeystick "):
        return ("-m", *shlex.split(line.removeprefix(PROMPT), comments=True))
    return None


@cache
def _output(arguments: tuple[str, ...]) -> str:
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.stdout


def main() -> int:
    """Compare or rewrite the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="rewrite the pages in place")
    parser.add_argument("pages", nargs="*", type=Path, default=PAGES, help="all by default")
    given = parser.parse_args()
    write = given.write
    stale = 0
    for path in given.pages:
        page = path.read_text()
        fresh = BLOCK.sub(lambda match: printed(match[0]) if blocks(f"```console\n{match[0]}```") else match[0], page)
        if fresh != page:
            stale += 1
            print(f"{'rewritten' if write else 'stale'}: {path.name}")
            if write:
                path.write_text(fresh)
    return 0 if write else min(stale, 1)


if __name__ == "__main__":
    sys.exit(main())
