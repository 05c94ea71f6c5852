"""The doctor: it finds a machine sound that is, and names what is not, by whichever way of calling it is wrong."""

from __future__ import annotations

import json
import math
import platform
import subprocess
import sys
from decimal import Context, Decimal, localcontext
from typing import Any

import flint
import mpmath
import numpy as np
import numpy.typing as npt
import pytest

import hockeystick as hs
from command import run
from hockeystick.numerics import doctor
from hockeystick.numerics.doctor import FUNCTIONS, Diagnosis
from hockeystick.numerics.rounding import ULPS

Array = npt.NDArray[np.float64]

ON_LINUX = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="sets the control word of this kind of processor"
)


def exp_off_by(units: float, wrong: Any = lambda x: True) -> Any:
    """The exponential function, moved by so many units in the last place where asked."""
    usual = np.exp

    def function(x: Any) -> Any:
        return usual(x) * (1 + units * 2.0**-52) if wrong(x) else usual(x)

    return function


def test_this_machine_is_sound() -> None:
    """Else no certified number holds here: every function, every way of calling it, the arithmetic."""
    found = hs.doctor()
    assert found.sound, found.failures
    for name in ("exp", "expm1", "log", "log1p", "sin", "cos"):
        assert {f"{name} (numpy)", f"{name} (numpy, strided arrays)", f"{name} (math)"} <= set(found.measured)
    assert found.summary.startswith("all within what is assumed, at most ")
    assert max(found.measured.values()) < 1 + 1e-9


@pytest.mark.parametrize("name", FUNCTIONS)
def test_true_values_are_those_of_mpmath(name: str) -> None:
    """To a billionth of a unit, at every point."""
    truth, points = FUNCTIONS[name]
    with mpmath.workdps(120), localcontext(Context(prec=doctor.DIGITS)):
        for point in points.tolist():
            true = getattr(mpmath, name)(mpmath.mpf(point))
            found = mpmath.mpf(str(truth(Decimal(point))))
            assert abs(true - found) < mpmath.mpf(math.ulp(math.nextafter(float(true), 0.0))) * 1e-9, point


def test_a_turn_is_two_pi() -> None:
    with mpmath.workdps(120):
        assert abs(mpmath.mpf(str(doctor.TURN)) - 2 * mpmath.pi) < mpmath.mpf(10) ** -98


@pytest.mark.parametrize(("units", "within"), [(0.0, True), (1.0, True), (6.0, False), (math.inf, False)])
def test_an_error_is_found_as_it_was_put_in(units: float, within: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "exp", exp_off_by(units))
    found = hs.doctor()
    assert found.sound == within
    largest = found.measured["exp (numpy)"]
    if units < math.inf:
        assert units / 2 - 1 < largest < 2 * units + 1
    else:
        assert largest == math.inf


