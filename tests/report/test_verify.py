"""Verification: what is stated is found again, and no number of a report can be edited without a line that says so."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest

import hockeystick as hs
from hockeystick.report.answer import delta_json, epsilon_json
from hockeystick.report.document.differences import TOLERANCE, changed_lines, differences
from hockeystick.report.document.envelope import CHECKSUM, enveloped, sealed
from hockeystick.report.document.files import HTML, JSON, MARKDOWN, report_text
from hockeystick.report.document.made import made
from hockeystick.report.document.record import report_record
from hockeystick.report.document.statement import statement_json
from hockeystick.report.document.verify import verified
from hockeystick.values.errors import InvalidInputError

PLAN = hs.Plan([hs.Round(hs.RandomizedResponse(epsilon=0.5), count=3)], adjacency="add", delta=1e-3)
"""A plan whose report takes milliseconds: a few outcomes, and one ordering, so that no error rates are looked for."""

METHOD: dict[str, Any] = {"accountant": "auto", "options": {}, "gap": None, "proof": False}
"""What the command line asks where nothing is said of the method."""


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    return report_record(PLAN, None, "three answers", made("2026-01-31"))


@pytest.mark.parametrize("form", [HTML, MARKDOWN, JSON])
def test_a_report_is_sound_as_it_was_made(record: dict[str, Any], form: str) -> None:
    found = verified(report_text(record, form))
    assert found.differences == ()
    assert (found.kind, found.form, found.version) == ("report", form, hs.__version__)
    assert found.numbers > 60


def test_line_breaks_of_another_system_are_no_difference(record: dict[str, Any]) -> None:
    assert verified(report_text(record, HTML).replace("\n", "\r\n")).sound


def test_every_digit_for_machines_is_held_but_for_those_that_no_double_has(record: dict[str, Any]) -> None:
    """The first and the last digit of each number of a JSON report: an edit that passes is the same number."""
    text = report_text(record, JSON)
    numbers = list(re.finditer(r"(?<![\w.\"-])-?[0-9][0-9.e+-]*", text))
    assert len(numbers) > 150
    held = 0
    for number in numbers[:: len(numbers) // 20]:
        digits = [found.start() for found in re.finditer(r"[0-9]", number[0].partition("e")[0])]
        for place in {number.start() + digits[0], number.start() + digits[-1]}:
            changed = text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :]
            try:
                same = json.loads(changed) == record
            except json.JSONDecodeError:  # a number that begins with 0 was given two digits before the point
                continue
            try:
                sound = verified(changed).sound
            except InvalidInputError:  # the question is no question any more
                sound = False
            assert sound == same, text[place - 30 : place + 10]
            held += not sound
    assert held > 20


def visible(text: str) -> list[int]:
    """Places of the digits that somebody sees on a page, or in a picture: those outside of style and data."""
    begin, end = text.index("<main>"), text.index("</main>")
    return [found.start() for found in re.finditer(r"[0-9]", text) if begin < found.start() < end]


def test_every_visible_digit_is_held(record: dict[str, Any]) -> None:
    """Each digit of the words, the tables, the plan and the paths of the pictures, changed by one, is another text."""
    text = report_text(record, HTML)
    places = visible(text)
    assert len(places) > 500
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    for place in places[:: len(places) // 25]:
        digit = str((int(text[place]) + 1) % 10)
        edited = text[:place] + digit + text[place + 1 :]
        found = verified(edited)
        number = sum(start <= place for start in starts)
        assert found.differences
        assert found.differences[0].startswith(f"line {number}: stated "), found.differences


@pytest.mark.parametrize("form", [HTML, MARKDOWN])
def test_words_put_in_or_taken_out_are_found(record: dict[str, Any], form: str) -> None:
    text = report_text(record, form)
    more = text.replace("Before you sign, confirm that", "Nothing needs to be confirmed", 1)
    less = "\n".join(line for line in text.split("\n") if "best run" not in line)
    after = text + "epsilon <= 0.1\n"
    for edited in (more, less, after):
        assert not verified(edited).sound


def each_number(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to all numbers of an object."""
    if isinstance(value, dict):
        return [found for key, item in value.items() for found in each_number(item, (*path, key))]
    if isinstance(value, list):
        return [found for key, item in enumerate(value) for found in each_number(item, (*path, key))]
    return [path] if isinstance(value, int | float) and not isinstance(value, bool) else []


def edited(record: dict[str, Any], path: tuple[Any, ...], factor: float) -> dict[str, Any]:
    copy = json.loads(json.dumps(record))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = inner[path[-1]] * factor if inner[path[-1]] else factor - 1
    return dict(copy)


