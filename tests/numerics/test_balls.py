"""Ball arithmetic: the normal tail far out, where the error function of balls loses its bits."""

from __future__ import annotations

import pytest

pytest.importorskip("flint")

from flint import arb

from hockeystick.numerics.balls import FAR_OUT, mills_ratio, normal_tail, precision


def _by_error_function(x: arb) -> arb:
    return (x / arb(2).sqrt()).erfc() / 2


@pytest.mark.parametrize("x", [FAR_OUT + 1, 20_000, 40_000, 70_000])
@pytest.mark.parametrize("bits", [64, 128, 1024])
def test_normal_tail_far_out(x: int, bits: int) -> None:
    """The ball of the error function with 4,000 bits lies in it, and it is as narrow as the precision allows."""
    with precision(4000):
        known = _by_error_function(arb(x))
    with precision(bits):
        found = normal_tail(arb(x))
        assert found.rel_accuracy_bits() > bits - 8
    assert found.contains(known)


@pytest.mark.parametrize("x", [2**20, 2**34, 1e100])
def test_normal_tail_keeps_its_bits(x: float) -> None:
    """With bits for the exponent, whose square the tail is the exponential of, it is known to the others."""
    with precision(1024):
        assert normal_tail(arb(x)).rel_accuracy_bits() > 1000


@pytest.mark.parametrize("x", [1.5, 3.0, 10.0, 200.0])
def test_mills_ratio_holds_the_quotient(x: float) -> None:
    """Where few parts of the continued fraction leave a wide ball as where they do not."""
    with precision(512):
        density = (-(arb(x) ** 2) / 2).exp() / (2 * arb.pi()).sqrt()
        known = _by_error_function(arb(x)) / density
    with precision(64):
        assert mills_ratio(arb(x)).contains(known)
