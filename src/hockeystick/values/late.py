"""Lazy imports: some modules are imported only when one of their names is first used, so that the library loads fast.

A package states twice which of its modules defines each such name. For the program, it gives a table to
:func:`exports`. For type checkers, it imports the names under ``TYPE_CHECKING``; the import contracts treat this import
like any other. ``tests/values/test_late.py`` checks that the table and the imports agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules
from typing import Any


def found(place: str) -> Any:
    """Return the object at a place, imported if necessary.

    Args:
        place: the full name of a module, or ``module:name`` for an object that it defines.

    >>> found("hockeystick.values.side:Side").__name__
    'Side'
    """
    module, _, name = place.partition(":")
    loaded = import_module(module)
    return getattr(loaded, name) if name else loaded


def exports(package: str, table: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package that imports some of its names on first use.

    Args:
        package: the package's ``__name__``.
        table: the module of each name, relative to the package; a name equal to its module's name stands for the
            module itself.

    >>> exports("hockeystick.values", {"Side": "side"})("Side").__name__
    'Side'
    >>> exports("hockeystick.values", {"side": "side"})("side").__name__
    'hockeystick.values.side'
    """

    def __getattr__(name: str) -> Any:  # noqa: N807  # the name that Python prescribes for modules
        if name not in table:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=modules[package])
        module = table[name]
        value = found(f"{package}.{module}" if module == name else f"{package}.{module}:{name}")
        setattr(modules[package], name, value)  # so Python calls this function once for each name
        return value

    return __getattr__
