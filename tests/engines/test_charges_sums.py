"""Charges on sums of losses that are listed, on inputs where they decide: atoms that admit to be off."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from hockeystick.engines.direct import DirectEngine
from hockeystick.pairs import Composition
from hockeystick.pairs.base import Atoms, DominatingPair
from hockeystick.pairs.closed_transforms import AtomTransform


@dataclass(frozen=True)
class Doubtful(DominatingPair):
    """Losses 1 and -1, whose losses and masses may be off by some amounts."""

    slip: float = 0.0
    log_slip: float = 0.0

    @property
    def atoms(self) -> Atoms:
        """The two losses."""
        high, low = -math.log1p(math.exp(-1)), -math.log1p(math.exp(1))
        log_p = np.array([low, high])
        return Atoms(np.array([-1.0, 1.0]), log_p, log_p[::-1], 0.0, self.slip, self.log_slip)

    @property
    def smooth(self) -> None:
        """None: all losses are atoms."""

    @property
    def loss_range(self) -> tuple[float, float]:
        """The two losses."""
        return -1.0, 1.0

    def log_moment(self, t: float) -> float:
        """Never asked here."""
        raise NotImplementedError


def ends(pair: Doubtful, epsilon: float) -> tuple[float, float]:
    found = DirectEngine(Composition([(pair, 3)])).log_delta(epsilon, None)
    return math.exp(found.lower), math.exp(found.upper)


def delta(epsilon: float, moved: float) -> float:
    """Of three rounds whose losses are all off by ``moved``."""
    p = 1 / (1 + math.exp(-1))
    masses = [(3 - 2 * n, math.comb(3, n) * p ** (3 - n) * (1 - p) ** n) for n in range(4)]
    return math.fsum(-mass * math.expm1(min(epsilon - loss - 3 * moved, 0.0)) for loss, mass in masses)


def test_what_the_losses_of_a_round_may_be_off_by_is_charged() -> None:
    """Three rounds may be off by three times as much, and no more is charged."""
    low, high = ends(Doubtful(slip=1e-3), 0.5)
    assert low <= delta(0.5, -1e-3) * (1 + 1e-12)
    assert high >= delta(0.5, 1e-3) * (1 - 1e-12)
    assert low == pytest.approx(delta(0.5, -1e-3), rel=1e-6)
    assert high == pytest.approx(delta(0.5, 1e-3), rel=1e-6)


def test_what_the_masses_of_a_round_may_be_off_by_is_charged() -> None:
    low, high = ends(Doubtful(log_slip=1e-3), 0.5)
    assert low == pytest.approx(delta(0.5, 0.0) * math.exp(-3e-3), rel=1e-6)
    assert high == pytest.approx(delta(0.5, 0.0) * math.exp(3e-3), rel=1e-6)


def test_light_atoms_are_charged() -> None:
    """Many atoms, each too light to be told from rounding, and together of twice the weight of rounding."""
    many = 200_000
    loss = np.concatenate([[0.0], np.full(many, 0.0)])
    log_p = np.concatenate([[0.0], np.full(many, -50.5)])
    line = AtomTransform(tuple(loss), tuple(log_p)).line(1.0, 1.0, 1e-9)
    value, error = line.cumulants(1.0, 1)
    light = many * math.exp(-50.5)
    assert len(line.loss) == 1
    assert line.lost >= light * (1 - 1e-12)
    alone = AtomTransform((0.0,), (0.0,)).line(1.0, 1.0, 1e-9).cumulants(1.0, 1)[1]
    assert error[0] - alone[0] >= 0.9 * light
    assert value[0].real + error[0] >= math.log1p(light)
