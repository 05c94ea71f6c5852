"""Numerical methods independent of privacy: log-space, quadrature, Fourier powers, normal tails, directed rounding."""
