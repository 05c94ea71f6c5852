"""Plan files: TOML, or JSON with the same keys; a refusal is one line that names the file, the round and the key.

The keys themselves are in ``schema.py``, derived from the dataclasses. A plan that is written and read again is the
same plan: floats are written with the shortest digits that give the same double.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from hockeystick.plan.labels import LABELS
from hockeystick.plan.plan import Plan
from hockeystick.plan.round import Round
from hockeystick.plan.sampling import NoSampling
from hockeystick.plan.schema import (
    MAX_ROUNDS,
    PLAN_KEYS,
    TABLES,
    kinds_of,
    read,
    round_keys,
    unknown,
    unknown_in_round,
    unknown_on_top,
    within,
)
from hockeystick.plan.selection import BestOf
from hockeystick.plan.users import RECORD
from hockeystick.values.domains import domains_of, one_line, place, shown
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.exact import written
from hockeystick.values.files import cause, write_text
from hockeystick.values.formats import FORMAT, check_format
from hockeystick.values.outward import short_exponent

MAX_BYTES = 10_000_000
"""Largest plan that is read, in bytes. Repeated rounds take one table with a count, so real plans are far smaller."""

MAX_DOTS = 200
"""Most dots on a line of TOML: the parser's time grows with the square of the parts of a dotted key."""

MAX_MARKS = 5 * MAX_ROUNDS
"""Most dots, most opening brackets and most opening braces in a TOML file: each may be a table, a kilobyte in the
parser's memory. No round has as many as five numbers with a decimal point, or more than two brackets."""

ON_A_LINE = 8
"""Elements of a list that are written on one line of TOML."""

TOML, JSON = "TOML", "JSON"  # names of the two syntaxes
_ENDINGS = {".toml": TOML, ".json": JSON}
"""The syntax of a plan file by the ending of its name."""


def load_plan(path: str | Path) -> Plan:
    """Read a plan file.

    Args:
        path: a ``.toml`` or ``.json`` file of at most 10 MB, in UTF-8.

    Raises:
        InvalidInputError: the file cannot be read or is not a plan; the message is one line that names the file and the
            key.
    """
    syntax = _syntax_of(path)
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{place(path)}: cannot be read: {cause(error)}") from None
    return parse_plan(content, str(path), syntax)


def parse_plan(content: str | bytes, source: str, syntax: str | None = None) -> Plan:
    """Read a plan from text.

    Args:
        content: the text, or its bytes in UTF-8; at most 10 MB.
        source: name of the text in messages, such as a file name or ``<stdin>``.
        syntax: ``"TOML"`` or ``"JSON"``; by default JSON if the text begins with ``{``, else TOML.

    Raises:
        InvalidInputError: the text is not a plan; the message is one line that begins with ``source`` and names the
            round and the key.
    """
    try:
        text = _decoded(content)
        syntax = syntax or (JSON if text.lstrip().startswith("{") else TOML)
        data = parsed_json(text, "a plan") if syntax == JSON else _parsed_toml(text)
        if not isinstance(data, dict):
            raise InvalidInputError(f"a plan must be a table of keys (in JSON: an object); received {shown(data)}")
        return plan_from_dict(data)
    except InvalidInputError as error:
        raise within(place(source), error) from None


def plan_from_dict(data: Mapping[str, Any]) -> Plan:
    """Return the plan with the keys of a plan file.

    Raises:
        InvalidInputError: an invalid key or value; the message is one line that names the round and the key.

    >>> plan_from_dict({"delta": 1e-6, "round": [{"mechanism": "gaussian", "noise_multiplier": 2, "count": 1e3}]}).steps
    1000
    """
    if not isinstance(data, Mapping):
        raise InvalidInputError(f"a plan must be a table of keys; received {shown(data)}")
    check_format(data)  # first: a newer file may have keys that are unknown here
    keys = read(data, PLAN_KEYS, unknown_on_top)
    keys.pop("format", None)
    rounds = rounds_in_order(keys.pop("round"))
    for name, own in TABLES.items():
        if name in keys:
            try:
                keys[name] = read(keys[name], own, partial(unknown, known=own))
                if name == "selection":
                    keys[name] = BestOf(**keys[name])
            except InvalidInputError as error:
                raise within(name, error) from None
    best_of = keys.pop("selection", None)
    return Plan(rounds, best_of=best_of, **keys)


