"""Epsilon of every user of a collection, on Apache Beam."""

import math

import apache_beam as beam

from hockeystick.integrations.beam import UserEpsilons

ROWS = [("ada", 1.0, 0.01, 500), ("bob", 1.0, 0.01, 1000), ("ada", 2.0, 0.02, 300), ("cleo", 0.0, 0.01, 1000)]

with beam.Pipeline() as pipeline:
    answers, wrong = pipeline | beam.Create(ROWS) | UserEpsilons(delta=1e-6, errors="row")
    answers | beam.MapTuple(lambda user, found: print(user, found.steps, math.ceil(1e6 * found.upper) / 1e6))
    wrong | beam.MapTuple(lambda user, reason: print(user, reason))
