"""The core: many plans of Poisson-sampled Gaussian rounds at once, each with a certificate of its own.

Every number is either *chosen* (tilts, steps, ends of nodes and of sums, epsilons: any choice is sound, and a bad one
costs width) or *charged* (a bound, which its docstring proves). ``aim.py`` chooses, ``line.py`` has m on a line with
its bounds, ``sum.py`` the sum with its certificate, and ``ask.py`` retries, takes the maximum of both directions and
refuses what is too long. Each charge goes by its name through ``hockeystick.numerics.charged``.
"""
