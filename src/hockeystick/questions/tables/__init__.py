"""Certified tables of epsilon, which is monotone in each parameter, so that knots bracket every point between them."""