def test_every_number_for_machines_is_held_even_if_it_is_sealed_anew(record: dict[str, Any]) -> None:
    """Whoever computes the checksum anew is met by the recomputation."""
    results = [path for path in each_number(record) if path[0] in ("epsilon", "curves", "rounds")]
    assert len(results) > 50
    for path in results[::7]:
        forged = sealed(edited(record, path, 1 - 1e-3))
        found = verified(json.dumps(forged))
        assert not found.sound, path
        assert not any(line.startswith("checksum") for line in found.differences)


def test_a_digit_below_the_tolerance_is_held_by_the_checksum(record: dict[str, Any]) -> None:
    found = verified(json.dumps(edited(record, ("epsilon", 0, "upper"), 1 + 1e-9)))
    assert found.differences == ("checksum: it does not match the numbers in the file; some were changed afterwards",)


def test_a_file_without_its_checksum_is_not_sound(record: dict[str, Any]) -> None:
    """Whoever takes the line out has not shown that nothing else was changed."""
    found = verified(json.dumps({key: value for key, value in record.items() if key != CHECKSUM}))
    assert [line.partition(":")[0] for line in found.differences] == ["checksum"]


def test_an_upper_end_below_the_certified_lower_one_is_found_however_near() -> None:
    """A sealed forgery within the tolerance is refused where it claims what is proved to be false."""
    again = {"lower": 1.0, "estimate": 1.0 + 1e-8, "upper": 1.0 + 2e-8}
    stated = {"lower": 1.0 - 2e-8, "estimate": 1.0 - 1e-8, "upper": 1.0 - 1e-8}
    assert TOLERANCE > 2e-8
    assert list(differences(stated, again, "epsilon", older=True)) == [
        "epsilon.upper: stated 0.99999999, below the recomputed lower end, 1.0"
    ]
    assert list(differences({**again, "upper": 1.0 + 1e-7}, again)) == []


def test_an_end_may_not_claim_more_than_is_computed_again() -> None:
    """Of this version by a few roundings; of another one up to the opposite end, and as much less as it likes."""
    again = {"lower": 1.0, "upper": 1.0 + 1e-7}
    for end, sign in (("lower", 1.0), ("upper", -1.0)):
        for factor, told in ((1e-13, 0), (1e-11, 1), (-1e-11, 0)):
            stated = {**again, end: again[end] * (1 + sign * factor)}
            assert len(list(differences(stated, again))) == told, stated
            assert list(differences(stated, again, older=True)) == []
        assert len(list(differences({**again, end: again[end] * (1 + sign * 1e-6)}, again, older=True))) == 1
        assert list(differences({**again, end: again[end] * (1 - sign * 0.5)}, again, older=True)) == []
        assert len(list(differences({**again, end: again[end] * (1 - sign * 0.5)}, again))) == 1


def _at(reach: float) -> dict[str, Any]:
    """A stored report whose curve ends there."""
    return {"curves": {"delta": [{"epsilon": reach}]}}


def test_a_curve_is_computed_again_at_the_places_that_are_stated(record: dict[str, Any]) -> None:
    """Another machine lays it a few roundings farther; a reach that is not the plan's is not followed."""
    farther = copy.deepcopy(record)
    reach = record["curves"]["delta"][-1]["epsilon"] * (1 + 1e-10)
    again = report_record(PLAN, None, "three answers", record["made"], _at(reach))
    farther["curves"]["delta"] = again["curves"]["delta"]
    assert farther["curves"]["delta"][-1]["epsilon"] == reach
    assert verified(json.dumps(sealed(farther))).sound
    assert report_record(PLAN, None, "three answers", record["made"], _at(2 * reach))["curves"] == record["curves"]


def test_an_end_beyond_the_opposite_one_is_found_within_the_slack_of_its_own() -> None:
    """Where both ends are one number, nothing but a few roundings is left."""
    again = {"lower": 1.0, "upper": 1.0}
    for end, sign in (("lower", 1.0), ("upper", -1.0)):
        for older in (False, True):
            (line,) = differences({**again, end: 1.0 + sign * 1e-13}, again, older=older)
            assert line.startswith(f"{end}: stated ")
            assert list(differences({**again, end: 1.0 + sign * 1e-15}, again, older=older)) == []


def test_a_question_that_was_changed_has_another_answer(record: dict[str, Any]) -> None:
    """The plan and what was asked are not numbers that follow: whoever edits them is met by all that follows."""
    for path in (("plan", "round", 0, "epsilon"), ("plan", "round", 0, "count"), ("asked", "delta")):
        forged = sealed(edited(record, path, 2))
        assert not verified(json.dumps(forged)).sound, path


