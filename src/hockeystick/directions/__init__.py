"""Epsilon, delta and trade-off functions from dominating pairs: computed in each direction, then the worst is taken."""
