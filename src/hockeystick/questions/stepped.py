"""The history of a stepped accountant as sums that are kept from question to question, where it is one for them.

Those are histories of Poisson-sampled Gaussian rounds of so many different kinds that a plan takes them as one factor
of a contour (``pairs/sampled/bundles.py``), and those of one kind, whose answers are the plan's to the last bit
(``directions/repeated.py``). Any other history is answered as its plan.
"""

from __future__ import annotations

from collections.abc import Sequence

from hockeystick.directions.repeated import Repeated
from hockeystick.directions.stepped import Stepped
from hockeystick.pairs.sampled.bundles import DISTANCES, LARGEST_RATE, MOST_ROUNDS
from hockeystick.plan.caveats import told
from hockeystick.plan.mechanisms.gaussian import Gaussian
from hockeystick.plan.round import Round
from hockeystick.plan.sampling.base import Sampling
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency, Direction
from hockeystick.values.bounds import Bound, DeltaBound

FEWEST = 4  # kinds: of fewer a plan takes as long, and an answer is the plan's to the last bit
LEAST_RATE = 1e-9  # below, single losses decide, of which a contour sees little
REMOVING = (Direction.REMOVE, Direction.ZERO_OUT)  # in which a record's law comes first


class SummedHistory:
    """A history that may grow, as the sums of its rounds and the schemes that an answer is about.

    Args:
        adjacency: of the accountant.
    """

    def __init__(self, adjacency: Adjacency) -> None:
        directions = adjacency.directions
        self._stepped = Stepped(directions) if directions[0] in REMOVING else None
        self._read = self._rounds = 0
        self._kinds: set[tuple[float, float]] = set()
        self._about: list[Sampling] = []
        self._repeated: Repeated | None = None

    def epsilon(self, history: Sequence[Round], delta: float, gap: float | None) -> Bound | None:
        """Epsilon at delta of the history, which may have grown since; ``None`` where its plan has to be asked.

        Raises:
            InvalidInputError: a value outside its domain.
        """
        target = domains.delta(delta)
        stepped = self._followed(history)
        if stepped is not None:
            found = stepped.epsilon(target, gap)
        else:
            found = None if (one := self._one()) is None else one.epsilon(self._rounds, target, gap)
        return None if found is None else told(found, self._about, target)

    def delta(self, history: Sequence[Round], epsilon: float, gap: float | None) -> DeltaBound | None:
        """Delta at epsilon of the history, likewise.

        Raises:
            InvalidInputError: a value outside its domain.
        """
        at = domains.epsilon(epsilon, "epsilon", "the target epsilon")
        stepped = self._followed(history)
        if stepped is not None:
            found = stepped.delta(at, gap)
        else:
            found = None if (one := self._one()) is None else one.delta(self._rounds, at, gap)
        return None if found is None else told(found, self._about, found.quoted)

    def _followed(self, history: Sequence[Round]) -> Stepped | None:
        """The sums, which know all of the history; ``None`` where it is none for them.

        A step that another thread takes meanwhile is left for the next question.
        """
        entries = len(history)
        for number in range(max(self._read - 1, 0), entries):
            if self._stepped is None:
                return None
            self._put(number, history[number], self._stepped)
        self._read = entries
        return self._stepped if len(self._kinds) >= FEWEST and self._rounds <= MOST_ROUNDS else None

    def _one(self) -> Repeated | None:
        """The one kind of which the history that was followed is; ``None`` where there are others."""
        if self._stepped is None or len(self._kinds) != 1:
            return None
        if self._repeated is None:
            ((mu, rate),) = self._kinds
            self._repeated = Repeated(self._stepped.directions, mu, rate)
        return self._repeated

    def _put(self, number: int, item: Round, stepped: Stepped) -> None:
        mechanism, sampling = item.mechanism, item.sampling
        if type(mechanism) is not Gaussian or type(sampling) is not Poisson or not item.count:
            self._stepped = None
            return
        mu, rate = 1 / mechanism.noise_multiplier, sampling.sample_rate
        assert rate is not None  # it follows from the sizes
        if not (DISTANCES[0] <= mu <= DISTANCES[1] and LEAST_RATE <= rate <= LARGEST_RATE):
            self._stepped = None
            return
        known = stepped.history.count[number] if number < self._read else 0
        stepped.history.put(number, mu, rate, item.count)
        self._rounds += item.count - known
        self._kinds.add((mu, rate))
        self._minded(sampling)

    def _minded(self, sampling: Sampling) -> None:
        """Keep the schemes that an answer is about: all say the same, but for the smallest dataset."""
        records = sampling.dataset_records
        least = self._about[0].dataset_records if self._about else None
        if not self._about or (records is not None and (least is None or records < least)):
            self._about = [sampling]
