"""Every charge of the core by its name: with it a certified part is true, without it the same part is false.

Each has a setting in which nothing else pays for it: nodes that end early or lie far apart, sums that are cut early or
have near aliases, values that are exact but for rounding. The truth is had in 40 digits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from core_lines import aimed, listed, moment, true_log_delta
from hockeystick.engines.core import __file__ as home
from hockeystick.engines.core import line as line_module
from hockeystick.engines.core import sum as sum_module
from hockeystick.engines.core.law import Law
from hockeystick.engines.core.line import PARTS, Grid, Line, cells
from hockeystick.engines.core.sum import Cut, Sum, _logarithm
from hockeystick.numerics.boxes import Boxes
from hockeystick.numerics.charged import charged

MU, RATE, T, Y = 1.0, 0.1, 2.0, 4.0


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """As the engine is: a branch that is not taken may overflow."""
    with np.errstate(all="ignore"):
        yield


def column(value: float) -> np.ndarray:
    return np.array([[value]])


def line(
    dx: float, low: float, high: float, t: float = T, mu: float = MU, add: bool = False, lift: float = 1.0
) -> Line:
    """A line whose nodes lie between two ends; g is sampled at RATE."""
    law = Law(column(mu), column(RATE), np.array([[add]]))
    count = round((high - low) / dx) + 1
    grid = Grid(column(dx), column(round(low / dx)), column(count), column(lift), np.full((1, 2), 0.5))
    return Line.of(law, grid, column(t), column(Y), count)


def of_m(dx: float, low: float, high: float, add: bool = False) -> bool:
    """Whether the relative error of m(t) is at most what is charged."""
    found = line(dx, low, high, add=add)
    with mpmath.workdps(40):
        true = moment(MU, RATE, complex(T), add).real
        return bool(abs(mpmath.exp(mpmath.mpf(float(found.log_total[0, 0]))) / true - 1) <= found.common[0, 0])


def of_ratios(dx: float, low: float, high: float, step: float, nodes: int) -> bool:
    """Whether ``m(t+is) / m(t) - 1`` errs by at most what is charged; nodes are a multiple of panels."""
    law = Law(column(MU), column(RATE), np.array([[False]]))
    grid = Grid(column(dx), column(round(low / dx)), column(nodes), column(1.0), np.full((1, 2), 0.5))
    found = Line.of(law, grid, column(T), column(Y), nodes)
    values, errors = found.ratios(column(step), 2, 2)
    with mpmath.workdps(40):
        whole = moment(MU, RATE, complex(T), False)
        true = [moment(MU, RATE, complex(T, j * step), False) / whole - 1 for j in range(1, 4)]
        return all(
            abs(mpmath.mpc(complex(value)) - exact) <= error
            for value, exact, error in zip(values[0, 1:], true, errors[0, 1:], strict=True)
        )


def of_heights() -> bool:
    """Whether heights of cells lie below the density between nodes, which dips there where the hump begins."""
    found = line(0.5, -8.0, 20.0, t=6.0, mu=2.0)
    height, _ = cells(found, 1)
    x = found.x[0, :-1] + np.linspace(0.0, 0.5, 21)[:, None]
    gain = RATE * np.expm1(2.0 * x - 2.0)
    density = np.exp(7.0 * np.log1p(gain) - x**2 / 2 - found.log_norm[0, 0]) / 0.5
    density /= 2.0 * RATE * np.exp(2.0 * x - 2.0) / (1 + gain)
    return bool((height[0] <= density.min(axis=0)).all())


def of_lengths() -> bool:
    """Whether lengths of cells are below the differences of losses, of which far down only rounding is left."""
    found = line(0.25, -12.0, 6.0, mu=4.0)
    _, length = cells(found, 1)
    with mpmath.workdps(40):
        g = [1 + mpmath.mpf(RATE) * mpmath.expm1(4 * mpmath.mpf(float(x)) - 8) for x in found.x[0]]
        return all(
            float(short) <= mpmath.log(above / below) for short, below, above in zip(length[0], g, g[1:], strict=False)
        )


def sums(dx: float = 0.125, low: float = -10.0, step: float = 0.25, edge: float = 300.0) -> tuple[Sum, float]:
    """A sum over one kind of 40 rounds, with the log of the bound on its rest; and the log delta at epsilon 3."""
    plans = listed([[(MU, RATE, 40.0)]])
    nodes = 192
    law = Law.of(plans.rows)
    grid = Grid(column(dx), column(round(low / dx)), column(nodes), column(1.0), np.full((1, 2), 0.5))
    lines = Line.of(law, grid, column(T), column(Y), nodes)
    aim = replace(aimed(plans), t=column(T), y=column(Y), step=column(step), epsilon=column(3.0))
    decay = 40.0 * float(Boxes.below(*cells(lines, PARTS)).log_bound(column(edge))[0, 0])
    tail = decay + math.log((step / edge + 1) / (math.pi * edge))
    points = math.ceil(edge / step)
    inner = math.isqrt(points)
    return Sum(lines, plans, aim, Cut(column(edge), column(tail)), -(-points // inner), inner), 3.0


def of_delta(**given: float) -> bool:
    """Whether the ends of log delta hold the truth between them."""
    found, epsilon = sums(**given)
    low, high = (float(end[0, 0]) for end in found.ends(column(epsilon)))
    return low - 1e-11 <= true_log_delta([(MU, RATE, 40.0)], epsilon) <= high + 1e-11


def of_logarithms() -> bool:
    """Whether logarithms of exact numbers err by no more than is charged, near 1, in between and near 0."""
    draw = np.random.default_rng(4)
    size = 10.0 ** draw.uniform(-8, 0, 60)
    ratio = np.concatenate([size * np.exp(2j * math.pi * draw.random(60)), -1 + 1e-3 * size[:20]])
    found, error = _logarithm(ratio[None, :], np.zeros((1, len(ratio))))
    with mpmath.workdps(40):
        off = [
            abs(mpmath.log(1 + mpmath.mpc(complex(w))) - mpmath.mpc(complex(value)))
            for w, value in zip(ratio, found[0], strict=True)
        ]
    return all(one <= bound for one, bound in zip(off, error[0], strict=True))


def of_rounding(epsilon: float) -> bool:
    """Whether the sum of terms as they are errs by no more than is charged to it at an epsilon."""
    found, _ = sums()
    exact = mpmath.mpf(0)
    value = float(found._phased(column(epsilon)).real.sum(axis=3).sum(axis=2)[0, 0])
    with mpmath.workdps(40):
        for term, s in zip(found._terms[0], found._s[0], strict=True):
            exact += (mpmath.mpc(complex(term)) * mpmath.expj(-mpmath.mpf(epsilon) * mpmath.mpf(float(s)))).real
        return bool(abs(value - exact) <= float(found.error(column(epsilon))[0, 0]))


# the charge, the part that rests on it, and charges that would pay for it, which are left out in either case
CASES: dict[str, tuple[Callable[[], bool], tuple[str, ...]]] = {
    "range": (lambda: of_m(0.125, -3.0, 16.0, add=True), ()),
    "step on the axis": (lambda: of_m(1.0, -12.0, 16.0), ()),
    "rounding of m(t)": (lambda: of_m(0.125, -12.0, 16.0), ()),
    "step": (lambda: of_ratios(0.75, -12.0, 16.0, 0.5, 64), ("step on the axis",)),
    "range off the axis": (lambda: of_ratios(0.125, -2.5, 9.0, 2.0, 96), ("common",)),
    "common": (lambda: of_ratios(0.125, -9.0, 3.0, 40.0, 96), ("range off the axis",)),
    "rounding of the ratios": (lambda: of_ratios(0.125, -12.0, 16.0, 1e-3, 256), ("common",)),
    "bend": (of_heights, ()),
    "rounding of losses": (of_lengths, ()),
    "powers": (lambda: of_delta(dx=0.75), ("m(t)",)),
    "cut": (lambda: of_delta(edge=3.0), ()),
    "m(t)": (lambda: of_delta(low=-2.0), ("powers",)),
    "left alias": (lambda: of_delta(step=0.8), ("right alias",)),
    "right alias": (lambda: of_delta(step=1.5), ("left alias",)),
    "rounding of logarithms": (of_logarithms, ()),
    "rounding of the sum": (lambda: of_rounding(3.0), ("powers", "cut", "rounding of phases")),
    "rounding of phases": (lambda: of_rounding(1e6), ("powers", "cut", "rounding of the sum")),
}


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Leave out charges."""

    def changed(name: str, value: Any) -> Any:
        return value * 0 if name in names else charged(name, value)

    for module in (line_module, sum_module):
        monkeypatch.setattr(module, "charged", changed)


def test_every_charge_has_a_setting() -> None:
    """The names in the text of the core are those of the cases."""
    found = {
        name
        for path in Path(home).parent.glob("*.py")
        for name in re.findall(r'charged\(\s*"([^"]+)"', path.read_text())
    }
    assert found == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_part_is_true_with_its_charge_and_false_without(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    holds, others = CASES[name]
    assert holds()
    without(monkeypatch, name, *others)
    assert not holds()
