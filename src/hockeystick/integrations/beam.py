"""Apache Beam: epsilon of every element of a PCollection, or of every user of a PCollection of participations.

Beam brings the elements of a user together; each epsilon equals, to the last bit, the result of a single process.
Workers need hockeystick. Collections must be bounded and in the global window, so that each user's history is complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from hockeystick.integrations.columns import is_missing
from hockeystick.integrations.needed import missing
from hockeystick.integrations.rows import ENDS, KEYS, Answer, Errors, Row, checked_errors, checked_key
from hockeystick.questions.histories.answers import History, answered, answers, canonical
from hockeystick.questions.histories.entries import refusal
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import InvalidInputError

try:
    import apache_beam as beam
except ModuleNotFoundError as error:
    raise missing(error) from None

RIGHT, WRONG = "right", "wrong"
"""Tags of outputs with an answer and of outputs with a reason instead."""

MOST_TOGETHER = 512
"""Largest number of histories answered together: some hundred of one kind fill the arrays that answer them."""


class Epsilon(NamedTuple):
    """Answer for one user.

    Attributes:
        steps: number of steps in which the user took part.
        lower, estimate, upper: certified ends of epsilon, and the estimate between them.
        reason: reason for an infinite end or a wide interval; else ``None``.
    """

    steps: int
    lower: float
    estimate: float
    upper: float
    reason: str | None


class Epsilons(beam.PTransform):
    """Transform that adds the ends of epsilon to dicts of arguments of :func:`hockeystick.dp_sgd`.

    The new keys are ``epsilon_lower``, ``epsilon_estimate``, ``epsilon_upper`` and ``epsilon_reason``: the reason for
    an infinite end or a wide interval, else ``None``. With ``errors="row"`` the transform returns two collections, like
    Beam's ``with_exception_handling``: the answers; and pairs, each of an invalid element and its error.

    Args:
        columns: key of each argument that has another name.
        prefix: prefix of the new keys.
        gap: largest relative width of the intervals.
        errors: treatment of an invalid element: ``"stop"`` fails the pipeline, ``"row"`` sends it to the second
            collection.
        key: key whose value identifies an invalid element in the error that fails the pipeline.
        constants: arguments with the same value in every element.

    Raises:
        InvalidInputError: an argument is unknown, or, when the pipeline runs, an element is invalid.
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
        for name in columns or {}:
            checked_key(name)
        self._stop = errors == "stop"
        self._asked = Row(constants, gap), dict(columns or {}), prefix, self._stop, key

    def expand(self, elements: Any) -> Any:
        """Apply the steps of the pipeline."""
        found = elements | beam.FlatMap(_each, *self._asked).with_outputs(WRONG, main=RIGHT)
        return found[RIGHT] if self._stop else (found[RIGHT], found[WRONG])


