"""How the tree is laid out: few rooms, few floors, no exception to the contracts, no circle of imports but in plan/."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import grimp
import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "hockeystick"
MOST_ROOMS = 20
MOST_FLOORS = 10
WITH_ENGINES = {"auto", "contour", "grid", "proved"}
"""The modules of accountants/ that may import engines; all others are published methods, which have to disagree."""


@pytest.fixture(scope="module")
def contracts() -> dict[str, Any]:
    """The import contracts of the project file, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {contract["name"]: contract for contract in project["tool"]["importlinter"]["contracts"]}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("hockeystick", cache_dir=None)


def test_there_are_few_rooms() -> None:
    """Folders and loose modules beside each other: more than twenty are not kept in mind."""
    rooms = [path for path in PACKAGE.iterdir() if (path / "__init__.py").exists() or path.suffix == ".py"]
    assert len(rooms) <= MOST_ROOMS, sorted(path.name for path in rooms)


def test_tests_mirror_the_rooms() -> None:
    """A folder of tests has the name of the room that it tests; what concerns the whole house stands beside them."""
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    folders = {path.name for path in (ROOT / "tests").iterdir() if list(path.glob("test_*.py"))}
    assert folders <= rooms
    assert rooms - folders <= {"__pycache__"}


def test_there_are_few_floors(contracts: dict[str, Any]) -> None:
    """The floors of the contract, which names every room (``exhaustive``)."""
    floors = contracts["imports point down only"]
    assert floors["exhaustive"]
    assert len(floors["layers"]) <= MOST_FLOORS


def test_no_import_is_excused(contracts: dict[str, Any]) -> None:
    """A contract with an exception is one that is not kept."""
    assert not [name for name, contract in contracts.items() if "ignore_imports" in contract]


def test_every_published_accountant_is_kept_from_the_engines(contracts: dict[str, Any]) -> None:
    """A new accountant belongs to the contract, or to the few that are engines of this library."""
    kept = contracts["published accountants reach no engine, so that the two can disagree"]["source_modules"]
    modules = {
        path.stem for path in (PACKAGE / "accountants").iterdir() if path.stem not in ("__init__", "__pycache__")
    }
    assert {name.removeprefix("hockeystick.accountants.") for name in kept} == modules - WITH_ENGINES


def test_there_is_no_circle_of_imports_but_in_plan(graph: grimp.ImportGraph) -> None:
    """A plan makes files, profiles and sums of itself, late; everywhere else a module can be read before its users."""
    left = {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    while free := {module for module, imported in left.items() if not imported & left.keys()}:
        left = {module: imported for module, imported in left.items() if module not in free}
    while unused := left.keys() - set().union(*left.values()):
        left = {module: imported for module, imported in left.items() if module not in unused}
    assert all(module.startswith("hockeystick.plan.") for module in left), sorted(left)
