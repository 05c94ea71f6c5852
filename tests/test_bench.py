"""The benchmark: its true values hold, its workers answer, the page shows what was measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from bench.cases import Case, all_cases, short, truths
from bench.environments import OURS, PEERS
from bench.everyday import OF_THEM, PARTS, THEIR_MOST
from bench.everyday_table import markdown as everyday
from bench.first import processes
from bench.measure import Cell, Row, measure, true_error
from bench.page import BEGIN, DATA, END, EVERYDAY_PLOT, PAGE, PLOT, filled
from bench.schedules import kinds_question, steps_question
from bench.table import summaries
from bench.workers import UNFINISHED, StartError, Worker

import hockeystick as hs

CASES = all_cases()
SMALL = {
    "route": "default",
    "quantity": "epsilon",
    "at": 1e-6,
    "rounds": [{"mechanism": "gaussian", "noise": 2.0, "rate": 1.0, "count": 1}],
}


def certified(case: Case) -> hs.Bound:
    plan = hs.Plan.from_dict(case.plan())
    return plan.delta(case.at) if case.quantity == "delta" else plan.epsilon(case.at)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_true_values_lie_within_the_certified_intervals(case: Case) -> None:
    bound = certified(case)
    assert Fraction(bound.lower) <= Fraction(case.truth) <= Fraction(bound.upper)


def test_every_case_has_its_true_value_and_no_other_does() -> None:
    assert list(truths()) == [case.name for case in CASES]
    assert all(len(value.as_tuple().digits) >= 18 for value in truths().values())


def test_each_repetition_has_other_noise() -> None:
    for case in CASES:
        noises = {case.question(i)["rounds"][0]["noise"] for i in range(50)}
        assert len(noises) == 50
        assert max(noises) < min(noises) * 1.0001
        assert case.question()["rounds"][0]["noise"] == case.releases[0].noise


@pytest.mark.parametrize(("x", "text"), [(1e-7, "1e-7"), (3000, "3e3"), (0.65, "0.65"), (200, "200"), (1.5, "1.5")])
def test_numbers_are_shown_short_and_exact(x: float, text: str) -> None:
    assert short(x) == text
    assert float(text) == x


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    with Worker(Path(sys.executable), OURS.module, tmp_path / "log", None) as started:
        yield started


def test_a_worker_answers_is_stopped_and_answers_again(worker: Worker) -> None:
    first = worker.ask(SMALL, 60.0)
    truth = hs.Plan([hs.Round(hs.Gaussian(noise_multiplier=2.0))]).epsilon(1e-6)
    assert (first["lower"], first["value"]) == (truth.lower, truth.upper)
    assert first["seconds"] > 0
    assert worker.ask(SMALL, 0.0)["error"] == "did not finish in 0 s"
    assert worker.ask(SMALL, 60.0)["value"] == truth.upper


def test_a_worker_that_cannot_start_says_why(tmp_path: Path) -> None:
    broken = Worker(Path(sys.executable), "bench.peers.nobody", tmp_path / "log", None)
    with broken, pytest.raises(StartError, match="nobody"):
        broken.ask(SMALL, 60.0)


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    return found


def test_the_page_shows_the_data(results: dict[str, Any]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page, results) == page
    assert page.count(BEGIN) == page.count(END) == 1
    assert f"_static/{PLOT.name}" in page
    assert PLOT.exists()
    assert f"_static/{EVERYDAY_PLOT.name}" in page
    assert EVERYDAY_PLOT.exists()


def test_everyday_plans_are_on_the_page(results: dict[str, Any]) -> None:
    """All parts were measured, our answers are narrow, and the peer's upper bounds are none below them."""
    found = results["everyday"]
    assert set(found) == set(PARTS)
    assert len(found["sweep"]["each"]) == OF_THEM
    assert all(0 < cell["asking"] < 1 and cell["wide"] <= 0.02 for cell in found["sweep"]["sizes"])
    for cell in found["sweep"]["each"]:
        assert cell["ours"]["width"] <= 1e-3
        assert cell["theirs"]["error"] or cell["theirs"]["value"] >= cell["ours"]["value"] * (1 - 1e-3)
    for series in ("kinds", "different", "alike"):
        assert all(cell["ours"]["error"] is None for cell in found["schedules"][series])
        assert [cell["theirs"] is None for cell in found["schedules"][series]] == [
            cell["size"] > THEIR_MOST for cell in found["schedules"][series]
        ]
    assert [cell["name"] for cell in found["first"]] == [process.name for process in processes(Path("python"))]


def test_parts_are_measured_and_shown_apart(worker: Worker) -> None:
    """The noise for an epsilon, a sweep, and steps of different noise, as the worker is asked about them."""
    noise = worker.ask({**SMALL, "route": "calibrate", "target": 1.0}, 60.0)
    assert hs.Plan([hs.Round(hs.Gaussian(noise["value"]))]).epsilon(1e-6).upper <= 1.0
    asked = worker.ask({"route": "sweep", "plans": 5, "seed": 3}, 60.0)
    assert asked["plans"] == 5
    assert asked["asking"] > 0
    stepped = worker.ask({**steps_question(4, True), "route": "default"}, 60.0)
    whole = worker.ask({**kinds_question(4), "route": "default"}, 60.0)
    assert stepped["lower"] <= whole["value"]
    assert whole["lower"] <= stepped["value"]
    assert stepped["processor_seconds"] > 0
    shown = everyday({"first": [{"name": "one", "seconds": 0.1}, {"name": "other", "seconds": 0.25}]})
    assert "| other | 250 ms | 2.5 |" in shown
    assert "### Schedules" not in shown


