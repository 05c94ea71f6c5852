"""A read-only dictionary, for attributes of immutable objects."""

from __future__ import annotations

from typing import Any, NoReturn


class FrozenDict(dict[str, Any]):
    """A dictionary that refuses changes. It compares equal to a plain one, and is pickled and copied like one.

    >>> frozen = FrozenDict({"source": "a page"})
    >>> frozen == {"source": "a page"}
    True
    >>> frozen["source"] = "another"
    Traceback (most recent call last):
        ...
    TypeError: this dictionary belongs to an immutable object; copy it with dict(...) and change the copy
    """

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this dictionary belongs to an immutable object; copy it with dict(...) and change the copy")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)
