"""The oldest releases that are tested are those that pyproject.toml admits."""

from __future__ import annotations

import tomllib
from pathlib import Path

import oldest
import pytest

ROOT = Path(__file__).parents[1]


def test_every_dependency_has_one_oldest_release() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert [line.replace("==", ">=") for line in oldest.constraints()] == project["dependencies"]
    assert len(oldest.constraints()) == len(project["dependencies"]) >= 3


@pytest.mark.parametrize("line", ["numpy", "numpy>=1.26,<3", "numpy>1.26", "numpy>="])
def test_a_dependency_without_a_plain_lower_bound_is_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(f'[project]\ndependencies = ["{line}"]\n')
    with pytest.raises(ValueError, match="a dependency must be a name and a lower bound"):
        oldest.constraints(path)


def test_the_target_reads_them() -> None:
    """Typed twice they would differ one day."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "tools/oldest.py > .venv-oldest/constraints.txt" in makefile
    assert "--constraint .venv-oldest/constraints.txt" in makefile
    assert "1.26" not in makefile
