"""The keys of plan files, derived from the dataclasses and used to read tables and to write the JSON Schema.

A round is one flat table that holds the keys of its mechanism and those of its sampling scheme side by side; the keys
``mechanism`` and ``sampling`` determine which. Each number is checked by the dataclass field's own
:class:`~hockeystick.values.domains.Domain`, so that a file and a constructor refuse the same values in the same words.

A table is refused for its first fault. Unknown keys are reported first, since a misspelt key also makes the intended
key missing; then the keys are checked in the order in which they are defined here. Keys of the plan itself come first,
then its rounds in their order, then the table of published claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any

from hockeystick.plan.labels import LABELS, MEANINGS, checked_label
from hockeystick.plan.labels import LONGEST as LONGEST_LABEL
from hockeystick.plan.mechanisms import Mechanism
from hockeystick.plan.mechanisms.registry import MECHANISMS
from hockeystick.plan.other_names import key_meant
from hockeystick.plan.sampling import NoSampling, Sampling
from hockeystick.plan.sampling.registry import SAMPLINGS
from hockeystick.plan.selection import LAWS, MEAN, SHAPE
from hockeystick.plan.users import PARTITIONS_PER_UNIT, RECORD, RECORDS_PER_UNIT, UNITS
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.domains import (
    AT_LEAST_ZERO,
    COUNT,
    SHOWN_LENGTH,
    TARGET_DELTA,
    AnyDomain,
    Domain,
    Names,
    choice,
    domains_of,
    listed,
    nearest,
    shown,
    unmet,
    whole_numbers,
)
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.exact import QUOTIENT, quotient, towards
from hockeystick.values.formats import FORMAT

DIALECT = "https://json-schema.org/draft/2020-12/schema"  # of the schema that is written
EPOCHS = whole_numbers().of(
    "passes over the data, instead of count: epochs * ceil(dataset_size / batch_size) rounds, or epochs * ceil(1 / "
    "sample_rate); for a partial pass, give count"
)
"""Domain of the key ``epochs``, the number of passes over the data."""

MAX_ROUNDS = 100_000
"""Largest number of round tables in a plan: with a hundred bytes each, they fill the largest file."""

ANOTHER = 0.8
"""Least similarity of a text to the name of a mechanism from which it counts as a misspelling of that name.

The different names randomized-rounding and randomized-response have the similarity 0.74.
"""

QUOTIENTS = ("sample_rate",)
"""Keys of a round whose value may be a text with a quotient, such as a batch size over a dataset size.

The quotient is rounded up, since a record that enters batches more often is protected less. The target delta may be
such a text, too, for example 1 over a dataset size; it is rounded down.
"""

NAMED = 8
"""Number of mechanisms listed in the refusal of an unknown one; the most common come first."""

_IN_ROUNDS = ("mechanism", "sampling", "count", "epochs", *LABELS)
"""Keys of a round that belong neither to its mechanism nor to its sampling scheme alone."""

_ADJACENCIES = tuple(kind.value for kind in Adjacency)
"""Values of the key ``adjacency``."""


def sampling_keys(kind: type[Sampling]) -> tuple[str, ...]:
    """Return the keys of a round that have a meaning only with this sampling scheme."""
    keys = tuple(domains_of(kind))
    return keys if kind.steps_per_epoch is Sampling.steps_per_epoch else (*keys, "epochs")


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a table.

    Attributes:
        check: function of the value and the key that returns the value in its Python type, or raises an error that
            names the key.
        schema: JSON Schema of the value.
        missing: reason for refusing a table without the key; ``None`` if it may be left out.
    """

    check: Callable[[Any, str], Any]
    schema: Mapping[str, Any]
    missing: str | None = None


def read(table: Mapping[Any, Any], keys: Mapping[str, Key], unknown: Callable[[object], str]) -> dict[str, Any]:
    """Return the values of a table in their Python types and in the order of ``keys``; absent keys stay absent.

    Args:
        table: parsed table.
        keys: keys that it may have.
        unknown: function that returns the error message for an unknown key.

    Raises:
        InvalidInputError: an unknown or missing key, or a value of the wrong type or outside its domain.
    """
    for given in table:
        if given not in keys:
            raise InvalidInputError(unknown(given), given if isinstance(given, str) else None)
    found = {}
    for name, key in keys.items():
        if name in table:
            found[name] = key.check(table[name], name)
        elif key.missing is not None:
            raise InvalidInputError(key.missing, name)
    return found


