"""Spark: epsilon of every row of a DataFrame, or of every user of a DataFrame of participations.

Spark brings rows together; each epsilon equals that of a single process to the last bit. Workers need hockeystick,
pandas and pyarrow. Computation waits for an action, except when answers are written to files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from hockeystick.integrations.needed import missing
from hockeystick.integrations.rows import ENDS, Errors, Row, checked_cut, checked_errors, new_columns, sources_of
from hockeystick.questions.histories.answers import answers
from hockeystick.questions.histories.entries import DOMAINS
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import InvalidInputError

try:
    from pyspark import TaskContext  # imported first, so that an error names it
    from pyspark.sql import functions as F  # noqa: N812  # as everybody who uses Spark calls it
    from pyspark.sql import types as T  # noqa: N812
    from pyspark.sql.pandas.types import from_arrow_type

    from hockeystick.integrations import files
    from hockeystick.integrations.blocks import SCHEMA, blocks
    from hockeystick.integrations.partitions import ADDRESSED, answering, finishing, grouping  # needs pyarrow
except ModuleNotFoundError as error:
    raise missing(error) from None

__all__ = ["epsilon", "users", "users_of_files"]

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
        gap: widest relative width wanted of the intervals.
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

    def added(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            said = batch[list(sources.values())].astype(object)
            said = said.where(said.notna(), None).to_numpy().tolist()
            found: dict[str, list[Any]] = {name: [] for name in (*ENDS, "reason")}
            for number, values in enumerate(said):
                mapping = dict(zip(sources, values, strict=True))
                wrong = row.refused(mapping)
                if wrong is None:
                    ends, reason = row.answer(mapping)
                elif errors == "row":
                    ends, reason = (None, None, None), wrong
                else:
                    place = f"a row {mapping}" if key is None else f"{key} {domains.shown(batch[key].iloc[number])}"
                    raise InvalidInputError(f"{place}: {wrong}", "df")
                for name, value in zip(found, (*ends, reason), strict=True):
                    found[name].append(value)
            yield batch.assign(
                **{f"{prefix}_{name}": _doubles(found[name]) for name in ENDS},
                **{f"{prefix}_reason": _texts(found["reason"])},
            )

    fields = [T.StructField(f"{prefix}_{name}", T.DoubleType()) for name in ENDS]
    schema = T.StructType([*df.schema.fields, *fields, T.StructField(f"{prefix}_reason", T.StringType())])
    return df.mapInPandas(added, schema)


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
        delta, user, noise_multiplier, sample_rate, steps, when, until, adjacency, gap, prefix, errors: as there;
            columns of numbers must have a numeric type, and ``until`` is cast to the type of ``when``.
        tasks: number of tasks that share the distinct histories.

    Returns:
        A DataFrame with a row for each user, in no order: the user, ``steps``, ``epsilon_lower``, ``epsilon_estimate``
        and ``epsilon_upper`` (null if a row is invalid), and ``epsilon_reason``: the reason for a null, an infinite end
        or a wide interval; else null.

    Raises:
        InvalidInputError: an argument is outside its domain, or a column is missing or of another type. When the job
            runs: a row has no user, whatever ``errors`` is, or is invalid with ``errors="stop"``.
    """
    question = _Question.checked(delta, adjacency, gap, errors, new_columns(user, prefix), tasks)
    whose = _user(df, user)
    sources = {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate, "steps": steps}
    numbers = {key: _number(df, source, key) for key, source in sources.items()}
    rows = df.select(whose, F.hash(whose).alias("hash"), *numbers.values(), *_times(df, when, until))
    answered = _answered(rows.mapInArrow(blocks(_parts(df.sparkSession)), SCHEMA), question)
    return answered.mapInArrow(
        finishing(user, question.names, None, question.stop), _fields(user, df.schema[user].dataType, question.names)
    )


