"""The keys of the plan file: models made from the dataclasses, their JSON Schema, and errors put into one line.

A round is one flat table: the keys of its mechanism and those of its sampling scheme side by side. For every
combination there is one model; the tags ``mechanism`` and ``sampling`` choose it. Each number is checked by the
dataclass field's own :class:`~hockeystick.values.domains.Domain`, so that a file and a constructor refuse the same
values in the same words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, cast

from hockeystick.plan.mechanisms import MECHANISMS, Mechanism
from hockeystick.plan.sampling import SAMPLINGS, NoSampling, Sampling
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.domains import (
    AT_LEAST_ZERO,
    COUNT,
    TARGET_DELTA,
    AnyDomain,
    Domain,
    choice,
    domains_of,
    listed,
    nearest,
    shown,
    whole_numbers,
)
from hockeystick.values.errors import InvalidInputError

if TYPE_CHECKING:
    from pydantic import BaseModel

DIALECT = "https://json-schema.org/draft/2020-12/schema"  # of the schema that is written
EPOCHS = whole_numbers().of(
    "passes over the data, in place of count: epochs * ceil(dataset_size / batch_size) rounds, or epochs * ceil(1 / "
    "sample_rate)"
)
"""Domain of the key ``epochs``."""

PUBLISHED: Mapping[str, Domain | None] = {
    "source": None,
    "epsilon": AT_LEAST_ZERO.of("what the source claims"),
    "delta": AT_LEAST_ZERO.of("what the source claims"),
    "accountant": None,
    "note": None,
}
"""Keys of the table ``published``; those without a domain are strings."""

MAX_ROUNDS = 100_000
"""Most tables of rounds in a plan: with that many different ones, each of a hundred bytes, a file is at its longest."""

KEYS_READ = 100
"""Keys of a table that are looked at. No table has a fifth of that, so that a longer one has an unknown key among them,
and an unknown key is what it is refused for."""

ANOTHER = 0.8
"""How alike a mechanism's name has to be for a slip: randomized-rounding is as near as 0.74 to randomized-response."""

_TOP = ("adjacency", "delta", "round", "published")
"""Keys of a plan."""

_IN_ROUNDS = ("mechanism", "sampling", "count", "epochs")
"""Keys of a round that belong neither to its mechanism nor to its sampling scheme alone."""

_ADJACENCIES = [kind.value for kind in Adjacency]
"""What the key ``adjacency`` may be."""


def mechanism_named(name: str) -> type[Mechanism]:
    """The mechanism that plan files call ``name``."""
    return next(kind for kind in MECHANISMS if kind.name == name)


def sampling_named(name: str) -> type[Sampling]:
    """The sampling scheme that plan files call ``name``."""
    return next(kind for kind in SAMPLINGS if kind.name == name)


def sampling_keys(kind: type[Sampling]) -> tuple[str, ...]:
    """The keys of a round that only have a meaning with this sampling scheme."""
    keys = tuple(domains_of(kind))
    return keys if kind.steps_per_epoch is Sampling.steps_per_epoch else (*keys, "epochs")


def validated(data: Mapping[str, Any]) -> dict[str, Any]:
    """The plan's keys with every value in its own type; keys that were not given stay absent.

    Args:
        data: the parsed file.

    Raises:
        InvalidInputError: an unknown or missing key, or a value of the wrong type or outside its domain; one line that
            names the round and the key.
    """
    rounds = data.get("round")
    if not isinstance(rounds, list) or len(rounds) < 2:
        return _validated(data)
    others = {key: value for key, value in _first_keys(data).items() if key != "published"}
    plan = _validated({**others, "round": rounds[:1]})
    if len(rounds) > MAX_ROUNDS:
        raise InvalidInputError(
            f"the plan has {len(rounds)} tables of rounds; at most {MAX_ROUNDS} are read: give rounds that repeat "
            "once, with a count",
            "round",
        )
    for number, item in enumerate(rounds[1:], start=2):
        plan["round"] += _validated({"round": [item]}, number)["round"]
    if "published" in data:
        plan["published"] = _validated({"round": rounds[:1], "published": data["published"]})["published"]
    return plan


def _validated(data: Mapping[str, Any], number: int = 1) -> dict[str, Any]:
    """Keys of a plan with at most one round, each value in its own type; ``number`` is what errors call the round.

    pydantic finds every fault before it tells of one, at a kilobyte or more for each: it is not given many at once.
    """
    from pydantic import ValidationError

    data = {key: _first_keys(value) for key, value in _first_keys(data).items()}
    if isinstance(data.get("round"), list):
        data["round"] = [_first_keys(item) for item in data["round"]]
    try:
        plan = _given(_plan_model().model_validate(data))
    except ValidationError as error:
        raise _refusal(data, error.errors(include_url=False), number) from None
    plan["round"] = [_given(item) for item in plan["round"]]
    if "published" in plan:
        plan["published"] = _given(plan["published"])
    return plan