def test_the_data_are_of_all_cases_and_all_peers(results: dict[str, Any]) -> None:
    assert [case["name"] for case in results["cases"]] == [case.name for case in CASES]
    assert list(results["routes"]) == [route.label for peer in PEERS for route in peer.routes]
    for shown, case in zip(results["cases"], CASES, strict=True):
        assert shown["truth"] == str(case.truth)
        assert list(shown["cells"]) == list(results["routes"])
        for cell in (shown["hockeystick"], *shown["cells"].values()):
            if cell["outcome"] == "answered":
                assert cell["error"] == true_error(cell["value"], case.truth)


def test_every_ratio_is_at_an_equal_or_smaller_error(results: dict[str, Any]) -> None:
    """Where this library's default was not close enough, either a smaller gap was, or the table says that none was."""
    for shown in results["cases"]:
        for cell in shown["cells"].values():
            if cell["outcome"] == "answered":
                best = min(error for error in (cell["error"], cell["estimate_error"]) if error is not None)
                close = shown["hockeystick"]["error"] <= best
                assert (cell["gap"] is None and cell["matched"]) == close


def test_the_summaries_count_every_cell(results: dict[str, Any]) -> None:
    for item in summaries(results):
        assert len(item.errors) + len(item.failed) + item.not_offered == len(CASES)
        assert len(item.ratios) == len(item.errors)
        assert set(item.unmatched) <= set(item.closer)


class Scripted(Worker):
    """Answers what it is told, in one second, and keeps the questions."""

    def __init__(self, value: float, gap_value: float | None = None) -> None:
        self.value, self.gap_value, self.asked = value, gap_value, list[dict[str, Any]]()

    def ask(self, question: dict[str, Any], limit: float) -> dict[str, Any]:
        self.asked.append(question)
        value = self.gap_value if "gap" in question and self.gap_value is not None else self.value
        return {"value": value, "seconds": 1.0}


class Unfinished(Worker):
    """Never finishes."""

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, question: dict[str, Any], limit: float) -> dict[str, Any]:
        self.asked += 1
        return {"error": f"{UNFINISHED} in {limit:.0f} s", "seconds": limit}


def measured(ours: Worker, peer: Worker) -> Row:
    row = Row(CASES[0])
    assert list(measure(row, ours, [(PEERS[0].routes[0], peer)])) == [PEERS[0].routes[0].label, ""]
    return row


def test_calls_alternate_and_no_noise_is_asked_twice() -> None:
    truth = float(CASES[0].truth)
    ours, peer = Scripted(truth * (1 + 1e-6)), Scripted(truth * (1 - 1e-3))
    cell = measured(ours, peer).cells[PEERS[0].routes[0].label]
    assert (cell.outcome, cell.below, cell.matched, cell.gap) == ("answered", True, True, None)
    assert cell.ratio == 1.0
    noises = [question["rounds"][0]["noise"] for question in peer.asked]
    assert len(set(noises)) == len(noises) == cell.repetitions + 1
    assert noises == [question["rounds"][0]["noise"] for question in ours.asked][: len(noises)]


def test_a_closer_peer_is_met_with_a_smaller_gap() -> None:
    truth = float(CASES[0].truth)
    peer = Scripted(truth * (1 + 1e-5))
    met = measured(Scripted(truth * (1 + 1e-3), truth * (1 + 1e-6)), peer).cells[PEERS[0].routes[0].label]
    assert met.gap == pytest.approx(4e-5)
    assert met.matched
    missed = measured(Scripted(truth * (1 + 1e-3)), peer).cells[PEERS[0].routes[0].label]
    assert missed.gap is None
    assert not missed.matched


def test_a_slower_setting_is_not_tried_where_the_quicker_one_did_not_finish() -> None:
    quick, slow = PEERS[-1].routes
    peer, row = Unfinished(), Row(CASES[0])
    list(measure(row, Scripted(1.0), [(quick, peer), (slow, peer)]))
    assert peer.asked == 1
    assert row.cells[quick.label] == Cell("failed", "did not finish in 60 s")
    assert row.cells[slow.label].said == f"not tried, since {quick.label} did not finish in 60 s"


def test_failures_are_results() -> None:
    infinite = measured(Scripted(1.0), Scripted(float("inf"))).cells[PEERS[0].routes[0].label]
    assert infinite == Cell("failed", "answers inf")


def test_growth_is_measured_at_each_place_once(results: dict[str, Any]) -> None:
    """Both series of random allocation are on the page's data, narrow, and meet in the middle."""
    from bench.growth import EPOCHS, MIDDLE, STEPS, question

    found = results["alone"]["allocation"]
    assert [cell["steps"] for cell in found["steps"]] == list(STEPS)
    assert [cell["epochs"] for cell in found["epochs"]] == list(EPOCHS)
    assert all(cell["error"] is None and cell["width"] <= 1e-6 for cell in [*found["steps"], *found["epochs"]])
    assert found["steps"][STEPS.index(MIDDLE[0])] == found["epochs"][EPOCHS.index(MIDDLE[1])]
    assert len({question(*MIDDLE, i)["rounds"][0]["noise"] for i in range(6)}) == 6


def test_a_worker_is_asked_about_random_allocation(worker: Worker) -> None:
    from bench.growth import question

    plan = hs.Plan([hs.Round(hs.Gaussian(1.0), hs.RandomAllocation(100), count=3)])
    assert worker.ask(question(100, 3), 60.0)["value"] == plan.epsilon(1e-6).upper
