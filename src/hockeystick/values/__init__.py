"""Values that enter and leave the library: errors, domains, adjacency, bounds, bands, intervals, files."""
