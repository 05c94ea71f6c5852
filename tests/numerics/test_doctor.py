"""The doctor: it finds a machine sound that is, and names what is not, by whichever way of calling it is wrong."""

from __future__ import annotations

import json
import math
import platform
import subprocess
import sys
from dataclasses import replace
from typing import Any

import flint
import mpmath
import numpy as np
import numpy.typing as npt
import pytest

import hockeystick as hs
from command import refused, run
from hockeystick.numerics import doctor
from hockeystick.numerics.doctor import Check, Diagnosis, Function, Measured
from hockeystick.numerics.rounding import ULPS

Array = npt.NDArray[np.float64]

POINTS = 40  # of each range: enough to find every fault that is put in here
ON_LINUX = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="sets the control word of this kind of processor"
)


def named(name: str, library: str = "numpy") -> Function:
    return next(item for item in doctor.functions() if (item.name, item.library) == (name, library))


def found_of(function: Function) -> Measured:
    return doctor.measured(function, POINTS, np.random.default_rng(3))


def off_by(units: float) -> Any:
    """The exponential function, moved by so many units in the last place."""

    def function(x: Array) -> Array:
        with np.errstate(all="ignore"):
            found: Array = np.exp(x) * (1 + units * 2.0**-52)
        return found

    return function


def test_this_machine_is_sound() -> None:
    """Else no certified number holds here: every function, every way of calling it, the arithmetic."""
    found = hs.doctor()
    assert found.sound, found.failures
    assert {item.name for item in found.measured} >= {"exp", "expm1", "log", "log1p", "sin", "cos", "hypot", "rfft"}
    assert {item.library for item in found.measured} >= {"numpy", "math", "scipy"}
    assert found.values > 50_000
    assert len(found.checks) == 5
    assert found.summary.startswith("all within what is assumed, at most ")


MPMATH = {
    "exp": mpmath.exp, "expm1": mpmath.expm1, "log": mpmath.log, "log1p": mpmath.log1p, "sin": mpmath.sin,
    "cos": mpmath.cos, "hypot": mpmath.hypot, "arctan2": mpmath.atan2, "sinh": mpmath.sinh, "cosh": mpmath.cosh,
    "logaddexp": lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)), "ndtr": mpmath.ncdf,
    "log_ndtr": lambda x: mpmath.log(mpmath.ncdf(x)),
}  # fmt: skip


@pytest.mark.parametrize(
    "function", list(doctor.functions()), ids=lambda function: f"{function.name}, {function.library}"
)
def test_true_values_are_those_of_mpmath(function: Function) -> None:
    """To a billionth of a unit, at points of every range."""
    arguments = function.draw(np.random.default_rng(7), 4)
    doubles, left, units = doctor._truths(function.truth, arguments)
    with mpmath.workdps(350):  # two exponents up to 1,200 apart
        for *point, double, rest, unit in zip(*(a.tolist() for a in (*arguments, doubles, left, units)), strict=True):
            true = MPMATH[function.name](*map(mpmath.mpf, point))
            assert abs((true - mpmath.mpf(double)) / mpmath.mpf(unit) - rest) < 1e-9, point
            assert unit == math.ulp(math.nextafter(double, 0.0))


def test_a_turn_is_two_pi() -> None:
    with mpmath.workdps(120):
        assert abs(mpmath.mpf(str(doctor.TURN)) - 2 * mpmath.pi) < mpmath.mpf(10) ** -98


@pytest.mark.parametrize(("units", "within"), [(0.0, True), (1.0, True), (6.0, False), (math.inf, False)])
def test_an_error_is_found_as_it_was_put_in(units: float, within: bool) -> None:
    found = found_of(replace(named("exp"), called=off_by(units)))
    assert found.within == within
    if units < math.inf:
        assert units / 2 - 1 < found.largest < 2 * units + 1
    else:
        assert found.largest == math.inf