def kinds_of(item: Any) -> tuple[type[Mechanism], type[Sampling]]:
    """Return the mechanism and the sampling scheme of a parsed round.

    Raises:
        InvalidInputError: the round is not a table, or the name of its mechanism or scheme is unknown.
    """
    if not isinstance(item, dict):
        raise InvalidInputError(f"a round must be a table of keys; received {shown(item)}", "round")
    mechanism = next((kind for kind in MECHANISMS if kind.name == item.get("mechanism")), None)
    sampling = next((kind for kind in SAMPLINGS if kind.name == item.get("sampling", NoSampling.name)), None)
    if mechanism is None or sampling is None:
        raise _kind_refusal(item)
    return mechanism, sampling


@cache
def round_keys(mechanism: type[Mechanism], sampling: type[Sampling]) -> Mapping[str, Key]:
    """Return the keys of the table of a round with this mechanism and this sampling scheme."""
    default = None if sampling is not NoSampling else sampling.name
    keys = {"mechanism": _tag(mechanism.name, None), "sampling": _tag(sampling.name, default)}
    owners = (mechanism, f"mechanism {mechanism.name!r}"), (sampling, f"sampling {sampling.name!r}")
    for kind, owner in owners:
        defaults = {item.name: item.default for item in fields(kind)}  # type: ignore[arg-type]
        for name, domain in domains_of(kind).items():
            needed = f"{name} is missing; {owner} needs it ({domain.meaning})"
            given = defaults[name] is MISSING
            if name in QUOTIENTS and isinstance(domain, Domain):
                keys[name] = _quotient(domain, True, needed if given else None)
                continue
            keys[name] = _number(domain, None if given else defaults[name], needed if given else None)
    keys["count"] = _number(COUNT, 1)
    if "epochs" in sampling_keys(sampling):
        keys["epochs"] = _number(EPOCHS)
    return {**keys, **_LABEL_KEYS}


def _label(key: str) -> Key:
    """Return the key for a label, whose value is a text or a TOML date."""
    form = {"format": "date"} if key == "date" else {"maxLength": LONGEST_LABEL[key], "minLength": 1}
    return Key(checked_label, {"type": "string", "description": MEANINGS[key], **form})


_LABEL_KEYS = {key: _label(key) for key in LABELS}
"""Keys of a round for human readers."""


def _number(domain: AnyDomain, default: Any = None, missing: str | None = None) -> Key:
    """Return a key whose value lies in a domain."""
    return Key(domain.check, _with_default(domain.schema(), default), missing)


def _quotient(domain: Domain, up: bool, missing: str | None = None) -> Key:
    """Return a key whose value is a number or a text such as "1/60000" or "1%", rounded up if ``up``, else down."""

    def check(value: Any, key: str) -> float:
        found = quotient(value) if isinstance(value, str) else None
        return domain.check(value if found is None else towards(found, up), key)

    number = domain.schema()
    described = {"description": number.pop("description")} if "description" in number else {}
    text = {"type": "string", "pattern": QUOTIENT.pattern, "maxLength": SHOWN_LENGTH}
    return Key(check, {"anyOf": [number, text], **described}, missing)


def _tag(name: str, default: str | None) -> Key:
    """Return the key that names the mechanism or the scheme, whose value is checked before the other keys are known."""
    missing = f"the round is not a {name} round" if default is None else None
    return Key(lambda value, key: value, _with_default({"const": name, "type": "string"}, default), missing)


def _with_default(schema: Mapping[str, Any], default: Any) -> dict[str, Any]:
    """Return a schema with its default value; ``None`` means no default, since a file cannot hold it."""
    if default is None:
        return dict(schema)
    return {**schema, "default": list(default) if isinstance(default, tuple) else default}


def _text(value: object, key: str) -> str:
    if not isinstance(value, str):
        raise unmet(key, "must be a string", value)
    return str.__str__(value)  # the plain text of a special type, such as an enumeration