def test_what_was_left_out_or_added_is_told(record: dict[str, Any]) -> None:
    less = sealed({key: value for key, value in record.items() if key != "warnings"})
    more = sealed({**record, "approved": True})
    assert verified(json.dumps(less)).differences == ("warnings: missing, recomputed []",)
    assert verified(json.dumps(more)).differences == ("approved: stated True, which no answer to this question has",)


def test_a_report_by_another_version_says_so_where_it_differs(record: dict[str, Any]) -> None:
    forged = sealed({**edited(record, ("epsilon", 0, "upper"), 0.5), "version": "0.0.1"})
    assert verified(json.dumps(forged)).differences[-1].startswith("version: made by hockeystick 0.0.1, recomputed")


def test_a_report_by_another_version_may_be_wider_and_says_so(record: dict[str, Any]) -> None:
    wider = sealed({**edited(record, ("epsilon", 0, "upper"), 1.0 + 1e-3), "version": "0.0.1"})
    found = verified(report_text(wider, HTML))
    assert found.sound
    assert found.unverified[0].startswith("sharpness: another version made it")
    assert not verified(json.dumps({**sealed({**wider, "version": record["version"]})})).sound


def test_what_is_not_verified_is_told(record: dict[str, Any]) -> None:
    """Texts that nobody can compute again, in a file that is sealed, and the one thing that no file shows."""
    lie = "epsilon <= 0.10 at delta = 1e-6 (certified)"
    forged = report_record(PLAN, None, lie, {**record["made"], "doctor": lie})
    found = verified(report_text(forged, HTML))
    assert found.sound
    assert [line.partition(":")[0] for line in found.unverified] == ["the title", "made with", "the run"]
    assert all(lie in line for line in found.unverified[:2])
    assert verified(report_text(edited(forged, ("epsilon", 0, "upper"), 0.9), HTML)).unverified == ()


def test_texts_of_a_plan_are_told_as_not_verified() -> None:
    """They stand on the page as they are."""
    lie, aside = "epsilon <= 0.10 (certified)", "x" * 100
    (item,) = PLAN.rounds
    plan = hs.Plan([item.changed(name=aside, note=lie)], "add", 1e-3, {"source": 10 * aside, "note": lie})
    found = verified(report_text(report_record(plan, None, None, made("2026-01-31")), HTML))
    (line,) = (line for line in found.unverified if line.startswith("the texts of the plan: name of round 1 'xxx"))
    assert line.count(lie) == 2  # the long ones before them do not hide them


def test_counts_and_the_places_of_ends_are_held_beyond_the_tolerance(record: dict[str, Any]) -> None:
    """One more round is another claim, and an end that holds at a delta may hold at none beside it."""
    assert not verified(json.dumps(sealed(edited(record, ("epsilon", 0, "delta"), 1.0 - 5e-7)))).sound
    assert list(differences({"remaining": 2_000_001}, {"remaining": 2_000_000}))
    assert not list(differences({"estimate": 2_000_001.0}, {"estimate": 2_000_000.0}))


def test_a_whole_number_that_no_double_holds_is_refused(record: dict[str, Any]) -> None:
    text = json.dumps(record).replace('"lower": 1.', f'"lower": {10**400}, "unread": 1.', 1)
    with pytest.raises(InvalidInputError, match="a number of 401 digits"):
        verified(text)


def test_texts_are_compared_line_by_line() -> None:
    assert list(changed_lines("a\nb\n", "a\nb\n")) == []
    assert list(changed_lines("a\nx\nb\n", "a\nb\n")) == ["line 2: stated 'x', should be nothing"]
    assert list(changed_lines("a\n", "a\nb\n")) == ["line 2: stated nothing, should be 'b'"]
    (said,) = changed_lines(f"{'so ' * 40}393 times {'or ' * 40}", f"{'so ' * 40}39 times {'or ' * 40}")
    stated, _, wanted = said.partition(", should be ")
    assert "393 times" in stated
    assert "39 times" in wanted
    (line,) = changed_lines("<p hidden>9</p>", "<p>9</p>")
    assert line == "line 1: stated '<p hidden>9</p>', should be '<p>9</p>'"
    (line,) = changed_lines("<td>\x1b[31m9</td>", "<td>8</td>")
    assert "\x1b" not in line


def test_truth_values_are_no_numbers() -> None:
    assert list(differences({"a": True}, {"a": 1})) == ["a: stated True, recomputed 1"]
    assert list(differences({"a": None}, {"a": 0.0})) == ["a: stated None, recomputed 0.0"]


