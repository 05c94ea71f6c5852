"""Hold the certified bounds against a file of true values: ``make validate VALUES=path/to/values.json``.

The file holds ``{"records": [record, ...]}``; a record has the keys ``plan``, ``quantity`` (``epsilon`` or
``delta``), the other of the two, and ``value``, numbers as decimal strings. A record fails where the truth lies
outside the interval, where the interval is wider than the asked gap (by default 1e-6 where the contour engine
answered, else 1e-3), or where it took too long.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import hockeystick as hs

KNOWN = {mechanism.name for mechanism in (hs.Gaussian, hs.Laplace, hs.RandomizedResponse, hs.ApproximateDP)}

GAPS = {"contour": 1e-6, "direct": 1e-6}
"""The relative gaps that are promised by engine; 1e-3 elsewhere."""


def check(
    record: dict[str, Any], gap: float | None, seconds: float, accountant: str
) -> tuple[str | None, float, float]:
    """``(what is wrong or None, relative gap, seconds taken)`` of one record."""
    plan = hs.Plan.from_dict(record["plan"])
    started = time.perf_counter()
    if record["quantity"] == "epsilon":
        bound: hs.Bound | hs.UpperBound = plan.epsilon(float(record["delta"]), accountant=accountant, gap=gap)
    else:
        bound = plan.delta(float(record["epsilon"]), accountant=accountant, gap=gap)
    taken = time.perf_counter() - started
    truth = record["value"]
    if truth == "inf":
        return (None if math.isinf(bound.upper) else "finite where the truth is infinite"), 0.0, taken
    if math.isinf(bound.upper):
        return f"infinite: {bound.reason}", 1.0, taken
    exact = Fraction(Decimal(truth))
    lower = bound.ends.get("lower", 0.0)
    problem = None
    if exact == 0:
        if bound.upper != 0 and bound.guarantee != "upper bound":
            problem = f"not 0: {lower!r} .. {bound.upper!r}"
    elif exact < Fraction(5e-324):
        problem = None if lower == 0 and bound.upper == 5e-324 else f"not (0, 5e-324): {lower!r} .. {bound.upper!r}"
        exact = Fraction(0)
    elif not Fraction(lower) <= exact <= Fraction(bound.upper):
        problem = f"misses the truth: {lower!r} .. {bound.upper!r}"
    width = bound.upper / lower - 1 if exact and lower else float(exact > 0)
    asked = gap or GAPS.get(bound.accountant, 1e-3)
    if bound.guarantee == "upper bound":
        width, asked = (bound.upper / float(exact) - 1 if exact else 0.0), math.inf
    if problem is None and width > asked:
        problem = f"relative gap {width:.2e}: {lower!r} .. {bound.upper!r} ({bound.reason})"
    if problem is None and taken > seconds:
        problem = f"took {taken:.1f} s"
    return problem, width, taken


def main() -> int:
    """Run all records; 0 if none fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("values", type=Path)
    parser.add_argument("--gap", type=float)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--least-delta", type=float, default=1e-10)
    parser.add_argument("--accountant", default="auto")
    parser.add_argument("--trace", action="store_true", help="print each record before it is checked")
    options = parser.parse_args()
    failed = checked = 0
    worst_gap = worst_time = 0.0
    for record in json.loads(options.values.read_text())["records"]:
        if any(part["mechanism"] not in KNOWN for part in record["plan"]["round"]):
            continue
        depth = Decimal(record["delta"] if record["quantity"] == "epsilon" else record["value"])
        if 0 < depth < Decimal(options.least_delta):
            continue
        checked += 1
        if options.trace:
            print(json.dumps(record), flush=True)
        problem, width, taken = check(record, options.gap, options.seconds, options.accountant)
        worst_gap, worst_time = max(worst_gap, width), max(worst_time, taken)
        if problem:
            failed += 1
            at = record.get("delta") or record.get("epsilon")
            print(
                f"FAIL {record['quantity']} at {at} = {record['value']}: {problem}\n     {json.dumps(record['plan'])}"
            )
    print(f"{checked} checked, {failed} failed; widest relative gap {worst_gap:.2e}, slowest {worst_time:.2f} s")
    return 1 if failed or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
