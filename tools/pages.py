"""The pages of the documentation that are made from the code, written to ``docs/generated`` when Sphinx starts.

Nothing in that folder is kept in the repository, so that none of it can be out of date.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import click
import methods
import pictures
from checker_check import REFUSED, checked
from demo import PLANS, Comparison, comparisons

from hockeystick.cli import main as command
from hockeystick.plan.labels import LABELS
from hockeystick.plan.schema import json_schema
from hockeystick.report.rounding import exact
from hockeystick.report.supported import supported_markdown
from hockeystick.values.citations import Source, bibliography

WIDTH = 84
MEANINGS = {
    "round": "one `[[round]]` table for each kind of round",
    "selection": "declares that only the best of a random number of runs of all rounds is released",
    "published": "claim of a source about the plan",
    "replace_one_distance": "[under `replace-one` only](conventions.md#what-the-noise-is-relative-to)",
    "batch_size": "number of records in a batch (under `poisson`, the expected number); used with `dataset_size`",
    "dataset_size": "number of records; under `poisson`, `batch_size / dataset_size` replaces `sample_rate`",
    "source": "publication that makes the claim",
    "quote": "the source's own words",
    "address": "web address of the quotation",
    "accountant": "method by which the source computed its claim",
    "note": "any other information",
}
"""For keys whose domain does not say it all."""

TABLE_OF_KEYS = "| key | value | meaning |\n| --- | --- | --- |\n"


def supported() -> str:
    """Every combination of mechanism, sampling and direction."""
    return supported_markdown()


def accountants() -> str:
    """Every accountant by the kind of its numbers, its source and its options."""
    return methods.page()


def commands() -> str:
    """What ``--help`` prints, for the program and each of its commands."""
    top = click.Context(command, info_name="hockeystick", terminal_width=WIDTH, **command.context_settings)
    parts = [_help(command, top)]
    parts += _subcommands(command, top)
    return "\n".join(parts)


def _subcommands(group: click.Group, context: click.Context) -> list[str]:
    parts = []
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        below = click.Context(found, context, name)
        parts.append(_help(found, below))
        if isinstance(found, click.Group):
            parts += _subcommands(found, below)
    return parts


def schema() -> str:
    """The JSON Schema of plan files."""
    return json.dumps(json_schema(), indent=2) + "\n"


def keys() -> str:
    """The keys of a plan file, table by table, from the JSON Schema."""
    whole = json_schema()
    parts = ["## Top level\n\n", TABLE_OF_KEYS]
    for key, value in whole["properties"].items():
        parts.append(_key(key, value, key in whole["required"]))
    rounds = [body for name, body in whole["$defs"].items() if name not in ("Selection", "Published")]
    for tag, title in (("mechanism", "Mechanisms"), ("sampling", "Sampling schemes")):
        parts.append(f"\n## {title}: `{tag}` in a `[[round]]`\n")
        for name in dict.fromkeys(body["properties"][tag]["const"] for body in rounds):
            parts.append(f'\n### `{tag} = "{name}"`\n\n' + _own_keys(tag, name, rounds))
    parts.append("\n## In any `[[round]]`: counts and labels\n\n" + TABLE_OF_KEYS)
    parts.append(_key("count", rounds[0]["properties"]["count"], False))
    epochs = next(body["properties"]["epochs"] for body in rounds if "epochs" in body["properties"])
    parts.append(_key("epochs", epochs, False))
    parts += [_key(label, rounds[0]["properties"][label], False) for label in LABELS]
    for name in ("Selection", "Published"):
        table = whole["$defs"][name]
        parts.append(f"\n## `[{name.lower()}]`\n\n{table['description']}\n\n{TABLE_OF_KEYS}")
        needed = table.get("required", [])
        parts += [_key(key, value, key in needed) for key, value in table["properties"].items()]
    return "".join(parts)


def gallery() -> str:
    """What each source of a plan in ``examples/plans`` claims, and what is certified, with a link to its page."""
    table = "| plan | verdict for the plan's sampling | published | certified | delta | source, note, checker |\n"
    table += "| --- | --- | --- | --- | --- | --- |\n"
    for found in _compared():
        name = f"[{found.name}](generated/gallery/{found.name}.md)"
        words = "<br>".join(filter(None, (_quoted(found), _literal_text(found.note), _proof(found))))
        row = (name, found.verdict, found.claimed, found.interval, _short(found.delta), words)
        table += "| " + " | ".join(cell or "–" for cell in row) + " |\n"
    return table


def _quoted(found: Comparison) -> str:
    """The sentence of the source, if the plan has it, and the source, with a link to where it was read."""
    published = found.plan.published or {}
    source = _literal_text(published["source"])
    where = f"[{source}]({published['address']})" if "address" in published else source
    return f"“{_literal_text(published['quote'])}” {where}" if "quote" in published else where


def _proof(found: Comparison) -> str:
    return f"`{_checked()[found.name]}`" if found.name in _checked() else ""


@cache
def _checked() -> Mapping[str, str]:
    """The checker's line on each published epsilon, by the name of the plan, where it covers the plan."""
    claims = [
        (found.name, exact(found.published), exact(found.delta)) for found in _compared() if found.published is not None
    ]
    with ThreadPoolExecutor() as pool:
        said = pool.map(lambda claim: checked(PLANS / f"{claim[0]}.toml", *claim[1:]), claims)
        return {name: line for (name, _, _), (status, line) in zip(claims, said, strict=True) if status != REFUSED}


