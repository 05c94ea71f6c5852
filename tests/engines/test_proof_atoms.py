"""The sum over all compositions: it is counted before it is made, and paid for; what a count says is what is made."""

from __future__ import annotations

import math
import random
from itertools import islice
from typing import Any

import pytest
from flint import arb

from hockeystick import Plan
from hockeystick.engines.proof import atoms as module
from hockeystick.engines.proof.atom_count import Counted, counted
from hockeystick.engines.proof.atoms import SUM, SUM_BITS, TERM, TOO_MANY, AtomSum, Term, power
from hockeystick.engines.proof.rounds import ExactRounds
from hockeystick.numerics.balls import precision
from hockeystick.numerics.work import CALL, left, one_call, spend
from hockeystick.values.adjacency import Direction
from hockeystick.values.errors import NotApplicableError

ENOUGH = Counted(sums=3000, terms=30_000)
MANY = 10_000_000  # sums that may be begun


def rounds_of(*entries: dict[str, Any]) -> ExactRounds:
    """The rounds of a plan in which a record is added."""
    plan = Plan.from_dict({"adjacency": "add", "round": list(entries)})
    return ExactRounds.of(plan.directions.exact(Direction.ADD), Direction.ADD)


def three_losses(count: int) -> ExactRounds:
    """Rounds whose law has half the square of their number of terms, and one for each number of the last loss."""
    return rounds_of({"mechanism": "pmf", "p": ["1/2", "1/4", "1/4"], "q": ["1/4", "1/4", "1/2"], "count": count})


def drawn(size: int, spread: int, rng: random.Random) -> list[float]:
    """Masses of a round; of the last spread all but one are next to nothing."""
    weights = [rng.random() ** (8 * spread) for _ in range(size)]
    if spread == 2:
        weights = [1e-6 * weight for weight in weights]
        weights[rng.randrange(size)] = 1.0
    return [weight / math.fsum(weights) for weight in weights]


@pytest.mark.parametrize("log_floor", [-60.0, -800.0])
@pytest.mark.parametrize("spread", [0, 1, 2])
@pytest.mark.parametrize("size", [2, 3, 5, 9])
def test_as_many_terms_are_made_as_were_counted(size: int, spread: int, log_floor: float) -> None:
    """And as many sums begun, but for ends of windows that a rounding decides."""
    rng, seen = random.Random(size), 0
    for count in (2, 4, 9, 70, 10**6):
        masses = drawn(size, spread, rng)
        found = counted([math.log(mass) for mass in masses], count, log_floor, ENOUGH)
        if found.sums > ENOUGH.sums or found.terms > ENOUGH.terms:
            continue
        sums = iter(range(MANY))
        with precision(1400):
            atoms = [Term(arb(place), arb(mass), arb(mass)) for place, mass in enumerate(masses)]
            made = sum(1 for _ in islice(power(atoms, count, log_floor, sums), 2 * ENOUGH.terms))
        assert made == pytest.approx(found.terms, rel=0.01, abs=2)
        assert next(sums) == pytest.approx(found.sums, rel=0.01, abs=4)
        seen += 1
    assert seen >= 2, "or next to nothing was counted to the end"


def test_a_count_ends_where_there_are_too_many() -> None:
    """Of 60 equally likely losses 10^9 times over; what was counted until then says so."""
    assert counted([-math.log(60)] * 60, 10**9, -60.0, ENOUGH).sums > ENOUGH.sums


def test_masses_below_the_range_of_a_double_are_counted() -> None:
    """The rarer loss is seen once or not at all: each of 10^9 rounds shows it with a probability of e^-1000."""
    assert counted([0.0, -1000.0], 10**9, -60.0, ENOUGH) == Counted(1, 1)
    assert counted([0.0, -1000.0], 10**9, -1000.0, ENOUGH) == Counted(1, 2)
    with precision(1700):
        rare = arb(-1000).exp()
        atoms = [Term(arb(0), 1 - rare, arb(1)), Term(arb(1), rare, arb(1))]
        for log_floor, terms in ((-60.0, 1), (-1000.0, 2)):
            assert len(list(power(atoms, 10**9, log_floor, iter(range(9))))) == terms


def test_what_has_too_many_terms_is_refused_before_one_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """And without pay; 60,000 sums were begun first, which took two seconds."""

    def none(*_: Any) -> None:
        raise AssertionError("a term was made")

    noise = {"mechanism": "binomial", "trials": 53, "probability": 0.0665, "count": 552_000}
    rounds = rounds_of({**noise, "sampling": "poisson", "sample_rate": 0.000108})
    monkeypatch.setattr(module, "power", none)
    with one_call():
        with pytest.raises(NotApplicableError, match=f"^{TOO_MANY}$"):
            AtomSum(rounds, -66.0)
        assert left() == CALL