def rounds_in_order(items: list[Any]) -> list[Round]:
    """Return the rounds of ``[[round]]`` tables in their order, without the merging and sorting that a plan does.

    Raises:
        InvalidInputError: there is no round, or a round would be invalid in a plan file; the message is one line that
            names the round and the key.

    >>> [item.count for item in rounds_in_order([{"mechanism": "laplace", "scale": 10, "count": 2}] * 2)]
    [2, 2]
    """
    rounds = []
    for number, item in enumerate(PLAN_KEYS["round"].check(items, "round"), start=1):
        try:
            rounds.append(_round(item))
        except InvalidInputError as error:
            raise within(f"round {number}", error) from None
    return rounds


def rounds_to_dicts(rounds: Iterable[Round]) -> list[dict[str, Any]]:
    """Return the ``[[round]]`` tables of rounds, which :func:`rounds_in_order` reads."""
    return [_round_keys(item) for item in rounds]


def plan_to_dict(plan: Plan) -> dict[str, Any]:
    """Return the keys and values of the plan file.

    A round is given by its epochs if it has them, else by its count. Optional keys are left out at their default.

    >>> plan_to_dict(Plan.from_dict({"round": [{"mechanism": "laplace", "scale": 10}]}))
    {'adjacency': 'add-or-remove', 'round': [{'mechanism': 'laplace', 'scale': 10.0, 'count': 1}]}
    """
    keys: dict[str, Any] = {"adjacency": plan.adjacency.value}
    if plan.delta_target is not None:
        keys["delta"] = plan.delta_target
    if plan.unit != RECORD:
        keys |= {"unit": plan.unit, "records_per_unit": plan.records_per_unit}
    if plan.partitions_per_unit is not None:
        keys["partitions_per_unit"] = plan.partitions_per_unit
    if plan.best_of is not None:
        keys["selection"] = plan.best_of.keys()
    if plan.published is not None:
        keys["published"] = dict(plan.published)
    keys["round"] = rounds_to_dicts(plan.rounds)
    return keys


def save_plan(plan: Plan, path: str | Path) -> None:
    """Write a plan to a ``.toml`` or ``.json`` file, completely or not at all.

    See :func:`hockeystick.values.files.write_bytes`.

    Raises:
        InvalidInputError: another file name ending, a plan that could not be read again (no rounds, too many kinds of
            them, lists too long for a file, or ``published`` with keys that files do not have), or a place that
            cannot be written.
    """
    import json  # imported late: most programs only read plans, from TOML

    syntax = _syntax_of(path)
    keys = {"format": FORMAT, **plan_to_dict(plan)}
    plan_from_dict(keys)
    text = json.dumps(keys, indent=2, allow_nan=False) + "\n" if syntax == JSON else toml_text(keys)
    if syntax == TOML:
        _check_toml_size(text)
    if len(text.encode()) > MAX_BYTES:
        raise InvalidInputError(
            f"the plan would take more than {MAX_BYTES // 10**6} MB, the largest file that can be read back"
        )
    write_text(path, text)


def plan_text(plan: Plan) -> str:
    """Return the plan as TOML, as :func:`save_plan` writes it, with non-printing characters escaped.

    Raises:
        InvalidInputError: a text in ``published`` that TOML cannot hold.

    >>> print(plan_text(Plan.from_dict({"round": [{"mechanism": "laplace", "scale": 10}]})), end="")
    format = 1
    adjacency = "add-or-remove"
    <BLANKLINE>
    [[round]]
    mechanism = "laplace"
    scale = 10.0
    count = 1
    """
    return toml_text({"format": FORMAT, **plan_to_dict(plan)})


def _round(item: Any) -> Round:
    kinds = mechanism, sampling = kinds_of(item)
    keys = read(item, round_keys(*kinds), lambda key: unknown_in_round(key, *kinds))
    if "count" in keys and "epochs" in keys:
        raise InvalidInputError("give either count or epochs; received both", "epochs")
    own, chosen = ({key: keys[key] for key in domains_of(kind) if key in keys} for kind in kinds)
    rest = {key: keys[key] for key in ("count", "epochs", *LABELS) if key in keys}
    return Round(mechanism(**own), sampling(**chosen), **rest)


def _round_keys(item: Round) -> dict[str, Any]:
    keys: dict[str, Any] = {"mechanism": item.mechanism.name}
    for field in fields(item.mechanism):  # type: ignore[arg-type]
        value = getattr(item.mechanism, field.name)
        if value != field.default:
            keys[field.name] = value
    if not isinstance(item.sampling, NoSampling):
        keys |= {"sampling": item.sampling.name, **item.sampling.keys()}
    keys = {key: _listed(value) for key, value in keys.items()}
    often = {"count": item.count} if item.epochs is None else {"epochs": item.epochs}
    return {**keys, **often, **item.labels}


