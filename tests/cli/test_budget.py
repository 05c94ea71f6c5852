"""``hockeystick budget``: the ledger on the command line (``questions/test_ledger.py`` has its rules)."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import hockeystick as hs
from command import refused, run
from hockeystick.cli.budget import NUMBERS
from hockeystick.plan.mechanisms.registry import MECHANISMS
from hockeystick.values.domains import ListDomain, Switch, domains_of

TENTH = ["--mechanism", "laplace", "--scale", "10"]  # one release of epsilon 0.1


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger of pure epsilon 1, which ten releases of 0.1 exhaust."""
    made = tmp_path / "ledger.db"
    assert run("budget", "init", made, "--epsilon", "1").exit_code == 0
    return made


def test_ten_tenths_fit_and_an_eleventh_is_refused_with_status_3(path: Path) -> None:
    for left in range(9, -1, -1):
        said = run("budget", "spend", path, *TENTH, "--name", "visits")
        assert (said.exit_code, said.stderr) == (0, "")
        assert said.stdout.startswith(f"{left / 10:g} of 1 remains (pure epsilon)\n")
    over = run("budget", "spend", path, *TENTH)
    assert (over.exit_code, over.stdout) == (3, "")
    assert over.stderr == (f"error: {path}: 1 x laplace does not fit; 0 pure epsilon is left; nothing was recorded\n")
    assert run("budget", "verify", path).stdout.startswith("11 entries agree")


def test_a_price_records_nothing(path: Path) -> None:
    said = run("budget", "price", path, *TENTH, "--count", "4")
    assert said.exit_code == 0
    assert said.stdout.startswith("pure epsilon 0.4: it fits; nothing was recorded\n")
    assert "fits  2 times\n" in said.stdout
    found = json.loads(run("budget", "price", path, *TENTH, "--count", "25", "--json").stdout)
    assert (found["fits"], found["more"], found["price"]) == (False, 0, 2.5)
    assert hs.Ledger(path).show().state.number == 0


def test_a_request_is_recorded_once_and_its_receipt_is_found_again(path: Path, tmp_path: Path) -> None:
    first = run("budget", "spend", path, *TENTH, "--id", "q1", "--who", "ann", "--json")
    again = run("budget", "spend", path, *TENTH, "--id", "q1", "--json")
    assert (first.exit_code, again.exit_code, again.stdout) == (0, 0, first.stdout)
    other = run("budget", "spend", path, *TENTH, "--id", "q1", "--count", "2")
    assert other.exit_code == 3
    assert "'q1' was already recorded for another release (entry 1)" in other.stderr
    receipt = tmp_path / "receipt.json"
    receipt.write_text(first.stdout)
    assert run("budget", "verify", path, "--receipt", receipt).exit_code == 0
    receipt.write_text(first.stdout.replace('"hash": "', '"hash": "0'))
    assert run("budget", "verify", path, "--receipt", receipt).exit_code == 3


def test_a_reserved_release_is_voided_or_confirmed_by_its_token(path: Path) -> None:
    tokens = [
        json.loads(run("budget", "spend", path, *TENTH, "--id", name, "--reserve", "--json").stdout)["token"]
        for name in "ab"
    ]
    assert run("budget", "void", path, "a", "--token", tokens[0]).stdout.startswith("0.9 of 1 remains")
    assert run("budget", "run", path, "b", "--token", tokens[1]).exit_code == 0
    late = run("budget", "void", path, "b", "--token", tokens[1])
    assert (late.exit_code, "'b' was already settled by run" in late.stderr) == (3, True)
    assert "token must be" in refused("budget", "void", path, "b", "--token", "guess")
    shown = " ".join(run("budget", "show", path).stdout.split())
    assert "releases 2, 1 voided" in shown
    assert "1 x laplace, scale 10, voided" in shown


