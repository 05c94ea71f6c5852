"""Domains of parameters.

The check of a domain returns the value in the type of the domain, or raises an error with a one-line message for users.

The annotation of a parameter of a mechanism or sampling scheme contains its :class:`Domain`, or for a list the
:class:`ListDomain`. The check in ``__post_init__``, the reader of plan files and the JSON Schema all use that object.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, get_type_hints

import numpy as np
import numpy.typing as npt

from hockeystick.values.errors import InvalidInputError

# names for messages about refused values, exported with the domains
from hockeystick.values.words import SHOWN_LENGTH as SHOWN_LENGTH
from hockeystick.values.words import choice as choice
from hockeystick.values.words import cut as cut
from hockeystick.values.words import listed as listed
from hockeystick.values.words import nearest as nearest
from hockeystick.values.words import one_line as one_line
from hockeystick.values.words import place as place
from hockeystick.values.words import shown as shown

if TYPE_CHECKING:
    from fractions import Fraction

MAX_COUNT = 10**12
"""Largest accepted count of rounds, records or steps."""

MAX_ITEMS = 20_000
"""Largest number of elements of a list parameter. Curves, laws and matrices in real use are far shorter, and a plan
file of twenty rounds with lists of this length can still be read."""

_COMPARISONS: Mapping[str, Callable[[float, Any], bool]] = {
    "minimum": operator.ge,
    "exclusiveMinimum": operator.gt,
    "maximum": operator.le,
    "exclusiveMaximum": operator.lt,
    "enum": lambda number, allowed: number in allowed,
}
"""Comparison of a number with a bound, by keyword of JSON Schema."""


def unmet(key: str, rule: str, value: object, remedy: str = "") -> InvalidInputError:
    """Return the error for a value of a key that breaks a rule.

    >>> unmet("item", "must be a Round", 3, "make one with Round(...)")
    InvalidInputError('item must be a Round; received 3; make one with Round(...)')
    """
    return InvalidInputError(f"{key} {rule}; received {shown(value)}{'; ' if remedy else ''}{remedy}", key)


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """A set of finite numbers, described in words and as JSON Schema.

    Attributes:
        accepted: description of the set, for messages; it follows "must be".
        keywords: JSON Schema keywords; :meth:`check` applies only the keywords that are comparisons.
        meaning: meaning of the number, for messages and for the schema; empty if ``accepted`` suffices.
        whole: True if the numbers are integers; the float 1e4 counts as an integer.
        also: an additional number that is accepted although it fails the comparisons.
    """

    accepted: str
    keywords: Mapping[str, Any]
    meaning: str = ""
    whole: bool = False
    also: float | None = None

    def of(self, meaning: str) -> Domain:
        """Return a copy of the domain whose numbers have the given meaning."""
        return replace(self, meaning=meaning)

    def check(self, value: object, key: str) -> float:
        """Return ``value`` as a float (an int if ``whole``) if it is in the domain. A bool is not a number.

        An array or a tensor with one element counts as that number.

        Raises:
            InvalidInputError: the value is not in the domain; the message names key, value and accepted values.
        """
        value = _alone(value)
        number = _finite(value)
        if number is None or not (number == self.also or self._holds(number)):
            raise _refusal(self, value, key)
        if not self.whole:
            return number
        return int(value)  # type: ignore[call-overload, no-any-return]  # from the value itself: exact beyond 2^53

    def _holds(self, number: float) -> bool:
        bounds = ((_COMPARISONS[word], bound) for word, bound in self.keywords.items() if word in _COMPARISONS)
        return all(holds(number, bound) for holds, bound in bounds) and (number.is_integer() or not self.whole)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the domain."""
        numbers = self.keywords if self.also is None else {"anyOf": [{"const": self.also}, self.keywords]}
        return {"type": "integer" if self.whole else "number", **numbers, **_described(self)}