def test_answers_to_questions_are_verified_too() -> None:
    asked = {"delta": 1e-3, **METHOD}
    answer = enveloped("epsilon", PLAN, asked, epsilon_json(PLAN, 1e-3, PLAN.epsilon(1e-3)))
    assert verified(json.dumps(answer)).sound
    assert not verified(json.dumps(sealed(edited(answer, ("epsilon", "lower"), 1.01)))).sound
    asked = {"epsilon": 0.25, **METHOD}
    answer = enveloped("delta", PLAN, asked, delta_json(PLAN, 0.25, PLAN.delta(0.25)))
    assert verified(json.dumps(answer)).sound
    assert not verified(json.dumps(sealed(edited(answer, ("delta", "upper"), 0.99)))).sound


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": None}, "does not say what was asked"),
        ({"answer": "horoscope"}, "answer must be one of"),
        ({"answer": ["epsilon"]}, "answer must be one of"),
        ({"asked": None}, "keys 'asked' and 'plan'"),
        ({"plan": {"round": []}}, "its plan: the plan has no rounds"),
        ({"asked": {"delta": 1e-5}}, "asked must have the keys"),
        ({"asked": {"delta": "small", **METHOD}}, "delta must be 0 or a number"),
        ({"asked": {"delta": 1e-5, **METHOD, "accountant": "nobody"}}, "nobody"),
        ({"asked": {"delta": 1e-5, **METHOD, "options": 3}}, "options a table"),
        ({"asked": {"delta": 1e-5, **METHOD, "options": {"directions": 3}}}, "has no option 'directions'"),
    ],
)
def test_a_file_that_asks_nothing_is_refused(changes: dict[str, Any], message: str) -> None:
    asked = {"delta": 1e-3, **METHOD}
    answer = enveloped("epsilon", PLAN, asked, epsilon_json(PLAN, 1e-3, PLAN.epsilon(1e-3)))
    with pytest.raises(InvalidInputError, match=message):
        verified(json.dumps({**answer, **changes}))


def test_an_answer_dressed_as_a_page_is_refused() -> None:
    asked = {"delta": 1e-3, **METHOD}
    answer = enveloped("epsilon", PLAN, asked, epsilon_json(PLAN, 1e-3, PLAN.epsilon(1e-3)))
    text = f'<script type="application/json" id="hockeystick-record">{json.dumps(answer)}</script>'
    with pytest.raises(InvalidInputError, match="is JSON; received HTML"):
        verified(text)


def test_what_another_machine_found_of_itself_stands(record: dict[str, Any]) -> None:
    """A report from a machine with other functions is sound here, and its own words about that machine are kept; one
    whose words were changed afterwards is not."""
    elsewhere = report_record(PLAN, None, None, {**record["made"], "doctor": "all as is assumed, on another machine"})
    for form in ("HTML", "Markdown", "JSON"):
        text = report_text(elsewhere, form)
        assert "all as is assumed, on another machine" in text
        assert verified(text).sound
        assert not verified(text.replace("on another machine", "on this machine", 1)).sound


def test_a_machine_that_is_not_as_assumed_is_minded(record: dict[str, Any]) -> None:
    """The reader meets it beside the number, and not only among the versions."""
    found = "NOT within what is assumed: exp errs by 9 units"
    text = report_text(report_record(PLAN, None, None, {**record["made"], "doctor": found}), "Markdown")
    assert f"> **Caution:** the elementary functions of the machine are {found}" in text
    assert "**Caution:** the elementary" not in report_text(record, "Markdown")
    assert verified(text).sound


def test_reports_made_before_the_doctor_are_sound(record: dict[str, Any]) -> None:
    made_then = {key: value for key, value in record["made"].items() if key != "doctor"}
    assert verified(report_text(report_record(PLAN, None, None, made_then), "HTML")).sound


def test_every_number_of_a_statement_is_held() -> None:
    """Each number in the text of the answer, with its last digit changed, unless that is the same double."""
    asked = {"delta": 1e-3, "records": 2.0}
    text = json.dumps(enveloped("statement", PLAN, asked, statement_json(PLAN, 1e-3, 2.0)))
    assert verified(text).sound
    edits = 0
    for found in re.finditer(r"[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?", text):
        digits, exponent, power = found[0].partition("e")
        edited = f"{digits[:-1]}{(int(digits[-1]) + 1) % 10}{exponent}{power}"
        if float(edited) == float(found[0]):
            continue
        edits += 1
        try:
            held = not verified(text[: found.start()] + edited + text[found.end() :]).sound
        except InvalidInputError:  # what is left asks nothing
            held = True
        assert held, (found.start(), found[0])
    assert edits > 50
