"""Inputs and outputs of the library: errors, domains, adjacency, bounds, bands, intervals, files."""