@dataclass(frozen=True, slots=True, eq=False)
class ExactDomain:
    """An interval of numbers that are kept as fractions.

    A value is given as a number, which stands for the decimal that it prints as, or as text such as ``"1/3"`` or
    ``"0.25"``.

    Attributes:
        least: smallest number.
        most: largest number.
        meaning: meaning of the number, for messages and for the schema; empty if ``accepted`` suffices.
    """

    least: Fraction | int
    most: Fraction | int
    meaning: str = ""

    @property
    def accepted(self) -> str:
        """Return the description of the domain for messages, which follows "must be"."""
        return f'a number from {self.least} to {self.most}, or one in quotation marks such as "1/3" or "0.25"'

    def of(self, meaning: str) -> ExactDomain:
        """Return a copy of the domain whose numbers have the given meaning."""
        return replace(self, meaning=meaning)

    def check(self, value: object, key: str) -> Fraction:
        """Return ``value`` as a fraction if it is in the domain. A bool is not a number.

        Raises:
            InvalidInputError: the value is not in the domain; the message names key, value and accepted values.
        """
        from hockeystick.values.exact import fraction  # a late import, as below, since few parameters are exact

        found = fraction(_alone(value))
        if found is None or not self.least <= found <= self.most:
            raise _refusal(self, value, key)
        return found

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the domain."""
        from hockeystick.values.exact import MAX_DIGITS, TEXT

        number = {"type": "number", "minimum": float(self.least), "maximum": float(self.most)}
        text = {"type": "string", "pattern": TEXT.pattern, "maxLength": MAX_DIGITS}
        return {"anyOf": [number, text], **_described(self)}


@dataclass(frozen=True, slots=True, eq=False)
class ListDomain:
    """Lists whose elements all lie in one domain, described in words and as JSON Schema.

    A matrix is a list of lists.

    Attributes:
        item: the domain of each element.
        least: smallest number of elements.
        most: largest number of elements.
        meaning: meaning of the list, for messages and for the schema; empty if the description of an element suffices.
    """

    item: Domain | ExactDomain | ListDomain
    least: int
    most: int
    meaning: str = ""

    @property
    def accepted(self) -> str:
        """Return the description of the domain for messages, which follows "must be"."""
        many = str(self.least) if self.least == self.most else f"{self.least} to {self.most}"
        return f"a list of {many} elements, each {self.item.accepted}"

    def of(self, meaning: str) -> ListDomain:
        """Return a copy of the domain whose lists have the given meaning."""
        return replace(self, meaning=meaning)

    def check(self, value: object, key: str) -> tuple[Any, ...]:
        """Return ``value``, a list, tuple or array, as a tuple; each element has the type of its domain.

        Raises:
            InvalidInputError: the value is no list, is too short or too long, or has an element outside the domain of
                elements; the message names such an element by its place, counted from 1.
        """
        if not isinstance(value, list | tuple | np.ndarray) or (isinstance(value, np.ndarray) and not value.ndim):
            raise _refusal(self, value, key)
        if not self.least <= len(value) <= self.most:
            raise _refusal(self, value, key, f"{len(value)} elements")
        found = []
        for number, element in enumerate(value, start=1):
            try:
                found.append(self.item.check(element, f"element {number} of {key}"))
            except InvalidInputError as error:
                raise InvalidInputError(str(error), key) from None
        return tuple(found)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the domain."""
        size = {"minItems": self.least, "maxItems": self.most}
        return {"type": "array", "items": self.item.schema(), **size, **_described(self)}


@dataclass(frozen=True, slots=True, eq=False)
class Switch:
    """The domain of a bool, described in words and as JSON Schema.

    Attributes:
        meaning: meaning of true, for messages and for the schema.
    """

    meaning: str
    accepted: ClassVar[str] = "true or false"

    def check(self, value: object, key: str) -> bool:
        """Return ``value`` as a bool; numbers are not accepted.

        Raises:
            InvalidInputError: the value is not a bool.
        """
        if isinstance(value, bool | np.bool_):
            return bool(value)
        raise _refusal(self, value, key)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the domain."""
        return {"type": "boolean", **_described(self)}


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """The domain of a parameter that is one of a few names, described in words and as JSON Schema.

    Attributes:
        names: the accepted names.
        meaning: what the names stand for, for messages and for the schema.
    """

    names: tuple[str, ...]
    meaning: str

    @property
    def accepted(self) -> str:
        """Return the description of the domain for messages, which follows "must be"."""
        return f"one of {listed(self.names)}"

    def check(self, value: object, key: str) -> str:
        """Return ``value`` as a plain string if it is one of the names.

        Raises:
            InvalidInputError: the value is none of the names; the message suggests a name that is spelt alike.
        """
        if not isinstance(value, str) or value not in self.names:
            raise InvalidInputError(choice(key, value, self.names), key)
        return str(value)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the names."""
        return {"type": "string", "enum": list(self.names), **_described(self)}


AnyDomain: TypeAlias = Domain | ExactDomain | ListDomain | Switch | Names
"""The domain of a parameter."""


