"""Conversion of rows of (user, noise, rate, steps), in any order and in pieces, to one history for each user.

The rows are entries of a sparse matrix with a row for each user and a column for each kind of step. Whenever as many
new rows have arrived as there are entries, SciPy adds up the entries of the same user and kind. So the memory holds the
entries of all users, and about as many new rows. Steps are added as doubles. Sums of whole numbers below 2^53 are
exact; an inexact sum is at least 2^53, far more than the 10^12 steps that a round may have, and so its history is
refused.

A user with an invalid row gets no answer, even if the other rows are valid: a history without the invalid row would be
too short, and its epsilon too small.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hockeystick.questions.histories.answers import History
from hockeystick.values import domains
from hockeystick.values.errors import InvalidInputError

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NOISE = domains.NOISE.of("standard deviation of the noise / norm bound of one user")
"""Domain of a noise multiplier: after a step without noise no epsilon is finite."""

RATE = domains.RATE.of("probability that a batch contains the user")

STEPS = domains.whole_numbers().of("number of steps")

DOMAINS = {"noise_multiplier": NOISE, "sample_rate": RATE, "steps": STEPS}
"""Domain of each number of a row."""

MANY = 1 << 24
"""Number of new rows, some 350 MB, up to which they always wait before they are added up."""

NO_KIND = (0.0, 0.0)
"""Noise and rate of column 0, for rows of 0 steps, which introduce their user. No valid row has them."""


def refusal(noise: object, rate: object, steps: object) -> str | None:
    """Return one line that says which number of a row is invalid; ``None`` if all are valid.

    >>> print(refusal(1.0, 0.01, 100), refusal(1.0, 1.5, 100), sep=chr(10))
    None
    sample_rate must be 1 or a number from 1e-10 to 1 - 1e-6 (probability that a batch contains the user); received 1.5
    """
    for (key, domain), value in zip(DOMAINS.items(), (noise, rate, steps), strict=True):
        try:
            domain.check(value, key)
        except InvalidInputError as error:
            return str(error)
    return None


def sound(noise: Array, rate: Array, steps: Array) -> Mask:
    """Return a mask of the rows whose numbers are all in their domains; :func:`refusal` tests one row."""
    low, high = NOISE.keywords["minimum"], NOISE.keywords["maximum"]
    within: Mask = (noise >= low) & (noise <= high)
    within &= ((rate >= RATE.keywords["minimum"]) & (rate <= RATE.keywords["maximum"])) | (rate == RATE.also)
    within &= (steps >= STEPS.keywords["minimum"]) & (steps <= STEPS.keywords["maximum"])
    within &= steps == np.floor(steps)
    return within


@dataclass(frozen=True, slots=True)
class Grouped:
    """Users of all rows, each with its history.

    Attributes:
        users: numbers of the users, shape (users,), in order of first appearance.
        history: index of each user's history, shape (users,).
        histories: distinct histories.
    """

    users: Numbers
    history: Numbers
    histories: list[History]


class Entries:
    """Rows that arrive in pieces, added up by user and by kind of step.

    >>> entries = Entries()
    >>> ones = np.ones(4)
    >>> entries.add(np.array([7, 3, 7, 3]), 2 * ones, 0.01 * ones, np.array([10.0, 5.0, 20.0, 25.0]))
    >>> found = entries.grouped()
    >>> found.users.tolist(), found.history.tolist(), found.histories
    ([7, 3], [0, 0], [((2.0, 0.01, 30),)])
    """

    def __init__(self) -> None:
        self._kinds = {NO_KIND: 0}
        self._parts: list[tuple[Numbers, Any, Any]] = []  # users, kinds, steps
        self._joined, self._waiting = 0, 0  # entries of the first part, rows of the others

    def add(self, users: Numbers, noise: Array, rate: Array, steps: Array) -> None:
        """Add a piece of the rows; the arrays have shape (rows,).

        Args:
            users: number of each row's user.
            noise, rate, steps: noise multiplier, sample rate, number of steps. A row of 0 steps only introduces its
                user; its noise and rate are ignored.
        """
        busy = steps != 0
        kind = np.zeros(len(users), dtype=np.int32)
        kind[busy] = self._kinds_of(noise[busy], rate[busy])
        self._parts.append((users.copy(), kind, steps.copy()))  # the caller may reuse its arrays
        self._waiting += len(users)
        if self._waiting > max(self._joined, MANY):
            known, matrix = self._matrix()
            self._parts = [(np.repeat(known, np.diff(matrix.indptr)), matrix.indices, matrix.data)]
            self._joined, self._waiting = matrix.nnz, 0

    def _kinds_of(self, noise: Array, rate: Array) -> npt.NDArray[np.int32]:
        """Return the column of each row's kind, its pair of noise and rate."""
        pairs, place = np.unique(noise + 1j * rate, return_inverse=True)  # complex numbers are pairs of doubles
        known = self._kinds
        columns = [known.setdefault((pair.real, pair.imag), len(known)) for pair in pairs.tolist()]
        return np.array(columns, dtype=np.int32)[place]

    def _matrix(self) -> tuple[Numbers, Any]:
        """Return the users in order of first appearance, and a matrix of their steps: user by kind of step."""
        users, kinds, steps = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        self._parts = []
        known, first, place = np.unique(users, return_index=True, return_inverse=True)
        order = np.argsort(first)
        row = np.empty(len(known), dtype=np.int32)
        row[order] = np.arange(len(known), dtype=np.int32)
        shape = len(known), len(self._kinds)
        # entries at one place of the matrix are added up, and entries of 0 steps stay
        return known[order], sparse.coo_array((steps, (row[place], kinds)), shape=shape).tocsr()

    def grouped(self) -> Grouped:
        """Return all users of the rows, each with its history, and discard the rows."""
        if not self._parts:
            empty = np.empty(0, dtype=np.int64)
            return Grouped(empty, empty, [])
        users, matrix = self._matrix()
        matrix.eliminate_zeros()
        entries = np.empty(matrix.nnz, dtype=[("kind", np.int32), ("steps", np.float64)])
        entries["kind"], entries["steps"] = matrix.indices, matrix.data
        said, size = entries.tobytes(), entries.itemsize
        known: dict[bytes, int] = {}  # index of each history, by its bytes: unequal ones never share an index
        ends = size * matrix.indptr.astype(np.int64)
        found = (known.setdefault(said[first:end], len(known)) for first, end in itertools.pairwise(ends))
        history = np.fromiter(found, dtype=np.int64, count=len(users))
        kinds = list(self._kinds)
        read = (np.frombuffer(each, entries.dtype).tolist() for each in known)
        histories = [tuple(sorted((*kinds[kind], int(steps)) for kind, steps in each)) for each in read]
        return Grouped(users, history, histories)
