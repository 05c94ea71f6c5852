"""Late names: each is imported when it is asked for, and the first answer loads little."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import hockeystick as hs
from hockeystick.values.late import exports

PACKAGE = Path(hs.__file__).parent
ROOT = Path(__file__).parents[2]
LATE = sorted(path for path in PACKAGE.rglob("*.py") if "exports(__name__, LATE)" in path.read_text(encoding="utf-8"))
"""The packages that import names late."""

HEAVY = (
    "click", "difflib", "flint", "hashlib", "inspect", "json", "matplotlib", "numpy.polynomial", "pathlib", "pydantic",
    "scipy", "tempfile", "tomllib",
)  # fmt: skip
"""Packages of others, and of Python, that the common question does not load: together they take longer than NumPy."""

ROOMS = ("cli", "integrations", "papers", "plot", "questions", "report", "engines.grid", "engines.proof", "plan.file")
"""Parts of this library that it does not load either."""

FIRST = "hs.dp_sgd(noise_multiplier=1.0, sample_rate=0.01, steps=1000).epsilon(1e-5)"
"""A question as most people ask it: the contour engine answers."""


def loaded(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after some code, less those that NumPy loads by itself."""
    program = (
        f"import sys, json, numpy; own = set(sys.modules); {code}; print(json.dumps(sorted({{*sys.modules}} - own)))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout))


def among(names: set[str], parts: tuple[str, ...]) -> list[str]:
    return sorted(name for name in names if any(f"{name}.".startswith(f"{part}.") for part in parts))


@pytest.mark.parametrize("path", LATE, ids=lambda path: path.parent.name)
def test_what_is_imported_late_is_said_twice_alike(path: Path) -> None:
    """The table for the program and the import for readers of types name the same things, and each is there."""
    name = ".".join(("hockeystick", *path.parent.relative_to(PACKAGE).parts))
    module = importlib.import_module(name)
    typed = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for item in node.body:
                assert isinstance(item, ast.ImportFrom)
                assert item.module is not None
                for alias in item.names:
                    inside = alias.name if item.module == name else item.module.removeprefix(f"{name}.")
                    typed[alias.name] = inside
                    assert alias.asname == alias.name or alias.name in module.__all__
    assert typed == module.LATE
    for each, home in typed.items():
        there = importlib.import_module(f"{name}.{home}")
        assert getattr(module, each) is (there if each == home else getattr(there, each))


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="module 'hockeystick' has no attribute 'epsilons_'"):
        _ = hs.epsilons_  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="cannot import name 'nonsense'"):
        exec("from hockeystick.pairs import nonsense")  # noqa: S102
    assert not hasattr(hs.filters, "nonsense")


def test_a_late_name_is_looked_up_once() -> None:
    """After the first time it is a name of the package like any other."""
    assert hs.Laplace is vars(hs)["Laplace"]
    assert exports("hockeystick", {"Laplace": "plan.mechanisms.laplace"})("Laplace") is hs.Laplace


def test_importing_the_library_loads_nothing_else_of_it() -> None:
    names = loaded("import hockeystick")
    assert {name for name in names if name.startswith("hockeystick.")} == {
        "hockeystick.plan", "hockeystick.plan.kinds",  # names alone
        "hockeystick.values", "hockeystick.values.late", "hockeystick.values.version",
    }  # fmt: skip
    assert not among(names, HEAVY)


def test_the_first_answer_loads_little() -> None:
    names = loaded(f"import hockeystick as hs; {FIRST}")
    assert not among(names, (*HEAVY, *(f"hockeystick.{room}" for room in ROOMS)))
    methods = {name for name in names if name.startswith("hockeystick.accountants.")}
    assert methods == {f"hockeystick.accountants.{name}" for name in ("auto", "base")}


@pytest.mark.parametrize("flag", ["--version", "--help"])
def test_the_command_says_what_it_is_without_numpy(flag: str) -> None:
    """Neither the library nor what it stands on."""
    code = f"""
import sys
sys.argv = ["hockeystick", {flag!r}]
from hockeystick.cli import main
try:
    main()
finally:
    print([name for name in ("numpy", "scipy", "json", "hockeystick.plan.plan") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.endswith("\n[]\n")
    assert "hockeystick" in done.stdout


@pytest.mark.parametrize(
    "question",
    [
        "hs.Plan([hs.Round(hs.Gaussian(10.0), count=5)]).epsilon(1e-5)",
        "hs.dp_sgd(1.0, 0.01, 1).epsilon(1e-5)",
        "hs.dp_sgd(1.0, 0.01, 1000).epsilon(1e-5, accountant='rdp')",
        "hs.dp_sgd(1.0, 0.01, 1000, adjacency='replace-one').delta(1.0)",
        "hs.dp_sgd(1.0, 0.01, 1000).profile().delta([1.0, 2.0])",
        "hs.calibrate(hs.dp_sgd(1.0, 0.01, 1000), 'noise-multiplier', hs.targets.Epsilon(1.0, 1e-5))",
        "hs.load_plan('examples/plans/tramer2021-mnist-cnn.toml').epsilon()",
    ],
)
def test_everyday_questions_load_no_scipy(question: str) -> None:
    assert not among(
        loaded(f"import os, hockeystick as hs; os.chdir({str(ROOT)!r}); {question}"), ("scipy", "pydantic")
    )


def test_a_question_by_a_published_method_loads_that_method_alone() -> None:
    names = loaded("import hockeystick as hs; hs.dp_sgd(1.0, 0.01, 1000).epsilon(1e-5, accountant='zcdp')")
    assert "hockeystick.accountants.zcdp" in names
    others = ("hockeystick.accountants.prv", "hockeystick.accountants.fourier", "hockeystick.engines.grid")
    assert not among(names, others)
