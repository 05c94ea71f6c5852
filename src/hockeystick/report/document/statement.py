"""Privacy statements for a paper or a model card.

A statement has a sentence about the guarantee for single records. Further sentences, where they apply, are about the
same training without amplification by sampling, and about people with several records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from hockeystick.plan.plan import Plan, asked_delta
from hockeystick.plan.sampling import NoSampling, Sampling
from hockeystick.plan.sampling.shuffled import Shuffled
from hockeystick.plan.users import USER
from hockeystick.report.answer import MAX_CLAUSE, caveats_json, epsilon_under, finite_ends, relation_json, settings_said
from hockeystick.report.document.envelope import digest
from hockeystick.report.document.latex import latex
from hockeystick.report.document.wording import settings_of
from hockeystick.report.kinds import Found
from hockeystick.report.rounding import exact, limited, quoted
from hockeystick.report.scale import weakness
from hockeystick.report.tables import print_paragraph
from hockeystick.values import domains
from hockeystick.values.domains import cut, one_line
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.version import __version__

MOST_ROUNDS = 4  # largest number of kinds of rounds named in a sentence

UNITS: Mapping[str, str] = {
    "add-or-remove": "the addition or removal of {}",
    "add": "the addition of {}",
    "remove": "the removal of {}",
    "replace-one": "the replacement of {}",
    "zero-out": "the contribution of {}, which is zero in one dataset, and the number of records is public",
}
"""Difference between neighbouring datasets, by adjacency."""


def statement_json(plan: Plan, delta: float | None, records: float | None = None) -> dict[str, Any]:
    """Return the numbers of a statement, and the statement as text and as LaTeX.

    Args:
        plan: the plan.
        delta: delta of the statement; the plan's own by default.
        records: largest number of records of one person, for a sentence about people.

    Raises:
        InvalidInputError: no delta is known, or a value is outside its domain.
        UnsupportedError: no guarantee is proved for a round.

    >>> from hockeystick import dp_sgd
    >>> found = statement_json(dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60), 1e-5)
    >>> found["text"][:95]
    'The computation satisfies (2.39, 1e-5)-differential privacy for single records, where neighbour'
    """
    at = domains.TARGET_DELTA.check(asked_delta(plan, delta), "delta")
    if records is not None and plan.unit == USER:
        raise InvalidInputError(
            "records_per_person goes with unit 'record'; the plan is about users", "records_per_person"
        )
    bound = plan.epsilon(at)
    keys = plan.to_dict()
    found = {
        "epsilon": finite_ends(bound),
        "delta": at,
        **relation_json(plan),
        "guarantee": bound.guarantee,
        "unsampled": _otherwise(plan, NoSampling, at),
        "shuffled": _otherwise(plan, Shuffled, at),
        "people": None if records is None else _people(plan, at, records),
        "plan_sha256": digest(keys),
        **caveats_json(plan, at),
    }
    text = one_line(" ".join(_sentences(found, keys, plan.steps)))
    return {**found, "text": text, "latex": latex(text)}


def _otherwise(plan: Plan, kind: type[Sampling], delta: float) -> dict[str, Any] | None:
    """Bounds on epsilon of the same training under another sampling scheme.

    The result is ``None`` if the plan has no sampling or already uses this scheme, or if no bound is proved.
    """
    if kind.name in {item.sampling.name for item in plan.rounds} - {NoSampling.name}:
        return None
    bound = epsilon_under(plan, kind, delta)
    return None if bound is None else dict(finite_ends(bound))


def _people(plan: Plan, delta: float, records: float) -> dict[str, Any]:
    size = domains.whole(records, "records_per_person", "most records of one person", least=1)
    bound = replace(plan, unit=USER, records_per_unit=size).epsilon(delta)
    return {"records": size, "upper": finite_ends(bound)["upper"]}


def _sentences(found: Mapping[str, Any], keys: Mapping[str, Any], steps: int) -> Iterator[str]:
    upper, delta = quoted(found["epsilon"]), exact(found["delta"])
    differ = f"where neighbouring datasets differ by {UNITS[found['adjacency']]}"
    about = f"for single records, {differ.format('one record')}"
    if "unit" in found:
        records = str(found["records_per_unit"])
        if "partitions_per_unit" in found:
            records = f"{found['partitions_per_unit']} partitions of the data, and at most {records}"
        about = f"for users with at most {records} records each, {differ.format('all records of one user')}"
    if upper == "infinite":
        yield f"The computation satisfies no differential privacy at delta = {delta} {about}."
    else:
        yield f"The computation satisfies ({upper}, {delta})-differential privacy {about}."
    if "selection" in found:
        best = found["selection"]
        shape = f", shape {exact(best['shape'])}" if best.get("shape") is not None else ""
        yield f"The best of {exact(best['mean'])} runs on average ({best['runs']}{shape}) is released."
        yield f"Each run has {_run(keys, steps)}."
    else:
        yield f"The computation has {_run(keys, steps)}."
    sampled = [text for text in found["assumptions"] if not text.startswith(f"sampling {NoSampling.name}:")]
    for text in sampled:
        assumed = re.sub(r"^sampling ([^:]*):", r"\1 sampling:", text).replace("unit user:", "that", 1)
        yield f"The guarantee assumes {assumed}."
    for text in (*weakness(found["epsilon"]["upper"], "person"), *found["warnings"]):
        yield f"Caution: {text.partition(';')[0]}."  # a remedy is for the author, not for the reader
    if found["unsampled"] is not None:
        text = (
            f"At the same delta, {_most(found['unsampled'])} without amplification by sampling (as if every batch "
            "contained every record)"
        )
        if found["shuffled"] is not None:
            text += f", and {_most(found['shuffled'])} for shuffled batches (every record in one batch of each epoch)"
        yield f"{text}."
    if found["people"] is not None:
        people = found["people"]
        yield f"For people with up to {people['records']} records each, {_most(people)} at the same delta."
    elif "unit" not in found:
        yield "The guarantee is for single records. People who contributed several records are protected less."
    published = "if no results of other runs are" if "selection" in found else "even if all intermediate results are"
    kind = {"upper bound": "proven upper bounds"}.get(found["guarantee"], f"{found['guarantee']} upper bounds")
    yield (
        f"The numbers are {kind}, computed through numerical composition by hockeystick {__version__} and rounded up. "
        f"They hold {published} published. The plan has the SHA-256 {found['plan_sha256'][:16]}..."
    )


def _most(row: Mapping[str, Any]) -> str:
    return f"epsilon {limited(row)}"


def _run(keys: Mapping[str, Any], steps: int) -> str:
    """Short description of the training: its number of steps, mechanisms and parameters."""
    rounds = keys["round"]
    said = []
    for item in rounds[:MOST_ROUNDS]:
        settings = settings_said(settings_of(item))
        if "epochs" in item:
            often = f"{item['epochs']} epochs"
        else:
            often = "once" if item["count"] == 1 else f"{item['count']} times"
        sampling = "" if "sampling" not in item else f" with {item['sampling']} sampling"
        said.append(f"{item['mechanism']}{sampling} ({cut(settings, MAX_CLAUSE)}; {often})")
    more = len(rounds) - len(said)
    if more > 0:
        said.append(f"{more} further kind{'s' if more > 1 else ''}")
    return f"{steps} step{'s' if steps != 1 else ''}: {'; '.join(said)}"


def statement_asked(plan: Plan, say: Callable[[str], None], /, delta: Any, records: Any) -> Found:
    """Answer the question of ``hockeystick statement``; the arguments are those of :func:`statement_json`."""
    found = statement_json(plan, delta, records)
    return Found(found, lambda: found, lambda: print_paragraph(found["text"]))
