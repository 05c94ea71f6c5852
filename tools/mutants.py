"""Charges dropped, halved and turned round one at a time: ``make mutants``. Every one has to make a test fail.

``tests/mutants/*.toml`` hold the entries::

    [[mutant]]
    name = "the mass lost above the window is not charged"   # unique over all files
    at = "sums.GridSum.log_delta"                            # as many last parts of the name as tell it apart
    old = "np.logaddexp(log_value, self.log_lost)"           # found exactly once in the text of that definition
    new = "log_value"
    tests = ["tests/engines/test_grid_laws.py::test_lost_mass"]      # the nearest tests, as pytest is told of them

``at`` names a definition: a function, a method, a class, or a constant of a module or class. First the named tests
have to pass on the code as it is. Then each mutant is written into a copy of the working tree and its tests are run
there: it is killed if one of them fails. Exit status 1 if any is left alive, or if an entry is no longer right.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
ENTRIES = ROOT / "tests" / "mutants"
PACKAGE = Path("src") / "hockeystick"
COPIED = ("src", "tests", "tools", "docs", "examples", "README.md", "pyproject.toml")
KEYS = {"name": str, "at": str, "old": str, "new": str, "tests": list}
SECONDS = 600.0  # after which a run of tests is given up: a mutant may have made a search endless
TOGETHER = 30  # tests that may take that long between them as the code is, where all are run before the first mutant
PASSED, FAILED = 0, 1  # exit statuses of pytest; anything else is an entry to mend


class EntryError(ValueError):
    """An entry that does not say what to change."""


@dataclass(frozen=True)
class Mutant:
    """One change to the code, and the tests that have to notice it."""

    name: str
    at: str
    old: str
    new: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """The file of a mutant, relative to the root, and its text with the change made."""

    path: Path
    text: str


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: the exit status of pytest (``None``: it did not end), and the last thing it said."""

    mutant: Mutant
    status: int | None
    said: str

    @property
    def killed(self) -> bool:
        """Whether a test failed."""
        return self.status == FAILED

    @property
    def verdict(self) -> str:
        """In one line."""
        if self.killed:
            return f"killed: {self.mutant.name}"
        if self.status == PASSED:
            return f"SURVIVED: {self.mutant.name}"
        why = "the tests did not end" if self.status is None else f"pytest ended with status {self.status}"
        return f"BROKEN: {self.mutant.name}: {why}"


def read(folder: Path = ENTRIES) -> list[Mutant]:
    """Every entry, by file and place.

    Raises:
        EntryError: a key is missing, unknown or of the wrong type, a name is there twice, or nothing is changed.
    """
    found: dict[str, Mutant] = {}
    for path in sorted(folder.glob("*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        if set(content) != {"mutant"}:
            raise EntryError(f"{path.name}: only [[mutant]] tables are accepted; received {sorted(content)}")
        for entry in content["mutant"]:
            mutant = _entry(path.name, entry)
            if mutant.name in found:
                raise EntryError(f"{path.name}: {mutant.name!r} is there twice")
            found[mutant.name] = mutant
    return list(found.values())


def _entry(file: str, entry: Mapping[str, object]) -> Mutant:
    name = entry.get("name", "an entry without a name")
    if set(entry) != set(KEYS) or not all(isinstance(entry[key], kind) for key, kind in KEYS.items()):
        raise EntryError(f"{file}: {name!r} needs {', '.join(KEYS)}, texts but for the list of tests")
    tests = entry["tests"]
    if not isinstance(tests, list) or not tests or not all(isinstance(test, str) for test in tests):
        raise EntryError(f"{file}: {name!r} names no tests")
    at, old, new = (str(entry[key]) for key in ("at", "old", "new"))
    if old == new or not old:
        raise EntryError(f"{file}: {name!r} changes nothing")
    return Mutant(str(name), at, old, new, tuple(tests))


def located(mutant: Mutant, root: Path = ROOT) -> Change:
    """The change that a mutant makes.

    Raises:
        EntryError: no definition or more than one has that name, the old text is not there exactly once, or what
            results is not Python.
    """
    parts = tuple(mutant.at.split("."))
    places = [place for name, place in _definitions(root).get(parts[-1], ()) if name[-len(parts) :] == parts]
    if len(places) != 1:
        raise EntryError(f"{mutant.name!r}: {mutant.at} names {len(places)} definitions, not one")
    path, start, end = places[0]
    lines = (root / path).read_text(encoding="utf-8").splitlines(keepends=True)
    before, within, after = ("".join(part) for part in (lines[:start], lines[start:end], lines[end:]))
    if within.count(mutant.old) != 1:
        raise EntryError(f"{mutant.name!r}: the old text is {within.count(mutant.old)} times in {mutant.at}, not once")
    changed = within.replace(mutant.old, mutant.new)
    try:
        ast.parse("if True:\n" + changed if changed[:1].isspace() else changed)  # a definition of a class is indented
    except SyntaxError as error:
        raise EntryError(f"{mutant.name!r}: the new text is not Python: {error}") from error
    return Change(path, before + changed + after)


@cache
def _definitions(root: Path) -> dict[str, list[tuple[tuple[str, ...], tuple[Path, int, int]]]]:
    """By last name: the parts of the name of each definition, its file, its first line and the line after it."""
    found: dict[str, list[tuple[tuple[str, ...], tuple[Path, int, int]]]] = {}
    for path in sorted((root / PACKAGE).rglob("*.py")):
        module = path.relative_to(root / PACKAGE).with_suffix("").parts
        for name, node in _named(ast.parse(path.read_text(encoding="utf-8"))):
            first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
            assert node.end_lineno is not None
            place = (path.relative_to(root), first - 1, node.end_lineno)
            found.setdefault(name[-1], []).append(((*module, *name), place))
    return found


def _named(parent: ast.AST) -> Iterator[tuple[tuple[str, ...], ast.stmt]]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield (node.name,), node
            for inner, below in _named(node):
                yield (node.name, *inner), below
        elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(parent, ast.Module | ast.ClassDef):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)):
                yield (name,), node