@pytest.mark.parametrize(
    ("way", "wrong"),
    [
        ("numpy", lambda x: np.ndim(x) and x.flags.c_contiguous and x.dtype == float),
        ("numpy, strided arrays", lambda x: np.ndim(x) and not x.flags.c_contiguous),
        ("numpy, single numbers", lambda x: not np.ndim(x)),
    ],
    ids=["contiguous", "strided", "single"],
)
def test_a_fault_in_one_way_of_calling_is_found_and_named(
    way: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop for strides, or for single numbers, may be another one, and the only one that is wrong."""
    monkeypatch.setattr(np, "exp", exp_off_by(2.0 * ULPS, wrong))
    (failure,) = hs.doctor().failures
    assert failure.startswith(f"exp ({way}) errs by ")


def test_a_fault_of_complex_exponentials_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "exp", exp_off_by(2.0 * ULPS, np.iscomplexobj))
    assert [line.partition(" errs")[0] for line in hs.doctor().failures] == [
        "sin (numpy, of complex numbers)",
        "cos (numpy, of complex numbers)",
    ]


def test_a_fault_at_the_end_of_an_array_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that is wrong for the last elements alone, where they do not fill a vector."""
    usual = np.log

    def function(x: Any) -> Any:
        found: Array = np.atleast_1d(np.array(usual(x)))
        if found.size % 8:
            found[-1] *= 1 + 8 * 2.0**-52
        return found if np.ndim(x) else usual(x)

    monkeypatch.setattr(np, "log", function)
    assert not hs.doctor().sound


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_value_that_is_none_is_an_infinite_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function is looked at, in both libraries."""
    monkeypatch.setattr(np, name, lambda x: np.full(np.shape(x), np.nan))
    monkeypatch.setattr(math, name, lambda x: math.nan)
    found = hs.doctor()
    assert found.measured[f"{name} (numpy)"] == found.measured[f"{name} (math)"] == math.inf
    assert found.to_json()["measured"][f"{name} (math)"] is None
    assert not found.sound


def test_points_reach_what_matters() -> None:
    """Subnormal values, next to overflow, next to 0 and to 1; an array whose end does not fill a vector."""
    x = doctor.EXPONENTS
    values = np.exp(x)
    assert ((values > 0) & (values < 2.0**-1022)).sum() > 3
    assert (values > 1e300).sum() > 2
    assert ((np.abs(x) < 2.0**-53) & (x != 0)).sum() > 20
    logs = doctor.LOGS
    assert (logs > 0).all()
    assert (logs < 2.0**-1022).any()
    assert (np.abs(logs - 1) < 1e-12).sum() > 10
    assert all(len(points) % 8 for _, points in FUNCTIONS.values())


IN_A_PROCESS = """
import ctypes, sys
libm = ctypes.CDLL("libm.so.6")
from hockeystick.numerics.doctor import _faults
if sys.argv[1] == "flush":
    state = ctypes.create_string_buffer(32)
    libm.fegetenv(state)
    word = int.from_bytes(state[28:32], "little") | int(sys.argv[2])
    state[28:32] = word.to_bytes(4, "little")
    libm.fesetenv(state)
else:
    libm.fesetround(int(sys.argv[2]))
found = list(_faults())
libm.fesetround(0)
print("; ".join(found))
"""


@ON_LINUX
@pytest.mark.parametrize(
    ("mode", "failure"),
    [("flush 32768", "puts 0 in place of subnormal numbers"), ("flush 64", "puts 0 in place of subnormal numbers"),
     ("round 1024", "does not round to nearest"), ("round 2048", "does not round to nearest"),
     ("round 3072", "does not round to nearest")],
    ids=["results flushed", "operands flushed", "down", "up", "towards 0"],
)  # fmt: skip
def test_another_mode_of_the_processor_is_found(mode: str, failure: str) -> None:
    """The control word of the processor really is set, in a process of its own."""
    command = [sys.executable, "-c", IN_A_PROCESS, *mode.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = done.stdout.strip().split("; ")
    assert any(line.startswith(f"Python {failure}") for line in found), done.stderr
    assert any(line.startswith(f"NumPy {failure}") for line in found), done.stderr


def test_matrices_multiplied_in_single_precision_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Coarse(np.ndarray[Any, Any]):
        def __matmul__(self, other: Any) -> Any:
            return (np.asarray(self, dtype=np.float32) @ np.asarray(other, dtype=np.float32)).astype(float)

    usual = np.full
    assert list(doctor._faults()) == []
    monkeypatch.setattr(np, "full", lambda *given: usual(*given).view(Coarse))
    assert list(doctor._faults()) == ["products of matrices are not computed in double precision"]


@pytest.fixture
def unsound(monkeypatch: pytest.MonkeyPatch) -> Diagnosis:
    """A diagnosis of a machine whose exponential function is off."""
    monkeypatch.setattr(np, "exp", exp_off_by(2.0 * ULPS, lambda x: np.ndim(x) and not np.iscomplexobj(x)))
    return hs.doctor()


def test_the_command_ends_with_status_3_and_a_line_for_each_failure(unsound: Diagnosis) -> None:
    said = run("doctor")
    assert said.exit_code == 3
    assert said.stdout.startswith("NOT sound: 2 assumptions of the certificate do not hold on this machine\n")
    assert sum(line.startswith("failed") for line in said.stdout.splitlines()) == 2
    assert "exp (numpy, strided arrays) errs by " in " ".join(said.stdout.split())
    as_json = run("doctor", "--json")
    assert as_json.exit_code == 3
    assert json.loads(as_json.stdout)["failures"] == list(unsound.failures)
    assert str(unsound).startswith("NOT within what is assumed: exp (numpy) errs by ")
    assert str(unsound).endswith(", and 1 more")


def test_a_sound_machine_has_status_0() -> None:
    said = run("doctor")
    assert said.exit_code == 0
    assert said.stdout.startswith("sound: this machine meets the assumptions of the certificate\n")
    assert all(line == line.rstrip() for line in said.stdout.splitlines())
    answer = json.loads(run("doctor", "--json").stdout)
    assert (answer["sound"], answer["failures"]) == (True, [])
    assert {"exp (numpy)", "log1p (math)"} <= set(answer["measured"])
    assert answer["versions"]["numpy"] == np.__version__
    assert answer["versions"]["python-flint"] == flint.__version__
