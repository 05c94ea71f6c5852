#!/usr/bin/env python3
"""Proves the epsilon of a report again, in whole numbers: one file, the standard library alone.
    python hockeystick_check.py report.html
    python hockeystick_check.py plan.toml --epsilon 0.903 --delta 1e-5

A report (HTML, Markdown or JSON) carries its plan and its claims; of a plan the claim is given.
`--step N` takes losses in steps of 2^-N, `--both` bounds delta from below too, `--covered` only
says what is covered. Status 0: every claim is proved. 3: one is not, or text and record disagree.
4: the plan is not covered. 2: the file cannot be read. TOML needs Python 3.11, all else 3.9.

What is computed. A plan is a number of rounds. A round is a pair of laws of what is published,
P on one dataset and Q on its neighbour; its loss is L = log(P/Q), infinite where Q is 0. Of all
rounds together, L being the sum of their losses, drawn from P,
    delta(epsilon) = E max(0, 1 - e^(epsilon - L)).
(epsilon, delta) is proved where an upper bound of this is at most delta, in each direction that
the adjacency has.

How. Each round's losses are moved to whole multiples of 2^-n. The sums of k rounds are k-fold
convolutions, done exactly as products of long decimal numbers. Three lemmas about finite sums
say which way a change of one round moves delta, whatever the other rounds are:
  1 (spreading). Let losses from l to m have the P-mass p and the Q-mass q. Put P-masses a at l
    and b at m in their place, with a + b = p and a e^-l + b e^-m = q: delta does not fall. Let c
    be epsilon less the other losses: E max(0, 1 - e^c R) is convex in R = e^-L, and of all laws
    of R on [e^-m, e^-l] with one mean the one on the two ends has the largest.
  2 (merging). Count outcomes as one, with the sums p and q of their masses and the loss
    log(p/q): delta does not rise. By the same convexity, R being replaced by its mean.
  3 (growing). Delta grows with every P-mass and every loss.
So there is an exact law, with nowhere more mass than is kept here, whose delta is at least the
truth. The masses kept are rounded up, and may add up to more than 1.

A real number is kept as two whole multiples of 2^-BITS that it lies between. No float decides
anything: floats occur in functions named guess_..., whose results are verified.
"""
import argparse
import decimal
import hashlib
import html
import json
import math
import re
import sys
from collections import Counter, namedtuple
from fractions import Fraction

try:
    import tomllib
except ImportError:  # Python 3.9 and 3.10: reports, and plans in JSON
    tomllib = None

BITS = 200
ONE = 1 << BITS
UP, DOWN = True, False

class Stop(Exception):
    """Nothing is proved: the status to end with, and why."""

# ------------------------------------------------------------------------------ real numbers

