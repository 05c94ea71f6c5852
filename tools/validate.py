"""Hold the certified bounds against a file of true values: ``make validate VALUES=path/to/values.json``.

The file holds ``{"records": [record, ...]}``; a record has the keys ``plan``, ``quantity`` (``epsilon`` or
``delta``), the other of the two, and ``value``, numbers as decimal strings. A record fails where the truth lies
outside the interval, where the interval is wider than the asked gap (by default 1e-6 where the contour engine
answered, else 1e-3), or where it took too long. With ``--proof`` the intervals are proved, the gap is 1e-6 throughout,
and ``--seconds`` are for each distinct round. Of the published methods (``--accountant NAME``) it fails only where a
bound is on the wrong side of the truth; how far off they are and where they refuse is counted.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import hockeystick as hs
from hockeystick.values.bounds import Answer

KNOWN = {mechanism.name for mechanism in (
    hs.Gaussian, hs.Laplace, hs.RandomizedResponse, hs.ApproximateDP, hs.DiscreteGaussian, hs.DiscreteLaplace
)}  # fmt: skip

GAPS = {"contour": 1e-6, "direct": 1e-6}
"""The relative gaps that are promised by engine; 1e-3 elsewhere."""

PROVED_GAP = 1e-6

SHOWN = 90  # characters of a refusal

OWN = ("auto", "contour", "grid")
"""The accountants that promise a gap."""


def check(
    record: dict[str, Any], gap: float | None, seconds: float, accountant: str, proof: bool
) -> tuple[str | None, float, float]:
    """``(what is wrong or None, relative gap or error, seconds taken)`` of one record.

    Raises:
        UnsupportedError: the accountant cannot treat the plan.
    """
    plan = hs.Plan.from_dict(record["plan"])
    started = time.perf_counter()
    found: Answer
    if record["quantity"] == "epsilon":
        found = plan.epsilon(float(record["delta"]), accountant=accountant, gap=gap, proof=proof)
    else:
        found = plan.delta(float(record["epsilon"]), accountant=accountant, gap=gap, proof=proof)
    taken = time.perf_counter() - started
    problem, width = compared(found, record["value"])
    asked = gap or (PROVED_GAP if proof else GAPS.get(found.accountant, 1e-3))
    if proof:
        taken /= len(record["plan"]["round"])
    if accountant in OWN and problem is None and width > asked:
        problem = f"relative gap {width:.2e}: {said(found)}"
    if problem is None and taken > seconds:
        problem = f"took {taken:.1f} s"
    return problem, width, taken


def compared(found: Answer, truth: str) -> tuple[str | None, float]:
    """``(what is wrong or None, relative gap of an interval, relative error of another number)``."""
    if truth == "inf":
        return (None if math.isinf(found.quoted) else "finite where the truth is infinite"), 0.0
    exact = Fraction(Decimal(truth))
    near = float(exact)
    if found.guarantee == "estimate":
        return None, abs(found.quoted / near - 1) if near else float(found.quoted > 0)
    lower = found.ends.get("lower", 0.0)
    if math.isinf(found.quoted):
        return (f"misses the truth: {said(found)}" if Fraction(lower) > exact else None), math.inf
    if not Fraction(lower) <= exact <= Fraction(found.quoted):
        return f"misses the truth: {said(found)}", math.inf
    if found.guarantee == "upper bound":
        return None, found.quoted / near - 1 if near else 0.0
    if exact == 0:
        return None, float(found.quoted > 0)
    if exact < Fraction(5e-324):
        return (None if found.quoted == 5e-324 else f"not (0, 5e-324): {said(found)}"), 0.0
    return None, found.quoted / lower - 1 if lower else 1.0


def said(found: Answer) -> str:
    """The numbers and the reason."""
    return f"{' .. '.join(map(repr, found.ends.values()))} ({found.reason})"


def main() -> int:
    """Run all records; 0 if none fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("values", type=Path)
    parser.add_argument("--gap", type=float)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--least-delta", type=float, default=1e-10)
    parser.add_argument("--accountant", default="auto")
    parser.add_argument("--proof", action="store_true", help="proved intervals")
    parser.add_argument("--trace", action="store_true", help="print each record before it is checked")
    options = parser.parse_args()
    failed = checked = 0
    refused: Counter[str] = Counter()
    widths: list[float] = []
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
        try:
            problem, width, taken = check(record, options.gap, options.seconds, options.accountant, options.proof)
        except hs.UnsupportedError as error:
            refused[str(error)[:SHOWN]] += 1
            continue
        widths.append(width)
        worst_gap, worst_time = max(worst_gap, width), max(worst_time, taken)
        if problem:
            failed += 1
            at = record.get("delta") or record.get("epsilon")
            print(
                f"FAIL {record['quantity']} at {at} = {record['value']}: {problem}\n     {json.dumps(record['plan'])}"
            )
    for reason, count in refused.most_common():
        print(f"{count} refused: {reason}")
    print(f"median relative gap or error {statistics.median(widths):.2e}" if widths else "all refused")
    print(f"{checked} checked, {failed} failed; widest relative gap {worst_gap:.2e}, slowest {worst_time:.2f} s")
    return 1 if failed or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
