"""The input of accountants: the rounds in each direction of an adjacency, and their compositions.

A plan constructs its own :class:`Directions`. A test, a notebook or another library may construct them from its own
pairs (:meth:`Directions.of_pairs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

from hockeystick.directions.kinds import Given
from hockeystick.directions.kinds import Kind as Kind
from hockeystick.pairs import Composition, DominatingPair, RenyiComposition, RenyiCurve
from hockeystick.pairs.sides import Above, Between, Known, Tight
from hockeystick.values.adjacency import Adjacency, Direction
from hockeystick.values.domains import COUNT, shown, whole
from hockeystick.values.errors import InvalidInputError, NotApplicableError, UnsupportedError

if TYPE_CHECKING:
    from hockeystick.pairs.exact import ExactRound

T = TypeVar("T")  # rounds of a direction

PATIENCE = 2.0
"""Longest time in seconds that a published method may take for the rounds of one direction: half of a call's time."""


@dataclass(frozen=True)
class Directions:
    """Rounds to compose, in each direction of an adjacency.

    Attributes:
        adjacency: neighbouring relation, which determines the directions.
        kinds: each kind of rounds with its count; its pairs are computed on first use and kept.
    """

    adjacency: Adjacency
    kinds: tuple[tuple[Kind, int], ...]

    @classmethod
    def of_pairs(
        cls, rounds: Mapping[Direction, Sequence[tuple[Known | RenyiCurve, int]]], *, tight: bool = True
    ) -> Directions:
        """Return rounds that are given by their pairs, or by Renyi curves, in each direction.

        Args:
            rounds: for each direction of a neighbouring relation, a list with the pair and the count of every kind of
                rounds. A Renyi curve, or an object of ``pairs/sides.py``, may replace the pair. All lists have the same
                kinds and counts, in the same order.
            tight: True if each plain pair is exact, False if it only dominates. With exact pairs, answers have a lower
                end, unless a round has only a Renyi curve.

        Raises:
            InvalidInputError: the directions belong to no adjacency, the counts in two directions differ, or an item is
                neither a pair nor a Renyi curve.

        >>> from hockeystick import ACCOUNTANTS
        >>> from hockeystick.pairs import GaussianPair
        >>> given = Directions.of_pairs({Direction.REMOVE: [(GaussianPair(mu=0.1), 100)]})
        >>> round(float(ACCOUNTANTS["auto"].epsilon(given, 1e-6, None)), 4)
        4.8866
        """
        known = {frozenset(adjacency.directions): adjacency for adjacency in Adjacency}
        if frozenset(rounds) not in known:
            raise InvalidInputError(
                "rounds must be given for remove, add, both of them, replace-one, or both zero-out and restore; "
                f"received {shown(list(rounds))}",
                "rounds",
            )
        counts = {tuple(count for _, count in items) for items in rounds.values()}
        if len(counts) > 1:
            raise InvalidInputError("rounds must have the same counts, in the same order, in each direction", "rounds")
        checked = [whole(count, "rounds", COUNT.meaning) for count in next(iter(counts))]
        side = Tight if tight else Above
        sided = ([(direction, _sided(item, side)) for item, _ in items] for direction, items in rounds.items())
        kinds = zip(zip(*sided, strict=True), checked, strict=True)
        return cls(known[frozenset(rounds)], tuple((Given(dict(kind)), count) for kind, count in kinds))

    @cached_property
    def _kept(self) -> dict[Direction, list[Known | None]]:
        return {}

    def _found(self, direction: Direction) -> list[Known | None]:
        """Pairs of each kind of rounds in one direction; ``None`` for a kind without a pair."""
        if direction not in self._kept:
            self._kept[direction] = [_pairs_of(kind, direction) for kind, _ in self.kinds]
        return self._kept[direction]

    def known(self, direction: Direction) -> list[tuple[Known, int]]:
        """Return the pairs for upper and lower bounds, and the count, of every kind of rounds in one direction.

        Raises:
            UnsupportedError: a round has no proved dominating pair.
        """
        found = zip(self._found(direction), self.kinds, strict=True)
        return [(kind.known(direction) if known is None else known, count) for known, (kind, count) in found]

    @cached_property
    def tight(self) -> bool:
        """True if every round has a tight pair in every direction, so that one composition gives both ends.

        Kinds of rounds with count 0 do not matter.
        """
        return self._all(Tight)

    @cached_property
    def one_curve(self) -> bool:
        """True if the dominating pairs give both ends of delta.

        This is the case if all pairs are tight, or if there is only one round and its pair is exact for a single round.
        """
        if self.tight or sum(count for _, count in self.kinds) != 1:
            return self.tight
        return all(isinstance(known, Tight) or (isinstance(known, Between) and known.alone) for known in self._run())

    @cached_property
    def known_from_below(self) -> bool:
        """True if every round has a lower bound in every direction, so that answers have a lower end."""
        return self.tight or self._all(Tight, Between)

    @property
    def why(self) -> str:
        """Text with the reasons why the pairs for upper and for lower bounds differ; empty if they are the same."""
        return "; ".join(dict.fromkeys(known.why for known in self._run() if isinstance(known, Between)))

    def _all(self, *sides: type[Tight] | type[Between]) -> bool:
        return all(isinstance(known, sides) for known in self._run())

    def _run(self) -> Iterator[Known | None]:
        """Yield, for every direction, the pairs of each kind with a positive count; ``None`` for a kind without one."""
        for direction in self.adjacency.directions:
            for known, (_, count) in zip(self._found(direction), self.kinds, strict=True):
                if count:
                    yield known

    def pairs(self, direction: Direction, *, together: bool = False) -> list[tuple[DominatingPair, int]]:
        """Return the dominating pair and count of every kind of rounds in one direction.

        A pair that is a product of pairs is returned as its factors.

        Args:
            direction: the order of the two datasets.
            together: True if the result may contain a pair that dominates several rounds together. Such a pair is used
                where it is known to be better than composing the pairs of single rounds.

        Raises:
            UnsupportedError: a round has no proved pair.
        """
        found = [
            item
            for known, count in self.known(direction)
            for item in (_together(known, count) if together else [(known.above, count)])
        ]
        split = ((part, times * count) for pair, count in found for part, times in pair.factors or [(pair, 1)])
        return [(cast(DominatingPair, part), times) for part, times in split]

    def curves(self, direction: Direction) -> list[tuple[RenyiCurve, int]]:
        """Return a Renyi curve and the count of every kind of rounds in one direction, even of a kind without a pair.

        Raises:
            UnsupportedError: no guarantee is proved for a round.
        """
        return [(kind.curve(direction), count) for kind, count in self.kinds]

    def rounds(self, direction: Direction) -> list[tuple[RenyiCurve, int]]:
        """Return the dominating pair, or else the Renyi curve, and the count of every kind of rounds in one direction.

        Raises:
            UnsupportedError: no guarantee is proved for a round.
        """
        found = zip(self._found(direction), self.kinds, strict=True)
        return [
            item
            for known, (kind, count) in found
            for item in ([(kind.curve(direction), count)] if known is None else _together(known, count))
        ]

    def moments(self, direction: Direction) -> RenyiComposition | None:
        """Return the Renyi curves of all rounds in one direction if they differ from those of the pairs, else ``None``.

        They differ if some round with a lower and an upper pair has a separate Renyi curve (``Between.curve``).
        """
        found = zip(self._found(direction), self.kinds, strict=True)
        if not any(isinstance(known, Between) and known.curve is not None and count for known, (_, count) in found):
            return None
        return RenyiComposition(self.curves(direction))

    def exact(self, direction: Direction) -> list[tuple[ExactRound, int]]:
        """Return the exact description (for a proof) and the count of each kind of rounds in one direction.

        Kinds with count 0 are left out.

        Raises:
            UnsupportedError: a round has no proved dominating pair, or no implemented proof.
        """
        return [(kind.exact(direction), count) for kind, count in self.kinds if count]