def _first_keys(table: Any) -> Any:
    """A table cut to the keys that are looked at, those that say what kind of table it is among them."""
    if not isinstance(table, dict) or len(table) <= KEYS_READ:
        return table
    return {key: table[key] for key in (*islice(table, KEYS_READ), "mechanism", "sampling", "round") if key in table}


def json_schema() -> dict[str, Any]:
    """The JSON Schema (Draft 2020-12) of plan files, made from the models that read them.

    It says which keys there are, their types and their ranges. What depends on the values of more than one key (a batch
    larger than the dataset) is left to the reader.
    """
    schema = cast(dict[str, Any], _without_noise(_plan_model().model_json_schema()))
    return {"$schema": DIALECT, "title": "hockeystick plan", **schema}


@cache
def _plan_model() -> type[BaseModel]:
    from pydantic import Discriminator, Field, Strict, Tag

    kinds = [
        Annotated[_round_model(mechanism, sampling), Tag(f"{mechanism.name}/{sampling.name}")]
        for mechanism in MECHANISMS
        for sampling in SAMPLINGS
    ]
    one_round = Annotated[Union[tuple(kinds)], Discriminator(_tag)]  # type: ignore[valid-type]  # noqa: UP007
    text = Annotated[str, Strict()]
    published = _model(
        "Published",
        "What a source says of the plan; never used in a computation.",
        {key: (text if domain is None else _number(key, domain), None) for key, domain in PUBLISHED.items()},
    )
    adjacency = Literal[tuple(_ADJACENCIES)]  # type: ignore[valid-type]
    described = Field(description="which datasets are neighbours")
    return _model(
        "Plan",
        "Rounds that were run on the data, under one neighbouring relation.",
        {
            "adjacency": (Annotated[adjacency, described], Adjacency.ADD_OR_REMOVE.value),
            "delta": (_number("delta", TARGET_DELTA), None),
            "round": (Annotated[list[one_round], Field(min_length=1, max_length=MAX_ROUNDS)], ...),  # type: ignore[valid-type]
            "published": (published, None),
        },
    )


def _round_model(mechanism: type[Mechanism], sampling: type[Sampling]) -> type[BaseModel]:
    keys: dict[str, Any] = {
        "mechanism": (Literal[mechanism.name], ...),
        "sampling": (Literal[sampling.name], sampling.name if sampling is NoSampling else ...),
    }
    for kind in (mechanism, sampling):
        defaults = {item.name: item.default for item in fields(kind)}  # type: ignore[arg-type]
        for key, domain in domains_of(kind).items():
            keys[key] = (_number(key, domain), ... if defaults[key] is MISSING else defaults[key])
    keys["count"] = (_number("count", COUNT), 1)
    rules = dict(sampling.key_rules)
    if "epochs" in sampling_keys(sampling):
        keys["epochs"] = (_number("epochs", EPOCHS), None)
        rules["not"] = {"required": ["count", "epochs"]}
    name = f"{mechanism.__name__}{sampling.__name__}Round"
    return _model(name, f"Mechanism {mechanism.name!r}; {sampling.assumption}.", keys, rules)


def _model(name: str, meaning: str, keys: Mapping[str, Any], rules: Mapping[str, Any] | None = None) -> type[BaseModel]:
    from pydantic import ConfigDict, create_model

    config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"description": meaning, **(rules or {})})
    return cast("type[BaseModel]", create_model(name, __config__=config, **cast(Any, keys)))


def _given(model: BaseModel) -> dict[str, Any]:
    return {key: value for key, value in model if key in model.model_fields_set}


def _number(key: str, domain: AnyDomain) -> Any:
    from pydantic import PlainValidator, WithJsonSchema

    return Annotated[Any, PlainValidator(partial(domain.check, key=key)), WithJsonSchema(domain.schema())]


def _tag(item: object) -> str | None:
    if not isinstance(item, dict):
        return None
    mechanism, sampling = item.get("mechanism"), item.get("sampling", NoSampling.name)
    return f"{mechanism}/{sampling}" if isinstance(mechanism, str) and isinstance(sampling, str) else None


def _without_noise(schema: Any) -> Any:
    """The schema without the titles and null defaults that pydantic adds: null is not a value here."""
    if isinstance(schema, list):
        return [_without_noise(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_noise(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str)) and not (key == "default" and value is None)
    }


# From pydantic's errors to one line. A plan is refused for the first of them in the order of the file; a misspelt key
# comes before the key that is missing because of it.


def _refusal(data: Mapping[str, Any], errors: Iterable[Any], number: int) -> InvalidInputError:
    error = min(errors, key=_rank)
    path = error["loc"]
    if path[:1] == ("round",) and len(path) > 1:
        return within(f"round {number}", _round_refusal(data["round"][path[1]], error))
    if path[:1] == ("published",) and len(path) > 1:
        return within("published", _key_refusal(error, path[-1], lambda key: _unknown(key, PUBLISHED)))
    if path == ("round",):
        return InvalidInputError(_rounds_wanted(data.get("round", [])), "round")
    if path == ("adjacency",):
        return InvalidInputError(choice("adjacency", data["adjacency"], _ADJACENCIES), "adjacency")
    if not path:
        return InvalidInputError(f"a plan must be a table of keys; received {shown(data)}")
    return _key_refusal(error, path[0], _unknown_on_top)


