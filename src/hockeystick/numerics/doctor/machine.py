"""Which programs answer on this machine: of Python, of NumPy and of what NumPy chose for this processor."""

from __future__ import annotations

import os
import platform
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

UNKNOWN = "unknown"  # what is said where a library does not tell


def versions() -> dict[str, str]:
    """Names of what computes, and which it is.

    >>> list(versions())[:4]
    ['python', 'numpy', 'numpy loops', 'linear algebra']
    """
    import numpy
    import scipy

    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": numpy.__version__,
        "numpy loops": _loops(),
        "linear algebra": _linear_algebra(),
        "scipy": scipy.__version__,
        "python-flint": _installed("python-flint"),
        "C library": " ".join(filter(None, platform.libc_ver())) or UNKNOWN,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count() or UNKNOWN} processors",
    }


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def _loops() -> str:
    """The instructions of this processor for which NumPy has loops of its own."""
    try:
        core = import_module("numpy._core._multiarray_umath")
    except ImportError:  # before NumPy 2
        core = import_module("numpy.core._multiarray_umath")
    features = getattr(core, "__cpu_features__", {})
    baseline = list(getattr(core, "__cpu_baseline__", ()))
    chosen = [name for name in getattr(core, "__cpu_dispatch__", ()) if features.get(name)]
    return ", ".join([*baseline, *chosen]) or UNKNOWN


def _linear_algebra() -> str:
    """The library behind products of matrices, with its version."""
    import numpy

    try:
        found = numpy.show_config(mode="dicts")  # type: ignore[call-arg,unused-ignore]
        blas = found["Build Dependencies"]["blas"]  # type: ignore[index,unused-ignore]
        return f"{blas['name']} {blas['version']}"
    except (TypeError, KeyError):
        return UNKNOWN
