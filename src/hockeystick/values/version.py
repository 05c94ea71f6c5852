"""The version of the package, kept here so that an answer can state it without importing the whole package."""

__version__ = "0.2.0"
