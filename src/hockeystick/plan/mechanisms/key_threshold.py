"""Base of mechanisms that release each key, with its noisy count, if that count reaches a threshold.

Every key that a person in the dataset has gets a noisy count: its count, to which a person adds at most 1, plus
independent noise Z. The law of Z is symmetric, and either continuous (with a density) or integer (on the whole
numbers). A key whose noisy count is at least the threshold T is released with that count; other keys are not released.
Keys that nobody has are ignored; the threshold makes this private. A person has at most L keys in one release. If a
person has more, L of them are chosen independently of other people's data.

Integer noise is for counts that are whole numbers: a person adds 1 or 0 to a count. A noisy count is then at least T
exactly if it is at least T rounded up, and T below is this whole number. The law of Z has an atom at T - 1, so ``P(Z >=
T - 1)`` is larger than for a density. Two effects may go the other way: a threshold between whole numbers is rounded
up, and the losses of the pair A (below) are smaller. So neither kind of noise can replace the other.

**Two kinds of keys.** Remove a person. Keys that the person does not have do not change. The person's own keys are of
two kinds:

- a key that others also have is in both datasets, with counts that differ by c, ``0 < c <= 1``. Its release is a
post-processing of the noisy count: the pair A of the noise at distance 1 dominates;
- a key that nobody else has is never released if the person is absent. If the person is present it is released with
  probability ``P(c + Z >= T)``, at most ``p = P(1 + Z >= T)``: the pair B of the laws (1 - p, p) and (1, 0) on (not
  released, released) dominates, since a release has infinite loss, whatever its count.

**Above.** A pair that dominates both kinds is the product of A and R, where R reveals everything with probability p and
otherwise nothing: the worst (0, p)-differential privacy, with outcomes (yes, no, nothing) of masses ``(p, 0, 1 - p)``
and ``(0, p, 1 - p)``. A is the product with R ignored; B is R with "no" and "nothing" both read as "not released". The
noise of different keys is independent, so L keys of any kinds are dominated by ``(A x R)^L``, and rounds compose (Zhu,
Dong, Wang 2022 [ZDW22], Theorem 10), even if datasets depend on earlier releases.

**Below.** Two instances give lower bounds. If all keys of every round are of the first kind, the pair is ``A^L``; it is
approached as the counts of the other people grow beyond the threshold, where every noisy count is released. If all keys
are of the second kind, the pair is ``B^L``. For one key, the larger of the two curves is the truth. For several rounds,
the larger of the two compositions is below the composition of the larger curve, so the two ends differ: the upper end
of delta is the sum of two terms, and the lower end is their maximum.

**Replaced persons.** Replacing a person removes L keys and adds L others. The upper pair is ``(A x R)^2L``, as A and R
are their own mirror images. The lower pairs are ``A^2L``, and the product of ``B^L`` with L mirror images of B.

Such releases, and better thresholds, are described by Desfontaines, Voss, Gipson, Mandayam 2022 [DVGM22].
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from hockeystick.numerics.rounding import TINY
from hockeystick.pairs import BlackBoxPair, DominatingPair
from hockeystick.pairs.finite import FinitePair
from hockeystick.pairs.joint import JointPair
from hockeystick.pairs.sides import Between
from hockeystick.plan.mechanisms.base import MOST_PARTS, Claim, Mechanism, Property, Status, claims_of
from hockeystick.values.adjacency import Direction
from hockeystick.values.domains import Domain, Names, whole_numbers
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.exact import decimal

THRESHOLD = Domain(
    "a number from 1 to 1e9", {"minimum": 1, "maximum": 1e9}, "smallest noisy count at which a key is released"
)
"""Domain of the threshold: below 1, a person's own key is more likely released than not."""

KEYS = whole_numbers(1, MOST_PARTS).of("maximum number of keys that one person contributes to one release")
"""Domain of the number of one person's keys."""

INTEGER = "integer"

