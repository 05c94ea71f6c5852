"""Engines, the methods that compute certified numbers. Each handles one direction: a list of (pair, count)."""
