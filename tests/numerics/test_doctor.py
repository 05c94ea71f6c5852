"""The doctor: it finds a machine sound that is, and names what is not, by whichever way of calling it is wrong."""

from __future__ import annotations

import json
import math
import platform
import subprocess
import sys
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

import hockeystick as hs
from command import refused, run
from hockeystick.numerics.doctor import assumed, diagnosis, points
from hockeystick.numerics.doctor.arithmetic import Check, arithmetic_checks
from hockeystick.numerics.doctor.assumed import Assumption, assumptions
from hockeystick.numerics.doctor.balls import Balls
from hockeystick.numerics.doctor.decimals import FUNCTIONS, TURN, Decimals
from hockeystick.numerics.doctor.measured import functions_measured, measured, transform_measured
from hockeystick.numerics.doctor.reference import reference
from hockeystick.numerics.doctor.truth import truths, unit_below
from hockeystick.numerics.rounding import ULPS

Array = npt.NDArray[np.float64]

POINTS = 60  # of each range: enough to find every fault that is put in here
ON_LINUX = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="sets the control word of this kind of processor"
)


def named(name: str) -> Assumption:
    return next(item for item in assumptions() if item.name == name)


def of(assumption: Assumption) -> list[Any]:
    arguments = assumption.draw(np.random.default_rng(3), POINTS)
    return list(measured(assumption, Balls(), arguments))


def off_by(units: float) -> Any:
    """The exponential function, moved by so many units in the last place."""

    def function(x: Array, out: Array | None = None) -> Array:
        with np.errstate(all="ignore"):
            found: Array = np.exp(x) * (1 + units * 2.0**-52)
        if out is not None:
            out[...] = found
        return found

    return function


def test_this_machine_is_sound() -> None:
    """Else no certified number holds here: every function, every way of calling it, the arithmetic."""
    found = hs.doctor()
    assert found.sound, found.failures
    assert {item.name for item in found.measured} >= {"exp", "expm1", "log", "log1p", "sin", "cos", "hypot", "rfft"}
    assert {item.library for item in found.measured} >= {"numpy", "math", "scipy"}
    assert found.values > 100_000
    assert found.advice is None
    assert found.summary.startswith("all within what is assumed, at most ")
    assert found.seconds < 20


def test_what_is_measured_is_that_of_an_independent_measure() -> None:
    """By mpmath, point by point: the error of the doubles of one function."""
    random = np.random.default_rng(5)
    (x,) = named("expm1").draw(random, 20)
    x = x[x != 0]
    values = np.expm1(x)
    errors = truths(Balls(), "expm1", (x,)).errors(values)
    with mpmath.workdps(400):
        for at, value, error in zip(x.tolist(), values.tolist(), errors.tolist(), strict=True):
            true = mpmath.expm1(mpmath.mpf(at))
            unit = mpmath.mpf(2) ** max(int(mpmath.floor(mpmath.log(abs(true), 2))) - 52, -1074)
            found = float(abs(true - mpmath.mpf(value)) / unit)
            assert min(abs(found - error), abs(2 * found - error)) < 1e-9, at  # twice below a power of two


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_decimals_agree_with_balls(name: str) -> None:
    """Two references that share no code say the same to a billionth of a unit."""
    random = np.random.default_rng(7)
    if name.endswith("_turn"):
        arguments: tuple[Array, ...] = (random.integers(0, 7200, 100).astype(float), np.full(100, 7200.0))
    else:
        arguments = named(name).draw(random, 12)
    one, other = truths(Balls(), name, arguments), truths(Decimals(), name, arguments)
    assert ((one.unit == other.unit) | (np.abs(np.frexp(one.hi)[0]) == 0.5)).all()  # of which there are two there
    left = other.left * (other.unit / one.unit)
    apart = (one.hi - other.hi) / one.unit + (one.left - left)
    assert float(np.abs(apart).max()) < 1e-9


def test_a_turn_is_two_pi() -> None:
    with mpmath.workdps(120):
        assert abs(mpmath.mpf(str(TURN)) - 2 * mpmath.pi) < mpmath.mpf(10) ** -98


def test_units_halve_below_a_power_of_two() -> None:
    assert unit_below(1.0, below=False) == 2.0**-52
    assert unit_below(1.0, below=True) == 2.0**-53
    assert unit_below(1.5, below=True) == 2.0**-52
    assert unit_below(5e-324, below=True) == 5e-324


