"""What check_pair refuses: pairs that every engine takes, and certifies a number of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.directions.directions import Directions
from hockeystick.pairs import DominatingPair, GaussianPair, PoissonRemovePair
from hockeystick.pairs.base import Atoms
from hockeystick.pairs.check import check_pair
from hockeystick.pairs.sampled import poisson

LOSS = np.array([-1.0, -0.2, 0.2, 1.0])
LOG_Q = np.log(np.array([4.0, 3.0, 3 * math.exp(-0.2), 4 * math.exp(-1.0)]))
LOG_Q -= np.log(np.exp(LOG_Q).sum())


@dataclass(frozen=True)
class Given(DominatingPair):
    """A law of four losses, its own mirror image, and what is wrong with it."""

    scaled: float = 1.0
    moved: float = 0.0
    reach: float = 1.0
    units: float = 0.0
    slip: float = 0.0
    log_slip: float = 0.0
    raised: float = 0.0
    largest: float = 1.0

    @property
    def atoms(self) -> Atoms:
        log = math.log(self.scaled)
        return Atoms(
            LOSS + self.moved,
            LOG_Q + LOSS + log,
            LOG_Q + log,
            self.units,
            np.full(4, self.slip),
            np.full(4, self.log_slip),
        )

    @property
    def smooth(self) -> None:
        return None

    @property
    def loss_range(self) -> tuple[float, float]:
        return -self.reach, self.reach

    @property
    def exact_supremum(self) -> Any:
        return self.largest if self.largest != 1.0 else None

    @property
    def rho(self) -> float:
        return 1.0

    def log_moment(self, t: float) -> float:
        return self.atoms.log_moment(t) + self.raised


def test_a_law_passes() -> None:
    check_pair(Given())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"scaled": 0.8}, "the mass of P must be 1 .* received 0.8"),
        ({"scaled": 1.3}, "the mass of P must be 1 .* received 1.3"),
        ({"moved": 0.2, "reach": 1.2}, r"atoms.loss\[0\] must be log_p - log_q .* received -0.8, .* gives -1.0"),
        ({"reach": 0.2}, r"loss_range must be a range that holds all finite losses; received \(-0.2, 0.2\)"),
        ({"raised": -0.01}, "log_moment at t = 0.1 must be at least"),
        ({"largest": 0.5}, "exact_supremum must be the upper end of loss_range; received 0.5"),
        ({"scaled": math.nan}, "atoms.loss"),
    ],
)
def test_nonsense_is_refused_that_every_engine_takes(wrong: dict[str, float], said: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=f"Given: {said}"):
        check_pair(Given(**wrong))
    rounds: Any = {hs.Direction.REMOVE: [(Given(**wrong), 30)]}
    if wrong.keys() & {"moved", "reach"}:
        assert hs.ACCOUNTANTS["auto"].epsilon(Directions.of_pairs(rounds), 1e-3, None).ends


@pytest.mark.parametrize("declared", [{"slip": 2e-3}, {"log_slip": 2e-3}, {"units": 1e14}])
def test_losses_may_be_off_by_what_is_declared(declared: dict[str, float]) -> None:
    moved = {"moved": 1e-3, "reach": 1.001, "raised": 0.01}
    check_pair(Given(**moved, **declared))
    with pytest.raises(hs.InvalidInputError, match=r"atoms.loss\[0\]"):
        check_pair(Given(**moved))


def test_errors_that_a_sample_drops_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = poisson._mixed_atoms

    def dropped(atoms: Atoms, rate: float) -> Atoms:
        made = mixed(atoms, rate)
        return Atoms(made.loss, made.log_p, made.log_q)

    off = Given(moved=1e-3, reach=1.001, slip=2e-3, raised=0.01)
    check_pair(off)
    monkeypatch.setattr(poisson, "_mixed_atoms", dropped)
    with pytest.raises(hs.InvalidInputError, match=f"{PoissonRemovePair.__name__}: atoms.loss"):
        check_pair(off)


class Bent:
    """Normal densities whose losses are wrong by a factor."""

    def __init__(self, factor: float) -> None:
        self._whole, self._factor = GaussianPair(1.0).smooth, factor

    def loss(self, x: Any) -> Any:
        return self._factor * self._whole.loss(x)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (1.0, None),
        (1.001, "the mass of Q must be 1"),
        (-1.0, "smooth.loss must be increasing in x; received values that decrease"),
    ],
)
def test_losses_of_densities_increase_and_make_a_law_of_q(
    factor: float, said: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = GaussianPair(1.0)
    monkeypatch.setattr(GaussianPair, "smooth", Bent(factor))
    if said is None:
        check_pair(pair)
        return
    with pytest.raises(hs.InvalidInputError, match=said):
        check_pair(pair)
