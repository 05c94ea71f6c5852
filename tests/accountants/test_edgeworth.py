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
    assert cumulants(loss, np.exp(log_p)) == pytest.approx([1.125, 2.25, 0, 0], abs=1e-11)
    values, weights = np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    assert cumulants(values, weights) == pytest.approx([0, 1, 0, -2])


@pytest.mark.parametrize("pair", [LaplacePair(1.0, 2.0), PoissonRemovePair(GaussianPair(1.0), 0.05)], ids=repr)
def test_cumulants_are_derivatives_of_the_log_moments(pair: LaplacePair | PoissonRemovePair) -> None:
    """``K(t) = sum k_j t^j / j!``: by a polynomial through small t."""
    loss, log_p = PrivacyCurve(pair).nodes
    k = cumulants(loss, np.exp(log_p))
    for t in (0.005, 0.01):
        series = sum(k[j - 1] * t**j / math.factorial(j) for j in range(1, 5))
        assert math.log(float(np.exp(log_p + t * loss).sum())) == pytest.approx(series, abs=1e-11)


def test_the_tail_of_a_gamma_law() -> None:
    """A sum of n exponentials has the cumulants ``n (j - 1)!``; error ``n^(-3/2)`` in the bulk."""
    errors = []
    for n in (50, 200):
        x = n + math.sqrt(n) * np.linspace(-2.0, 3.0, 30)
        found = tail(n * np.array([1.0, 1.0, 2.0, 6.0]), x)
        errors.append(float(np.abs(found - gammaincc(n, x)).max()))
    assert errors[0] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(8, rel=0.2)


def test_gaussian_rounds_need_no_correction() -> None:
    """All cumulants from the third on vanish: the estimate is exact."""
    plan = hs.Plan([hs.Round(hs.Gaussian(4.0), count=30)])
    found = plan.epsilon(1e-5, accountant="edgeworth")
    assert found.quoted == pytest.approx(plan.epsilon(1e-5).upper, rel=1e-6)


def test_it_is_nearer_than_the_central_limit_in_the_bulk() -> None:
    plan = hs.dp_sgd(1.0, 0.01, 10_000)
    truth = plan.epsilon(1e-3).upper
    error = abs(plan.epsilon(1e-3, accountant="edgeworth").quoted - truth)
    assert error < 0.03 < abs(plan.epsilon(1e-3, accountant="gdp").quoted - truth)


def test_small_deltas_are_beyond_it() -> None:
    """The error does not shrink with delta; the estimate may lie below the certified lower end."""
    plan = hs.Plan([hs.Round(hs.Laplace(10.0), count=50)])
    found = plan.epsilon(1e-9, accountant="edgeworth")
    assert found.quoted < 0.9 * plan.epsilon(1e-9).lower
    assert found.reason is not None


def test_a_negative_estimate_is_refused() -> None:
    plan = hs.Plan([hs.Round(hs.Laplace(10.0), count=50)])
    with pytest.raises(hs.UnsupportedError, match="negative"):
        plan.delta(4.0, accountant="edgeworth")


def test_doubts_are_said() -> None:
    """A lattice jumps; a delta below what black boxes fail with has no epsilon."""
    found = hs.Plan([hs.Round(hs.RandomizedResponse(0.2), count=40)]).epsilon(1e-3, accountant="edgeworth")
    assert found.reason is not None
    assert "lattice" in found.reason
    lost = hs.Plan([hs.Round(hs.ApproximateDP(0.1, 1e-3), count=20)]).epsilon(1e-3, accountant="edgeworth")
    assert math.isinf(lost.quoted)
    assert lost.reason is not None
