"""Intervals proved by ball arithmetic; imported only if a proof is requested, since it needs python-flint.

``engine.py`` picks one of three ways to enclose delta at an epsilon:

- closed forms (``closed.py``);
- a trapezoid sum on a vertical line in the complex plane (``contour.py``), where ``lines.py`` evaluates the
  characteristic functions of the rounds, and ``boxes.py`` bounds them far up the line;
- an upper and a lower law on a grid, in whole numbers (``grid.py`` and ``cells.py``).

``search.py`` finds the epsilon at a delta for all three ways. ``rounds.py`` and ``atoms.py`` represent the rounds in
exact numbers. Only the guide (``engines/guide.py``) computes in doubles: it chooses where to look, and no end depends
on it.
"""
