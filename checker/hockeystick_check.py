#!/usr/bin/env python3
"""Proves the epsilon of a report again, in whole numbers: one file, the standard library alone.
    python hockeystick_check.py report.html
    python hockeystick_check.py plan.toml --epsilon 0.903 --delta 1e-5
A report (HTML, Markdown or JSON) carries its plan and its claims; of a plan the claim is given.
Status 0: every claim is proved. 3: one is not, or text and record disagree. 4: the plan is not
covered. 2: the file cannot be read. JSON is read from Python 3.9 on, all else from 3.11 on.
The text of a page is what stands in its source: look at the page itself, too.

What is computed. A plan is a number of rounds. A round is a pair of laws of what is published,
P on one dataset and Q on its neighbour; its loss is L = log(P/Q), infinite where Q is 0. Of all
rounds together, L being the sum of their losses, drawn from P,
    delta(epsilon) = E max(0, 1 - e^(epsilon - L)).
(epsilon, delta) is proved where an upper bound of this is at most delta, in each direction that
the adjacency has.

How. Each round's losses are moved to whole multiples of 2^-n in such a way that delta does not
fall, whatever the other rounds are: lemmas 1 to 3 say why, each where it is used. Sums of losses
are convolutions, which are exact products of long decimal numbers. So there is an exact law, with
nowhere more mass than is kept here, whose delta is at least the truth; the masses kept are rounded
up, and may add up to more than 1. Bounds from below are made in the opposite way.
Real numbers are kept between two whole multiples of 2^-BITS. There are no floats.
"""
import argparse
import decimal
import functools
import hashlib
import html
import itertools
import json
import math
import re
import sys
from collections import Counter, namedtuple
from fractions import Fraction

if sys.version_info >= (3, 11):
    import tomllib

BITS = 200
ONE = 1 << BITS
UP, DOWN = True, False
SMALL = "a mass or a rate is too small for the precision of this file"

class Stop(Exception):
    """Nothing is proved: the status to end with, and why."""

