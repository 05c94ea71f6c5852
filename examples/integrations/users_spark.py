"""Epsilon of every user of a table, on Spark."""

import itertools
import math
import os
import sys

from pyspark.sql import SparkSession

from hockeystick.integrations.users import users

NUMBERS = "steps double, epsilon_lower double, epsilon_estimate double, epsilon_upper double, epsilon_reason string"


def answered(pieces):
    """Answer the users of a task, which has all rows of each of them."""
    first = next(pieces, None)
    if first is not None:  # else the task has no rows
        yield users(itertools.chain([first], pieces), delta=1e-6, errors="row")


os.environ["PYSPARK_PYTHON"] = sys.executable  # workers run in this environment
session = SparkSession.builder.master("local[2]").getOrCreate()
rows = session.createDataFrame(
    [("ada", 1.0, 0.01, 500), ("bob", 1.0, 0.01, 1000), ("ada", 2.0, 0.02, 300), ("cleo", 0.0, 0.01, 1000)],
    "user string, noise_multiplier double, sample_rate double, steps long",
)
in_tasks = rows.repartition(2, "user")  # sends all rows of a user to the same task
answers = in_tasks.mapInPandas(answered, f"user string, {NUMBERS}")

for row in answers.orderBy("user").collect():
    upper = None if row.epsilon_upper is None else math.ceil(1e6 * row.epsilon_upper) / 1e6  # six digits, rounded up
    print(row.user, row.steps, upper, row.epsilon_reason)