def _together(known: Known, count: int) -> Sequence[tuple[DominatingPair, int]]:
    """Pairs with counts whose composition dominates ``count`` rounds of one kind together."""
    found = known.together(count) if isinstance(known, Between) and known.together is not None else ()
    return found or [(known.above, count)]


def _pairs_of(kind: Kind, direction: Direction) -> Known | None:
    try:
        return kind.known(direction)
    except UnsupportedError:
        return None


def _sided(given: object, side: type[Tight] | type[Above]) -> Known | RenyiCurve:
    """Return a plain pair wrapped in ``side`` (tight or above); pairs with sides and Renyi curves stay unchanged.

    Raises:
        InvalidInputError: the argument is neither a pair nor a Renyi curve.
    """
    if isinstance(given, DominatingPair):
        return side(given)
    if isinstance(given, Known | RenyiCurve):
        return given
    raise InvalidInputError("each round must be a pair of hockeystick.pairs or a Renyi curve", "rounds")


def compositions(
    directions: Directions, *, many: bool = False, together: bool = False, effort: float = 1.0
) -> list[tuple[Direction, Composition]]:
    """Return each direction with the composition of its dominating pairs; of directions with equal rounds, the first.

    Args:
        directions: rounds to compose.
        many: True if the method handles any number of different rounds.
        together: True if the composition may contain a pair that dominates several rounds together
            (:meth:`Directions.pairs`).
        effort: time that the method takes for one kind of rounds, as a multiple of the time for the moments of a kind.

    Raises:
        UnsupportedError: a round has no proved dominating pair.
        NotApplicableError: computing so many different rounds one by one would take too long.
    """
    rounds = distinct(directions, lambda direction: directions.pairs(direction, together=together))
    found = [(direction, Composition(each)) for direction, each in rounds]
    if not many:
        for _, composition in found:
            check_time(composition, effort=effort)
    return found


