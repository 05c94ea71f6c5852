"""The conformance set: write it, check it, or hold dp_accounting against it; ``tests`` and ``conformance`` on the path.

``write`` makes ``conformance/cases.json`` from ``conformance_cases.py``: the certified ends of the package, rounded
outward, and what the oracle of the tests says of them. ``check`` computes every bracket again and compares. ``against
dp_accounting`` asks that package and writes the tables of ``docs/conformance.md``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections import Counter
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from pathlib import Path
from typing import Any

from conformance_cases import CASES
from conformance_truth import independent, text
from judge import VERDICTS, judged

import hockeystick as hs
from hockeystick.values.bounds import Bound

ROOT = Path(__file__).parents[1]
SET, PAGE = ROOT / "conformance" / "cases.json", ROOT / "docs" / "conformance.md"
DIGITS = 12  # of the stored ends
NARROW = Decimal("1e-6")  # relative width up to which a bracket may be wider than the stored one, as in tools/guard.py
FAR = Decimal("1.01")  # an independent upper end that is larger confirms nothing
BEGIN, END = "<!-- against: begin -->\n", "<!-- against: end -->\n"

Json = dict[str, Any]


def certified(plan: Json, question: Json) -> Bound:
    """The package's interval."""
    ((asked, at),) = question.items()
    made = hs.Plan.from_dict(plan)
    return made.epsilon(at) if asked == "epsilon_at_delta" else made.delta(at)


def outward(bound: Bound) -> tuple[str, str]:
    """The ends as decimals of twelve digits, the lower one rounded down and the upper one up."""
    ways = ((bound.lower, ROUND_FLOOR), (bound.upper, ROUND_CEILING))
    low, high = (Context(DIGITS, rounding).create_decimal(Decimal(end)) for end, rounding in ways)
    return tuple("inf" if end.is_infinite() else f"{end.normalize():g}" for end in (low, high))  # type: ignore[return-value]


def confirmed(name: str, case: Json) -> list[Json]:
    """What shares no code with the package and meets the bracket.

    Raises:
        ValueError: it does not.
    """
    found = independent(name, case)
    if found is None:
        return []
    by, (low, high) = found[0], map(text, found[1])
    lower, upper = Decimal(case["lower"]), Decimal(case["upper"])
    if not (Decimal(low) <= upper and lower <= Decimal(high) <= upper * FAR):
        raise ValueError(f"{name}: {lower} to {upper}, and by {by} {low} to {high}")
    return [{"by": by, "lower": low, "upper": high}]


def named() -> dict[str, Json]:
    """The cases by id, without answers."""
    met: Counter[str] = Counter()
    cases = {}
    for group, title, head, rounds, question in CASES:
        met[group] += 1
        cases[f"{group}-{met[group]:02}"] = {"title": title, "plan": {**head, "round": rounds}, "question": question}
    return cases


def write() -> int:
    """Compute the set."""
    lines = []
    for name, case in named().items():
        case["lower"], case["upper"] = outward(certified(case["plan"], case["question"]))
        case["checked_by"] = confirmed(name, case)
        print(name, case["lower"], case["upper"], *(item["by"] for item in case["checked_by"]), flush=True)
        keys = [f"      {json.dumps(key)}: {json.dumps(value)}" for key, value in {"id": name, **case}.items()]
        lines.append("    {\n" + ",\n".join(keys) + "\n    }")
    head = f'{{\n  "format": 1,\n  "made_by": "hockeystick {hs.__version__}",\n  "cases": [\n'
    SET.write_text(head + ",\n".join(lines) + "\n  ]\n}\n", encoding="utf-8")
    return 0


def stored() -> list[Json]:
    """The cases of the set."""
    cases: list[Json] = json.loads(SET.read_text(encoding="utf-8"))["cases"]
    return cases


