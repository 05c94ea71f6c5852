"""One round: delta(eps) = P(L > eps) - e^eps Q(L > eps) through the explicit inverse of the loss.

L is monotone in the output x for every mechanism here, so {L > eps} is a half-line and both masses are distribution
functions.  `single_delta_integral` computes the same number as int (p(x) - e^eps q(x))_+ dx by adaptive quadrature.
"""

from __future__ import annotations

from .closed_forms import GUARD, approximate_dp_delta, compose_atoms, gaussian_delta, laplace_delta, sampled_atoms
from .plan import Round
from .real import Mpf, OracleError, Real, mp, to_mpf


def loss_ends(entry: Round, direction: str) -> tuple[Mpf, Mpf]:
    """Smallest and largest finite loss of one round (-inf or +inf where unbounded)."""
    factor = 2 if direction == "replace-one" else 1
    if entry.mechanism == "gaussian":
        if entry.rate == 1 or direction == "replace-one":
            return -mp.inf, mp.inf
        edge = mp.log1p(-to_mpf(entry.rate))
        return (edge, mp.inf) if direction == "remove" else (-mp.inf, -edge)
    if entry.mechanism == "laplace":
        c = factor / to_mpf(entry.parameters[0])
        if entry.rate == 1:
            return -c, c
        q = to_mpf(entry.rate)
        low, high = mp.log1p(q * mp.expm1(-c)), mp.log1p(q * mp.expm1(c))
        return (low, high) if direction == "remove" else (-high, -low)
    e0 = to_mpf(entry.parameters[0])
    if entry.rate == 1:
        return -e0, e0
    d0 = to_mpf(entry.parameters[1]) if entry.mechanism == "approximate-dp" else mp.zero
    losses = [loss for loss, _ in sampled_atoms(e0, d0, entry.rate, direction).losses]
    return min(losses), max(losses)


def single_delta(entry: Round, direction: str, epsilon: Real, digits: int = 30) -> Mpf:
    """delta of one round in closed form (the count of `entry` is ignored)."""
    factor = 2 if direction == "replace-one" else 1
    mechanism, first = entry.mechanism, entry.parameters[0]
    if mechanism in ("randomized-response", "approximate-dp"):
        d0 = entry.parameters[1] if mechanism == "approximate-dp" else 0
        if entry.rate == 1:
            return approximate_dp_delta([(first, d0, 1)], epsilon, digits)
        if direction == "replace-one":
            raise OracleError("no pair is defined for a sampled finite mechanism under replace-one")
        with mp.workdps(digits + GUARD):
            return compose_atoms([(sampled_atoms(first, d0, entry.rate, direction), 1)]).delta(to_mpf(epsilon))
    if entry.rate == 1:
        if mechanism == "gaussian":
            return gaussian_delta(factor**2 / first**2, epsilon, digits)
        return laplace_delta([(first / factor, 1)], epsilon, digits=digits)
    extra = GUARD
    while True:
        with mp.workdps(digits + extra):
            value, largest = _sampled(entry, direction, to_mpf(epsilon))
            lost = int(mp.log10(largest / abs(value))) if value else (digits + extra if largest else 0)
        if lost + 10 <= extra:
            return value
        if extra > 3000:
            raise OracleError("one round cancels too far")
        extra = 2 * extra + lost


