"""Dominating pairs in one direction: atoms, a smooth part, and mass at infinite loss.

A pair of laws (P, Q) *dominates* a mechanism if ``delta(eps) <= H_{e^eps}(P || Q)`` for every eps (Zhu, Dong, Wang 2022
[ZDW22], Definition 7): no adversary tells two neighbouring datasets apart by an output of the mechanism better than P
from Q. The product of the pairs of several mechanisms dominates their composition (Theorem 10 of [ZDW22]). So an
engine, which computes bounds, needs only the pair of each mechanism in each direction.
"""

from typing import TYPE_CHECKING

from hockeystick.pairs.base import Atoms as Atoms
from hockeystick.pairs.base import DominatingPair as DominatingPair
from hockeystick.pairs.base import RenyiCurve as RenyiCurve
from hockeystick.pairs.base import SmoothPart as SmoothPart
from hockeystick.pairs.composition import Composition as Composition
from hockeystick.pairs.composition import RenyiComposition as RenyiComposition
from hockeystick.values.late import exports

LATE = {
    "AllocationPair": "sampled.allocation",
    "BlackBoxPair": "black_box",
    "GaussianPair": "gaussian",
    "LaplacePair": "laplace",
    "MixturePair": "mixture",
    "PoissonAddPair": "sampled.poisson",
    "PoissonRemovePair": "sampled.poisson",
    "PoissonSubstitutionPair": "sampled.replaced_gaussian",
    "WithoutReplacementCurve": "sampled.fixed_size",
    "WithoutReplacementPair": "sampled.fixed_size_pair",
}
"""Module of each pair, imported only when a plan contains such a round or the name is used."""

if TYPE_CHECKING:
    from hockeystick.pairs.black_box import BlackBoxPair as BlackBoxPair
    from hockeystick.pairs.gaussian import GaussianPair as GaussianPair
    from hockeystick.pairs.laplace import LaplacePair as LaplacePair
    from hockeystick.pairs.mixture import MixturePair as MixturePair
    from hockeystick.pairs.sampled.allocation import AllocationPair as AllocationPair
    from hockeystick.pairs.sampled.fixed_size import WithoutReplacementCurve as WithoutReplacementCurve
    from hockeystick.pairs.sampled.fixed_size_pair import WithoutReplacementPair as WithoutReplacementPair
    from hockeystick.pairs.sampled.poisson import PoissonAddPair as PoissonAddPair
    from hockeystick.pairs.sampled.poisson import PoissonRemovePair as PoissonRemovePair
    from hockeystick.pairs.sampled.replaced_gaussian import PoissonSubstitutionPair as PoissonSubstitutionPair
else:
    __getattr__ = exports(__name__, LATE)