def users_of_files(
    session: Any,
    paths: str | Iterable[str],
    delta: float,
    *,
    to: str | None = None,
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
    """Return the epsilon of each user of Parquet files whose rows list participations.

    The numbers equal those of :func:`users` for a DataFrame of these files, to the last bit, in less time: workers read
    the files directly, without Java. All workers must be able to read them.

    Args:
        session: Spark session.
        paths: one or several paths or URIs that pyarrow opens: files, or folders, which stand for all their files whose
            names end in ``.parquet`` and do not begin with ``_`` or ``.``.
        delta, user, noise_multiplier, sample_rate, steps, when, until, adjacency, gap, prefix, errors, tasks: as for
            :func:`users`.
        to: path or URI of a new folder, local or in HDFS, where workers write a Parquet file for each part of the
            users. It appears with all answers or, after any failure, not at all.

    Returns:
        Without ``to``, a DataFrame like that of :func:`users`; only the footers of the files are read before an action.
        With ``to``, the paths of the written files.

    Raises:
        InvalidInputError: an argument is outside its domain, a file or column is missing, a column has another type, or
            a file changes meanwhile. When the job runs, the errors of :func:`users`.
    """
    question = _Question.checked(delta, adjacency, gap, errors, new_columns(user, prefix), tasks)
    checked_cut(when, until)
    sources = {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate, "steps": steps}
    numbers = {key: source if isinstance(source, str) else _constant(source, key) for key, source in sources.items()}
    columns = files.Columns(user, numbers, when, until)
    shares, kind = files.groups(paths, columns)
    read, packed = files.reading(shares, columns), blocks(_parts(session))
    rows = session.range(0, len(shares), 1, len(shares)).mapInArrow(lambda numbers: packed(read(numbers)), SCHEMA)
    answered = _answered(rows, question)
    if to is None:
        own = files.of_spark(kind)
        fields = _fields(user, from_arrow_type(own, prefer_timestamp_ntz=True), question.names)
        return answered.mapInArrow(finishing(user, question.names, own, question.stop), fields)
    finished = finishing(user, question.names, None, question.stop)
    folder = files.Folder(str(to))
    try:
        write = folder.writing(lambda: TaskContext.get().partitionId())
        done = answered.mapInArrow(lambda batches: write(finished(batches)), "name string, users long").collect()
        return folder.finish({row.name for row in done}, files.columns_of(user, kind, question.names))
    except BaseException:
        folder.discard()
        raise


@dataclass(frozen=True)
class _Question:
    """Arguments of a query about all users, checked before a job runs."""

    delta: float
    adjacency: Adjacency | str
    gap: float | None
    stop: bool
    names: list[str]
    tasks: int

    @classmethod
    def checked(
        cls,
        delta: float,
        adjacency: Adjacency | str,
        gap: float | None,
        errors: Errors,
        names: list[str],
        tasks: int,
    ) -> Self:
        """Return the checked arguments.

        Raises:
            InvalidInputError: an argument is outside its domain.
        """
        checked_errors(errors)
        tasks = domains.whole(tasks, "tasks", "tasks among which the distinct histories are shared", least=1)
        adjacency = Adjacency.parse(adjacency)
        answers([], delta, adjacency, gap)
        return cls(delta, adjacency, gap, errors == "stop", names, tasks)


def _answered(rows: Any, question: _Question) -> Any:
    """Lines and answers of all parts, in addressed blocks; one task gets all blocks of a part.

    Args:
        rows: blocks of rows.
        question: arguments of the query.
    """
    grouped = rows.repartition("part").mapInArrow(grouping(question.stop, question.tasks), ADDRESSED)
    answer = answering(question.delta, question.adjacency, question.gap)
    return grouped.repartition(question.tasks, "part").mapInArrow(answer, ADDRESSED).repartition("home")


def _parts(session: Any) -> int:
    """Number of tasks among which the users are shared."""
    return int(session.conf.get("spark.sql.shuffle.partitions"))


def _fields(user: str, kind: Any, names: list[str]) -> Any:
    """Columns of the answers."""
    kinds = [T.LongType(), *(T.DoubleType() for _ in ENDS), T.StringType()]
    own = [T.StructField(name, kind) for name, kind in zip(names, kinds, strict=True)]
    return T.StructType([T.StructField(user, kind, nullable=False), *own])


def _constant(source: float, key: str) -> float:
    """Number for all rows.

    Raises:
        InvalidInputError: the number is outside its domain.
    """
    return float(DOMAINS[key].check(source, f"{key}, a number and no name of a column,"))


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
            f"user must be a column of numbers, text, bytes or dates; {name!r} is of type {kind.simpleString()}: "
            "cast it first",
            "user",
        )
    return _named(name).alias("user")


def _number(df: Any, source: str | float, key: str) -> Any:
    """Column of doubles, or one number for all rows.

    Raises:
        InvalidInputError: the column is missing or of another type, or the number is outside its domain.
    """
    if not isinstance(source, str):
        return F.lit(_constant(source, key)).alias(key)
    _checked_column(df, source, key)
    kind = df.schema[source].dataType
    if not isinstance(kind, T.NumericType):
        raise InvalidInputError(
            f"{key} must be a column of numbers; {source!r} is of type {kind.simpleString()}: cast it first", key
        )
    return _named(source).cast("double").alias(key)


def _times(df: Any, when: str | None, until: Any) -> list[Any]:
    """Columns that mark the rows to count and the rows without a time; none without a cut.

    Raises:
        InvalidInputError: only one of the two is given, the column is missing, or the cut has another type.
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
            f"{key} must be a column; received {name!r}, and the columns are {domains.listed(df.columns)}",
            key,
        )


def _doubles(values: list[Any]) -> Any:
    import pandas

    return pandas.array(values, dtype="Float64")


def _wholes(values: list[Any]) -> Any:
    import pandas

    return pandas.array(values, dtype="Int64")


def _texts(values: list[Any]) -> Any:
    import numpy as np

    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
