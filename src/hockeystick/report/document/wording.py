"""The words of a report, section by section, as blocks of plain text; all numbers come from its record."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from hockeystick.numerics.doctor import NOT_WITHIN
from hockeystick.plan.file import plan_from_dict, plan_text
from hockeystick.plan.labels import LABELS
from hockeystick.plan.plan import Plan
from hockeystick.report.answer import MAX_CLAUSE, relation_lines, rounds_said, settings_said
from hockeystick.report.claims import Verdict, verdict
from hockeystick.report.document import blocks
from hockeystick.report.document.figures import figures
from hockeystick.report.document.shares import CROWD, given, half_up, of_crowd, percent_up
from hockeystick.report.loaders import LOADERS
from hockeystick.report.rounding import ends, exact, exp_up, limited, quoted, round_up
from hockeystick.report.scale import PUBLISHED, QUESTIONS, weakness
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.domains import cut, one_line

READABLE = 1e-13
"""Largest delta for which "1 in N" has too many digits to be readable."""

MOST_ROUNDS = 40
"""Largest number of kinds of rounds in the table; the plan at the end of the report lists all."""

RELATIONS: Mapping[str, str] = {
    "add-or-remove": "The guarantee compares the data with and without one record (add-or-remove). It limits what "
    "anybody can learn about whether a record was in the data.",
    "add": "The guarantee compares the data with the same data plus one record. It covers only this direction.",
    "remove": "The guarantee compares the data with the same data minus one record. It covers only this direction.",
    "replace-one": "The guarantee compares the data with the same data in which one record has different values "
    "(replace-one). It limits what anybody can learn about the content of a record.",
    "zero-out": "The guarantee compares the data with the same data in which one record contributes nothing "
    "(zero-out). It limits what anybody can learn about whether a record had an effect. The number of records is "
    "public.",
}
"""Paragraph of the report that explains each adjacency."""

GUARANTEES: Mapping[str, str] = {
    "certified": "The true value lies between the two ends. The program bounds every numerical error, moves each "
    "end outward by these bounds, and rounds printed numbers outward. It assumes that elementary functions are as "
    "accurate as the documentation states. "
    "The word \u201ccertified\u201d describes the arithmetic and does not mean an accreditation.",
    "proved": "A proof in ball arithmetic shows that the true value lies between the two ends.",
    "upper bound": "The true value is at most the stated number. It may be much smaller than this number, because no "
    "lower bound is known.",
}
"""Paragraph of the report that explains each kind of guarantee."""

COUNTED = (
    "The plan counts every released number to which one record contributes, as often as the number was released.",
    "If a record, or all records of a user together, can change one released number in several places at once, the "
    "sensitivity covers the combined change.",
)
"""Conditions that a signer of a report checks, beside :data:`OUTSIDE`, if the plan draws no batches."""

DRAWN = ("Batches are drawn as the plan says.", "The number of records may become public.")
"""Conditions that a signer of a report checks, beside :data:`OUTSIDE`, if the plan draws batches."""

OUTSIDE = (
    "The noise in the plan is the added noise divided by the largest change that one record can make to a result, such "
    "as a sum or a gradient. Both values are correct, and no record can make a larger change.",
    "The added noise has the stated distribution, and nobody can predict it or reproduce it from a seed.",
    "Nobody used the private data to choose bounds, clipping norms, learning rates, the best run or the time to stop, "
    "unless the plan includes this choice. Every such choice costs privacy.",
    "No person has more records than the guarantee covers. \u201chockeystick statement --records-per-person\u201d "
    "computes the guarantee for people with more records.",
    "Nothing else was released about the same people, or another plan accounts for it. The epsilons and deltas of all "
    "releases add up.",
)
"""Conditions that the computation cannot check and the signer must check."""


ATTACKS: Mapping[str, tuple[str, str]] = {
    "add-or-remove": ("not in the data", "in the data"),
    "replace-one": ("with the second content", "with the first content"),
    "zero-out": ("without contributions", "with contributions"),
}
"""Subjects of an attacker's false alarms and of right alarms, by adjacency; the subjects are records or users."""


def report_blocks(record: Mapping[str, Any]) -> list[blocks.Block]:
    """Return a report as blocks.

    Args:
        record: result of :func:`hockeystick.report.document.record.report_record`, new or read from a file.

    Raises:
        InvalidInputError: the plan in the record is invalid.
    """
    plan = plan_from_dict(record["plan"])
    return [
        blocks.Title("Differential privacy report", one_line(record["asked"]["title"] or "")),
        *_headline(record),
        *_meaning(record),
        *_run(record, plan),
        *_assumed(record),
        *_guarantee(record),
        *_pictures(record),
        *_made(record, plan),
        *_signed(record, plan),
    ]


