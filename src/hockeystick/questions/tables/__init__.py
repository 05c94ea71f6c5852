"""Certified tables of epsilon: monotone in each parameter, so that knots bracket every point between them."""
