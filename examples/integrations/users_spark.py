"""Epsilon of every user of a table, on Spark."""

import math
import os
import sys

from pyspark.sql import SparkSession

from hockeystick.integrations import spark as accounting

os.environ["PYSPARK_PYTHON"] = sys.executable  # workers run in this environment

session = SparkSession.builder.master("local[2]").getOrCreate()
rows = session.createDataFrame(
    [("ada", 1.0, 0.01, 500), ("bob", 1.0, 0.01, 1000), ("ada", 2.0, 0.02, 300), ("cleo", 0.0, 0.01, 1000)],
    "user string, noise_multiplier double, sample_rate double, steps long",
)
answers = accounting.users(rows, delta=1e-6, errors="row")
for row in answers.orderBy("user").collect():
    upper = None if row.epsilon_upper is None else math.ceil(1e6 * row.epsilon_upper) / 1e6  # six digits, rounded up
    print(row.user, row.steps, upper, row.epsilon_reason)
