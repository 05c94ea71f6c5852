"""The checker against exact rationals, mpmath and enumeration; and each of its roundings, sides and cuts turned round.

Every check takes a module, so that it runs on the file and on mutants of it: a mutant that no check notices fails.
"""

from __future__ import annotations

import ast
import itertools
import json
import math
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import mpmath as mp
import pytest

import hockeystick as hs
from hockeystick.directions import certified
from hockeystick.engines.auto import AutoEngine
from hockeystick.engines.core.rounds import intervals
from hockeystick.engines.direct import DirectEngine
from hockeystick.report.document.checker import checked
from hockeystick.report.document.envelope import sealed
from hockeystick.report.document.files import report_text
from hockeystick.report.document.made import made
from hockeystick.report.document.record import report_record
from hockeystick.report.rounding import round_up
from hockeystick.values.interval import Interval

ROOT = Path(__file__).parents[1]
FILE = ROOT / "checker" / "hockeystick_check.py"
SOURCE = FILE.read_text(encoding="utf-8")
MOST_LINES, MOST_CHARACTERS = 611, 100
ALLOWED = {"isqrt", "gcd", "comb"}  # of math, outside of functions that guess
mp.mp.dps = 90


def module_of(source: str) -> Any:
    """The checker, or a mutant of it, as a module of its own."""
    module = ModuleType("hockeystick_check")
    exec(compile(source, str(FILE), "exec"), module.__dict__)  # noqa: S102
    return module


@cache
def checker() -> Any:
    return module_of(SOURCE)


def test_it_is_one_file_of_few_lines_for_python_3_9() -> None:
    assert len(SOURCE.splitlines()) <= MOST_LINES
    assert max(map(len, SOURCE.splitlines())) <= MOST_CHARACTERS
    ast.parse(SOURCE, feature_version=(3, 9))


def test_it_imports_the_standard_library_alone() -> None:
    nodes = list(ast.walk(ast.parse(SOURCE)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    assert names
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names
    assert not {"importlib", "ctypes", "subprocess", "random", "statistics"} & set(names)


def floats_in(source: str) -> list[str]:
    """Where a float could decide: outside of functions whose name begins with guess_."""
    found = []

    def look(node: ast.AST) -> None:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("guess_"):
            return
        if isinstance(node, ast.Constant) and isinstance(node.value, float | complex):
            found.append(f"line {node.lineno}: {node.value!r}")
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div):
            found.append(f"line {node.lineno}: true division")
        if isinstance(node, ast.Name) and node.id in {"float", "complex", "eval", "exec", "__import__", "getattr"}:
            found.append(f"line {node.lineno}: {node.id}")
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "math"
            and node.attr not in ALLOWED
        ):
            found.append(f"line {node.lineno}: math.{node.attr}")
        if isinstance(node, ast.ImportFrom) and node.module == "math":
            found.append(f"line {node.lineno}: from math import")
        for child in ast.iter_child_nodes(node):
            look(child)

    look(ast.parse(source))
    return found


def test_no_float_decides() -> None:
    assert not floats_in(SOURCE)
    for bad in ("x = 0.5", "x = float(1)", "x = a / b", "import math\nmath.exp(1)", "from math import exp", "x /= 2"):
        assert floats_in(bad)
    assert not floats_in("def guess_it(x):\n    return 0.5 * x / 2")


# ---- what is computed, against mpmath


def inside(module: Any, found: Any, true: Any, width: int = 1 << 60) -> None:
    """A Real holds a number, and is narrow."""
    assert found.lo <= true * module.ONE <= found.hi, (found.lo, found.hi, true)
    assert found.hi - found.lo <= width


def check_elementary(module: Any) -> None:
    draw = random.Random(1)
    one = module.ONE
    for _ in range(200):
        x = draw.randrange(-40 * one, 40 * one) >> draw.randrange(60)
        true = mp.exp(mp.mpf(x) / one)
        assert module.exp_end(x, False) <= true * one <= module.exp_end(x, True)
        assert module.exp_end(x, True) - module.exp_end(x, False) <= max(true, 1) * 2**30
        y = draw.randrange(1, one) << draw.randrange(30) >> draw.randrange(80)
        if y:
            assert module.log_end(y, False) <= mp.log(mp.mpf(y) / one) * one <= module.log_end(y, True)
            assert module.log_end(y, True) - module.log_end(y, False) <= 1 << 44
            assert module.log(module.Real(y, y)).lo < module.log(module.Real(y, y)).hi
    for _ in range(60):
        x = draw.randrange(-16 * one, 16 * one) >> draw.randrange(20)
        inside(module, module.normal(module.Real(x, x)), mp.ncdf(mp.mpf(x) / one), 1 << 26)
        z = module.Real(x, x + (one >> 100))
        wide = module.normal(z)
        assert wide.lo <= mp.ncdf(mp.mpf(z.lo) / one) * one
        assert wide.hi >= mp.ncdf(mp.mpf(z.hi) / one) * one
    far = module.normal(module.Real(-20 * one, -20 * one))
    assert far.lo == 0 < far.hi < one >> 176