def _refusal(domain: AnyDomain, value: object, key: str, received: str | None = None) -> InvalidInputError:
    meaning = f" ({domain.meaning})" if domain.meaning else ""
    said = shown(value) if received is None else received
    return InvalidInputError(f"{key} must be {domain.accepted}{meaning}; received {said}", key)


def _described(domain: AnyDomain) -> dict[str, str]:
    return {"description": domain.meaning} if domain.meaning else {}


def check_at_most(key: str, value: float | None, other: str, most: float) -> None:
    """Check that a value is at most ``most``; ``None`` is accepted.

    Args:
        key: key of the value.
        value: value to check.
        other: key whose value is ``most``; the message names it.
        most: largest accepted value.

    Raises:
        InvalidInputError: the value is larger.
    """
    if value is not None and value > most:
        raise InvalidInputError(f"{key} must be at most {other}; received {value} and {most}", key)


def list_of(item: Domain | ExactDomain | ListDomain, least: int = 1, most: int = MAX_ITEMS) -> ListDomain:
    """Return the domain of lists of ``least`` to ``most`` elements of one domain.

    >>> list_of(RATE, most=3).check([0.5, 1], "rates")
    (0.5, 1.0)
    """
    return ListDomain(item, least, most)


def whole_numbers(least: int = 0, most: int = MAX_COUNT) -> Domain:
    """Return the domain of integers from ``least`` to ``most``."""
    end = str(most) if most % 10**6 else f"{most:.0e}".replace("e+0", "e").replace("e+", "e")
    words = f"a whole number from {least} to {end}"
    return Domain(words, {"minimum": least, "maximum": most}, whole=True)


# The declared domain restricts inputs, never answers. It extends a hundred times beyond the range of published values.

NOISE = Domain("a number from 0.01 to 1e6", {"minimum": 0.01, "maximum": 1e6})
"""Noise multipliers and scales."""

NOISE_OR_NONE = Domain("0 or a number from 0.01 to 1e6", NOISE.keywords, also=0.0)
"""Noise multiplier of a step already taken, which may be 0."""

RATE = Domain("1 or a number from 1e-10 to 1 - 1e-6", {"minimum": 1e-10, "maximum": 1 - 1e-6}, also=1.0)
"""The probability that a record enters a batch."""

ROUND_EPSILON = Domain("0 or a number from 1e-6 to 100", {"minimum": 1e-6, "maximum": 100}, also=0.0)
"""Epsilon of one round: of randomised response, or of a guarantee."""

ROUND_DELTA = Domain(
    "0 or a number, at least 1e-100 and less than 1", {"minimum": 1e-100, "exclusiveMaximum": 1}, also=0.0
)
"""Delta of one round's guarantee."""

MOST_SENSITIVITY = 2**20  # largest sensitivity, in units or in counts
SENSITIVITY = Domain("a number from 1e-6 to 2^20", {"minimum": 1e-6, "maximum": MOST_SENSITIVITY})
"""Largest change that one record makes to a number, or to a vector in a norm."""

MU = Domain("a number from 1e-6 to 100", {"minimum": 1e-6, "maximum": 100})
"""The mu of a round, the reciprocal of a noise multiplier."""

RHO = Domain("a number from 1e-13 to 1e4", {"minimum": 1e-13, "maximum": 1e4})
"""The rho of a round, half the square of a mu."""

LENGTH = Domain("a number from 1e-6 to 1e9", {"minimum": 1e-6, "maximum": 1e9})
"""Largest magnitude of bounded noise."""

MOST_EPSILON = 1e4
"""Largest epsilon of a query."""

EPSILON = Domain("a number from 0 to 1e4", {"minimum": 0, "maximum": MOST_EPSILON})
"""Epsilon at which delta is queried, or a target epsilon."""

LEAST_DELTA, OTHER_LEAST_DELTA = 1e-300, 1e-100
"""Least delta above 0 in a query: for the default accountant, and for all others."""

TARGET_DELTA = Domain(
    "a number, at least 1e-300 and less than 1", {"minimum": LEAST_DELTA, "exclusiveMaximum": 1}, "the target delta"
)
"""Delta of a query that does not accept 0."""

DELTA = Domain("0 or a number, at least 1e-300 and less than 1", TARGET_DELTA.keywords, "the target delta", also=0.0)
"""Delta of a query, where 0 means pure privacy."""

OTHER_MAX_COUNT = 10**9
"""Largest number of rounds accepted by accountants other than the default one."""

EXACT_PROBABILITY = ExactDomain(0, 1)
"""Probabilities that are kept as fractions."""