def headline(record: Mapping[str, Any]) -> str:
    """Return the sentence to quote, in plain ASCII."""
    first = record["epsilon"][0]
    return f"epsilon {limited(first)} at delta = {exact(first['delta'])}"


def _headline(record: Mapping[str, Any]) -> Iterator[blocks.Block]:
    first = record["epsilon"][0]
    weak, at_most = weakness(first["upper"], "person"), "\u2264"
    news = "No meaningful protection: " if weak else ""
    yield blocks.Lead(
        f"{news}\u03b5 {limited(first, at_most)} at \u03b4 = {exact(first['delta'])}",
        f"for {_protected(record)} under {record['adjacency']}; interval {ends(first)} ({first['guarantee']})",
    )
    cautions = [*weak, *record["warnings"]]
    if _judged(record) is Verdict.TOO_LOW:
        cautions.append(f"the claimed {_claimed(record)}")
    if first["reason"]:
        cautions.append(_reason(first))
    if "shuffled" in _sampled(record):
        cautions += [
            f"with Poisson batches, the same training has an epsilon of at most {quoted(row)}; retrain with them"
            for row in record["samplings"]
            if row["scheme"] == "poisson"
        ]
    if str(record["made"].get("doctor", "")).startswith(NOT_WITHIN):
        cautions.append(f"the elementary functions of the machine are {one_line(str(record['made']['doctor']))}")
    if cautions:
        yield blocks.Caution(cautions)


def _signed(record: Mapping[str, Any], plan: Plan) -> Iterator[blocks.Block]:
    small = "Delta is much smaller than 1 divided by the number of people"
    if plan.dataset_size is not None:
        times = float(given(record["asked"]["delta"], plan.dataset_size))
        small += f": delta times the {plan.dataset_size:,} records of the plan is {round_up(times)}"
    yield blocks.Heading("What people must check")
    yield blocks.Paragraph("The numbers hold if the program did what the plan says. Before you sign, confirm that:")
    yield blocks.Bullets((*(DRAWN if _sampled(record) else COUNTED), *OUTSIDE, f"{small}."))
    yield blocks.Paragraph(
        f"This signature is for the guarantee {headline(record)}, for {_protected(record)} under "
        f"{record['adjacency']}, and for the plan above (SHA-256 {record['plan_sha256']})."
    )
    yield blocks.Signature(("Name and role", "Date", "Signature"))


def _sampled(record: Mapping[str, Any]) -> list[str]:
    """Names of the sampling schemes in the plan, except ``none``."""
    names = (item.get("sampling", "none") for item in record["plan"]["round"])
    return [name for name in dict.fromkeys(names) if name != "none"]


def _run(record: Mapping[str, Any], plan: Plan) -> Iterator[blocks.Block]:
    yield blocks.Heading("What was run")
    rows, shown = [], record["plan"]["round"][:MOST_ROUNDS]
    named = any("name" in item or "date" in item for item in shown)
    for item in shown:
        often = f"{item['epochs']} epochs" if "epochs" in item else _times(item["count"])
        settings = settings_said(settings_of(item))
        row = (item["mechanism"], item.get("sampling", "none"), cut(settings, 2 * MAX_CLAUSE) or "\u2013", often)
        rows.append((_name(item), *row) if named else row)
    heads: tuple[str, ...] = ("mechanism", "sampling", "parameters", "how often")
    heads = ("name", *heads) if named else heads
    yield blocks.Table("Steps that used the data", heads, rows, words=len(heads))
    left = len(record["plan"]["round"]) - len(rows)
    if left > 0:
        yield blocks.Paragraph(f"The plan at the end lists {left:,} more kinds of steps.")
    facts = [("steps in all" if plan.best_of is None else "steps of each run", rounds_said(plan))]
    facts += [line for line in relation_lines(plan) if line[0] == "released"]
    facts += [(f"note on {_name(item)}", one_line(item["note"])) for item in shown if "note" in item]
    if plan.dataset_size is not None:
        facts.append(("records", f"{plan.dataset_size:,}"))
    published = record["plan"].get("published", {})
    facts += [(key, one_line(str(published[key]))) for key in ("source", "accountant", "note") if published.get(key)]
    if published.get("epsilon") is not None:
        facts.append(("claimed elsewhere", _claimed(record)))
    yield blocks.Facts(facts)
    yield blocks.Paragraph(RELATIONS[record["adjacency"]])
    if "unit" in record:
        yield blocks.Paragraph("Here, one record means all records of one user, at most as many as stated above.")


