"""Real-space routes, free of transforms: nested quadrature for two and three rounds, and panels for sampled Laplace.

For independent rounds delta_{i+j}(eps) = E_{P_i}[delta_j(eps - L_i)], with delta_j extended to negative eps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from operator import mul

from .plan import Round
from .quadrature import loss_ends, single_delta
from .real import Mpf, OracleError, Real, gauss_legendre, mp, to_mpf


def _sampled_gaussian_nodes(entry: Round, direction: str, digits: int, fineness: float) -> list[tuple[Mpf, Mpf]]:
    """P-mass and loss at the nodes of a trapezoidal rule in x."""
    s, q = to_mpf(entry.parameters[0]), to_mpf(entry.rate)
    step = s * mp.mpf(fineness)
    reach = s * math.sqrt(2 * math.log(10) * (digits + 2))
    half = mp.mpf(1) / 2

    def mixing(x: Mpf) -> Mpf:
        return mp.log(1 - q + q * mp.exp((x - half) / (s * s)))

    nodes = []
    for index in range(int(mp.floor(-reach / step)), int(mp.ceil((1 + reach) / step)) + 1):
        x = index * step
        base = step * mp.exp(-x * x / (2 * s * s)) / (s * mp.sqrt(2 * mp.pi))
        up = mixing(x)
        if direction == "add":
            nodes.append((base, -up))
        elif direction == "remove":
            nodes.append((base * mp.exp(up), up))
        else:
            nodes.append((base * mp.exp(up), up - mixing(-x)))
    return nodes


def nested_delta(entry: Round, direction: str, epsilon: Real, digits: int = 15, fineness: float = 0.2) -> Mpf:
    """delta of one, two or three rounds of a sampled Gaussian (`entry.count`), by a trapezoidal rule in each output.

    The innermost round is in closed form.  `fineness` is the step in units of s.  The integrand is smooth but, at the
    end of the loss, not analytic: halve `fineness` to see the accuracy.
    """
    if entry.mechanism != "gaussian" or entry.rate == 1 or not 1 <= entry.count <= 3:
        raise OracleError("nested quadrature is for one to three rounds of a sampled Gaussian")
    with mp.workdps(digits + 10):
        eps = to_mpf(epsilon)
        nodes = _sampled_gaussian_nodes(entry, direction, digits, fineness)
        if entry.count == 1:
            return single_delta(entry, direction, eps, digits)
        if entry.count == 2:
            return mp.fsum(p * single_delta(entry, direction, eps - loss, digits) for p, loss in nodes)
        total = mp.zero
        small = mp.mpf(10) ** -(digits + 6)
        for i, (p, loss) in enumerate(nodes):
            for j, (other, shift) in enumerate(nodes[: i + 1]):
                weight = p * other * (1 if i == j else 2)
                if weight > small:
                    total += weight * single_delta(entry, direction, eps - loss - shift, digits)
        return total


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
        self.bits = int(3.33 * digits) + 120
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
        same, previous = [], []
        for theta in self.theta:
            row, other = [mp.zero] * n, [mp.zero] * n
            for node, weight in pairs:
                part = (1 + node) / 2
                for start, length, target in ((mp.zero, theta, row), (theta, 1 - theta, other)):
                    lam = start + length * part
                    mass = weight / 2 * length * self.width * density(self.low + lam * self.width)
                    where = theta - lam if target is row else 1 + theta - lam
                    for j, basis in enumerate(self._basis(where)):
                        target[j] += mass * basis
            index = len(same)
            row[index] += bottom
            other[index] += top
            same.append([int(mp.ldexp(value, self.bits)) for value in row])
            previous.append([int(mp.ldexp(value, self.bits)) for value in other])
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
