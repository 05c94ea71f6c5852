"""What accountants are asked about: the rounds of each direction of a neighbouring relation, and their compositions.

A plan makes its :class:`Directions`; so may a test, a notebook or another library, of pairs of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from hockeystick.pairs import Composition, DominatingPair, RenyiComposition, RenyiCurve
from hockeystick.pairs.exact import ExactRound
from hockeystick.values.adjacency import Adjacency, Direction
from hockeystick.values.domains import COUNT, shown, whole
from hockeystick.values.errors import InvalidInputError, NotApplicableError, UnsupportedError

T = TypeVar("T")  # what is composed in each direction

PATIENCE = 10.0
"""Seconds that a published method may take for the different rounds of one direction."""


class Kind(Protocol):
    """A kind of rounds: what is known of one of them in each direction."""

    def pair(self, direction: Direction) -> DominatingPair:
        """The dominating pair of one round.

        Raises:
            UnsupportedError: none is proven.
        """
        ...

    def curve(self, direction: Direction) -> RenyiCurve:
        """The Renyi curve of one round: that of its pair, or a bound where there is no pair.

        Raises:
            UnsupportedError: nothing is proven.
        """
        ...

    def exact(self, direction: Direction) -> ExactRound:
        """One round in exact numbers, for a proof.

        Raises:
            UnsupportedError: no dominating pair is proven, or no proof is implemented.
        """
        ...


@dataclass(frozen=True)
class Given:
    """A kind of rounds of which the pairs are given, or Renyi curves where there are none.

    Attributes:
        curves: what is known of one round in each direction.
    """

    curves: Mapping[Direction, RenyiCurve]

    def pair(self, direction: Direction) -> DominatingPair:
        """The pair, where it is one.

        Raises:
            UnsupportedError: only a Renyi curve was given.
        """
        found = self.curves[direction]
        if not isinstance(found, DominatingPair):
            raise UnsupportedError(
                f'only a Renyi curve is given of a round under {direction.value!r}: use accountant="rdp" or "auto"'
            )
        return found

    def curve(self, direction: Direction) -> RenyiCurve:
        """What was given of one round: its pair, or a Renyi curve.

        Raises:
            KeyError: nothing was given in that direction.
        """
        return self.curves[direction]

    def exact(self, direction: Direction) -> ExactRound:
        """Never known.

        Raises:
            UnsupportedError: always; a proof begins with exact numbers, which a pair in doubles is not.
        """
        raise UnsupportedError("no proof is implemented for pairs that are given in doubles; give a plan")


@dataclass(frozen=True)
class Directions:
    """The rounds that are composed, in each direction of a neighbouring relation.

    Attributes:
        adjacency: the neighbouring relation, which says what directions there are.
        kinds: each kind of rounds, and how often it is run; pairs are made when they are asked for.
        known_from_below: whether every pair is tight in every direction, so that there are bounds from below, too.
    """

    adjacency: Adjacency
    kinds: tuple[tuple[Kind, int], ...]
    known_from_below: bool = True

    @classmethod
    def of_pairs(
        cls, rounds: Mapping[Direction, Sequence[tuple[RenyiCurve, int]]], *, tight: bool = True
    ) -> Directions:
        """Rounds that are given by their pairs, or by Renyi curves, in each direction.

        Args:
            rounds: pair (or curve) and count of every kind of rounds, for each direction of a neighbouring relation;
                the kinds and their counts are the same in all of them, in the same order.
            tight: whether the pairs are what is meant, and not only dominate it: an answer has a lower end then, unless
                a round has no pair.

        Raises:
            InvalidInputError: directions of no neighbouring relation, kinds that do not go together, or no pairs.

        >>> from hockeystick import ACCOUNTANTS
        >>> from hockeystick.pairs import GaussianPair
        >>> given = Directions.of_pairs({Direction.REMOVE: [(GaussianPair(mu=0.1), 100)]})
        >>> round(float(ACCOUNTANTS["auto"].epsilon(given, 1e-6, None)), 4)
        4.8866
        """
        known = {frozenset(adjacency.directions): adjacency for adjacency in Adjacency}
        if frozenset(rounds) not in known:
            raise InvalidInputError(
                "rounds must be given for remove, for add, for both, or for replace-one; received "
                f"{shown(list(rounds))}",
                "rounds",
            )
        counts = {tuple(count for _, count in items) for items in rounds.values()}
        if len(counts) > 1:
            raise InvalidInputError("rounds must have the same counts in each direction, in the same order", "rounds")
        curves: list[object] = [curve for items in rounds.values() for curve, _ in items]
        if not all(isinstance(curve, RenyiCurve) for curve in curves):
            raise InvalidInputError("rounds must be given by pairs of hockeystick.pairs, or by Renyi curves", "rounds")
        checked = [whole(count, "rounds", COUNT.meaning) for count in next(iter(counts))]
        kinds = zip(*([(direction, curve) for curve, _ in items] for direction, items in rounds.items()), strict=True)
        pairs = all(isinstance(curve, DominatingPair) for curve in curves)
        given = tuple((Given(dict(kind)), count) for kind, count in zip(kinds, checked, strict=True))
        return cls(known[frozenset(rounds)], given, tight and pairs)

    def pairs(self, direction: Direction) -> list[tuple[DominatingPair, int]]:
        """The dominating pair and count of every kind of rounds in one direction.

        Raises:
            UnsupportedError: a round for which none is proven.
        """
        return [(kind.pair(direction), count) for kind, count in self.kinds]

    def curves(self, direction: Direction) -> list[tuple[RenyiCurve, int]]:
        """The Renyi curve and count of every kind of rounds in one direction; some have a curve and no pair.

        Raises:
            UnsupportedError: a round for which nothing is proven.
        """
        return [(kind.curve(direction), count) for kind, count in self.kinds]

    def rounds(self, direction: Direction) -> list[tuple[RenyiCurve, int]]:
        """What is known of every kind of rounds in one direction: its pair, or its Renyi curve where it has none.

        Raises:
            UnsupportedError: a round for which nothing is proven.
        """
        return [(_known(kind, direction), count) for kind, count in self.kinds]

    def exact(self, direction: Direction) -> list[tuple[ExactRound, int]]:
        """Every kind of rounds that is run at all in exact numbers, and its count, in one direction.

        Raises:
            UnsupportedError: a round for which no dominating pair is proven, or no proof is implemented.
        """
        return [(kind.exact(direction), count) for kind, count in self.kinds if count]


def _known(kind: Kind, direction: Direction) -> RenyiCurve:
    try:
        return kind.pair(direction)
    except UnsupportedError:
        return kind.curve(direction)  # which refuses where nothing is proven


def compositions(directions: Directions, *, many: bool = False) -> list[tuple[Direction, Composition]]:
    """The directions to compose; one stands for both where they are mirror images.

    Args:
        directions: what is composed.
        many: whether the method is one for any number of different rounds.

    Raises:
        UnsupportedError: a round for which no dominating pair is proven.
        NotApplicableError: so many different rounds would take too long one by one.
    """
    found = distinct(directions, lambda direction: Composition(directions.pairs(direction)))
    if not many:
        for _, composition in found:
            check_time(composition)
    return found


def mixed_compositions(directions: Directions) -> list[tuple[Direction, RenyiComposition]]:
    """The directions to compose, for methods that take pairs, and curves of rounds that have no pair.

    Returns:
        A :class:`Composition` in each direction where every round has a pair.

    Raises:
        UnsupportedError: a round for which nothing is proven.
    """

    def composed(direction: Direction) -> RenyiComposition:
        rounds = directions.rounds(direction)
        pairs = [(item, count) for item, count in rounds if isinstance(item, DominatingPair)]
        return Composition(pairs) if len(pairs) == len(rounds) else RenyiComposition(rounds)

    return distinct(directions, composed)


def renyi_compositions(directions: Directions) -> list[tuple[Direction, RenyiComposition]]:
    """The directions to compose, for methods that ask for nothing but moments, where a round need have no pair.

    Raises:
        UnsupportedError: a round for which nothing is proven.
        NotApplicableError: so many different rounds would take too long one by one.
    """
    found = distinct(directions, lambda direction: RenyiComposition(directions.curves(direction)))
    for _, composition in found:
        check_time(composition)
    return found


def check_time(composition: RenyiComposition) -> None:
    """Raise unless a method which treats each kind of rounds by itself ends in time.

    Raises:
        NotApplicableError: it would take too long.
    """
    seconds = sum(curve.seconds for curve, _ in composition.rounds)
    if seconds > PATIENCE:
        raise NotApplicableError(
            f"{len(composition.rounds)} different kinds of rounds would take about {seconds:.0f} s; give fewer kinds, "
            "for one by rounding the noise down to fewer values, or use accountant 'auto', which gathers pairs"
        )


def distinct(directions: Directions, composed: Callable[[Direction], T]) -> list[tuple[Direction, T]]:
    """What is composed in each direction; one stands for both where they are equal."""
    out: list[tuple[Direction, T]] = []
    for direction in directions.adjacency.directions:
        composition = composed(direction)
        if all(composition != other for _, other in out):
            out.append((direction, composition))
    return out
