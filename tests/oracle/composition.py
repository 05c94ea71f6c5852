r"""k rounds and unlike rounds by a contour integral of the moment generating function of the loss.

With K(z) = sum_i k_i log E_{P_i} e^{z L_i} and t > 0,

    delta(eps) = (1 / 2 pi i) \int_{t - i inf}^{t + i inf} e^{K(z) - eps z} / (z (1 + z)) dz,

since (1 - e^{eps - L})_+ has the transform 1 / (z (1 + z)).  (Zhu, Dong and Wang 2022 [ZDW22], after
Gil-Pelaez 1951; the choice of t is the saddle point, Daniels 1954.)  Mass of P at L = +inf is taken off first: with p
the composed finite mass, delta = 1 - p + the integral with the finite parts only.

The contour is z(u) = t + d b (sqrt(y^2 + R^2) - R) + i y, y = r sinh u, with d = +1 or -1 the side on which e^{-eps z}
beats the end of the loss, 0 <= b <= 0.35, r the larger of the width of the saddle and the smallest noise multiplier s,
and R = max(width, 6 s), so that it is straight where one Gaussian round decays.  The integrand is analytic around it,
so the trapezoidal rule in u converges exponentially (Trefethen and Weideman 2014).  The step is halved until two rules
agree to 60% of the digits asked for (on a vertical line, b = 0: to all of them); the error roughly squares at each
halving.  Laws with atoms come back to their peak along the line; the sum runs until a bound of the integrand is small,
with steps that resolve such peaks.  Measured against 25-digit values with digits = 20: relative errors below 1e-20,
also for delta of 1e-700.

Moment generating functions are sums of exponentials sum_j e^{w_j + z L_j} in fixed point: finite atoms exactly;
Poisson-sampled Gaussians by the trapezoidal rule on the line Im x = +-c, where e^{z L} decays instead of oscillating;
Poisson-sampled Laplace by its two atoms and Gauss-Legendre quadrature between them.
"""

from __future__ import annotations

import cmath
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

from mpmath.libmp.libelefun import cos_sin_fixed, exp_fixed, ln2_fixed, pi_fixed

from .closed_forms import Atoms, approximate_dp, sampled_atoms
from .finite import finite_atoms
from .plan import Round
from .quadrature import loss_ends
from .real import Mpf, OracleError, Real, gauss_legendre, mp, to_mpf

Mpc = Any
MAX_NODES = 4000
ROUGH_DIGITS = 6
SLOPE = 0.35
BEND = 6.0