@pytest.mark.parametrize("route", [route for route, _ in named("exp").ways()])
def test_a_fault_in_one_way_of_calling_is_found_and_named(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop for strides, or for what is left of an array, may be another one, and the only one that is wrong."""
    usual, wrong = list(named("exp").ways()), dict(replace(named("exp"), called=off_by(2.0 * ULPS)).ways())[route]
    monkeypatch.setattr(Function, "ways", lambda _: [(way, wrong if way == route else call) for way, call in usual])
    found = found_of(named("exp"))
    assert (found.within, found.route) == (False, route)
    assert f"exp (numpy, {route}) errs by" in found.failure


def test_a_fault_between_two_lengths_is_found() -> None:
    """A loop that is wrong for the last elements of an array alone, where they do not fill a vector."""

    def function(x: Array) -> Any:
        found: Array = np.atleast_1d(np.array(np.exp(x)))
        if found.size % 8 == 7:
            found[-1] *= 1 + 8 * 2.0**-52
        return found if np.ndim(x) else found[0]

    found = found_of(replace(named("exp"), called=function))
    assert (found.within, found.route) == (False, "short arrays")


def test_a_value_that_is_none_is_an_infinite_error() -> None:
    found = found_of(replace(named("log"), called=lambda x: np.full(np.shape(x), np.nan)))
    assert (found.largest, found.within) == (math.inf, False)


def test_transforms_with_coarse_rotations_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rotations from a recurrence, as some transforms have them, err by more than a few roundings a level."""
    import scipy.fft

    assert doctor.transform_measured(50, np.random.default_rng(1)).within
    usual = scipy.fft.rfft
    monkeypatch.setattr(scipy.fft, "rfft", lambda x: usual(x) * np.exp(1j * np.arange(len(x) // 2 + 1) * 1e-18))
    assert not doctor.transform_measured(50, np.random.default_rng(1)).within


def test_points_reach_what_matters() -> None:
    """Subnormal values, next to overflow, next to 0 and to 1, and both neighbours of places where methods change."""
    random = np.random.default_rng(1)
    (x,) = doctor.EXPONENTS(random, 300)
    with np.errstate(under="ignore"):
        values = np.exp(x)
    assert ((values > 0) & (values < 2.0**-1022)).sum() > 100
    assert (values > 1e200).sum() > 10
    assert ((np.abs(x) < 2.0**-53) & (x != 0)).sum() > 100
    (logs,) = doctor.LOGS(random, 300)
    assert (logs > 0).all()
    assert (logs < 2.0**-1022).sum() > 100
    assert {math.nextafter(1.0, 0.0), math.nextafter(1.0, 2.0), 1.0} <= set(doctor._beside([1.0])(random, 500).tolist())


IN_A_PROCESS = """
import ctypes, sys
libm = ctypes.CDLL("libm.so.6")
import numpy
from hockeystick.numerics.doctor import arithmetic_checks
random = numpy.random.default_rng(1)
if sys.argv[1] == "flush":
    state = ctypes.create_string_buffer(32)
    libm.fegetenv(state)
    word = int.from_bytes(state[28:32], "little") | 0x8040
    state[28:32] = word.to_bytes(4, "little")
    libm.fesetenv(state)
else:
    libm.fesetround(int(sys.argv[1]))
found = [check.name for check in arithmetic_checks(50, random) if not check.holds]
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


@pytest.fixture
def unsound(monkeypatch: pytest.MonkeyPatch) -> Diagnosis:
    """A diagnosis of a machine whose exponential function is off, and that flushes subnormal numbers."""
    found = hs.doctor(points=2)
    bad = replace(found.measured[0], largest=7.25, at=(0.5,), route="strided arrays")
    check = Check("subnormal numbers", False, "Python puts 0 in place of subnormal numbers")
    out = replace(found, measured=(bad, *found.measured[1:]), checks=(check, *found.checks[1:]))
    monkeypatch.setattr(doctor, "doctor", lambda *_: out)
    return out


def test_the_command_ends_with_status_3_and_a_line_for_each_failure(unsound: Diagnosis) -> None:
    said = run("doctor")
    assert said.exit_code == 3
    assert said.stdout.startswith("NOT sound: 2 assumptions of the certificate do not hold on this machine\n")
    assert sum(line.startswith("failed") for line in said.stdout.splitlines()) == 2
    assert "exp (numpy, strided arrays) errs by 7.25 units in the last place at 0.5" in " ".join(said.stdout.split())
    as_json = run("doctor", "--json")
    assert as_json.exit_code == 3
    assert json.loads(as_json.stdout)["failures"] == list(unsound.failures)


def test_a_sound_machine_has_status_0() -> None:
    said = run("doctor", "--points", "20")
    assert said.exit_code == 0
    assert said.stdout.startswith("sound: this machine meets the assumptions of the certificate\n")
    assert all(line == line.rstrip() for line in said.stdout.splitlines())
    answer = json.loads(run("doctor", "--points", "20", "--json").stdout)
    assert (answer["sound"], answer["failures"]) == (True, [])
    assert {row["name"] for row in answer["measured"]} >= {"exp", "log1p"}
    assert answer["versions"]["numpy"] == np.__version__
    assert answer["versions"]["python-flint"] == flint.__version__


def test_numbers_of_points_are_checked() -> None:
    assert refused("doctor", "--points", "0").startswith("--points must be a whole number from 1 to ")
    assert refused("doctor", "--seed", "1.5").startswith("--seed must be a whole number from 0 to ")
    with pytest.raises(hs.InvalidInputError, match="points must be a whole number"):
        hs.doctor(points=0)


def test_a_diagnosis_shows_itself(unsound: Diagnosis) -> None:
    found = hs.doctor(points=2)
    assert str(found) == found.summary
    assert repr(found) == f"Diagnosis({found.summary})"
    html = found._repr_html_()
    assert html.count("<table>") == 3
    assert "<b>" not in html
    assert str(unsound).startswith("NOT within what is assumed: exp (numpy, strided arrays) errs by 7.25")
