"""Recompute ``truth.json`` with ``tests/oracle``: ``python -m bench.truth`` with ``tools`` and ``tests`` on the path.

Values that are there already are compared to 18 digits and kept; missing ones are added.
"""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import mpmath

import oracle
from bench.cases import TRUTH, Case, all_cases
from bench.files import write_text

AGREE = Decimal("1e-18")
DIGITS = 22


def from_oracle(case: Case) -> str:
    """The true answer to 22 digits, as a decimal string."""
    ask = oracle.delta if case.quantity == "delta" else oracle.epsilon
    return str(mpmath.nstr(ask(case.plan(), repr(case.at), digits=DIGITS), DIGITS))


def main() -> int:
    """Compute, compare, write after each."""
    held: dict[str, Any] = json.loads(TRUTH.read_text(encoding="utf-8"))
    values, wrong = held["values"], 0
    for case in all_cases():
        found = from_oracle(case)
        if case.name not in values:
            values[case.name] = {"value": found, "by": "oracle"}
            print(f"added   {case.name} {found}", flush=True)
            write_text(Path(TRUTH), json.dumps(held, indent=1) + "\n")
            continue
        kept = Decimal(values[case.name]["value"])
        agrees = abs(Decimal(found) - kept) <= AGREE * abs(kept)
        wrong += not agrees
        print(f"{'agrees ' if agrees else 'DIFFERS'} {case.name} {kept} {found}", flush=True)
    held["values"] = {case.name: values[case.name] for case in all_cases()}
    write_text(Path(TRUTH), json.dumps(held, indent=1) + "\n")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