def _sampled(entry: Round, direction: str, eps: Mpf) -> tuple[Mpf, Mpf]:
    """delta of one Poisson-sampled round and the larger of the two masses whose difference it is."""
    low, high = loss_ends(entry, direction)
    if eps >= high:
        return mp.zero, mp.zero
    if eps < low:
        return -mp.expm1(eps), mp.one
    q, scale = to_mpf(entry.rate), to_mpf(entry.parameters[0])
    ratio = mp.exp(eps)
    if entry.mechanism == "gaussian":

        def above(x: Mpf) -> Mpf:
            return mp.erfc(x / (scale * mp.sqrt(2))) / 2

        square = scale * scale
        if direction == "replace-one":
            # q r y^2 + (1-q)(1-e^eps) y - e^eps q r = 0, y = e^{x/s^2}, r = e^{-1/(2 s^2)}
            r = mp.exp(-1 / (2 * square))
            linear = (1 - q) * (1 - ratio)
            root = mp.sqrt(linear * linear + 4 * ratio * (q * r) ** 2)
            y = (root - linear) / (2 * q * r) if linear <= 0 else 2 * ratio * q * r / (root + linear)
            x = square * mp.log(y)
            p = (1 - q) * above(x) + q * above(x - 1)
            other = (1 - q) * above(x) + q * above(x + 1)
        elif direction == "remove":
            x = square * mp.log((ratio - 1 + q) / q) + mp.mpf(1) / 2
            p, other = (1 - q) * above(x) + q * above(x - 1), above(x)
        else:
            x = square * mp.log((1 / ratio - 1 + q) / q) + mp.mpf(1) / 2
            p, other = above(-x), (1 - q) * above(-x) + q * above(1 - x)
        return p - ratio * other, p
    if direction == "replace-one":
        raise OracleError("sampled Laplace under replace-one is not covered")

    def beyond(x: Mpf) -> Mpf:
        return mp.exp(-x / scale) / 2 if x > 0 else 1 - mp.exp(x / scale) / 2

    ratio_q = ratio if direction == "remove" else 1 / ratio
    x = (scale * mp.log((ratio_q - 1 + q) / q) + 1) / 2
    if direction == "remove":
        p, other = (1 - q) * beyond(x) + q * beyond(x - 1), beyond(x)
    else:
        p, other = beyond(-x), (1 - q) * beyond(-x) + q * beyond(1 - x)
    return p - ratio * other, p


def single_delta_integral(entry: Round, direction: str, epsilon: Real, digits: int = 20) -> Mpf:
    """int (p(x) - e^eps q(x))_+ dx by tanh-sinh quadrature, with no inverse of the loss (the kink by bisection)."""
    with mp.workdps(digits + 15):
        q, scale, ratio = to_mpf(entry.rate), to_mpf(entry.parameters[0]), mp.exp(to_mpf(epsilon))
        gaussian = entry.mechanism == "gaussian"

        def base(x: Mpf) -> Mpf:
            if gaussian:
                return mp.exp(-x * x / (2 * scale * scale)) / (scale * mp.sqrt(2 * mp.pi))
            return mp.exp(-abs(x) / scale) / (2 * scale)

        def integrand(x: Mpf) -> Mpf:
            mixture = (1 - q) * base(x) + q * base(x - 1)
            if direction == "remove":
                return mixture - ratio * base(x)
            if direction == "add":
                return base(x) - ratio * mixture
            return mixture - ratio * ((1 - q) * base(x) + q * base(x + 1))

        reach = (13 if gaussian else 90) * scale * (1 + digits / mp.mpf(20))
        low, high = -reach, 1 + reach
        sign = 1 if integrand(high) > 0 else -1
        if sign * integrand(low) > 0:
            return mp.quad(integrand, [low, 0, 1, high]) if sign > 0 else mp.zero
        inside, outside = (high, low) if sign > 0 else (low, high)
        for _ in range(int(3.5 * digits) + 40):
            middle = (inside + outside) / 2
            if integrand(middle) > 0:
                inside = middle
            else:
                outside = middle
        ends = sorted([inside, high if sign > 0 else low])
        cuts = [cut for cut in (mp.zero, mp.one) if ends[0] < cut < ends[1]]
        bulk = [(inside + scale * j) if sign > 0 else (inside - scale * j) for j in (2, 5, 9)]
        cuts += [cut for cut in bulk if ends[0] < cut < ends[1]]
        return mp.quad(integrand, sorted([*ends, *cuts]))
