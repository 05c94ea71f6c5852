"""Pages made from the code: all of it is in them, none of it is kept in the repository, each is included somewhere."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import jsonschema
import methods
import pages
import pytest
from demo import PLANS, Comparison

import hockeystick as hs
from hockeystick.cli import main
from hockeystick.plan.labels import LABELS
from hockeystick.plan.mechanisms.registry import MECHANISMS
from hockeystick.plan.sampling.registry import SAMPLINGS
from hockeystick.plan.schema import PLAN_KEYS, PUBLISHED_KEYS, SELECTION_KEYS, sampling_keys
from hockeystick.values.domains import domains_of

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("generated")
    pages.write(folder)
    return folder


def read(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


def test_each_is_made_at_build_and_shown_once(generated: Path) -> None:
    texts = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    wanted = re.findall(r"generated/([\w.-]+\.\w+)", texts)
    assert sorted(wanted) == sorted(pages.PAGES) == sorted(path.name for path in generated.iterdir() if path.is_file())
    assert "pages.write(" in (DOCS / "conf.py").read_text(encoding="utf-8")


def test_none_is_kept() -> None:
    assert "docs/generated/" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    if (ROOT / ".git").exists():
        kept = subprocess.run(
            ["git", "ls-files", "docs/generated"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert kept.stdout == ""


def test_writing_again_changes_nothing(generated: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in generated.iterdir()}
    pages.write(generated)
    assert {path: path.stat().st_mtime_ns for path in generated.iterdir()} == before


def test_every_key_of_plan_files_is_explained(generated: Path) -> None:
    text = read(generated, "keys.md")
    for name in [*(kind.name for kind in MECHANISMS), *(kind.name for kind in SAMPLINGS)]:
        assert f'= "{name}"`' in text
    keys = {*PLAN_KEYS, "count", "epochs", *LABELS, *SELECTION_KEYS, *PUBLISHED_KEYS}
    for mechanism in MECHANISMS:
        keys |= {*domains_of(mechanism)}
    for sampling in SAMPLINGS:
        keys |= {*sampling_keys(sampling)}
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| (.*) \|$", text, re.MULTILINE)
    assert {key for key, _, _ in rows} == keys
    assert all(form and meaning for _, form, meaning in rows)


def test_every_command_is_there(generated: Path) -> None:
    text = read(generated, "commands.md")
    for name in main.commands:
        assert f"## `hockeystick {name}`" in text


def test_the_schema_is_one(generated: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(read(generated, "plan.schema.json")))


def test_every_plan_is_in_the_gallery_and_has_a_page(generated: Path) -> None:
    text = read(generated, "gallery.md")
    assert "generated/gallery/*" in read(DOCS, "gallery.md")
    for path in PLANS.glob("*.toml"):
        assert f"| [{path.stem}](generated/gallery/{path.stem}.md) |" in text
        page = read(generated, f"gallery/{path.stem}.md")
        assert page.startswith(f"# {path.stem}\n")
        assert path.read_text(encoding="utf-8") in page
    assert re.search(r"^\| \[bu2020-mnist-clt\].*\| too low \|", text, re.MULTILINE)


def test_a_verdict_says_what_it_is_about_and_stands_beside_the_source_and_the_note(generated: Path) -> None:
    """A claim that is above the certified interval of a Poisson plan is no bound on a loader that shuffles."""
    header, _, *rows = read(generated, "gallery.md").splitlines()
    assert header.startswith("| plan | verdict for the plan's sampling |")
    assert len([row for row in rows if row.split(" | ")[1] != "–"]) >= 32
    words = {row.split("]")[0].removeprefix("| ["): re.sub(r"[`\\]", "", row.split(" | ", 5)[-1]) for row in rows}
    for path in PLANS.glob("*.toml"):
        published = hs.load_plan(path).published or {}
        for key in {"quote", "address", "source", "note"} & published.keys():
            assert re.sub(r"[`\\]", "", published[key]) in words[path.stem], (path.stem, key)
    cells = next(row for row in rows if "tf-privacy-mnist-tutorial" in row).split(" | ")
    assert cells[1] == "valid, not tight"
    assert "the tutorial's loader shuffles; its accountant assumes Poisson sampling" in cells[-1]


def test_the_checker_proves_valid_claims_and_none_that_is_too_low(generated: Path) -> None:
    said = {
        row.split("]")[0].removeprefix("| ["): (row.split(" | ")[1], re.findall(r"`(proved|NOT proved|refuted): ", row))
        for row in read(generated, "gallery.md").splitlines()[2:]
    }
    assert said["de2022-cifar10-wrn16-4"] == ("valid, not tight", ["proved"])
    assert said["xie2024-aug-pe-yelp-eps1"] == ("too low", ["refuted"])
    assert said["mhusage-synthetic"] == ("valid, not tight", [])
    assert all(lines in ([], ["proved"]) for verdict, lines in said.values() if verdict == "valid, not tight")
    assert all(lines in (["refuted"], ["NOT proved"]) for verdict, lines in said.values() if verdict == "too low")


def test_text_of_a_source_has_no_marks_of_its_own() -> None:
    assert pages._literal_text("a|b_c `d` [1, 2] --lr=1 $x$") == r"a\|b\_c \`d\` \[1, 2\] `--lr`=1 \$x\$"


@pytest.mark.parametrize(
    ("published", "verdict"),
    [(0.9, "too low"), (1.0, "agrees"), (1.5, "agrees"), (1.6, "valid, not tight"), (None, "")],
)
def test_a_claim_is_judged_by_both_ends(published: float | None, verdict: str) -> None:
    bound = hs.Bound(1.0, 1.2, 1.5)
    assert Comparison("plan", hs.dp_sgd(1.0, 0.1, 1), 1e-5, published, bound, "").verdict == verdict


def test_everything_public_is_on_a_page_of_the_library() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    for name in hs.__all__:
        assert re.search(rf":: {name}$|`hockeystick\.{name}`", text, re.MULTILINE), name


def test_every_accountant_has_a_row_and_a_section_with_its_options(generated: Path) -> None:
    text = read(generated, "accountants.md")
    for name, accountant in hs.ACCOUNTANTS.items():
        (row,) = re.findall(rf"^\| \[`{name}`\]\(#accountant-{name}\) \| (.*) \|$", text, re.MULTILINE)
        assert len(row.split(" | ")) == 3
        (section,) = re.findall(
            rf"^\(accountant-{name}\)=\n### `{name}`\n\n(.*?)(?=^\(accountant-|\Z)", text, re.M | re.S
        )
        assert "Known failure:" not in section
        assert all(f"| `{key}` |" in section for key in domains_of(type(accountant)))


def test_cost_and_failure_are_read_from_docstrings() -> None:
    text = "Title.\n\nA sum.\n\nCost: one\nline of it.\nKnown failure: much, with ``a: b``.\n\nMore.\n"
    assert methods.labelled(text, "Cost") == "one line of it."
    assert methods.labelled(text, "Known failure") == "much, with ``a: b``."
    assert methods.labelled("Known failure: all. Cost: none.", "Cost") == "none."
    assert methods.labelled("Cost: none. Known\nfailure: all.", "Known failure") == "all."
    assert methods.labelled("nothing", "Cost") == ""
    assert methods.labelled(text.replace("\n", " "), "Cost") == "one line of it."


@pytest.mark.parametrize("beside", [0.8, 1.05, 1.15])
def test_a_claim_is_written_on_the_side_of_its_point_that_is_away_from_the_curve(beside: float) -> None:
    from pictures import drawing
    from pictures.plans import LETTER_WIDTH, privacy_curve

    plan = hs.dp_sgd(1.0, 0.1, 10)
    bound = plan.epsilon(1e-5)
    made = privacy_curve(Comparison("plan", plan, 1e-5, beside * bound.upper, bound, ""))
    assert made is not None
    assert made.note is not None
    across, down = made.chart._place(made.note.point)
    width = LETTER_WIDTH * len(made.note.said)
    begin = across + made.note.beside[0] - (width if made.note.anchor == "end" else 0.0)
    assert begin >= 0
    assert begin + width <= drawing.WIDTH + 1e-9
    middle = down + made.note.beside[1] - 5
    line = [made.chart._place(point) for point in made.chart.upper]
    assert any(begin <= at <= begin + width for at, _ in line)  # else the curve is not near the words at all
    assert not any(begin - 1 <= at <= begin + width and abs(deep - middle) < 6 for at, deep in line)
