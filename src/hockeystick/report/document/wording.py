"""The words of a report, from its record: section by section, as blocks of plain text."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hockeystick.numerics.doctor import NOT_WITHIN
from hockeystick.plan.file import plan_from_dict, plan_text
from hockeystick.plan.labels import LABELS
from hockeystick.plan.plan import Plan
from hockeystick.report.answer import MAX_SETTING, relation_lines, rounds_said, settings_said
from hockeystick.report.claims import verdict
from hockeystick.report.document import blocks
from hockeystick.report.document.checker import NAME
from hockeystick.report.document.figures import figures
from hockeystick.report.document.shares import (
    CROWD,
    crowd_given,
    factor_up,
    half_up,
    of_crowd,
    percent_given,
    percent_up,
)
from hockeystick.report.loaders import loaders_of
from hockeystick.report.rounding import QUOTED_DIGITS, SHOWN_DIGITS, exact, round_down, round_up
from hockeystick.values.domains import cut, one_line

MOST_ROUNDS = 40
"""Largest number of kinds of rounds in the table; the plan at the end of the report lists all."""

RELATIONS: Mapping[str, str] = {
    "add-or-remove": "Two datasets are neighbours when one has one record more than the other: nobody can tell whether "
    "a record was in the data. The number covers both the record's being added and its being removed.",
    "add": "Two datasets are neighbours when the second has one record more. The number covers this one ordering "
    "alone.",
    "remove": "Two datasets are neighbours when the second has one record less. The number covers this one ordering "
    "alone.",
    "replace-one": "Two datasets are neighbours when one record of the first is another record in the second: nobody "
    "can tell what a record said.",
    "zero-out": "Two datasets are neighbours when they have as many records, and one record of the first contributes "
    "nothing in the second: nobody can tell whether a record had any effect. The number of records is public. The "
    "number covers both the contribution's being set to nothing and its being put back.",
}
"""Meaning of each adjacency, for a first-time reader."""

GUARANTEES: Mapping[str, str] = {
    "certified": "Every error on the way to the numbers (discretisation, truncation, quadrature, rounding) is bounded "
    "and charged to the safe side. The true value is not above the upper end and not below the lower end, given the "
    "stated accuracy of the elementary functions of the machine.",
    "proved": "The interval was proved by ball arithmetic throughout.",
    "upper bound": "The true value is not above the number. Nothing is known from below: it may be much smaller.",
}
"""Meaning of each guarantee."""

OUTSIDE = (
    "The sampler: batches have to be made as the plan says.",
    "Clipping: the contribution of every record has to be at most what the noise was set for, in the arithmetic used.",
    "The noise: it has to be drawn from the law that the plan names, by an unpredictable generator whose seed nobody "
    "sees.",
    "Choices made by looking at the data: clipping bounds, learning rates, the best of several runs, early stopping. "
    "Each costs privacy that is not in this number unless it is a round of the plan, or its selection.",
    "People with more records than the unit of the plan has, which is one record unless it says users: they are "
    "protected less.",
    "The size of the dataset, where the plan uses it, is treated as public.",
)
"""Conditions that an accountant cannot see and the signer must check."""


@dataclass(frozen=True, slots=True)
class Attack:
    """Words for the best attack.

    Attributes:
        question: question that the attacker wants to answer about a person.
        wrong: column head of the number of wrong alarms.
        right: column head of the number of right alarms.
        others: people about whom an alarm is wrong.
        targets: people about whom an alarm is right.
        alarms: column heads of the shares of wrong and of right alarms.
    """

    question: str
    wrong: str
    right: str
    others: str
    targets: str
    alarms: tuple[str, str] = ("wrong alarms", "right alarms, at most")


ATTACKS: Mapping[str, Attack] = {
    "add-or-remove": Attack(
        "whether one record is in the data",
        f"accused, of {CROWD:,} outsiders",
        f"recognised, of {CROWD:,} members",
        "records that are not in the data",
        "records that are in it",
        ("outsiders wrongly accused", "members recognised, at most"),
    ),
    "replace-one": Attack(
        "which of two given records is in the data",
        f"wrong, of {CROWD:,} with the second record",
        f"right, of {CROWD:,} with the first",
        "people whose record is the second",
        "people whose record is the first",
    ),
    "zero-out": Attack(
        "whether one record contributed anything",
        f"wrong, of {CROWD:,} that contribute nothing",
        f"right, of {CROWD:,} that contribute",
        "records that contribute nothing",
        "records that contribute",
    ),
}
"""Words for the error rates, by adjacency."""

USERS: Mapping[str, Attack] = {
    "add-or-remove": replace(
        ATTACKS["add-or-remove"],
        question="whether the records of one user are in the data",
        others="users who are not in the data",
        targets="users who are in it",
    ),
    "replace-one": Attack(
        "which of two given sets of records one user has in the data",
        f"wrong, of {CROWD:,} with the second records",
        f"right, of {CROWD:,} with the first",
        "users whose records are the second",
        "users whose records are the first",
    ),
    "zero-out": replace(
        ATTACKS["zero-out"],
        question="whether the records of one user contributed anything",
        others="users who contribute nothing",
        targets="users who contribute",
    ),
}
"""Words for the error rates if the unit is a user with several records."""


WEAK = 7.0
"""Epsilon from which a guarantee is called meaningless for one person: of two equally likely answers, whoever sees
the output may be right about 1 / (1 + e^-7) = 99.9 % (Kairouz, Oh, Viswanath 2015)."""


def report_blocks(record: Mapping[str, Any]) -> list[blocks.Block]:
    """Return a report as blocks.

    Args:
        record: result of :func:`hockeystick.report.document.record.report_record`, or the same read from a file.

    Raises:
        InvalidInputError: the plan in it is invalid.
    """
    plan = plan_from_dict(record["plan"])
    return [
        blocks.Title("Differential privacy report", one_line(record["asked"]["title"] or "")),
        *_headline(record),
        *_run(record, plan),
        *_assumed(record),
        *_guarantee(record),
        *_meaning(record),
        *_pictures(record),
        blocks.Heading("What this number does not cover"),
        blocks.Paragraph(
            "The computation above is about the plan. Whether the plan describes what was run is for people to say. "
            "Ask, before you sign:"
        ),
        blocks.Bullets(OUTSIDE),
        *_made(record, plan),
        blocks.Signature(("Name and role", "Date", "Signature")),
    ]


def ends(row: Mapping[str, Any], digits: int = SHOWN_DIGITS) -> str:
    """Return the interval of a row with ends rounded outward; an infinite upper end is ``infinite``."""
    upper = "infinite" if row["upper"] is None else round_up(row["upper"], digits)
    if row.get("lower") is None:
        return upper
    lower = round_down(row["lower"], digits)
    return upper if lower == upper else f"{lower} to {upper}"


def quoted(row: Mapping[str, Any]) -> str:
    """Return the number to quote, rounded up, or ``infinite``."""
    return "infinite" if row["upper"] is None else round_up(row["upper"], QUOTED_DIGITS)


def headline(record: Mapping[str, Any]) -> str:
    """Return the sentence to quote, in plain ASCII."""
    first = record["epsilon"][0]
    relation = "is" if first["upper"] is None else "<="
    return f"epsilon {relation} {quoted(first)} at delta = {exact(first['delta'])}"


def _headline(record: Mapping[str, Any]) -> Iterator[blocks.Block]:
    first = record["epsilon"][0]
    relation = "is" if first["upper"] is None else "\u2264"
    yield blocks.Lead(
        f"\u03b5 {relation} {quoted(first)} at \u03b4 = {exact(first['delta'])}",
        f"epsilon at delta, for {_protected(record)}, {record['adjacency']}; {ends(first)} ({first['guarantee']})",
    )
    cautions = [*weakness(first["upper"], "person"), *record["warnings"]]
    if first["reason"]:
        cautions.append(_reason(first))
    if str(record["made"].get("doctor", "")).startswith(NOT_WITHIN):
        cautions.append(f"the elementary functions of the machine are {one_line(str(record['made']['doctor']))}")
    if cautions:
        yield blocks.Caution(cautions)


def weakness(epsilon: float | None, unit: str) -> list[str]:
    """Return a warning for an epsilon, infinite if None, from :data:`WEAK` on; none below."""
    if epsilon is not None and epsilon < WEAK:
        return []
    often = "all" if epsilon is None else "more than 99.9%"
    return [
        f"this is no meaningful protection of a single {unit}: an attack that the guarantee allows is right in {often} "
        f"of its guesses whether a {unit} was in the data"
    ]


def _run(record: Mapping[str, Any], plan: Plan) -> Iterator[blocks.Block]:
    yield blocks.Heading("What was run")
    rows, shown = [], record["plan"]["round"][:MOST_ROUNDS]
    named = any("name" in item or "date" in item for item in shown)
    for item in shown:
        often = f"{item['epochs']} epochs" if "epochs" in item else _times(item["count"])
        settings = settings_said(settings_of(item))
        row = (item["mechanism"], item.get("sampling", "none"), cut(settings, 4 * MAX_SETTING) or "\u2013", often)
        rows.append((_name(item), *row) if named else row)
    heads: tuple[str, ...] = ("mechanism", "sampling", "parameters", "how often")
    heads = ("name", *heads) if named else heads
    yield blocks.Table("The steps of the computation", heads, rows, words=len(heads))
    left = len(record["plan"]["round"]) - len(rows)
    if left > 0:
        yield blocks.Paragraph(f"{left:,} more kinds of steps stand in the plan below.")
    facts = [("steps in all" if plan.best_of is None else "steps of each run", rounds_said(plan))]
    facts += [line for line in relation_lines(plan) if line[0] == "released"]
    facts += [(f"note on {_name(item)}", one_line(item["note"])) for item in shown if "note" in item]
    if plan.dataset_size is not None:
        facts.append(("records", f"{plan.dataset_size:,}"))
    facts += [("who is protected", _protected(record)), ("neighbouring relation", record["adjacency"])]
    published = record["plan"].get("published", {})
    facts += [(key, one_line(str(published[key]))) for key in ("source", "accountant", "note") if published.get(key)]
    if published.get("epsilon") is not None:
        facts.append(("claimed elsewhere", _claimed(published, record["epsilon"][0])))
    yield blocks.Facts(facts)
    yield blocks.Paragraph(RELATIONS[record["adjacency"]])
    if "unit" in record:
        yield blocks.Paragraph(
            "Here and below, all records of one user, as many as are said above, take the place of the one "
            "record in which neighbouring datasets differ."
        )


def settings_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a kind of steps, without the keys that the report shows elsewhere."""
    said_apart = (*LABELS, "mechanism", "sampling", "count", "epochs")
    return {key: value for key, value in item.items() if key not in said_apart}


