"""Extra packages that some answers need; each is checked before anything is computed."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from hockeystick.values.errors import HockeystickError


def need(what: str, packages: Mapping[str, str], extra: str) -> None:
    """Refuse if a package is missing, in one line that says how to install it.

    Args:
        what: the feature that needs it, as the beginning of a sentence.
        packages: the package to install for each module that is imported.
        extra: the extra of this library that installs all of them.

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
