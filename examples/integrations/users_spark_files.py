"""Epsilon of every user of Parquet files, on Spark, whose workers read and write them."""

import math
import os
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import SparkSession

from hockeystick.integrations import spark as accounting

os.environ["PYSPARK_PYTHON"] = sys.executable  # workers run in this environment

session = SparkSession.builder.master("local[2]").getOrCreate()
folder = Path(tempfile.mkdtemp())
rows = {
    "user": ["ada", "bob", "ada", "cleo"],
    "noise_multiplier": [1.0, 1.0, 2.0, 1.0],
    "sample_rate": [0.01, 0.01, 0.02, 0.01],
    "steps": [500, 1000, 300, 1000],
}
pyarrow.parquet.write_table(pa.table(rows), folder / "rows.parquet")
accounting.users_of_files(session, str(folder / "rows.parquet"), delta=1e-6, to=str(folder / "answers"))
answers = pyarrow.parquet.read_table(folder / "answers").sort_by("user")
for row in answers.to_pylist():
    print(row["user"], row["steps"], math.ceil(1e6 * row["epsilon_upper"]) / 1e6)  # six digits, rounded up