def differs(case: Json) -> str | None:
    """How a stored bracket and one computed now contradict each other, if they do."""
    low, high = (Decimal(end) for end in outward(certified(case["plan"], case["question"])))
    lower, upper = Decimal(case["lower"]), Decimal(case["upper"])
    if low > upper or high < lower:
        return f"{case['id']}: stored {lower} to {upper}, now {low} to {high}"
    if low < high and high - low > max(2 * (upper - lower), NARROW * upper):
        return f"{case['id']}: twice as wide as stored, {low} to {high}"
    return None


def check() -> int:
    """Compute every bracket again, and hold the list of cases against the set."""
    cases = stored()
    told = {case["id"]: {key: case[key] for key in ("title", "plan", "question")} for case in cases}
    wrong = [f"{name}: not as in the list" for name, case in named().items() if told.get(name) != case]
    wrong += [line for case in cases if (line := differs(case)) is not None]
    print(*wrong, f"{len(cases)} cases, {len(wrong)} wrong", sep="\n")
    return 1 if wrong else 0


def factor(off: Decimal) -> str:
    """A relative distance."""
    return (
        f"{float(off):.1e}" if off < 100 else "without bound" if off.is_infinite() else f"a factor {float(1 + off):.2g}"
    )


def tables(answers: str) -> str:
    """What the page says of the answers."""
    cases = {case["id"]: case for case in stored()}
    found = judged(cases, answers.splitlines())
    lines = ["| | " + " | ".join(found) + " |", "| --- |" + " --- |" * len(found)]

    def row(title: str, cells: list[str]) -> None:
        lines.append(f"| {title} | " + " | ".join(cells) + " |")

    for kind in VERDICTS:
        of = [[off for met, off, _ in answers if met == kind] for answers in found.values()]
        row(kind, [str(len(offs)) for offs in of])
        if kind in ("wrong side", "other side"):
            row("by at most", [factor(max(offs)) if offs else "" for offs in of])
            row("median", [factor(statistics.median_high(offs)) if offs else "" for offs in of])
    times = [[float(answer["seconds"]) for _, _, answer in answers] for answers in found.values()]
    row("seconds in all", [f"{sum(each):.0f}" for each in times])
    row("slowest", [f"{max(each):.1f}" for each in times])
    lines += ["", "| case | | accountant | answer | truth | off by |", "| --- | --- | --- | --- | --- | --- |"]
    for name, answered in found.items():
        for kind, off, answer in answered:
            if kind == "wrong side":
                case = cases[answer["id"]]
                at = ", ".join(f"{key.replace('_', ' ')} {value:g}" for key, value in case["question"].items())
                truth = f"{case['lower']} to {case['upper']}"
                lines.append(
                    f"| {case['id']} | {case['title']}; {at} | {name} | {answer['value']} | {truth} | {factor(off)} |"
                )
    return "\n".join(lines) + "\n"


def against(python: str, kept: Path | None) -> int:
    """Ask dp_accounting, or take the answers that were kept, and write the page."""
    if kept is None or not kept.exists():
        peer = [python, str(ROOT / "tools" / "conformance_peer.py"), str(SET)]
        answers = subprocess.run(peer, check=True, stdout=subprocess.PIPE, text=True).stdout
        if kept is not None:
            kept.write_text(answers, encoding="utf-8")
    else:
        answers = kept.read_text(encoding="utf-8")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + tables(answers) + END + rest.partition(END)[2], encoding="utf-8")
    return 0


def main() -> int:
    """Do one of the three."""
    parser = argparse.ArgumentParser(description=__doc__)
    ways = parser.add_subparsers(dest="way", required=True)
    ways.add_parser("write")
    ways.add_parser("check")
    peer = ways.add_parser("against")
    peer.add_argument("peer", choices=["dp_accounting"])
    peer.add_argument("--python", default=sys.executable, help="an interpreter that has it")
    peer.add_argument("--answers", type=Path, help="where its answers are kept; asked only if there are none")
    given = parser.parse_args()
    return (
        against(given.python, given.answers)
        if given.way == "against"
        else {"write": write, "check": check}[given.way]()
    )


if __name__ == "__main__":
    sys.exit(main())