def mixed_compositions(directions: Directions) -> list[tuple[Direction, RenyiComposition]]:
    """Return each direction with its composition, for methods that use Renyi curves for rounds without a pair.

    Returns:
        Pairs of a direction and a composition. Of directions with equal rounds, only the first is included. The
        composition is a :class:`Composition` if every round in its direction has a pair.

    Raises:
        UnsupportedError: no guarantee is proved for a round.
    """
    return [(direction, mixed_composition(rounds)) for direction, rounds in distinct(directions, directions.rounds)]


def mixed_composition(rounds: Sequence[tuple[RenyiCurve, int]]) -> RenyiComposition:
    """Return the composition of rounds: a :class:`Composition` if every round has a pair, else one of Renyi curves."""
    if all(issubclass(kind, DominatingPair) for kind in {type(item) for item, _ in rounds}):
        return Composition(cast("list[tuple[DominatingPair, int]]", rounds))
    return RenyiComposition(rounds)


def renyi_compositions(directions: Directions) -> list[tuple[Direction, RenyiComposition]]:
    """Return each direction with the composed Renyi curves of its rounds, for methods that need moments but no pairs.

    Raises:
        UnsupportedError: no guarantee is proved for a round.
        NotApplicableError: computing so many different rounds one by one would take too long.
    """
    found = [(direction, RenyiComposition(curves)) for direction, curves in distinct(directions, directions.curves)]
    for _, composition in found:
        check_time(composition)
    return found


def check_time(composition: RenyiComposition, *, effort: float = 1.0, patience: float = PATIENCE) -> None:
    """Refuse a composition that would take too long with a method that treats each kind of rounds separately.

    Args:
        composition: rounds of one direction.
        effort: time that the method takes for one kind of rounds, as a multiple of the time for the moments of a kind.
        patience: longest accepted time in seconds.

    Raises:
        NotApplicableError: the method would take longer than ``patience``.
    """
    seconds = effort * sum(curve.seconds for curve, _ in composition.rounds)
    if seconds > patience:
        raise NotApplicableError(
            f"{len(composition.rounds)} different kinds of rounds would take about {seconds:.0f} s; use fewer kinds "
            "(for example, round the noise down to fewer values) or accountant 'auto', which merges similar rounds"
        )


def distinct(directions: Directions, rounds: Callable[[Direction], T]) -> list[tuple[Direction, T]]:
    """Return each direction with its rounds; of directions with equal rounds, only the first."""
    out: list[tuple[Direction, T]] = []
    for direction in directions.adjacency.directions:
        found = rounds(direction)
        if all(found != other for _, other in out):
            out.append((direction, found))
    return out
