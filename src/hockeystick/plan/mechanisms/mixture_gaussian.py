"""Gaussian noise on a sum to which a person contributes a random amount: a mixture of Gaussians."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from hockeystick.pairs import DominatingPair, GaussianPair, PoissonRemovePair
from hockeystick.pairs.mixture import MixturePair
from hockeystick.plan.mechanisms.base import AS_ABSENT, MOST_LISTED, Claim, Mechanism, Status, claims_of, refused
from hockeystick.values import domains
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import NOISE, Domain, list_of
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.exact import decimal

MISSING = Fraction(1, 10**12)
"""Largest deviation from 1 of the probabilities' sum, as of decimals of a few digits."""

SENSITIVITY = Domain("0 or a number from 1e-6 to 2^20", domains.SENSITIVITY.keywords, also=0.0)
"""Domain of a shift of the sum, in units of the clipping norm."""

CHANCE = Domain("0 or a number from 1e-100 to 1", {"minimum": 1e-100, "maximum": 1}, also=0.0)
"""Domain of the probability of a sensitivity."""

_TIGHT = Claim(Status.TIGHT, "proof in pairs/mixture.py")

_REPLACED = refused(
    "no pair is proven for replacing one randomly contributing person by another; use adjacency 'add-or-remove'"
)


@dataclass(frozen=True)
class MixtureGaussian(Mechanism):
    """Normal noise on a sum that a person moves by at most c_k in L2 norm with probability p_k.

    The shift is drawn anew in every round. A user with K records, each of which enters the batch with probability q,
    moves the sum by at most k with the probability of k under Binomial(K, q).

    Args:
        sensitivities: shifts c_k, in units of the clipping norm; 0 for no contribution.
        probabilities: probabilities p_k in the same order. Their sum must be within 1e-12 of 1; they are divided by it.
        noise_multiplier: standard deviation of the noise divided by the clipping norm; greater than 0.

    Raises:
        InvalidInputError: a value is outside its domain, the lists differ in length, or a sum is not 1.

    >>> MixtureGaussian([0, 1, 2], [0.25, 0.375, 0.375], noise_multiplier=2.0).pair(Direction.REMOVE)
    PoissonRemovePair(base=MixturePair(shifts=(0.5, 1.0), weights=(0.5, 0.5), mirrored=False, missing=0.0), rate=0.75)
    """

    sensitivities: Annotated[
        tuple[float, ...],
        list_of(SENSITIVITY, most=MOST_LISTED).of("possible contributions of a person to the sum, in clipping norms"),
    ]
    probabilities: Annotated[tuple[float, ...], list_of(CHANCE, most=MOST_LISTED).of("probability of each sensitivity")]
    noise_multiplier: Annotated[float, NOISE.of("standard deviation of the noise / norm bound C of one record")]

    name = "mixture-gaussian"
    claims = claims_of(_TIGHT, _REPLACED)
    zeroed = AS_ABSENT

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_lengths("probabilities", "sensitivities")
        total = sum(map(decimal, self.probabilities), Fraction(0))
        if abs(total - 1) > MISSING:
            raise InvalidInputError(
                f"probabilities must add up to 1, to within 1e-12; received a sum of {float(total)!r}", "probabilities"
            )
        rest, shifts = self._law()
        if not shifts:
            raise InvalidInputError(
                "at least one sensitivity must be greater than 0 and have a probability greater than 0",
                "sensitivities",
            )
        if (rest and 1 - float(rest) == 1) or float(rest) == 1:
            raise InvalidInputError(
                "the probability of sensitivity 0 must be 0, or differ from 0 and 1 by more than rounding",
                "probabilities",
            )

    def _law(self) -> tuple[Fraction, dict[float, Fraction]]:
        """Return the probability of no shift, and the probabilities of the other shifts in increasing order.

        The other shifts are in units of the noise.
        """
        total = sum(map(decimal, self.probabilities), Fraction(0))
        noise = decimal(self.noise_multiplier)
        shifts: dict[float, Fraction] = {}
        for sensitivity, probability in zip(self.sensitivities, self.probabilities, strict=True):
            if probability:  # shifts that are equal once rounded: their weights add up
                shift = float(decimal(sensitivity) / noise)
                shifts[shift] = shifts.get(shift, Fraction(0)) + decimal(probability) / total
        return shifts.pop(0.0, Fraction(0)), dict(sorted(shifts.items()))

    def pair(self, direction: Direction) -> DominatingPair:
        """Return the mixture against N(0, 1), or the reverse."""
        pair = self.with_against_without()
        mirror = pair.mirror
        assert mirror is not None  # the pairs of normal noise all have one
        return mirror if direction is Direction.ADD else pair

    def with_against_without(self) -> DominatingPair:
        """Return the mixture against N(0, 1): shifted terms, sampled at the probability that some shift occurs."""
        rest, shifts = self._law()
        some = 1 - rest
        weights = tuple(float(weight / some) for weight in shifts.values())
        shifted = GaussianPair(*shifts) if len(shifts) == 1 else MixturePair(tuple(shifts), weights)
        return PoissonRemovePair(shifted, float(some)) if rest else shifted