def check_reals(module: Any) -> None:
    """Ends of sums, products and quotients against fractions: the last unit counts."""
    draw = random.Random(2)
    for _ in range(300):
        a, b, c, d = (draw.randrange(-(1 << 210), 1 << 210) for _ in range(4))
        x, y = module.Real(min(a, b), max(a, b)), module.Real(min(c, d), max(c, d))
        for i, j in itertools.product((x.lo, x.hi), (y.lo, y.hi)):
            assert (x + y).lo <= i + j <= (x + y).hi
            assert (x - y).lo <= i - j <= (x - y).hi
            assert (x * y).lo <= Fraction(i * j, module.ONE) <= (x * y).hi
            over = module.Real(abs(y.lo) + 1, abs(y.lo) + abs(y.hi) + 1)
            quotient = x.over(over)
            for k in (over.lo, over.hi):
                assert quotient.lo <= Fraction(i * module.ONE, k) <= quotient.hi
        r = Fraction(a, abs(c) + 1)
        assert module.real(r).lo <= r * module.ONE <= module.real(r).hi


def check_products(module: Any) -> None:
    """Few digits, so that roundings show: tails of sums are not below the exact ones above, nor above them below."""
    draw = random.Random(3)
    for _ in range(60):
        unit, cut = 10**3, draw.choice([0, 5])
        laws = [
            module.Law(4, {i: draw.randrange(60) for i in range(low, low + draw.randrange(2, 9))}, draw.randrange(9))
            for low in (draw.randrange(-9, 9), draw.randrange(-9, 9))
        ]
        exact: dict[int, Fraction] = {}
        for (i, a), (j, b) in itertools.product(laws[0].masses.items(), laws[1].masses.items()):
            exact[i + j] = exact.get(i + j, Fraction(0)) + Fraction(a * b, unit)
        lost = laws[0].infinite + laws[1].infinite - Fraction(laws[0].infinite * laws[1].infinite, unit)
        above, below = (module.times(*laws, unit, cut, up) for up in (True, False))
        for i in exact:
            true = sum(m for j, m in exact.items() if j >= i)
            assert sum(m for j, m in above.masses.items() if j >= i) + above.infinite >= true + lost
            assert sum(m for j, m in below.masses.items() if j >= i) <= true
        assert sum(above.masses.values()) + above.infinite <= sum(exact.values()) + lost + len(exact)
        assert sum(below.masses.values()) >= sum(exact.values()) - len(exact) - 2 * cut
        wider = module.coarser(laws[0])
        fine = mp.mpf(1) / 2**4
        for c in range(-12, 20):  # deltas at all thresholds, which lemma 1 does not lower
            threshold = mp.exp(c * fine / 2)
            before, after = (
                sum(m * max(0, 1 - threshold * mp.exp(-i * mp.mpf(2) ** -law.n)) for i, m in law.masses.items())
                for law in (laws[0], wider)
            )
            assert after >= before - mp.mpf(10) ** -50
        assert sum(wider.masses.values()) <= sum(laws[0].masses.values()) + len(laws[0].masses)


# ---- whole plans, against enumeration

G, L = mp.mpf("0.3"), mp.mpf("0.2")


def two_sided(e: Any, lost: Any = 0) -> list[tuple[Any, Any]]:
    """The worst pair of an (epsilon, delta) guarantee."""
    high = (1 - mp.mpf(lost)) / (1 + mp.exp(-e))
    low = (1 - mp.mpf(lost)) - high
    return [(high, low), (low, high)] + ([(mp.mpf(lost), mp.mpf(0)), (mp.mpf(0), mp.mpf(lost))] if lost else [])


def on_integers(weight: Callable[[int], Any], distance: int, most: int) -> list[tuple[Any, Any]]:
    """A law on the integers at two places; most: where weights are below 1e-60."""
    total = sum(weight(x) for x in range(-most, most + 1))
    return [(weight(x - distance) / total, weight(x) / total) for x in range(-most, most + distance + 1)]