PREMISES: Mapping[str, str] = {
    "continuous": "the counts of keys get continuous noise; integer noise releases a key held by one person more often "
    'and needs the key noise = "integer"',
    INTEGER: "the counts of keys are whole numbers and get integer noise",
}
"""Premises of answers about the noise, by its kind."""

NOISE = Names(tuple(PREMISES), "continuous noise, or integer noise on whole-number counts")
"""Kinds of noise."""

WHY = "the upper end allows a mix of shared keys and keys held by one person, and the lower end has only one kind"

OWN_KEY = "a key held by one person is released"
"""Name of the event with infinite loss, in messages."""

_BRACKET = Claim(Status.BRACKET, "proof in plan/mechanisms/key_threshold.py")


@dataclass(frozen=True, slots=True)
class OwnKeyPair(BlackBoxPair):
    """Pair R, which reveals everything with some probability, and otherwise nothing."""

    failure: ClassVar[str] = OWN_KEY


class OwnKeyLaws(FinitePair):
    """Pair B: a person's own key, released or not, against the absent key."""

    failure: ClassVar[str] = OWN_KEY


class KeyThreshold(Mechanism):
    """Noisy counts of the keys whose noisy count reaches a threshold.

    Attributes:
        threshold: smallest noisy count that is released.
        keys: largest number of keys of one person in one release.
        noise: ``"continuous"`` or ``"integer"``.
    """

    threshold: float
    keys: int
    noise: str

    claims = claims_of(_BRACKET, _BRACKET)
    properties = frozenset({Property.JOINT, Property.INFINITE_LOSS})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise == INTEGER:
            self.check_integer()

    def check_integer(self) -> None:
        """Refuse nearly zero noise at a threshold of 1.

        Raises:
            InvalidInputError: a person's own key is released with a probability that rounds to 1.
        """
        if self.gap == 0 and self.alone()[1] >= 1:
            raise InvalidInputError(
                "threshold must be greater than 1 with so little noise; received 1, which would almost always "
                "release a key held by one person",
                "threshold",
            )

    @property
    def premises(self) -> Mapping[str, str]:
        """Assumption about the noise."""
        return {f"{self.noise} noise": PREMISES[self.noise]}

    @property
    def gap(self) -> Fraction:
        """Least noise that releases a key held by one person: T - 1, where T is rounded up for integer noise."""
        least = decimal(self.threshold)
        return (math.ceil(least) if self.noise == INTEGER else least) - Fraction(1)

    @property
    @abstractmethod
    def shared(self) -> DominatingPair:
        """Pair A of the module docstring: the noisy count of a key that others also have; the person adds 1 to it."""

    @abstractmethod
    def alone(self) -> tuple[float, float]:
        """Return a lower and an upper bound on p, the probability that a key held by one person is released."""

    @property
    def null_record(self) -> bool:
        """True: a person is replaced by removing keys and adding others, in one run or in two."""
        return True

    def pair(self, direction: Direction) -> JointPair:
        """Return a pair that dominates the release, whether a person shares keys with others or holds them alone."""
        keys = 2 * self.keys if direction is Direction.REPLACE_ONE else self.keys
        return JointPair(((self.shared, keys), (OwnKeyPair(0.0, max(self.alone()[1], TINY)), keys)))

    def known(self, direction: Direction) -> Between:
        """Return the upper pair, and two lower pairs: all keys held by several people, or all held by one person."""
        p, keys = Fraction(self.alone()[0]), self.keys
        gone = OwnKeyLaws((1 - p, p), (Fraction(1), Fraction(0)))
        if direction is Direction.REPLACE_ONE:
            shared = JointPair(((self.shared, 2 * keys),))
            below: tuple[DominatingPair, ...] = (shared, JointPair(((gone, keys), (gone.mirror, keys))), shared)
        else:
            one = gone.mirror if direction is Direction.ADD else gone
            below = JointPair(((self.shared, keys),)), JointPair(((one, keys),))
        return Between(self.pair(direction), below, WHY)
