"""What an integration says where the package that it stands beside is not installed."""

from __future__ import annotations

PACKAGES = {
    "opacus": ("opacus", ", or in a clone `pip install '.[opacus]'`"),
    "dp_accounting": ("dp-accounting", ", or in a clone `pip install '.[dp-accounting]'`"),
    "torch": ("torch", ""),
    "pyspark": ("pyspark", ", or in a clone `pip install '.[spark]'`"),
    "apache_beam": ("apache-beam", ", or in a clone `pip install '.[beam]'`"),
}
"""The package to install for each module, and how else it can be had."""


def missing(error: ModuleNotFoundError, brings: str | None = None) -> ModuleNotFoundError:
    """The error to raise for one that an import has raised: one line that says what to install.

    Args:
        error: what the import raised; it is handed back as it is where something else is missing, which the package
            itself has to answer for.
        brings: the module whose package brings the missing one with it; the missing one itself by default.

    >>> print(missing(ModuleNotFoundError("No module named 'torch'", name="torch")))
    this integration needs torch, which is missing: install it with `pip install torch`
    """
    if error.name not in PACKAGES:
        return error
    package, otherwise = PACKAGES[brings or error.name]
    text = f"this integration needs {package}, which is missing: install it with `pip install {package}`{otherwise}"
    return ModuleNotFoundError(text, name=error.name)
