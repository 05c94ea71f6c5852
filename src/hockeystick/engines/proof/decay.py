"""Where the sum on the contour may be cut, and a bound on what is left out.

Every kind of round has an upper bound on ``|m(t + is)| / m(t)`` that holds from s on: sampled Gaussians that of
``envelope.py``, Laplace noise that of ``laplace.py`` or ``sampled_laplace.py``, unsampled Gaussians ``e^(-mu^2 s^2 /
2)``, and black boxes 1. With rho the product of all of them to their powers, what the sum of step ds leaves out beyond
S is at most (``|z (1 + z)| >= s^2``, which is increasing)

    e^(K(t) - t eps) rho(S) / pi (ds / S^2 + 1 / S) .
"""

from __future__ import annotations

import math
from typing import NamedTuple

from flint import arb

from hockeystick.engines.proof.envelope import EnvelopeBalls
from hockeystick.engines.proof.laplace import LaplaceDecay
from hockeystick.engines.proof.mixture import MixtureBalls
from hockeystick.engines.proof.rounds import ExactRounds
from hockeystick.engines.proof.sampled_laplace import SampledLaplaceDecay
from hockeystick.numerics.balls import Ball, ball, precision, upper
from hockeystick.values.errors import NotApplicableError

BITS = 64  # and twice those of the number of rounds
START = 0.7  # of where a normal law would end
STRIDE = 1.5  # of the first search
HALVINGS = 5  # of that stride
FURTHER = 1.03  # where balls find the bound too large
TRIALS = 6


class Cut(NamedTuple):
    """Where to cut, and the bound on what is left out in units of ``e^(K(t) - t eps)``."""

    reach: float
    rest: Ball


class Decay:
    """The bounds of all rounds together.

    Args:
        rounds: the rounds.
        t: tilt.
        depth: log of how small the rest may be, in units of ``e^(K(t) - t eps)``.
        variance: about that of the sum under the tilted law.

    Raises:
        NotApplicableError: there is nothing that falls off.
    """

    def __init__(self, rounds: ExactRounds, t: float, depth: float, variance: float) -> None:
        if not (rounds.sampled or rounds.mu_squared or rounds.laplace or rounds.sampled_laplace):
            raise NotApplicableError("no round has a characteristic function that falls off")
        self._depth = min(depth, -1.0)
        self._first = START * math.sqrt(-2 * self._depth / max(variance, 1e-300))
        self._bits = BITS + 2 * rounds.number.bit_length()
        with precision(self._bits):
            self._mu_squared = ball(rounds.mu_squared)
            self._sampled = [EnvelopeBalls(MixtureBalls(item), t, count) for item, count in rounds.sampled.items()]
            self._laplace: list[tuple[LaplaceDecay | SampledLaplaceDecay, int]] = [
                (LaplaceDecay(noise, t), count) for noise, count in rounds.laplace.items()
            ]
            for item, count in rounds.sampled_laplace.items():
                self._laplace.append((SampledLaplaceDecay(item, t, count), count))

    def _known(self, s: float) -> Ball:
        """Log of the bounds that take no search."""
        return sum((count * one.log_bound(s) for one, count in self._laplace), -self._mu_squared * arb(s) ** 2 / 2)

    def _about(self, s: float, step: float) -> float:
        """About the log of the bound on the rest."""
        log_rho = float(self._known(s).mid()) + sum(one.proposal(s)[1] for one in self._sampled)
        return log_rho + math.log((step / s**2 + 1 / s) / math.pi)

    def rest(self, reach: float, step: float) -> Ball:
        """The bound on what lies beyond."""
        log_rho = self._known(reach)
        for one in self._sampled:
            log_rho += one.count * one.log_bound(reach, one.proposal(reach)[0])
        at = arb(reach)
        return upper(log_rho.exp() * (arb(step) / at**2 + 1 / at) / arb.pi())

    def cut(self, step: float, most: int) -> Cut:
        """About the first point beyond which the sum of step ds is small enough to be left out.

        Args:
            step: ds.
            most: points allowed.

        Raises:
            NotApplicableError: it lies further out.
        """
        with precision(self._bits):
            low, high = 0.0, self._first
            while high <= most * step and self._about(high, step) > self._depth:
                low, high = high, STRIDE * high
            if high > most * step:
                raise NotApplicableError("too few rounds for a proof: the sum would be too long")
            for _ in range(HALVINGS if low else 0):
                middle = math.sqrt(low * high)
                low, high = (middle, high) if self._about(middle, step) > self._depth else (low, middle)
            for _ in range(TRIALS):
                rest = self.rest(high, step)
                if rest.log() < self._depth:
                    return Cut(high, rest)
                high *= FURTHER
        raise NotApplicableError("the characteristic functions do not fall off fast enough for a proof")