def _literal_text(text: str) -> str:
    """Text whose marks mean nothing in Markdown, with its flags as code: two dashes would be made one long one."""
    return "".join(
        f"`{part}`" if part.startswith("--") else re.sub(r"([\\`*_{}\[\]<>|$~])", r"\\\1", part)
        for part in re.split(r"(--\w[\w-]*)", text)
    )


def plan_pages() -> Mapping[str, str]:
    """The page of each plan in ``examples/plans``, by the name of its file."""
    return {f"gallery/{found.name}.md": _plan(found) for found in _compared()}


@cache
def _compared() -> Sequence[Comparison]:
    return tuple(comparisons())


def sources() -> str:
    """The bibliography, each entry with the target that citations link to."""
    return "\n".join(f"({anchor(key)})=\n**[{key}]** {_entry(source)}\n" for key, source in bibliography().items())


def citation() -> str:
    """The entry for BibTeX, from ``CITATION.cff``."""
    text = (PLANS.parents[1] / "CITATION.cff").read_text(encoding="utf-8")
    said = {
        key: re.findall(rf'^ *(?:- )?{key}: "?(.*?)"?$', text, re.MULTILINE) for key in ("title", "name", "version")
    }
    (title,), (version,) = said["title"], said["version"]
    entry = (
        f"@software{{hockeystick,\n  author  = {{{{{' and '.join(said['name'])}}}}},\n  title   = {{{title}}},\n"
        f"  version = {{{version}}},\n  license = {{Apache-2.0}}\n}}\n"
    )
    return f"```bibtex\n{entry}```\n"


def _drawn(name: str) -> str:
    return pictures.PICTURES[name]().html()


PAGES: Mapping[str, Callable[[], str]] = {
    "supported.md": supported,
    "accountants.md": accountants,
    "commands.md": commands,
    "plan.schema.json": schema,
    "keys.md": keys,
    "gallery.md": gallery,
    "bibliography.md": sources,
    "citation.md": citation,
    **{f"picture-{name}.html": partial(_drawn, name) for name in pictures.PICTURES},
}
"""All generated files by name."""


def write(folder: Path) -> None:
    """Write all pages; a file that would not change is left alone, so that Sphinx need not read it again."""
    for name, text in {**{name: page() for name, page in PAGES.items()}, **plan_pages()}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def anchor(key: str) -> str:
    """The target of the entry with that key on the page of the bibliography."""
    return f"source-{key.lower().replace('+', '-')}"


def _entry(source: Source) -> str:
    title = source.title.replace("*", "\\*")
    where = source.where.replace("*", "\\*")
    ended = "" if title.endswith("?") else "."
    told = f"{', '.join(source.authors)}. *{title}*{ended} {where}."
    if source.address is not None:
        return f"{told} [{source.identifier}]({source.address})"
    return told if source.identifier == source.where else f"{told} {source.identifier}"


