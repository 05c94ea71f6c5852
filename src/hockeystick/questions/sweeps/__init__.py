"""Sweeps: one question about a plan at every point of a grid of its parameters, and the choice among the answers."""
