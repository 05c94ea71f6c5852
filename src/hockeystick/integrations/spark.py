"""Spark: epsilon of every row of a DataFrame, and of every user of one whose rows say who took part in what.

The work of Spark is to bring rows together; an epsilon is what one process would say, to the last bit. Workers need
hockeystick, pandas and pyarrow. Nothing is computed before an action asks for the result, but where files of answers
are asked for.
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
    from pyspark import TaskContext  # itself first, so that it is what is named where it is missing
    from pyspark.sql import functions as F  # noqa: N812  # as everybody who uses Spark calls it
    from pyspark.sql import types as T  # noqa: N812
    from pyspark.sql.pandas.types import from_arrow_type

    from hockeystick.integrations import files
    from hockeystick.integrations.blocks import SCHEMA, blocks
    from hockeystick.integrations.partitions import ADDRESSED, answering, finishing, grouping  # which needs pyarrow
except ModuleNotFoundError as error:
    raise missing(error) from None

__all__ = ["epsilon", "users", "users_of_files"]

TASKS = 64
"""Tasks among which distinct histories are shared, a few for each core of some machines. A task costs some hundredths
of a second, so that too many do no harm; Spark by itself would put so small a table into one."""


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
    """The DataFrame with columns for the ends of each row's epsilon, as ``frames.epsilon`` adds them to a frame.

    Args:
        df: a DataFrame of Spark; its columns among the arguments of :func:`hockeystick.dp_sgd` are read, all others are
            left alone.
        columns: for keys that are called otherwise, the name of their column.
        prefix: of the new columns.
        gap: widest relative width wanted of the intervals.
        errors: what a wrong row does: ``"stop"`` fails the job; with ``"row"`` it has no numbers, and the reason.
        key: the column by which a wrong row is named where it fails the job.
        constants: keys with the same value in every row.

    Returns:
        A DataFrame with ``epsilon_lower``, ``epsilon_estimate`` and ``epsilon_upper``, doubles, and ``epsilon_reason``:
        why an end is infinite, the interval wide, or the row without numbers; else null.

    Raises:
        InvalidInputError: an unknown key or column, or a value outside its domain; a wrong row, when the job runs.
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
    """The epsilon of each user of a DataFrame whose rows say who took part in what.

    What :func:`hockeystick.integrations.users.users` says of a frame, with the same numbers to the last bit: Spark
    brings the rows of a user together, where they are added up, and each distinct history is asked once.

    Args:
        df: a DataFrame of Spark.
        delta, user, noise_multiplier, sample_rate, steps, when, until, adjacency, gap, prefix, errors: as there; the
            columns of numbers have a type of numbers, and ``until`` can be cast to the type of ``when``.
        tasks: number of tasks among which the distinct histories are shared.

    Returns:
        A DataFrame with a row for each user, in no order: the user, ``steps``, ``epsilon_lower``, ``epsilon_estimate``
        and ``epsilon_upper``, null where a row is wrong, and ``epsilon_reason``: why they are null, an end is infinite
        or the interval wide; else null.

    Raises:
        InvalidInputError: an argument outside its domain, no such column, or one of another type. When the job runs: a
            row without a user, whatever ``errors`` says, and a wrong row where that stops all.
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
    """The epsilon of each user of Parquet files whose rows say who took part in what.

    What :func:`users` says of a DataFrame of these files, with the same numbers to the last bit, in less time:
    workers read the files themselves, and Java sees no row. They have to be where all workers can read them.

    Args:
        session: of Spark.
        paths: a path or URI that pyarrow opens, or several: files, or folders, of which all files are meant whose names
            end in ``.parquet`` and do not begin with ``_`` or ``.``.
        delta, user, noise_multiplier, sample_rate, steps, when, until, adjacency, gap, prefix, errors, tasks: as for
            :func:`users`.
        to: path or URI of a folder that is not there yet, local or of HDFS, where workers write a Parquet file for each
            part of the users. It is there with all answers, or, where anything fails, not at all.

    Returns:
        Without ``to`` a DataFrame as :func:`users` has it; nothing is read but the ends of the files before an action
        asks for it. With ``to`` the paths of the files that were written.

    Raises:
        InvalidInputError: an argument outside its domain, no such file or column, one of another type, or a file that
            changes meanwhile. When the job runs, what :func:`users` raises.
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
    """What is asked of all users, checked before a job runs."""

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
        """What is asked.

        Raises:
            InvalidInputError: an argument outside its domain.
        """
        checked_errors(errors)
        tasks = domains.whole(tasks, "tasks", "tasks among which the distinct histories are shared", least=1)
        adjacency = Adjacency.parse(adjacency)
        answers([], delta, adjacency, gap)
        return cls(delta, adjacency, gap, errors == "stop", names, tasks)


def _answered(rows: Any, question: _Question) -> Any:
    """The lines and answers of all parts, in addressed blocks, those of a part in one task.

    Args:
        rows: blocks of rows.
        question: what is asked.
    """
    grouped = rows.repartition("part").mapInArrow(grouping(question.stop, question.tasks), ADDRESSED)
    answer = answering(question.delta, question.adjacency, question.gap)
    return grouped.repartition(question.tasks, "part").mapInArrow(answer, ADDRESSED).repartition("home")


def _parts(session: Any) -> int:
    """Among how many tasks the users are shared."""
    return int(session.conf.get("spark.sql.shuffle.partitions"))


def _fields(user: str, kind: Any, names: list[str]) -> Any:
    """The columns of the answers."""
    kinds = [T.LongType(), *(T.DoubleType() for _ in ENDS), T.StringType()]
    own = [T.StructField(name, kind) for name, kind in zip(names, kinds, strict=True)]
    return T.StructType([T.StructField(user, kind, nullable=False), *own])


def _constant(source: float, key: str) -> float:
    """One number for all rows.

    Raises:
        InvalidInputError: it is outside its domain.
    """
    return float(DOMAINS[key].check(source, f"{key}, a number and no name of a column,"))


def _named(name: str) -> Any:
    """A column by its name, whatever characters that has."""
    return F.col("`" + name.replace("`", "``") + "`")


def _user(df: Any, name: str) -> Any:
    """The users.

    Raises:
        InvalidInputError: no such column, or values of which it is not the bytes that make them equal.
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
    """A column of doubles, or one number for all rows.

    Raises:
        InvalidInputError: no such column, one of another type, or a number outside its domain.
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
    """Whether a row is to be looked at, and whether it has no time; nothing where there is no cut.

    Raises:
        InvalidInputError: one of the two alone, no such column, or a cut that is of another type.
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