def _name(item: Mapping[str, Any]) -> str:
    """Name and date of a kind of steps; its mechanism if it has no name."""
    name, date = cut(one_line(item.get("name", item["mechanism"])), MAX_SETTING), item.get("date")
    return name if date is None else f"{name}, {date}"


def _protected(record: Mapping[str, Any]) -> str:
    """The unit in which neighbouring datasets differ."""
    if "partitions_per_unit" in record and "unit" in record:
        each = f"{record['records_per_unit']} records in each of {record['partitions_per_unit']} partitions"
        return f"one user with at most {each}"
    return "one record" if "unit" not in record else f"one user with at most {record['records_per_unit']} records"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _claimed(published: Mapping[str, Any], first: Mapping[str, Any]) -> str:
    """The claim of a source, with a verdict if it is about the same delta."""
    claim = f"epsilon {exact(published['epsilon'])}"
    if published.get("delta") is None or published["delta"] != first["delta"]:
        return claim + (f" at delta {exact(published['delta'])}" if published.get("delta") is not None else "")
    claim += f" at delta {exact(published['delta'])}"
    ends = {end: math.inf if first[end] is None else first[end] for end in ("lower", "upper") if end in first}
    judged = verdict(published["epsilon"], ends.get("lower"), ends.get("upper"))
    return claim if judged is None else f"{claim}: {judged.value}"