CASES: dict[str, tuple[dict[str, Any], list[tuple[Any, Any]]]] = {
    "response": ({"mechanism": "randomized-response", "epsilon": Fraction(3, 10)}, two_sided(G)),
    "approximate-dp": (
        {"mechanism": "approximate-dp", "epsilon": Fraction(3, 10), "delta": Fraction(1, 100)},
        two_sided(G, mp.mpf(1) / 100),
    ),
    "categories": (
        {"mechanism": "randomized-response", "epsilon": Fraction(3, 10), "categories": 5},
        [(p / (mp.exp(G) + 4), q / (mp.exp(G) + 4)) for p, q in [(mp.exp(G), 1), (1, mp.exp(G)), (3, 3)]],
    ),
    "pmf": (
        {"mechanism": "pmf", "p": ["1/2", "3/10", "1/5", 0], "q": ["1/4", "1/2", 0, "1/4"]},
        [(mp.mpf(a), mp.mpf(b)) for a, b in [("0.5", "0.25"), ("0.3", "0.5"), ("0.2", 0), (0, "0.25")]],
    ),
    "discrete-laplace": (
        {"mechanism": "discrete-laplace", "scale": 5, "sensitivity": 2},
        on_integers(lambda x: mp.exp(-abs(x) * L), 2, 700),
    ),
    "discrete-gaussian": (
        {"mechanism": "discrete-gaussian", "noise_multiplier": Fraction(3, 2), "sensitivity": 2},
        on_integers(lambda x: mp.exp(-mp.mpf(x * x) / 18), 2, 60),
    ),
}
SAMPLES: dict[str, dict[str, Any]] = {"whole": {}, "sampled": {"sampling": "poisson", "sample_rate": Fraction(1, 4)}}
EPSILONS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 4))


