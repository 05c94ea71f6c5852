"""Real-space routes, free of transforms: nested quadrature for two and three rounds, and panels for sampled Laplace.

For independent rounds delta_{i+j}(eps) = E_{P_i}[delta_j(eps - L_i)], with delta_j extended to negative eps (delta is
the hockey-stick divergence; conditioning on the first i outputs).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from functools import reduce
from operator import mul

from .plan import Round
from .quadrature import loss_ends, single_delta
from .real import Mpf, OracleError, Real, gauss_legendre, mp, to_mpf


@functools.lru_cache(maxsize=16)
def _tanh_sinh(level: int, precision: int) -> tuple[tuple[Mpf, Mpf], ...]:
    """Nodes in (-1, 1) and weights of the tanh-sinh rule with step 2^-level (Takahasi and Mori 1974)."""
    with mp.workprec(precision):
        step, small = mp.ldexp(1, -level), mp.ldexp(1, -precision)
        nodes: list[tuple[Mpf, Mpf]] = []
        index = 0
        while True:
            t = index * step
            inner = mp.pi / 2 * mp.sinh(t)
            weight = step * mp.pi / 2 * mp.cosh(t) / mp.cosh(inner) ** 2
            if weight < small:
                return tuple(nodes)
            node = mp.tanh(inner)
            nodes += [(node, weight)] if index == 0 else [(node, weight), (-node, weight)]
            index += 1


class NestedGaussian:
    """delta of k rounds of a sampled Gaussian by k - 1 nested integrals over the outputs, for k = 1, 2, 3.

    The innermost round is in closed form.  For `remove` and `add` the integrand has an essential singularity where the
    rest of the budget meets the end of the loss, and an exact form (`remove`) or zero (`add`) past it: the tanh-sinh
    rule on the half-line up to there.  `replace-one` is entire enough for the trapezoidal rule on the whole line.
    """

    def __init__(self, entry: Round, direction: str, digits: int = 15, level: int = 4) -> None:
        if entry.mechanism != "gaussian" or entry.rate == 1:
            raise OracleError("nested quadrature is for sampled Gaussians")
        self.entry, self.direction, self.digits, self.level = entry, direction, digits, level

    def delta(self, epsilon: Real) -> Mpf:
        """delta for `entry.count` rounds at any real eps."""
        with mp.workdps(self.digits + 12):
            self.s, self.q = to_mpf(self.entry.parameters[0]), to_mpf(self.entry.rate)
            self.edge = mp.log1p(-self.q)
            self.reach = self.s * math.sqrt(2 * math.log(10) * (self.digits + 4))
            return self._rounds(self.entry.count, to_mpf(epsilon))

    def _base(self, x: Mpf) -> Mpf:
        return mp.exp(-x * x / (2 * self.s * self.s)) / (self.s * mp.sqrt(2 * mp.pi))

    def _mixing(self, x: Mpf) -> Mpf:
        return mp.log(1 - self.q + self.q * mp.exp((x - mp.mpf(1) / 2) / (self.s * self.s)))

    def _rounds(self, count: int, eps: Mpf) -> Mpf:
        if count == 1:
            return single_delta(self.entry, self.direction, eps, self.digits)
        sign = {"remove": 1, "add": -1, "replace-one": 0}[self.direction]
        low, high = -self.reach, 1 + self.reach

        def integrand(x: Mpf) -> Mpf:
            up = self._mixing(x)
            if sign < 0:
                return self._base(x) * self._rounds(count - 1, eps + up)
            loss = up if sign else up - self._mixing(-x)
            return self._base(x) * mp.exp(up) * self._rounds(count - 1, eps - loss)

        if sign == 0:
            step = self.s * mp.ldexp(2, -self.level)
            indices = range(int(mp.floor(low / step)), int(mp.ceil(high / step)) + 1)
            return step * mp.fsum(integrand(index * step) for index in indices)
        # m(x) = cut is where eps - L(x) meets the end of the loss of the other rounds
        cut = sign * eps - (count - 1) * self.edge
        beyond = mp.zero
        if cut <= self.edge:
            return max(mp.zero, -mp.expm1(eps)) if sign > 0 else mp.zero
        x_cut = self.s * self.s * mp.log((mp.expm1(cut) + self.q) / self.q) + mp.mpf(1) / 2
        if sign > 0:
            root = self.s * mp.sqrt(2)
            base = mp.erfc(x_cut / root) / 2
            shifted = mp.erfc((x_cut - 1) / root) / 2
            beyond = (1 - self.q) * base + self.q * shifted - mp.exp(eps) * base
        high = min(high, x_cut)
        if high <= low:
            return beyond
        half, middle = (high - low) / 2, (high + low) / 2
        nodes = _tanh_sinh(self.level, mp.prec)
        return beyond + half * mp.fsum(weight * integrand(middle + half * node) for node, weight in nodes)


class LaplacePanels:
    """delta of k rounds of a (sampled) Laplace mechanism by convolution on panels.

    One loss lies in [B, A] with atoms at both ends, so the k-fold delta is analytic on each of the k panels between the
    lattice points i A + (k - i) B, 1 - e^eps below and 0 above.  Values at n Gauss-Legendre nodes of every panel follow
    from those for k - 1 rounds by two fixed n x n matrices.  n is set by the nearest singularity log(1 - q) of the
    density of the loss.  Error: 10^-digits of the largest value on the panel.  Time grows as k^2 n^2.
    """

    def __init__(self, entry: Round, direction: str, digits: int = 25) -> None:
        self.count = entry.count
        self.digits = digits
        self.bits = int(3.33 * digits) + 100
        with mp.workprec(self.bits):
            factor = 2 if direction == "replace-one" else 1
            if factor == 2 and entry.rate != 1:
                raise OracleError("sampled Laplace under replace-one is not covered")
            c, q = factor / to_mpf(entry.parameters[0]), to_mpf(entry.rate)
            self.low, self.high = loss_ends(entry, direction)
            self.width = self.high - self.low
            atoms = [mp.mpf(1) / 2, mp.exp(-c) / 2]  # base masses of x <= 0 and of x >= 1
            if direction == "add":
                top, bottom = atoms
            else:
                top, bottom = atoms[1] * mp.exp(self.high), atoms[0] * mp.exp(self.low)
            nodes = self._order(q, c)
            if nodes > 200:
                raise OracleError("the density of the loss is too close to its singularity for panels")
            if entry.count**2 * nodes**2 > 100_000_000:
                raise OracleError("too many rounds for panels")
            sign = -1 if direction == "add" else 1
            power = 0 if direction == "add" else 1

            def density(loss: Mpf) -> Mpf:
                # x in (0, 1): base density c e^{-cx} / 2, m = log(1 - q + q e^{c (2x - 1)}), L = +-m
                m = sign * loss
                ratio = (mp.expm1(m) + q) / q
                slope = 2 * c * (mp.expm1(m) + q) / mp.exp(m)
                x = (1 + mp.log(ratio) / c) / 2
                return c * mp.exp(-c * x) / 2 * mp.exp(power * m) / slope

            self._tabulate(nodes, density, top, bottom)
        self.levels = self._compose()

    def _order(self, q: Mpf, c: Mpf) -> int:
        gap = 2 * (mp.log1p(q * mp.expm1(-c)) - mp.log1p(-q)) / self.width if q != 1 else mp.mpf(50)
        rho = 1 + gap + mp.sqrt(gap * (2 + gap))
        return int((self.digits + 4) * math.log(10) / float(mp.log(rho))) + 12

    def _tabulate(self, n: int, density: Callable[[Mpf], Mpf], top: Mpf, bottom: Mpf) -> None:
        pairs = gauss_legendre(n, self.bits)
        self.theta = [(1 + node) / 2 for node, _ in pairs]
        self.bary = [(-1) ** j * mp.sqrt((1 - node * node) * weight) for j, (node, weight) in enumerate(pairs)]
        one = 1 << self.bits
        theta = [int(mp.ldexp(value, self.bits)) for value in self.theta]
        bary = [int(mp.ldexp(value, 2 * self.bits)) for value in self.bary]
        same, previous = [], []
        for index, place in enumerate(self.theta):
            row, other = [0] * n, [0] * n
            for node, weight in pairs:
                part = (1 + node) / 2
                for start, length, target in ((mp.zero, place, row), (place, 1 - place, other)):
                    lam = start + length * part
                    share = weight / 2 * length * self.width * density(self.low + lam * self.width)
                    mass = int(mp.ldexp(share, self.bits))
                    where = int(mp.ldexp(place - lam, self.bits)) + (0 if target is row else one)
                    weights = [top_j // (where - theta_j or 1) for top_j, theta_j in zip(bary, theta, strict=True)]
                    scale = (mass << self.bits) // sum(weights)
                    for j, value in enumerate(weights):
                        target[j] += scale * value
            same.append([(value >> self.bits) + (int(mp.ldexp(bottom, self.bits)) if j == index else 0)
                         for j, value in enumerate(row)])  # fmt: skip
            previous.append([(value >> self.bits) + (int(mp.ldexp(top, self.bits)) if j == index else 0)
                             for j, value in enumerate(other)])  # fmt: skip
        self.same, self.previous = same, previous

    def _basis(self, where: Mpf) -> list[Mpf]:
        weights = []
        for j, (theta, bary) in enumerate(zip(self.theta, self.bary, strict=True)):
            if where == theta:
                return [mp.one if i == j else mp.zero for i in range(len(self.theta))]
            weights.append(bary / (where - theta))
        total = mp.fsum(weights)
        return [weight / total for weight in weights]

    def _compose(self) -> list[list[int]]:
        with mp.workprec(self.bits):
            panels: list[list[int]] = []
            for k in range(self.count):
                start = k * self.low + self.low - self.high  # left end of the panel below the lowest one
                below = [int(mp.ldexp(-mp.expm1(start + self.low + theta * self.width - self.low), self.bits))
                         for theta in self.theta]  # fmt: skip
                padded = [below, *panels]
                fresh = []
                for r in range(k + 1):
                    older = self._apply(self.previous, padded[r])
                    newer = self._apply(self.same, panels[r]) if r < k else [0] * len(older)
                    fresh.append([a + b for a, b in zip(older, newer, strict=True)])
                panels = fresh
            return panels

    def _apply(self, matrix: list[list[int]], vector: list[int]) -> list[int]:
        return [sum(map(mul, row, vector)) >> self.bits for row in matrix]

    def delta(self, epsilon: Real) -> Mpf:
        """delta at any real eps."""
        with mp.workprec(self.bits):
            eps = to_mpf(epsilon)
            place = (eps - self.count * self.low) / self.width
            if place <= 0:
                return max(mp.zero, -mp.expm1(eps))
            if place >= self.count:
                return mp.zero
            index = int(mp.floor(place))
            basis = self._basis(place - index)
            exact = [mp.ldexp(mp.mpf(value), -self.bits) for value in self.levels[index]]
            return reduce(lambda total, pair: total + pair[0] * pair[1], zip(basis, exact, strict=True), mp.zero)
