"""Epsilon, delta and trade-off functions from dominating pairs: the worst answer over all directions."""
