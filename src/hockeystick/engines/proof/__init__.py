"""Intervals proved by ball arithmetic; imported only where a proof is asked for, since it needs python-flint."""
