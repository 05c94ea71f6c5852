"""Numbers without privacy: log-space, quadrature, Fourier powers, normal tails, directed rounding."""
