"""What the package exports, and what importing it costs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import hockeystick
from hockeystick.plan.mechanisms.registry import MECHANISMS
from hockeystick.plan.sampling.registry import SAMPLINGS

EXPORTED = [
    *(kind.__name__ for kind in (*MECHANISMS, *SAMPLINGS)),
    "ACCOUNTANTS",
    "Accountant",
    "Adjacency",
    "Band",
    "BestOf",
    "Bound",
    "BudgetError",
    "Calibration",
    "DeltaBound",
    "DeltaEstimate",
    "DeltaUpperBound",
    "Direction",
    "Estimate",
    "HockeystickError",
    "InvalidInputError",
    "NotApplicableError",
    "Parameter",
    "Plan",
    "Profile",
    "Round",
    "Sweep",
    "Ledger",
    "UnreachableError",
    "UnsupportedError",
    "UpperBound",
    "__version__",
    "calibrate",
    "clipping_norm",
    "deltas",
    "doctor",
    "dp_sgd",
    "epsilons",
    "explore",
    "filters",
    "joint_noise_multiplier",
    "load_plan",
    "plot",
    "samplings",
    "sensitivity",
    "sweep",
    "targets",
]


def test_exactly_these_names_are_exported() -> None:
    """The public names are a promise: adding or losing one is a decision, not an accident."""
    assert sorted(hockeystick.__all__) == sorted(EXPORTED)
    assert all(hasattr(hockeystick, name) for name in EXPORTED)


def test_a_star_import_brings_these_names_and_no_other() -> None:
    """What ``from hockeystick import *`` brings is the list, each name once."""
    names: dict[str, object] = {}
    exec("from hockeystick import *", names)  # noqa: S102  # a star import is not allowed in a function
    assert set(names) - {"__builtins__"} == set(EXPORTED)
    assert len(hockeystick.__all__) == len(set(hockeystick.__all__))


def test_only_these_names_are_listed() -> None:
    """What ``dir(hockeystick)`` and completion show: no module that an import happened to leave behind."""
    assert sorted(dir(hockeystick)) == sorted(EXPORTED)


def test_the_version_is_that_of_the_project_file() -> None:
    """``hockeystick.__version__`` and pyproject.toml say the same."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    assert hockeystick.__version__ == project["project"]["version"]


@pytest.mark.parametrize("module", ["scipy.stats", "scipy.optimize", "pydantic", "click", "hockeystick.integrations"])
def test_importing_the_package_does_not_import(module: str) -> None:
    """Importing the library is quick: what only some calls need is imported there."""
    code = f"import sys, hockeystick; sys.exit({module!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr or f"{module} is imported"


@pytest.mark.parametrize("module", ["torch", "opacus", "dp_accounting", "pandas", "polars"])
def test_nothing_but_its_own_integration_imports(module: str) -> None:
    """Neither the library nor the integrations that stand beside no package load what others are written for."""
    code = (
        "import sys, hockeystick, hockeystick.integrations.users, hockeystick.integrations.batches; "
        f"sys.exit({module!r} in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr or f"{module} is imported"


def test_public_classes_say_where_they_are_documented() -> None:
    """Every exported object has a docstring of its own."""
    for name in EXPORTED:
        if name not in ("ACCOUNTANTS", "__version__"):
            assert (getattr(hockeystick, name).__doc__ or "").strip(), name


def test_the_map_of_the_package_leads_to_what_is_there() -> None:
    """Of ``help(hockeystick)``: every name that it mentions can be asked for."""
    said = hockeystick.__doc__ or ""
    names = re.findall(r":(?:func|class|meth):`([\w.]+)`|``hockeystick\.(\w+)``", said)
    assert len(names) > 15
    for role, module in names:
        found: Any = hockeystick
        for part in (role or module).split("."):
            found = getattr(found, part)
