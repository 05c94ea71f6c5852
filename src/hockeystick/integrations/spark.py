"""Spark: epsilon of every row of a DataFrame, or of every user of a DataFrame of participations.

Spark brings the rows of a user to one task, which adds them up to the user's history, as a single process does for a
frame. The task passes on *lines*, each a history with the list of its users. Spark brings the lines with the same
history to one task, which answers it once for all of them. An epsilon equals, to the last bit, the result of a single
process. Workers need hockeystick, pandas and pyarrow. Nothing is computed before an action asks for the result.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from hockeystick.integrations.needed import missing
from hockeystick.integrations.rows import (
    ENDS,
    Errors,
    Row,
    checked_cut,
    checked_errors,
    constant,
    new_columns,
    sources_of,
)
from hockeystick.questions.histories.answers import answered, answers
from hockeystick.questions.histories.entries import DOMAINS, Entries, refusal, sound
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import InvalidInputError

try:
    import pyspark  # noqa: F401  # itself first, so that the message names it where it is missing
    from pyspark.sql import functions as F  # noqa: N812  # as everybody who uses Spark calls it
    from pyspark.sql import types as T  # noqa: N812

    import pyarrow as pa  # isort: skip
    import pyarrow.compute as pc  # isort: skip
except ModuleNotFoundError as error:
    raise missing(error) from None

Batches = Iterable[pa.RecordBatch]

MOST_LISTED = 1 << 12
"""Users of one line: a history that most users have becomes many lines."""

MOST_LINES = 1 << 8
"""Lines that are sent at once: of at most a million users."""

TASKS = 64
"""Number of tasks that share distinct histories, a few for each core of some machines; Spark by itself would use one.

