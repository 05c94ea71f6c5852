"""Epsilon of every user of a collection, on Apache Beam."""

import math

import apache_beam as beam

from hockeystick.integrations.users import users

NAMES = ("user", "noise_multiplier", "sample_rate", "steps")


def answered(together):
    """Answer some users, each of whom comes with all rows."""
    rows = [row for _, rows in together for row in rows]
    columns = dict(zip(NAMES, zip(*rows, strict=True), strict=True))
    found = users(columns, delta=1e-6, errors="row")
    for answer in zip(*(column.tolist() for column in found.values()), strict=True):
        yield dict(zip(found, answer, strict=True))


def show(answer):
    """Print an answer, its upper end rounded up."""
    upper = math.ceil(1e6 * answer["epsilon_upper"]) / 1e6 if answer["epsilon_reason"] is None else None
    print(answer["user"], answer["steps"], upper, answer["epsilon_reason"])


ROWS = [("ada", 1.0, 0.01, 500), ("bob", 1.0, 0.01, 1000), ("ada", 2.0, 0.02, 300), ("cleo", 0.0, 0.01, 1000)]
with beam.Pipeline() as pipeline:
    grouped = pipeline | beam.Create(ROWS) | beam.GroupBy(lambda row: row[0])
    answers = grouped | beam.BatchElements(min_batch_size=1000) | beam.FlatMap(answered)
    answers | beam.Map(show)
