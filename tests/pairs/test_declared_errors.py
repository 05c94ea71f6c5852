"""What a pair declares its atoms to be off by is charged, alone and under every sampling of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from hockeystick import ACCOUNTANTS
from hockeystick.directions.directions import Directions
from hockeystick.pairs import DominatingPair, moment
from hockeystick.pairs.base import Atoms
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair
from hockeystick.pairs.sides import Tight
from hockeystick.values.adjacency import Direction

LOSSES = np.array([-0.8, -0.3, 0.3, 0.8])
MASSES = np.array([1.0, 2.0, 2.0 * math.exp(0.3), math.exp(0.8)])
MASSES /= MASSES.sum()


@dataclass(frozen=True)
class Declared(DominatingPair):
    """A law of four losses, its own mirror image, that says it may be off."""

    units: float = 0.0
    slip: float = 0.0
    log_slip: float = 0.0

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
        return 1e-15

    @property
    def mirror(self) -> Declared:
        return self

    def log_moment(self, t: Any) -> Any:
        atoms = self.atoms
        return moment.atoms(atoms.loss + self.slip, atoms.log_p + self.log_slip, t, atoms.units)


@pytest.mark.parametrize(
    ("errors", "least"), [({"slip": 1e-3}, 1e-4), ({"log_slip": 1e-3}, 1e-3), ({"units": 1e12}, 1e-5)]
)
@pytest.mark.parametrize("sampled", [None, PoissonRemovePair, PoissonAddPair])
@pytest.mark.parametrize("count", [1, 30])
def test_declared_errors_widen_the_answer(errors: dict[str, float], least: float, sampled: Any, count: int) -> None:
    """The interval is as wide as what the losses, or the masses, may be off by makes delta uncertain."""

    def width(pair: DominatingPair) -> float:
        pair = pair if sampled is None else sampled(pair, 0.5)
        rounds: Any = {Direction.REMOVE: [(Tight(pair), count)]}
        found: Any = ACCOUNTANTS["auto"].delta(Directions.of_pairs(rounds), 0.2, None)
        return float((found.upper - found.lower) / found.upper)

    assert width(Declared()) < 1e-6
    assert width(Declared(**errors)) > least
