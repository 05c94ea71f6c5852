"""What accountants are asked about: the rounds of each direction of a neighbouring relation, and their compositions.

A plan makes its :class:`Directions`; so may a test, a notebook or another library, of pairs of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

from hockeystick.directions.kind import Kind as Kind
from hockeystick.pairs import Composition, DominatingPair, RenyiComposition, RenyiCurve
from hockeystick.pairs.sides import Above, Between, Known, Tight
from hockeystick.values.adjacency import Adjacency, Direction
from hockeystick.values.domains import COUNT, shown, whole
from hockeystick.values.errors import InvalidInputError, NotApplicableError, UnsupportedError

if TYPE_CHECKING:
    from hockeystick.pairs.exact import ExactRound

T = TypeVar("T")  # what is composed in each direction

PATIENCE = 2.0
"""Seconds that a published method may take for the different rounds of one direction, half of what a call may take."""


@dataclass(frozen=True)
class Directions:
    """The rounds that are composed, in each direction of a neighbouring relation.

    Attributes:
        adjacency: the neighbouring relation, which says what directions there are.
        kinds: each kind of rounds, and how often it is run; pairs are made when they are asked for, and kept.
    """

    adjacency: Adjacency
    kinds: tuple[tuple[Kind, int], ...]

    @classmethod
    def of_pairs(
        cls, rounds: Mapping[Direction, Sequence[tuple[Known | RenyiCurve, int]]], *, tight: bool = True
    ) -> Directions:
        """Rounds that are given by their pairs, or by Renyi curves, in each direction.

        Args:
            rounds: pair (or curve, or pairs with their sides) and count of every kind of rounds, for each direction of
                a neighbouring relation; the kinds and their counts are the same in all of them, in the same order.
            tight: whether pairs without a side are what is meant, and not only dominate it: an answer has a lower end
                then, unless a round has no pair.

        Raises:
            InvalidInputError: directions of no neighbouring relation, kinds that do not go together, or no pairs.

        >>> from hockeystick import ACCOUNTANTS
        >>> from hockeystick.pairs import GaussianPair
        >>> given = Directions.of_pairs({Direction.REMOVE: [(GaussianPair(mu=0.1), 100)]})
        >>> round(float(ACCOUNTANTS["auto"].epsilon(given, 1e-6, None)), 4)
        4.8866
        """
        from hockeystick.directions.kinds import Given  # late: plans have kinds of their own

        known = {frozenset(adjacency.directions): adjacency for adjacency in Adjacency}
        if frozenset(rounds) not in known:
            raise InvalidInputError(
                "rounds must be given for remove, for add, for both, for replace-one, or for zero-out and restore; "
                f"received {shown(list(rounds))}",
                "rounds",
            )
        counts = {tuple(count for _, count in items) for items in rounds.values()}
        if len(counts) > 1:
            raise InvalidInputError("rounds must have the same counts in each direction, in the same order", "rounds")
        checked = [whole(count, "rounds", COUNT.meaning) for count in next(iter(counts))]
        side = Tight if tight else Above
        sided = ([(direction, _sided(item, side)) for item, _ in items] for direction, items in rounds.items())
        kinds = zip(zip(*sided, strict=True), checked, strict=True)
        return cls(known[frozenset(rounds)], tuple((Given(dict(kind)), count) for kind, count in kinds))

    @cached_property
    def _kept(self) -> dict[Direction, list[Known | None]]:
        return {}

    def _found(self, direction: Direction) -> list[Known | None]:
        """What is known of each kind in one direction; ``None`` of those without a pair."""
        if direction not in self._kept:
            self._kept[direction] = [_pairs_of(kind, direction) for kind, _ in self.kinds]
        return self._kept[direction]

    def known(self, direction: Direction) -> list[tuple[Known, int]]:
        """The pairs with their sides and the count of every kind of rounds in one direction.

        Raises:
            UnsupportedError: a round for which no dominating pair is proven.
        """
        found = zip(self._found(direction), self.kinds, strict=True)
        return [(kind.known(direction) if known is None else known, count) for known, (kind, count) in found]

    @cached_property
    def tight(self) -> bool:
        """Whether the pair of every round is tight in every direction: then one composition has both ends."""
        return self._all(Tight)

    @cached_property
    def known_from_below(self) -> bool:
        """Whether something is known from below of every round in every direction: then there is a lower end."""
        return self.tight or self._all(Tight, Between)

    @property
    def why(self) -> str:
        """Why some rounds have one pair above and another one below; empty where none has."""
        return "; ".join(dict.fromkeys(known.why for known in self._run() if isinstance(known, Between)))

    def _all(self, *sides: type[Tight] | type[Between]) -> bool:
        return all(isinstance(known, sides) for known in self._run())

    def _run(self) -> Iterator[Known | None]:
        """What is known of each kind that is run at all, in every direction."""
        for direction in self.adjacency.directions:
            for known, (_, count) in zip(self._found(direction), self.kinds, strict=True):
                if count:
                    yield known

    def pairs(self, direction: Direction) -> list[tuple[DominatingPair, int]]:
        """The dominating pair and count of every kind of rounds in one direction; of a product those of its factors.

        Raises:
            UnsupportedError: a round for which none is proven.
        """
        found = [(known.above, count) for known, count in self.known(direction)]
        return [(cast(DominatingPair, part), times * count) for pair, count in found for part, times in pair.factors]

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
        found = zip(self._found(direction), self.kinds, strict=True)
        return [
            item
            for known, (kind, count) in found
            for item in ([(kind.curve(direction), count)] if known is None else _together(known, count))
        ]

    def together(self, direction: Direction) -> list[tuple[DominatingPair, int]]:
        """As :meth:`pairs`, with one pair for several rounds where that is known to be smaller than their composition.

        Raises:
            UnsupportedError: a round for which no dominating pair is proven.
        """
        found = [item for known, count in self.known(direction) for item in _together(known, count)]
        return [(cast(DominatingPair, part), times * count) for pair, count in found for part, times in pair.factors]

    def moments(self, direction: Direction) -> RenyiComposition | None:
        """The Renyi curves of all rounds in one direction; ``None`` where they are those of the pairs."""
        found = zip(self._found(direction), self.kinds, strict=True)
        if not any(isinstance(known, Between) and known.curve is not None and count for known, (_, count) in found):
            return None
        return RenyiComposition(self.curves(direction))

    def exact(self, direction: Direction) -> list[tuple[ExactRound, int]]:
        """Every kind of rounds that is run at all in exact numbers, and its count, in one direction.

        Raises:
            UnsupportedError: a round for which no dominating pair is proven, or no proof is implemented.
        """
        return [(kind.exact(direction), count) for kind, count in self.kinds if count]


def _together(known: Known, count: int) -> Sequence[tuple[DominatingPair, int]]:
    """Pairs that dominate so many rounds of one kind, and how often each."""
    found = known.together(count) if isinstance(known, Between) and known.together is not None else ()
    return found or [(known.above, count)]


def _pairs_of(kind: Kind, direction: Direction) -> Known | None:
    try:
        return kind.known(direction)
    except UnsupportedError:
        return None


def _sided(given: object, side: type[Tight] | type[Above]) -> Known | RenyiCurve:
    """A pair with its side, which is that of all where it is given none.

    Raises:
        InvalidInputError: it is neither a pair nor a Renyi curve.
    """
    if isinstance(given, DominatingPair):
        return side(given)
    if isinstance(given, Known | RenyiCurve):
        return given
    raise InvalidInputError("rounds must be given by pairs of hockeystick.pairs, or by Renyi curves", "rounds")


def compositions(
    directions: Directions, *, many: bool = False, together: bool = False, effort: float = 1.0
) -> list[tuple[Direction, Composition]]:
    """The directions to compose; one stands for both where they are mirror images.

    Args:
        directions: what is composed.
        many: whether the method is one for any number of different rounds.
        together: whether several rounds may have one pair, which no longer tells of one round by itself.
        effort: what the method takes for one kind of rounds, in units of what moments of it take.

    Raises:
        UnsupportedError: a round for which no dominating pair is proven.
        NotApplicableError: so many different rounds would take too long one by one.
    """
    pairs = directions.together if together else directions.pairs
    found = distinct(directions, lambda direction: Composition(pairs(direction)))
    if not many:
        for _, composition in found:
            check_time(composition, effort=effort)
    return found


def mixed_compositions(directions: Directions) -> list[tuple[Direction, RenyiComposition]]:
    """The directions to compose, for methods that take pairs, and curves of rounds that have no pair.

    Returns:
        A :class:`Composition` in each direction where every round has a pair.

    Raises:
        UnsupportedError: a round for which nothing is proven.
    """

    return distinct(directions, lambda direction: _mixed(directions, direction))


def first_composition(directions: Directions) -> RenyiComposition:
    """What is composed in the first direction, as :func:`mixed_compositions` has it, for guesses that take it alone.

    Raises:
        UnsupportedError: a round for which nothing is proven.
    """
    return _mixed(directions, directions.adjacency.directions[0])


def _mixed(directions: Directions, direction: Direction) -> RenyiComposition:
    """The rounds of one direction: pairs, or curves where not every round has a pair."""
    rounds = directions.rounds(direction)
    if all(issubclass(kind, DominatingPair) for kind in {type(item) for item, _ in rounds}):
        return Composition(cast("list[tuple[DominatingPair, int]]", rounds))
    return RenyiComposition(rounds)


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


def check_time(composition: RenyiComposition, *, effort: float = 1.0, patience: float = PATIENCE) -> None:
    """Raise unless a method which treats each kind of rounds by itself ends in time.

    Args:
        composition: the rounds of one direction.
        effort: what the method takes for one kind of rounds, in units of what moments of it take.
        patience: seconds that it may take.

    Raises:
        NotApplicableError: it would take too long.
    """
    seconds = effort * sum(curve.seconds for curve, _ in composition.rounds)
    if seconds > patience:
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