def _table(value: object, key: str) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise unmet(key, "must be a table of keys", value)
    return value


def _rounds(value: object, key: str) -> list[Any]:
    if isinstance(value, dict):
        raise InvalidInputError(
            "round must be a list of tables, written [[round]] even for a single round; received one table", key
        )
    if not isinstance(value, list):
        raise InvalidInputError(f"round must be a list of [[round]] tables; received {shown(value)}", key)
    if not value:
        raise InvalidInputError(NO_ROUNDS, key)
    if len(value) > MAX_ROUNDS:
        raise InvalidInputError(
            f"a plan may have at most {MAX_ROUNDS} [[round]] tables; received {len(value)}; give repeated rounds once, "
            "with a count",
            key,
        )
    return value


NO_ROUNDS = "the plan has no rounds; it needs at least one [[round]] table (in JSON: a list under the key 'round')"
"""Refusal of a plan without rounds."""

_CLAIMED = _number(AT_LEAST_ZERO.of("value that the source claims"))
_TEXT = Key(_text, {"type": "string"})

PUBLISHED_KEYS: Mapping[str, Key] = {
    "source": _TEXT,
    "quote": _TEXT,
    "address": _TEXT,
    "epsilon": _CLAIMED,
    "delta": _CLAIMED,
    "accountant": _TEXT,
    "note": _TEXT,
}
"""The keys of the table ``published``."""

SELECTION_KEYS: Mapping[str, Key] = {
    "runs": _number(LAWS, missing=f"runs is missing; it must be {LAWS.accepted}"),
    "mean": _number(MEAN, missing=f"mean is missing; a selection needs it ({MEAN.meaning})"),
    "shape": _number(SHAPE),
}
"""The keys of the table ``selection``."""

TABLES: Mapping[str, Mapping[str, Key]] = {"selection": SELECTION_KEYS, "published": PUBLISHED_KEYS}
"""The tables that a plan has once, in the order in which they are read."""

