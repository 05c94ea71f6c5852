"""Tables of epsilon: their brackets against the engine and against true values, their corners, their files.

That epsilon is monotone is proven in ``questions/tables/axes.py``; here the brackets at random points are held against
the engine for many plans, which is asked at the point itself and not at knots, and against true values that share no
code with the library.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.questions.tables import files, knots
from hockeystick.questions.tables.axes import SIGNS, Axis, axis_of
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import InvalidInputError, UnsupportedError

RANGES = {"noise": (0.7, 3.0), "rate": (0.002, 0.05), "rounds": (50, 5000), "delta": (1e-7, 1e-4)}
"""Of the table that most tests look into: coarse in all four axes."""


@pytest.fixture(scope="module")
def table() -> hs.Table:
    """Three or four knots of each axis, so that all corners of a cell are different."""
    return hs.Table(
        noise=[0.7, 1.0, 1.7, 3.0],
        rate=[0.002, 0.01, 0.05],
        rounds=[50, 700, 5000],
        delta=[1e-7, 1e-5, 1e-4],
        fine=(),
    )


def drawn(many: int, seed: int) -> list[np.ndarray]:
    """Points log-uniform over the ranges, a tenth of each coordinate at a knot."""
    draw = np.random.default_rng(seed)
    columns = [np.exp(draw.uniform(math.log(low), math.log(high), many)) for low, high in RANGES.values()]
    columns[2] = np.rint(columns[2])
    for column, (low, high) in zip(columns, RANGES.values(), strict=True):
        np.clip(column, low, high, out=column)
        column[draw.random(many) < 0.05] = low
        column[draw.random(many) < 0.05] = high
    return columns


def held(table: hs.Table, many: int, seed: int) -> None:
    """The bracket of each random point contains the interval of the engine there."""
    noise, rate, rounds, delta = drawn(many, seed)
    found = table.epsilons(noise, rate, rounds, delta)
    lower, upper = knots.asked([noise, rate, rounds, delta], table.adjacency)
    assert np.all(found.lower <= upper)
    assert np.all(lower <= found.upper)
    narrow = (upper - lower) <= 1e-5 * upper  # of these the engine knows more than any cell
    assert np.mean(narrow) > 0.9
    assert np.all(found.lower[narrow] <= lower[narrow] * (1 + 1e-5))
    assert np.all(upper[narrow] <= found.upper[narrow] * (1 + 1e-5))


def test_brackets_hold_between_knots(table: hs.Table) -> None:
    held(table, 1000, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["remove", "add"])
def test_brackets_hold_between_knots_in_each_direction(adjacency: str) -> None:
    noise, rate, rounds, delta = RANGES.values()
    held(hs.Table(noise, rate, rounds, delta, adjacency=adjacency, fine=()), 5000, seed=2)


@pytest.mark.slow
def test_brackets_hold_at_many_points(table: hs.Table) -> None:
    held(table, 10_000, seed=3)


def test_true_values_lie_within() -> None:
    """Truths with 18 digits of sampled Gaussian rounds, each in a cell with room on all sides and one at its knot."""
    path = Path(__file__).parent.parent / "data" / "reference_values.json"
    looked = 0
    for record in json.loads(path.read_text(encoding="utf-8"))["records"]:
        rounds = record["plan"].get("round", [])
        if record["quantity"] != "epsilon" or len(rounds) != 1 or record["plan"]["adjacency"] == "replace-one":
            continue
        (one,) = rounds
        if one["mechanism"] != "gaussian" or one.get("sampling") != "poisson" or not one["sample_rate"] < 0.5:
            continue
        delta, true = float(record["delta"]), float(record["value"])
        if not (1e-30 < delta < 0.1 and 1e-3 < true < 100 and 2 <= one["count"] <= 10**6):
            continue
        noise, rate, count = one["noise_multiplier"], one["sample_rate"], one["count"]
        around = hs.Table(
            [0.95 * noise, 1.04 * noise], [0.9 * rate, 1.1 * rate], [count - 1, count + 1], [0.7 * delta, 1.3 * delta],
            adjacency=record["plan"]["adjacency"], fine=(),
        )  # fmt: skip
        found = around.epsilons(noise, rate, count, delta)
        assert found.lower[0] < true < found.upper[0], record
        looked += 1
        if looked == 12:
            break
    assert looked >= 5


@pytest.mark.parametrize("name", SIGNS)
def test_the_corners_of_an_axis(table: hs.Table, name: str) -> None:
    """Just beside a knot the bracket has the ends of two knots, and at the knot those of one."""
    number = tuple(SIGNS).index(name)
    at = {key: values[1] for key, values in table.knots.items()}
    middle = table.epsilons(**at)
    assert middle.lower[0] == table.lower[1, 1, 1, 1]
    assert middle.upper[0] == table.upper[1, 1, 1, 1]
    step = 1.0 if name == "rounds" else 1e-15 * at[name]
    for towards in (-1, 1):
        beside = table.epsilons(**{**at, name: at[name] + towards * max(step, np.spacing(at[name]))})
        neighbour = tuple(1 + towards * (axis == number) for axis in range(4))
        rises = towards * SIGNS[name] > 0
        assert beside.lower[0] == table.lower[(1, 1, 1, 1) if rises else neighbour]
        assert beside.upper[0] == table.upper[neighbour if rises else (1, 1, 1, 1)]


def test_corners_are_those_of_a_search() -> None:
    """At knots, however close, beside them and between."""
    draw = np.random.default_rng(5)
    for given in (
        np.geomspace(1e-8, 1e8, 40),
        np.arange(1.0, 700.0),
        np.array([1.0, 1.0 + 1e-15, 2.0]),
        np.array([3.0]),
    ):
        axis = Axis("rate", given)
        inside = np.exp(draw.uniform(math.log(given[0]), math.log(given[-1]), 2000)).clip(given[0], given[-1])
        at = np.concatenate([given, inside, np.nextafter(given[1:], 0), np.nextafter(given[:-1], np.inf)])
        below, above = axis.corners(at)
        assert np.array_equal(below, np.searchsorted(given, at, side="right") - 1)
        assert np.array_equal(above, np.searchsorted(given, at, side="left"))


def test_fine_axes_reach_the_accuracy() -> None:
    """No cell in which a point may lie is wider than was asked, and there are not twice as many knots as it takes."""
    table = hs.Table([1.0, 2.0], 0.01, [30, 3000], 1e-6, accuracy=0.05)
    rounds = np.arange(30, 3001)
    for noise in (1.0, 2.0):
        found = table.epsilons(noise, rounds=rounds)
        width = (found.upper - found.lower) / found.upper
        assert width.max() <= 0.05
    ends = table.upper[:, 0, :, 0]
    assert len(table.knots["rounds"]) < 1.5 * np.log(ends[:, -1] / ends[:, 0]).max() / 0.05
    assert table.knots["noise"].tolist() == [1.0, 2.0]


def test_two_fine_axes_share_the_accuracy() -> None:
    table = hs.Table([1.0, 1.1], 0.01, [1000, 1300], 1e-6, accuracy=0.1, fine=("noise", "rounds"))
    assert table.widths.max() <= 0.1
    assert len(table.knots["noise"]) > 2


def test_lower_ends_rise_and_upper_ends_fall_to_what_neighbours_know() -> None:
    """A knot that the engine answers badly takes over what is known of safer and of more dangerous knots."""
    axes = tuple(
        axis_of(name, value)
        for name, value in (("noise", [1, 2, 3]), ("rate", 0.1), ("rounds", [1, 2]), ("delta", 0.1))
    )
    lower = np.array([[3.0, 4.0], [0.0, 3.0], [1.0, 1.5]]).reshape(3, 1, 2, 1)
    upper = np.array([[3.1, 4.1], [9.0, 9.0], [1.1, 1.6]]).reshape(3, 1, 2, 1)
    found = knots._monotone(knots.Knots(axes, lower, upper))
    assert found.lower[:, 0, :, 0].tolist() == [[3.0, 4.0], [1.0, 3.0], [1.0, 1.5]]
    assert found.upper[:, 0, :, 0].tolist() == [[3.1, 4.1], [3.1, 4.1], [1.1, 1.6]]


def test_rows_that_are_wide_are_asked(table: hs.Table) -> None:
    """Of equal rows once; the others keep the bracket of the table."""
    noise = np.array([1.2, 1.0, 1.2, 1.3])
    found = table.epsilons(noise, 0.01, 700, 1e-5, gap=1e-4)
    assert found.asked == 2
    assert np.all(found.upper - found.lower <= 1e-4 * found.upper)
    one = hs.dp_sgd(1.2, 0.01, 700).epsilon(1e-5)
    assert found.lower[0] <= one.upper
    assert one.lower <= found.upper[0]
    assert np.array_equal(found.estimate, 0.5 * (found.lower + found.upper))


def test_rows_outside_are_refused_or_asked(table: hs.Table) -> None:
    noise = np.array([1.0, 5.0])
    with pytest.raises(InvalidInputError, match=r"row 1: noise must be from 0.7 to 3, .*; received 5.0; outside"):
        table.epsilons(noise, 0.01, 700, 1e-5)
    found = table.epsilons(noise, 0.01, 700, 1e-5, outside="ask")
    assert found.asked == 1
    one = hs.dp_sgd(5.0, 0.01, 700).epsilon(1e-5)
    assert found.lower[1] <= one.upper
    assert one.lower <= found.upper[1]
    assert found.lower[0] == table.lower[1, 1, 1, 1]
    wide = table.epsilons([1.2, 5.0], 0.01, 700, 1e-5, outside="ask", gap=1e-3)
    assert wide.asked == 2
    assert np.all(wide.upper - wide.lower <= 1e-3 * wide.upper)


def test_rows_of_a_long_column(table: hs.Table) -> None:
    """The bracket of a row does not depend on the others, and rows are counted from the first of all."""
    many = 50_000
    noise, rate, rounds, delta = drawn(many, seed=4)
    found = table.epsilons(noise, rate, rounds, delta)
    part = table.epsilons(noise[::-1][:100], rate[::-1][:100], rounds[::-1][:100], delta[::-1][:100])
    assert np.array_equal(found.upper[::-1][:100], part.upper)
    noise[many - 3] = math.nan
    with pytest.raises(InvalidInputError, match=f"row {many - 3}: noise must be .*; received nan"):
        table.epsilons(noise, rate, rounds, delta, outside="ask")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rounds": 700.5}, "row 0: rounds must be a whole number .*received 700.5"),
        ({"noise": [5.0, 1.0], "rounds": [700, 7.5], "outside": "ask"}, "row 1: rounds must be .*received 7.5"),
        ({"rounds": None}, "rounds must be given, because the table has 3 knots of it; received None"),
        ({"noise": "x"}, "noise must be a number or an array of numbers; received 'x'"),
        ({"rate": [0.01, 1.5], "outside": "ask"}, "row 1: rate must be .*; received 1.5"),
        ({"rate": [0.01, 0.02], "noise": [1.0, 1.0, 1.0]}, "columns must be numbers or have the same length"),
        ({"gap": 0.0}, "gap must be .*; received 0"),
        ({"outside": "guess"}, "outside must be 'refuse' or 'ask'; received 'guess'"),
    ],
)
def test_rows_that_are_none(table: hs.Table, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        table.epsilons(**{"noise": 1.0, "rate": 0.01, "rounds": 700, "delta": 1e-5, **given})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"noise": []}, "noise must be a number or a sequence of numbers; received an empty one"),
        ({"noise": [1.0, math.nan]}, "noise must be a number from 0.01 to 1e6 .*; received nan"),
        ({"rate": 0.0}, "rate must be .*; received 0"),
        ({"rounds": [10, 20.5, 30]}, "rounds must be a whole number .*received 20.5"),
        ({"delta": 0.0}, "delta must be .*; received 0"),
        ({"accuracy": 1e-9}, "accuracy must be .*; received 1e-09"),
        ({"fine": ("colour",)}, "fine must name axes among .*; received 'colour'"),
        ({"most": 1}, r"most must be at least 2, the number of knots .*2 of rounds.*; received 1; give shorter ranges"),
        ({"most": 5}, r"most must be at least \d\d, the number of knots that accuracy 0.01 .*; received 5; "),
        ({"adjacency": "sideways"}, "adjacency must be"),
    ],
)  # fmt: skip
def test_tables_that_are_none(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        hs.Table(**{"noise": 1.0, "rate": 0.01, "rounds": [100, 200], "delta": 1e-5, **changed})


def test_a_replaced_record_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"adjacency must be .*; received 'replace-one'; use hs.epsilons"):
        hs.Table(1.0, 0.01, [100, 200], 1e-5, adjacency="replace-one")


def test_rounds_that_see_every_record() -> None:
    """At a rate of 1 the bracket has the closed form of Gaussian noise, by one round of less noise."""
    table = hs.Table(10.0, 1.0, [10, 20], 1e-5, fine=())
    found = table.epsilons(rounds=[10, 15])
    one = hs.Plan([hs.Round(hs.Gaussian(10 / math.sqrt(15)))]).epsilon(1e-5)
    assert found.lower[1] < one.lower < one.upper < found.upper[1]
    assert table.assumptions


def test_files_keep_every_bit(table: hs.Table, tmp_path: Path) -> None:
    path = tmp_path / "epsilon.table"
    table.save(path)
    back = hs.Table.load(path)
    assert back.sha256 == table.sha256
    assert np.array_equal(back.lower, table.lower)
    assert np.array_equal(back.upper, table.upper)
    assert (back.adjacency, back.accuracy, back.fine) == (Adjacency.ADD_OR_REMOVE, 0.01, ())
    assert repr(back) == repr(table) == (
        "<Table of 108 knots: noise 0.7 to 3 (4), rate 0.002 to 0.05 (3), rounds 50 to 5000 (3), delta 1e-7 to 0.0001 "
        "(3); add-or-remove>"
    )  # fmt: skip
    assert ">rounds</th>" in table._repr_html_()


def _forged(change: Callable[[dict[str, Any], bytearray], None]) -> Callable[[bytes], bytes]:
    """A file whose content was changed, and which has the hash of what it holds now."""

    def forge(content: bytes) -> bytes:
        line, _, body = content.partition(b"\n")
        head, numbers = json.loads(line), bytearray(body)
        del head["sha256"]
        change(head, numbers)
        return json.dumps({**head, "sha256": files.digest(head, bytes(numbers))}).encode() + b"\n" + numbers

    return forge


def _swap(head: dict[str, Any], body: bytearray) -> None:
    body[:16] = body[8:16] + body[:8]


def _not_monotone(head: dict[str, Any], body: bytearray) -> None:
    body[-8:] = np.array([1e9]).tobytes()  # the upper end where noise and delta are largest: below its neighbours' ends


def _no_number(head: dict[str, Any], body: bytearray) -> None:
    body[-8:] = np.array([math.nan]).tobytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content[:-1], "the table is damaged"),
        (lambda content: content + b"\0", "the table is damaged"),
        (lambda content: content[:-3] + bytes([content[-3] ^ 1]) + content[-2:], "the table is damaged"),
        (lambda content: content.replace(b'"accuracy": 0.01', b'"accuracy": 0.02', 1), "the table is damaged"),
        (lambda content: b"", "not a table"),
        (lambda content: b"PK\x03\x04" + content, "not a table"),
        (lambda content: b"[" * 100_000 + b"\n", "not a table"),
        (lambda content: content.replace(b'"version": 1', b'"version": 2', 1), "version must be 1, .*; received 2"),
        (lambda content: content.replace(b'"noise": 4', b'"noise": 400000000', 1), "knots must be whole numbers"),
        (lambda content: content.replace(b'"noise": 4', b'"noise": true', 1), "knots must be whole numbers from 1"),
        (lambda content: content.replace(b'"noise": 4', b'"noise": -4', 1), "knots must be whole numbers from 1"),
        (_forged(lambda head, body: head.update(more=1)), "not a table"),
        (_forged(lambda head, body: head.update(adjacency="replace-one")), "adjacency must be .*'replace-one'"),
        (_forged(lambda head, body: head.update(fine=3)), "fine must"),
        (_forged(_swap), "not a table, because knots must increase"),
        (_forged(_not_monotone), "not a table, .* monotone"),
        (_forged(_no_number), "not a table, .* monotone"),
    ],
)  # fmt: skip
def test_files_that_are_damaged_or_foreign(
    table: hs.Table, tmp_path: Path, change: Callable[[bytes], bytes], message: str
) -> None:
    path = tmp_path / "epsilon.table"
    table.save(path)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises((InvalidInputError, UnsupportedError), match=message) as caught:
        hs.Table.load(path)
    assert "\n" not in str(caught.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be read: no such file"):
        hs.Table.load(tmp_path / "none.table")
    with pytest.raises(InvalidInputError, match="cannot be read"):
        hs.Table.load(tmp_path)