@pytest.mark.parametrize(("units", "within"), [(0.0, True), (1.0, True), (6.0, False), (math.inf, False)])
def test_an_error_is_found_as_it_was_put_in(units: float, within: bool) -> None:
    (found,) = of(replace(named("exp"), array=off_by(units), single=None))
    assert found.within == within
    if units < math.inf:
        assert units / 2 - 1 < found.largest < 2 * units + 1
    else:
        assert found.largest == math.inf


ROUTES = [route for route, _ in assumed._ways(np.exp)]


@pytest.mark.parametrize("route", ROUTES)
def test_a_fault_in_one_way_of_calling_is_found_and_named(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop for strides, or for what is left of an array, may be another one, and the only one that is wrong."""
    wrong = dict(assumed._ways(off_by(2.0 * ULPS)))[route]

    def ways(function: Any) -> Any:
        for name, called in usual(function):
            yield name, wrong if name == route else called

    usual = assumed._ways
    monkeypatch.setattr(assumed, "_ways", ways)
    found = {item.library: item for item in of(named("exp"))}
    assert not found["numpy"].within
    assert found["numpy"].route == route
    assert found["math"].within
    assert f"exp (numpy, {route}) errs by" in found["numpy"].failure


def test_a_fault_between_two_lengths_is_found() -> None:
    """A loop that is wrong for the last elements of an array alone, where they do not fill a vector."""

    def function(x: Array, out: Array | None = None) -> Array:
        found: Array = np.atleast_1d(np.array(np.exp(x)))
        if found.size % 8 == 7:
            found[-1] *= 1 + 8 * 2.0**-52
        if out is not None:
            out[...] = found
        return found if np.ndim(x) else found[0]

    (found,) = of(replace(named("exp"), array=function, single=None))
    assert not found.within
    assert found.route == "short arrays"


def test_a_value_that_is_none_is_an_infinite_error() -> None:
    (found,) = of(replace(named("log"), array=lambda x, out=None: np.full(np.shape(x), np.nan), single=None))
    assert (found.largest, found.within) == (math.inf, False)


def test_transforms_with_coarse_rotations_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rotations from a recurrence, as some transforms have them, err by more than a few roundings a level."""
    import scipy.fft

    sound = transform_measured(Balls(), 50, 1)
    assert sound.within
    usual = scipy.fft.rfft

    def coarse(x: Array) -> Any:
        return usual(x) * np.exp(1j * np.arange(len(x) // 2 + 1) * 1e-18)

    monkeypatch.setattr(scipy.fft, "rfft", coarse)
    assert not transform_measured(Balls(), 50, 1).within


def test_points_reach_what_matters() -> None:
    """Subnormal values, next to overflow, next to 0 and to 1, and both neighbours of places where methods change."""
    random = np.random.default_rng(1)
    x = points.drawn(points.EXP, random, 300)
    with np.errstate(under="ignore"):
        values = np.exp(x)
    assert np.isfinite(values).all()
    assert ((values > 0) & (values < 2.0**-1022)).sum() > 100
    assert (values > 1e307).sum() > 10
    assert ((np.abs(x) < 2.0**-53) & (x != 0)).sum() > 100
    logs = points.drawn(points.LOG, random, 300)
    assert (logs > 0).all()
    assert (logs < 2.0**-1022).sum() > 100
    assert {math.nextafter(1.0, 0.0), math.nextafter(1.0, 2.0), 1.0} <= set(points.beside([1.0])(random, 500).tolist())


def test_without_flint_decimals_answer_and_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hockeystick.numerics.doctor.balls", None)
    assert reference().name.startswith("the decimals of Python")
    found = hs.doctor(points=100)
    assert found.sound, found.failures
    assert found.advice is not None
    assert "pip install '.[proof]'" in found.advice
    assert "\n" not in found.advice
    assert "ndtr" not in {item.name for item in found.measured}
    assert "more" in run("doctor", "--points", "50").stdout


IN_A_PROCESS = """
import ctypes, sys
libm = ctypes.CDLL("libm.so.6")
import numpy, scipy.special, flint
from hockeystick.numerics.doctor.arithmetic import arithmetic_checks
if sys.argv[1] == "flush":
    state = ctypes.create_string_buffer(32)
    libm.fegetenv(state)
    word = int.from_bytes(state[28:32], "little") | 0x8040
    state[28:32] = word.to_bytes(4, "little")
    libm.fesetenv(state)
else:
    libm.fesetround(int(sys.argv[1]))
found = [check.name for check in arithmetic_checks(50, 1) if not check.holds]
libm.fesetround(0)
print(",".join(found))
"""


@ON_LINUX
@pytest.mark.parametrize(
    ("mode", "failure"),
    [("flush", "subnormal numbers"), ("1024", "direction of rounding"), ("2048", "direction of rounding"),
     ("3072", "direction of rounding")],
    ids=["subnormal numbers are flushed", "down", "up", "towards 0"],
)  # fmt: skip
def test_another_mode_of_the_processor_is_found(mode: str, failure: str) -> None:
    """The control word of the processor really is set, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", IN_A_PROCESS, mode], capture_output=True, text=True, check=False)
    assert failure in done.stdout.strip().split(","), done.stderr


def test_arithmetic_is_as_assumed_here() -> None:
    found = list(arithmetic_checks(100, 2))
    assert [check.name for check in found if not check.holds] == []
    assert len(found) == 7


@pytest.fixture
def unsound(monkeypatch: pytest.MonkeyPatch) -> diagnosis.Diagnosis:
    """A diagnosis of a machine whose exponential function is off, and that flushes subnormal numbers."""
    found = hs.doctor(points=5)
    bad = replace(found.measured[0], largest=7.25, at=(0.5,), route="strided arrays")
    check = Check("subnormal numbers", False, "Python puts 0 in place of subnormal numbers")
    out = replace(found, measured=(bad, *found.measured[1:]), checks=(check, *found.checks[1:]))
    monkeypatch.setattr(diagnosis, "doctor", lambda *_: out)
    return out


def test_the_command_ends_with_status_3_and_a_line_for_each_failure(unsound: diagnosis.Diagnosis) -> None:
    said = run("doctor")
    assert said.exit_code == 3
    assert said.stdout.startswith("NOT sound: 2 of the assumptions of the certificate do not hold here\n")
    assert sum(line.startswith("failed") for line in said.stdout.splitlines()) == 2
    assert "exp (numpy, strided arrays) errs by 7.25 units in the last place at 0.5" in " ".join(said.stdout.split())
    as_json = run("doctor", "--json")
    assert as_json.exit_code == 3
    assert json.loads(as_json.stdout)["failures"] == list(unsound.failures)


def test_a_sound_machine_has_status_0() -> None:
    said = run("doctor", "--points", "20")
    assert said.exit_code == 0
    assert said.stdout.startswith("sound: this machine is as the certificate assumes\n")
    assert all(line == line.rstrip() for line in said.stdout.splitlines())
    answer = json.loads(run("doctor", "--points", "20", "--json").stdout)
    assert answer["sound"] is True
    assert answer["failures"] == []
    assert {row["name"] for row in answer["measured"]} >= {"exp", "log1p"}
    assert answer["versions"]["numpy"] == np.__version__


def test_numbers_of_points_are_checked() -> None:
    assert refused("doctor", "--points", "0").startswith("--points must be a whole number from 1 to ")
    assert refused("doctor", "--seed", "1.5").startswith("--seed must be a whole number from 0 to ")
    with pytest.raises(hs.InvalidInputError, match="points must be a whole number"):
        hs.doctor(points=0)


def test_a_diagnosis_shows_itself(unsound: diagnosis.Diagnosis) -> None:
    found = hs.doctor(points=5)
    assert str(found) == found.summary
    assert repr(found) == f"Diagnosis({found.summary})"
    html = found._repr_html_()
    assert html.count("<table>") == 3
    assert "<b>" not in html
    assert str(unsound).startswith("NOT within what is assumed: exp (numpy, strided arrays) errs by 7.25")


def test_every_function_is_measured_that_is_known() -> None:
    """The brief check is the whole one with fewer points: it leaves no function out."""
    brief = {(item.name, item.library) for item in diagnosis.brief().measured}
    assert brief == {(item.name, item.library) for item in hs.doctor(points=3).measured}
    assert {item.name for item in functions_measured(Decimals(), 2, 1)} == set(FUNCTIONS) - {"cos_turn", "sin_turn"}