PLAN_KEYS: Mapping[str, Key] = {
    "adjacency": _number(Names(_ADJACENCIES, "neighbouring relation"), Adjacency.ADD_OR_REMOVE.value),
    "delta": _quotient(TARGET_DELTA, up=False),
    "round": Key(_rounds, {"type": "array", "minItems": 1, "maxItems": MAX_ROUNDS}, NO_ROUNDS),
    "unit": _number(Names(UNITS, "what is protected"), RECORD),
    "records_per_unit": _number(RECORDS_PER_UNIT),
    "partitions_per_unit": _number(PARTITIONS_PER_UNIT),
    "selection": Key(_table, {"$ref": "#/$defs/Selection"}),
    "published": Key(_table, {"$ref": "#/$defs/Published"}),
    "format": Key(
        lambda value, key: value,  # it was checked first
        {"const": FORMAT, "default": FORMAT, "description": "format of the file", "type": "integer"},
    ),
}
"""The keys of a plan; the schema of its rounds is completed by :func:`json_schema`."""


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (Draft 2020-12) of plan files, derived from the keys by which they are read.

    It states the keys, their types and their ranges. Conditions on several keys at once (a batch larger than the
    dataset) are left to the reader of the file.
    """
    kinds = [(mechanism, sampling) for mechanism in MECHANISMS for sampling in SAMPLINGS]
    tables = {f"{mechanism.__name__}{sampling.__name__}Round": _round_schema(mechanism, sampling)
              for mechanism, sampling in kinds}  # fmt: skip
    one_round = {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in tables]}
    tables["Published"] = _table_schema(
        "What a source says about the plan; never used in a computation.", PUBLISHED_KEYS
    )
    tables["Selection"] = _table_schema(
        "Only the best of a random number of runs of all rounds is released.", SELECTION_KEYS
    )
    plan = _table_schema("Rounds run on the data, under one neighbouring relation.", PLAN_KEYS)
    plan["properties"]["round"]["items"] = one_round
    plan["dependentRequired"] = {"records_per_unit": ["unit"]}
    return {"$schema": DIALECT, "title": "hockeystick plan", "$defs": tables, **plan}


def _round_schema(mechanism: type[Mechanism], sampling: type[Sampling]) -> dict[str, Any]:
    keys = round_keys(mechanism, sampling)
    either = {"not": {"required": ["count", "epochs"]}} if "epochs" in keys else {}
    table = _table_schema(f"Mechanism {mechanism.name!r}; {sampling.assumption}.", keys)
    return {**table, **sampling.key_rules, **either}


def _table_schema(meaning: str, keys: Mapping[str, Key]) -> dict[str, Any]:
    properties = {name: dict(key.schema) for name, key in keys.items()}
    required = [name for name, key in keys.items() if key.missing is not None]
    schema = {"type": "object", "description": meaning, "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def _kind_refusal(item: Mapping[Any, Any]) -> InvalidInputError:
    names = [kind.name for kind in MECHANISMS]
    few = f"{listed(names[:NAMED])}, ... (`hockeystick supported` lists all {len(names)})"
    if "mechanism" not in item:
        slips = [key for key in item if nearest(key, ["mechanism"], 0.8)]
        if slips:
            return InvalidInputError(f"unknown key {slips[0]!r}; did you mean 'mechanism'?", "mechanism")
        return InvalidInputError(f"mechanism is missing; it must be one of {few}", "mechanism")
    if item["mechanism"] not in names:
        close = nearest(item["mechanism"], names, ANOTHER)
        absent = ", which is not supported" if isinstance(item["mechanism"], str) else ""
        hint = absent if close is None else f"; did you mean {close!r}?"
        line = f"mechanism must be one of {few}; received {shown(item['mechanism'])}{hint}"
        return InvalidInputError(line, "mechanism")
    return InvalidInputError(choice("sampling", item["sampling"], [kind.name for kind in SAMPLINGS]), "sampling")


def unknown(key: object, known: Iterable[str]) -> str:
    """Return the error message for an unknown key, with the known key closest to it or else all known keys."""
    known = list(known)
    close = key_meant(key, known) or nearest(key, known)
    hint = f"the keys here are {', '.join(known)}" if close is None else f"did you mean {close!r}?"
    if key == "history":  # the state of an accountant of Opacus
        hint = "`accountant.plan.save('plan.toml')` in Python writes a plan of an accountant's steps"
    if key == "answer":
        hint = "this is an answer or a report, which `hockeystick verify` reads; its plan is under 'plan'"
    return f"unknown key {shown(key)}; {hint}"


def unknown_on_top(key: object) -> str:
    """Return the error message for an unknown key at the top level, with the table to which the key belongs."""
    parts: tuple[type[Mechanism | Sampling], ...] = (*MECHANISMS, *SAMPLINGS)
    if key in _IN_ROUNDS or any(key in domains_of(kind) for kind in parts):
        return f"key {key!r} belongs in a [[round]] table, not at the top level of the plan"
    return unknown(key, PLAN_KEYS)


def unknown_in_round(key: object, mechanism: type[Mechanism], sampling: type[Sampling]) -> str:
    """Return the error message for an unknown key in a round; it names any mechanism or scheme with that key."""
    if key in PLAN_KEYS:
        return f"key {key!r} belongs to the top level of the plan, before the first [[round]]"
    others = [kind.name for kind in MECHANISMS if key in domains_of(kind)]
    if others and key_meant(key, ("count", *domains_of(mechanism))) is None:
        meant = {name: domain.meaning for name, domain in domains_of(mechanism).items()}
        own = ", ".join(f"{name} ({meaning})" if meaning else name for name, meaning in meant.items())
        return f"key {key!r} belongs to mechanism {listed(others)}; mechanism {mechanism.name!r} has the keys {own}"
    schemes = [kind.name for kind in SAMPLINGS if key in sampling_keys(kind)]
    if schemes:
        return (
            f"key {key!r} belongs to sampling {listed(schemes)}, but this round has sampling {sampling.name!r}; "
            "change sampling or leave the key out"
        )
    return unknown(key, ["mechanism", *domains_of(mechanism), "sampling", *sampling_keys(sampling), "count", *LABELS])


def within(place: str, error: InvalidInputError) -> InvalidInputError:
    """Return an error like the given one, with the place before its message."""
    return InvalidInputError(f"{place}: {error}", error.field)
