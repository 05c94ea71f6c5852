"""The Edgeworth accountant: cumulants and expansion against closed forms, its gain in the bulk, its failure beyond."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammaincc

import hockeystick as hs
from hockeystick.accountants.edgeworth import cumulants, tail
from hockeystick.accountants.shared.privacy_curve import PrivacyCurve
from hockeystick.pairs import GaussianPair, LaplacePair, PoissonRemovePair


def test_cumulants_of_known_laws() -> None:
    loss, log_p = PrivacyCurve(GaussianPair(1.5)).nodes
    assert cumulants(loss, np.exp(log_p)) == pytest.approx([1.125, 2.25, 0, 0, 0], abs=1e-11)
    values, weights = np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    assert cumulants(values, weights) == pytest.approx([0, 1, 0, -2, 0])


@pytest.mark.parametrize("pair", [LaplacePair(1.0, 2.0), PoissonRemovePair(GaussianPair(1.0), 0.05)], ids=repr)
def test_cumulants_are_derivatives_of_the_log_moments(pair: LaplacePair | PoissonRemovePair) -> None:
    """``K(t) = sum k_j t^j / j!``: by a polynomial through small t."""
    loss, log_p = PrivacyCurve(pair).nodes
    k = cumulants(loss, np.exp(log_p))
    for t in (0.01, 0.02):
        series = sum(k[j - 1] * t**j / math.factorial(j) for j in range(1, 6))
        assert math.log(float(np.exp(log_p + t * loss).sum())) == pytest.approx(series, abs=1e-11)


def test_each_order_brings_the_tail_of_a_gamma_law_nearer() -> None:
    """A sum of n exponentials has the cumulants ``n (j - 1)!``; error ``n^(-(order + 1)/2)`` in the bulk."""
    n, x = 50, np.linspace(35.0, 70.0, 30)
    law = n * np.array([1.0, 1.0, 2.0, 6.0, 24.0])
    errors = [float(np.abs(tail(law, x, order) - gammaincc(n, x)).max()) for order in range(4)]
    assert errors == sorted(errors, reverse=True)
    assert errors[3] < 1e-4 < 1e-2 < errors[0]


def test_gaussian_rounds_need_no_correction() -> None:
    """All cumulants from the third on vanish: the estimate is exact at every order."""
    plan = hs.Plan([hs.Round(hs.Gaussian(4.0), count=30)])
    for order in range(4):
        found = plan.epsilon(1e-5, accountant="edgeworth", order=order)
        assert found.quoted == pytest.approx(plan.epsilon(1e-5).upper, rel=1e-6)


def test_the_second_order_is_nearer_than_the_central_limit_in_the_bulk() -> None:
    plan = hs.dp_sgd(1.0, 0.01, 10_000)
    truth = plan.epsilon(1e-3).upper
    errors = [abs(plan.epsilon(1e-3, accountant="edgeworth", order=order).quoted - truth) for order in range(4)]
    assert errors == sorted(errors, reverse=True)
    assert errors[2] < 0.03 < abs(plan.epsilon(1e-3, accountant="gdp").quoted - truth)
    assert errors[3] < 2e-3


def test_small_deltas_are_beyond_it() -> None:
    """The error does not shrink with delta; the estimate may lie below the certified lower end."""
    plan = hs.Plan([hs.Round(hs.Laplace(10.0), count=50)])
    found = plan.epsilon(1e-9, accountant="edgeworth")
    assert found.quoted < 0.9 * plan.epsilon(1e-9).lower
    assert found.reason is not None


def test_a_negative_estimate_is_refused() -> None:
    plan = hs.Plan([hs.Round(hs.Laplace(10.0), count=50)])
    with pytest.raises(hs.UnsupportedError, match="negative"):
        plan.delta(3.0, accountant="edgeworth", order=1)


def test_doubts_are_said() -> None:
    """A lattice jumps; a delta below what black boxes fail with has no epsilon."""
    found = hs.Plan([hs.Round(hs.RandomizedResponse(0.2), count=40)]).epsilon(1e-3, accountant="edgeworth")
    assert found.reason is not None
    assert "lattice" in found.reason
    lost = hs.Plan([hs.Round(hs.ApproximateDP(0.1, 1e-3), count=20)]).epsilon(1e-3, accountant="edgeworth")
    assert math.isinf(lost.quoted)
    assert lost.reason is not None


def test_the_order_is_checked() -> None:
    with pytest.raises(hs.InvalidInputError, match="order"):
        hs.dp_sgd(1.0, 0.01, 10).epsilon(1e-5, accountant="edgeworth", order=4)