def test_terms_and_sums_are_paid_for() -> None:
    """A plan of three losses: its sums are few, its terms many; of eight it is the other way round."""
    with one_call():
        AtomSum(three_losses(100), -60.0)
        assert CALL - left() > TERM * 3000
    places = range(1, 9)
    rounds = rounds_of({"mechanism": "pmf", "p": ["1/8"] * 8, "q": [f"{place}/36" for place in places], "count": 6})
    with one_call():
        AtomSum(rounds, -60.0)
        assert CALL - left() > 1.1 * (TERM * math.comb(13, 7) + SUM * math.comb(11, 6))


def test_terms_of_more_bits_are_dearer() -> None:
    """The same 61 terms of masses e^-50 and up, of one sum; none is so light that the deeper sum alone has it."""
    rounds = rounds_of({"mechanism": "randomized-response", "epsilon": 0.01, "count": 60})
    with one_call():
        AtomSum(rounds, -60.0)
        few = CALL - left()
    with one_call():
        AtomSum(rounds, -3000.0)
        assert CALL - left() > 4 * few


def test_a_sum_that_is_too_dear_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is made and nothing paid where the call has less left than the terms cost."""
    monkeypatch.setattr(module, "power", lambda *_: pytest.fail("a term was made"))
    with one_call():
        spend(CALL - TERM * 1000)
        before = left()
        with pytest.raises(NotApplicableError, match=TOO_MANY):
            AtomSum(three_losses(100), -60.0)
        assert left() == before


def test_a_product_of_laws_is_paid_for() -> None:
    """Two kinds of rounds with 100 terms each, and 10,000 together."""
    rarely = {"mechanism": "randomized-response", "count": 99, "sampling": "poisson", "sample_rate": 0.5}
    rounds = rounds_of({**rarely, "epsilon": 0.01}, {**rarely, "epsilon": 0.02})
    with one_call():
        AtomSum(rounds, -400.0)
        assert CALL - left() > TERM * 10_000


def test_a_law_of_a_single_term_counts_beside_others() -> None:
    """Half of the outcomes of the first round have an infinite loss; the other half have one of log 1/2, with Q-mass 1.

    Beside them stands a round of losses log 2 and -log 2, so that the sums are 0, with a P-mass of 1/3 and as much
    under Q, and -log 4; above an epsilon below 0 there is the former alone.
    """
    halved = {"mechanism": "pmf", "p": ["1", "0"], "q": ["1/2", "1/2"], "count": 1}
    turned = {"mechanism": "pmf", "p": ["1/3", "2/3"], "q": ["2/3", "1/3"], "count": 1}
    rounds = rounds_of(halved, turned)
    rounds.boxes = dict(sorted(rounds.boxes.items(), key=lambda item: len(item[0].atoms())))
    with precision(200):
        found = AtomSum(rounds, -60.0).delta(arb(-1))
        truth = (1 - arb(-1).exp()) / 3
        assert found.lower <= truth <= found.upper
        assert found.upper - found.lower < arb("1e-20")


def test_the_order_of_the_losses_does_not_matter() -> None:
    """Ten thousand rounds hardly ever show the rare loss; as the last one it is summed over, wherever it stood.

    Else a sum would be begun for each number of a loss that half of the rounds show.
    """
    half, rare = "49999999/100000000", "2/100000000"
    spent = []
    for p in ([half, rare, half], [rare, half, half], [half, half, rare]):
        rounds = rounds_of({"mechanism": "pmf", "p": p, "q": p[::-1], "count": 10_000})
        with one_call():
            AtomSum(rounds, -300.0)
            spent.append(CALL - left())
    assert max(spent) <= 1.1 * min(spent)
    assert max(spent) < 0.1 * CALL


def test_sums_of_many_bits_are_dearer() -> None:
    """Each begins with factorials and powers, whose cost rises as the square of the bits."""
    places = range(1, 9)
    rounds = rounds_of({"mechanism": "pmf", "p": ["1/8"] * 8, "q": [f"{place}/36" for place in places], "count": 6})
    bits = 3000
    with one_call():
        AtomSum(rounds, -bits * math.log(2))
        assert CALL - left() > (1 + (bits / SUM_BITS) ** 2) * SUM * math.comb(11, 6)