# ------------------------------------------------------------------------------ real numbers
def quotient(a, b, up):
    """a / b, rounded to the whole number above it or below."""
    return -(-a // b) if up else a // b

class Real:
    """A number between lo and hi in units of 2^-BITS; ends, at the corners, round outward."""
    def __init__(self, lo, hi):
        self.lo, self.hi = lo, hi
    def __add__(self, other):
        return Real(self.lo + other.lo, self.hi + other.hi)
    def __sub__(self, other):
        return Real(self.lo - other.hi, self.hi - other.lo)
    def __mul__(self, other):
        ends = [a * b for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return Real(min(ends) >> BITS, -(-max(ends) >> BITS))
    def over(self, other):  # by a positive number, so that the corners serve here, too
        if other.lo <= 0:
            raise Stop(4, SMALL)
        ends = [(a << BITS, b) for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return Real(min(a // b for a, b in ends), max(-(-a // b) for a, b in ends))

def real(x):
    """A fraction or whole number as a Real."""
    return Real(*(quotient(x.numerator << BITS, x.denominator, up) for up in (DOWN, UP)))

NONE, ALL, UNKNOWN = Real(0, 0), Real(ONE, ONE), Real(0, ONE)

def exp_end(x, up):
    """A bound of e^x: the 2^n-th power of e^y, y = x / 2^n between -2^-7 and 2^-7."""
    n = max(0, abs(x).bit_length() + 7 - BITS)
    y = quotient(x, 1 << n, up)  # e^y grows with it
    term = total = ONE
    for i in range(1, 23):
        # Two floors: a term errs by at most (its predecessor's error * 2^-7 + 1) / i + 1 < 2.1
        # units, all of them by < 50. What follows them is < 2 * 2^-161 / 23! < 2^-230, less
        # than a unit. 80 covers both.
        term = (term * y >> BITS) // i
        total += term
    total += 80 if up else -80
    for _ in range(n):  # the square of a positive number grows with it
        total = quotient(total * total, ONE, up)
    return total

def log_part(z):
    """log((1 + z) / (1 - z)) = 2 (z + z^3/3 + z^5/5 + ...) for z from 0 to 1/3, rounded down by
    less than 200 units, one unit of z counted in: a floor of a power and its predecessor's error
    come to less than 1.5 units, a term to less than 1.5, 63 terms to 95. What follows is
    < 3^-129 < 2^-204. A unit of z moves it by 2 / (1 - z^2) < 3 units. 2 * 96 + 3 < 200.
    """
    square, power, total = z * z >> BITS, z, z
    for i in range(3, 129, 2):
        power = power * square >> BITS
        total += power // i
    return Real(2 * total, 2 * total + 200)

LOG2 = log_part(ONE // 3)

def log_end(x, up):
    """A bound of log x: of m 2^e, m from 1 to 2, it is log m + e log 2. m is rounded."""
    if x <= 0:
        raise Stop(4, SMALL)
    e = x.bit_length() - 1 - BITS
    m = x << -e if e < 0 else quotient(x, 1 << e, up)
    found = log_part((m - ONE) * ONE // (m + ONE))
    return (found.hi if up else found.lo) + e * (LOG2.hi if (e > 0) == up else LOG2.lo)

PI = 314159265358979323846264338327950288419716939937510582097494459230781640628620899  # / 10^80
# 1 / sqrt(2 pi) = sqrt(10^80 / 2 PI): isqrt gives the floor, from PI + 1 below and PI above.
PEAK = [math.isqrt(ONE * ONE * 10**80 // (2 * PI + 2 - 2 * i)) + i for i in (0, 1)]
FAR = 16 * ONE

def normal_end(x, up):
    """A bound of the normal distribution function. For x >= 0 it is
    1/2 + e^(-x^2/2) / sqrt(2 pi) * (x + x^3/3 + x^5/(3 * 5) + x^7/(3 * 5 * 7) + ...):
    all terms are positive, and every step rounds towards the side that is wanted.
    """
    if x < 0:
        return ONE - normal_end(-x, not up)
    if x > FAR:  # between its value at FAR and 1
        return ONE if up else normal_end(FAR, DOWN)
    square, term, total, n = quotient(x * x, ONE, up), x, x, 1
    while term > 1 or n * ONE < 2 * square:
        n += 2
        term = quotient(term * square, n * ONE, up)
        total += term
    # Each term that follows is less than half of the one before: together less than a unit.
    power = exp_end(quotient(x * x, 2 * ONE, not up), not up)  # a divisor: the other way
    return (ONE >> 1) + quotient((total + up) * PEAK[up], power, up)

def grown(end):
    """A function of a Real from the bounds of one that grows."""
    return lambda x: Real(end(x.lo, DOWN), end(x.hi, UP))

exp, log, normal = grown(exp_end), grown(log_end), grown(normal_end)

# ------------------------------------------------------------------- pairs, without sampling
# A pair is known by a function t -> P(T > t), Q(T > t) of its loss T, or by its outcomes' masses
# (p, q). Its losses are between -most and most.
Pair = namedtuple("Pair", "tails outcomes most")
NOWHERE = Fraction(10**9)  # in place of infinity

def gaussian(mu):
    """N(mu, 1) and N(0, 1): T > t where x > t/mu + mu/2."""
    half, inverse = real(Fraction(mu, 2)), real(Fraction(1, mu))
    def tails(t):
        return normal(half - t * inverse), normal(NONE - half - t * inverse)
    return Pair(tails, [], NOWHERE)

def laplace(e):
    """Laplace noise at two places e scales apart: T is -e and e outside of them.
    Between, x scales from Q's place, T = 2x - e, P(X > x) = 1 - e^(x-e)/2, Q(X > x) = e^-x/2.
    """
    end, half = real(e), real(Fraction(1, 2))
    def tails(t):
        if -end.lo <= t.lo and t.hi < end.lo:
            return ALL - half * exp(half * (t - end)), half * exp(NONE - half * (t + end))
        mass = NONE if t.lo >= end.hi else ALL if t.hi < -end.hi else UNKNOWN  # next to an end
        return mass, mass
    return Pair(tails, [], e)

def response(e, categories=2, delta=0):
    """Odds of e^e to 1 against each other answer; the worst of all (e, delta) pairs."""
    w = exp(real(-e))
    true = real(1 - delta).over(ALL + real(categories - 1) * w)
    even = true * w * real(Fraction(categories - 2, 2))  # half of the answers with loss 0
    masses = [(true, true * w), (even, even), (real(delta), NONE)]
    return Pair(None, masses + [(q, p) for p, q in masses], NOWHERE if delta else e)

def on_integers(power, size, distance):
    """Masses e^(-|x|^power / size) / Z on the whole numbers, at two places: discrete Laplace noise
    of power 1, discrete Gaussian noise of power 2. Weights beyond `far` add up, on each side, to
    less than the integral from there on, and that is less than `size` times the weight at `far`.
    Z is between the sum and that much more. Outcomes farther from P's place are left out.
    """
    far = int(size * 140) + 1 if power == 1 else math.isqrt(int(size * 140)) + 1
    weight = [exp(real(Fraction(-(x**power), size))) for x in range(far + distance + 1)]
    total = Real(0, quotient(2 * real(size).hi * weight[far].hi, ONE, UP))
    for x in range(-far, far + 1):
        total += weight[abs(x)]
    mass = [w.over(total) for w in weight]
    outcomes = [(mass[abs(x - distance)], mass[abs(x)]) for x in range(-far, far + distance + 1)]
    return Pair(None, outcomes, Fraction(distance, size) if power == 1 else NOWHERE)

def listed(p, q):
    """Outcomes whose masses are fractions; what is missing to 1 may have any loss."""
    if len(p) != len(q) or min(*p, *q) < 0 or max(sum(p), sum(q)) > 1:
        raise Stop(4, "p and q are not the probabilities of as many outcomes")
    return Pair(None, [(real(a), real(b)) for a, b in zip(p, q)], NOWHERE)

# ------------------------------------------------------------------------------------ rounds
class Round:
    """A pair, the rate at which a record is sampled, and how often it is run.
    Poisson sampling at the rate r makes of a pair (P, Q), with the record and without it, the
    pair ((1 - r) Q + r P, Q), whose loss log(1 - r + r e^T) grows with T.
    """
    def __init__(self, name, pair, rate, count):
        self.name, self.pair, self.rate, self.count = name, pair, rate, count
        self.r, self.s = real(rate), real(1 - rate)
        self.tails = functools.lru_cache(None)(self.tails)

    def mixed(self, p, q):
        return p if self.rate == 1 else self.s * q + self.r * p

    def tails(self, l):
        """P(L > l) and Q(L > l), the record removed."""
        if self.rate == 1:
            return self.pair.tails(Real(l, l))
        ratio = (exp(Real(l, l)) - self.s).over(self.r)  # L > l where e^T is above it
        if ratio.lo <= 0:
            return (ALL, ALL) if ratio.hi <= 0 else (UNKNOWN, UNKNOWN)
        p, q = self.pair.tails(log(ratio))
        return self.mixed(p, q), q

    def most(self, added):
        """A bound of all losses: exact, or log(1 - r + r e^T) at an end of T, rounded up."""
        most = self.pair.most
        if self.rate == 1 or most == NOWHERE and not added:
            return most
        ratio = self.mixed(NONE if most == NOWHERE else exp(real(-most if added else most)), ALL)
        return Fraction(-log(ratio).lo if added else log(ratio).hi, ONE)

    def cells(self, n, added, cut):
        """The law in cells (i, j, P-mass, Q-mass) whose losses are all from i 2^-n to j 2^-n.
        Ends are rounded outward. What is in no cell may have any loss.
        """
        shift, cells = BITS - n, []
        for p, q in self.pair.outcomes:
            p = self.mixed(p, q)
            if p.lo > 1 and q.lo > 0:  # so that p/q is above 0 in these units
                loss = log(p.over(q))
                cells.append((loss.lo >> shift, (loss.hi >> shift) + 1, p, q))
        if self.pair.tails:
            at = sorted(set(self.points(shift, added, cut)))
            for i, j in zip(at, at[1:]):  # the mass between two points is the difference of tails
                (a, b), (c, d) = self.tails(i << shift), self.tails(j << shift)
                cells.append((i, j, a - c, b - d))
        # A record added: P and Q change places, and the loss its sign.
        return [(-j, -i, q, p) for i, j, p, q in cells] if added else cells

    def points(self, shift, added, cut):
        """Points from loss 0 outwards, closer where there is mass, until `cut` is left beyond.
        Any points would do: what lies beyond them is in no cell.
        """
        for sign in (1, -1):
            i, left, width = 0, ONE, 1
            while left > cut:
                yield i
                tail = self.tails(i << shift)[added]
                before, left = left, tail.hi if sign == 1 else ONE - tail.lo
                if 32 * left < 31 * before:
                    width = max(1, width >> 1)
                elif 64 * left > 63 * before and min(left, ONE - left) * width**3 << 16 < ONE:
                    width *= 2
                i += sign * width

# ---------------------------------------------------------------------------- laws of losses
# Masses of the losses i 2^-n, by i, and of infinity, in units of 1 / unit.
Law = namedtuple("Law", "n masses infinite")

def ends(p, r, width):
    """Lemma 1 (spreading). Let losses from l to m have the P-mass p and the Q-mass q. Put P-masses
    a at l and b at m in their place, with a + b = p and a e^-l + b e^-m = q: delta does not fall.
    Let c be epsilon less the other losses: E max(0, 1 - e^c R) is convex in R = e^-L, and of all
    laws of R on [e^-m, e^-l] with one mean the one on the two ends has the largest.
    With r = q e^l and d = e^(l - m): a = (r - p d) / (1 - d), b = (p - r) / (1 - d), at most p.
    """
    d = exp(Real(-width, -width))
    return [min(max(0, mass.over(ALL - d).hi), p.hi) for mass in (r - p * d, p - r)]

def law_of(cells, n, unit, up):
    """Above, each cell's mass goes to its two ends, and is rounded up; what is in no cell, to
    infinity. Below, each cell is one outcome, its loss and mass rounded down, by
    Lemma 2 (merging). Count outcomes as one, with the sums p and q of their masses and the loss
    log(p/q): delta does not rise. For R is replaced by its mean, and the function is convex.
    Lemma 3 (growing). Delta grows with every P-mass and every loss: it is a sum of P-masses, each
    times a value that is at least 0 and grows with the loss.
    """
    atoms, inside = Counter({0: 0}), 0
    for i, j, p, q in cells:
        l, ratio, places = i << BITS - n, (p.lo << BITS) // max(q.hi, 1), ()
        if up:
            places = zip((i, j), ends(p, q * exp(Real(l, l)), (j - i) << BITS - n))
        elif ratio >> 60 > 0:  # losses below -97 are left out
            places = [(log_end(ratio, DOWN) >> BITS - n, p.lo)]
        for k, mass in places:
            atoms[k] += quotient(mass * unit, ONE, up)
        inside += p.lo
    return Law(n, atoms, quotient(max(0, ONE - inside) * unit, ONE, UP) if up else 0)

def coarser(law):
    """The law above with steps twice as wide: lemma 1 for each atom between two that stay, its
    shares rounded up. Relative to its mass, r at the place before it is e^-h.
    """
    h, masses = 1 << BITS - law.n, Counter()
    shares = ends(ALL, exp(Real(-h, -h)), 2 * h)
    for i, m in law.masses.items():
        for k, share in zip((i >> 1, (i >> 1) + 1), shares) if i & 1 else [(i >> 1, ONE)]:
            masses[k] += quotient(m * share, ONE, UP)
    return Law(law.n - 1, masses, law.infinite)

EXACT = decimal.Context(  # stops where a digit would be lost
    decimal.MAX_PREC, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX,
    traps=[decimal.Inexact, decimal.Rounded, decimal.InvalidOperation, decimal.Overflow])

def convolved(a, b):
    """All sums of a_i b_(k-i), exactly, out of one product of two long decimal numbers.
    Each mass stands in a slot of so many digits that no sum overflows it: a sum is at most the
    greatest a times the sum of all b.
    """
    slot = len(str(max(a.values()) * sum(b.values())))
    numbers = [decimal.Decimal("".join(
        str(masses.get(i, 0)).zfill(slot) for i in range(min(masses), max(masses) + 1)))
        for masses in ((a,) if a is b else (a, b))]
    digits = format(EXACT.multiply(numbers[0], numbers[-1]), "f")
    start, size = min(a) + min(b), (max(a) + max(b) - min(a) - min(b) + 1) * slot
    if len(digits) > size:
        raise ArithmeticError("a product is longer than its slots")
    digits = digits.zfill(size)
    return start, [int(digits[k : k + slot]) for k in range(0, size, slot)]

def times(a, b, unit, cut, up):
    """The law of the sum of two losses, above or below, without ends of mass up to `cut`.
    Above: masses are rounded up, the lowest losses raised to the lowest that stays, the highest
    to infinity: 1 - (1 - x)(1 - y), which grows with x and y. Below: rounded down, ends left out.
    """
    while a.n != b.n:
        a, b = (coarser(a), b) if a.n > b.n else (a, coarser(b))
    start, masses = convolved(a.masses, b.masses)
    masses = [quotient(m, unit, up) for m in masses]
    first = min(sum(mass <= cut for mass in itertools.accumulate(masses)), len(masses) - 1)
    beyond = sum(mass <= cut for mass in itertools.accumulate(masses[::-1]))
    end = max(len(masses) - beyond, first + 1)
    kept = dict(enumerate(masses[first:end], start + first))
    kept[start + first] += sum(masses[:first]) if up else 0
    x, y = min(a.infinite, unit), min(b.infinite, unit)
    return Law(a.n, kept, x + y - x * y // unit + sum(masses[end:]) if up else 0)

def power(law, k, unit, cut, spare, up):
    """The law of the sum of k losses. A product may cut the mass `cut`, and steps become twice as
    wide while that adds at most `spare` to the variance: h^2 for each odd atom, a half of h^2 for
    all. A half enters twice, and may spend half as much.
    """
    if k == 1:
        return law
    half = power(law, k // 2, unit, cut // 2, Fraction(spare, 2), up)
    found = times(half, half, unit, cut, up)
    found = times(found, law, unit, cut, up) if k & 1 else found
    while found.n > 0 and Fraction(1, 2 << 2 * found.n) <= spare:
        found = coarser(found)
    return found

def epsilon_end(law, delta, unit, up):
    """The least epsilon >= 0 of a law with this delta; NOWHERE if infinity alone has more mass.
    With x, the greatest loss, delta at epsilon is the greatest, over i, of M - S e^(epsilon - x),
    where the losses from i on have the mass M and S is their sum of m e^(x - l): losses below
    epsilon would take away. So the least epsilon is the greatest x - log(S / (M - delta)). Above,
    delta, S, the quotient and its logarithm are rounded down, and below up.
    """
    spare = quotient(delta.numerator * unit, delta.denominator, not up)
    step, factor = exp_end(1 << BITS - law.n, not up), ONE  # factor is e^(x - l)
    top, mass, moment, ratios = max(law.masses), law.infinite, 0, []
    if mass > spare:
        return NOWHERE
    for i in range(top, 0, -1):
        mass += law.masses.get(i, 0)
        moment += law.masses.get(i, 0) * factor
        factor = quotient(factor * step, ONE, not up)
        if mass > spare:
            ratios.append(quotient(moment, mass - spare, not up))
    end = (top << BITS - law.n) - log_end(min(ratios), not up) if ratios else 0
    return Fraction(max(0, end), ONE)

@functools.lru_cache(None)
def composed(rounds, added, least, spare, n, up):
    """The law of a plan's loss. What is cut and rounded costs far less than `least` of delta. Cells
    of width h add about h^2/4 to the variance: where no n is given, each kind adds about `spare`.
    """
    unit, law = 10 ** (len(str(sum(one.count for one in rounds) // least)) + 12), None
    for one in rounds:
        step = n or max(0, int(one.count // (4 * spare)).bit_length() + 1 >> 1)
        # Tails are known to 2^-178 at FAR. What is beyond `left`, and cut, is charged all the same.
        left = max(int(least * ONE) // (one.count * len(rounds) << 20), ONE >> 176)
        first = law_of(one.cells(step, added, left), step, unit, up)
        levels = 2 * one.count.bit_length()
        cut = int(least * unit) // (len(rounds) * levels << 20)
        block = power(first, one.count, unit, cut, Fraction(spare, levels), up)
        law = block if law is None else times(law, block, unit, cut, up)
    return law, unit

# -------------------------------------------------------------------------- plans and reports
def number(table, key, default=None, least=None, kind=Fraction):
    """A number taken out of a table: above 0, or from `least` on; a whole one where kind is int."""
    value = table.pop(key, default)
    value = Fraction(value) if isinstance(value, str) else value  # as in "1/60000"
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)) or kind(value) != value:
        raise Stop(4, f"{key} is {value!r}, and has to be a number")
    if value <= 0 if least is None else value < least:
        raise Stop(4, f"{key} = {value} is out of range")
    return kind(value)

MECHANISMS = {  # by their keys, the distance d that a record moves a sum by, and its unit, u
    "gaussian": lambda t, d, u: gaussian(Fraction(d, number(t, "noise_multiplier"))),
    "laplace": lambda t, d, u: laplace(Fraction(d, number(t, "scale"))),
    "discrete-laplace": lambda t, d, u: on_integers(1, number(t, "scale"), d * u),
    "discrete-gaussian": lambda t, d, u: on_integers(
        2, 2 * (number(t, "noise_multiplier") * u) ** 2, d * u),
    "pmf": lambda t, *_: listed(*([number({"": x}, "", least=0) for x in t.pop(k)] for k in "pq")),
    # Guarantees are under the plan's own adjacency, which may be that of a replaced record.
    "randomized-response": lambda t, *_: response(
        number(t, "epsilon"), number(t, "categories", 2, least=2, kind=int)),
    "approximate-dp": lambda t, *_: response(
        number(t, "epsilon", least=0), delta=min(Fraction(1), number(t, "delta", least=0))),
    "gdp": lambda t, *_: gaussian(number(t, "mu")),
}
DIRECTIONS = {  # which of them add a record; a pair of a replaced one is its own mirror image
    "add-or-remove": (False, True), "remove": (False,), "add": (True,), "replace-one": (False,)}

def round_of(table, replaced):
    """A round of a plan; every key has to be understood."""
    table = {key: x for key, x in table.items() if key not in ("name", "note", "date")}
    name, sampling = table.pop("mechanism", None), table.pop("sampling", "none")
    on_sum = name in ("gaussian", "laplace", "discrete-gaussian", "discrete-laplace")
    rate, distance, unit = Fraction(1), 1, 1
    if sampling != "none" and "batch_size" in table:
        batch, records = (number(table, key, kind=int) for key in ("batch_size", "dataset_size"))
        rate = Fraction(batch, records)
        if "epochs" in table and "count" not in table:
            table["count"] = -(-records // batch) * number(table, "epochs", least=0)
    elif sampling == "poisson":
        rate = number(table, "sample_rate")
        table.pop("dataset_size", None)
    if replaced and on_sum:  # from one end of its range to the other
        distance = number(table, "replace_one_distance", 2, kind=int)
    if name in ("discrete-gaussian", "discrete-laplace"):
        unit = number(table, "sensitivity", 1, kind=int)
    known = sampling in ("none", "poisson") and rate <= 1
    if sampling == "without-replacement" and name in ("gaussian", "laplace") and rate < 1:
        # In a batch of fixed size a record has another one's place: the sum moves by 2. Given the
        # rest of the batch and that other record, y, the laws with and without the record x are
        # (1 - r) M(y) + r M(x) and M(y), which is Poisson sampling.
        known, distance = True, 2
    if name not in MECHANISMS or not known or replaced and (rate < 1 or name == "pmf"):
        how = "replaced" if replaced else "added or removed"
        raise Stop(4, f"mechanism {name!r} with sampling {sampling!r}, a record being {how}")
    count = number(table, "count", 1, least=0, kind=int)
    pair = MECHANISMS[name](table, distance, unit)
    if table:
        raise Stop(4, f"key {min(table)!r} of mechanism {name!r}")
    return Round(f"{name}, sampling {sampling}, rate {rate}", pair, rate, count)

def rounds_of(plan):
    """The rounds of a plan, and the directions of its adjacency."""
    for key in plan.keys() - {"adjacency", "delta", "published", "round"}:
        if (key, plan[key]) not in (("format", 1), ("unit", "record")):
            raise Stop(4, f"key {key!r} of the plan")
    adjacency = plan.get("adjacency", "add-or-remove")
    if adjacency not in DIRECTIONS:
        raise Stop(4, f"adjacency {adjacency!r}")
    rounds = [round_of(table, adjacency == "replace-one") for table in plan["round"]]
    return tuple(one for one in rounds if one.count), DIRECTIONS[adjacency]

def shown(x, rounding=decimal.ROUND_CEILING, digits=7):
    """A fraction as a decimal, rounded up."""
    context = decimal.Context(prec=digits, rounding=rounding, Emin=decimal.MIN_EMIN)
    return context.divide(decimal.Decimal(x.numerator), decimal.Decimal(x.denominator))

# The record, the headline, a row of the first table and the plan, in HTML and in Markdown.
NUMBER = r"\s*([0-9][0-9.e+-]*)\s*"
RECORD = ('\n(?:<script type="application/json" id="|```json )hockeystick-record(?:">)?'
          "\n(.*?)\n(?:</script>|```)")
HEADLINE = rf"\n(?:<strong>|\*\*)(?:No [a-z ]+: )?ε ≤{NUMBER}at δ ={NUMBER}(?:</strong>|\*\*)"
ROW = (rf'\n(?:<tr><th scope="row" class="number">|\|){NUMBER}(?:</th><td class="number">|\|)'
       rf"{NUMBER}(?:</td>|\|)")
PLAN = "\n(?:<h2>The plan</h2>\n<pre><code>|## The plan\n\n```toml\n)(.*?)(?:</code></pre>|\n```)"

def found(text, pattern, what):
    """The text in the one place where a pattern occurs."""
    places = re.findall(pattern, text, re.DOTALL)
    if len(places) != 1:
        raise Stop(2, f"{what} stands in {len(places)} places of the file")
    return places[0]

def once(pairs):
    """A table of JSON, in which no key stands twice."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key stands twice in one table")
    return dict(pairs)

def read(text):
    """The plan in a file, its claims (epsilon, delta), and where text and record disagree."""
    printed = "hockeystick-record" in text
    if not text.lstrip().startswith("{"):
        if sys.version_info < (3, 11):
            raise Stop(2, "only JSON is read before Python 3.11")
        if not printed:
            return tomllib.loads(text, parse_float=Fraction), [], []
    body = found(text, RECORD, "the record") if printed else text
    record = json.loads(body, parse_float=Fraction, object_pairs_hook=once)
    floats = json.loads(body)
    if "round" in record and not printed:
        return record, [], []
    if record.get("answer") != "report":
        raise Stop(4, f"an answer of {record.get('answer')!r}: ask about its plan")
    wrong, checksum = [], floats.pop("checksum", None)
    sealed = json.dumps(floats, sort_keys=True, separators=(",", ":"))
    if hashlib.sha256(sealed.encode("ascii")).hexdigest() != checksum:
        wrong.append("the checksum is not that of the numbers in the file")
    # As a reader is shown them: three digits, rounded up from the number that a double is.
    claims = [(Fraction(shown(Fraction(line["upper"]), digits=3)), Fraction(repr(line["delta"])))
              for line in floats["epsilon"]]
    if printed:
        rows = [found(text, HEADLINE, "the headline")]
        rows += [(epsilon, delta) for delta, epsilon in re.findall(ROW, text)]
        seen = [(Fraction(epsilon), Fraction(delta)) for epsilon, delta in rows]
        if seen != (claims[:1] + claims if len(claims) > 1 else claims):  # one delta: no table
            wrong.append("the numbers in the text are not those of the record")
        plan, claims = found(text, PLAN, "the plan"), seen
        plan = html.unescape(plan) if "</html>" in text else plan
        if {"format": 1, **record["plan"]} != tomllib.loads(plan, parse_float=Fraction):
            wrong.append("the plan in the text is not that of the record")
    return record["plan"], list(dict.fromkeys(claims)), wrong

# ----------------------------------------------------------------------------------- proving
def prove(rounds, added, epsilon, delta, least, n):
    """A proved upper end of epsilon, and the last law that it was taken from. Steps add to the
    variance about a 16th of epsilon, or of its square, then a quarter of that each time, and the
    error falls likewise: until the claim is proved, or four such gains would be too little.
    """
    end = sum(one.most(added) * one.count for one in rounds)  # no loss is above it
    scale, last, law = max(epsilon, Fraction(1, 1000)), NOWHERE, None
    start = int(16 // min(scale, scale * scale)).bit_length() + 1 >> 1
    for finer in range(start, start + (1 if n else 14)):
        if epsilon < NOWHERE and (end <= epsilon or delta == 0):
            break
        if epsilon >= NOWHERE or least < Fraction(1, 10**40):
            raise Stop(4, "a delta below 1e-40 and greater losses, or an epsilon from 1e9 on")
        if sys.stderr.isatty():
            print(f"{shown(epsilon)}: steps add 4^-{finer} to the variance", file=sys.stderr)
        spare = Fraction(0 if n else 1, len(rounds) << 2 * finer)
        law, unit = composed(rounds, added, least, spare, n, UP)
        now = epsilon_end(law, delta, unit, UP)
        end, gain, last = min(end, now), last - now, now
        if finer > start + 3 and 4 * gain < now - epsilon:
            break
    return end, law

def judged(rounds, directions, claims, n=None, both=False):
    """Say what is proved of each claim, and the status."""
    least, status = min((delta for _, delta in claims if delta > 0), default=Fraction(1)), 0
    if min(map(min, claims)) < 0 or max(delta for _, delta in claims) >= 1:
        raise Stop(4, "a claim with an epsilon below 0, or a delta that is not from 0 to 1")
    for epsilon, delta in claims:
        high = low = Fraction(0)
        for added in directions:
            end, law = prove(rounds, added, epsilon, delta, least, n)
            high = max(high, end)
            if law and (both or end > epsilon):  # in steps of which 2^15 are as wide as that law
                fine = n or law.n + 15 - (max(law.masses) - min(law.masses)).bit_length()
                law, unit = composed(rounds, added, least, Fraction(0), max(1, fine), DOWN)
                low = max(low, epsilon_end(law, delta, unit, DOWN))
        word = "proved" if high <= epsilon else "refuted" if low > epsilon else "NOT proved"
        print(f"{word}: epsilon <= {shown(epsilon)} at delta = {shown(delta)}; proved is "
              + (f"{shown(low, decimal.ROUND_FLOOR)} <= " if low else "") + "epsilon"
              + (f" <= {shown(high)}" if high < NOWHERE else " of any size"))
        status = status if high <= epsilon else 3
    return status

def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("file", help="a report, or a plan; - is standard input")
    parser.add_argument("--epsilon", help="the claim about a plan, in place of a report's")
    parser.add_argument("--delta", help="the claim's delta; by default the plan's")
    parser.add_argument("--step", type=int, choices=range(1, 61), metavar="N", help="steps of 2^-N")
    parser.add_argument("--both", action="store_true", help="bound epsilon from below too")
    parser.add_argument("--covered", action="store_true", help="only say what is covered")
    asked, wrong = parser.parse_args(arguments), []
    try:
        with open(0 if asked.file == "-" else asked.file, encoding="utf-8") as file:
            plan, claims, wrong = read(file.read())
        for line in wrong:
            print(line)
        if asked.epsilon is not None:
            delta = plan.get("delta", 0) if asked.delta is None else asked.delta
            claim = {"epsilon": asked.epsilon, "delta": delta}
            claims = [tuple(number(claim, key, least=0) for key in ("epsilon", "delta"))]
        rounds, directions = rounds_of(plan)
        for one in rounds:
            print(f"{one.count} x {one.name}")
        if asked.covered:
            return 0
        if not claims:
            raise Stop(2, "a plan has no claim: give --epsilon and --delta")
        status = judged(rounds, directions, claims, asked.step, asked.both)
        return 3 if wrong else status
    except Stop as stop:
        print({2: "not readable: ", 4: "not covered: "}[stop.args[0]] + stop.args[1])
        return 3 if wrong else stop.args[0]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        print(f"not readable: {type(error).__name__}: {error}")
        return 2

if __name__ == "__main__":
    sys.exit(main())