def settings_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a round, without the keys that the report shows elsewhere."""
    said_apart = (*LABELS, "mechanism", "sampling", "count", "epochs")
    return {key: value for key, value in item.items() if key not in said_apart}


def _name(item: Mapping[str, Any]) -> str:
    """Name of a round, or else of its mechanism, followed by the date of the round if it has one."""
    name, date = cut(one_line(item.get("name", item["mechanism"])), MAX_CLAUSE), item.get("date")
    return name if date is None else f"{name}, {date}"


def _protected(record: Mapping[str, Any]) -> str:
    """Phrase for the unit in which neighbouring datasets differ, such as one record."""
    if "partitions_per_unit" in record and "unit" in record:
        each = f"{record['records_per_unit']} records in each of {record['partitions_per_unit']} partitions"
        return f"one user with at most {each}"
    return "one record" if "unit" not in record else f"one user with at most {record['records_per_unit']} records"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _judged(record: Mapping[str, Any]) -> Verdict | None:
    """Verdict on the epsilon that the plan's source claims.

    There is none if the source claims nothing at the report's delta, or if the bounds do not decide.
    """
    first = record["epsilon"][0]
    ends = {end: math.inf if first[end] is None else first[end] for end in ("lower", "upper") if end in first}
    return verdict(record["plan"].get("published", {}), first["delta"], ends.get("lower"), ends.get("upper"))


def _claimed(record: Mapping[str, Any]) -> str:
    """Text of the epsilon that the plan's source claims, with the verdict on it if there is one."""
    published, judged = record["plan"]["published"], _judged(record)
    claim = f"epsilon {exact(published['epsilon'])}"
    if published.get("delta") is None:
        return f"{claim} (without a delta, so this claim cannot be judged)"
    claim += f" at delta {exact(published['delta'])}"
    return claim if judged is None else f"{claim}: {judged.value}"


def _assumed(record: Mapping[str, Any]) -> Iterator[blocks.Block]:
    sampled = _sampled(record)
    yield blocks.Heading("How batches must be drawn" if sampled else "Assumptions of the plan")
    yield blocks.Bullets(record["assumptions"])
    for name in sampled:
        if name in LOADERS:
            yield blocks.Paragraph(f"Loaders that draw such batches ({name}): {'; '.join(LOADERS[name])}.")
    if record["samplings"]:
        yield blocks.Paragraph(
            "If batches are drawn in another way, the same training has a different epsilon. In the row "
            "\u201cnone\u201d, every record is part of every batch. If a scheme has no row, either no bound is "
            "proved for this plan, or the plan lacks a key that the scheme needs, such as batch_size. "
            "\u201chockeystick sampling\u201d gives the reason for each scheme."
        )
        rows = [(row["scheme"], quoted(row), ends(row)) for row in record["samplings"]]
        heads = ("batches", "epsilon at most", "interval")
        yield blocks.Table(f"Epsilon at delta = {exact(record['asked']['delta'])} under other sampling", heads, rows)


def _guarantee(record: Mapping[str, Any]) -> Iterator[blocks.Block]:
    if len(record["epsilon"]) == 1:  # at delta 0 there is no smaller one
        return
    yield blocks.Heading("The same guarantee at other deltas")
    rows = [(exact(row["delta"]), quoted(row), ends(row)) for row in record["epsilon"]]
    yield blocks.Table("All rows hold at the same time", ("delta", "epsilon at most", "interval"), rows, words=0)
    endless: dict[str, list[str]] = {}
    for row in record["epsilon"][1:]:  # warnings about the first row are beside the headline
        if row["upper"] is None and row["reason"]:
            endless.setdefault(_reason(row), []).append(exact(row["delta"]))
    for reason, deltas in endless.items():
        yield blocks.Paragraph(f"No finite epsilon is proved at delta = {' and '.join(deltas)}: {reason}.")


def _reason(row: Mapping[str, Any]) -> str:
    """Reason for an infinite end or a wide interval, with exponents as people write them.

    >>> _reason({"reason": "the black boxes fail with probability 1e-08 > delta"})
    'the black boxes fail with probability 1e-8 > delta'
    """
    return re.sub(r"(?<=\de)([-+])0(?=\d)", lambda found: found[1].strip("+"), one_line(row["reason"]))


