"""Whether what would be released works for whoever installs it: ``make release-check``.

An sdist and, from it, a wheel are built and looked into: every file of the package is there, and nothing else. The
wheel is then installed into an empty environment, and used from a folder outside of the clone: a report and its
verification, all that README.md shows, the demonstration. What an extra would have brought is asked for without it, and
has to be refused in one line that says what to install; then the extra is installed, brings what it names and nothing
beside it, and is asked again. Two extras are only read: Opacus and dp_accounting bring torch and TensorFlow
Probability, and ``make test-integrations`` installs them.

The environment in which this runs has the packages ``build`` and ``twine``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import venv
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PACKAGE = "hockeystick"
ARTIFACTS = ("hockeystick/py.typed", "hockeystick/values/bibliography.toml")
"""Files of the package that are no Python and that it needs: the mark of types, and the list of sources."""

METADATA = ("METADATA", "RECORD", "WHEEL", "entry_points.txt")
"""All that a wheel has beside the package and the licences."""

GENERATED = ("PKG-INFO",)
"""All that an sdist has beside files of the repository."""

UNWANTED = re.compile(
    r"(^|/)(__pycache__|\.venv[^/]*|_build|generated|\.[a-z]+_cache|\.hypothesis|build|dist)(/|$)|\.pyc$"
)
"""What is made while working, and belongs into no release."""

RUN = ("--noise-multiplier", "1.1", "--batch-size", "256", "--dataset-size", "60000", "--epochs", "60")
QUESTION = (*RUN, "--delta", "1e-5")
"""A training that every accountant answers at once, as flags."""

IMPORTS = {
    "hockeystick.integrations.opacus": "opacus",
    "hockeystick.integrations.dp_accounting": "dp-accounting",
    "hockeystick.integrations.torch": "torch",
}
"""Modules that need a package of their own, and its name."""

SMALL = {"proof": ("epsilon", *QUESTION, "--proof"), "plot": ("plot", "curve", *RUN, "-o", "curve.svg")}
"""The extras that are installed here, and the command that needs each."""


class ReleaseError(Exception):
    """What is wrong with the release, in one line."""


@dataclass(frozen=True)
class Archive:
    """What is in an sdist or in a wheel.

    Attributes:
        names: its files, without the folder that an sdist has around them.
        text: its metadata.
    """

    names: frozenset[str]
    text: str

    @property
    def metadata(self) -> Message:
        """The metadata as headers."""
        return Parser().parsestr(self.text)


def sdist_content(path: Path) -> Archive:
    """What is in an sdist."""
    with tarfile.open(path) as opened:
        names = [member.name for member in opened.getmembers() if member.isfile()]
        around = names[0].split("/")[0] + "/"
        info = opened.extractfile(around + "PKG-INFO")
        assert info is not None
        return Archive(frozenset(name.removeprefix(around) for name in names), info.read().decode("utf-8"))


def wheel_content(path: Path) -> Archive:
    """What is in a wheel."""
    with zipfile.ZipFile(path) as opened:
        names = [name for name in opened.namelist() if not name.endswith("/")]
        info = next(name for name in names if name.endswith(".dist-info/METADATA"))
        return Archive(frozenset(names), opened.read(info).decode("utf-8"))


Project = dict[str, Any]
"""The table ``[project]`` of the project file."""


def check_wheel(wheel: Archive, files: Iterable[str], licences: Iterable[str]) -> None:
    """Hold the files of a wheel against those of the repository.

    Args:
        wheel: what is in it.
        files: the repository's files, relative to its root.
        licences: the files of licences that the project file lists.

    Raises:
        ReleaseError: a file is missing, or one too many.
    """
    files = tuple(files)
    package = {name.removeprefix("src/") for name in files if name.startswith(f"src/{PACKAGE}/")}
    package |= {f"{PACKAGE}/{Path(name).name}" for name in files if name.startswith("checker/")}
    info = next(name.split("/")[0] for name in wheel.names if ".dist-info/" in name)
    beside = (*METADATA, *(f"licenses/{name}" for name in licences))
    _same("the wheel", wheel.names, package | {f"{info}/{name}" for name in beside})
    for name in ARTIFACTS:
        if name not in wheel.names:
            raise ReleaseError(f"the wheel lacks {name}")


def check_sdist(sdist: Archive, files: Iterable[str]) -> None:
    """Hold the files of an sdist against those of the repository.

    Args:
        sdist: what is in it.
        files: the repository's files, relative to its root.

    Raises:
        ReleaseError: what no release needs is in it, or a file of the package, a test or a page is not.
    """
    known = set(files)
    superfluous = sorted(name for name in sdist.names if UNWANTED.search(name) or name not in known | {*GENERATED})
    if superfluous:
        raise ReleaseError(
            f"the sdist has {len(superfluous)} files that no release needs: {', '.join(superfluous[:5])}"
        )
    wanted = {
        name
        for name in known
        if name.split("/")[0] in ("src", "checker", "conformance", "tests", "tools", "examples", "docs")
    }
    missing = sorted(wanted - sdist.names)
    if missing:
        raise ReleaseError(f"the sdist lacks {len(missing)} files: {', '.join(missing[:5])}")


def check_metadata(wheel: Archive, project: Project) -> None:
    """Hold the metadata against the project file: version, requirements, those of each extra; and the README in them.

    Raises:
        ReleaseError: they differ, or the README has a relative link.
    """
    said = wheel.metadata
    extras = project["optional-dependencies"]
    wanted = {"": _bare(project["dependencies"], extras)}
    wanted |= {extra: _bare(items, extras) for extra, items in extras.items()}
    found: dict[str, set[str]] = {extra: set() for extra in ["", *said.get_all("Provides-Extra", [])]}
    for line in said.get_all("Requires-Dist", []):
        requirement, _, marker = line.partition(";")
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", marker)
        found[extra[1] if extra else ""] |= _bare([requirement], extras)
    if found != wanted:
        raise ReleaseError(f"the wheel requires {found}, the project file {wanted}")
    for key, value in (("Name", PACKAGE), ("Version", project["version"]), ("Requires-Python", ">=3.11")):
        if said[key] != value:
            raise ReleaseError(f"the wheel says {key}: {said[key]}, and not {value}")
    dead = re.search(r"\]\((?!https?:|#)([^)\s]+)\)", str(said.get_payload()))
    if dead:
        raise ReleaseError(f"on a package index a link to {dead[1]} leads nowhere; tools/addresses.py rewrites links")


def _bare(requirements: Iterable[str], extras: dict[str, list[str]]) -> set[str]:
    """Requirements in one spelling; in place of an extra of this package, what that extra requires."""
    found = [Requirement(item) for item in requirements]
    own = [extra for item in found if item.name == PACKAGE for extra in item.extras]
    return {str(item).lower() for item in found if item.name != PACKAGE}.union(*(_bare(extras[e], extras) for e in own))


def _same(what: str, found: Iterable[str], wanted: Iterable[str]) -> None:
    missing, more = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
    if missing:
        raise ReleaseError(f"{what} lacks {len(missing)} files: {', '.join(missing[:5])}")
    if more:
        raise ReleaseError(f"{what} has {len(more)} files too many: {', '.join(more[:5])}")


def repository_files() -> list[str]:
    """What git keeps of this repository, and what it would keep of what is new."""
    done = _run(["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"], ROOT)
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


@dataclass
class Environment:
    """An environment with nothing in it but pip, and a folder outside of the clone in which its programs run.

    Attributes:
        root: of the environment.
        folder: where programs run.
    """

    root: Path
    folder: Path
    installed: set[str] = field(default_factory=set)

    @classmethod
    def empty(cls, around: Path) -> Environment:
        """A new one."""
        venv.create(around / "venv", with_pip=True)
        folder = around / "elsewhere"
        folder.mkdir()
        made = cls(around / "venv", folder)
        made.installed = made.distributions()
        return made

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.root / "bin" / "python")

    def install(self, requirement: str) -> set[str]:
        """Install something, and hand back the names of the distributions that it brought."""
        before = self.distributions()
        quiet = ("--quiet", "--disable-pip-version-check", "--no-input")
        self.works([self.python, "-m", "pip", "install", *quiet, requirement])
        self.works([self.python, "-m", "pip", "check", "--disable-pip-version-check"])
        return self.distributions() - before

    def distributions(self) -> set[str]:
        """The names of the distributions in it."""
        code = "import importlib.metadata as m; print(*(d.metadata['Name'] for d in m.distributions()))"
        return {_canonical(name) for name in self.works([self.python, "-c", code]).split()}

    def reachable(self, names: Iterable[str]) -> set[str]:
        """The distributions in it that these need, directly or not, and these."""
        code = (
            "import importlib.metadata as m, re, sys\n"
            "left, seen = set(sys.argv[1:]), set()\n"
            "while left:\n"
            "    name = left.pop(); seen.add(name)\n"
            "    try: needs = m.requires(name) or []\n"
            "    except m.PackageNotFoundError: continue\n"
            "    found = {re.match(r'[\\w.-]+', one)[0] for one in needs if 'extra ==' not in one}\n"
            "    left |= {re.sub(r'[-_.]+', '-', one).lower() for one in found} - seen\n"
            "print(*seen)\n"
        )
        return set(self.works([self.python, "-c", code, *names]).split()) & self.distributions()

    def command(self, *arguments: str) -> str:
        """What the installed command prints."""
        return self.works([str(self.root / "bin" / PACKAGE), *arguments])

    def works(self, arguments: Sequence[str]) -> str:
        """The standard output of a program.

        Raises:
            ReleaseError: its status is not 0.
        """
        done = _run(arguments, self.folder)
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            raise ReleaseError(f"`{' '.join(arguments)[:200]}` ends with status {done.returncode}: {''.join(last)}")
        return done.stdout

    def refuses(self, arguments: Sequence[str], wanted: str) -> None:
        """See that a program refuses in one line that says what to install.

        Raises:
            ReleaseError: it does not refuse, in more lines, or without that word.
        """
        done = _run(arguments, self.folder)
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        if done.returncode == 0:
            raise ReleaseError(f"`{' '.join(arguments)[:200]}` works without {wanted}, which was to be missing")
        if f"pip install {wanted}`" not in lines[-1]:
            raise ReleaseError(f"`{' '.join(arguments)[:200]}` does not say `pip install {wanted}`: {lines[-1]}")
        if len(lines) > 1 and not lines[0].startswith("Traceback"):  # an import in a program of theirs has one
            raise ReleaseError(f"`{' '.join(arguments)[:200]}` refuses in {len(lines)} lines")


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _run(arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")}
    return subprocess.run(arguments, cwd=folder, env=kept, capture_output=True, text=True, check=False)


def check_bare(made: Environment, wheel: Path, project: Project) -> str:
    """Install the wheel alone, and see that it brings what it has to and works outside of the clone."""
    direct = {_canonical(re.split(r"[<>=!~ ]", item)[0]) for item in project["dependencies"]}
    brought = made.install(str(wheel))
    more = brought - made.reachable({PACKAGE, *direct})
    if more or not direct <= brought:
        raise ReleaseError(f"the wheel brings {sorted(brought)}, and not {sorted(direct)} with what these need")
    place = made.works([made.python, "-c", f"import {PACKAGE}; print({PACKAGE}.__file__)"]).strip()
    if not place.startswith(str(made.root)):
        raise ReleaseError(f"the package is imported from {place}, and not from the environment")
    if made.command("--version").strip() != f"{PACKAGE} {project['version']}":
        raise ReleaseError(f"the command says it is {made.command('--version').strip()}")
    made.command("report", *QUESTION, "-o", "report.html")
    if ": sound: " not in made.command("verify", "report.html"):
        raise ReleaseError("a report is not sound where it was made")
    made.command("doctor")
    return ", ".join(sorted(brought))


def check_readme(made: Environment, sdist: Path) -> None:
    """Run the commands and the Python of the sdist's README, and the demonstration, by the installed package."""
    with tarfile.open(sdist) as opened:
        opened.extractall(made.folder, filter="data")
    source = next(made.folder.glob(f"{PACKAGE}-*"))
    pages = (str(source / "README.md"), str(source / "docs" / "gallery.md"))
    made.works([made.python, str(source / "tools" / "shown.py"), *pages])
    made.works([made.python, "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", pages[0]])


