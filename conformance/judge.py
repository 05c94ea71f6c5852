"""Hold answers of any accountant against the conformance set; the standard library alone.

    python conformance/judge.py answers.jsonl

Each line of the file is the answer to one case: {"id": "gaussian-01", "value": 4.3772}. The value may be "inf". In
place of a value, {"inexpressible": "why"} says that the accountant has no words for the plan, and {"failed": "why"}
that it gave up. "seconds", "accountant" (several in one file) and "side" ("lower": the answer is meant as a lower
bound) are optional. The exit status is 1 if any answer is on the wrong side of the truth.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

CASES = Path(__file__).with_name("cases.json")
VERDICTS = ("wrong side", "within", "other side", "infinite", "inexpressible", "failed")


def verdict(case: dict[str, Any], answer: dict[str, Any]) -> tuple[str, Decimal]:
    """One of ``VERDICTS``, and how far outside the bracket the answer is, relative to the end that it misses."""
    if "value" not in answer:
        return ("inexpressible" if "inexpressible" in answer else "failed"), Decimal(0)
    value, lower, upper = (Decimal(str(text)) for text in (answer["value"], case["lower"], case["upper"]))
    if value.is_nan():
        return "failed", Decimal(0)
    if lower <= value <= upper:
        return "within", Decimal(0)
    end = lower if value < lower else upper
    wrong = (value < lower) == (answer.get("side", "upper") == "upper")
    if value.is_infinite():
        return ("wrong side" if wrong else "infinite"), Decimal("inf")
    off = abs(value - end) / end if end and end.is_finite() else Decimal("inf")
    return ("wrong side" if wrong else "other side"), off


def judged(cases: dict[str, Any], lines: list[str]) -> dict[str, list[tuple[str, Decimal, dict[str, Any]]]]:
    """By accountant: the verdict on each of its answers, how far off, and the answer."""
    found = defaultdict(list)
    for line in filter(str.strip, lines):
        answer = json.loads(line, parse_float=Decimal)
        found[answer.get("accountant", "answers")].append((*verdict(cases[answer["id"]], answer), answer))
    return dict(found)


def main() -> int:
    """Print what is on the wrong side, and a summary."""
    parser = argparse.ArgumentParser(description="Hold the answers of an accountant against the conformance set.")
    parser.add_argument("answers", type=Path)
    cases = {case["id"]: case for case in json.loads(CASES.read_text(encoding="utf-8"))["cases"]}
    status = 0
    for name, answers in judged(cases, parser.parse_args().answers.read_text(encoding="utf-8").splitlines()).items():
        print(name, ", ".join(f"{kind} {sum(kind == found for found, _, _ in answers)}" for kind in VERDICTS))
        for kind, off, answer in answers:
            if kind == "wrong side":
                status, case = 1, cases[answer["id"]]
                where = f"truth {case['lower']} to {case['upper']}"
                print(f"  {answer['id']}: {answer['value']}, {where}, off by {off:.2g}")
    return status


if __name__ == "__main__":
    sys.exit(main())