def test_a_statistical_office_plans_a_year(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In rho, with regions, a grant and a renewal: the way through the page on budgets."""
    monkeypatch.chdir(tmp_path)
    given = ["--rho", "2.63", "--delta", "1e-10", "--dataset", "census", "--unit", "person"]
    begun = run("budget", "init", "office.db", *given, "--region", "north", "--region", "south")
    assert "(17.4306, 1e-10)-differentially private" in " ".join(begun.stdout.split())
    assert "add-or-remove, of a person" in begun.stdout
    assert "the noise of each release is relative to everything that one person contributes" in " ".join(
        begun.stdout.split()
    )
    noise = ["--mechanism", "discrete-gaussian", "--sigma", "10"]
    for region in ("north", "south"):
        assert run("budget", "spend", "office.db", *noise, "--count", "20", "--region", region).exit_code == 0
    assert run("budget", "grant", "office.db", "maps", "--amount", "0.5").stdout.startswith("2.03 of 2.63 remains")
    zcdp = ["--mechanism", "zcdp", "--rho", "0.1", "--grant", "maps"]
    assert run("budget", "spend", "office.db", *zcdp).exit_code == 0
    shown = json.loads(run("budget", "show", "office.db", "--json").stdout)
    assert (shown["spent"], shown["remaining"], shown["grants"]["maps"]["remaining"]) == (0.6, 2.03, 0.4)
    assert run("budget", "grant", "office.db", "roads", "--amount", "3").exit_code == 3
    assert run("budget", "renew", "office.db", "2027").stdout.startswith("2.13 of 2.63 remains")
    assert "in each of 2 periods" in " ".join(run("budget", "show", "office.db").stdout.split())
    assert run("budget", "export", "office.db", "-o", "log.json").exit_code == 0
    assert run("budget", "verify", "log.json").exit_code == 0
    log = json.loads(Path("log.json").read_text())
    log["entries"][1]["keys"]["rounds"][0]["count"] = 1
    Path("log.json").write_text(json.dumps(log))
    assert run("budget", "verify", "log.json").exit_code == 3


def test_a_training_team_counts_in_the_moments_of_its_rounds(tmp_path: Path) -> None:
    path, plan = tmp_path / "a.db", tmp_path / "plan.toml"
    run("budget", "init", path, "--epsilon", "3", "--delta", "1e-6", "--filter", "rdp", "--order", "8")
    (hs.dp_sgd(2.0, 0.01, 500) + hs.Round(hs.Gaussian(5.0), name="summary")).save(plan)
    assert run("budget", "spend", path, plan).exit_code == 0
    rounds = hs.Ledger(path).show().last[0]["rounds"]
    assert [(item["count"], item.get("name")) for item in rounds] == [(500, None), (1, "summary")]
    (hs.Plan([hs.Round(hs.Gaussian(20.0)), hs.Round(hs.Gaussian(0.3))])).save(plan)
    assert run("budget", "spend", path, plan).exit_code == 3
    hs.Plan([hs.Round(hs.Gaussian(20.0))], "replace-one").save(plan)
    assert "as in the ledger" in refused("budget", "spend", path, plan)
    hs.Plan([hs.Round(hs.Gaussian(20.0))], unit="user", records_per_unit=2).save(plan)
    assert "received unit 'user'" in refused("budget", "spend", path, plan)
    assert "give either a PLAN or flags" in refused("budget", "spend", path, plan, "--scale", "3")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["init", "new.db"], "the budget is missing: give --epsilon"),
        (["init", "new.db", "--epsilon", "-1"], "--epsilon must be"),
        (["init", "new.toml", "--epsilon", "1"], "a ledger must be a database"),
        (["init", "new.db", "--epsilon", "1", "--filter", "zdcp"], "did you mean 'zcdp'?"),
        (["init", "new.db", "--epsilon", "1", "--filter", "gdp"], "takes epsilon with delta, or mu"),
        (["init", "new.db", "--epsilon", "1", "--filter", "gdp", "--delta", "0"], "--delta must be"),
        (["init", "new.db", "--epsilon", "1", "--slack", "1e-7"], "filter 'pure' takes epsilon"),
        (["init", "new.db", "--rho", "1", "--mu", "1"], "received mu, rho"),
        (["init", "new.db", "--epsilon", "1", "--adjacency", "other"], "--adjacency must be"),
        (["init", "new.db", "--epsilon", "1", "--region", "a", "--region", "a"], "must have different names"),
        (["init", "ledger.db", "--epsilon", "100"], "ledger.db: a ledger already exists here"),
        (["show", "none.db"], "no such file"),
        (["show", "plan.toml"], "a ledger must be a database"),
        (["verify", "none.json"], "cannot be read as JSON"),
        (["verify", "ledger.db", "--receipt", "plan.toml"], "cannot be read as JSON"),
        (["grant", "ledger.db", "maps", "--amount", "-1"], "--amount must be"),
        (["spend", "ledger.db"], "--mechanism is missing"),
        (["spend", "ledger.db", "--mechanism", "laplace"], "scale is missing"),
        (["spend", "ledger.db", "--mechanism", "laplace", "--scale", "0"], "scale must be"),
        (["spend", "ledger.db", "--mechanism", "laplace", "--mu", "1"], "belongs to mechanism 'gdp'"),
        (["spend", "ledger.db", *TENTH, "--count", "0.5"], "count must be a whole number"),
        (["spend", "ledger.db", *TENTH, "--region", "north"], "created without regions"),
        (["spend", "ledger.db", *TENTH, "--grant", "maps"], "the ledger has no grants"),
        (["spend", "ledger.db", *TENTH, "--id", "a\nb"], "id must be a line"),
        (["spend", "ledger.db", "--mechanism", "gaussian", "--sigma", "2"], "does not accept this gaussian round"),
    ],
)
def test_bad_input_is_told_in_one_line(
    path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], message: str
) -> None:
    monkeypatch.chdir(path.parent)
    Path("plan.toml").write_text('[[round]]\nmechanism = "laplace"\nscale = 1\n')
    assert message in refused("budget", *command)
    assert hs.Ledger(path).show().state.number == 0
    assert not Path("new.db").exists()


def test_names_stay_text_on_the_terminal(path: Path) -> None:
    run("budget", "spend", path, *TENTH, "--name", "\x1b[31mred\n<b>")
    said = run("budget", "show", path)
    assert "\x1b" not in said.stdout
    assert said.stdout.endswith("[31mred <b>: 1 x laplace, scale 10\n")


def test_there_is_a_flag_for_every_number_of_a_mechanism() -> None:
    wanted = {
        key
        for kind in MECHANISMS
        for key, domain in domains_of(kind).items()
        if not isinstance(domain, ListDomain | Switch)
    }
    assert set(NUMBERS) == wanted


def test_what_remains_is_rounded_down(tmp_path: Path) -> None:
    """No more is shown to remain than does: 1 - 1/3 and the like, in the digits that are shown."""
    for scale in ("3", "7", "11", "13", "17"):
        path = tmp_path / f"{scale}.db"
        run("budget", "init", path, "--epsilon", "1")
        said = run("budget", "spend", path, "--mechanism", "laplace", "--scale", scale)
        shown = said.stdout.split()[0]
        assert Fraction(shown) <= 1 - 1 / Fraction(scale)


def test_a_ledger_is_not_written_over(path: Path) -> None:
    page = path.with_suffix(".html")
    page.symlink_to(path)
    for command in (("export",), ("report",)):
        assert "this is the ledger; give another name" in refused("budget", *command, page, "-o", page)
    assert run("budget", "verify", path).exit_code == 0


def test_what_a_region_has_left_is_said(tmp_path: Path) -> None:
    path = tmp_path / "regions.db"
    run("budget", "init", path, "--rho", "1", "--region", "north", "--region", "south")
    run("budget", "spend", path, "--mechanism", "zcdp", "--rho", "0.75", "--region", "north")
    assert "north 0.25, south 1 remains" in run("budget", "show", path).stdout
    found = run("budget", "spend", path, "--mechanism", "zcdp", "--rho", "2", "--region", "south")
    assert "does not fit in region south; 1 rho is left" in found.stderr
    run("budget", "grant", path, "maps", "--amount", "0.1375")
    found = run("budget", "spend", path, "--mechanism", "zcdp", "--rho", "2", "--region", "north")
    assert "; 0.1125 rho is left" in found.stderr
    for name in ("grant", "region", "id"):
        command = ("spend", path, "--mechanism", "zcdp", "--rho", "0.1", f"--{name}", "")
        assert name in refused("budget", *command)


def test_a_price_above_the_budget_is_no_number(tmp_path: Path) -> None:
    """Of an epsilon and a delta, and of a currency, which have no prices beyond what is left."""
    step = tmp_path / "step.toml"
    hs.Plan([hs.Round(hs.Gaussian(10.0))]).save(step)
    for budget in (("--epsilon", "1", "--delta", "1e-6"), ("--reference", step, "--epsilon", "1", "--delta", "1e-6")):
        path = tmp_path / f"{len(budget)}.db"
        run("budget", "init", path, *budget)
        asked = ("budget", "price", path, "--mechanism", "gaussian", "--sigma", "0.1")
        assert run(*asked).stdout.startswith("more than the whole budget: it does not fit")
        assert json.loads(run(*asked, "--json").stdout)["price"] is None


def test_a_reference_is_one_round_under_the_adjacency_of_the_ledger(tmp_path: Path) -> None:
    path, step = tmp_path / "new.db", tmp_path / "step.toml"
    command = ("budget", "init", path, "--reference", step, "--epsilon", "1", "--delta", "1e-6")
    hs.Plan([hs.Round(hs.Gaussian(10.0)), hs.Round(hs.Gaussian(20.0))]).save(step)
    assert "a reference must be one round; received 2" in refused(*command)
    hs.Plan([hs.Round(hs.Gaussian(20.0))], "replace-one").save(step)
    assert "adjacency must be 'add-or-remove', as in the ledger" in refused(*command)
    assert run(*command, "--adjacency", "replace-one").exit_code == 0


def test_partitions_of_a_plan_are_refused(path: Path, tmp_path: Path) -> None:
    """What a budget pays for one run on disjoint parts it would have to pay for the parts that a record changes."""
    plan = tmp_path / "plan.toml"
    plan.write_text('partitions_per_unit = 1\n[[round]]\nmechanism = "laplace"\nscale = 10.0\n')
    assert "received partitions_per_unit" in refused("budget", "spend", path, plan)


def test_a_receipt_is_told_from_another_file(path: Path, tmp_path: Path) -> None:
    spent = run("budget", "spend", path, "--mechanism", "laplace", "--scale", "10", "--json")
    receipt = tmp_path / "receipt.json"
    receipt.write_text(spent.stdout)
    assert "receipts    1 found" in run("budget", "verify", path, "--receipt", receipt).stdout
    receipt.write_text("{}")
    assert "not a receipt" in refused("budget", "verify", path, "--receipt", receipt)
