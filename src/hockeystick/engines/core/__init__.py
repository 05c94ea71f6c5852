"""The core engine: many plans of Poisson-sampled Gaussian rounds at once, each with its own certificate.

Every number of the engine is either *chosen* or *charged*. Tilts, steps, ranges of nodes and of sums, and epsilons are
chosen: any choice is sound, and a bad choice only widens the interval. Bounds on errors are charged: each is proved in
a docstring, and passes by name through ``hockeystick.numerics.charged``.

``aim.py`` makes the choices. ``line.py`` computes m on a vertical line, with bounds on its errors. ``sum.py`` computes
the sum and its certificate. ``ask.py`` repeats sums whose intervals are too wide, takes the maximum of both directions,
and refuses plans that need too many nodes or points.
"""
