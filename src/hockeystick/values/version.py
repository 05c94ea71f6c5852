"""The version of the library, which answers and reports carry."""

__version__ = "0.1.0"