def _meaning(record: Mapping[str, Any]) -> Iterator[blocks.Block]:
    yield blocks.Heading("What an attacker can learn")
    rest = "every record of every other user" if "unit" in record else "every other record"
    first, delta = record["epsilon"][0], record["asked"]["delta"]
    beyond = f", plus {exact(delta)}{_one_in(delta)}" if delta else ""
    if first["upper"] is None:
        yield blocks.Paragraph("At this delta, the plan guarantees nothing, because epsilon is infinite.")
    else:
        yield blocks.Paragraph(
            f"Suppose that an attacker knows {rest}, knows the method and sees all results. The probability of any "
            f"finding on one dataset is then at most {exp_up(first['upper'])} times (e to the power of epsilon) its "
            f"probability on a neighbouring dataset{beyond}. Published epsilons for comparison, {PUBLISHED}. Compare "
            "epsilons only for the same unit and the same delta."
        )
    attack = record["attack"]
    if "refused" in attack:
        yield blocks.Paragraph(f"This report states no error rates of attacks: {one_line(attack['refused'])}.")
        return
    adjacency = record["adjacency"] if record["adjacency"] in ATTACKS else "add-or-remove"
    (others, targets), question = ATTACKS[adjacency], QUESTIONS[Adjacency(adjacency)]["unit" in record]
    who = "users" if "unit" in record else "records"
    yield blocks.Paragraph(
        f"Suppose that an attacker guesses {question}. If both answers are equally likely, the guess is right with a "
        f"probability of at most {half_up(attack['advantage']['upper'])}, averaged over the results of the "
        "computation. A coin toss is right 50% of the time."
    )
    rows = [(f"{given(row['fpr'], 100)}%", percent_up(row["upper"])) for row in attack["tpr"]]
    yield blocks.Table(
        "The best attack, averaged over its targets", ("false alarms", "right alarms, at most"), rows, words=0
    )
    middle = attack["tpr"][1]
    chance, most = given(middle["fpr"], CROWD), of_crowd(middle["upper"])
    yield blocks.Paragraph(
        f"Suppose that an attacker raises, on average, {chance} false alarms about {CROWD:,} {who} {others}. The same "
        f"attacker then recognises, on average, at most {most} of {CROWD:,} {who} {targets}. By chance alone, the "
        f"attacker would recognise {chance}."
    )


def _one_in(delta: float) -> str:
    """Return a small probability as "1 in N", with N rounded down; an empty text if N is too long to be readable.

    >>> _one_in(1e-05), _one_in(3e-06), _one_in(1e-20)
    (' (1 in 100,000)', ' (1 in 333,333)', '')
    """
    return f" (1 in {int(1 / Decimal(repr(delta))):,})" if delta > READABLE else ""


def _pictures(record: Mapping[str, Any]) -> list[blocks.Block]:
    """Section with the figures; empty if the record has no points."""
    found: list[blocks.Block] = [*figures(record)]
    if found and "selection" in record:
        found.append(
            blocks.Paragraph(
                "No figure shows epsilon against the number of steps, because nothing is released before the runs end."
            )
        )
    return [blocks.Heading("In pictures"), *found] if found else []


def _made(record: Mapping[str, Any], plan: Plan) -> Iterator[blocks.Block]:
    yield blocks.Heading("How it was computed")
    made, delta = record["made"], exact(record["asked"]["delta"])
    guarantees = dict.fromkeys(row["guarantee"] for row in record["epsilon"])
    for name in guarantees:
        yield blocks.Paragraph(f"{name.capitalize()}. {GUARANTEES[name]}" if name in GUARANTEES else one_line(name))
    versions = ", ".join(f"{key} {one_line(str(made[key]))}" for key in ("python", "numpy", "scipy") if key in made)
    yield blocks.Facts(
        [
            ("made on", one_line(str(made.get("date", "")))),
            ("by", f"hockeystick {one_line(str(made.get('hockeystick', '')))}, {_accountants(record)}"),
            ("with", versions),
            ("machine", one_line(str(made.get("machine", "")))),
            *([("elementary functions", one_line(str(made["doctor"])))] if "doctor" in made else []),
        ]
    )
    title = record["asked"]["title"]
    named = "" if title is None else f" --title {shlex.quote(one_line(title))}"
    yield blocks.Paragraph(
        "The first command recreates this report from the plan below. The second command recomputes every number in "
        "the report. The third command proves the report's epsilons with a checker that shares no code with "
        "hockeystick. If the checker does not cover the plan, the third command says so. It checks neither the other "
        "numbers nor the text."
    )
    commands = (
        f"hockeystick report plan.toml --delta {delta}{named} --output report.html",
        "hockeystick verify report.html",
        "hockeystick verify report.html --independent",
    )
    yield blocks.Code("\n".join(commands), "console")
    yield blocks.Heading("The plan")
    yield blocks.Code(plan_text(plan), "toml")


def _accountants(record: Mapping[str, Any]) -> str:
    """List the accountants of the stated epsilons, each with the direction of adjacency in which epsilon is larger."""
    said = [f"{row['accountant']}{', ' + row['direction'] if row['direction'] else ''}" for row in record["epsilon"]]
    return f"accountant {'; '.join(dict.fromkeys(said))}"