def gathered(outcomes: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Outcomes of nearly one ratio counted as one, which changes no delta, so that products stay short."""
    found: dict[str, tuple[Any, Any]] = {}
    for p, q in outcomes:
        key = mp.nstr(q / p, 40) if p else "none"
        a, b = found.get(key, (mp.mpf(0), mp.mpf(0)))
        found[key] = a + p, b + q
    return list(found.values())


def enumerated(outcomes: list[tuple[Any, Any]], rate: Any, added: bool, rounds: int, epsilon: Fraction) -> Any:
    """Delta by the definition: the sum of max(0, P - e^epsilon Q) over all outcomes of all rounds."""
    mixed = [(rate * p + (1 - rate) * q, q) for p, q in outcomes]
    mixed = gathered([(q, p) for p, q in mixed] if added else mixed)
    together = [(mp.mpf(1), mp.mpf(1))]
    for _ in range(rounds):
        together = gathered([(a * p, b * q) for a, b in together for p, q in mixed])
    factor = mp.exp(mp.mpf(epsilon.numerator) / epsilon.denominator)
    return sum(max(mp.mpf(0), p - factor * q) for p, q in together)


def check_ends(module: Any, plan: dict[str, Any], added: bool, n: int, delta_at: Callable[[Any], Any]) -> None:
    """At the true delta of an epsilon the lower end is not above it, and the upper end not below it but near."""
    rounds, _ = module.rounds_of(plan)
    laws = [module.composed(rounds, added, Fraction(1, 10**8), Fraction(0), n, up) for up in (False, True)]
    for epsilon in EPSILONS:
        delta = delta_at(epsilon)
        if (
            delta - delta_at(epsilon + Fraction(1, 100)) < mp.mpf(10) ** -7
        ):  # no loss is here, and other epsilons have it
            continue
        told = Fraction(mp.nstr(delta, 60))
        low, high = (
            module.epsilon_end(law, told, unit, up) for (law, unit), up in zip(laws, (False, True), strict=True)
        )
        slip = Fraction(1, 10**40)  # of the digits of delta
        assert low - slip <= epsilon <= high + slip, (plan, added, epsilon, float(low), float(high))
        # cuts are a 2^-20th of 1e-8: what steps cost is of second order, at kinks of first
        assert high - epsilon <= Fraction(4 * rounds[0].count, 2**n), (plan, added, epsilon, float(high))


def exact(x: Fraction) -> Any:
    return mp.mpf(x.numerator) / x.denominator


def check_enumerated(module: Any) -> None:
    for (keys, outcomes), extra, rounds in itertools.product(CASES.values(), SAMPLES.values(), (1, 3)):
        if rounds == 3 and len(outcomes) > 60:
            continue
        rate = mp.mpf(1) / 4 if extra else mp.mpf(1)
        plan = {"round": [{**keys, **extra, "count": rounds}]}
        for added in (False, True):
            check_ends(module, plan, added, 9, partial(enumerated, outcomes, rate, added, rounds))


def gaussian_delta(mu: Any, epsilon: Any) -> Any:
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def laplace_delta(e: Any, epsilon: Any) -> Any:
    return 1 - mp.exp((epsilon - e) / 2) if epsilon < e else mp.mpf(0)


def sampled_delta(curve: Callable[[Any], Any], rate: Any, added: bool, epsilon: Any) -> Any:
    """The sampled pair's delta from the curve of a pair that is its own mirror image, at one epsilon above 0.

    Removed: rate times delta at log(1 + (e^epsilon - 1) / rate). Added: H_b(Q || P) = 1 - b + b H_(1/b)(P || Q).
    """

    def removed(b: Any) -> Any:  # H_b of the mixture against Q, for every b > 0
        x = 1 + (b - 1) / rate
        if x <= 0:
            return 1 - b
        one = curve(mp.log(x)) if x >= 1 else 1 - x + x * curve(-mp.log(x))
        return rate * one

    b = mp.exp(epsilon)
    return 1 - b + b * removed(1 / b) if added else removed(b)


CLOSED: dict[str, tuple[dict[str, Any], Callable[[Any], Any], Any, bool]] = {
    "gaussian": ({"mechanism": "gaussian", "noise_multiplier": 2, "count": 4}, lambda e: gaussian_delta(1, e), 1, True),
    "gdp": ({"mechanism": "gdp", "mu": Fraction(3, 4)}, lambda e: gaussian_delta(mp.mpf(3) / 4, e), 1, True),
    "laplace": ({"mechanism": "laplace", "scale": 2}, lambda e: laplace_delta(mp.mpf(1) / 2, e), 1, True),
    "sampled gaussian": (
        {"mechanism": "gaussian", "noise_multiplier": 1, "sampling": "poisson", "sample_rate": Fraction(1, 5)},
        lambda e: gaussian_delta(1, e), mp.mpf(1) / 5, True,
    ),
    "sampled laplace": (
        {"mechanism": "laplace", "scale": 1, "sampling": "poisson", "sample_rate": Fraction(1, 5)},
        lambda e: laplace_delta(mp.mpf(1), e), mp.mpf(1) / 5, True,
    ),
    "fixed batches": (  # the sum moves by 2
        {"mechanism": "gaussian", "noise_multiplier": 2, "sampling": "without-replacement",
         "batch_size": 20, "dataset_size": 100},
        lambda e: gaussian_delta(1, e), mp.mpf(1) / 5, True,
    ),
    "replaced": ({"mechanism": "gaussian", "noise_multiplier": 2}, lambda e: gaussian_delta(1, e), 1, False),
    "replaced at 1": (
        {"mechanism": "laplace", "scale": 2, "replace_one_distance": 1},
        lambda e: laplace_delta(mp.mpf(1) / 2, e), 1, False,
    ),
}  # fmt: skip


def check_closed_forms(module: Any) -> None:
    for keys, curve, rate, one_record in CLOSED.values():
        plan = {"adjacency": "add-or-remove" if one_record else "replace-one", "round": [keys]}
        _, directions = module.rounds_of(plan)
        assert list(directions) == ([False, True] if one_record else [False])
        for added in directions:
            check_ends(module, plan, added, 7, partial(closed, curve, rate, added))


def closed(curve: Callable[[Any], Any], rate: Any, added: bool, epsilon: Fraction) -> Any:
    return sampled_delta(curve, rate, added, exact(epsilon)) if rate != 1 else curve(exact(epsilon))


def check_truncation(module: Any) -> None:
    """What is in no cell is infinite: cells of three quarters of the mass leave one quarter."""
    part = module.real(Fraction(3, 8))
    q = part * module.exp(module.Real(-(module.ONE >> 3), -(module.ONE >> 3)))
    law = module.law_of([(0, 1, part, q)] * 2, 2, 10**9, True)
    assert law.infinite >= 250_000_000
    assert sum(law.masses.values()) >= 750_000_000


def check_verdicts(module: Any) -> None:
    """Against what the file decides: true claims within 1e-3 are proved, claims that are 1 % too low are not."""

    def status(plan: dict[str, Any], epsilon: Fraction, delta: Fraction) -> int:
        rounds, directions = module.rounds_of(plan)
        return int(module.judged(rounds, directions, [(epsilon, delta)]))

    pure = {"round": [{"mechanism": "laplace", "scale": 10, "count": 3}]}
    assert status(pure, Fraction(3, 10), Fraction(0)) == 0
    assert status(pure, Fraction(299, 1000), Fraction(0)) == 3
    assert status(pure, Fraction(3, 10), Fraction(1, 10**100)) == 0
    for epsilon, delta in ((Fraction(1), Fraction(1, 10**100)), (Fraction(10**12), Fraction(0))):
        with suppress(module.Stop):  # beyond its precision; and infinity is not below any number
            assert status({"round": [{"mechanism": "gdp", "mu": 3}]}, epsilon, delta) not in (0, 3)
    both = {"round": [{"mechanism": "randomized-response", "epsilon": Fraction(3, 10),
                       "sampling": "poisson", "sample_rate": Fraction(1, 4)}]}  # fmt: skip
    up, down = (s * mp.log(1 + (mp.exp(s * mp.mpf("0.3")) - 1) / 4) for s in (1, -1))
    assert down < up  # removing a record is the worse direction
    assert status(both, Fraction(mp.nstr(up, 20)) + Fraction(1, 10**9), Fraction(0)) == 0
    assert status(both, Fraction(mp.nstr(down, 20)) + Fraction(1, 10**9), Fraction(0)) == 3
    added = {"adjacency": "add", **both}
    assert module.rounds_of(added)[1] == (True,)
    assert status(added, Fraction(mp.nstr(down, 20)) + Fraction(1, 10**9), Fraction(0)) == 0
    assert status(added, Fraction(mp.nstr(down, 20)) - Fraction(1, 10**9), Fraction(0)) == 3
    # Gaussian, noise 2, 4 rounds: mu = 1; delta at epsilon by the closed form
    plan = {"round": [{"mechanism": "gaussian", "noise_multiplier": 2, "count": 4}]}
    delta = Fraction(1, 10**5)
    true = Fraction(mp.nstr(mp.findroot(lambda e: gaussian_delta(1, e) - mp.mpf(1) / 10**5, 4), 30))
    assert status(plan, true * Fraction(1001, 1000), delta) == 0
    assert status(plan, true * Fraction(999, 1000), delta) == 3


CHECKS: dict[str, Callable[[Any], None]] = {
    "elementary": check_elementary,
    "reals": check_reals,
    "products": check_products,
    "truncation": check_truncation,
    "closed forms": check_closed_forms,
    "verdicts": check_verdicts,
    "enumerated": check_enumerated,
}


@pytest.mark.parametrize("name", CHECKS)
def test_what_it_computes(name: str) -> None:
    CHECKS[name](checker())


MUTANTS = [
    ("elementary", "80 if up else -80", "-80 if up else 80"),
    ("elementary", "quotient(total * total, ONE, up)", "quotient(total * total, ONE, not up)"),
    ("elementary", "LOG2.hi if (e > 0) == up else LOG2.lo", "(LOG2.hi if (e > 0) == up else LOG2.lo) + (1 << 150)"),
    ("elementary", "Real(2 * total, 2 * total + 200)", "Real(2 * total, 2 * total)"),
    ("elementary", "LOG2 = log_part(ONE // 3)", "LOG2 = log_part(ONE // 3 + (1 << 100))"),
    ("elementary", "PI = 3141592653589793", "PI = 3141592653589794"),
    ("elementary", "lambda x: Real(end(x.lo, DOWN), end(x.hi, UP))", "lambda x: Real(end(x.lo, DOWN), end(x.lo, UP))"),
    ("elementary", "return ONE if up else normal_end(FAR, DOWN)", "return ONE"),
    ("elementary", "term = quotient(term * square, n * ONE, up)", "term = quotient(term * square, n * ONE, not up)"),
    ("elementary", "quotient(x * x, 2 * ONE, not up), not up)", "quotient(x * x, 2 * ONE, not up), up)"),
    ("elementary", "return ONE - normal_end(-x, not up)", "return ONE - normal_end(-x, up)"),
    ("elementary", "range(3, 129, 2)", "range(3, 99, 2)"),
    (
        "reals",
        "return Real(min(ends) >> BITS, -(-max(ends) >> BITS))",
        "return Real(min(ends) >> BITS, max(ends) >> BITS)",
    ),
    ("reals", "max(-(-a // b) for a, b in ends)", "max(a // b for a, b in ends)"),
    ("reals", "Real(self.lo - other.hi, self.hi - other.lo)", "Real(self.lo - other.lo, self.hi - other.hi)"),
    ("reals", "x.denominator, up) for up in (DOWN, UP)", "x.denominator, up) for up in (DOWN, DOWN)"),
    ("products", "quotient(m, unit, up) for m in masses", "quotient(m, unit, DOWN) for m in masses"),
    ("products", "quotient(m, unit, up) for m in masses", "quotient(m, unit, UP) for m in masses"),
    ("products", "x + y - x * y // unit + sum(masses[end:])", "x + y - x * y // unit"),
    ("products", "x + y - x * y // unit + sum(masses[end:])", "x + sum(masses[end:])"),
    ("products", "sum(masses[:first]) if up else 0", "0"),
    ("products", "sum(mass <= cut for mass in itertools.accumulate(masses[::-1]))", "2"),
    ("products", "zip((i >> 1, (i >> 1) + 1), shares)", "zip(((i >> 1) + 1, i >> 1), shares)"),
    ("products", "zip((i >> 1, (i >> 1) + 1), shares)", "zip((i >> 1, (i >> 1) + 1), [ONE >> 1, ONE >> 1])"),
    (
        "products",
        "slot = len(str(max(a.values()) * sum(b.values())))",
        "slot = len(str(max(a.values()) * max(b.values())))",
    ),
    ("products", "return start, [", "return start - 1, ["),
    ("truncation", "quotient(max(0, ONE - inside) * unit, ONE, UP) if up", "0 if up"),
    (
        "closed forms",
        "for mass in (r - p * d, p - r)]",
        "for mass in (p - r, r - p * d)]",
    ),
    ("closed forms", "zip((i, j), ends(p", "zip((i, i), ends(p"),
    ("closed forms", "return [(-j, -i, q, p) for", "return [(-j, -i, p, q) for"),
    ("closed forms", "self.s * q + self.r * p", "self.r * q + self.s * p"),
    ("closed forms", "normal(NONE - half - t * inverse)", "normal(half - t * inverse)"),
    (
        "elementary",
        "quotient(x, 1 << e, up)",
        "quotient(x, 1 << e, up) + (1 << 60)",
    ),
    ("closed forms", "known, distance = True, 2", "known, distance = True, 1"),
    ("closed forms", '"replace_one_distance", 2, ', '"replace_one_distance", 1, '),
    ("closed forms", "log_end(min(ratios), not up)", "log_end(min(ratios), up) + (up << 196)"),
    ("closed forms", "log_end(min(ratios), not up)", "log_end(max(ratios), not up)"),
    ("closed forms", "quotient(moment, mass - spare, not up)", "quotient(moment, mass, not up)"),
    ("closed forms", "range(top, 0, -1)", "range(top - 9, 0, -1)"),
    ("closed forms", "log_end(ratio, DOWN) >> BITS - n, p.lo", "1 + (log_end(ratio, DOWN) >> BITS - n), p.lo"),
    ("verdicts", '"add": (True,)', '"add": (False,)'),
    ("closed forms", '"add-or-remove": (False, True)', '"add-or-remove": (False,)'),
    ("enumerated", "(loss.hi >> shift) + 1, p, q", "(loss.lo >> shift) + 1 - (loss.lo > 0), p, q"),
    ("enumerated", "(loss.lo >> shift, (loss.hi >> shift) + 1", "((loss.lo >> shift) - 9, (loss.hi >> shift) - 8"),
    ("enumerated", "real(Fraction(categories - 2, 2))", "real(Fraction(categories - 2, 1))"),
    ("enumerated", "for x in range(-far, far + 1):", "for x in range(1, far + 1):"),
    ("enumerated", "2, 2 * (number(t, \"noise_multiplier\") * u) ** 2", "2, 2 * number(t, \"noise_multiplier\") ** 2"),
    ("enumerated", "mass[abs(x - distance)], mass[abs(x)]", "mass[abs(x - 1)], mass[abs(x)]"),
    ("enumerated", "if k & 1 else found", "if k == 1 else found"),
    ("verdicts", "high = max(high, end)", "high = end"),
    ("verdicts", "if epsilon < NOWHERE and (end <= epsilon or delta == 0):", "if end <= epsilon or delta == 0:"),
    ("verdicts", "status = status if high <= epsilon else 3", "status = status if high <= epsilon * 2 else 3"),
    ("verdicts", "sum(one.most(added) * one.count for one in rounds)", "sum(one.most(added) for one in rounds)"),
    ("verdicts", "Fraction(-log(ratio).lo if added else log(ratio).hi, ONE)", "Fraction(log(ratio).hi, ONE)"),
]  # fmt: skip


@pytest.mark.share(7)
@pytest.mark.parametrize(("check", "old", "new"), MUTANTS, ids=[f"{i}-{m[0]}" for i, m in enumerate(MUTANTS)])
def test_a_mutant_is_noticed(check: str, old: str, new: str) -> None:
    """One rounding, side or cut turned round: the check that is named fails, or the mutant stops by itself."""
    assert SOURCE.count(old) >= 1, f"the checker has no {old!r} any more: change this entry with it"
    mutant = module_of(SOURCE.replace(old, new, 1))
    signal.signal(signal.SIGVTALRM, endless)
    signal.setitimer(signal.ITIMER_VIRTUAL, 20)
    try:
        with pytest.raises((AssertionError, ArithmeticError, LookupError, mutant.Stop)):
            CHECKS[check](mutant)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def endless(*_: object) -> None:
    """A mutant that runs on and on proves nothing."""
    raise ArithmeticError("endless")


GALLERY = ["wikimedia-pageviews-gaussian-day", "de2022-cifar10-wrn16-4", "rappor-tutorial-permanent"]


@pytest.mark.parametrize("name", GALLERY)
def test_a_claim_of_the_gallery_is_proved_and_a_smaller_one_is_not(name: str) -> None:
    """The library's epsilon, as it is shown; and the same library lying by one in a hundred."""
    path = ROOT / "examples" / "plans" / f"{name}.toml"
    plan = hs.load_plan(path)
    assert plan.delta_target is not None
    upper, delta = Fraction(round_up(plan.epsilon().upper)), Fraction(repr(plan.delta_target))
    rounds, directions = checker().rounds_of(checker().read(path.read_text(encoding="utf-8"))[0])
    for epsilon, status in ((upper, 0), (Fraction(plan.epsilon().upper) * Fraction(99, 100), 3)):
        assert checker().judged(rounds, directions, [(epsilon, delta)]) == status


LIARS: dict[str, hs.Plan] = {
    "core": hs.dp_sgd(noise_multiplier=2.0, sample_rate=0.1, steps=20),
    "direct": hs.Plan([hs.Round(hs.Gaussian(noise_multiplier=3.0))]),
    "any": hs.Plan([hs.Round(hs.RandomizedResponse(epsilon=0.1), count=40)]),
}


@pytest.mark.parametrize("name", LIARS)
def test_a_library_that_lies_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine whose intervals lie one in a hundred lower: a report is made of them, and is not proved."""
    plan = LIARS[name]

    def lowered(true: Interval | None) -> Interval | None:
        if true is None:
            return None
        return replace(true, lower=0.99 * true.lower, estimate=0.99 * true.estimate, upper=0.99 * true.upper)

    def lie() -> None:
        if name == "core":
            monkeypatch.setattr(certified, "intervals", lambda found: [lowered(one) for one in intervals(found)])
            return
        engine: Any = {"direct": DirectEngine, "any": AutoEngine}[name]
        ask = engine.epsilon
        monkeypatch.setattr(engine, "epsilon", lambda self, at, gap: lowered(ask(self, at, gap)))

    for share, status in ((1.0, 0), (0.99, 3)):
        if share < 1:
            lie()
        record = report_record(plan, 1e-5, None, made())
        found, lines = checked(report_text(record, "Markdown"))
        assert found == status, lines
        assert ("NOT proved: epsilon" in lines or "refuted: epsilon" in lines) == (status == 3)


def test_progress_is_shown_on_a_terminal() -> None:
    """As `hockeystick verify --independent` runs it: its lines apart, and the terminal's own on standard error."""
    plan = '{"round": [{"mechanism": "gaussian", "noise_multiplier": 2}]}'
    ask = [sys.executable, "-I", "-S", str(FILE), "-", "--epsilon", "3", "--delta", "1e-5"]
    terminal, end = os.openpty()
    with os.fdopen(terminal, "rb") as shown, os.fdopen(end, "wb") as error:
        found = subprocess.run(ask, input=plan, stdout=subprocess.PIPE, stderr=error, text=True, check=True)
        assert "steps add 4^-" in os.read(shown.fileno(), 10_000).decode()
    assert [line.split(":")[0] for line in found.stdout.splitlines()[1:]] == ["proved"]
    assert not subprocess.run(ask, input=plan, capture_output=True, text=True, check=True).stderr


def test_a_claim_below_the_proved_lower_end_is_refuted(capsys: pytest.CaptureFixture[str]) -> None:
    """Gaussian differential privacy with mu = 1: epsilon 4.378 at 1e-5."""
    rounds, directions = checker().rounds_of({"round": [{"mechanism": "gaussian", "noise_multiplier": 2, "count": 4}]})
    for epsilon, word in (("4", "refuted"), ("4.3767", "NOT proved"), ("4.38", "proved")):
        checker().judged(rounds, directions, [(Fraction(epsilon), Fraction(1, 10**5))])
        assert capsys.readouterr().out.startswith(f"{word}: epsilon <= ")


NEXT_TO_ONE = f"{2**250 - 1}/{2**250}"
LAPLACE = {"mechanism": "laplace", "scale": 100}
TWICE = '{"round": [{"mechanism": "laplace", "scale": 1, "scale": 100}]}'


@pytest.mark.parametrize(
    ("table", "claim", "word"),
    [
        # the least loss is log(1 - q), q next to 1: its logarithm was taken of 0
        (
            {"mechanism": "gaussian", "noise_multiplier": 1, "sampling": "poisson", "sample_rate": NEXT_TO_ONE},
            ("150", "0"), "not covered: a mass or a rate",
        ),
        # a delta above 1 left nothing for infinity
        (
            {"mechanism": "approximate-dp", "epsilon": 1, "delta": 2, "sampling": "poisson", "sample_rate": "0.01"},
            ("0.011", "1e-6"), "NOT proved",
        ),
        ({"mechanism": "randomized-response", "epsilon": 1, "categories": 1}, ("1", "0"), "not covered: categories"),
        # keys that contradict each other: one of them was forgotten
        (
            {**LAPLACE, "sampling": "poisson", "batch_size": 50, "dataset_size": 100, "count": 10**6, "epochs": 1},
            ("1", "0"), "not covered: key 'epochs'",
        ),
        (
            {**LAPLACE, "sampling": "poisson", "batch_size": 1, "dataset_size": 1000, "sample_rate": 1},
            ("0.01", "0"), "not covered: key 'sample_rate'",
        ),
        (LAPLACE, ("-1", "0.5"), "not covered: epsilon"),
        (LAPLACE, ("1", "-0.5"), "not covered: delta"),
        (LAPLACE, ("1", "1"), "not covered: a claim"),
        (LAPLACE, ("1/0", "0"), "not readable"),
        ({"mechanism": "laplace", "scale": "1/0"}, ("1", "0"), "not readable"),
        ("x", ("1", "0"), "not readable"),
    ],
)  # fmt: skip
def test_what_is_no_plan_or_no_claim_is_never_proved(
    table: Any, claim: tuple[str, str], word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"round": [table]}))
    status = checker().main([str(path), f"--epsilon={claim[0]}", f"--delta={claim[1]}"])
    said = capsys.readouterr().out.splitlines()
    assert said[-1].startswith(word), said
    assert status == (3 if word == "NOT proved" else 2 if word == "not readable" else 4)


