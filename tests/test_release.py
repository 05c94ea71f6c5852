"""What ``make release-check`` lets through and what not: on archives as they are named; nothing is built here."""

from __future__ import annotations

import io
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from release_check import (
    Archive,
    ReleaseError,
    check_metadata,
    check_sdist,
    check_wheel,
    repository_files,
    sdist_content,
    wheel_content,
)

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
INFO = "hockeystick-0.2.0.dist-info"
FILES = [
    "src/hockeystick/__init__.py", "src/hockeystick/py.typed", "src/hockeystick/values/bibliography.toml", "README.md",
    "tests/test_a.py", "docs/index.md", ".gitignore",
]  # fmt: skip
WHEEL = {
    "hockeystick/__init__.py", "hockeystick/py.typed", "hockeystick/values/bibliography.toml", f"{INFO}/METADATA",
    f"{INFO}/RECORD", f"{INFO}/WHEEL", f"{INFO}/entry_points.txt", f"{INFO}/licenses/LICENSE",
    f"{INFO}/licenses/src/hockeystick/a/LICENSE",
}  # fmt: skip
LICENCES = ["LICENSE", "src/hockeystick/a/LICENSE"]
SDIST = {*FILES, "PKG-INFO"}


def archive(names: set[str], text: str = "") -> Archive:
    return Archive(frozenset(names), text)


def metadata(**changed: str) -> str:
    lines = {"Name": "hockeystick", "Version": PROJECT["version"], "Requires-Python": ">=3.11", **changed}
    text = "".join(f"{key}: {value}\n" for key, value in lines.items() if key != "More")
    text += "".join(f"Requires-Dist: {item}\n" for item in PROJECT["dependencies"])
    for extra, items in PROJECT["optional-dependencies"].items():
        text += f"Provides-Extra: {extra}\n"
        text += "".join(f"Requires-Dist: {item}; extra == '{extra}'\n" for item in items)
    return text + changed.get("More", "")


def test_a_wheel_has_the_package_and_nothing_else() -> None:
    check_wheel(archive(WHEEL), FILES, LICENCES)
    with pytest.raises(ReleaseError, match=r"lacks 1 files: hockeystick-0\.2\.0\.dist-info/licenses/src/"):
        check_wheel(archive(WHEEL - {f"{INFO}/licenses/{LICENCES[1]}"}), FILES, LICENCES)
    with pytest.raises(ReleaseError, match=r"the wheel lacks 1 files: hockeystick/py\.typed"):
        check_wheel(archive(WHEEL - {"hockeystick/py.typed"}), FILES, LICENCES)
    with pytest.raises(ReleaseError, match=r"the wheel has 1 files too many: tests/test_a\.py"):
        check_wheel(archive(WHEEL | {"tests/test_a.py"}), FILES, LICENCES)
    with pytest.raises(ReleaseError, match=r"the wheel lacks hockeystick/py\.typed"):
        check_wheel(
            archive(WHEEL - {"hockeystick/py.typed"}), [name for name in FILES if "typed" not in name], LICENCES
        )


@pytest.mark.parametrize(
    "name", ["src/hockeystick/__pycache__/a.cpython-311.pyc", "docs/_build/index.html", ".venv/bin/python", "notes.txt"]
)
def test_an_sdist_has_nothing_superfluous(name: str) -> None:
    check_sdist(archive(SDIST), FILES)
    with pytest.raises(ReleaseError, match="the sdist has 1 files that no release needs"):
        check_sdist(archive(SDIST | {name}), FILES)


def test_an_sdist_has_tests_and_pages() -> None:
    with pytest.raises(ReleaseError, match=r"the sdist lacks 2 files: docs/index\.md, tests/test_a\.py"):
        check_sdist(archive(SDIST - {"docs/index.md", "tests/test_a.py"}), FILES)


def test_metadata_are_those_of_the_project_file() -> None:
    check_metadata(archive(set(), metadata()), PROJECT)
    with pytest.raises(ReleaseError, match="the wheel says Version: 9"):
        check_metadata(archive(set(), metadata(Version="9")), PROJECT)
    with pytest.raises(ReleaseError, match="the wheel requires"):
        check_metadata(archive(set(), metadata(More="Requires-Dist: torch\n")), PROJECT)
    with pytest.raises(ReleaseError, match="the wheel requires"):
        check_metadata(archive(set(), metadata(More="Requires-Dist: pandas; extra == 'plot'\n")), PROJECT)


def test_archives_are_read(tmp_path: Path) -> None:
    sdist, wheel = tmp_path / "a.tar.gz", tmp_path / "a.whl"
    with tarfile.open(sdist, "w:gz") as opened:
        for name in ("hockeystick-0.2.0/PKG-INFO", "hockeystick-0.2.0/src/a.py"):
            member = tarfile.TarInfo(name)
            member.size = 8
            opened.addfile(member, io.BytesIO(b"Name: a\n"))
    with zipfile.ZipFile(wheel, "w") as zipped:
        zipped.writestr("a.py", "")
        zipped.writestr("a-1.dist-info/METADATA", "Name: a\n")
    assert sdist_content(sdist).names == {"PKG-INFO", "src/a.py"}
    assert wheel_content(wheel).names == {"a.py", "a-1.dist-info/METADATA"}
    assert sdist_content(sdist).metadata["Name"] == wheel_content(wheel).metadata["Name"] == "a"


def test_the_package_needs_no_file_that_git_does_not_keep() -> None:
    """What is read at run time lies beside the code, and is kept."""
    assert {"src/hockeystick/py.typed", "src/hockeystick/values/bibliography.toml"} <= set(repository_files())