class Real:
    """A number between lo and hi, in units of 2^-BITS; every operation rounds outward."""
    __slots__ = ("lo", "hi")

    def __init__(self, lo, hi):
        self.lo, self.hi = lo, hi
    def __add__(self, other):
        return Real(self.lo + other.lo, self.hi + other.hi)
    def __sub__(self, other):
        return Real(self.lo - other.hi, self.hi - other.lo)
    def __mul__(self, other):
        ends = [a * b for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return Real(min(ends) >> BITS, -(-max(ends) >> BITS))

    def over(self, other):
        if other.lo <= 0:
            raise Stop(4, "losses are too large for the precision of this file")
        ends = [(a << BITS, b) for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return Real(min(a // b for a, b in ends), max(-(-a // b) for a, b in ends))

def real(x):
    """A fraction or whole number as a Real."""
    scaled, below = x.numerator << BITS, x.denominator
    return Real(scaled // below, -(-scaled // below))

NONE, ALL, UNKNOWN = Real(0, 0), Real(ONE, ONE), Real(0, ONE)

def exp_end(x, up):
    """A bound of e^x above or below."""
    y, halvings = x, 0
    while abs(y) > ONE >> 7:  # halving rounds towards the wanted side, and e^x is monotone
        y, halvings = (-(-y // 2) if up else y // 2), halvings + 1
    term = total = ONE
    for i in range(1, 23):
        # Two floors: a term errs by at most (its predecessor's error * 2^-7 + 1) / i + 1 < 2.1
        # units, all of them by < 50. What follows them is < 2 * 2^-161 / 23! < 2^-230, less
        # than a unit. 80 covers both.
        term = (term * y >> BITS) // i
        total += term
    total += 80 if up else -80
    for _ in range(halvings):  # total > 0: the floor of its square is below, the next above
        total = (total * total >> BITS) + (1 if up else 0)
    return total

def exp(x):
    return Real(exp_end(x.lo, DOWN), exp_end(x.hi, UP))

def guess_log(m):
    """About log m, for m from 1 to 2."""
    return int(math.log(m / ONE) * 2**60) << (BITS - 60)

LOG2 = real(Fraction(69314718055994530941723212145817656807550013436025525412068000949339, 10**68))
LOG2.hi += 1  # these are the first 68 digits, and 10^-68 is below a unit

def log_end(x, up):
    """A bound of log x. With x = m 2^e, m from 1 to 2, it is log m + e log 2; m is rounded."""
    e = x.bit_length() - 1 - BITS
    m = x << -e if e < 0 else -(-x >> e) if up else x >> e
    y = guess_log(m)
    for _ in range(2):  # steps of Newton
        power = exp_end(y, UP)
        y += (m - power) * ONE // power
    y += (1 if up else -1) << 40
    if exp_end(y, DOWN) < m if up else exp_end(y, UP) > m:  # the proof: e^y is monotone
        raise ArithmeticError(f"log of {m}")
    return y + e * (LOG2.hi if (e > 0) == up else LOG2.lo)

def log(x):
    return Real(log_end(x.lo, DOWN), log_end(x.hi, UP))

PI = 314159265358979323846264338327950288419716939937510582097494459230781640628620899  # / 10^80
# 1 / sqrt(2 pi) = sqrt(10^80 / 2 PI): isqrt gives the floor, from PI + 1 below and PI above.
PEAK = [math.isqrt(ONE * ONE * 10**80 // (2 * PI + 2 - 2 * i)) + i for i in (0, 1)]
FAR = 16 * ONE
FINE = BITS + 260

def normal(x):
    """Two bounds of the normal distribution function, for x between -16 and 16.
    1/2 + S / sqrt(2 pi), S = x - x^3/(2 * 3) + ... + t_n/(2n + 1) + ..., t_n = -t_(n-1) x^2/2n, in
    units of 2^-FINE, as terms grow up to e^(x^2/2) < 2^185.
    An error of t_n reaches S in all later terms. With z = x^2/2 it is there multiplied by
    sum_j (-z)^j n!/(n+j)! / (2(n+j)+1), the integral over u, v from 0 to 1 of the positive
    n (1-u)^(n-1) e^(-z u v^2) v^2n, so by at most 1/(2n+1). The floors make the errors: at most 2
    units of t_n, and one of the term. x^2 rounded down by a unit moves S by at most x/6 < 3.
    From 2n > x^2 on terms fall and change sign: what is left out is below the last term, 1 unit.
    Together at most 3n + 4 units; 8n + 20 are charged.
    """
    y, n = x << FINE - BITS, 0
    square = y * y >> FINE
    total = term = y
    while abs(term) > 1 or 2 * n <= square >> FINE:
        n += 1
        term = -(term * square >> FINE) // (2 * n)
        total += term // (2 * n + 1)
    slack = 8 * n + 20
    ends = [(total + s) * peak >> FINE for s in (-slack, slack) for peak in PEAK]
    return Real(max(0, (ONE >> 1) + min(ends)), min(ONE, (ONE >> 1) + max(ends) + 1))

def normal_real(z):
    """The same of a Real: it grows, by less than half of what z grows (its slope is < 0.4)."""
    if z.hi <= -FAR or z.lo >= FAR:  # beyond, it is between its value at the end and 0 or 1
        return Real(0, normal(-FAR).hi) if z.lo < 0 else Real(normal(FAR).lo, ONE)
    found = normal(max(z.lo, -FAR))
    return Real(found.lo if z.lo >= -FAR else 0, min(ONE, found.hi + (z.hi - z.lo) // 2 + 1))

# ------------------------------------------------------------------- pairs, without sampling
# A pair is known by a function t -> P(T > t), Q(T > t) of its loss T, or by its outcomes' masses
# (p, q). `ends` are the least and the greatest loss, where they are finite.
Pair = namedtuple("Pair", "tails outcomes ends")

def gaussian(mu):
    """N(mu, 1) and N(0, 1): T > t where x > t/mu + mu/2."""
    half, inverse = real(Fraction(mu, 2)), real(Fraction(1, mu))

    def tails(t):
        return normal_real(half - t * inverse), normal_real(NONE - half - t * inverse)
    return Pair(tails, [], (None, None))

def laplace(e):
    """Laplace noise at two places e scales apart: T is -e and e outside of them.
    Between, x scales from Q's place, T = 2x - e, P(X > x) = 1 - e^(x-e)/2, Q(X > x) = e^-x/2.
    """
    end, half = real(e), real(Fraction(1, 2))

    def tails(t):
        if t.lo >= end.hi:
            return NONE, NONE
        if t.hi < -end.hi:
            return ALL, ALL
        if t.lo < -end.lo or t.hi >= end.lo:
            return UNKNOWN, UNKNOWN
        return ALL - half * exp(half * (t - end)), half * exp(NONE - half * (t + end))
    return Pair(tails, [], (-e, e))

def two_sided(e, *masses, lost=0):
    """Outcomes and their mirror images, beside one of mass `lost` that only one law has."""
    outcomes = [*masses, *((q, p) for p, q in masses)]
    if lost:
        return Pair(None, [*outcomes, (real(lost), NONE), (NONE, real(lost))], (None, None))
    return Pair(None, outcomes, (-e, e))

def response(e, categories=2, delta=0):
    """Odds of e^e to 1 against each other answer; the worst of all (e, delta) pairs."""
    w = exp(real(-e))
    true = real(1 - delta).over(ALL + real(categories - 1) * w)
    even = true * w * real(Fraction(categories - 2, 2))  # half of the answers with loss 0
    return two_sided(e, (true, true * w), (even, even), lost=delta)

def staircase(e):
    """Staircase noise of least size, at its whole distance (Geng and Viswanath 2016).
    P is a = 1 - e^(-e/2) / 2 at loss e, a e^-e at -e, and what is left at 0.
    """
    half = real(Fraction(1, 2))
    a = ALL - half * exp(real(Fraction(-e, 2)))
    low = a * exp(real(-e))
    even = half * Real(max(0, ONE - a.hi - low.hi), ONE - a.lo - low.lo)
    return two_sided(e, (a, low), (even, even))

def discrete_laplace(scale, distance):
    """Two-sided geometric noise: with w = e^(-1/scale), (1 - w)/(1 + w) w^|x - place|.
    All outcomes beyond a place are one, of P-mass 1/(1 + w) or w^distance/(1 + w).
    """
    w = [exp(real(Fraction(-j, scale))) for j in range(distance + 1)]
    end = ALL.over(ALL + w[1])
    peak = end * (ALL - w[1])
    pair = two_sided(Fraction(distance, scale), (end, end * w[distance]))
    pair.outcomes.extend((peak * w[distance - j], peak * w[j]) for j in range(1, distance))
    return pair

def discrete_gaussian(sigma, distance):
    """Masses e^(-x^2 / 2 sigma^2) / Z on the whole numbers, at two places.
    The weights beyond r add up, on each side, to less than the integral from r, which is below
    sigma^2 / r times the weight at r. Outcomes farther than r from P's place are left out.
    """
    square = sigma * sigma
    r = math.isqrt(int(square * 2 * BITS)) + 1
    weight = [exp(real(Fraction(-x * x, 2 * square))) for x in range(r + distance + 1)]
    total = weight[0]
    for x in range(1, r + 1):
        total += weight[x] + weight[x]
    total.hi += (2 * real(square).hi * weight[r].hi >> BITS) + 1
    mass = [w.over(total) for w in weight]
    outcomes = [(mass[abs(x - distance)], mass[abs(x)]) for x in range(-r, r + distance + 1)]
    return Pair(None, outcomes, (None, None))

def listed(p, q):
    """Outcomes whose masses are fractions."""
    if len(p) != len(q) or min(*p, *q) < 0 or max(sum(p), sum(q)) > 1 + Fraction(1, 10**12):
        raise Stop(4, "p and q are not the probabilities of as many outcomes")
    return Pair(None, [(real(a), real(b)) for a, b in zip(p, q)], (None, None))

def binomial(trials, heads, move):
    """The number of heads among coins, which a record moves."""
    whole, up, none = heads.denominator, heads.numerator, [Fraction(0)] * move
    ways = [math.comb(trials, k) * up**k * (whole - up) ** (trials - k) for k in range(trials + 1)]
    law = [Fraction(way, whole**trials) for way in ways]
    return listed(none + law, law + none)

# ------------------------------------------------------------------------------------ rounds

class Round:
    """A pair, the rate at which a record is sampled, and how often it is run.
    Poisson sampling at the rate r makes of a pair (P, Q), with the record and without it, the
    pair ((1 - r) Q + r P, Q), whose loss log(1 - r + r e^T) grows with T.
    """
    def __init__(self, name, pair, rate, count):
        self.name, self.pair, self.rate, self.count = name, pair, rate, count
        self.r, self.s, self.known = real(rate), real(1 - rate), {}

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
        """The greatest loss, rounded up; None where it is infinite or not known."""
        end = self.pair.ends[0 if added else 1]
        if self.rate == 1 or (end is None and not added):
            return -end if end is not None and added else end
        ratio = self.mixed(NONE if end is None else exp(real(end)), ALL)
        return Fraction(-log(ratio).lo if added else log(ratio).hi, ONE)

    def cells(self, n, added, cut):
        """The law in cells (i, j, P-mass, Q-mass) whose losses are all from i 2^-n to j 2^-n."""
        shift, cells = BITS - n, []
        for p, q in self.pair.outcomes:
            p = self.mixed(p, q)
            if p.lo and q.lo:
                loss = log(p.over(q))
                i = loss.lo >> shift
                cells.append((i, max(i + 1, -(-loss.hi >> shift)), p, q))
        if self.pair.tails:
            known = self.points(shift, added, cut)
            at = sorted(known)
            for i, j in zip(at, at[1:]):  # the mass between two points is the difference of tails
                p, q = (a - b for a, b in zip(known[i], known[j]))
                cells.append((i, j, Real(max(0, p.lo), p.hi), Real(max(0, q.lo), q.hi)))
        # A record added: P and Q change places, and the loss its sign.
        return [(-j, -i, q, p) for i, j, p, q in cells] if added else cells

    def points(self, shift, added, cut):
        """Tails at points from loss 0 outwards, closer where there is mass, until `cut` is left.
        Any points would do: what lies beyond them is in no cell.
        """
        known = {}
        for sign in (1, -1):
            i, left, width = 0, ONE, 1
            while left > cut:
                if i << shift not in self.known:
                    self.known[i << shift] = self.tails(i << shift)
                known[i] = self.known[i << shift]
                tail = known[i][added]
                before, left = left, tail.hi if sign == 1 else ONE - tail.lo
                if 8 * left < 7 * before:
                    width = max(1, width >> 1)
                elif 16 * left > 15 * before and min(left, ONE - left) * width**3 << 16 < ONE:
                    width *= 2
                i += sign * width
        return known

# ---------------------------------------------------------------------------- laws of losses
# Masses of the losses i 2^-n, by i, and of infinity, in units of 1 / unit.
Law = namedtuple("Law", "n masses infinite")

def spread(cells, n, unit):
    """The law above: each cell's mass goes to its two ends, by lemma 1.
    With d = e^(l - m): a = (q e^l - p d) / (1 - d), b = (p - q e^l) / (1 - d). Both are rounded
    up, and neither is above p. Mass that is in no cell goes to infinity, by lemma 3.
    """
    atoms, inside = Counter(), 0
    for i, j, p, q in cells:
        l, width = i << BITS - n, (i - j) << BITS - n
        d, r = exp(Real(width, width)), q * exp(Real(l, l))
        for k, mass in ((i, (r - p * d).over(ALL - d)), (j, (p - r).over(ALL - d))):
            atoms[k] -= -min(max(mass.hi, 0), p.hi) * unit >> BITS
        inside += p.lo
    return Law(n, atoms, -(-max(0, ONE - inside) * unit >> BITS))

def merged(cells, n, unit):
    """The law below: each cell in one atom at log(p/q), by lemma 2.
    Loss and mass are rounded down (lemma 3), and what is in no cell is left out.
    """
    atoms = Counter()
    for _, _, p, q in cells:
        ratio = (p.lo << BITS) // max(q.hi, 1)
        if ratio >> 60:  # losses below -97 are left out
            atoms[log_end(ratio, DOWN) >> BITS - n] += p.lo * unit >> BITS
    return Law(n, atoms, 0)

def coarser(law):
    """The law above with steps twice as wide: lemma 1 for each atom between two that stay.
    a + b = m and a e^h + b e^-h = m, the ratios being relative: b = a e^h, a = m / (1 + e^h).
    """
    h = 1 << BITS - law.n
    share = [ALL.over(ALL + exp(Real(x, x))).hi for x in (h, -h)]
    masses = Counter()
    for i, m in law.masses.items():
        if i & 1:
            masses[i >> 1] -= -m * share[0] >> BITS
            masses[(i >> 1) + 1] -= -m * share[1] >> BITS
        else:
            masses[i >> 1] += m
    return Law(law.n - 1, masses, law.infinite)

EXACT = decimal.Context(  # it stops where a digit would be lost
    prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN,
    traps=[decimal.Inexact, decimal.Rounded, decimal.InvalidOperation, decimal.Overflow],
)

def convolved(a, b):
    """All sums of a_i b_(k-i), exactly, out of one product of two long decimal numbers.
    Each mass stands in a slot of so many digits that no sum overflows it: a sum is at most the
    greatest a times the sum of all b.
    """
    slot = len(str(max(a.values()) * sum(b.values())))
    starts, ends, numbers = [min(a), min(b)], [max(a), max(b)], []
    for law, start, end in zip((a, b)[: 1 if a is b else 2], starts, ends):
        places = [str(law.get(i, 0)).zfill(slot) for i in range(start, end + 1)]
        numbers.append(decimal.Decimal("".join(places)))
    digits = format(EXACT.multiply(numbers[0], numbers[-1]), "f")
    size = (sum(ends) - sum(starts) + 1) * slot
    if len(digits) > size:
        raise ArithmeticError("a product is longer than its slots")
    digits = digits.zfill(size)
    return sum(starts), [int(digits[k : k + slot]) for k in range(0, size, slot)]

def times(a, b, unit, cut, up):
    """The law of the sum of two losses, above or below, without ends of mass up to `cut`.
    Above: masses are rounded up, the lowest losses raised to the lowest that stays, the highest
    to infinity: 1 - (1 - x)(1 - y), which grows with x and y. Below: rounded down, ends left out.
    """
    if a.n < b.n:
        a, b = b, a
    while a.n > b.n:
        a = coarser(a)
    start, masses = convolved(a.masses, b.masses)
    masses = [-(-m // unit) for m in masses] if up else [m // unit for m in masses]
    first, end, below, beyond = 0, len(masses), 0, 0
    while end > 1 and beyond + masses[end - 1] <= cut:
        end -= 1
        beyond += masses[end]
    while first < end - 1 and below + masses[first] <= cut:
        below += masses[first]
        first += 1
    masses[first] += below if up else 0
    kept = dict(enumerate(masses[first:end], start + first))
    x, y = min(a.infinite, unit), min(b.infinite, unit)
    return Law(a.n, kept, x + y - x * y // unit + beyond if up else 0)

def power(law, k, unit, cut, spare, up):
    """The law of the sum of k losses, by squaring; mass and variance are spent on it.
    A law that enters the sum k times may spend one k-th. Steps twice as wide add h^2 to the
    variance for each odd atom, a half of h^2 for all: where that is little, they are taken.
    """
    found, levels = None, 2 * k.bit_length()
    while True:
        if k & 1:
            found = law if found is None else times(found, law, unit, cut // levels, up)
        k >>= 1
        if not k:
            return found
        law = times(law, law, unit, cut // (levels * k), up)
        while up and Fraction(k * levels, 2 << 2 * law.n) <= spare and law.n > 0:
            law = coarser(law)

class Curve:
    """Delta at every epsilon of a law above, or below: sums over its highest losses."""
    def __init__(self, law, unit, up):
        self.n, self.unit, self.up = law.n, unit, up
        self.top = max(law.masses) + 1
        self.masses, self.moments = [law.infinite], [0]
        for i in range(max(law.masses), 0, -1):
            m = law.masses.get(i, 0)
            self.masses.append(self.masses[-1] + m)
            self.moments.append(self.moments[-1] + m * exp_end(-i << BITS - law.n, not up))

    def delta(self, epsilon):
        """The sum of m (1 - e^epsilon e^-l) over losses l above epsilon.
        Above, both powers are rounded down, as epsilon is; below, up.
        """
        x = real(epsilon)
        count = self.top - 1 - (x.lo >> BITS - self.n)  # losses above epsilon rounded down
        count = min(max(0, count), len(self.masses) - 1)
        factor = exp_end(x.lo, DOWN) if self.up else exp_end(x.hi, UP)
        delta = (self.masses[count] << 2 * BITS) - self.moments[count] * factor
        return Fraction(delta, self.unit << 2 * BITS)

    def epsilon(self, delta):
        """The least multiple of 2^-24 that is proved at delta; None where there is none."""
        low, high = -1, (max(self.top, 1) << 24 >> self.n) + 1
        if self.delta(Fraction(high, 1 << 24)) > delta:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            proved = self.delta(Fraction(middle, 1 << 24)) <= delta
            low, high = (low, middle) if proved else (middle, high)
        return Fraction(high, 1 << 24)

# -------------------------------------------------------------------------- plans and reports

def number(table, key, default=None, least=None, kind=Fraction):
    """A number taken out of a table: above 0, or from `least` on; a whole one where kind is int."""
    value = table.pop(key, default)
    if isinstance(value, str) and re.fullmatch(r"[\d.]+(/[\d.]+|%)", value):
        above, _, below = value.rstrip("%").partition("/")
        value = Fraction(Fraction(above), Fraction(below or 100))
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)) or kind(value) != value:
        raise Stop(4, f"{key} is {value!r}, and has to be a number")
    if value <= 0 if least is None else value < least:
        raise Stop(4, f"{key} = {value} is out of range")
    return kind(value)

def whole(table, key, default=None):
    return number(table, key, default, kind=int)

ON_SUM = {  # noise on a sum, by its keys and the distance d that a record moves it by
    "gaussian": lambda t, d: gaussian(Fraction(d, number(t, "noise_multiplier"))),
    "laplace": lambda t, d: laplace(Fraction(d, number(t, "scale"))),
    "discrete-gaussian": lambda t, d: (lambda move: discrete_gaussian(
        number(t, "noise_multiplier") * move, move * d))(whole(t, "sensitivity", 1)),
    "discrete-laplace": lambda t, d: discrete_laplace(
        number(t, "scale"), whole(t, "sensitivity", 1) * d),
}
ONE_WAY = {  # laws with a record and without it, which say nothing of a replaced one
    "pmf": lambda t: listed(*([number({"": x}, "", least=0) for x in t.pop(k)] for k in "pq")),
    "binomial": lambda t: binomial(whole(t, "trials"), number(t, "probability", Fraction(1, 2)),
                                   whole(t, "sensitivity", 1)),
}
GIVEN = {  # guarantees, which are under the plan's own adjacency
    "randomized-response": lambda t: response(number(t, "epsilon"), whole(t, "categories", 2)),
    "approximate-dp": lambda t: response(
        number(t, "epsilon", least=0), delta=number(t, "delta", least=0)),
    "gdp": lambda t: gaussian(number(t, "mu")),
    "staircase": lambda t: t.pop("sensitivity", None) and None or staircase(number(t, "epsilon")),
}
DIRECTIONS = {  # which of them add a record; a pair of a replaced one is its own mirror image
    "add-or-remove": (False, True), "remove": (False,), "add": (True,), "replace-one": (False,)}

def round_of(table, replaced):
    """A round of a plan; every key has to be understood."""
    table = {key: x for key, x in table.items() if key not in ("name", "note", "date")}
    name, sampling = table.pop("mechanism", None), table.pop("sampling", "none")
    rate, steps, distance = Fraction(1), None, 1
    if sampling != "none" and "batch_size" in table:
        batch, records = whole(table, "batch_size"), whole(table, "dataset_size")
        rate, steps = Fraction(batch, records), -(-records // batch)
        table.pop("sample_rate", None)
    elif sampling == "poisson":
        rate = number(table, "sample_rate")
        table.pop("dataset_size", None)
    if replaced and name in ON_SUM:  # from one end of its range to the other
        distance = whole(table, "replace_one_distance", 2)
    if sampling == "without-replacement" and name in ("gaussian", "laplace") and rate < 1:
        # In a batch of fixed size a record has another one's place: the sum moves by 2. Given the
        # rest of the batch and that other record, y, the laws with and without the record x are
        # (1 - r) M(y) + r M(x) and M(y), which is Poisson sampling.
        distance = 2
    elif sampling not in ("none", "poisson") or rate > 1:
        raise Stop(4, f"mechanism {name!r} with sampling {sampling!r}")
    if replaced and (rate < 1 or name in ONE_WAY):
        raise Stop(4, f"mechanism {name!r} with sampling {sampling!r} of a replaced record")
    if "epochs" in table and steps:
        table["count"] = steps * number(table, "epochs", least=0)
    count = number(table, "count", 1, least=0, kind=int)
    if name not in {**ON_SUM, **ONE_WAY, **GIVEN}:
        raise Stop(4, f"mechanism {name!r}")
    pair = ON_SUM[name](table, distance) if name in ON_SUM else {**ONE_WAY, **GIVEN}[name](table)
    if table:
        raise Stop(4, f"key {min(table)!r} of mechanism {name!r}")
    return Round(f"{name}, sampling {sampling}, rate {rate}", pair, rate, count)

def rounds_of(plan):
    """The rounds of a plan, and the directions of its adjacency."""
    for key, value in plan.items():
        if key not in ("adjacency", "delta", "published", "round") and (key, value) not in (
                ("format", 1), ("unit", "record")):
            raise Stop(4, f"key {key!r} of the plan")
    adjacency = plan.get("adjacency", "add-or-remove")
    if adjacency not in DIRECTIONS:
        raise Stop(4, f"adjacency {adjacency!r}")
    rounds = [round_of(table, adjacency == "replace-one") for table in plan["round"]]
    return [one for one in rounds if one.count], DIRECTIONS[adjacency]

def shown(x, digits=5, rounding=decimal.ROUND_CEILING):
    """A fraction as a decimal, rounded up."""
    context = decimal.Context(prec=digits, rounding=rounding, Emin=decimal.MIN_EMIN)
    return context.divide(decimal.Decimal(x.numerator), decimal.Decimal(x.denominator))

NUMBER = r"\s*([0-9][0-9.e+-]*)\s*"
FORMS = {  # what stands around the record, the headline, a row of the first table, and the plan
    "HTML": ('\n<script type="application/json" id="hockeystick-record">\n(.*?)\n</script>',
             f"<strong>ε ≤{NUMBER}at δ ={NUMBER}</strong>",
             f'<tr><th scope="row" class="number">{NUMBER}</th><td class="number">{NUMBER}</td>',
             "<h2>The plan</h2>\n<pre><code>(.*?)</code></pre>"),
    "Markdown": ("\n```json hockeystick-record\n(.*?)\n```",
                 rf"\n\*\*ε ≤{NUMBER}at δ ={NUMBER}\*\*", rf"\n\|{NUMBER}\|{NUMBER}\|",
                 "\n## The plan\n\n```toml\n(.*?)\n```"),
}

def found(text, pattern, what):
    """What stands in the one place where a pattern occurs."""
    places = re.findall(pattern, text, re.DOTALL)
    if len(places) != 1:
        raise Stop(2, f"{what} stands in {len(places)} places of the file")
    return places[0]

def read(text):
    """The plan in a file, its claims (epsilon, delta), and where text and record disagree."""
    if not text.lstrip().startswith("{") and "hockeystick-record" not in text:
        if tomllib is None:
            raise Stop(2, "TOML is read from Python 3.11 on: write the plan as JSON")
        return tomllib.loads(text, parse_float=Fraction), [], []
    form = FORMS.get("HTML" if "</html>" in text else "Markdown" if text[:1] == "#" else "JSON")
    body = found(text, form[0], "the record") if form else text
    floats, record = json.loads(body), json.loads(body, parse_float=Fraction)
    if "round" in record:
        return record, [], []
    if record.get("answer") not in ("report", "epsilon"):
        raise Stop(4, f"an answer of {record.get('answer')!r}: ask about its plan")
    wrong, sum_ = [], floats.pop("checksum", None)
    sealed = json.dumps(floats, sort_keys=True, separators=(",", ":"))
    if hashlib.sha256(sealed.encode("ascii")).hexdigest() != sum_:
        wrong.append("the checksum is not that of the numbers in the file")
    lines = floats["epsilon"] if record["answer"] == "report" else [
        {**floats["epsilon"], "delta": floats["delta"]}]
    # As a reader is shown them: three digits, rounded up from the number that a double is.
    claims = [tuple(Fraction(x) for x in (shown(Fraction(line["upper"]), 3), repr(line["delta"])))
              for line in lines]
    if form:
        rows = [found(text, form[1], "the headline")]
        rows += [(e, d) for d, e in re.findall(form[2], text)]
        seen = [(Fraction(e), Fraction(d)) for e, d in rows]
        if seen != [claims[0], *claims]:
            wrong.append("the numbers in the text are not those of the record")
        plan, claims = html.unescape(found(text, form[3], "the plan")), seen
        if tomllib and {"format": 1, **record["plan"]} != tomllib.loads(plan, parse_float=Fraction):
            wrong.append("the plan in the text is not that of the record")
    return record["plan"], list(dict.fromkeys(claims)), wrong

# ----------------------------------------------------------------------------------- proving

def variance_of(one, added):
    """About the variance of one round's loss, from steps that are not wider than it; no bound."""
    for n in range(40):
        middles = [(i + j, p.hi) for i, j, p, _ in one.cells(n, added, ONE >> 24)]
        total = sum(p for _, p in middles)
        mean = Fraction(sum(i * p for i, p in middles), total)
        found = Fraction(sum(i * i * p for i, p in middles), total) - mean * mean
        if found >= 4:
            break
    return found * Fraction(1, 4 << 2 * n)

def composed(rounds, added, steps, least, spare, up):
    """The curve of a plan in steps of 2^-n. What is cut and rounded costs far less than `least`."""
    size = sum(one.count for one in rounds) * least.denominator // least.numerator
    unit, law = 10 ** (len(str(size)) + 12), None
    cut = int(least * unit) // (len(rounds) << 13)
    for one, n in zip(rounds, steps):
        left = max(int(least * ONE) // (one.count * len(rounds) << 13), ONE >> 185)
        first = (spread if up else merged)(one.cells(n, added, left), n, unit)
        block = power(first, one.count, unit, cut, spare, up)
        law = block if law is None else times(law, block, unit, cut, up)
    return Curve(law, unit, up)

def prove(rounds, added, claims, step, tell):
    """The curve above, in finer and finer steps until all claims are proved, or none can be.
    Cells of width h add about h^2/4 to the variance. A share of the whole variance is spent on
    that: first all of it, then a quarter each time, by which the error of epsilon falls, too.
    """
    least, before = min(delta for _, delta in claims), {}
    if least < Fraction(1, 10**40):
        raise Stop(4, f"delta = {shown(least)}: the precision is enough for 1e-40")
    whole = sum(variance_of(one, added) * one.count for one in rounds)
    for attempt in range(13):
        spare = Fraction(whole, len(rounds) << 2 * attempt)
        steps = [step] * len(rounds) if step is not None else [
            int(Fraction(one.count, 4 * spare)).bit_length() + 1 >> 1 for one in rounds]
        tell(f"{'add' if added else 'remove'}: steps of 2^-{max(steps)}")
        curve = composed(rounds, added, steps, least, spare if step is None else 0, UP)
        open_ = [claim for claim in claims if curve.delta(claim[0]) > claim[1]]
        now = {claim: curve.epsilon(claim[1]) for claim in open_}
        if not open_ or step is not None or attempt > 4 and all(  # four such gains are too little
                now[c] and 0 <= 4 * (before[c] - now[c]) < now[c] - c[0] for c in open_):
            break
        before = now
    return curve, max(steps)

def judged(rounds, directions, claims, status, asked, tell):
    """Say what is proved of each claim, and the status."""
    names = {False: "remove", True: "add"}
    curves = {}
    for epsilon, delta in claims:
        values, best = {}, [Fraction(0)]
        for added in directions:
            most = [one.most(added) for one in rounds]
            values[added] = Fraction(0)  # where no loss is above epsilon
            if None in most or sum(a * one.count for a, one in zip(most, rounds)) > epsilon:
                positive = [claim for claim in claims if claim[1] > 0]
                if added not in curves and positive:
                    curves[added] = prove(rounds, added, positive, asked.step, tell)
                values[added] = curves[added][0].delta(epsilon) if added in curves else Fraction(1)
                best.append(curves[added][0].epsilon(delta) if added in curves else None)
        good = max(values.values()) <= delta
        status = status if good else 3
        proved = "" if good else "; proved is epsilon <= " + (
            "nothing" if None in best else str(shown(max(best), 7)))
        bounds = "".join(f"; {names[a]}: delta <= {shown(x)}" for a, x in values.items())
        print(f"{'proved' if good else 'NOT proved'}: epsilon <= {shown(epsilon)}"
              f" at delta = {shown(delta)}{bounds}{proved}")
        for added in curves if asked.both else ():
            steps = [min(curves[added][1], 12)] * len(rounds)
            low = composed(rounds, added, steps, delta, 0, DOWN).delta(epsilon)
            print(f"  {names[added]}: delta >= {shown(low, 5, decimal.ROUND_FLOOR)}")
    return status

def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("file", help="a report, or a plan; - is standard input")
    parser.add_argument("--epsilon", type=Fraction, help="the claim about a plan")
    parser.add_argument("--delta", type=Fraction, help="the claim's delta; by default the plan's")
    parser.add_argument("--step", type=int, help="losses in steps of 2^-STEP")
    parser.add_argument("--both", action="store_true", help="bound delta from below too")
    parser.add_argument("--covered", action="store_true", help="only say what is covered")
    asked = parser.parse_args(arguments)
    tell = print if sys.stderr.isatty() else lambda line: None
    try:
        with open(0 if asked.file == "-" else asked.file, encoding="utf-8") as file:
            plan, claims, wrong = read(file.read())
        if asked.epsilon is not None:
            delta = plan.get("delta", 0) if asked.delta is None else asked.delta
            claims = [(asked.epsilon, number({"delta": delta}, "delta", least=0))]
        rounds, directions = rounds_of(plan)
        for line in [f"{one.count} x {one.name}" for one in rounds] + wrong:
            print(line)
        if asked.covered:
            return 0
        if not claims:
            raise Stop(2, "a plan has no claim: give --epsilon and --delta")
        return judged(rounds, directions, claims, 3 if wrong else 0, asked, tell)
    except Stop as stop:
        print({2: "not readable: ", 4: "not covered: "}[stop.args[0]] + stop.args[1])
        return stop.args[0]
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"not readable: {error!r}")
        return 2

if __name__ == "__main__":
    sys.exit(main())