def _assumed(record: Mapping[str, Any]) -> Iterator[blocks.Block]:
    yield blocks.Heading("What the number assumes of the data loader")
    yield blocks.Bullets(record["assumptions"])
    for name in dict.fromkeys(item.get("sampling", "none") for item in record["plan"]["round"]):
        loaders = loaders_of(name)
        if loaders:
            yield blocks.Paragraph(f"Loaders that do this ({name}): {'; '.join(loaders)}.")
    if record["samplings"]:
        yield blocks.Paragraph(
            "One training with batches made in another way has another epsilon. \u201cnone\u201d claims nothing of "
            "the sampling: every record counts as being in every batch. \u201cshuffled\u201d is what most loaders do."
        )
        rows = [(row["scheme"], quoted(row), ends(row)) for row in record["samplings"]]
        heads = ("batches", "epsilon at most", "interval")
        yield blocks.Table(
            f"Epsilon at delta = {exact(record['asked']['delta'])} if the loader did otherwise", heads, rows
        )


def _guarantee(record: Mapping[str, Any]) -> Iterator[blocks.Block]:
    yield blocks.Heading("The guarantee")
    rows = [(exact(row["delta"]), quoted(row), ends(row), _method(row)) for row in record["epsilon"]]
    heads = ("delta", "epsilon at most", "interval", "method")
    yield blocks.Table("Epsilon at several deltas; all lines hold at once", heads, rows, words=0)
    endless: dict[str, list[str]] = {}
    for row in record["epsilon"][1:]:  # warnings on the first stand beside the headline
        if row["upper"] is None and row["reason"]:
            endless.setdefault(_reason(row), []).append(exact(row["delta"]))
    for reason, deltas in endless.items():
        yield blocks.Paragraph(f"No finite epsilon is proven at delta = {' and '.join(deltas)}: {reason}.")
    attack = record["attack"]
    if "mu" in attack and attack["mu"]["upper"] is not None:
        text = (
            f"As one number: Gaussian differential privacy with mu \u2264 {quoted(attack['mu'])} "
            f"({ends(attack['mu'])}), for attacks whose error rates are both at least {exact(attack['least_rate'])}."
        )
        if attack["regret"]["upper"] is not None:
            text += (
                f" Its regret is at most {quoted(attack['regret'])}: by no more than this, in both error rates, is the "
                "plan more private than mu says."
            )
        yield blocks.Paragraph(text)


