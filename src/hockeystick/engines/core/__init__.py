"""The core engine: many plans of Poisson-sampled Gaussian rounds at once, each with its own certificate.

Every number of the engine is either *chosen* or *charged*. Tilts, steps, ranges of nodes and of sums, and epsilons are
chosen: any choice is sound, and a bad choice only widens the interval. Bounds on errors are charged: each bound is
proved in a docstring, and is passed with its name to ``hockeystick.numerics.charged``.

``aim.py`` makes the choices. ``line.py`` computes the characteristic function m on a vertical line, with bounds on its
errors. ``sum.py`` computes the sum that gives delta, and the certificate of this sum. ``ask.py`` repeats sums whose
intervals are too wide, and takes the maximum of both directions. It gives no answer for a plan that needs too many
nodes or points.
"""
