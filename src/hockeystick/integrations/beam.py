"""Apache Beam: epsilon of every element of a PCollection, and of every user whose elements say what each took part in.

Beam brings the elements of a user together; an epsilon is what one process would say, to the last bit. Workers need
hockeystick. Bounded collections in the global window are meant: a user's history is complete where it is answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from hockeystick.integrations.columns import is_missing
from hockeystick.integrations.needed import missing
from hockeystick.integrations.packed import packed, unpacked
from hockeystick.integrations.rows import ENDS, KEYS, Errors, Row, checked_errors, checked_key
from hockeystick.questions.histories.answers import answers, canonical
from hockeystick.questions.histories.entries import refusal
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import InvalidInputError

try:
    import apache_beam as beam
except ModuleNotFoundError as error:
    raise missing(error) from None

__all__ = ["Epsilon", "Epsilons", "UserEpsilons"]

RIGHT, WRONG = "right", "wrong"
"""Tags of what has an answer, and of what has a reason instead."""

MOST_TOGETHER = 512
"""Histories that are answered at once: those of one kind of step are laid out side by side, some hundred of which fill
the arrays."""


class Epsilon(NamedTuple):
    """The answer about one user.

    Attributes:
        steps: in how many the user took part.
        lower, estimate, upper: certified ends of epsilon, and the guess between.
        reason: why an end is infinite or the interval wide; else ``None``.
    """

    steps: int
    lower: float
    estimate: float
    upper: float
    reason: str | None


class Epsilons(beam.PTransform):
    """Dicts with the arguments of :func:`hockeystick.dp_sgd` in, the same dicts with the ends of their epsilon out.

    The new keys are ``epsilon_lower``, ``epsilon_estimate``, ``epsilon_upper`` and ``epsilon_reason``, why an end is
    infinite or the interval wide, else ``None``. With ``errors="row"`` the transform gives two collections, as Beam's
    own ``with_exception_handling`` does: the answers, and pairs of a wrong element and what is wrong with it.

    Args:
        columns: for arguments that are called otherwise, the name of their key.
        prefix: of the new keys.
        gap: widest relative width wanted of the intervals.
        errors: what a wrong element does: ``"stop"`` fails the pipeline; with ``"row"`` it goes to the second
            collection.
        key: the key by which a wrong element is named where it fails the pipeline.
        constants: arguments with the same value in every element.

    Raises:
        InvalidInputError: an unknown argument; a wrong element, when the pipeline runs.
    """

    def __init__(
        self,
        *,
        columns: Mapping[str, str] | None = None,
        prefix: str = "epsilon",
        gap: float | None = None,
        errors: Errors = "stop",
        key: str | None = None,
        **constants: Any,
    ) -> None:
        super().__init__()
        checked_errors(errors)
        for name in (*(columns or {}), *constants):
            checked_key(name)
        self._errors, self._each = errors, _Each(dict(columns or {}), prefix, gap, errors == "stop", key, constants)

    def expand(self, elements: Any) -> Any:
        """The steps of the pipeline."""
        found = elements | beam.ParDo(self._each).with_outputs(WRONG, main=RIGHT)
        return found[RIGHT] if self._errors == "stop" else (found[RIGHT], found[WRONG])


class UserEpsilons(beam.PTransform):
    """Tuples (user, noise multiplier, sample rate, steps) in, pairs (user, :class:`Epsilon`) out, one for each user.

    What :func:`hockeystick.integrations.users.users` says of a frame with these columns, with the same numbers to the
    last bit: a user's elements are added up, each distinct history is asked once, and the answers are given to the
    users as a side input, which has to fit into the memory of a worker (some hundred bytes for each distinct history).
    With ``errors="row"`` the transform gives two collections: the answers, and pairs of a user with a wrong element
    and what is wrong with it; such a user is in the second alone.

    Args:
        delta: for all users.
        adjacency: neighbouring relation, between data with and without a user (or with another one).
        gap: widest relative width wanted of the intervals.
        errors: what a wrong element does: ``"stop"`` fails the pipeline; with ``"row"`` its user goes to the second
            collection.

    Raises:
        InvalidInputError: a value outside its domain. When the pipeline runs: an element without a user, whatever
            ``errors`` says, and a wrong one where that stops all.
    """

    def __init__(
        self,
        delta: float,
        *,
        adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
        gap: float | None = None,
        errors: Errors = "stop",
    ) -> None:
        super().__init__()
        checked_errors(errors)
        answers([], delta, adjacency, gap)  # what is wrong with the question is said before the pipeline runs
        self._question = delta, str(getattr(adjacency, "value", adjacency)), gap
        self._errors = errors

    def expand(self, rows: Any) -> Any:
        """The steps of the pipeline."""
        histories = (
            rows
            | "rows" >> beam.Map(_entry)
            | "histories" >> beam.CombinePerKey(_Together())
            | "wrong rows" >> beam.ParDo(_Apart(self._errors == "stop")).with_outputs(WRONG, main=RIGHT)
        )
        answered = (
            histories[RIGHT]
            | "each" >> beam.Values()
            | "distinct" >> beam.Distinct()
            | "together" >> beam.BatchElements(min_batch_size=1, max_batch_size=MOST_TOGETHER)
            | "answers" >> beam.FlatMap(_answered, *self._question)
        )
        found = histories[RIGHT] | "users" >> beam.ParDo(
            _Joined(self._errors == "stop"), beam.pvalue.AsDict(answered)
        ).with_outputs(WRONG, main=RIGHT)
        if self._errors == "stop":
            return found[RIGHT]
        return found[RIGHT], (histories[WRONG], found[WRONG]) | beam.Flatten()


class _Each(beam.DoFn):
    """The answer to each element."""

    def __init__(
        self,
        columns: dict[str, str],
        prefix: str,
        gap: float | None,
        stop: bool,
        key: str | None,
        constants: dict[str, Any],
    ) -> None:
        super().__init__()
        self._names, self._called = {name: columns.get(name, name) for name in KEYS}, columns
        self._prefix, self._gap, self._stop, self._key, self._constants = prefix, gap, stop, key, constants

    def setup(self) -> None:
        """Begin to keep answers."""
        self._row = Row(self._constants, self._gap)

    def process(self, element: Mapping[str, Any]) -> Iterator[Any]:
        """What one element comes to."""
        said = {key: element[name] for key, name in self._names.items() if name in element}
        twice = next((key for key in said if key in self._constants), None)
        absent = next((key for key, name in self._called.items() if name not in element), None)
        if twice is not None:
            wrong: str | None = f"{twice} is both a key and an argument"
        elif absent is not None:
            wrong = f"columns names {self._called[absent]!r} for {absent}; the element has no such key"
        else:
            wrong = self._row.refused(said)
        if wrong is None:
            ends, reason = self._row.answer(said)
            new = dict(zip((f"{self._prefix}_{end}" for end in (*ENDS, "reason")), (*ends, reason), strict=True))
            yield {**element, **new}
        elif self._stop:
            named = "an element" if self._key is None else self._key
            value = element if self._key is None else element.get(self._key)
            raise InvalidInputError(f"{named} {domains.shown(value)}: {wrong}", "elements")
        else:
            yield beam.pvalue.TaggedOutput(WRONG, (element, wrong))


Kinds = dict[tuple[float, float], int]
Found = tuple[Kinds, str | None]
"""Steps of each kind, and what is wrong with a row, if one is."""


def _entry(row: tuple[Any, Any, Any, Any]) -> tuple[Any, Found]:
    """A row as a user and a part of the history.

    Raises:
        InvalidInputError: it has no user, or is no row.
    """
    try:
        user, noise, rate, steps = row
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"an element must be (user, noise_multiplier, sample_rate, steps); received {domains.shown(row)}", "rows"
        ) from None
    if is_missing(user):
        raise InvalidInputError(
            f"a row has no user: its steps are those of some user, whose epsilon would be too small without them; say "
            f"whose they are, or take the row out; received {domains.shown(row)}",
            "rows",
        )
    wrong = refusal(noise, rate, steps)
    return user, ({}, wrong) if wrong is not None else ({(float(noise), float(rate)): int(steps)}, None)


class _Together(beam.CombineFn):
    """The parts of a user's history, added up: whole numbers, exactly."""

    def create_accumulator(self) -> Found:
        """A history without rows."""
        return {}, None

    def add_input(self, found: Found, part: Found) -> Found:
        """The history with one part more."""
        kinds, wrong = found
        for kind, steps in part[0].items():
            kinds[kind] = kinds.get(kind, 0) + steps
        return kinds, min((text for text in (wrong, part[1]) if text is not None), default=None)

    def merge_accumulators(self, parts: Iterable[Found]) -> Found:
        """The history of several parts."""
        found = self.create_accumulator()
        for part in parts:
            found = self.add_input(found, part)
        return found

    def extract_output(self, found: Found) -> tuple[bytes, str | None]:
        """The history as bytes, which are equal where histories are, or what is wrong."""
        kinds, wrong = found
        history = canonical((noise, rate, steps) for (noise, rate), steps in kinds.items())
        return (b"", wrong) if wrong is not None else (packed(history), None)


