"""Check, before a computation, that optional packages are installed."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from hockeystick.values.errors import HockeystickError


def need(what: str, packages: Mapping[str, str], extra: str) -> None:
    """Raise an error if a package is missing; its one-line message says how to install the package.

    Args:
        what: the feature that needs the packages, as the beginning of a sentence.
        packages: for each module that is imported, the package that installs it.
        extra: the extra of this library that installs all these packages.

    Raises:
        HockeystickError: a module cannot be imported.

    >>> need("a figure", {"no_such_module": "no-such-package"}, "plot")
    Traceback (most recent call last):
        ...
    hockeystick.values.errors.HockeystickError: a figure needs no-such-package, which is missing; install it with
    `pip install no-such-package`, or in a clone with `pip install '.[plot]'`
    """
    try:
        for module in packages:
            importlib.import_module(module)
    except ImportError:
        names = list(packages.values())
        several = len(names) > 1
        raise HockeystickError(
            f"{what} needs {' and '.join(names)}, {('one of which' if several else 'which')} is missing; install "
            f"{('them' if several else 'it')} with `pip install {' '.join(names)}`, or in a clone with `pip install "
            f"'.[{extra}]'`"
        ) from None