def _reason(row: Mapping[str, Any]) -> str:
    """Reason for an infinite end or a wide interval, with exponents as people write them.

    >>> _reason({"reason": "the black boxes fail with probability 1e-08 > delta"})
    'the black boxes fail with probability 1e-8 > delta'
    """
    return re.sub(r"(?<=\de)([-+])0(?=\d)", lambda found: found[1].strip("+"), one_line(row["reason"]))


def _method(row: Mapping[str, Any]) -> str:
    worse = f", {row['direction']}" if row["direction"] else ""
    return f"{row['accountant']} ({row['guarantee']}){worse}"


def _meaning(record: Mapping[str, Any]) -> Iterator[blocks.Block]:
    yield blocks.Heading("What it means for an attacker")
    rest = "every record of every other user" if "unit" in record else "every other record"
    first, delta = record["epsilon"][0], exact(record["asked"]["delta"])
    if first["upper"] is None:
        yield blocks.Paragraph("Nothing is promised at this delta: epsilon is infinite.")
    else:
        yield blocks.Paragraph(
            f"Take the strongest attacker: one who knows {rest}, knows the method, and sees all results. "
            f"Whatever is looked for in the results is at most {factor_up(first['upper'])} times as likely with one of "
            f"two neighbouring datasets as with the other, up to an additional probability of {delta}."
        )
    attack = record["attack"]
    if "refused" in attack:
        yield blocks.Paragraph(f"Error rates of attacks are not stated: {one_line(attack['refused'])}.")
        return
    said = USERS if "unit" in record else ATTACKS
    words = said.get(record["adjacency"], said["add-or-remove"])
    yield blocks.Paragraph(
        f"Asked {words.question}, with both answers equally likely beforehand, this attacker is right with a "
        f"probability of at most {half_up(attack['advantage']['upper'])}; guessing is right with 50%. The advantage "
        f"(true-positive rate less false-positive rate) is at most {percent_up(attack['advantage']['upper'])}."
    )
    rows = [
        (percent_given(row["fpr"]), percent_up(row["upper"]), crowd_given(row["fpr"]), of_crowd(row["upper"]))
        for row in attack["tpr"]
    ]
    heads = (*words.alarms, words.wrong, words.right)
    yield blocks.Table("Success of the best attack, on average over its targets", heads, rows, words=0)
    middle = attack["tpr"][1]
    chance, most = crowd_given(middle["fpr"]), of_crowd(middle["upper"])
    yield blocks.Paragraph(
        f"In words: an attacker who is wrong about {chance} of {CROWD:,} {words.others} recognises at most {most} of "
        f"{CROWD:,} {words.targets}, on average. Without the results, {chance} would be recognised by chance."
    )


