"""Compositions whose many sampled Gaussian rounds a contour treats as one bundle (``engines/contour/bundle.py``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from hockeystick.pairs import Composition, DominatingPair
from hockeystick.pairs.gaussian import GaussianPair
from hockeystick.pairs.sampled.poisson import PoissonAddPair, PoissonRemovePair
from hockeystick.pairs.transform import Transform

if TYPE_CHECKING:
    from hockeystick.engines.contour.bundle import Bundle


def is_bundle(transform: Transform) -> TypeGuard[Bundle]:
    """True if a characteristic function is that of a bundle; works without loading the module of bundles."""
    return getattr(transform, "bundles", False)


class Bundled(NamedTuple):
    """A composition with one factor for many of its kinds.

    Attributes:
        transforms: the characteristic functions and counts; that of the bundle comes last, with count 1.
        bundle: the bundle.
        others: the rounds outside the bundle.
    """

    transforms: list[tuple[Transform, int]]
    bundle: Bundle
    others: list[tuple[DominatingPair, int]]

    def steering(self) -> Composition:
        """Return a composition of few kinds with about the same cumulants."""
        rows = self.bundle.few.rows
        made = PoissonAddPair if rows.add[0] else PoissonRemovePair
        few = zip(*(column.tolist() for column in (rows.mu, rows.rate, rows.count)), strict=True)
        return Composition([*self.others, *((made(GaussianPair(mu), rate), int(count)) for mu, rate, count in few)])


def bundled(composition: Composition) -> Bundled | None:
    """Return the composition with its sampled Gaussians bundled; ``None`` if kinds are few or rounds too many."""
    split = composition.bundle
    if split is None:
        return None
    from hockeystick.engines.contour.bundle import bundle_of  # late, as below: plans of few kinds have no bundle

    kinds, add, others = split
    transforms: list[tuple[Transform, int]] = []
    for pair, count in others:
        transform = pair.transform
        if transform is None:
            return None  # the engine then refuses this pair by name
        transforms.append((transform, count))
    bundle = bundle_of(kinds, add)
    return Bundled([*transforms, (bundle, 1)], bundle, others)