A task costs some hundredths of a second, so too many do no harm.
"""


def epsilon(
    df: Any,
    *,
    columns: Mapping[str, str] | None = None,
    prefix: str = "epsilon",
    gap: float | None = None,
    errors: Errors = "stop",
    key: str | None = None,
    **constants: Any,
) -> Any:
    """Return the DataFrame with columns for the ends of each row's epsilon, like ``frames.epsilon``.

    Args:
        df: Spark DataFrame; columns named like arguments of :func:`hockeystick.dp_sgd` are read, all others are
            ignored.
        columns: column of each key with another name.
        prefix: prefix of the new columns.
        gap: largest relative width of the intervals.
        errors: treatment of an invalid row: ``"stop"`` fails the job, ``"row"`` gives a reason in place of numbers.
        key: column that identifies an invalid row in the error that fails the job.
        constants: keys with the same value in every row.

    Returns:
        A DataFrame with ``epsilon_lower``, ``epsilon_estimate`` and ``epsilon_upper``, doubles, and ``epsilon_reason``:
        the reason for an infinite end, a wide interval or missing numbers; else null.

    Raises:
        InvalidInputError: a key or column is unknown, or a value outside its domain; when the job runs, a row is
            invalid.
    """
    checked_errors(errors)
    sources = sources_of(df.columns, columns or {}, constants)
    if key is not None:
        _checked_column(df, key, "key")
    row = Row(constants, gap)
    ends, reason = [f"{prefix}_{end}" for end in ENDS], f"{prefix}_reason"

    def added(batches: Iterable[Any]) -> Iterator[Any]:
        import pandas

        for batch in batches:
            said = batch[list(sources.values())].astype(object)
            said = said.where(said.notna(), None).to_numpy().tolist()
            found = []
            for number, values in enumerate(said):
                mapping = dict(zip(sources, values, strict=True))
                answer = row.answer(mapping)
                if isinstance(answer, str):
                    if errors == "stop":
                        place = f"a row {mapping}" if key is None else f"{key} {domains.shown(batch[key].iloc[number])}"
                        raise InvalidInputError(f"{place}: {answer}", "df")
                    answer = (None, None, None, answer)
                found.append(answer)
            new = pandas.DataFrame(found, columns=[*ends, reason], index=batch.index, dtype=object)
            yield batch.assign(**new.astype(dict.fromkeys(ends, "Float64")))  # None becomes null, not NaN

    fields = [*(T.StructField(end, T.DoubleType()) for end in ends), T.StructField(reason, T.StringType())]
    return df.mapInPandas(added, T.StructType([*df.schema.fields, *fields]))


def users(
    df: Any,
    delta: float,
    *,
    user: str = "user",
    noise_multiplier: str | float = "noise_multiplier",
    sample_rate: str | float = "sample_rate",
    steps: str | float = "steps",
    when: str | None = None,
    until: Any = None,
    adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
    gap: float | None = None,
    prefix: str = "epsilon",
    errors: Errors = "stop",
    tasks: int = TASKS,
) -> Any:
    """Return the epsilon of each user of a DataFrame whose rows list participations.

    The numbers equal those of :func:`hockeystick.integrations.users.users` for a frame, to the last bit. Spark brings
    the rows of a user together, they are added up, and each distinct history is answered once.

    Args:
        df: Spark DataFrame.
        delta, user, noise_multiplier, sample_rate, steps, when, until, adjacency, gap, prefix, errors: as for that
            function; columns of numbers must have a numeric type, and ``until`` is cast to the type of ``when``.
        tasks: number of tasks that share the distinct histories.

    Returns:
        A DataFrame with a row for each user, in no order: the user, ``steps``, ``epsilon_lower``, ``epsilon_estimate``
        and ``epsilon_upper`` (null if a row is invalid), and ``epsilon_reason``: the reason for a null, an infinite end
        or a wide interval; else null.

    Raises:
        InvalidInputError: an argument is outside its domain, or a column is missing or of another type. When the job
            runs: a row has no user, whatever ``errors`` is, or is invalid with ``errors="stop"``.
    """
    checked_errors(errors)
    tasks = domains.whole(tasks, "tasks", "number of tasks that share the distinct histories", least=1)
    adjacency = Adjacency.parse(adjacency)
    answers([], delta, adjacency, gap)  # refuses an invalid question before a job runs
    stop, new, whose = errors == "stop", new_columns(user, prefix), _user(df, user)
    sources = {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate, "steps": steps}
    rows = df.select(whose, *(_number(df, source, key) for key, source in sources.items()), *_times(df, when, until))
    kind = df.schema[user].dataType
    listed = T.StructType([T.StructField("history", T.StringType()), T.StructField("users", T.ArrayType(kind))])
    kinds = [T.LongType(), *(T.DoubleType() for _ in ENDS), T.StringType()]
    found = T.StructType([T.StructField(user, kind, nullable=False), *map(T.StructField, new, kinds)])
    lines = rows.repartition("user").mapInArrow(partial(_grouped, stop=stop), listed)
    told = partial(_told, delta=delta, adjacency=adjacency, gap=gap, stop=stop, names=found.names)
    return lines.repartition(tasks, "history").mapInArrow(told, found)


def _grouped(batches: Batches, stop: bool) -> Iterator[pa.RecordBatch]:
    """Yield the lines of a task, to which Spark sends all rows of its users.

    The rows have the columns ``user`` and, as doubles, ``noise_multiplier``, ``sample_rate`` and ``steps``. If there is
    a cut in time, they also have ``counted`` (True if the row counts) and ``undated`` (True if it has no time). A line
    holds users and, in JSON, their common history: a list of [noise, rate, steps], or, if each of them has an invalid
    row, its error as text. The histories do not depend on the order of the rows.

    Args:
        batches: rows of the task.
        stop: True if an invalid row fails the job.
    """
    parts = [batch for batch in batches if len(batch)]
    if not parts:
        return
    rows = pa.Table.from_batches(parts)
    if pc.any(pc.is_null(rows["user"], nan_is_null=True)).as_py():
        raise InvalidInputError(
            "a row has no user, so its steps cannot be assigned and some user's epsilon would be too small; set "
            "the user or remove the row",
            "user",
        )
    encoded = rows["user"].combine_chunks().dictionary_encode()  # numbers of users, in the order of their first row
    numbers = encoded.indices.to_numpy().astype(np.int64)
    noise, rate, steps = (rows[key].to_numpy() for key in DOMAINS)
    right, counted = sound(noise, rate, steps), np.ones(len(rows), dtype=bool)
    if "counted" in rows.column_names:
        counted = rows["counted"].to_numpy()
        right &= ~rows["undated"].to_numpy()
    wrong: dict[int, str] = {}
    for row in np.flatnonzero(counted & ~right).tolist():
        said = refusal(*(rows[key][row].as_py() for key in DOMAINS))
        text = said or "when must be comparable with until; received None"
        if stop:
            raise InvalidInputError(f"user {domains.shown(rows['user'][row].as_py())}: {text}", "df")
        number = int(numbers[row])
        wrong[number] = min(text, wrong.get(number, text))  # the choice does not depend on the order of the rows
    entries = Entries()
    entries.add(numbers, noise, rate, steps, counted=counted & right)
    found = entries.grouped()  # the users in the same order: number n is at place n
    texts = {text: place for place, text in enumerate(dict.fromkeys(wrong.values()), len(found.histories))}
    line = found.history
    line[list(wrong)] = [texts[text] for text in wrong.values()]
    order = np.argsort(line, kind="stable")
    line = line[order]
    starts = np.union1d(np.flatnonzero(np.diff(line, prepend=-1)), np.arange(0, len(line), MOST_LISTED))
    said_of = pa.array([json.dumps(each) for each in (*found.histories, *texts)], type=pa.string())
    users_of = pa.ListArray.from_arrays(
        pa.array(np.append(starts, len(line)), type=pa.int32()), encoded.dictionary.take(pa.array(order))
    )
    lines = pa.RecordBatch.from_arrays([said_of.take(pa.array(line[starts])), users_of], names=["history", "users"])
    for first in range(0, len(lines), MOST_LINES):
        yield lines.slice(first, MOST_LINES)


def _told(
    batches: Batches, delta: float, adjacency: Adjacency | str, gap: float | None, stop: bool, names: list[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the answers of the users in the lines of a task; each distinct history of a task is computed once.

    Args:
        batches: lines of the task.
        delta, adjacency, gap: the question.
        stop: True if a history without an answer fails the job.
        names: names of the new columns: user, steps, lower end, estimate and upper end of epsilon, reason.
    """
    kinds = [pa.int64(), *(pa.float64() for _ in ENDS), pa.string()]
    known: dict[str, tuple[Any, ...] | str] = {}
    for batch in batches:
        said, users_of = batch.column("history").to_pylist(), batch.column("users")
        new = {text: json.loads(text) for text in said if text not in known}
        known |= {text: wrong for text, wrong in new.items() if isinstance(wrong, str)}
        asked = {text: tuple(map(tuple, each)) for text, each in new.items() if text not in known}
        known |= zip(asked, answered(list(asked.values()), delta, adjacency, gap), strict=True)
        rows: list[tuple[Any, ...]] = []
        for text, whose in zip(said, users_of, strict=True):
            found = known[text]
            if stop and isinstance(found, str):
                raise InvalidInputError(f"user {domains.shown(whose.as_py()[0])}: {found}", "df")
            rows.append((*4 * (None,), found) if isinstance(found, str) else found)
        which = pa.array(np.repeat(np.arange(len(rows)), pc.list_value_length(users_of).to_numpy()))
        columns = [pa.array([row[place] for row in rows], type=kind).take(which) for place, kind in enumerate(kinds)]
        yield pa.RecordBatch.from_arrays([users_of.flatten(), *columns], names=names)


