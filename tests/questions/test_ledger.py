"""A ledger is never overspent, forgets nothing, and notices whatever was changed behind its back."""

from __future__ import annotations

import contextlib
import json
import math
import random
import sqlite3
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest

import hockeystick as hs
from hockeystick.plan.file import rounds_in_order
from hockeystick.questions.filters.currency import least_price
from hockeystick.questions.ledger.budget import CEILING, Budget
from hockeystick.questions.ledger.entries import FIRST, Entry, chained, entries_of, exported, spelled
from hockeystick.questions.ledger.state import WHOLE, Account, State
from hockeystick.questions.ledger.store import SQLite, Transaction
from hockeystick.questions.ledger.verification import Verification, verified
from postgresql import server

TWICE = "INSERT INTO ledger_entry SELECT number + 99, kind, name, body, hash FROM ledger_entry"
TENTH = hs.Round(hs.Laplace(10.0))


@pytest.fixture(scope="module")
def address() -> Iterator[str | None]:
    with server() as found:
        yield found


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place without a ledger."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    psycopg = pytest.importorskip("psycopg")
    found = request.getfixturevalue("address")
    if found is None:
        pytest.skip("no server of PostgreSQL is installed")
    name = f"ledger_{random.getrandbits(60)}"
    with psycopg.connect(found + "postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return str(found) + name


def begun(place: str | Path, kind: str = "pure", **budget: Any) -> hs.Ledger:
    relation = budget.pop("adjacency", "add-or-remove")
    regions = budget.pop("regions", ())
    return hs.Ledger.begin(place, kind, budget or {"epsilon": 1.0}, adjacency=relation, regions=regions)


def left(ledger: hs.Ledger, name: str = WHOLE) -> Fraction:
    state = ledger.show(0).state
    return state.budget.amounts(state.left(name))[0]


# spending


def test_ten_tenths_fit_a_budget_of_one_and_an_eleventh_does_not(place: str) -> None:
    ledger = begun(place)
    for number in range(10):
        receipt = ledger.spend(TENTH)
        assert receipt.number == number + 1
    assert left(ledger) == 0
    assert not ledger.price(TENTH).fits
    with pytest.raises(hs.BudgetError, match="1 x laplace does not fit; 0 pure epsilon is left"):
        ledger.spend(TENTH)
    assert ledger.show().state.number == 10
    assert ledger.verify().sound


def test_a_repeated_request_is_recorded_once(place: str) -> None:
    ledger = begun(place)
    first = ledger.spend(TENTH, request="q1")
    assert ledger.spend(TENTH, request="q1") == first
    assert hs.Ledger(place).spend([TENTH], request="q1", who="another") == first
    for other in (hs.Round(hs.Laplace(20.0)), 2 * TENTH, TENTH.changed(name="visits")):
        with pytest.raises(hs.BudgetError, match="'q1' was already recorded for another release"):
            ledger.spend(other, request="q1")
    with pytest.raises(hs.BudgetError, match="for another release"):
        ledger.spend(TENTH, request="q1", reserve=True)
    assert left(ledger) == Fraction(9, 10)


def test_a_repeated_request_with_lists_is_the_same(tmp_path: Path) -> None:
    ledger = begun(tmp_path / "a.db", "rdp", epsilon=3.0, delta=1e-6)
    lists = hs.Round(hs.RDP(orders=(2.0, 30.0), epsilons=(0.1, 0.2)))
    assert ledger.spend(lists, request="a") == ledger.spend(lists, request="a")


def test_several_rounds_are_spent_together_or_not_at_all(place: str) -> None:
    ledger = begun(place)
    with pytest.raises(hs.BudgetError, match="does not fit"):
        ledger.spend([5 * TENTH, 6 * TENTH])
    assert left(ledger) == 1
    ledger.spend([5 * TENTH, 5 * TENTH])
    assert left(ledger) == 0


def test_a_token_gives_back_once_and_only_before_it_was_confirmed(place: str) -> None:
    ledger = begun(place)
    kept, ran, plain = (ledger.spend(TENTH, request=name, reserve=name != "c") for name in "abc")
    assert plain.token is None
    assert ledger.spend(TENTH, request="a", reserve=True).token is None  # it is given once
    assert kept.token is not None
    assert ran.token is not None
    for wrong in (ran.token, "", "é"):
        with pytest.raises(hs.InvalidInputError, match="token must be the token on the reservation's receipt"):
            ledger.void("a", wrong)
    for name in ("c", "none"):
        with pytest.raises(hs.InvalidInputError, match="id must be the ID of a reserved release"):
            ledger.void(name, kept.token)
    ledger.run("b", ran.token)
    with pytest.raises(hs.BudgetError, match="'b' was already settled by run"):
        ledger.void("b", ran.token)
    assert left(ledger) == Fraction(7, 10)
    assert ledger.void("a", kept.token) == ledger.void("a", kept.token)
    with pytest.raises(hs.BudgetError, match="'a' was already settled by void"):
        ledger.run("a", kept.token)
    assert left(ledger) == Fraction(8, 10)
    for name, settled in (("a", "voided"), ("b", "run")):
        with pytest.raises(hs.BudgetError, match=f"already recorded and {settled}"):
            ledger.spend(TENTH, request=name, reserve=True)
    shown = ledger.show()
    assert [keys["state"] for keys in shown.last] == ["void", "run", "run"]
    assert (shown.releases, shown.voids) == (3, 1)
    assert ledger.verify().sound


def test_a_grant_is_set_aside_and_limits_whoever_spends_it(place: str) -> None:
    ledger = begun(place, "zcdp", rho=1.0)
    ledger.grant("maps", 0.5)
    assert (left(ledger), left(ledger, "maps")) == (Fraction(1, 2), Fraction(1, 2))
    tenth = hs.Round(hs.ZCDP(0.1))
    for _ in range(5):
        ledger.spend(tenth, grant="maps")
    with pytest.raises(hs.BudgetError, match="does not fit in grant maps; 0 rho is left"):
        ledger.spend(tenth, grant="maps")
    ledger.spend(5 * tenth)
    with pytest.raises(hs.BudgetError, match=r"a grant of 0\.001 does not fit; 0 is left to grant"):
        ledger.grant("roads", 0.001)
    with pytest.raises(hs.InvalidInputError, match="grant: this name is already taken"):
        ledger.grant("maps", 0.1)
    with pytest.raises(hs.InvalidInputError, match="did you mean 'maps'"):
        ledger.spend(tenth, grant="map")
    assert ledger.verify().sound


def test_a_renewal_begins_a_period_and_grants_stay(place: str) -> None:
    ledger = begun(place)
    ledger.grant("maps", 0.4)
    old = ledger.spend(TENTH, request="old", grant="maps", reserve=True)
    ledger.spend(6 * TENTH)
    ledger.renew("2027")
    assert (left(ledger), left(ledger, "maps")) == (Fraction(6, 10), Fraction(4, 10))
    assert old.token is not None
    for settle in (ledger.void, ledger.run):
        with pytest.raises(hs.BudgetError, match="an earlier period"):
            settle("old", old.token)
    with pytest.raises(hs.BudgetError, match="already recorded in an earlier period"):
        ledger.spend(TENTH, request="old", grant="maps", reserve=True)
    with pytest.raises(hs.InvalidInputError, match="a period with this name already began"):
        ledger.renew("2027")
    assert ledger.show().state.period == 1
    assert ledger.verify().sound


# prices


def test_units_are_decimal_and_prices_are_rounded_up() -> None:
    """Each price is at least the exact one and less than a unit above; limits are at most the exact ones."""
    rng = random.Random(1)
    for _ in range(200):
        limit = 10 ** rng.uniform(-5, 3)
        budget = Budget("pure", {"epsilon": limit})
        (whole,), (unit,) = budget.limits, budget.units
        assert 10**11 <= whole < 10**12
        assert 0 <= Fraction(repr(limit)) - whole * unit < unit
        cost = Fraction(repr(rng.uniform(0.0, 2 * limit)))
        (price,) = budget.whole((cost,))
        assert 0 <= price * unit - cost < unit
    assert Budget("pure", {"epsilon": 1.0}).whole((Fraction(10) ** 400,)) == (CEILING,)


def test_the_default_budget_takes_normal_noise_and_the_sum_of_losses(tmp_path: Path) -> None:
    """Either rule suffices; each is used up to its end."""
    both = begun(tmp_path / "a.db", "approximate-dp", epsilon=3.0, delta=1e-6)
    made = hs.filters.ApproximateDpFilter(3.0, 1e-6)
    for item in (hs.Round(hs.Gaussian(10.0)), hs.Round(hs.DiscreteGaussian(10.0)), hs.Round(hs.Laplace(1.0))):
        assert both.price(item).more == made.more_of(item)
    assert both.price(hs.Round(hs.Laplace(1.0))).more == 3
    many = both.price(hs.Round(hs.Gaussian(10.0))).more
    assert many is not None
    both.spend(many * hs.Round(hs.Gaussian(10.0)))
    with pytest.raises(hs.BudgetError):
        both.spend(hs.Round(hs.Gaussian(10.0)))
    assert both.verify().sound
    with pytest.raises(hs.InvalidInputError, match="cannot be split into grants"):
        both.grant("maps", 0.1)


# regions


def test_regions_are_spent_side_by_side(place: str) -> None:
    ledger = begun(place, "pure", epsilon=1.0, regions=("north", "south"))
    ledger.spend(5 * TENTH, region="north")
    ledger.spend(5 * TENTH, region="south")
    assert left(ledger) == Fraction(1, 2)
    ledger.spend(3 * TENTH)
    assert left(ledger) == Fraction(2, 10)
    with pytest.raises(hs.BudgetError, match="2 x would"):
        ledger.spend(3 * TENTH, region="south")
    with pytest.raises(hs.InvalidInputError, match="did you mean 'south'"):
        ledger.spend(TENTH, region="souht")
    assert ledger.verify().sound


def test_a_record_that_moves_between_regions_pays_in_both() -> None:
    """Against all pairs of regions by hand, for random prices in each direction."""
    rng = random.Random(2)
    directions = ("replace-one", "remove", "add")
    for _ in range(200):
        names = [f"r{number}" for number in range(rng.randint(1, 5))]
        account = Account((10**12,))
        prices = {name: {way: (rng.randint(0, 100),) for way in directions} for name in names}
        whole = rng.randint(0, 100)
        account.add(WHOLE, {"replace-one": (whole,)}, 1)
        for name in names:
            account.add(name, prices[name], 1)
        stays = [prices[name]["replace-one"][0] for name in names]
        moves = [prices[a]["remove"][0] + prices[b]["add"][0] for a, b in permutations(names, 2)]
        ends = [prices[name][way][0] for name in names for way in ("remove", "add")]  # to or from an empty region
        assert account.total(hs.Direction.REPLACE_ONE) == (whole + max([*stays, *moves, *ends]),)


def test_replacing_records_of_two_regions_costs_the_sum_of_both(tmp_path: Path) -> None:
    ledger = begun(tmp_path / "a.db", "zcdp", rho=1.0, adjacency="replace-one", regions=("north", "south"))
    item = hs.Round(hs.Gaussian(10.0))  # replaced: 2/10 squared, halved; removed or added: a quarter of that
    ledger.spend(item, region="north")
    assert 1 - left(ledger) == Fraction(2, 100)
    ledger.spend(7 * item, region="south")
    assert 1 - left(ledger) == Fraction(14, 100)
    assert ledger.verify().sound


# the database


def test_the_database_itself_refuses_an_account_above_its_limit(place: str) -> None:
    ledger = begun(place)
    ledger.spend(9 * TENTH)
    store = ledger._store
    with pytest.raises(hs.InvalidInputError, match=r"(?i)check constraint"):
        store.write(lambda transaction: transaction.ask("UPDATE ledger_account SET spent_1 = limit_1 + 1"))
    with pytest.raises(hs.InvalidInputError, match=r"(?i)unique"):
        store.write(
            lambda transaction: transaction.ask(
                "INSERT INTO ledger_entry SELECT 99, kind, name, body, hash FROM ledger_entry"
            )
        )
    assert ledger.verify().sound


def test_a_full_disk_records_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = begun(tmp_path / "a.db")
    connected = SQLite.connected

    def full(self: SQLite) -> sqlite3.Connection:
        found = connected(self)
        pages = found.execute("PRAGMA page_count").fetchone()[0]
        found.execute(f"PRAGMA max_page_count = {pages}")
        return found

    big = hs.Round(hs.Laplace(1e4), note="x" * 2000)
    monkeypatch.setattr(SQLite, "connected", full)
    with pytest.raises(hs.InvalidInputError, match=r"a\.db: database or disk is full$"):
        ledger.spend(50 * [big])
    monkeypatch.setattr(SQLite, "connected", connected)
    assert ledger.show().releases == 0
    assert ledger.verify().sound
    ledger.spend(big)


def test_nothing_is_recorded_where_the_work_fails_half_way(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = begun(place)

    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "append", broken)
        with pytest.raises(KeyboardInterrupt):
            ledger.spend(TENTH)
    assert left(ledger) == 1
    assert ledger.verify().sound


def test_what_is_no_ledger_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a database, but long enough to be looked at as if it were one" * 20)
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE t (x)").connection.commit()
    for name, reason in (
        ("none.db", "no such file"),
        ("text.db", "not a ledger"),
        ("other.db", "not a ledger"),
    ):
        for ask in (hs.Ledger.show, hs.Ledger.verify, lambda ledger: ledger.spend(TENTH)):
            with pytest.raises(hs.InvalidInputError, match=f"{name}: {reason}.*budget init"):
                ask(hs.Ledger(tmp_path / name))
    for name in ("a.toml", "a.json"):
        with pytest.raises(hs.InvalidInputError, match="a ledger must be a database"):
            hs.Ledger(tmp_path / name)
    begun(tmp_path / "a.db")
    with pytest.raises(hs.InvalidInputError, match="a ledger already exists here"):
        begun(tmp_path / "a.db", "pure", epsilon=100.0)
    assert left(hs.Ledger(tmp_path / "a.db")) == 1


# verification


def attacked(place: Path, statements: list[str]) -> Verification:
    with sqlite3.connect(place) as connection:
        for statement in statements:
            connection.execute(statement)
    return hs.Ledger(place).verify()


def replaced(old: str, new: str, number: int = 2) -> str:
    return f"UPDATE ledger_entry SET body = replace(body, '{old}', '{new}') WHERE number = {number}"


EDITS = {
    "cut off": ["DELETE FROM ledger_entry WHERE number = 6"],
    "cut off by two": ["DELETE FROM ledger_entry WHERE number > 4"],
    "cut off with its head": [
        "DELETE FROM ledger_entry WHERE number = 6",
        "UPDATE ledger_head SET number = 5, hash = (SELECT hash FROM ledger_entry WHERE number = 5)",
    ],
    "first one gone": ["DELETE FROM ledger_entry WHERE number = 1"],
    "one in the middle gone": ["DELETE FROM ledger_entry WHERE number = 3"],
    "renumbered": [
        "DELETE FROM ledger_entry WHERE number = 3",
        "UPDATE ledger_entry SET number = number - 1 WHERE number > 3",
    ],
    "reordered": [
        "UPDATE ledger_entry SET number = 100 WHERE number = 2",
        "UPDATE ledger_entry SET number = 2 WHERE number = 3",
        "UPDATE ledger_entry SET number = 3 WHERE number = 100",
    ],
    "scale edited": [replaced('"scale":10.0', '"scale":90.0')],
    "price edited": [replaced("10000000000", "1")],
    "name edited": ["UPDATE ledger_entry SET name = 'other' WHERE number = 2"],
    "person edited": [replaced("ann", "bob")],
    "budget edited": [replaced('"epsilon":1.0', '"epsilon":9.0', 0)],
    "hash edited": ["UPDATE ledger_entry SET hash = '0' || hash WHERE number = 2"],
    "state lowered": ["UPDATE ledger_account SET body = replace(body, '60000000000', '10000000000')"],
    "limit raised": ["UPDATE ledger_account SET body = replace(body, '100000000000', '900000000000')"],
    "account gone": ["DELETE FROM ledger_account"],
    "head edited": ["UPDATE ledger_head SET number = 5"],
    "period edited": ["UPDATE ledger_head SET period = 1"],
    "check edited": ["UPDATE ledger_account SET limit_1 = 9 * limit_1"],
}


@pytest.mark.parametrize("edit", EDITS)
def test_whatever_is_changed_is_noticed(edit: str, tmp_path: Path) -> None:
    ledger = begun(tmp_path / "a.db")
    for number in range(6):
        ledger.spend(TENTH, request=f"q{number}", who="ann")
    assert ledger.verify().sound
    found = attacked(tmp_path / "a.db", EDITS[edit])
    assert not found.sound
    assert found.findings


def test_what_is_left_of_an_epsilon_and_a_delta_is_an_epsilon(tmp_path: Path) -> None:
    """Both numbers of the budget are limits; the first one of its amounts is the delta."""
    ledger = begun(tmp_path / "a.db", "approximate-dp", epsilon=3.0, delta=1e-6)
    state = ledger.show(0).state
    assert (state.budget.remaining(state.left(WHOLE)), ledger.budget.delta) == (3.0, 1e-6)
    ledger.spend(hs.Round(hs.ApproximateDP(1.25, 1e-7)))
    state = ledger.show(0).state
    assert state.budget.remaining(state.left(WHOLE)) == 1.75
    with pytest.raises(hs.BudgetError, match=r"1 x laplace does not fit; 1\.75 epsilon is left"):
        ledger.spend(hs.Round(hs.Laplace(0.5)))


def test_a_ledger_in_another_database_leaves_its_journal_alone(tmp_path: Path) -> None:
    """Who asks a database that is no ledger changes nothing of it."""
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE mine (one INTEGER)")
    before = (tmp_path / "a.db").read_bytes()
    with pytest.raises(hs.InvalidInputError, match="not a ledger"):
        hs.Ledger(tmp_path / "a.db").show()
    assert (tmp_path / "a.db").read_bytes() == before
    begun(tmp_path / "a.db").spend(TENTH)
    with pytest.raises(hs.InvalidInputError, match="a ledger already exists here"):
        begun(tmp_path / "a.db")


def test_a_hash_binds_what_came_before(tmp_path: Path) -> None:
    """Of an entry that was changed with its own hash the next one tells."""
    ledger = begun(tmp_path / "a.db")
    for number in range(3):
        ledger.spend(TENTH, request=f"q{number}", who="ann")
    entries = ledger.entries()
    body = entries[2].body.replace("ann", "bob")
    entries[2] = entries[2]._replace(body=body, hash=chained(entries[1].hash, body))
    assert verified(entries).findings[0].startswith("entry 3: its hash does not match")


def test_a_database_put_back_is_noticed_by_a_later_receipt(tmp_path: Path) -> None:
    ledger = begun(tmp_path / "a.db")
    ledger.spend(TENTH)
    kept = sqlite3.connect(tmp_path / "kept.db")
    sqlite3.connect(tmp_path / "a.db").backup(kept)
    kept.close()
    receipt = json.loads(json.dumps(ledger.spend(TENTH).json()))
    assert ledger.verify([receipt]).sound
    back = hs.Ledger(tmp_path / "kept.db")
    assert back.verify().sound
    assert back.verify([receipt]).findings == ("the log has no entry 2 with the hash of the receipt",)
    back.spend(2 * TENTH)
    assert not back.verify([receipt]).sound
    wrong: list[Any] = [{}, {"number": 1}, {"number": [1], "hash": {}}, "receipt", None]
    assert all(not back.verify([each]).sound for each in wrong)


def rechained(change: Callable[[list[dict[str, Any]]], None], ledger: hs.Ledger) -> Verification:
    """What verification says of a log of which someone computed all hashes again."""
    log = [entry.keys for entry in ledger.entries()]
    change(log)
    entries, last = [], FIRST
    for keys in log:
        body = spelled(keys)
        last = chained(last, body)
        entries.append(Entry(keys["number"], keys["kind"], str(keys.get("id", "")), body, last))
    return verified(entries)


def test_a_log_with_new_hashes_still_has_to_add_up(tmp_path: Path) -> None:
    """Prices are computed again, limits hold, ids are used once, and a release is given back once."""
    ledger = begun(tmp_path / "a.db")
    token = ledger.spend(3 * TENTH, request="q0", reserve=True).token
    for number in (1, 2):
        ledger.spend(3 * TENTH, request=f"q{number}")

    def lower(log: list[dict[str, Any]]) -> None:
        log[2]["prices"] = {way: [1] for way in log[2]["prices"]}

    def raise_count(log: list[dict[str, Any]]) -> None:
        log[3]["rounds"][0]["count"] = 5

    def over(log: list[dict[str, Any]]) -> None:
        log[3]["rounds"][0]["count"] = 5
        log[3]["prices"] = {way: [50_000_000_000] for way in log[3]["prices"]}

    def again(log: list[dict[str, Any]]) -> None:
        log[3]["id"] = "q1"

    def void_twice(log: list[dict[str, Any]]) -> None:
        said = {"kind": "void", "id": "q0", "who": "a", "when": "now"}
        log += [{**said, "number": 4, "token": token}, {**said, "number": 5, "token": token}]

    def void_without_token(log: list[dict[str, Any]]) -> None:
        log.append({"kind": "void", "id": "q0", "who": "a", "when": "now", "number": 4, "token": "f" * 32})

    def negative_grant(log: list[dict[str, Any]]) -> None:
        log.append({"kind": "grant", "grant": "", "limits": [-(10**11)], "who": "a", "when": "now", "number": 4})

    def another_period(log: list[dict[str, Any]]) -> None:
        log[2]["period"] = 1

    def void_plain(log: list[dict[str, Any]]) -> None:
        log.append({"kind": "void", "id": "q1", "who": "a", "when": "now", "number": 4})

    def no_beginning(log: list[dict[str, Any]]) -> None:
        log[0]["kind"] = "spend"

    def limit(log: list[dict[str, Any]]) -> None:
        log[0]["limits"] = [2 * 10**11]

    assert rechained(lambda log: None, ledger).sound
    for change, reason in (
        (lower, "its prices are"),
        (raise_count, "its prices are"),
        (over, "does not fit"),
        (again, "was already recorded"),
        (void_twice, "is already settled"),
        (void_plain, "was not reserved"),
        (void_without_token, "its token does not match the reservation"),
        (negative_grant, "its limits are [-100000000000]"),
        (another_period, "it states period 1, but the period is 0"),
        (limit, "its limits are"),
        (no_beginning, "the first entry of a log must be of kind begin"),
    ):
        found = rechained(change, ledger)
        assert len(found.findings) == 1, change
        assert reason in found.findings[0]


def test_an_export_is_verified_by_itself(place: str) -> None:
    ledger = begun(place, "zcdp", epsilon=2.0, delta=1e-6, regions=("north",))
    ledger.grant("maps", 0.01)
    token = ledger.spend(hs.Round(hs.Gaussian(20.0)), request="a", region="north", reserve=True).token
    assert token is not None
    ledger.void("a", token)
    ledger.renew("2027")
    text = json.dumps(exported(ledger.entries()))
    assert verified(entries_of(json.loads(text))).sound
    assert not verified(entries_of(json.loads(text.replace("north", "south")))).sound
    wrong: Any
    for wrong in ({}, {"entries": 3}, {"entries": [{"number": 1}]}, []):
        with pytest.raises(hs.InvalidInputError, match="not a log"):
            entries_of(wrong)


# against the truth


def test_what_a_ledger_allowed_is_private_as_its_budget_says(tmp_path: Path) -> None:
    """For rounds fixed beforehand, a special case, the certified epsilon is known: random spends of every filter."""
    rng = random.Random(5)
    kinds = {
        "approximate-dp": {"epsilon": 2.0, "delta": 1e-6},
        "zcdp": {"epsilon": 2.0, "delta": 1e-6},
        "gdp": {"epsilon": 2.0, "delta": 1e-6},
        "rdp": {"epsilon": 2.0, "delta": 1e-6},
    }
    for kind, budget in kinds.items():
        ledger = begun(tmp_path / f"{kind}.db", kind, **budget)
        rounds = []
        for _ in range(60):
            sigma = rng.uniform(5.0, 40.0)
            made = [hs.Gaussian(sigma), hs.DiscreteGaussian(sigma), hs.Laplace(sigma), hs.ZCDP(0.5 / sigma**2)]
            item = hs.Round(made[0] if kind == "gdp" else rng.choice(made[:3]), count=rng.randint(1, 4))
            with contextlib.suppress(hs.BudgetError):
                ledger.spend(item)
                rounds.append(item)
        assert hs.Plan(rounds).epsilon(1e-6).lower <= 2.0
        assert ledger.verify().sound


def test_a_state_never_exceeds_its_limits_whatever_is_asked() -> None:
    """Random grants, spends, renewals and refunds of all kinds of budgets; totals by hand."""
    rng = random.Random(7)
    for _ in range(40):
        state = State(Budget("zcdp", {"rho": 1.0}), ("a", "b", "c"))
        spent: list[tuple[str, str, dict[str, tuple[int, ...]]]] = []
        for _ in range(60):
            account = rng.choice(list(state.accounts))
            region = rng.choice(["", "a", "b", "c"])
            prices: dict[str, tuple[int, ...]] = {way: (rng.randint(0, 10**10),) for way in ("remove", "add")}
            move = rng.random()
            with contextlib.suppress(hs.BudgetError):
                if move < 0.1:
                    state.grant(f"g{rng.getrandbits(40)}", (rng.randint(1, 3 * 10**10),))
                elif move < 0.3 and spent:
                    state.give_back(*spent.pop(rng.randrange(len(spent))))
                else:
                    state.spend(account, region, prices)
                    spent.append((account, region, prices))
        for name, account_ in state.accounts.items():
            for way in ("remove", "add"):
                mine = [(region, prices[way][0]) for where, region, prices in spent if where == name]
                whole = sum(price for region, price in mine if region == "")
                parts = max(sum(price for region, price in mine if region == part) for part in "abc")
                grants = sum(each.limits[0] for each in state.accounts.values()) - 10**11 if name == "" else 0
                assert account_.total(hs.Direction(way)) == (whole + parts + grants,)
                assert whole + parts + grants <= account_.limits[0]


def test_a_region_takes_no_guarantee_for_replaced_records_alone(tmp_path: Path) -> None:
    """The number of records of a region is 0-private under replacement, and tells who moves."""
    ledger = begun(tmp_path / "a.db", "pure", epsilon=1.0, adjacency="replace-one", regions=("north", "south"))
    for item in (hs.Round(hs.RandomizedResponse(0.1)), hs.Round(hs.ApproximateDP(0.1, 0.0))):
        for rounds in (item, [TENTH, item]):
            with pytest.raises(hs.UnsupportedError, match="moves to another region"):
                ledger.spend(rounds, region="north")
        ledger.spend(item)
    for region in ("north", "south"):
        ledger.spend(TENTH, region=region)
    assert 1 - left(ledger) == Fraction(4, 10)  # 2 x 0.1, and 0.2 of a record that is replaced or moves
    assert ledger.verify().sound


def test_prices_of_a_region_are_those_of_a_move_too(tmp_path: Path) -> None:
    """Of a record that is replaced within the region, leaves it, or enters it."""
    ledger = begun(tmp_path / "a.db", "zcdp", rho=1.0, adjacency="replace-one", regions=("north", "south"))
    found = ledger.price(hs.Round(hs.Gaussian(10.0)), region="north").prices
    assert {way: price for way, (price,) in found.items()} == {
        "replace-one": 2_000_000_000,
        "remove": 500_000_000,
        "add": 500_000_000,
    }
    assert set(ledger.price(hs.Round(hs.Gaussian(10.0))).prices) == {"replace-one"}


def test_a_reservation_in_a_currency_is_given_back_only_before_the_next_release(tmp_path: Path) -> None:
    """Whoever sees later results, and then chooses between the release and as many rounds, spends more than the budget.

    Here by a third: a release whose loss is 1.7, 0 or -1.7 (in a hundredth of all cases not 0), 612 of 1,300 rounds of
    the reference, and then the release or the rounds that its price would give back, whichever is worse at the loss
    that was seen.
    """
    reference = hs.Round(hs.Gaussian(50.0))
    ledger = begun(tmp_path / "a.db", "currency", reference=reference, epsilon=3.0, delta=1.07e-5)
    rare = 0.01 / (1 + math.exp(1.7))
    least, most = Fraction(repr(rare)), Fraction(repr(rare * math.exp(1.7)))
    p = [float(mass) for mass in (least, 1 - least - most, most)]
    law = [str(mass) for mass in (least, 1 - least - most, most)]
    (release,) = rounds_in_order([{"mechanism": "pmf", "p": law, "q": law[::-1]}])
    token = ledger.spend(release, request="x", reserve=True).token
    price = 1300 - int(left(ledger))
    rounds = 1300 - price
    shift, loss = math.sqrt(rounds) / 50, NormalDist()

    def tail(log_a: float, mu: float) -> float:
        return loss.cdf(mu / 2 - log_a / mu) - math.exp(log_a) * loss.cdf(-mu / 2 - log_a / mu)

    def worse(y: float) -> float:
        log_a = 3.0 - (shift * y - shift * shift / 2)
        run = sum(max(a - math.exp(log_a) * b, 0.0) for a, b in zip(p, p[::-1], strict=True))
        return NormalDist(shift).pdf(y) * max(run, tail(log_a, math.sqrt(price) / 50))

    assert 1.3 < 0.01 * sum(worse(-8 + 0.01 * i) for i in range(1800)) / 1.07e-5 < 1.4
    ledger.spend(rounds * reference)
    assert token is not None
    with pytest.raises(hs.BudgetError, match="can be voided only before the next release is recorded"):
        ledger.void("x", token)
    assert ledger.verify().sound
    said = {"kind": "void", "id": "x", "who": "a", "when": "now", "number": 3, "token": token}
    body = spelled(said)
    forged = [*ledger.entries(), Entry(3, "void", "x", body, chained(ledger.entries()[-1].hash, body))]
    assert "after a later release" in verified(forged).findings[0]
    other = begun(tmp_path / "b.db", "currency", reference=reference, epsilon=3.0, delta=1.07e-5)
    token = other.spend(release, request="x", reserve=True).token
    assert token is not None
    other.void("x", token)
    assert left(other) == 1300
    assert other.verify().sound


def test_a_currency_is_priced_at_what_an_account_has_left(tmp_path: Path) -> None:
    """Of a grant, and of rounds in a row: a price holds at what is left, and not at less."""
    reference = {"mechanism": "gaussian", "noise_multiplier": 10.0}
    item = hs.Round(hs.RandomizedResponse(0.5))
    whole = hs.filters.CurrencyFilter.reaching(hs.Round(hs.Gaussian(10.0)), 12.0, 1e-6, slack=1e-7)
    count = int(whole.limits[0])
    ledger = begun(tmp_path / "a.db", "currency", reference=reference, epsilon=12.0, delta=1e-6, slack=1e-7)
    assert left(ledger) == count > 400
    ledger.grant("small", 45)
    ledger.grant("tiny", 30)
    at_45 = least_price(hs.Round(hs.Gaussian(10.0)), item, 45, 1e-10, hs.Adjacency.ADD_OR_REMOVE)
    assert at_45 is not None
    ledger.spend(item, grant="small")
    assert left(ledger, "small") == 45 - at_45
    with pytest.raises(hs.BudgetError, match="does not fit in grant tiny; 30 rounds of gaussian is left"):
        ledger.spend(item, grant="tiny")
    before = left(ledger)
    prices: list[int] = []
    for spent in range(3):
        price = least_price(
            hs.Round(hs.Gaussian(10.0)), item, int(before) - sum(prices), 1e-10, hs.Adjacency.ADD_OR_REMOVE
        )
        assert price is not None, spent
        prices.append(price)
    ledger.spend([item, item.changed(name="b"), item.changed(name="c")])
    assert before - left(ledger) == sum(prices)
    assert ledger.verify().sound


def test_transactions_that_met_are_tried_again_and_a_lost_answer_is_said(
    tmp_path: Path, address: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a server: another writer may make a transaction fail, and a connection may end after it was recorded."""
    psycopg = pytest.importorskip("psycopg")
    if address is None:
        pytest.skip("no server of PostgreSQL is installed")
    with psycopg.connect(address + "postgres", autocommit=True) as connection:
        connection.execute("CREATE DATABASE met")
    ledger = begun(address + "met")
    ask, failures = (
        Transaction.ask,
        [psycopg.errors.SerializationFailure("met"), psycopg.errors.DeadlockDetected("met")],
    )

    def meeting(self: Transaction, statement: str, values: Any = ()) -> list[Any]:
        if statement == "COMMIT" and failures:
            raise failures.pop()
        return ask(self, statement, values)

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "ask", meeting)
        assert ledger.spend(TENTH, request="a").number == 1
    assert failures == []

    def lost(self: Transaction, statement: str, values: Any = ()) -> list[Any]:
        found = ask(self, statement, values)
        if statement == "COMMIT":
            raise psycopg.OperationalError("the connection is lost")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "ask", lost)
        with pytest.raises(
            hs.InvalidInputError, match="may or may not have been recorded: repeat the request with the same"
        ):
            ledger.spend(TENTH, request="b")
    assert ledger.spend(TENTH, request="b").number == 2
    assert left(ledger) == Fraction(8, 10)


def test_whatever_stands_in_a_log_is_a_finding_or_a_refusal(tmp_path: Path) -> None:
    """A file may hold anything: each value in turn is replaced by others."""
    ledger = begun(tmp_path / "a.db")
    token = ledger.spend(TENTH, request="a", reserve=True).token
    assert token is not None
    ledger.void("a", token)
    log = exported(ledger.entries())
    wrong: Any
    for entry in range(3):
        for key in log["entries"][entry]["keys"]:
            for wrong in (None, -1, 1e300, "x", [], {}, [[]], {"x": []}):
                changed = json.loads(json.dumps(log))
                changed["entries"][entry]["keys"][key] = wrong
                last = FIRST
                for each in changed["entries"]:
                    last = each["hash"] = chained(last, spelled(each["keys"]))
                verified(entries_of(changed))
    budget: Any
    for budget in (3, None, "epsilon", ["epsilon"], {1: 2.0}, {"epsilon": None}, {"epsilon": float("nan")}):
        with pytest.raises(hs.InvalidInputError):
            hs.Ledger.begin(tmp_path / "b.db", "pure", budget)
    for name in (3, None, ["a"], "a" * 1000):
        with pytest.raises(hs.InvalidInputError):
            ledger.spend(TENTH, request=name or [])  # type: ignore[arg-type]
        with pytest.raises(hs.InvalidInputError):
            ledger.void(name, "x")  # type: ignore[arg-type]
    with pytest.raises(hs.InvalidInputError):
        ledger.void("a", 3)  # type: ignore[arg-type]


def test_a_database_that_keeps_nothing_is_noticed_at_once(tmp_path: Path) -> None:
    """A trigger may ignore what is written, and say nothing."""
    for table, verb in (("entry", "INSERT"), ("account", "UPDATE"), ("head", "UPDATE")):
        ledger = begun(tmp_path / f"{table}.db")
        with sqlite3.connect(tmp_path / f"{table}.db") as connection:
            trigger = f"CREATE TRIGGER mine BEFORE {verb} ON ledger_{table} BEGIN SELECT RAISE(IGNORE); END"
            connection.execute(trigger)
        with pytest.raises(hs.InvalidInputError, match="did not store what was written"):
            ledger.spend(TENTH)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE ledger_account SET body = 'x'",
        "UPDATE ledger_account SET body = '[]'",
        """UPDATE ledger_account SET body = '{"limits": ["x"], "spent": {}}'""",
        "DELETE FROM ledger_head",
        "UPDATE ledger_head SET period = 'a'",
        "UPDATE ledger_head SET period = 0.5",
        "UPDATE ledger_account SET name = x'00ff'",
        "UPDATE ledger_entry SET body = 'x' WHERE number = 0",
        "UPDATE ledger_entry SET body = '[]' WHERE number = 0",
        "UPDATE ledger_entry SET body = '{}' WHERE number = 1",
        "UPDATE ledger_entry SET hash = x'00ff' WHERE number = 1",
    ],
)
def test_damaged_tables_are_an_error_in_one_line(damage: str, tmp_path: Path) -> None:
    ledger = begun(tmp_path / "a.db")
    ledger.spend(TENTH, request="a")
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute(damage)
    for verb in (ledger.show, ledger.verify, lambda: ledger.spend(TENTH, request="a"), lambda: ledger.price(TENTH)):
        with contextlib.suppress(hs.HockeystickError):
            verb()
    with contextlib.suppress(hs.InvalidInputError):
        assert not ledger.verify().sound


def test_silly_arguments_are_refused_by_name(tmp_path: Path) -> None:
    ledger = begun(tmp_path / "a.db")
    silly: Any
    for silly in (None, 1, [], "x", [TENTH, None]):
        with pytest.raises(hs.InvalidInputError, match="releases must be"):
            ledger.spend(silly)
    for silly in (None, "", ":memory:", "a\0.db", 5):
        with pytest.raises(hs.InvalidInputError, match="a ledger must be a file"):
            begun(silly)
    for silly in (5, "north", None):
        with pytest.raises(hs.InvalidInputError, match="regions must be a list"):
            begun(tmp_path / "b.db", regions=silly)
    keys: dict[str, Any]
    for keys in ({"grant": []}, {"request": 5}, {"who": "\n"}, {"region": "elsewhere"}, {"grant": "\udcff"}):
        with pytest.raises(hs.InvalidInputError):
            ledger.spend(TENTH, **keys)
    for silly in (-1, 2**70, "x", 0.5):
        with pytest.raises(hs.InvalidInputError, match="latest releases"):
            ledger.show(silly)
    with pytest.raises(hs.InvalidInputError, match="no such file"):
        hs.Ledger("x" * 5000).show()
    with pytest.raises(hs.InvalidInputError, match="epsilon must be a plain number"):
        begun(tmp_path / "c.db", epsilon=Fraction(1, 3))
    with pytest.raises(hs.InvalidInputError, match="id must be"):
        ledger.void("\udcff", "\udcff")
    ledger.spend(TENTH, request="a", reserve=True)
    with pytest.raises(hs.InvalidInputError, match="token must be"):
        ledger.void("a", "\udcff")


def test_the_place_of_a_ledger_on_a_server_is_said_without_its_password() -> None:
    pytest.importorskip("psycopg")
    for address in (
        "postgresql://office:geheim@db.example.org/budget",
        "postgresql://office@db.example.org/budget?password=geheim",
        "postgresql://office:geh%40eim@db.example.org/budget",
    ):
        assert str(hs.Ledger(address)) == "postgresql://db.example.org/budget"
    for address in ("postgresql:///%ff", "postgresql://%zz", "postgresql://u:p@ss@host/d", "postgresql://u:p/w@host/d"):
        with pytest.raises(hs.InvalidInputError, match="like postgresql://user:password@host/name") as caught:
            hs.Ledger(address)
        assert address not in str(caught.value)


def test_a_receipt_on_a_server_outlasts_a_crash(address: str | None) -> None:
    """Whatever the database says by default about what is on the disk."""
    psycopg = pytest.importorskip("psycopg")
    if address is None:
        pytest.skip("no server of PostgreSQL is installed")
    with psycopg.connect(address + "postgres", autocommit=True) as connection:
        connection.execute("CREATE DATABASE lazy")
        connection.execute("ALTER DATABASE lazy SET synchronous_commit = off")
    ledger = begun(address + "lazy")
    ledger.spend(TENTH)
    for write in (ledger._store.writing, ledger._store.begins):
        with psycopg.connect(address + "lazy", autocommit=True) as connection:
            for statement in write:
                connection.execute(statement)
            assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)


def test_a_reader_who_may_not_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = begun(tmp_path / "a.db")
    ledger.spend(TENTH)
    monkeypatch.setattr("hockeystick.questions.ledger.store.os.access", lambda name, mode: False)
    assert ledger.verify().sound
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]
    with pytest.raises(hs.InvalidInputError, match="readonly database"):
        ledger.spend(TENTH)
    (tmp_path / "a.db-wal").touch()
    with pytest.raises(hs.InvalidInputError, match="you may not write to it and others are writing"):
        ledger.show()
