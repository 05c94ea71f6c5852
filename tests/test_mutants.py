"""The list of mutants in tests/mutants is right, and the tool that tries them tells killed, alive and broken apart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mutants import EntryError, Mutant, copied, located, read, sampled, tried

SAMPLE = 3
ROUNDED = Mutant(
    "exponentials",
    at="numerics.rounding.exp_above",
    old="next_up(math.exp(x), 2 * ULPS)",
    new="math.exp(x)",
    tests=("tests/numerics/test_elementary_accuracy.py::test_exponentials_rounded_outward_keep_their_side",),
)


def entry(tmp_path: Path, **changed: object) -> Path:
    """A folder with one entry, some of whose keys are changed."""
    keys = {"name": "one", "at": "rounding.exp_above", "old": "a", "new": "b", "tests": ["tests/t.py"]} | changed
    lines = [f"{key} = {value!r}" for key, value in keys.items() if value is not None]
    (tmp_path / "entries.toml").write_text("[[mutant]]\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_the_list_covers_every_table_of_charges() -> None:
    """The grid, the contour and its transforms, single rounds, the Renyi bound, conversions, filters, calibration."""
    files = {path.stem for path in (Path("tests") / "mutants").glob("*.toml")}
    assert files >= {"grid", "composition", "rounding", "contour", "transforms", "direct", "renyi", "conversions"}
    assert files >= {"profile", "calibration", "filters"}
    assert len(read()) >= 400


@pytest.mark.parametrize("mutant", read(), ids=lambda mutant: mutant.name)
def test_every_entry_says_what_to_change(mutant: Mutant) -> None:
    """One definition of that name holds the old text once, Python results, and the tests are there."""
    change = located(mutant)
    assert change.text.count(mutant.new) >= 1
    for test in mutant.tests:
        file, _, function = test.partition("::")
        text = Path(file).read_text(encoding="utf-8")
        assert not function or re.search(rf"def {function.rpartition('::')[2].partition('[')[0]}\(", text), test


@pytest.mark.parametrize(
    ("at", "old", "said"),
    [
        ("exp_above", "not in the text of exp_above", "0 times"),
        ("exp_above", "x", "times"),
        ("an_unknown_name", "x", "names 0 definitions"),
        ("__init__", "self", "definitions, not one"),
        ("rounding.above", "math.exp(x)", "names 0 definitions"),  # a part of a name is not a name
        ("exp_above", "ULPS) if", "not Python"),
    ],
)
def test_an_entry_that_is_no_longer_right_is_an_error(at: str, old: str, said: str) -> None:
    with pytest.raises(EntryError, match=said):
        located(Mutant("one", at, old, "(", ("tests/t.py",)))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"tests": []}, "names no tests"),
        ({"tests": None}, "needs name, at, old, new, tests"),
        ({"note": "x"}, "needs name, at, old, new, tests"),
        ({"new": "a"}, "changes nothing"),
        ({"old": 3}, "needs name, at, old, new, tests"),
    ],
)
def test_an_entry_with_keys_missing_or_wrong_is_an_error(changed: dict[str, object], said: str, tmp_path: Path) -> None:
    with pytest.raises(EntryError, match=said):
        read(entry(tmp_path, **changed))


def test_a_name_that_is_there_twice_is_an_error(tmp_path: Path) -> None:
    text = entry(tmp_path).joinpath("entries.toml").read_text(encoding="utf-8")
    (tmp_path / "more.toml").write_text(text, encoding="utf-8")
    with pytest.raises(EntryError, match="twice"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("at", "old"),
    [
        ("numerics.rounding.next_up", "for _ in range"),
        ("RenyiComposition.infinite_mass", "@property"),  # a method, its decorators included
        ("numerics.lattice.FADE", "60.0"),  # a constant of a module
        ("CertifiedAccountant.engine", "ClassVar"),  # a constant of a class
        ("SmoothPart", "class SmoothPart"),
    ],
)
def test_definitions_of_every_kind_are_found(at: str, old: str) -> None:
    """A mutant of each changes one place of one file."""
    with pytest.raises(EntryError, match="not Python"):
        located(Mutant("one", at, old, "(", ("tests/t.py",)))


@pytest.mark.long
def test_killed_alive_and_broken_are_told_apart() -> None:
    """A mutant whose tests fail is killed; one whose tests pass, or cannot be run, is not. The copy is put right."""
    with copied() as root:
        before = located(ROUNDED, root).text
        killed = tried(ROUNDED, root)
        assert killed.killed, killed.said
        # more outward than need be is as sound: no test of soundness may fail
        harmless = Mutant("harmless", ROUNDED.at, ROUNDED.old, "next_up(math.exp(x), 3 * ULPS)", ROUNDED.tests)
        assert tried(harmless, root).verdict == "SURVIVED: harmless"
        missing = Mutant(
            "missing", ROUNDED.at, ROUNDED.old, ROUNDED.new, ("tests/report/test_report.py::test_not_there",)
        )
        assert tried(missing, root).verdict.startswith("BROKEN: missing")
        assert located(ROUNDED, root).text == before


@pytest.mark.share(3)
@pytest.mark.slow
@pytest.mark.parametrize("mutant", sampled(read(), SAMPLE), ids=lambda mutant: mutant.name)
def test_a_sample_is_killed(mutant: Mutant) -> None:
    """``make mutants`` tries them all."""
    with copied() as root:
        outcome = tried(mutant, root)
    assert outcome.killed, f"{outcome.verdict}\n{outcome.said}"
