"""Error messages for integrations whose package is not installed."""

from __future__ import annotations

PACKAGES = {
    "opacus": ("opacus", ", or in a clone `pip install '.[opacus]'`"),
    "dp_accounting": ("dp-accounting", ", or in a clone `pip install '.[dp-accounting]'`"),
    "torch": ("torch", ""),
}
"""Package to install for each module, and the alternative way to install it."""


def missing(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return the error to raise for a failed import: one line that names the package to install.

    Args:
        error: error of the import. It is returned unchanged if the missing module is not one of :data:`PACKAGES`.

    >>> print(missing(ModuleNotFoundError("No module named 'torch'", name="torch")))
    this integration needs torch, which is missing; install it with `pip install torch`
    """
    if error.name not in PACKAGES:
        return error
    package, otherwise = PACKAGES[error.name]
    text = f"this integration needs {package}, which is missing; install it with `pip install {package}`{otherwise}"
    return ModuleNotFoundError(text, name=error.name)