def _pictures(record: Mapping[str, Any]) -> list[blocks.Block]:
    """The figures under their heading; nothing if the record has no points."""
    found: list[blocks.Block] = [*figures(record)]
    if found and "selection" in record:
        found.append(blocks.Paragraph("Epsilon over the steps is not drawn: nothing is released while the runs go on."))
    return [blocks.Heading("In pictures"), *found] if found else []


def _made(record: Mapping[str, Any], plan: Plan) -> Iterator[blocks.Block]:
    yield blocks.Heading("How it was computed")
    made, delta = record["made"], exact(record["asked"]["delta"])
    guarantees = dict.fromkeys(row["guarantee"] for row in record["epsilon"])
    for name in guarantees:
        yield blocks.Paragraph(f"{name.capitalize()}. {GUARANTEES[name]}" if name in GUARANTEES else one_line(name))
    yield blocks.Paragraph(
        "Numbers in this document are rounded outward: upper ends up, lower ends down, so that no printed digit says "
        "more than was computed."
    )
    versions = ", ".join(f"{key} {one_line(str(made[key]))}" for key in ("python", "numpy", "scipy") if key in made)
    yield blocks.Facts(
        [
            ("date", one_line(str(made.get("date", "")))),
            ("program", f"hockeystick {one_line(str(made.get('hockeystick', '')))}"),
            ("beside it", versions),
            ("machine", one_line(str(made.get("machine", "")))),
            *([("elementary functions", one_line(str(made["doctor"])))] if "doctor" in made else []),
            ("SHA-256 of the plan", record["plan_sha256"]),
        ]
    )
    yield blocks.Paragraph("To make this report again, save the plan as plan.toml:")
    title = record["asked"]["title"]
    named = "" if title is None else f" --title {shlex.quote(one_line(title))}"
    yield blocks.Code(f"hockeystick report plan.toml --delta {delta}{named} --output report.html", "console")
    yield blocks.Paragraph("To have every number of this file computed again and compared:")
    yield blocks.Code("hockeystick verify report.html", "console")
    yield blocks.Paragraph(
        f"To have the epsilons proved again by one file of Python that shares nothing with the program and can be read "
        f"in an hour, take {NAME} (with --checker the first of these commands puts it beside the report):"
    )
    yield blocks.Code(f"python {NAME} report.html", "console")
    yield blocks.Heading("The plan")
    yield blocks.Code(plan_text(plan), "toml")