def _rank(error: Any) -> tuple[float, bool]:
    path = error["loc"]
    table = 0.0
    if len(path) > 1:
        table = math.inf if path[0] == "published" else 1.0
    return table, error["type"] != "extra_forbidden"


def _rounds_wanted(received: object) -> str:
    if isinstance(received, dict):
        return "round must be written [[round]], a list of tables, also where there is only one; received one table"
    if received == []:
        return "the plan has no rounds; it needs at least one [[round]] table (in JSON: a list under the key 'round')"
    return f"round must be a list of [[round]] tables; received {shown(received)}"


def _round_refusal(item: Any, error: Any) -> InvalidInputError:
    if not isinstance(item, dict):
        return InvalidInputError(f"a round must be a table of keys; received {shown(item)}", "round")
    if error["type"].startswith("union_tag"):
        return _tag_refusal(item)
    mechanism, sampling = mechanism_named(item["mechanism"]), sampling_named(item.get("sampling", NoSampling.name))
    key = error["loc"][-1]
    if error["type"] == "missing":
        own = domains_of(mechanism)
        owner = f"mechanism {mechanism.name!r}" if key in own else f"sampling {sampling.name!r}"
        meaning = (own if key in own else domains_of(sampling))[key].meaning
        return InvalidInputError(f"{key} is missing; {owner} needs it ({meaning})", key)
    return _key_refusal(error, key, lambda key: _unknown_in_round(key, mechanism, sampling))


def _tag_refusal(item: Mapping[Any, Any]) -> InvalidInputError:
    names = [kind.name for kind in MECHANISMS]
    if "mechanism" not in item:
        close = [key for key in item if nearest(key, ["mechanism"], 0.8)]
        if close:
            return InvalidInputError(f"unknown key {close[0]!r}; did you mean 'mechanism'?", "mechanism")
        return InvalidInputError(f"mechanism is missing; it must be one of {listed(names)}", "mechanism")
    if item["mechanism"] not in names:
        line = choice("mechanism", item["mechanism"], names, ANOTHER)
        absent = isinstance(item["mechanism"], str) and nearest(item["mechanism"], names, ANOTHER) is None
        return InvalidInputError(line + ("; that mechanism is not there" if absent else ""), "mechanism")
    return InvalidInputError(choice("sampling", item["sampling"], [kind.name for kind in SAMPLINGS]), "sampling")


def _key_refusal(error: Any, key: Any, unknown: Any) -> InvalidInputError:
    if error["type"] in ("extra_forbidden", "invalid_key"):
        return InvalidInputError(unknown(key), key if isinstance(key, str) else None)
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, InvalidInputError):
        return cause
    wanted = {"string_type": "a string", "model_type": "a table of keys"}.get(error["type"], error["msg"])
    return InvalidInputError(f"{key} must be {wanted}; received {shown(error['input'])}", key)


def _unknown(key: object, known: Iterable[str]) -> str:
    known = list(known)
    close = nearest(key, known)
    hint = f"the keys here are {', '.join(known)}" if close is None else f"did you mean {close!r}?"
    return f"unknown key {shown(key)}; {hint}"


def _unknown_on_top(key: object) -> str:
    if key in _IN_ROUNDS or any(key in domains_of(kind) for kind in (*MECHANISMS, *SAMPLINGS)):
        return f"key {key!r} belongs in a [[round]] table, not at the top level of the plan"
    return _unknown(key, _TOP)


def _unknown_in_round(key: object, mechanism: type[Mechanism], sampling: type[Sampling]) -> str:
    if key in _TOP:
        return f"key {key!r} belongs to the top level of the plan, before the first [[round]]"
    others = [kind.name for kind in MECHANISMS if key in domains_of(kind)]
    if others:
        own = ", ".join(domains_of(mechanism))
        return f"key {key!r} belongs to mechanism {listed(others)}; mechanism {mechanism.name!r} has the keys {own}"
    schemes = [kind.name for kind in SAMPLINGS if key in sampling_keys(kind)]
    if schemes:
        return (
            f"key {key!r} belongs to sampling {listed(schemes)}, and this round has sampling {sampling.name!r}; "
            "set sampling, or leave the key out"
        )
    return _unknown(key, ["mechanism", *domains_of(mechanism), "sampling", *sampling_keys(sampling), "count"])


def within(place: str, error: InvalidInputError) -> InvalidInputError:
    """An error that says the place where another one was found, before what that one says."""
    return InvalidInputError(f"{place}: {error}", error.field)
