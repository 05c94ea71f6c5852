"""The page about a ledger says what its log says."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import hockeystick as hs
from command import refused, run
from hockeystick.report.document.files import record_in
from hockeystick.report.ledger_page import ledger_page


def office(folder: Path) -> hs.Ledger:
    """A ledger with regions, a grant, a release that was given back, and one that is reserved."""
    budget = {"rho": 2.63, "delta": 1e-10}
    ledger = hs.Ledger.begin(
        folder / "a.db", "zcdp", budget, dataset="<b>Census</b>", unit="person", regions=("north", "south")
    )
    for number in range(3):
        ledger.spend(hs.Round(hs.DiscreteGaussian(4.0), name=f"table <{number}>"), region="north", who="ann")
    ledger.grant("maps", 0.5)
    reserved = ledger.spend(hs.Round(hs.ZCDP(0.1)), request="z", grant="maps", reserve=True)
    given = ledger.spend(hs.Round(hs.ZCDP(0.2)), request="y", reserve=True)
    assert given.token is not None
    ledger.void("y", given.token)
    assert reserved.token is not None
    return ledger


def test_a_page_says_what_remains_to_whom_and_what_an_outsider_learns(tmp_path: Path) -> None:
    text = ledger_page(office(tmp_path))
    for said in (
        "2.03625 of 2.63 remains (rho)",
        "(17.4306, 1e-10)-differentially private",
        "is at most 3.72e7 times as likely with one of two datasets that differ in one person",
        "this number gives a single person no meaningful protection",
        "<dt>releases</dt><dd>5, 1 voided</dd>",
        "ann, region north, table &lt;0&gt;: 1 x discrete-gaussian",
        "log, prices and state agree",
    ):
        assert said in text, said
    assert "<dt>grant maps</dt><dd>0.4 of 0.5 remains</dd>" in text
    assert "<dt>regions</dt><dd>north " in text
    assert "<b>Census" not in text
    assert "is inconsistent" not in text


def test_the_numbers_of_a_page_are_those_of_the_ledger(tmp_path: Path) -> None:
    ledger = office(tmp_path)
    form, record = record_in(ledger_page(ledger))
    assert form == "HTML"
    assert record == json.loads(run("budget", "show", tmp_path / "a.db", "--json").stdout) | {
        "latest": record["latest"]
    }
    page = tmp_path / "page.html"
    assert run("budget", "report", tmp_path / "a.db", "-o", page).exit_code == 0
    assert "`hockeystick budget verify LEDGER`" in refused("verify", page)
    assert "end the name in .html" in refused("budget", "report", tmp_path / "a.db", "-o", tmp_path / "page.txt")


def test_a_page_of_a_ledger_that_was_changed_says_so(tmp_path: Path) -> None:
    ledger = office(tmp_path)
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("UPDATE ledger_entry SET body = replace(body, 'ann', 'bob') WHERE number = 2")
    assert "the ledger is inconsistent: entry 2: its hash does not match" in ledger_page(ledger)


def test_pages_of_other_budgets_are_drawn(tmp_path: Path) -> None:
    """Without an entry, with a delta, without an epsilon, and of two periods."""
    empty = hs.Ledger.begin(tmp_path / "a.db", "pure", {"epsilon": 1.0})
    assert "is right at most 73.2% of the time" in ledger_page(empty)
    assert "relative to everything" not in ledger_page(empty)
    # 1/2 + TV / 2: Phi(mu / 2) for mu of Gaussian DP, and (e^eps + delta) / (e^eps + 1) for the worst (eps, delta)
    right = {"gdp": "60.2%", "approximate-dp": "95.8%"}
    for name, delta in (("gdp", 1e-9), ("approximate-dp", 0.1)):
        page = ledger_page(hs.Ledger.begin(tmp_path / f"{name}.db", name, {"epsilon": 3.0, "delta": delta}))
        assert f"is right at most {right[name]} of the time" in page
    for keys in ({"epsilon": 150.0}, {"epsilon": 3.0, "delta": 1e-200}, {"mu": 900.0, "delta": 1e-6}):
        name = "gdp" if "mu" in keys else "approximate-dp" if "delta" in keys else "pure"
        assert "is right at most" in ledger_page(hs.Ledger.begin(tmp_path / f"{name}-far.db", name, keys))
    hs.Ledger.begin(tmp_path / "b.db", "zcdp", {"rho": 1.0})
    assert "Epsilon depends on delta" in ledger_page(hs.Ledger(tmp_path / "b.db"))
    both = hs.Ledger.begin(tmp_path / "c.db", "approximate-dp", {"epsilon": 3.0, "delta": 1e-6})
    both.spend(hs.Round(hs.Gaussian(10.0)))
    both.renew("2027")
    text = ledger_page(both)
    assert "each of 2 periods" in text
    assert "3 of 3 remains (epsilon)" in text