class _Apart(beam.DoFn):
    """Users with a history, and those with a wrong row."""

    def __init__(self, stop: bool) -> None:
        super().__init__()
        self._stop = stop

    def process(self, element: tuple[Any, tuple[bytes, str | None]]) -> Iterator[Any]:
        """Where one user belongs."""
        user, (history, wrong) = element
        yield _right_or_wrong(user, history, wrong, self._stop)


class _Joined(beam.DoFn):
    """The answer of each user's history."""

    def __init__(self, stop: bool) -> None:
        super().__init__()
        self._stop = stop

    def process(self, element: tuple[Any, bytes], known: Mapping[bytes, Epsilon | str]) -> Iterator[Any]:
        """What one user is told."""
        user, history = element
        found = known[history]
        wrong = found if isinstance(found, str) else None
        yield _right_or_wrong(user, found, wrong, self._stop)


def _right_or_wrong(user: Any, found: Any, wrong: str | None, stop: bool) -> Any:
    """A user with what was found, or with what is wrong.

    Raises:
        InvalidInputError: something is wrong, and that stops all.
    """
    if wrong is None:
        return user, found
    if stop:
        raise InvalidInputError(f"user {domains.shown(user)}: {wrong}", "rows")
    return beam.pvalue.TaggedOutput(WRONG, (user, wrong))


def _answered(
    together: list[bytes], delta: float, adjacency: str, gap: float | None
) -> Iterator[tuple[bytes, Epsilon | str]]:
    """Histories with their answers, or with why there is none."""
    histories = [unpacked(each) for each in together]
    found = answers(histories, delta, adjacency, gap, stop=False)
    ends = zip(found.lower.tolist(), found.estimate.tolist(), found.upper.tolist(), strict=True)
    for key, history, own, reason in zip(together, histories, ends, found.reasons, strict=True):
        if own[-1] == own[-1]:
            yield key, Epsilon(sum(steps for *_, steps in history), *own, reason)
        else:
            yield key, str(reason)
