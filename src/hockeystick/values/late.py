"""Names whose modules are imported when somebody asks for them, so that an import loads what a first answer needs.

A package says of each such name which of its modules defines it, once for the program (a table that is given to
:func:`exports`) and once for whoever reads types (an import under ``TYPE_CHECKING``, which the import contracts see
like any other); ``tests/values/test_late.py`` holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules
from typing import Any


def found(place: str) -> Any:
    """Object that a place names, imported if need be.

    Args:
        place: the full name of a module, or ``module:name`` of what it defines.

    >>> found("hockeystick.values.side:Side").__name__
    'Side'
    """
    module, _, name = place.partition(":")
    loaded = import_module(module)
    return getattr(loaded, name) if name else loaded


def exports(package: str, table: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package some of whose names are imported late, each when it is first asked for.

    Args:
        package: the package's ``__name__``.
        table: the module of each name, relative to the package; a name that is its module's own is the module.

    >>> exports("hockeystick.values", {"Side": "side"})("Side").__name__
    'Side'
    >>> exports("hockeystick.values", {"side": "side"})("side").__name__
    'hockeystick.values.side'
    """

    def __getattr__(name: str) -> Any:  # noqa: N807  # it is what Python asks of a module
        if name not in table:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=modules[package])
        module = table[name]
        value = found(f"{package}.{module}" if module == name else f"{package}.{module}:{name}")
        setattr(modules[package], name, value)  # Python asks once
        return value

    return __getattr__
