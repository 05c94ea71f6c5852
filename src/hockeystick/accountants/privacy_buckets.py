"""``privacy-buckets``: likelihood ratios in buckets whose two ends have a constant ratio. Two-sided.

Meiser, Mohammadi 2018 [MM18], "Tight on Budget?". Bucket i of 2n + 1 holds the outcomes with ``f^(i-1) < p/q <= f^i``,
f the factor, h = log f. For the upper bound on delta every loss is rounded up to the upper end of its bucket, for the
lower bound down to the lower end. The paper's real and virtual errors are terms that undo nearly all of this rounding
(proofs in ``accountants/shared/buckets.py``). ``correction=0`` omits these terms, which leaves plain rounding.

Buckets compose by convolution, and many equal rounds by repeated squaring. If more than a negligible mass would leave
the range at the top, the factor f is squared first: two buckets become one.

Convolutions are done by FFT. A bound on the mass misplaced by their rounding is added to the upper bound on delta, and
subtracted from the lower one.

Cost: ``2 log2 k`` convolutions of n buckets for each kind of round and each bound, twice that with the correction.
Known failure: plain rounding moves epsilon by up to ``k h``, at first order. With the correction the shift is of second
order in k h, but only while k h is small compared with the standard deviation of the losses. For many rounds in few
buckets, the correction undoes no rounding, and the interval is wide. The rounding errors of the Fourier transforms are
relative to 1. A delta below about ``1e-12 k`` is therefore refused, or bounded from above only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from hockeystick.accountants.published import BracketAccountant, enclosed
from hockeystick.accountants.shared.buckets import Buckets
from hockeystick.accountants.shared.dots import loss_range
from hockeystick.accountants.shared.guess import guessed_log_delta
from hockeystick.accountants.shared.lattice import MAX_POINTS, PRECISION
from hockeystick.numerics.meet import lower_end, upper_end
from hockeystick.numerics.rounding import LARGEST
from hockeystick.pairs import Composition, DominatingPair
from hockeystick.values import domains
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval
from hockeystick.values.side import Side

NEGLIGIBLE = 1e-7  # fraction of delta that one convolution may add to the bucket at infinity without squaring f
DROWNED = "delta is within the rounding of the Fourier transforms"
"""Reason for a wide interval of delta."""

ABOVE_ONE = domains.Domain("a finite number greater than 1", {"exclusiveMinimum": 1})


@dataclass(frozen=True)
class PrivacyBucketsAccountant(BracketAccountant):
    """Accountant by privacy buckets, with losses rounded up for the upper bound and down for the lower bound.

    Args:
        factor: ratio f of neighbouring buckets, before squaring.
        buckets: number n of buckets on either side of the ratio 1.
        correction: 1 to undo most of the rounding by the paper's real and virtual errors, 0 for plain rounding.
    """

    factor: Annotated[float, ABOVE_ONE.of("initial ratio of neighbouring buckets")] = 1.00001
    buckets: Annotated[int, domains.whole_numbers(10, 10**6).of("number of buckets on either side of 1")] = 20_000
    correction: Annotated[
        int, domains.whole_numbers(0, 1).of("1 for real and virtual error correction, 0 for plain rounding")
    ] = 1

    name = "privacy-buckets"
    summary = "certified: losses in buckets of constant ratio, with real and virtual errors"

    def epsilon_ends(self, composition: Composition, deltas: tuple[float, float]) -> Interval:
        """Return certified ends of epsilon, where the deltas of the lower and of the upper law fall to the target."""
        delta = deltas[0]
        up = self._composed(composition, delta, Side.ABOVE)
        if up.error > 0.9 * delta:
            raise NotApplicableError(
                f"the rounding of the Fourier transforms, up to {up.error:.1e}, is too large for a delta of "
                f"{delta:.1e}; use accountant 'connect-the-dots' or 'auto', or a larger delta"
            )
        down = self._composed(composition, delta, Side.BELOW)
        top = up.width * (up.half + 1) + 2 * up.slip
        upper = upper_end(up.log_delta, math.log(delta), 0.5 * top, 1 / top, PRECISION)
        return enclosed(lower_end(down.log_delta, math.log(deltas[1]), min(upper, top), 1 / top, PRECISION), upper)

    def log_delta_ends(self, composition: Composition, epsilon: float) -> Interval:
        """Return certified ends of log delta, from the composed lower law and the composed upper law."""
        delta = math.exp(max(guessed_log_delta(composition, epsilon).value, -LARGEST))
        up, down = (self._composed(composition, delta, side) for side in (Side.ABOVE, Side.BELOW))
        upper = up.log_delta(epsilon)
        drowned = math.log(2 * up.error) > upper if up.error > 0 else False
        return enclosed(down.log_delta(epsilon), upper, DROWNED if drowned else None)

    def _composed(self, composition: Composition, delta: float, side: Side) -> Buckets:
        """Composition of all rounds, rounded to one side; equal rounds are composed by repeated squaring."""
        convolved = sum(2 * (count.bit_length() + count.bit_count()) for _, count in composition.rounds)
        work = (1 + self.correction) * self.buckets * convolved
        if work > MAX_POINTS:
            least = max(int(self.buckets * MAX_POINTS / work), 10)
            raise NotApplicableError(f"so many convolutions would take too long; set buckets to at most {least}")
        negligible = NEGLIGIBLE * delta / (2 * math.log2(composition.count + 1) * len(composition.rounds))
        total: Buckets | None = None
        for pair, count in composition.rounds:
            power = self._round(pair, negligible / count, side)
            while count:
                if count & 1:
                    total = power if total is None else total.convolved(power, negligible)
                count >>= 1
                if count:
                    power = power.convolved(power, negligible / count)
        assert total is not None
        return total

    def _round(self, pair: DominatingPair, negligible: float, side: Side) -> Buckets:
        width, n = math.log(self.factor), self.buckets
        high = loss_range(pair, max(math.log(max(negligible, 1e-300)), -690.0))[1]
        while width * n < high:
            width *= 2
        return Buckets.of(pair, width, n, side, bool(self.correction))
