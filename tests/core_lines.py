"""Lines and sums of the core for its tests, and the moments that they are held against, in 40 digits."""

from __future__ import annotations

import math

import mpmath
import numpy as np

from hockeystick.engines.core.aim import Aim, Asked, first_aim
from hockeystick.engines.core.ask import solve
from hockeystick.engines.core.law import Law
from hockeystick.engines.core.line import Grid, Line
from hockeystick.engines.core.rounds import GaussianRounds, intervals, plans_of
from hockeystick.engines.core.rows import Plans, Rows, each
from hockeystick.engines.core.sum import Cut, Sum
from hockeystick.pairs import Composition
from hockeystick.values.errors import NotApplicableError
from hockeystick.values.interval import Interval

Plan = list[tuple[float, float, float]]

# one over the noise multiplier, sample rate and rounds
FEW: list[Plan] = [[(1.0, 0.01, 1000.0)], [(0.25, 0.1, 5000.0)], [(1.8, 2e-4, 300.0)], [(0.7, 3e-3, 20_000.0)]]
KINDS = 3
PLANS: list[Plan] = [
    [(1.0, 0.01, 1000.0), (0.5, 0.02, 2000.0), (0.8, 0.1, 10.0)],
    [(0.25, 0.1, 3000.0), (1.2, 1e-3, 500.0), (0.4, 0.05, 200.0)],
]


def listed(plans: list[Plan], add: bool = False, noise: float = 0.0) -> Plans:
    """Plans of as many kinds, each with the same Gaussian noise beside them."""
    columns = np.array([kind for plan in plans for kind in plan], dtype=np.float64).T
    mu, rate, count = (np.array(column) for column in columns)
    rows = Rows(mu, rate, count, np.full(len(mu), add))
    return Plans(rows, np.full(len(plans), noise), len(plans[0]))


def aimed(plans: Plans, log_delta: float = math.log(1e-6)) -> Aim:
    """The first aim at a log delta."""
    return first_aim(plans, Asked.epsilons(np.full((len(plans), 2), log_delta), 1e-6))


def lines_of(given: list[Plan] = FEW, add: bool = False, nodes: int = 512) -> tuple[Plans, Aim, Line]:
    """The lines of plans, where the first aim lays them."""
    plans = listed(given, add)
    aim = aimed(plans)
    law = Law.of(plans.rows)
    share = 1 / (plans.kinds * plans.rows.count[:, None])
    t, y, inner = (each(column, plans.kinds) for column in (aim.t, aim.y, aim.inner))
    return plans, aim, Line.of(law, Grid.of(law, t, y, inner * share, share), t, y, nodes)


def sums_of(given: list[Plan] = FEW, add: bool = False) -> tuple[Sum, Aim]:
    """The sums of plans, where the first aim lays them."""
    plans, aim, lines = lines_of(given, add)
    cut = Cut.of(lines, plans, aim)
    return Sum(lines, plans, aim, cut, math.ceil(float((cut.edge / aim.step).max()) / 16) + 1, 16), aim


def moment(mu: float, rate: float, z: complex, add: bool) -> mpmath.mpc:
    """``int phi g^(1+z)``, or ``int phi g^-z``, by the trapezoid rule of step 1/16, exact to far more digits."""
    with mpmath.workdps(40):
        power = mpmath.mpc(-z if add else 1 + z)
        least, excess = 1 - mpmath.mpf(rate), mpmath.mpf(rate) * mpmath.exp(-(mpmath.mpf(mu) ** 2) / 2)

        def integrand(x: mpmath.mpf) -> mpmath.mpc:
            return mpmath.npdf(x) * mpmath.exp(power * mpmath.log(least + excess * mpmath.exp(mu * x)))

        far = 14 if add else 12 + (1 + z.real) * mu
        step = mpmath.mpf(1) / 16
        return step * mpmath.fsum(integrand(j * step) for j in range(int(-14 / step), int(far / step) + 1))


def log_moment(plan: Plan, z: complex, add: bool) -> mpmath.mpc:
    """K of a plan."""
    with mpmath.workdps(40):
        return mpmath.fsum(count * mpmath.log(moment(mu, rate, complex(z), add)) for mu, rate, count in plan)


def true_log_delta(plan: Plan, epsilon: float, add: bool = False, t: float = 1.5) -> float:
    """log delta to 1e-11 or so: by a line and a step of its own, on the real axis, its aliases below e^-75.

    The step over x resolves ``e^(isL)``, where the terms are not yet next to nothing.
    """
    s, x = np.arange(1000) / 8, np.arange(-14 * 64, 24 * 64) / 64
    z, log_m = t + 1j * s, np.zeros(len(s), dtype=np.complex128)
    for mu, rate, count in plan:
        log_g = np.log1p(rate * np.expm1(mu * x - mu * mu / 2))
        weight = np.exp((-t if add else 1 + t) * log_g - x * x / 2) / (64 * math.sqrt(2 * math.pi))
        log_m += count * np.log(np.exp((-1j if add else 1j) * s[:, None] * log_g) @ weight)
    terms = (np.exp(log_m - z * epsilon) / (z * (1 + z))).real
    return math.log((terms.sum() - terms[0] / 2) / (8 * math.pi))


class CoreEngine:
    """The core as an engine of one direction.

    Args:
        composition: pairs and counts.
    """

    def __init__(self, composition: Composition) -> None:
        rounds = GaussianRounds.of(composition.rounds)
        if rounds is None:
            raise NotApplicableError("other rounds than the core's")
        self._plans = plans_of([rounds])

    def epsilon(self, log_delta: tuple[float, float], gap: float | None) -> Interval:
        """Interval of epsilon at log deltas."""
        return self._solved(Asked.epsilons(np.array([log_delta[::-1]]), gap or 1e-6))

    def log_delta(self, epsilon: float, gap: float | None) -> Interval:
        """Interval of log delta at an epsilon."""
        return self._solved(Asked.log_deltas(np.array([epsilon]), gap or 1e-6))

    def _solved(self, asked: Asked) -> Interval:
        (found,) = intervals(solve(self._plans, asked))
        if found is None:
            raise NotApplicableError("no sum can be laid")
        return found