class UserEpsilons(beam.PTransform):
    """Transform from tuples (user, noise multiplier, sample rate, steps) to a pair (user, :class:`Epsilon`) per user.

    The numbers equal those of :func:`hockeystick.integrations.users.users` for a frame with these columns, to the last
    bit. A user's elements are added up, and each distinct history is answered once. The answers are a side input, which
    must fit into the memory of a worker (some hundred bytes for each distinct history). With ``errors="row"`` the
    transform returns two collections: the answers; and, for each user with an invalid element, a pair of the user and
    the error. Such a user is in the second collection only.

    Args:
        delta: delta of all users.
        adjacency: neighbouring relation between data with and without a user (or with another one).
        gap: largest relative width of the intervals.
        errors: treatment of an invalid element: ``"stop"`` fails the pipeline, ``"row"`` sends its user to the second
            collection.

    Raises:
        InvalidInputError: a value is outside its domain. When the pipeline runs: an element has no user, whatever
            ``errors`` is, or is invalid with ``errors="stop"``.
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
        answers([], delta, adjacency, gap)  # refuses an invalid question before the pipeline runs
        self._question = delta, str(getattr(adjacency, "value", adjacency)), gap
        self._stop = errors == "stop"

    def expand(self, rows: Any) -> Any:
        """The steps of the pipeline."""
        histories = rows | "rows" >> beam.Map(_entry) | "histories" >> beam.CombinePerKey(_added)
        known = (
            histories
            | "each" >> beam.Values()
            | "distinct" >> beam.Distinct()
            | "together" >> beam.BatchElements(min_batch_size=1, max_batch_size=MOST_TOGETHER)
            | "answers" >> beam.FlatMap(_answered, *self._question)
        )
        told = beam.FlatMap(_told, beam.pvalue.AsDict(known), self._stop).with_outputs(WRONG, main=RIGHT)
        found = histories | "users" >> told
        return found[RIGHT] if self._stop else (found[RIGHT], found[WRONG])


def _each(
    element: Mapping[str, Any], row: Row, columns: Mapping[str, str], prefix: str, stop: bool, key: str | None
) -> Iterator[Any]:
    """The answer or the error of one element, with the tag of the collection it belongs to."""
    said = {name: element[columns.get(name, name)] for name in KEYS if columns.get(name, name) in element}
    twice = next((name for name in said if name in row.constants), None)
    absent = next((name for name, called in columns.items() if called not in element), None)
    if twice is not None:
        found: Answer | str = f"{twice} is both a key and an argument; leave out one of the two"
    elif absent is not None:
        found = f"columns maps {absent} to {columns[absent]!r}, but the element has no such key"
    else:
        found = row.answer(said)
    if not isinstance(found, str):
        new = dict(zip((f"{prefix}_{end}" for end in (*ENDS, "reason")), found, strict=True))
        yield {**element, **new}
    elif stop:
        named = "an element" if key is None else key
        value = element if key is None else element.get(key)
        raise InvalidInputError(f"{named} {domains.shown(value)}: {found}", "elements")
    else:
        yield beam.pvalue.TaggedOutput(WRONG, (element, found))


Found = History | str
"""History of a user, or the error of a row."""


def _entry(row: tuple[Any, Any, Any, Any]) -> tuple[Any, Found]:
    """User and part of the history in a row.

    Raises:
        InvalidInputError: the row has no user, or does not consist of four values.
    """
    try:
        user, noise, rate, steps = row
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"an element must be (user, noise_multiplier, sample_rate, steps); received {domains.shown(row)}", "rows"
        ) from None
    if is_missing(user):
        raise InvalidInputError(
            "a row has no user, so its steps cannot be assigned and some user's epsilon would be too small; set the "
            f"user or remove the row; received {domains.shown(row)}",
            "rows",
        )
    wrong = refusal(noise, rate, steps)
    return user, ((float(noise), float(rate), int(steps)),) if wrong is None else wrong


def _added(parts: Iterable[Found]) -> Found:
    """History of several parts, exact in whole numbers, or the first of their errors."""
    parts = list(parts)
    wrong = [part for part in parts if isinstance(part, str)]
    return min(wrong) if wrong else canonical(step for part in parts if not isinstance(part, str) for step in part)


def _answered(
    together: list[Found], delta: float, adjacency: str, gap: float | None
) -> Iterator[tuple[Found, Epsilon | str]]:
    """Histories with their answers, or with the reasons for having none."""
    yield from ((wrong, wrong) for wrong in together if isinstance(wrong, str))
    histories = [history for history in together if not isinstance(history, str)]
    for history, found in zip(histories, answered(histories, delta, adjacency, gap), strict=True):
        yield history, found if isinstance(found, str) else Epsilon(*found)


def _told(element: tuple[Any, Found], known: Mapping[Found, Epsilon | str], stop: bool) -> Iterator[Any]:
    """A user with the answer for the user's history, or with the error of the history.

    Raises:
        InvalidInputError: the history has an error, and ``stop`` is set.
    """
    user, history = element
    found = known[history]
    if not isinstance(found, str):
        yield user, found
    elif stop:
        raise InvalidInputError(f"user {domains.shown(user)}: {found}", "rows")
    else:
        yield beam.pvalue.TaggedOutput(WRONG, (user, found))
