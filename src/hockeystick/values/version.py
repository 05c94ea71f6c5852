"""The version of the package: here, so that an answer can say it without importing all that the package exports."""

__version__ = "0.2.0"
