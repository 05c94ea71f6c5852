"""What README.md and the pages of the documentation show is what is printed; where they point, there is something."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import shown

import hockeystick as hs
from hockeystick.plan.file import parse_plan
from hockeystick.plan.mechanisms import Status
from hockeystick.plan.mechanisms.registry import MECHANISMS
from hockeystick.plan.sampling import NoSampling
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.plan.sampling.without_replacement import WithoutReplacement
from hockeystick.values.adjacency import Direction

ROOT = Path(__file__).parents[1]
PAGES = [page for page in (ROOT / "docs").rglob("*.md") if not {"generated", "_build"} & {*page.parts}]
TEXTS = sorted([*ROOT.glob("*.md"), *PAGES, *(ROOT / "examples").glob("*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
SOURCE = re.compile(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|md|toml))`")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


BLOCKS = [
    pytest.param(block, id=f"{name(path)}: {block.splitlines()[0]}")
    for path in shown.PAGES
    for block in shown.blocks(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_commands_print_what_is_shown(block: str) -> None:
    assert block == shown.printed(block), "make readme brings it up to date"


def test_readme_is_short_and_begins_with_an_answer() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 150
    assert 0 < readme.index(">>> bound = plan.epsilon(") < readme.index("![") < readme.index("## Install")
    assert readme.index("make demo") < readme.index("\n$ hockeystick epsilon --noise-multiplier")


def test_the_demonstration_is_on_the_page_of_examples() -> None:
    shell = "\n".join(shown.blocks((ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")))
    assert "$ make demo\n.venv/bin/hockeystick epsilon examples/plans/" in shell
    assert "too low" in shell
    assert re.search(
        r"^tf-privacy-mnist-tutorial .* valid, not tight\n  note: the tutorial's loader shuffles", shell, re.M
    )


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_the_command_is_put_on_the_path_before_it_is_shown(page: str) -> None:
    """After `make demo` alone there is no command of that name: it lies in the environment."""
    text = (ROOT / page).read_text(encoding="utf-8")
    assert 0 < text.index("\n. .venv/bin/activate\n") < text.index("\npip install .\n") < text.index("\n$ hockeystick ")


def test_nobody_is_sent_to_an_index_on_which_the_package_is_not() -> None:
    """Whoever takes the name there could have a stranger's package installed by our own advice."""
    places = [*TEXTS, *(ROOT / "src").rglob("*.py"), *(ROOT / "tools").rglob("*.py")]
    assert len(places) > 100
    for path in places:
        assert not re.search(r"install[^\n]*\bhockeystick(\[| *$)|hockeystick\[", path.read_text(encoding="utf-8")), (
            path
        )


@pytest.mark.parametrize("page", ["README.md", "docs/planfile.md"])
def test_plans_that_are_shown_can_be_read(page: str) -> None:
    plans = re.findall(r"```toml\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert plans
    for text in plans:
        assert isinstance(parse_plan(text, page), hs.Plan)


def test_the_short_table_of_what_is_supported_is_right() -> None:
    order = (Direction.ADD, Direction.REMOVE, Direction.REPLACE_ONE)
    page = (ROOT / "docs" / "supported.md").read_text(encoding="utf-8")
    for mechanism in MECHANISMS:
        cells = []
        for sampling in (NoSampling, Poisson, WithoutReplacement):
            known = [d.value for d in order if sampling.claim(mechanism, d).status is not Status.REFUSED]
            cells.append(", ".join(known))
        (row,) = re.findall(rf"^\| `{mechanism.name}`[^|]*\| (.*) \|$", page, re.MULTILINE)
        assert row.split(" | ") == cells


@pytest.mark.parametrize("path", TEXTS, ids=name)
def test_links_and_files_that_are_named_exist(path: Path) -> None:
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in LINK.findall(text):
        if not target.startswith(("http", "#", "generated/")):
            assert (path.parent / target.partition("#")[0]).exists(), target
    for source in SOURCE.findall(text):
        places = (ROOT, ROOT / "src" / "hockeystick", ROOT / "examples")
        if path.parent != ROOT / "examples":  # there the names are those of other repositories, too
            assert any((place / source).exists() for place in places), source