SHARE = Domain("a number greater than 0 and at most 1", {"exclusiveMinimum": 0, "maximum": 1})
"""Relative widths and tolerances, as fractions of 1."""

POSITIVE = Domain("a finite number greater than 0", {"exclusiveMinimum": 0})
"""Budgets and widths for which 0 would be meaningless."""

AT_LEAST_ZERO = Domain("a finite number, 0 or greater", {"minimum": 0})
"""Numbers that a source claims for a plan."""

COUNT = whole_numbers().of("number of rounds")
"""Number of times that a round is run."""

RECORDS = whole_numbers(least=1).of("number of records")
"""Number of records in a batch or a dataset."""

NUMBERS = whole_numbers(least=1).of("number of released numbers to which one record contributes")
"""Number of released numbers to which one record contributes."""

EPOCH = whole_numbers(least=1, most=10**10).of("number of steps in an epoch")
"""Number of steps in an epoch; each record enters one of them, so the rate is the reciprocal of this number."""


def epsilon(value: float, key: str, hint: str) -> float:
    """Return ``value`` as a float if it lies in [0, 1e4].

    Raises:
        InvalidInputError: the value is outside this interval.
    """
    return EPSILON.of(hint).check(value, key)


def quotient(batch: int, records: int) -> float:
    """Return the sampling rate of a batch of ``batch`` out of ``records`` records.

    Raises:
        InvalidInputError: the rate is outside its domain.
    """
    return RATE.of(f"the sample rate of {batch} of {records} records").check(
        batch / records, "batch_size / dataset_size"
    )


def share(value: float, key: str, hint: str) -> float:
    """Return ``value`` as a float if it lies in (0, 1].

    Raises:
        InvalidInputError: the value is outside this interval.
    """
    return SHARE.of(hint).check(value, key)


def delta(value: float, key: str = "delta", hint: str = "the target delta") -> float:
    """Return ``value`` as a float if it is 0 (pure differential privacy) or lies in [1e-300, 1).

    Raises:
        InvalidInputError: the value is neither.
    """
    return DELTA.of(hint).check(value, key)


def whole(value: float, key: str, hint: str, least: int = 0, most: int = MAX_COUNT) -> int:
    """Return ``value`` as an int if it is a whole number from ``least`` to ``most``, such as 3 or 1e4.

    Raises:
        InvalidInputError: the value is not such a number.
    """
    return int(whole_numbers(least, most).of(hint).check(value, key))


@cache
def domains_of(kind: type) -> Mapping[str, AnyDomain]:
    """Return the domain of each field of a dataclass, in the order of its fields."""
    hints = get_type_hints(kind, include_extras=True)
    found: dict[str, AnyDomain] = {}
    for item in fields(kind):
        extras = getattr(hints[item.name], "__metadata__", ())
        found.update((item.name, extra) for extra in extras if isinstance(extra, AnyDomain))
    return found


@cache
def _optional(kind: type) -> frozenset[str]:
    """Return the names of the fields of a dataclass whose default is ``None``."""
    return frozenset(item.name for item in fields(kind) if item.default is None)


def check_fields(instance: object) -> None:
    """Check the fields of a frozen dataclass, and store each value in the type of its domain.

    ``None`` is accepted where it is the default.

    Raises:
        InvalidInputError: a value is outside its domain.
    """
    kind: Any = type(instance)
    optional = _optional(kind)
    for key, domain in domains_of(kind).items():
        value = getattr(instance, key)
        if value is not None or key not in optional:
            object.__setattr__(instance, key, domain.check(value, key))


def array(value: object, key: str) -> npt.NDArray[np.float64]:
    """Return a number, a list of numbers or an array of any shape as an array of floats.

    Raises:
        InvalidInputError: an element is no number, or is beyond the range of a double.
    """
    try:
        found = np.asarray(value)
        if found.dtype.kind in "biufO":  # not text, although NumPy would convert digits in a text
            return found.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        pass
    raise unmet(key, "must be a number or an array of numbers", value)


def _alone(value: object) -> object:
    """Return the only element of an array or a tensor with one element; return any other value unchanged."""
    item = None if isinstance(value, numbers.Real) else getattr(value, "item", None)
    try:
        return item() if callable(item) else value
    except (TypeError, ValueError, RuntimeError):  # from NumPy and PyTorch, if there are several elements
        return value


def _finite(value: object) -> float | None:
    if type(value) is float:
        return value if math.isfinite(value) else None
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