def _named(name: str) -> Any:
    """Column by name, whatever characters the name has."""
    return F.col("`" + name.replace("`", "``") + "`")


def _user(df: Any, name: str) -> Any:
    """Column of users.

    Raises:
        InvalidInputError: the column is missing, or equal values may have different bytes.
    """
    _checked_column(df, name, "user")
    kind = df.schema[name].dataType
    if not isinstance(kind, T.AtomicType) or kind.simpleString().startswith("string collate"):
        raise InvalidInputError(
            f"user must be a column of numbers, text, bytes or dates; {name!r} has type {kind.simpleString()}; cast "
            "it first",
            "user",
        )
    column = _named(name)
    if isinstance(kind, T.FloatType | T.DoubleType):
        column = column + F.lit(0.0).cast(kind)  # of -0.0, 0.0
    return column.alias("user")


def _number(df: Any, source: str | float, key: str) -> Any:
    """Column of doubles, or one number for all rows.

    Raises:
        InvalidInputError: the column is missing or of another type, or the number is outside its domain.
    """
    if not isinstance(source, str):
        return F.lit(constant(source, key)).alias(key)
    _checked_column(df, source, key)
    kind = df.schema[source].dataType
    if not isinstance(kind, T.NumericType):
        raise InvalidInputError(
            f"{key} must be a column of numbers; {source!r} has type {kind.simpleString()}; cast it first", key
        )
    return _named(source).cast("double").alias(key)


def _times(df: Any, when: str | None, until: Any) -> list[Any]:
    """Columns that mark the rows to count and the rows without a time; an empty list if there is no cut in time.

    Raises:
        InvalidInputError: only one of ``when`` and ``until`` is given, the column is missing, or the cut has another
            type.
    """
    checked_cut(when, until)
    if when is None:
        return []
    _checked_column(df, when, "when")
    kind = df.schema[when].dataType
    limit = F.lit(until).try_cast(kind)
    (known,) = df.sparkSession.range(1).select(limit.isNotNull() & limit.eqNullSafe(limit)).first()
    if not known or until != until:
        raise InvalidInputError(
            f"until must be comparable with the column {when!r}, of type {kind.simpleString()}; received "
            f"{domains.shown(until)}",
            "until",
        )
    column = _named(when)
    undated = column.isNull()
    if isinstance(kind, T.FloatType | T.DoubleType):
        undated = undated | F.isnan(column)
    return [(undated | (column <= limit)).alias("counted"), undated.alias("undated")]


def _checked_column(df: Any, name: str, key: str) -> None:
    if name not in df.columns:
        raise InvalidInputError(
            f"{key} must be a column; received {name!r}, but the columns are {domains.listed(df.columns)}",
            key,
        )
