"""Independent high-precision oracle for delta(eps) and eps(delta) of composed mechanisms, for tests only.

It needs mpmath and shares no code with the library under test.  `delta` and `epsilon` choose, for each direction of a
plan, the most exact route that applies:

    Gaussian only                        closed form
    finitely many atoms only             exact enumeration
    Laplace, with or without atoms       finite sum of residues, up to 150 Laplace rounds
    one round                            closed form
    sampled Laplace, alike, few rounds   convolution on panels
    everything else                      contour integral

Results are accurate to about 10^-digits relative.  That is measured (two rules must agree, two routes agree in the
tests), not proved; a route that does not settle raises `OracleError`.  A float in a plan stands for the decimal that
`repr` prints.  Costs and limits: up to about a second for a Gaussian plan and direction, a few seconds for sampled
Laplace; not covered are sampled Laplace beside other rounds when nothing damps its atoms, and sampled Laplace or a
sampled finite mechanism under replace-one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import closed_forms, composition, finite, quadrature, realspace
from .plan import Round, read_plan
from .real import Mpf, OracleError, Real, mp, solve_decreasing, to_mpf

__all__ = ["OracleError", "delta", "directed_delta", "directed_epsilon", "epsilon"]

FINITE = ("randomized-response", "approximate-dp")
MAX_LAPLACE = 150
MAX_MIXTURE = 64
MAX_PANELS = 60


def delta(plan: Mapping[str, Any], epsilon: Real, digits: int = 20) -> Mpf:
    """delta(eps) of a plan; for `add-or-remove` the larger of the two directions after composition."""
    directions, rounds = read_plan(plan)
    return max(directed_delta(rounds, direction, epsilon, digits) for direction in directions)


def epsilon(plan: Mapping[str, Any], delta: Real, digits: int = 20) -> Mpf:
    """inf{eps >= 0: delta(eps) <= delta} of a plan; +inf where no finite eps will do."""
    directions, rounds = read_plan(plan)
    largest = directed_epsilon(rounds, directions[0], delta, digits)
    for direction in directions[1:]:
        if mp.isinf(largest):
            break
        if to_mpf(delta) > 0 and _clearly_below(rounds, direction, largest, delta):
            continue
        largest = max(largest, directed_epsilon(rounds, direction, delta, digits))
    return largest


def _clearly_below(rounds: Sequence[Round], direction: str, eps: Mpf, delta: Real) -> bool:
    """Whether delta(eps) in this direction is below `delta` by so much that six digits settle it."""
    try:
        return bool(directed_delta(rounds, direction, eps, 6) < to_mpf(delta) * (1 - mp.mpf(10) ** -4))
    except OracleError:
        return False


def _finite_groups(rounds: Sequence[Round]) -> list[tuple[Real, Real, int]]:
    return [(e.parameters[0], e.parameters[1] if e.mechanism == "approximate-dp" else 0, e.count) for e in rounds]


def _laplace_groups(rounds: Sequence[Round], direction: str) -> list[tuple[Real, int]]:
    factor = 2 if direction == "replace-one" else 1
    return [(entry.parameters[0] / factor, entry.count) for entry in rounds]


def _closed(rounds: Sequence[Round], direction: str) -> str | None:
    """Name of the closed form that covers the whole plan, or None."""
    names = {entry.mechanism for entry in rounds}
    plain = all(entry.rate == 1 for entry in rounds)
    if names <= {*FINITE, *finite.LAWS}:
        return "atoms"
    many = any(entry.mechanism == FINITE[0] and entry.parameters[1:] not in ((), (2,)) for entry in rounds)
    if many or not names <= {"gaussian", "laplace", *FINITE}:
        raise OracleError("finitely many outcomes are only composed with one another")
    if plain and names == {"gaussian"}:
        return "gaussian"
    if plain and names <= {"laplace", *FINITE}:
        total = sum(entry.count for entry in rounds if entry.mechanism == "laplace")
        return "laplace" if total <= MAX_LAPLACE else None
    if len(rounds) == 1 and rounds[0].count == 1:
        return "single"
    return None


def _mean_squared(rounds: Sequence[Round], direction: str) -> Real:
    factor = 4 if direction == "replace-one" else 1
    return sum(factor * entry.count / entry.parameters[0] ** 2 for entry in rounds)


def _atom_table(rounds: Sequence[Round], direction: str) -> closed_forms.AtomTable:
    return closed_forms.compose_atoms([(composition.atoms_of(entry, direction), entry.count) for entry in rounds])


def _split(rounds: Sequence[Round]) -> tuple[list[Round], list[Round]]:
    finite = [entry for entry in rounds if entry.mechanism in FINITE]
    return finite, [entry for entry in rounds if entry.mechanism not in FINITE]


def _few_sampled_laplace(rounds: Sequence[Round]) -> bool:
    first = rounds[0]
    return len(rounds) == 1 and first.mechanism == "laplace" and first.rate != 1 and first.count <= MAX_PANELS


@functools.lru_cache(maxsize=32)
def _panels(entry: Round, direction: str, digits: int) -> realspace.LaplacePanels | None:
    try:
        return realspace.LaplacePanels(entry, direction, digits)
    except OracleError:
        return None


def directed_delta(rounds: Sequence[Round], direction: str, epsilon: Real, digits: int = 20) -> Mpf:
    """delta(eps) in one direction: "add", "remove" or "replace-one"."""
    if not rounds:
        with mp.workdps(digits + 10):
            return max(mp.zero, -mp.expm1(to_mpf(epsilon)))
    form = _closed(rounds, direction)
    if form == "gaussian":
        return closed_forms.gaussian_delta(_mean_squared(rounds, direction), epsilon, digits)
    if form == "atoms":
        with mp.workdps(digits + closed_forms.GUARD):
            return _atom_table(rounds, direction).delta(to_mpf(epsilon))
    if form == "laplace":
        finite, rest = _split(rounds)
        groups = _laplace_groups(rest, direction)
        return closed_forms.laplace_delta(groups, epsilon, _finite_groups(finite), digits)
    if form == "single":
        return quadrature.single_delta(rounds[0], direction, epsilon, digits)
    return _function(rounds, direction, digits)(epsilon)


def _function(rounds: Sequence[Round], direction: str, digits: int) -> Callable[[Real], Mpf]:
    """delta as a function of eps for plans without a closed form, with what can be prepared once prepared."""
    if _closed(rounds, direction) == "single":
        return lambda eps: quadrature.single_delta(rounds[0], direction, eps, digits)
    panels = _panels(rounds[0], direction, digits) if _few_sampled_laplace(rounds) else None
    if panels is not None:
        return panels.delta

    def evaluate(eps: Real) -> Mpf:
        try:
            return composition.contour_delta(rounds, direction, eps, digits)
        except OracleError:
            return fallback(eps)

    def fallback(eps: Real) -> Mpf:
        if all(entry.mechanism == "laplace" and entry.rate == 1 for entry in rounds):
            return closed_forms.laplace_delta(_laplace_groups(rounds, direction), eps, digits=digits)
        if len(rounds) == 1 and rounds[0].mechanism == "laplace":
            late = _panels(rounds[0], direction, digits)
            if late is not None:
                return late.delta(eps)
        finite, rest = _split(rounds)
        if not finite or not rest:
            raise OracleError("no route reaches the digits asked for")
        with mp.workdps(digits + 20):
            table = _atom_table(finite, direction)
            if len(table.losses) > MAX_MIXTURE:
                raise OracleError("no route reaches the digits asked for")
            value, point = table.infinite, to_mpf(eps)
            for loss, mass in zip(table.losses, table.masses, strict=True):
                value += mass * directed_delta(rest, direction, point - loss, digits + 5)
            return value

    return evaluate


def directed_epsilon(rounds: Sequence[Round], direction: str, delta: Real, digits: int = 20) -> Mpf:
    """inf{eps >= 0: delta(eps) <= delta} in one direction."""
    if not rounds:
        return mp.zero
    form = _closed(rounds, direction)
    if form == "gaussian":
        return closed_forms.gaussian_epsilon(_mean_squared(rounds, direction), delta, digits)
    if form == "atoms":
        with mp.workdps(digits + closed_forms.GUARD):
            return _atom_table(rounds, direction).epsilon(to_mpf(delta))
    if form == "laplace":
        finite, rest = _split(rounds)
        groups = _laplace_groups(rest, direction)
        return closed_forms.laplace_epsilon(groups, delta, _finite_groups(finite), digits)
    if form != "single" and not _few_sampled_laplace(rounds):
        try:
            return composition.contour_epsilon(rounds, direction, delta, digits)
        except OracleError:
            pass
    function = _function(rounds, direction, digits + 5)
    with mp.workdps(digits + 25):
        infinite = composition.infinite_mass(rounds, direction)
        target = to_mpf(delta)
        if target < infinite:
            return mp.inf
        ends = [(entry.count, quadrature.loss_ends(entry, direction)[1]) for entry in rounds]
        end = mp.fsum(count * high for count, high in ends)
        if target == infinite:
            return end
        return solve_decreasing(lambda eps: function(eps) - infinite, target - infinite, end, digits + 3)
