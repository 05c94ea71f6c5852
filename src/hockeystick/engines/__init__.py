"""The ways this library computes certified numbers. Each takes one direction: a list of (pair, count)."""
