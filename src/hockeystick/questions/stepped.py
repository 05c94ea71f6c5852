"""The history of a stepped accountant as sums kept from question to question, where possible.

Sums serve histories of Poisson-sampled Gaussian rounds of so many kinds that a plan makes them one factor of a contour
(``pairs/sampled/bundles.py``). They also serve those of one kind, with answers equal to the plan's to the last bit
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

MIN_KINDS = 4  # with fewer kinds a plan is as fast, and its answer is used
LEAST_RATE = 1e-9  # below it single losses decide, which a contour resolves badly
REMOVING = (Direction.REMOVE, Direction.ZERO_OUT)  # directions in which the law with the record comes first


class SummedHistory:
    """Growing history as the sums of its rounds, with the schemes that its answers assume.

    Args:
        adjacency: adjacency of the accountant.
    """

    def __init__(self, adjacency: Adjacency) -> None:
        directions = adjacency.directions
        self._stepped = Stepped(directions) if directions[0] in REMOVING else None
        self._read = self._rounds = 0
        self._kinds: set[tuple[float, float]] = set()
        self._about: list[Sampling] = []
        self._repeated: Repeated | None = None

    def epsilon(self, history: Sequence[Round], delta: float, gap: float | None) -> Bound | None:
        """Return epsilon at delta of the history, which may have grown; ``None`` if its plan must answer.

        Raises:
            InvalidInputError: a value is outside its domain.
        """
        target = domains.delta(delta)
        stepped = self._followed(history)
        if stepped is not None:
            found = stepped.epsilon(target, gap)
        else:
            found = None if (one := self._one()) is None else one.epsilon(self._rounds, target, gap)
        return None if found is None else told(found, self._about, target)

    def delta(self, history: Sequence[Round], epsilon: float, gap: float | None) -> DeltaBound | None:
        """Return delta at epsilon of the history, likewise.

        Raises:
            InvalidInputError: a value is outside its domain.
        """
        at = domains.epsilon(epsilon, "epsilon", "the target epsilon")
        stepped = self._followed(history)
        if stepped is not None:
            found = stepped.delta(at, gap)
        else:
            found = None if (one := self._one()) is None else one.delta(self._rounds, at, gap)
        return None if found is None else told(found, self._about, found.quoted)

    def _followed(self, history: Sequence[Round]) -> Stepped | None:
        """The sums of the whole history; ``None`` if it has none.

        A step taken meanwhile by another thread waits for the next question.
        """
        entries = len(history)
        for number in range(max(self._read - 1, 0), entries):
            if self._stepped is None:
                return None
            self._put(number, history[number], self._stepped)
        self._read = entries
        return self._stepped if len(self._kinds) >= MIN_KINDS and self._rounds <= MOST_ROUNDS else None

    def _one(self) -> Repeated | None:
        """The only kind of the history; ``None`` if there are others."""
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
        assert rate is not None  # derived from the sizes
        if not (DISTANCES[0] <= mu <= DISTANCES[1] and LEAST_RATE <= rate <= LARGEST_RATE):
            self._stepped = None
            return
        known = stepped.history.count[number] if number < self._read else 0
        stepped.history.put(number, mu, rate, item.count)
        self._rounds += item.count - known
        self._kinds.add((mu, rate))
        self._keep_scheme(sampling)

    def _keep_scheme(self, sampling: Sampling) -> None:
        """Record the sampling schemes of the answers, which differ only in the smallest dataset."""
        records = sampling.dataset_records
        least = self._about[0].dataset_records if self._about else None
        if not self._about or (records is not None and (least is None or records < least)):
            self._about = [sampling]