def _listed(value: Any) -> Any:
    """Return a value as a parsed file would have it: tuples become lists, and fractions become text."""
    if isinstance(value, Fraction):
        return written(value)
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def _syntax_of(path: str | Path) -> str:
    try:
        ending = Path(path).suffix.lower()
    except TypeError:
        raise InvalidInputError(f"the path of a plan file must be a string or a Path; received {shown(path)}") from None
    if ending not in _ENDINGS:
        report = ending in (".html", ".md")
        hint = "`hockeystick verify` reads reports" if report else "`hockeystick new` writes a first one"
        raise InvalidInputError(f"{place(path)}: the name of a plan file must end in .toml or .json; {hint}")
    return _ENDINGS[ending]


def _decoded(content: str | bytes) -> str:
    if len(content) > MAX_BYTES:
        raise InvalidInputError(f"larger than {MAX_BYTES // 10**6} MB; give repeated rounds once, with a count")
    if isinstance(content, str):
        return content
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"byte 0x{content[error.start]:02x} at position {error.start}"
        raise InvalidInputError(f"not UTF-8 text ({where}); save it as UTF-8") from None


def _parsed_toml(text: str) -> Any:
    import tomllib  # late: most programs that import the library read no file

    _check_toml_size(text)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InvalidInputError("not a plan: tables or lists nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, or a number of thousands of digits
        raise InvalidInputError(f"not valid TOML: {one_line(str(error))}; `hockeystick new` writes a plan") from None


def _check_toml_size(text: str) -> None:
    """Refuse text for which the TOML parser, which keeps a kilobyte for each table, would need gigabytes or minutes.

    Raises:
        InvalidInputError: more dots, brackets or braces than a plan of MAX_ROUNDS rounds has.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > MAX_DOTS:
            raise InvalidInputError(f"line {number} has more than {MAX_DOTS} dots, the limit for a plan; break it up")
    for mark in ".[{":
        if text.count(mark) > MAX_MARKS:
            raise InvalidInputError(
                f"a plan may contain {mark!r} at most {MAX_MARKS} times, enough for {MAX_ROUNDS} rounds; received "
                f"{text.count(mark)}; give repeated rounds once, with a count"
            )


def parsed_json(text: str | bytes, what: str, whole: Callable[[str], int] = int) -> Any:
    """Return the value that a text in JSON denotes; ``what`` names the expected content in a message.

    ``whole`` reads the digits of a whole number.

    Raises:
        InvalidInputError: the text is not JSON, is nested too deeply, or has a key twice in one object.
    """
    import json

    try:
        return json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant, parse_int=whole)
    except RecursionError:
        raise InvalidInputError(f"not {what}: objects or lists nested too deeply") from None
    except InvalidInputError:
        raise
    except ValueError as error:  # JSONDecodeError, or a number of thousands of digits
        raise InvalidInputError(f"not valid JSON: {one_line(str(error))}") from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise InvalidInputError(f"key {shown(key)} is given twice in one object; give it once", key)
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise InvalidInputError(f"not valid JSON: {name} is not a JSON number; every number is finite")


def toml_text(keys: Mapping[str, Any]) -> str:
    """Return a plan's keys and values as TOML: scalars, lists, tables, and the list of tables ``round``."""
    named = {key: value for key, value in keys.items() if isinstance(value, Mapping)}
    lines = [f"{key} = {_toml_value(value)}" for key, value in keys.items() if key != "round" and key not in named]
    tables = [(f"[{name}]", table) for name, table in named.items()]
    tables += [("[[round]]", item) for item in keys["round"]]
    for header, table in tables:
        lines += ["", header, *(f"{key} = {_toml_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _toml_value(value: str | float | list[Any]) -> str:
    if isinstance(value, list):
        items = [_toml_value(item) for item in value]
        on_a_line = 1 if any(isinstance(item, list) for item in value) else ON_A_LINE
        if len(items) <= on_a_line:
            return f"[{', '.join(items)}]"
        lines = (", ".join(items[first : first + on_a_line]) for first in range(0, len(items), on_a_line))
        return "[\n" + "".join(f"    {line},\n" for line in lines) + "]"
    if isinstance(value, str):
        return '"' + "".join(_toml_character(character) for character in value) + '"'
    # not the repr of a NumPy number, which names its type
    return int.__repr__(value) if isinstance(value, int) else short_exponent(float.__repr__(value))


def _toml_character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if 0xD800 <= ord(character) < 0xE000:
        raise InvalidInputError(
            f"published: a string contains an unpaired surrogate, {character!r}, which TOML cannot represent"
        )
    return character if character.isprintable() else f"\\U{ord(character):08x}"