def _help(found: click.Command, context: click.Context) -> str:
    path = context.command_path
    return f"## `{path}`\n\n```console\n$ {path} --help\n{found.get_help(context)}\n```\n"


def _own_keys(tag: str, name: str, rounds: list[dict[str, Any]]) -> str:
    """The keys that all rounds with this mechanism or sampling have, and not all rounds with another."""
    other = "sampling" if tag == "mechanism" else "mechanism"
    bodies = [body for body in rounds if body["properties"][tag]["const"] == name]
    common = set.intersection(*(set(body["properties"]) for body in bodies)) - {tag, other, "count", "epochs", *LABELS}
    text = bodies[0]["description"].split("; ", 1)[1] if tag == "sampling" else ""
    text = f"{text[:1].upper()}{text[1:]}\n\n" if text else ""
    if not common:
        return text + "No keys of its own.\n"
    properties = bodies[0]["properties"]
    required = bodies[0].get("required", ())
    return (
        text
        + TABLE_OF_KEYS
        + "".join(_key(key, properties[key], key in required) for key in properties if key in common)
    )


def _key(key: str, value: Mapping[str, Any], required: bool) -> str:
    form = _form(value)
    if "default" in value:
        form += f"; default `{_literal(value['default'])}`"
    elif required:
        form += "; required"
    meaning = MEANINGS.get(key, value.get("description", ""))
    return f"| `{key}` | {form} | {meaning} |\n"


def _form(value: Mapping[str, Any]) -> str:
    if "enum" in value:
        return " or ".join(f"`{_literal(item)}`" for item in value["enum"])
    if value.get("type") == "boolean":
        return "`true` or `false`"
    if "const" in value.get("anyOf", [{}])[0]:
        also, others = value["anyOf"]
        return f"{_literal(also['const'])} or {_form({'type': value['type'], **others})}"
    if "anyOf" in value:
        return f'{_form(value["anyOf"][0])}, or as a string such as "1/3"'
    if value.get("type") == "array" and not value["items"].keys() & {"$ref", "oneOf"}:
        return f"list of {value['minItems']} to {_literal(value['maxItems'])}, each: {_form(value['items'])}"
    if value.get("type") not in ("number", "integer", "string"):
        return "table" if "$ref" in value else "tables"
    words = {"number": "number", "integer": "whole number", "string": "string"}[value["type"]]
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    ranges = [f"{sign} {_literal(value[name])}" for name, sign in signs.items() if name in value]
    return ", ".join([words, *ranges])


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    return exact(value) if value < 10**6 else f"{value:.0e}".replace("e+0", "e").replace("e+", "e")


def _short(x: float) -> str:
    """To five digits."""
    return exact(float(f"{x:.5g}"))


def _plan(found: Comparison) -> str:
    text = (PLANS / f"{found.name}.toml").read_text(encoding="utf-8")
    published = tomllib.loads(text)["published"]
    said = [f"Source: {_quoted(found)}."]
    said += [
        f"{title}: {_literal_text(published[key])}."
        for key, title in (("accountant", "Accountant of the source"), ("note", "Note"))
        if key in published
    ]
    said += [f"Checker: {_proof(found)}."] if _proof(found) else []
    rows = [("published", found.claimed), ("certified", found.interval), ("verdict", found.verdict)]
    table = "".join(f"| {name} | {cell} |\n" for name, cell in rows if cell)
    drawn = pictures.privacy_curve(found)
    return (
        f"# {found.name}\n\n" + "\n\n".join(said) + "\n\n"
        f"| epsilon at delta | {_short(found.delta)} |\n| --- | --- |\n{table}\n"
        + ("" if drawn is None else f"```{{raw}} html\n{drawn.html()}```\n\n")
        + f"```text\nhockeystick epsilon examples/plans/{found.name}.toml\n"
        f"hockeystick report examples/plans/{found.name}.toml -o report.html\n```\n\n"
        f"The plan, `examples/plans/{found.name}.toml`:\n\n```toml\n{text}```\n"
    )
