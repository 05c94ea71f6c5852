"""What a pair declares its atoms to be off by is charged, alone and under every sampling of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from hockeystick import ACCOUNTANTS
from hockeystick.directions.directions import Directions
from hockeystick.pairs import DominatingPair, GaussianPair, WithoutReplacementPair
from hockeystick.pairs.base import Atoms
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair
from hockeystick.pairs.sides import Tight
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import NotApplicableError

LOSSES = np.array([-0.8, -0.3, 0.3, 0.8])
MASSES = np.array([1.0, 2.0, 2.0 * math.exp(0.3), math.exp(0.8)])
MASSES /= MASSES.sum()


@dataclass(frozen=True)
class Declared(DominatingPair):
    """A law of four losses, its own mirror image, that says it may be off."""

    units: float = 0.0
    slip: float = 0.0
    log_slip: float = 0.0
    error: float = 1e-15

    @property
    def atoms(self) -> Atoms:
        log_p = np.log(MASSES)
        return Atoms(LOSSES, log_p, log_p[::-1], self.units, np.full(4, self.slip), np.full(4, self.log_slip))

    @property
    def smooth(self) -> None:
        return None

    @property
    def loss_range(self) -> tuple[float, float]:
        return -0.8, 0.8

    @property
    def supremum_error(self) -> float:
        return self.error

    @property
    def mirror(self) -> Declared:
        return self

    def log_moment(self, t: Any) -> Any:
        return self.atoms.log_moment(t)


@pytest.mark.parametrize(
    ("errors", "least"), [({"slip": 1e-3}, 1e-4), ({"log_slip": 1e-3}, 1e-3), ({"units": 1e12}, 1e-5)]
)
@pytest.mark.parametrize("sampled", [None, PoissonRemovePair, PoissonAddPair, WithoutReplacementPair])
@pytest.mark.parametrize("count", [1, 30])
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside-noise"])
def test_declared_errors_widen_the_answer(
    errors: dict[str, float], least: float, sampled: Any, count: int, beside: bool
) -> None:
    """The interval is as wide as what the losses, or the masses, may be off by makes delta uncertain."""

    def width(pair: DominatingPair) -> float:
        pair = pair if sampled is None else sampled(pair, 0.5)
        noise = [(Tight(GaussianPair(1.0)), 1)] if beside else []
        rounds: Any = {Direction.REMOVE: [(Tight(pair), count), *noise]}
        found: Any = ACCOUNTANTS["auto"].delta(Directions.of_pairs(rounds), 0.2, None)
        return float((found.upper - found.lower) / found.upper)

    assert width(Declared()) < 1e-6
    assert width(Declared(**errors)) > least


ERRORS = [{"slip": 1e-3}, {"log_slip": 1e-3}, {"units": 1e12}]
SAMPLED = [PoissonRemovePair, PoissonAddPair, WithoutReplacementPair]


@pytest.mark.parametrize("errors", ERRORS, ids=str)
@pytest.mark.parametrize("sampled", SAMPLED)
def test_moments_of_samples_cover_what_the_base_may_be_off_by(errors: dict[str, float], sampled: Any) -> None:
    """K(t) is at least that of a law whose losses and masses are off by as much."""
    base, off = Declared(), Declared(**errors)
    for t in (0.5, 2.0, 30.0):
        shift = 1e-4 * t if "slip" in errors else 1e-6 * t if "units" in errors else 5e-4
        assert sampled(off, 0.5).log_moment(t) > sampled(base, 0.5).log_moment(t) + shift


@pytest.mark.parametrize("sampled", SAMPLED)
def test_the_largest_loss_of_a_sample_is_off_by_what_the_base_s_is(sampled: Any) -> None:
    """psi moves with the base's loss, by its slope ``q e^(l - psi)``; at the least loss for a record that is added."""
    off, rate = 1e-3, 0.5
    base = Declared(slip=off, error=off)
    end = -0.8 if sampled is PoissonAddPair else 0.8
    slope = rate * math.exp(end) / (1 - rate + rate * math.exp(end))
    assert off * slope <= sampled(base, rate).supremum_error <= 1.01 * off * slope


@pytest.mark.parametrize("errors", ERRORS[:2], ids=str)
@pytest.mark.parametrize("name", ["connect-the-dots", "privacy-buckets", "fourier"])
def test_methods_that_do_not_charge_them_refuse(errors: dict[str, float], name: str) -> None:
    rounds: Any = {Direction.REMOVE: [(Tight(Declared(**errors)), 30)]}
    with pytest.raises(NotApplicableError, match="declared errors"):
        ACCOUNTANTS[name].delta(Directions.of_pairs(rounds), 0.2, None)
