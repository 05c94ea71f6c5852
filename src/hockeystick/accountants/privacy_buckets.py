"""``privacy-buckets``: losses in buckets a constant factor wide, squared when the range is left. Two-sided.

Meiser, Mohammadi 2018 [MM18], "Tight on Budget?". Bucket i of
2n + 1 holds the outcomes with ``f^(i-1) < p/q <= f^i``, f the factor, h = log f. For the upper end every loss counts as
the upper end of its bucket, losses above n h are in the bucket at infinity and those below are raised to -n h; for the
lower end every loss counts as the lower end of its bucket, losses above are lowered to n h and those below are dropped.
Each of these moves ``E_P (1 - e^(eps - L))_+`` to its side, and under composition as well, being monotone in each loss.

Buckets compose by convolution, and the same round many times by repeated squaring. Where more than a negligible mass
would leave the range at the top, the factor is squared first: two buckets become one. This is the paper's plain
rounding, without its error correction terms.

Convolutions are done by FFT; a bound on the mass that their rounding may have misplaced is added to delta at the upper
end and taken off it at the lower one.

Cost: ``2 log2 k`` convolutions of n buckets per kind of round and end. Known failure: rounding moves epsilon by up to
``k h``, at first order, so that many rounds make the interval wide; and the Fourier transforms round relative to 1, so
that a delta below about ``1e-13 k`` is refused, or bounded from above only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from hockeystick.accountants.shared.bracket import BracketAccountant, Ends
from hockeystick.accountants.shared.dots import loss_range
from hockeystick.accountants.shared.guess import guessed_log_delta
from hockeystick.accountants.shared.lattice import crossing
from hockeystick.accountants.shared.privacy_curve import PrivacyCurve
from hockeystick.accountants.shared.rounded import cell_masses
from hockeystick.numerics.fourier import convolution_power, fast_length
from hockeystick.numerics.rounding import UNIT_ROUNDOFF
from hockeystick.pairs import Composition, DominatingPair
from hockeystick.values import domains
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.side import Side

Array = npt.NDArray[np.float64]

NEGLIGIBLE = 1e-7  # of delta: what one convolution may put into the bucket at infinity before the factor is squared
DROWNED = "delta is within the rounding of the Fourier transforms"
"""Why an interval of delta is wide."""

MAX_WORK = 4e6  # buckets times convolutions, in one direction: two seconds or so
UNDERFLOW = 1e-300  # mass of one round, and of a sum over buckets, that may be lost below the range of a double
SUMMED = 1e-13  # relative rounding of sums of positive terms
ABOVE_ONE = domains.Domain("a finite number greater than 1", {"exclusiveMinimum": 1})
"""Domain of the ratio of neighbouring buckets."""

BUCKETS = domains.Domain("a whole number from 10 to 1000000", {"minimum": 10, "maximum": 1_000_000}, whole=True)
"""Domain of the number of buckets on either side of 1."""


@dataclass(frozen=True)
class Buckets:
    """A law rounded to one side.

    Attributes:
        width: h.
        mass: shape (2n + 1,), of buckets -n .. n; they stand for the losses ``i h``.
        infinite: mass of the bucket at infinity.
        error: bound on the mass that rounding may have misplaced.
        slip: bound on the rounding error of the losses.
        side: of the truth, to which losses are rounded.
    """

    width: float
    mass: Array
    infinite: float
    error: float
    slip: float
    side: Side

    @property
    def half(self) -> int:
        """The number n of buckets on either side of the middle one."""
        return len(self.mass) // 2

    def squared(self) -> Buckets:
        """The factor squared: two buckets become the one of the safe end of their losses."""
        index = np.arange(-self.half, self.half + 1)
        to = -(-index // 2) if self.side is Side.ABOVE else index // 2
        mass = np.bincount(to + self.half, weights=self.mass, minlength=len(self.mass)).astype(np.float64)
        return replace(self, width=2 * self.width, mass=mass, error=self.error + SUMMED)

    def convolved(self, other: Buckets, negligible: float) -> Buckets:
        """Both together, the factor squared as often as it takes."""
        a, b = self, other
        while True:
            while a.width < b.width:
                a = a.squared()
            while b.width < a.width:
                b = b.squared()
            n = a.half
            full, error = _convolution(a.mass, b.mass)
            over = float(full[3 * n + 1 :].sum())
            if over <= negligible + len(full) * error:
                break
            a, b = a.squared(), b.squared()
        mass = full[n : 3 * n + 1].copy()
        infinite = a.infinite + b.infinite - a.infinite * b.infinite
        if self.side is Side.ABOVE:
            mass[0] += full[:n].sum()
            infinite += over
        else:
            mass[-1] += over
        # each mass is off by at most ``error``, and so is what was moved; the factors' own errors meet masses up to 1
        size = max(float(a.mass.sum()), float(b.mass.sum()), 1.0)
        misplaced = len(full) * error + (a.error + b.error) * size + a.error * b.error + SUMMED * over
        return Buckets(a.width, mass, infinite, misplaced, a.slip + b.slip, self.side)

    def log_delta(self, epsilon: float) -> float:
        """log of delta at the safe side of all rounding."""
        losses = self.width * np.arange(-self.half, self.half + 1, dtype=np.float64)
        epsilon -= self.side * self.slip
        start = int(np.searchsorted(losses, epsilon, side="right"))
        found = float((self.mass[start:] * -np.expm1(epsilon - losses[start:])).sum())
        total = (self.infinite + found) * (1 + self.side * 10 * SUMMED) + self.side * self.error
        return min(math.log(total), 0.0) if total > 0 else -math.inf


@dataclass(frozen=True)
class PrivacyBucketsAccountant(BracketAccountant):
    """Both roundings.

    Args:
        factor: of neighbouring buckets, before it is squared.
        buckets: how many there are on either side of 1.
    """

    factor: Annotated[float, ABOVE_ONE.of("ratio of neighbouring buckets at first")] = 1.00001
    buckets: Annotated[int, BUCKETS.of("number of buckets on either side of 1")] = 20_000

    name: ClassVar[str] = "privacy-buckets"
    summary: ClassVar[str] = "certified: losses rounded up and down to buckets of a constant factor, squared at need"

    def epsilon_ends(self, composition: Composition, delta: float) -> Ends:
        """Where either law's delta crosses the target."""
        up, down = (self._composed(composition, delta, side) for side in (Side.ABOVE, Side.BELOW))
        if up.error > 0.5 * delta:
            raise NotApplicableError(
                f"the rounding of its Fourier transforms, up to {up.error:.1e}, drowns a delta of {delta:.1e}; "
                "ask for a larger delta, or fewer rounds"
            )
        log_delta, top = math.log(delta), up.width * (up.half + 1) + 2 * up.slip
        upper = crossing(up.log_delta, log_delta, top)[1]
        lower = crossing(down.log_delta, log_delta, down.width * (down.half + 1) + 2 * down.slip)[0]
        return Ends(lower, upper, "delta is within the bucket at infinity" if math.isinf(upper) else None)

    def log_delta_ends(self, composition: Composition, epsilon: float) -> Ends:
        """Read off both laws."""
        guess = math.exp(max(guessed_log_delta(composition, epsilon).value, -700.0))
        delta = max(guess, composition.infinite_mass)
        up, down = (self._composed(composition, delta, side) for side in (Side.ABOVE, Side.BELOW))
        upper = up.log_delta(epsilon)
        drowned = math.log(2 * up.error) > upper if up.error > 0 else False
        return Ends(down.log_delta(epsilon), upper, DROWNED if drowned else None)

    def _composed(self, composition: Composition, delta: float, side: Side) -> Buckets:
        """All rounds, the same one by repeated squaring."""
        work = self.buckets * sum(2 * (count.bit_length() + count.bit_count()) for _, count in composition.rounds)
        if work > MAX_WORK:
            least = max(int(self.buckets * MAX_WORK / work), 10)
            raise NotApplicableError(f"so many kinds of rounds would take too long; set buckets to {least} or less")
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
        edges = width * np.arange(-n, n + 1, dtype=np.float64)
        curve = PrivacyCurve(pair)
        p, error = cell_masses(curve, edges)[:2]
        above, below = float(curve.above(edges[-1:])[0][0]), float(curve.below(edges[:1])[0][0])
        slip = 4 * UNIT_ROUNDOFF * width * n
        mass = np.zeros(2 * n + 1)
        if side is Side.ABOVE:
            mass[1:] = p + error
            mass[0] = below * (1 + 1e-12)
            return Buckets(width, mass, pair.infinite_mass * (1 + 1e-14) + above * (1 + 1e-12), UNDERFLOW, slip, side)
        mass[:-1] = np.maximum(p - error, 0.0)
        mass[-1] += above * (1 - 1e-12)
        return Buckets(width, mass, pair.infinite_mass * (1 - 1e-14), UNDERFLOW, slip, side)


def _convolution(a: Array, b: Array) -> tuple[Array, float]:
    """The linear convolution, and a bound on the error of every entry; entries are not negative."""
    length = len(a) + len(b) - 1
    if not (a.any() and b.any()):
        return np.zeros(length), 0.0
    vectors = [(a, 2)] if a is b else [(a, 1), (b, 1)]
    found = convolution_power(vectors, fast_length(length))
    scale = math.exp(found.log_scale)
    values = np.roll(found.values, found.origin)[:length]
    relative = 2 * found.scale_error * float(np.abs(values).max())
    # the true entries are not negative, so that raising a negative one to 0 brings it nearer
    return np.maximum(values, 0.0) * scale, (found.error + relative) * scale * (1 + 1e-12)