def sampled(mutants: Sequence[Mutant], count: int) -> list[Mutant]:
    """As many mutants as asked, the same from run to run, and little changed by an entry more."""
    return sorted(mutants, key=lambda mutant: hashlib.sha256(mutant.name.encode()).digest())[:count]


@contextmanager
def copied() -> Iterator[Path]:
    """A copy of the working tree, in which mutants can be written; removed at the end."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        root = Path(name)
        for part in COPIED:
            if (ROOT / part).is_dir():
                shutil.copytree(
                    ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__", "_build", "generated")
                )
            else:
                shutil.copy(ROOT / part, root / part)
        yield root


def tried(mutant: Mutant, root: Path) -> Outcome:
    """What the tests of a mutant say, in a copy of the working tree, which is put right again."""
    change = located(mutant, root)
    path = root / change.path
    original = path.read_text(encoding="utf-8")
    try:
        _write(path, change.text)
        return Outcome(mutant, *checked(mutant.tests, root))
    finally:
        _write(path, original)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    # a stale byte code would be taken for this text if both have the same size and second
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


def checked(tests: Sequence[str], root: Path, seconds: float = SECONDS) -> tuple[int | None, str]:
    """Exit status of pytest on the code under that root, ``None`` if it did not end in time, and its last lines."""
    options = ("-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-profile=ci")
    command = [sys.executable, "-m", "pytest", *options, *tests]
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    try:
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, "\n".join((done.stdout + done.stderr).splitlines()[-12:])


def outcomes(mutants: Sequence[Mutant], jobs: int) -> Iterator[Outcome]:
    """In the order of the mutants; so many at a time, each in a copy of its own."""
    roots: SimpleQueue[Path] = SimpleQueue()

    def one(mutant: Mutant) -> Outcome:
        root = roots.get()
        try:
            return tried(mutant, root)
        finally:
            roots.put(root)

    with _several(jobs) as made, ThreadPoolExecutor(jobs) as pool:
        for root in made:
            roots.put(root)
        yield from pool.map(one, mutants)


@contextmanager
def _several(count: int) -> Iterator[list[Path]]:
    if count == 0:
        yield []
        return
    with copied() as first, _several(count - 1) as others:
        yield [first, *others]


def main() -> int:
    """Try the mutants whose names are asked for, and say which are left alive."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="?", default="", help="a regular expression: only mutants whose name it matches")
    parser.add_argument("--sample", type=int, metavar="N", help="only N of them")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many at a time (default: 2)")
    parser.add_argument("--why", action="store_true", help="show which test failed of those killed, too")
    asked = parser.parse_args()
    mutants = [mutant for mutant in read() if re.search(asked.names, mutant.name)]
    mutants = mutants if asked.sample is None else sampled(mutants, asked.sample)
    for mutant in mutants:
        located(mutant)  # every entry before the first is tried
    named = sorted({test for mutant in mutants for test in mutant.tests})
    print(f"{len(mutants)} mutants, {len(named)} tests; the tests on the code as it is", flush=True)
    if not mutants:
        return 1
    with copied() as root:
        status, said = checked(named, root, SECONDS * max(len(named) / TOGETHER, 1))
    if status != PASSED:
        print(f"{said}\nthe tests have to pass on the code as it is", file=sys.stderr)
        return 1
    left = []
    for number, outcome in enumerate(outcomes(mutants, asked.jobs), 1):
        print(f"{number}/{len(mutants)} {outcome.verdict}", flush=True)
        if asked.why or outcome.status not in (PASSED, FAILED):
            print(outcome.said, flush=True)
        if not outcome.killed:
            left.append(outcome)
    print(f"\n{len(mutants) - len(left)} of {len(mutants)} killed")
    for outcome in left:
        print(f"{outcome.verdict}\n    at {outcome.mutant.at}; tried {' '.join(outcome.mutant.tests)}")
    return 1 if left else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except EntryError as error:
        sys.exit(f"error: {error}")
