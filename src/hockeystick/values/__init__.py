"""What enters the library and what leaves it: errors, domains, adjacency, bounds, bands, intervals, files."""
