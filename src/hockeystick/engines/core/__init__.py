"""The core engine: many plans of Poisson-sampled Gaussian rounds at once, each with its own certificate.

Every number is either *chosen* (tilts, steps, ends of nodes and of sums, epsilons: any choice is sound, and a bad one
costs width) or *charged* (a bound, which its docstring proves). ``aim.py`` chooses, ``line.py`` computes m on a line
with its bounds, ``sum.py`` the sum with its certificate, and ``ask.py`` retries, takes the maximum of both directions
and refuses what is too long. Each charge passes by name through ``hockeystick.numerics.charged``.
"""
