"""docs/integrations.md shows what its scripts are and print, and each changes as little as it says."""

from __future__ import annotations

import pytest
from integrations_shown import PAGE, SECTION, change, run, shown

PACKAGES = {"opacus": 2, "dp_accounting": 1}


def part(name: str) -> str:
    found = {match[2]: match[3] for match in SECTION.finditer(PAGE.read_text(encoding="utf-8"))}
    assert set(found) == {*PACKAGES, "times"}
    return found[name]


@pytest.mark.parametrize(("package", "lines"), PACKAGES.items())
def test_one_import_and_at_most_one_argument_change(package: str, lines: int) -> None:
    changed = change(package)
    assert len(changed) == 2 * lines
    imports = [line for line in changed if "import" in line]
    assert len(imports) == 2
    assert imports[1].startswith(f"+from hockeystick.integrations.{package} import ")
    assert [line.strip() for line in changed if line not in imports] == [
        '-engine = PrivacyEngine(accountant="prv")',
        '+engine = PrivacyEngine(accountant="hockeystick")',
    ][: 2 * (lines - 1)]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_page_shows_what_is_printed(package: str) -> None:
    found = shown(package, run(f"{package}_original"), run(f"{package}_certified"))
    assert part(package) == found, "tools/integrations_shown.py --write brings it up to date"


def test_the_page_has_the_times_of_each_package() -> None:
    table = part("times")
    assert table.count("| Opacus, PRV |") == 3
    assert table.count("| dp_accounting, PLD |") == 4
    assert "dp-accounting 0.6.0" in table
    assert "opacus 1.6.0" in table