class ExponentialSum:
    """log sum_j e^{w_j + z L_j} for Im z >= 0, in fixed point with `bits` fractional bits.

    The absolute error of the logarithm is about 2^-bits |z| times the condition of the sum.  With `floor` =
    (a, b), terms of modulus below e^{a + b Re z} are left out.
    """

    def __init__(self, terms: Sequence[tuple[Mpc, Mpc]], bits: int, floor: tuple[float, float] | None = None) -> None:
        self.bits = bits
        self.floor = None if floor is None else tuple(int(value * 2**30) << (bits - 30) for value in floor)
        self.ln2 = ln2_fixed(bits)
        self.half_pi = pi_fixed(bits - 1)
        self.terms = [tuple(int(mp.floor(mp.ldexp(part, bits))) for part in (w.real, w.imag, x.real, x.imag))
                      for w, x in ((mp.mpc(w), mp.mpc(x)) for w, x in terms)]  # fmt: skip

    def __call__(self, z: Mpc) -> Mpc:
        bits, ln2, half_pi = self.bits, self.ln2, self.half_pi
        z_re, z_im = (int(mp.floor(mp.ldexp(part, bits))) for part in (z.real, z.imag))
        reals = [w_re + ((z_re * x_re - z_im * x_im) >> bits) for w_re, _, x_re, x_im in self.terms]
        top = max(reals)
        floor = top - ((bits * 7 << bits) // 10)
        if self.floor is not None:
            floor = min(top, max(floor, self.floor[0] + (z_re * self.floor[1] >> bits)))
        total_re = total_im = 0
        for real, (_, w_im, x_re, x_im) in zip(reals, self.terms, strict=True):
            if real < floor:
                continue
            size = exp_fixed(real - top, bits, ln2)
            cosine, sine = cos_sin_fixed(w_im + ((z_im * x_re + z_re * x_im) >> bits), bits, half_pi)
            total_re += size * cosine
            total_im += size * sine
        scale = -2 * bits
        total = mp.mpc(mp.ldexp(int(total_re), scale), mp.ldexp(int(total_im), scale))
        return mp.ldexp(mp.mpf(int(top)), -bits) + mp.log(total)


class Component(Protocol):
    """One kind of round, `count` times: its moment generating function and what the contour needs to know of it."""

    count: int

    def rough(self, t: float) -> float:
        """log E e^{tL} for real t in double precision, for the choice of the saddle only."""
        ...

    def prepare(self, t: float, digits: int) -> float:
        """Get ready for z near the abscissa t; returns the largest slope b that the contour may have."""
        ...

    def log_mgf(self, z: Mpc) -> Mpc:
        """log E e^{zL} at the working precision, on any branch."""
        ...

    def log_bound(self, z: Mpc, value: Mpc) -> Mpf:
        """A bound of Re log E e^{wL} for all w on the contour past z, where `value` is log_mgf(z)."""
        ...


class SumComponent:
    """What the components that are sums of exponentials share."""

    sum: ExponentialSum

    def log_mgf(self, z: Mpc) -> Mpc:
        return self.sum(z)


class Gaussian:
    """All unsampled Gaussians of a plan at once: K(z) = mu^2 (z + z^2) / 2."""

    count = 1

    def __init__(self, mean_squared: Fraction) -> None:
        self.mean_squared = mean_squared

    def rough(self, t: float) -> float:
        return float(self.mean_squared) * (t + t * t) / 2

    def prepare(self, t: float, digits: int) -> float:
        return SLOPE

    def log_mgf(self, z: Mpc) -> Mpc:
        return to_mpf(self.mean_squared) * (z + z * z) / 2

    def log_bound(self, z: Mpc, value: Mpc) -> Mpf:
        return value.real


class Laplace:
    """Unsampled Laplace: E_P e^{zL} = (e^{zc} (1 + z) + e^{-c - zc} z) / (1 + 2z), c = 1/b."""

    def __init__(self, ratio: Fraction, count: int) -> None:
        self.ratio, self.count = ratio, count

    def rough(self, t: float) -> float:
        c = float(self.ratio)
        return t * c + math.log((1 + t + math.exp(-c - 2 * t * c) * t) / (1 + 2 * t))

    def prepare(self, t: float, digits: int) -> float:
        return 0.0

    def log_mgf(self, z: Mpc) -> Mpc:
        c = to_mpf(self.ratio)
        return mp.log((mp.exp(z * c) * (1 + z) + mp.exp(-c - z * c) * z) / (1 + 2 * z))

    def log_bound(self, z: Mpc, value: Mpc) -> Mpf:
        c, t = to_mpf(self.ratio), z.real
        return mp.log((mp.exp(t * c) * abs(1 + z) + mp.exp(-c - t * c) * abs(z)) / abs(1 + 2 * z))


class FiniteAtoms(SumComponent):
    """A law on finitely many losses (its finite part, of mass 1 - p_inf)."""

    def __init__(self, entry: Round, direction: str) -> None:
        self.entry, self.direction, self.count = entry, direction, entry.count
        self.atoms = atoms_of(entry, direction)
        self.rough_atoms = [(math.log(float(mass)), float(loss)) for loss, mass in self.atoms.losses]

    def rough(self, t: float) -> float:
        return _log_sum([weight + t * loss for weight, loss in self.rough_atoms])

    def prepare(self, t: float, digits: int) -> float:
        atoms = atoms_of(self.entry, self.direction)
        self.sum = ExponentialSum([(mp.log(mass), loss) for loss, mass in atoms.losses], mp.prec)
        return 0.0

    def log_bound(self, z: Mpc, value: Mpc) -> Mpf:
        return mp.mpf(self.rough(float(z.real)))


class SampledLaplace(SumComponent):
    """Poisson-sampled Laplace, `remove` or `add`: atoms of the loss at both ends, Gauss-Legendre in x between them."""

    def __init__(self, scale: Fraction, rate: Fraction, direction: str, count: int) -> None:
        self.scale, self.rate, self.count = scale, rate, count
        self.sign = 1 if direction == "remove" else -1
        with mp.workdps(20):
            self.rough_terms = [(float(w), float(x)) for w, x in self._terms(16)]

    def _terms(self, nodes: int) -> list[tuple[Mpf, Mpf]]:
        c, q = 1 / to_mpf(self.scale), to_mpf(self.rate)
        power = 1 if self.sign > 0 else 0

        def term(base: Mpf, exponent: Mpf) -> tuple[Mpf, Mpf]:
            mixing = mp.log1p(q * mp.expm1(exponent))
            return mp.log(base) + power * mixing, self.sign * mixing

        terms = [term(mp.mpf(1) / 2, -c), term(mp.exp(-c) / 2, c)]
        for node, weight in gauss_legendre(nodes, mp.prec):
            terms.append(term(weight / 4 * c * mp.exp(-c * (1 + node) / 2), c * node))
        return terms

    def rough(self, t: float) -> float:
        return _log_sum([weight + t * loss for weight, loss in self.rough_terms])

    def prepare(self, t: float, digits: int) -> float:
        self.sum = ExponentialSum(self._terms(2 * digits + 40), mp.prec)
        return 0.0

    def log_bound(self, z: Mpc, value: Mpc) -> Mpf:
        """Atoms in phase, and (ends + variation) / |Im z| for the tilted density g of the loss between them."""
        t, c, q = float(z.real), float(1 / self.scale), float(self.rate)
        terms = [weight + t * loss for weight, loss in self.rough_terms]
        power = t + 1 if self.sign > 0 else -t
        logs = []
        for j in range(17):
            tilt = q * math.exp(c * (j / 8 - 1))
            mixed = 1 - q + tilt
            logs.append(-c * j / 16 - math.log(4) + (power + 1) * math.log(mixed) - math.log(tilt))
        top = max(logs)
        sizes = [math.exp(value - top) for value in logs]
        variation = sizes[0] + sizes[-1] + sum(abs(a - b) for a, b in itertools.pairwise(sizes))
        between = top + math.log(variation) - math.log(max(float(z.imag), 1e-300))
        return mp.mpf(_log_sum([*terms[:2], min(between, _log_sum(terms[2:]))]))


class SampledGaussian(SumComponent):
    """Poisson-sampled Gaussian in one direction.

    With m(x) = log(1 - q + q e^{(x - 1/2) / s^2}), the loss is m(x) (`remove`), -m(x) (`add`) or m(x) - m(-x)
    (`replace-one`).  m is analytic for |Im x| < pi s^2.  For Im z > 0, e^{zL} is damped on the half of that strip where
    Im L > 0.  The line of integration is x = u +- i v(u): flat, v = c, up to u0 = 1/2 + max(0, s^2 log((1-q)/q)), then
    rising with a slope above the contour's, so that e^{zL} stays damped where Re z grows; u runs over multiples of a
    step set by c and by the cancellation on the line.  The working precision is raised by that cancellation.
    """

    def __init__(self, scale: Fraction, rate: Fraction, direction: str, count: int) -> None:
        self.scale, self.rate, self.direction, self.count = scale, rate, direction, count
        self.s, self.q = float(scale), float(rate)

    def _mixing(self, x: float) -> float:
        a = (x - 0.5) / (self.s * self.s)
        if a > 0:
            return a + math.log(self.q + (1 - self.q) * math.exp(-a))
        return math.log1p(self.q * math.expm1(a))

    def _exponent(self, x: float, t: float) -> float:
        gauss = -x * x / (2 * self.s * self.s)
        if self.direction == "remove":
            return gauss + (1 + t) * self._mixing(x)
        if self.direction == "add":
            return gauss - t * self._mixing(x)
        up = self._mixing(x)
        return gauss + up + t * (up - self._mixing(-x))

    def _range(self, t: float, drop: float) -> tuple[float, float]:
        """Where the tilted density at abscissa t is within e^-drop of its top."""
        s, step = self.s, self.s / 4
        reach = s * math.sqrt(2 * drop) + 2 * s
        low = -reach - s * s * math.log1p(t)
        high = reach + (0 if self.direction == "add" else 1 + t * (2 if self.direction == "replace-one" else 1))
        grid = [low + step * j for j in range(int((high - low) / step) + 2)]
        values = [self._exponent(x, t) for x in grid]
        top = max(values)
        kept = [x for x, value in zip(grid, values, strict=True) if value > top - drop]
        return kept[0] - step, kept[-1] + step

    def rough(self, t: float) -> float:
        low, high = self._range(t, 40.0)
        step = self.s / 4
        values = [self._exponent(low + step * j, t) for j in range(int((high - low) / step) + 2)]
        return _log_sum(values) + math.log(step / (self.s * math.sqrt(2 * math.pi)))

    def _line(self, slope: float) -> tuple[float, float, float]:
        """Height c, slope at the right end, and the bend u0 of the line of integration."""
        square = self.s * self.s
        height = min((0.75 if self.direction == "add" else 1.35) * square, 2 * self.s)
        return height, slope / 0.7, 0.5 + max(0.0, square * math.log((1 - self.q) / self.q))

    def _term(self, u: float, t: float, slope: float, lift: float = 1.0) -> float:
        """log of the modulus of the integrand at abscissa t over its integral, on the line lifted by a factor."""
        height, tilt, bend = self._line(slope)
        square = self.s * self.s
        x = complex(u, lift * height + tilt * square * _softplus((u - bend) / square))
        up = self._complex_mixing(x)
        loss = -up if self.direction == "add" else up
        weight = -x * x / (2 * square) + (0 if self.direction == "add" else up)
        if self.direction == "replace-one":
            loss -= self._complex_mixing(-x)
        return (weight + t * loss).real - math.log(self.s * math.sqrt(2 * math.pi)) - self.level

    def _condition(self, t: float, slope: float, ends: tuple[float, float], lift: float = 1.0) -> float:
        """log of the largest term on the line over the sum at the abscissa t."""
        step = self.s / 8
        grid = [step * j for j in range(math.floor(ends[0] / step), math.ceil(ends[1] / step) + 1)]
        return max(0.0, *(self._term(u, t, slope, lift) for u in grid))

    def _complex_mixing(self, x: complex) -> complex:
        a = (x - 0.5) / (self.s * self.s)
        if a.real > 30:
            return a + math.log(self.q)
        return cmath.log(1 - self.q + self.q * cmath.exp(a))

    def prepare(self, t: float, digits: int) -> float:
        drop = digits * math.log(10) + 4
        self.level = self.rough(t)
        low, high = self._range(t, drop + 6)
        slope = SLOPE
        condition = self._condition(t, slope, (low, high))
        while condition > 0.6 * drop and slope > 0.01:
            slope /= 2
            condition = self._condition(t, slope, (low, high))
        while self._term(high, t, slope) > -drop - 4:
            high += self.s / 4
        while self._term(low, t, slope) > -drop - 4:
            low -= self.s / 4
        lifted = self._condition(t, slope, (low, high), 1.8)
        height, tilt, bend = self._line(slope)
        step = 2 * math.pi * (0.7 if self.direction == "add" else 0.8) * height / (drop + max(condition, lifted))
        with mp.workprec(mp.prec + int(1.45 * condition) + 5):
            s, q = to_mpf(self.scale), to_mpf(self.rate)
            half, square, exact_step = mp.mpf(1) / 2, s * s, mp.mpf(step)
            scale = mp.log(exact_step / (s * mp.sqrt(2 * mp.pi)))
            sign = -1 if self.direction == "add" else 1
            terms: list[tuple[Mpc, Mpc]] = []
            edge = mp.log1p(-q)
            for index in range(math.floor(low / step), math.ceil(high / step) + 1):
                u = index * exact_step
                rise = mp.exp((u - bend) / square)
                x = mp.mpc(u, sign * (height + tilt * square * mp.log1p(rise)))
                weight = scale - x * x / (2 * square) + mp.log(mp.mpc(1, sign * tilt * rise / (1 + rise)))
                up = mp.log(1 - q + q * mp.exp((x - half) / square))
                if u > bend:  # the branch continued from the left, where |Im| < pi
                    up += mp.mpc(0, 2 * mp.pi * mp.nint((x.imag / square - up.imag) / (2 * mp.pi)))
                if self.direction == "add":
                    loss, excess = -up, up.real - edge
                else:
                    weight += up
                    loss, excess = up, up.real - edge
                    if self.direction == "replace-one":
                        loss = up - mp.log(1 - q + q * mp.exp((-x - half) / square))
                        excess = loss.real
                terms.append((weight, loss))
                if excess > 0:
                    slope = min(slope, 0.9 * float(loss.imag / excess))
            rate = {"remove": float(edge), "add": -float(edge), "replace-one": 0.0}[self.direction]
            self.sum = ExponentialSum(terms, mp.prec, (self.level - drop - 2 - rate * t, rate))
        return max(slope, 0.0)

    def log_bound(self, z: Mpc, value: Mpc) -> Mpf:
        return value.real


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def _log_sum(values: Sequence[float]) -> float:
    top = max(values)
    return top + math.log(math.fsum(math.exp(value - top) for value in values))


def atoms_of(entry: Round, direction: str) -> Atoms:
    """The atoms of a round with finitely many losses, sampled or not."""
    binary = entry.mechanism == "randomized-response" and entry.parameters[1:] in ((), (2,))
    if entry.mechanism != "approximate-dp" and not binary:
        return finite_atoms(entry, direction)
    d0 = entry.parameters[1] if entry.mechanism == "approximate-dp" else Fraction(0)
    if entry.rate == 1:
        return approximate_dp(entry.parameters[0], d0)
    if direction == "replace-one":
        raise OracleError("no pair is defined for a sampled finite mechanism under replace-one")
    return sampled_atoms(entry.parameters[0], d0, entry.rate, direction)


def components_of(rounds: Sequence[Round], direction: str) -> list[Component]:
    """The factors of the moment generating function of a plan."""
    factor = 2 if direction == "replace-one" else 1
    components: list[Component] = []
    mean_squared = Fraction(0)
    for entry in rounds:
        first = entry.parameters[0]
        if entry.mechanism == "gaussian":
            if entry.rate == 1:
                mean_squared += entry.count * factor**2 / first**2
            else:
                components.append(SampledGaussian(first, entry.rate, direction, entry.count))
        elif entry.mechanism == "laplace":
            if entry.rate == 1:
                components.append(Laplace(factor / first, entry.count))
            elif factor == 2:
                raise OracleError("sampled Laplace under replace-one is not covered")
            else:
                components.append(SampledLaplace(first, entry.rate, direction, entry.count))
        else:
            components.append(FiniteAtoms(entry, direction))
    if mean_squared:
        components.append(Gaussian(mean_squared))
    return components


class Composition:
    """The finite part of a composed loss in one direction: saddle points and contours."""

    def __init__(self, rounds: Sequence[Round], direction: str, digits: int) -> None:
        self.rounds, self.direction, self.digits = tuple(rounds), direction, digits
        largest = max(entry.count for entry in rounds)
        noises = [float(entry.parameters[0]) for entry in rounds if entry.mechanism == "gaussian"]
        self.single = min(noises, default=0.0)
        self.inner_digits = digits + 4 + math.ceil(math.log10(largest + 1))
        with mp.workdps(self.inner_digits + 10):
            self.components = components_of(rounds, direction)
            ends = [(entry.count, *loss_ends(entry, direction)) for entry in rounds]
            self.atomic = any(entry.mechanism != "gaussian" for entry in rounds)
            self.low: Mpf = mp.fsum(count * low for count, low, _ in ends)
            self.high: Mpf = mp.fsum(count * high for count, _, high in ends)

    def rough(self, t: float) -> float:
        """K(t) in double precision."""
        return math.fsum(part.count * part.rough(t) for part in self.components)

    def _slope(self, t: float) -> float:
        step = 1e-4 * t
        return (self.rough(t + step) - self.rough(t - step)) / (2 * step)

    def saddle(self, eps: float) -> float:
        """The real saddle point t > 0 of K(t) - eps t - log t - log(1 + t), to a few digits."""

        def slope(log_t: float) -> float:
            t = math.exp(log_t)
            return self._slope(t) - eps - 1 / t - 1 / (1 + t)

        return math.exp(_increasing_root(slope))

    def guess_epsilon(self, log_delta: float) -> float:
        """eps with saddle-point approximation log delta(eps) = `log_delta`, to a few digits (never below 0)."""

        def at(log_t: float) -> tuple[float, float]:
            t = math.exp(log_t)
            eps = self._slope(t) - 1 / t - 1 / (1 + t)
            width = 2 * math.pi * self.curvature(t)
            return eps, self.rough(t) - eps * t - math.log(t) - math.log1p(t) - math.log(width) / 2

        root = _increasing_root(lambda log_t: log_delta - at(log_t)[1])
        return max(0.0, at(root)[0])

    def curvature(self, t: float) -> float:
        """Second derivative of K(t) - eps t - log t - log(1 + t)."""
        return self.variance(t) + 1 / t**2 + 1 / (1 + t) ** 2

    def variance(self, t: float) -> float:
        """Second derivative of K: the variance of the tilted loss."""
        step = 1e-3 * t
        second = (self.rough(t + step) - 2 * self.rough(t) + self.rough(t - step)) / (step * step)
        return max(second, 1e-300)

    def contour(self, eps: float) -> Contour:
        """A contour through the saddle of this eps."""
        return Contour(self, eps)


def _increasing_root(function: Any) -> float:
    """Root of an increasing function of log t, by doubling and bisection, to 1e-4."""
    low, high, step = -1.0, 1.0, 1.0
    while function(low) > 0:
        low, high, step = low - step, low, 2 * step
        if low < -60:
            return low
    while function(high) < 0:
        low, high, step = high, high + step, min(2 * step, 4.0)
        if high > 50:
            raise OracleError("no saddle point")
    while high - low > 1e-4:
        middle = (low + high) / 2
        if function(middle) > 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2


class Contour:
    """Nodes of the trapezoidal rule on one contour, reused for every eps near the one it was made for."""

    def __init__(self, law: Composition, eps: float) -> None:
        self.law, self.digits = law, law.digits
        self.inner = law.inner_digits + 10
        with mp.workdps(self.inner):
            t = law.saddle(eps)
            slopes = [part.prepare(t, law.inner_digits) for part in law.components]
            right = law.direction != "add"
            anchor = law.low if right else law.high
            if mp.isinf(anchor):
                anchor = mp.zero
            past_end = eps >= anchor if law.direction == "add" else eps < 0 and law.direction == "replace-one"
            if past_end:
                slopes.append(0.0)
            self.side = mp.mpf(min(slopes)) * (1 if right else -1)
            self.t = mp.mpf(t)
            radius = 1 / math.sqrt(law.curvature(t))
            terms = sum(len(part.sum.terms) for part in law.components if isinstance(part, SumComponent))
            self.limit = max(MAX_NODES, min(4 * MAX_NODES, 1_000_000 // (terms + 1)))
            self.peak = self._exponent(mp.mpc(self.t))[0].real
            self.radius = mp.mpf(radius)
            self.scale = mp.mpf(max(radius, law.single))
            self.bend = mp.mpf(max(radius, BEND * law.single))
            self.step = Fraction(1, 2 ** max(2, math.ceil(1 - math.log2(radius / self.scale))))
            self.nodes: dict[Fraction, tuple[Mpc, Mpc, Mpf]] = {}
            self.level = 0
            self.last = self._end(eps)
            if law.atomic:  # peaks of the saddle's width come back up to the end, and must be resolved
                width = 1 / math.sqrt(law.variance(max(t, 1e-2)))
                needed = 2 * width / float(self.nodes[self.last - self.step][0].imag)
                if self.last > self.limit * needed:
                    raise OracleError("the integrand comes back too often on a vertical line")
                self.level = max(0, math.ceil(math.log2(float(self.step) / needed)))

    def _exponent(self, z: Mpc) -> tuple[Mpc, Mpf]:
        """K(z), and a bound of Re K past z less Re K(z): laws with atoms come back after they have decayed."""
        total, slack = mp.mpc(0), mp.zero
        for part in self.law.components:
            value = part.log_mgf(z)
            total += part.count * value
            slack += part.count * (part.log_bound(z, value) - value.real)
        return total, max(mp.zero, slack)

    def _node(self, u: Fraction) -> tuple[Mpc, Mpc, Mpf]:
        """z(u), e^{K(z) - K(t)} z'(u) / (z (1 + z)), and the slack of `_exponent`."""
        if u not in self.nodes:
            angle = to_mpf(u)
            sinh, cosh = mp.sinh(angle), mp.cosh(angle)
            y = self.scale * sinh
            root = mp.hypot(y, self.bend)
            z = mp.mpc(self.t + self.side * (root - self.bend), y)
            derivative = mp.mpc(self.side * y / root, 1) * self.scale * cosh
            exponent, slack = self._exponent(z)
            self.nodes[u] = z, mp.exp(exponent - self.peak) * derivative / (z * (1 + z)), slack
        return self.nodes[u]

    def _end(self, eps: float) -> Fraction:
        """The u past which the integrand is below 10^-(digits + 6) of its top."""
        small, top, run, u = mp.mpf(10) ** -(self.digits + 6), mp.zero, 0, Fraction(0)
        while run < 3:
            z, value, slack = self._node(u)
            size = abs(value * mp.exp(-eps * (z - self.t)))
            top = max(top, size)
            size *= mp.exp(slack)
            run = run + 1 if size < small * top else 0
            u += self.step
            if u > 45:
                raise OracleError("the integrand does not decay along the contour")
        return u

    def _sum(self, eps: Mpf, level: int) -> tuple[Mpf, Mpf]:
        """The integral and its derivative in eps by the trapezoidal rule, without the factor e^{K(t) - eps t}."""
        step = self.step / 2**level
        total = slope = mp.zero
        for index in range(int(self.last / step) + 1):
            z, value, _ = self._node(index * step)
            term = value * mp.exp(-eps * (z - self.t))
            if index == 0:
                term /= 2
            total += mp.im(term)
            slope -= mp.im(z * term)
        factor = to_mpf(step) / mp.pi
        return total * factor, slope * factor

    def value(self, epsilon: Real) -> tuple[Mpf, Mpf]:
        """The integral and its derivative at eps; halves the step until two rules agree.

        They must agree to 60% of the digits on a bent contour, where convergence is exponential, and to all of them on
        a vertical line, where a slow decay could leave noise below that.
        """
        with mp.workdps(self.inner):
            eps = to_mpf(epsilon)
            scale = mp.exp(self.peak - eps * self.t)
            agree = mp.mpf(10) ** (-0.6 * self.digits - 1 if self.side else -self.digits)
            coarse, _ = self._sum(eps, self.level)
            while True:
                fine, slope = self._sum(eps, self.level + 1)
                if abs(fine - coarse) <= agree * abs(fine):
                    return fine * scale, slope * scale
                self.level += 1
                coarse = fine
                if int(2**self.level * self.last / self.step) > self.limit:
                    raise OracleError("the trapezoidal rule on the contour does not settle")


def infinite_mass(rounds: Sequence[Round], direction: str) -> Mpf:
    """1 - prod (1 - p_inf)^k over the rounds."""
    kept = mp.one
    for entry in rounds:
        if entry.mechanism == "approximate-dp":
            kept *= (1 - atoms_of(entry, direction).infinite) ** entry.count
    return 1 - kept


def contour_delta(rounds: Sequence[Round], direction: str, epsilon: Real, digits: int = 20) -> Mpf:
    """delta of a plan in one direction (not a maximum) by the contour integral; any real eps."""
    law = Composition(rounds, direction, digits)
    with mp.workdps(law.inner_digits + 10):
        infinite, eps = infinite_mass(rounds, direction), to_mpf(epsilon)
        if eps >= law.high:
            return infinite
        if eps <= law.low:
            q_mass = _finite_q(law)
            return -mp.expm1(eps) if q_mass == 1 else 1 - q_mass * mp.exp(eps)
        return infinite + law.contour(float(eps)).value(eps)[0]


def _finite_q(law: Composition) -> Mpf:
    """Q-mass of the outcomes of finite loss: E_P e^{-L} over them."""
    return mp.fprod(_q_mass(entry, law.direction) ** entry.count for entry in law.rounds)


def _q_mass(entry: Round, direction: str) -> Mpf:
    if entry.mechanism != "approximate-dp":
        return mp.one
    return mp.fsum(mass * mp.exp(-loss) for loss, mass in atoms_of(entry, direction).losses)


def contour_epsilon(rounds: Sequence[Round], direction: str, delta: Real, digits: int = 20) -> Mpf:
    """inf{eps >= 0: delta(eps) <= delta} in one direction, on contours made at successive guesses of eps."""
    law = Composition(rounds, direction, digits)
    with mp.workdps(law.inner_digits + 10):
        infinite = infinite_mass(rounds, direction)
        target = to_mpf(delta) - infinite
        if target < 0:
            return mp.inf
        if target == 0:
            return law.high
        coarse = Composition(rounds, direction, ROUGH_DIGITS)
        try:
            at_zero = coarse.contour(0.0).value(0)[0]
            if abs(at_zero - target) < target / 1000:
                at_zero = law.contour(0.0).value(0)[0]
            if at_zero <= target:
                return mp.zero
        except OracleError:  # then the search has to find a positive root, or fails
            pass
        log_target = mp.log(target)
        guess = mp.mpf(law.guess_epsilon(float(log_target)))
    with mp.workdps(coarse.inner_digits + 10):
        for _ in range(40):
            step = _newton(coarse.contour(float(guess)), guess, log_target, law.high)
            guess += step
            if abs(step) <= mp.mpf(10) ** -4 * guess:
                break
        else:
            raise OracleError("the search for epsilon does not settle")
    with mp.workdps(law.inner_digits + 10):
        contour, eps = law.contour(float(guess)), guess
        for _ in range(12):
            step = _newton(contour, eps, log_target, law.high)
            eps += step
            if abs(step) <= mp.mpf(10) ** (-0.6 * digits - 1) * eps:
                return eps
        raise OracleError("the search for epsilon does not settle")


def _newton(contour: Contour, eps: Mpf, log_target: Mpf, end: Mpf) -> Mpf:
    """One Newton step on log delta, kept inside (0, end)."""
    value, slope = contour.value(eps)
    if value <= 0 or slope >= 0:
        raise OracleError("the search for epsilon left the range of the contour")
    step = (log_target - mp.log(value)) * value / slope
    return min(max(step, -eps / 2), (end - eps) / 2, mp.mpf(2) * (1 + eps))
