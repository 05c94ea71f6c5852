"""The pages on moving from another library, run again: ``make test-moving``, or ``NAMES='autodp riskcal'`` for some.

Each page says in its first line what it runs with. That is installed into an environment of its own, under ``.moving``,
together with this library, and the examples of the page are run there. Nothing is installed twice: an environment is
kept until the first line of its page changes.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "moving"
HOME = ROOT / ".moving"
FIRST_LINE = re.compile(r"<!-- runs with: (.+) -->")
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input")


def requirements(page: Path) -> list[str]:
    """What a page runs with: arguments of ``pip install``.

    Raises:
        ValueError: its first line does not say.
    """
    found = FIRST_LINE.fullmatch(page.read_text(encoding="utf-8").partition("\n")[0])
    if found is None:
        raise ValueError(f"the first line of {page.name} does not say what the page runs with")
    return found[1].split()


def pages() -> list[Path]:
    """All pages with examples, in the order of their names."""
    return [page for page in sorted(PAGES.glob("*.md")) if page.stem != "index"]


def python(page: Path) -> Path:
    """The interpreter of the page's environment, which is made where it is not there yet."""
    home = HOME / page.stem
    interpreter, made = home / "bin" / "python", home / "made"
    wanted = " ".join(requirements(page))
    if not made.exists() or made.read_text(encoding="utf-8") != wanted:
        print(f"installing {wanted}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        subprocess.run([str(interpreter), *PIP, *requirements(page)], check=True)
        subprocess.run([str(interpreter), *PIP, "--editable", str(ROOT), "pytest"], check=True)
        made.write_text(wanted, encoding="utf-8")
    return interpreter


def passes(page: Path) -> bool:
    """Whether the examples of a page print what it shows."""
    asked = ["-m", "pytest", "-p", "no:cacheprovider", "-W", "ignore", str(page.relative_to(ROOT))]
    return subprocess.run([str(python(page)), *asked], cwd=ROOT, check=False).returncode == 0


def main() -> int:
    """Run the pages, all or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="pages, by their names; all if none")
    names = parser.parse_args().names
    chosen = [page for page in pages() if not names or page.stem in names]
    failed = [page.stem for page in chosen if not passes(page)]
    print(f"failed: {', '.join(failed)}" if failed else f"{len(chosen)} pages print what they show")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
