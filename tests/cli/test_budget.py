"""``hockeystick budget``: a ledger never allows more than its filter, whoever writes it."""

from __future__ import annotations

import json
import multiprocessing
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import hockeystick as hs
from command import refused, run
from hockeystick.cli.budget import NUMBERS
from hockeystick.plan.mechanisms import MECHANISMS
from hockeystick.questions import ledger as ledgers
from hockeystick.questions.ledger import Ledger, read, spend
from hockeystick.values.domains import ListDomain, Switch, domains_of
from hockeystick.values.errors import BudgetError, InvalidInputError
from hockeystick.values.files import held

TENTH = ["--mechanism", "laplace", "--scale", "10", "--date", "2026-11-23"]  # one release of epsilon 0.1


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger of pure epsilon 1, which ten releases of 0.1 exhaust."""
    made = tmp_path / "ledger.toml"
    assert run("budget", "init", made, "--epsilon", "1").exit_code == 0
    return made


def test_ten_tenths_fit_a_budget_of_one_and_an_eleventh_does_not(path: Path) -> None:
    for left in range(9, -1, -1):
        said = run("budget", "spend", path, *TENTH, "--name", "visits")
        assert (said.exit_code, said.stderr) == (0, "")
        assert said.stdout.startswith(f"{left / 10:g} of 1 remains (pure epsilon)\n")
        assert f"more of the last  {left}\n" in said.stdout
    before = path.read_bytes()
    over = run("budget", "spend", path, *TENTH)
    assert (over.exit_code, over.stdout) == (3, "")
    assert over.stderr == (
        f"error: {path}: 1 x laplace does not fit the budget, 0 x would (pure epsilon: 1 of 1 is spent); nothing was "
        "recorded\n"
    )
    assert path.read_bytes() == before


def test_a_delta_of_0_is_none(path: Path, tmp_path: Path) -> None:
    assert run("budget", "init", tmp_path / "other.toml", "--epsilon", "1", "--delta", "0").exit_code == 0
    assert (tmp_path / "other.toml").read_text() == path.read_text()


def test_names_stay_text_on_the_terminal(path: Path) -> None:
    run("budget", "spend", path, *TENTH, "--name", "\x1b[31mred\n<b>")
    said = run("budget", "show", path)
    assert "\x1b" not in said.stdout
    assert said.stdout.endswith("2026-11-23, [31mred <b>: 1 x laplace, scale 10\n")


def test_a_refusal_says_how_many_would_fit_and_a_dry_run_writes_nothing(path: Path) -> None:
    before = path.read_bytes()
    assert (
        "25 x laplace does not fit the budget, 10 x would"
        in run("budget", "spend", path, *TENTH, "--count", "25").stderr
    )
    tried = run("budget", "spend", path, *TENTH, "--count", "4", "--dry-run")
    assert tried.stdout.startswith("0.6 of 1 would remain")
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["approximate-dp", "zcdp", "gdp", "rdp"])
def test_a_ledger_allows_what_its_filter_allows_and_no_more(kind: str, tmp_path: Path) -> None:
    """The filters have tests of their own; here that the file is theirs: the same budget, to the last round."""
    item = hs.Round(hs.Laplace(20.0) if kind == "approximate-dp" else hs.Gaussian(20.0))
    made = Ledger(kind, {"epsilon": 2.0, "delta": 1e-6})
    ledgers.begin(tmp_path / "a.toml", made)
    most = made.more_of(item)
    filters = hs.filters
    named: dict[str, Callable[..., hs.filters.PrivacyFilter]] = {
        "approximate-dp": filters.ApproximateDpFilter,
        "zcdp": filters.ZcdpFilter.reaching,
        "gdp": filters.GdpFilter.reaching,
        "rdp": filters.RdpFilter.reaching,
    }
    alone = named[kind](epsilon=2.0, delta=1e-6)
    assert most > 10
    assert alone.allows(item.changed(count=most))
    assert not alone.allows(item.changed(count=most + 1))
    assert ledgers.spend(tmp_path / "a.toml", [item] * 3).more_of(item) == most - 3
    assert ledgers.read(tmp_path / "a.toml").releases == (item,) * 3
    with pytest.raises(BudgetError):
        ledgers.spend(tmp_path / "a.toml", [item.changed(count=most - 3), item])
    assert ledgers.read(tmp_path / "a.toml").releases == (item,) * 3
    # what was fixed beforehand costs no more than what is chosen on the way: an upper bound by a route of its own
    assert hs.Plan([item.changed(count=most)]).epsilon(1e-6).lower <= 2.0


def test_whoever_comes_meanwhile_waits_and_sees_what_was_spent(path: Path) -> None:
    """The file is replaced by each write, so that the lock that was waited for is one of a file that is gone."""
    outcome: list[object] = []

    def late() -> None:
        try:
            outcome.append(ledgers.spend(path, [hs.Round(hs.Laplace(1.0))]))
        except BudgetError as error:
            outcome.append(error)

    thread = threading.Thread(target=late)
    with held(path):
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()  # it waits, however long this takes
        ledgers._write(path, ledgers.read(path).with_releases([hs.Round(hs.Laplace(10.0))]))
    thread.join()
    assert isinstance(outcome[0], BudgetError)
    assert [item.mechanism for item in ledgers.read(path).releases] == [hs.Laplace(10.0)]


def test_a_ledger_is_not_begun_over_another_file(path: Path) -> None:
    run("budget", "spend", path, *TENTH)
    before = path.read_bytes()
    assert "there is a file of that name" in refused("budget", "init", path, "--epsilon", "100")
    assert path.read_bytes() == before


def test_a_beginning_that_fails_leaves_no_file_and_one_that_was_killed_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new.toml"
    with monkeypatch.context() as patch:

        def full(*_: object) -> None:
            raise InvalidInputError(f"{path}: cannot be written: no space left on device")

        patch.setattr(ledgers, "write_text", full)
        assert "no space left" in refused("budget", "init", path, "--epsilon", "1")
        assert not path.exists()
        path.touch()  # what is there between the two steps of a beginning
        assert "no space left" in refused("budget", "init", path, "--epsilon", "1")
        assert path.read_bytes() == b""
    assert "it is no ledger" in refused("budget", "spend", path, *TENTH)
    assert run("budget", "init", path, "--epsilon", "1").exit_code == 0
    assert ledgers.read(path).epsilon == 1.0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('filter = "pure"', 'filter = ["zcdp"]', "filter must be one of"),
        ('filter = "pure"', "filter = {}", "filter must be one of"),
        ("epsilon = 1.0", 'epsilon = "1"', "epsilon must be"),
        ("epsilon = 1.0", "epsilon = 1.0\ndelta = 0.1", "delta does not go with filter 'pure'"),
        ("[[round]]", "[round]", "round must be written [[round]]"),
        ('adjacency = "add-or-remove"', "round = false", "round must be a list of [[round]] tables"),
        ("count = 1", "count = -1", "round 1: count must be"),
        ('"laplace"\nscale', '"gaussian"\nnoise_multiplier', "release 1: the loss of this round is unbounded"),
        ("[budget]", "[bdget]", "unknown key 'bdget'"),
    ],
)
def test_what_was_written_by_hand_is_refused_in_one_line_that_names_the_file(
    path: Path, old: str, new: str, message: str
) -> None:
    run("budget", "spend", path, *TENTH)
    text = path.read_text()
    assert old in text
    if new.startswith("round"):
        text = text[: text.index("[[round]]")]
    path.write_text(text.replace(old, new))
    before = path.read_bytes()
    for command, more in (("show", []), ("spend", TENTH)):
        said = refused("budget", command, path, *more)
        assert said.startswith(f"{path}: ")
        assert message in said
    assert path.read_bytes() == before


def test_a_file_that_was_changed_by_hand_beyond_its_budget_is_refused(path: Path) -> None:
    run("budget", "spend", path, *TENTH, "--count", "10")
    path.write_text(path.read_text().replace("count = 10", "count = 11"))
    for command, more in (("show", []), ("spend", TENTH)):
        said = refused("budget", command, path, *more)
        assert said.startswith(f"{path}: release 1: the pure filter does not allow this round")
        assert said.endswith("by hand; put the file right")


def test_rounds_of_a_plan_are_spent_together_or_not_at_all(tmp_path: Path) -> None:
    path, plan = tmp_path / "a.toml", tmp_path / "plan.toml"
    run("budget", "init", path, "--epsilon", "3", "--delta", "1e-6", "--filter", "rdp", "--order", "8")
    (hs.dp_sgd(2.0, 0.01, 500) + hs.Round(hs.Gaussian(5.0), name="summary")).save(plan)
    assert run("budget", "spend", path, plan, "--date", "2026-11-23").exit_code == 0
    spent = ledgers.read(path).releases
    assert [(item.count, item.name, item.date) for item in spent] == [
        (500, None, "2026-11-23"), (1, "summary", "2026-11-23")]  # fmt: skip
    (hs.Plan([hs.Round(hs.Gaussian(20.0)), hs.Round(hs.Gaussian(0.3))])).save(plan)
    assert run("budget", "spend", path, plan).exit_code == 3
    assert ledgers.read(path).releases == spent
    hs.Plan([hs.Round(hs.Gaussian(20.0))], "replace-one").save(plan)
    assert "adjacency must be that of the ledger" in refused("budget", "spend", path, plan)
    hs.Plan([hs.Round(hs.Gaussian(20.0))], unit="user", records_per_unit=2).save(plan)
    assert "received unit 'user'" in refused("budget", "spend", path, plan)
    assert "give a PLAN or the flags" in refused("budget", "spend", path, plan, "--scale", "3")


def test_what_is_shown_is_verified_and_an_edited_number_is_not(path: Path, tmp_path: Path) -> None:
    run("budget", "spend", path, *TENTH, "--name", "visits")
    stated = json.loads(run("budget", "show", path, "--json").stdout)
    assert (stated["spent"], stated["remaining"], stated["more_of_the_last"]) == (0.1, 0.9, 9)
    file = tmp_path / "shown.json"
    file.write_text(json.dumps(stated))
    assert run("verify", file).exit_code == 0
    file.write_text(json.dumps({**stated, "remaining": 0.95}))
    assert run("verify", file).exit_code == 3


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["init", "new.toml", "--epsilon", "-1"], "--epsilon must be"),
        (["init", "new", "--epsilon", "1"], "the name of a ledger ends in .toml"),
        (["init", "new.toml", "--epsilon", "1", "--filter", "zdcp"], "did you mean 'zcdp'?"),
        (["init", "new.toml", "--epsilon", "1", "--filter", "gdp"], "--delta is missing"),
        (["init", "new.toml", "--epsilon", "1", "--filter", "gdp", "--delta", "0"], "--delta must be"),
        (["init", "new.toml", "--epsilon", "1", "--slack", "1e-7"], "--slack does not go with filter 'pure'"),
        (["init", "new.toml", "--epsilon", "1", "--adjacency", "other"], "--adjacency must be"),
        (["show", "none.toml"], "cannot be read"),
        (["show", "plan.toml"], "it is no ledger"),
        (["spend", "ledger.toml"], "--mechanism is missing"),
        (["spend", "ledger.toml", "--mechanism", "laplace"], "scale is missing"),
        (["spend", "ledger.toml", "--mechanism", "laplace", "--scale", "0"], "scale must be"),
        (["spend", "ledger.toml", "--mechanism", "laplace", "--mu", "1"], "belongs to mechanism 'gdp'"),
        (["spend", "ledger.toml", *TENTH, "--count", "0.5"], "count must be a whole number"),
        (["spend", "ledger.toml", "--mechanism", "gaussian", "--sigma", "2"], "`hockeystick budget init --filter`"),
        (["spend", "ledger.toml", *TENTH[:-1], "tomorrow"], "date must be a day"),
    ],
)
def test_bad_input_is_told_in_one_line(
    path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], message: str
) -> None:
    monkeypatch.chdir(path.parent)
    Path("plan.toml").write_text('[[round]]\nmechanism = "laplace"\nscale = 1\n')
    before = path.read_bytes()
    assert message in refused("budget", *command)
    assert path.read_bytes() == before
    assert not Path("new.toml").exists()


def test_a_ledger_is_no_plan_and_says_so(path: Path) -> None:
    """The certified composition of its releases would be too small: they were chosen on the way."""
    assert "`hockeystick budget show` answers for it" in refused("epsilon", path, "--delta", "1e-5")


def test_there_is_a_flag_for_every_number_of_a_mechanism() -> None:
    wanted = {
        key
        for kind in MECHANISMS
        for key, domain in domains_of(kind).items()
        if not isinstance(domain, ListDomain | Switch)
    }
    assert set(NUMBERS) == wanted


def test_what_the_flags_say_of_a_release_beats_its_plan(path: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    hs.Plan([hs.Round(hs.Laplace(10.0), name="day 1", note="first", date="2024-01-01")]).save(plan)
    for flags in ([], ["--name", "again", "--date", "2024-01-02"]):
        assert run("budget", "spend", path, plan, *flags).exit_code == 0
    assert [(item.name, item.note, item.date) for item in ledgers.read(path).releases] == [
        ("day 1", "first", "2024-01-01"), ("again", "first", "2024-01-02")]  # fmt: skip


def test_what_remains_is_rounded_down(tmp_path: Path) -> None:
    """No more is shown to remain than does: 1 - 1/3 and the like, in the digits that are shown."""
    for scale in ("3", "7", "11", "13", "17"):
        path = tmp_path / f"{scale}.toml"
        run("budget", "init", path, "--epsilon", "1")
        said = run("budget", "spend", path, "--mechanism", "laplace", "--scale", scale)
        shown = said.stdout.split()[0]
        assert Fraction(shown) <= 1 - 1 / Fraction(scale)


def _spends(path: Path, times: int) -> None:
    for _ in range(times):
        spend(path, [hs.Round(hs.Laplace(1000.0))])


def test_no_spend_is_lost_where_many_processes_spend(path: Path) -> None:
    """A writer that waited must look at the file again, which the writer before it has replaced."""
    processes = [multiprocessing.get_context("fork").Process(target=_spends, args=(path, 8)) for _ in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 8
    assert sum(item.count for item in read(path).releases) == 64
