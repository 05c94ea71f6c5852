"""Engines: methods that compute certified intervals for one direction, given as a list of (pair, count)."""
