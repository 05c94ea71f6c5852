"""Spark: epsilon of every row of a DataFrame, and of every user of one whose rows say who took part in what.

The work of Spark is to bring rows together; an epsilon is what one process would say, to the last bit. Workers need
hockeystick, pandas and pyarrow. Nothing is computed before an action asks for the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from hockeystick.integrations.needed import missing
from hockeystick.integrations.rows import ENDS, Errors, Row, checked_cut, checked_errors, sources_of
from hockeystick.questions.histories.answers import History, answers, canonical
from hockeystick.questions.histories.entries import DOMAINS, NOISE, RATE, STEPS, refusal
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import InvalidInputError

try:
    import pyspark  # noqa: F401  # itself first, so that it is what is named where it is missing
    from pyspark.sql import functions as F  # noqa: N812  # as everybody who uses Spark calls it
    from pyspark.sql import types as T  # noqa: N812
except ModuleNotFoundError as error:
    raise missing(error) from None

__all__ = ["epsilon", "users"]

TASKS = 64
"""Tasks among which distinct histories are shared, a few for each core of some machines. A task costs some hundredths
of a second, so that too many do no harm; Spark by itself would put so small a table into one."""

WRONG = "!"
"""What the text of a wrong row begins with; it comes before all digits."""

MISSING = "null"
"""What stands for a number that is missing in a wrong row."""


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
    brings the rows of a user together and adds them up, each distinct history is asked once, and the answers are joined
    to the users.

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
    checked_errors(errors)
    tasks = domains.whole(tasks, "tasks", "tasks among which the distinct histories are shared", least=1)
    adjacency = Adjacency(adjacency) if adjacency in list(Adjacency) else adjacency
    answers([], delta, adjacency, gap)  # what is wrong with the question is said before the job runs
    _checked_column(df, user, "user")
    sources = {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate, "steps": steps}
    numbers = {key: _number(df, source, key) for key, source in sources.items()}
    histories = _histories(df.select(_user(user), *_times(df, when, until), *numbers.values()))
    distinct = histories.groupBy("history").agg(F.min("user").alias("somebody"))
    new = [T.StructField("steps", T.LongType())]
    new += [T.StructField(f"{prefix}_{name}", T.DoubleType()) for name in ENDS]
    new += [T.StructField(f"{prefix}_reason", T.StringType())]
    answered = distinct.repartition(tasks).mapInPandas(
        _answering(delta, adjacency, gap, [field.name for field in new], errors == "stop"),
        T.StructType([T.StructField("history", T.StringType()), *new]),
    )
    joined = histories.join(answered, "history")
    return joined.select(F.col("user").alias(user), *(f"`{field.name}`" for field in new))


def _user(name: str) -> Any:
    """The users; a row without one fails the job."""
    column = F.col(f"`{name}`")
    said = (
        f"a row has no {name}: its steps are those of some user, whose epsilon would be too small without them; say "
        "whose they are, or take the row out"
    )
    return F.when(column.isNull(), F.raise_error(F.lit(said))).otherwise(column).alias("user")


def _number(df: Any, source: str | float, key: str) -> Any:
    """A column of doubles, or one number for all rows.

    Raises:
        InvalidInputError: no such column, one of another type, or a number outside its domain.
    """
    if not isinstance(source, str):
        value = DOMAINS[key].check(source, f"{key}, a number and no name of a column,")
        return F.lit(float(value)).alias(key)
    _checked_column(df, source, key)
    kind = df.schema[source].dataType
    if not isinstance(kind, T.NumericType):
        raise InvalidInputError(
            f"{key} must be a column of numbers; {source!r} is of type {kind.simpleString()}: cast it first", key
        )
    return F.col(f"`{source}`").cast("double").alias(key)


def _times(df: Any, when: str | None, until: Any) -> list[Any]:
    """Whether a row is to be looked at, and whether it has no time although there is a cut.

    Raises:
        InvalidInputError: one of the two alone, no such column, or a cut that is of another type.
    """
    checked_cut(when, until)
    if when is None:
        return [F.lit(True).alias("counted"), F.lit(False).alias("undated")]
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
    column = F.col(f"`{when}`")
    undated = column.isNull()
    if isinstance(kind, T.FloatType | T.DoubleType):
        undated = undated | F.isnan(column)
    return [(undated | (column <= limit)).alias("counted"), undated.alias("undated")]


def _histories(rows: Any) -> Any:
    """For each user the history as text: ``noise,rate,steps;...``, sorted as text, or ``!noise,rate,steps,undated``.

    The latter is a wrong row, one of them. Doubles as text are as Java writes them, and are read again as they were.
    One exchange brings all rows of a user to one place, where both groupings are done.
    """
    noise, rate, steps = (F.col(key) for key in DOMAINS)
    sound = noise.between(NOISE.keywords["minimum"], NOISE.keywords["maximum"])
    sound &= (rate > RATE.keywords["exclusiveMinimum"]) & (rate <= RATE.keywords["maximum"])
    sound &= steps.between(STEPS.keywords["minimum"], STEPS.keywords["maximum"]) & (steps == F.floor(steps))
    sound = F.coalesce(sound, F.lit(False)) & ~F.col("undated")
    counts = F.col("counted") & sound & (steps > 0)
    said = [F.coalesce(number.cast("string"), F.lit(MISSING)) for number in (noise, rate, steps)]
    wrong = F.concat(F.lit(WRONG), F.concat_ws(",", *said, F.col("undated").cast("string")))
    marked = rows.select(
        "user",
        F.when(counts, noise).alias("noise"),
        F.when(counts, rate).alias("rate"),
        F.when(counts, steps).alias("steps"),
        F.when(F.col("counted") & ~sound, wrong).alias("wrong"),
    )
    kinds = marked.repartition("user").groupBy("user", "noise", "rate", "wrong").agg(F.sum("steps").alias("steps"))
    kind = F.when(F.col("noise").isNotNull(), F.concat_ws(",", "noise", "rate", "steps"))
    listed = kinds.groupBy("user").agg(F.sort_array(F.collect_list(F.coalesce("wrong", kind))).alias("kinds"))
    first = F.try_element_at("kinds", F.lit(1))
    history = F.when(first.startswith(WRONG), first).otherwise(F.array_join("kinds", ";"))
    return listed.select("user", history.alias("history"))


def _read(text: str) -> tuple[History, str | None]:
    """The history that a text says, or what is wrong with a row of it."""
    if not text.startswith(WRONG):
        return canonical(map(float, kind.split(",")) for kind in text.split(";") if kind), None  # type: ignore[misc]
    *numbers, undated = text.removeprefix(WRONG).split(",")
    refused = refusal(*(None if number == MISSING else float(number) for number in numbers))
    assert refused is not None or undated == "true"  # else the row were sound
    return (), refused or "when must be comparable with until; received None"


def _answering(
    delta: float, adjacency: Adjacency | str, gap: float | None, names: list[str], stop: bool
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What adds answers to batches of distinct histories, in pandas."""

    def answered(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            read = [_read(text) for text in batch["history"]]
            found = answers([history for history, _ in read], delta, adjacency, gap, stop=False)
            columns: list[list[Any]] = [[] for _ in names]
            ends = zip(found.lower.tolist(), found.estimate.tolist(), found.upper.tolist(), strict=True)
            for (history, wrong), own, known, user in zip(read, ends, found.reasons, batch["somebody"], strict=True):
                reason = wrong or known
                row = [sum(steps for *_, steps in history), *own, reason]
                if wrong is not None or math.isnan(own[-1]):
                    if stop:
                        raise InvalidInputError(f"user {domains.shown(user)}: {reason}", "df")
                    row = [None] * (len(names) - 1) + [reason]
                for column, value in zip(columns, row, strict=True):
                    column.append(value)
            made = [_wholes(columns[0]), *map(_doubles, columns[1:-1]), _texts(columns[-1])]
            yield batch[["history"]].assign(**dict(zip(names, made, strict=True)))

    return answered


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
