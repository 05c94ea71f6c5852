"""The version of the package, in its own module so that an answer can state it without importing the package."""

__version__ = "0.2.0"