@pytest.mark.parametrize(
    "text", ['{"round": [{"mechanism": "laplace", "scale": 1, "scale": 100}]}', '{"round": [1]}', "{"]
)
def test_what_is_not_readable_has_status_2(text: str) -> None:
    status, said = checked(text)
    assert (status, said.partition(":")[0]) == (2, "not readable")


def test_a_file_of_bytes_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.pdf"
    path.write_bytes(b"%PDF-1.4 \xe2\xe3" * 1000)
    assert checker().main([str(path)]) == 2
    assert len(capsys.readouterr().out) < 120


def test_claims_of_a_record_are_numbers_of_claims() -> None:
    """A delta below 0 in a JSON report, with its checksum, was proved; an infinite epsilon ended in a traceback."""
    record = report_record(hs.Plan([hs.Round(hs.Laplace(scale=10.0), count=3)], delta=1e-6), None, None, made())
    for change, status in (({"delta": -0.5}, 4), ({"upper": -1.0}, 4)):
        lie = {
            **{key: value for key, value in record.items() if key != "checksum"},
            "epsilon": [{**record["epsilon"][0], **change}],
        }
        assert checked(json.dumps(sealed(lie)))[0] == status
        assert checked(json.dumps({**lie, "epsilon": [{**lie["epsilon"][0], "upper": math.inf}]}))[0] == 2


