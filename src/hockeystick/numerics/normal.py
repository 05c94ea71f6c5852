"""Constants of the normal distribution."""

import math

HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
"""``-log phi(0)``, where phi is the standard normal density."""
