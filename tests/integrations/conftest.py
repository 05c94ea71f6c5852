"""What other packages warn of while they do what they are asked; our own warnings stay errors. And a local Spark."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

THEIRS = (
    "ignore:Secure RNG turned off:UserWarning",
    "ignore:GDP accounting is experimental:UserWarning",
    "ignore:Full backward hook is firing:UserWarning",
    "ignore:Using a non-full backward hook:FutureWarning",
)


def pytest_configure(config: pytest.Config) -> None:
    for line in THEIRS:
        config.addinivalue_line("filterwarnings", line)


@pytest.fixture(scope="session")
def session() -> Iterator[Any]:
    """Spark on one core of this machine, one for all tests."""
    from pyspark.sql import SparkSession  # which other environments do not have

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[1]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(key, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    yield found
    found.stop()