def test_text_that_differs_from_an_uncovered_record_has_status_3() -> None:
    plan = hs.Plan([hs.Round(hs.Laplace(scale=10.0), count=3)], "zero-out", delta=1e-6)
    text = report_text(report_record(plan, None, None, made()), "Markdown")
    assert checked(text)[0] == 4
    status, said = checked(text.replace("scale = 10", "scale = 20", 1))
    assert status == 3
    assert "the plan in the text is not that of the record" in said


def test_pages_are_not_read_before_python_3_11(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan in their text could not be compared with the record."""
    module = module_of(SOURCE)
    monkeypatch.setattr(module.sys, "version_info", (3, 9))
    record = report_record(hs.Plan([hs.Round(hs.Laplace(scale=10.0), count=3)], delta=1e-6), None, None, made())
    with pytest.raises(module.Stop, match="only JSON is read"):
        module.read(report_text(record, "Markdown"))
    assert module.read(report_text(record, "JSON"))[1]


def test_a_file_that_was_changed_is_told() -> None:
    plan = hs.Plan([hs.Round(hs.Laplace(scale=10.0), count=3)], delta=1e-6)
    record = report_record(plan, None, None, made())
    for form in ("HTML", "Markdown"):
        text = report_text(record, form)
        assert checked(text)[0] == 0
        assert "not those of the record" in checked(text.replace("≤ 0.3", "≤ 0.4", 1))[1]
        assert checked(text.replace("≤ 0.3", "≤ 0.4", 1))[0] == 3
        status, lines = checked(text.replace("scale = 10", "scale = 20", 1))
        assert (status, "the plan in the text" in lines) == (3, True)
        status, lines = checked(text.replace('"scale": 10', '"scale": 11', 1))
        assert (status, "checksum" in lines) == (3, True)
    assert checked(report_text(record, "JSON"))[0] == 0
    assert checked("no report")[0] == 2
    status, lines = checked('{"round": [{"mechanism": "zcdp", "rho": 1}]}')
    assert (status, "not covered: mechanism 'zcdp'" in lines) == (4, True)


@pytest.mark.parametrize(("scale", "delta"), [(0.1, 1e-5), (2.0, 0.0)])
@pytest.mark.parametrize("form", ["HTML", "Markdown", "JSON"])
def test_the_headline_of_every_report_is_read(scale: float, delta: float, form: str) -> None:
    """A page with a large epsilon begins with the bad news; a page at delta 0 has no table of other deltas."""
    record = report_record(hs.Plan([hs.Round(hs.Laplace(scale=scale))]), delta, None, made())
    status, lines = checked(report_text(record, form))
    assert (status, "proved: epsilon <=" in lines) == (0, True)