def check_missing(made: Environment) -> str:
    """See that what is not installed is named in one line."""
    packages = {"proof": "python-flint", "plot": "matplotlib"}
    for extra, arguments in SMALL.items():
        made.refuses([str(made.root / "bin" / PACKAGE), *arguments], packages[extra])
    for module, package in IMPORTS.items():
        made.refuses([made.python, "-c", f"import {module}"], package)
    return ", ".join([*packages.values(), *IMPORTS.values()])


def check_extras(made: Environment, wheel: Path, project: Project) -> str:
    """Install the small extras, each of which brings what it names, and what that needs, and then does its work."""
    told = []
    for extra, arguments in SMALL.items():
        items = project["optional-dependencies"][extra]
        direct = {_canonical(re.split(r"[<>=!~ ]", item)[0]) for item in items}
        brought = made.install(f"{wheel}[{extra}]")
        if not direct <= brought or brought - made.reachable(direct):
            raise ReleaseError(
                f"the extra {extra} brings {sorted(brought)}, and not {sorted(direct)} with what it needs"
            )
        made.command(*arguments)
        told.append(f"{extra}: {', '.join(sorted(brought))}")
    return "; ".join(told)


def main() -> int:
    """Run all checks, with a line for each; the status is 1 after the first that fails."""
    began = time.perf_counter()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    files = repository_files()

    def step(name: str, said: str = "") -> None:
        print(f"{time.perf_counter() - began:6.1f} s  {name}{': ' + said if said else ''}", flush=True)

    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        around = Path(folder)
        try:
            done = _run([sys.executable, "-m", "build", "--outdir", str(around / "dist"), str(ROOT)], around)
            if done.returncode:
                raise ReleaseError(f"nothing is built: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
            (sdist,), (wheel,) = (list((around / "dist").glob(each)) for each in ("*.tar.gz", "*.whl"))
            step(
                "built", f"{sdist.name} ({sdist.stat().st_size:,} bytes), {wheel.name} ({wheel.stat().st_size:,} bytes)"
            )
            done = _run([sys.executable, "-m", "twine", "check", "--strict", str(sdist), str(wheel)], around)
            if done.returncode:
                raise ReleaseError(f"twine: {' '.join(done.stdout.split())}")
            step("twine check --strict")
            check_sdist(sdist_content(sdist), files)
            found = wheel_content(wheel)
            check_wheel(found, files, project["license-files"])
            check_metadata(found, project)
            step("files and metadata", f"{len(found.names)} files in the wheel")
            made = Environment.empty(around)
            step("bare wheel", check_bare(made, wheel, project))
            check_readme(made, sdist)
            step("README and demonstration")
            step("named where missing", check_missing(made))
            step("extras", check_extras(made, wheel, project))
            shutil.rmtree(ROOT / "dist", ignore_errors=True)
            shutil.copytree(around / "dist", ROOT / "dist")
        except ReleaseError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    step("fit to be released", "both files are in dist")
    return 0


if __name__ == "__main__":
    sys.exit(main())
