"""Intervals proved by ball arithmetic; imported only if a proof is requested, since it needs python-flint.

``engine.py`` chooses one of three methods that enclose delta at an epsilon:

- closed forms (``closed.py``);
- a trapezoid sum on a vertical line in the complex plane (``contour.py``), where ``lines.py`` evaluates the
  characteristic functions of the rounds, and ``boxes.py`` bounds them far up the line;
- an upper and a lower law on a grid, in whole numbers (``grid.py`` and ``cells.py``).

``search.py`` finds the epsilon at a delta with each of these methods. ``rounds.py`` and ``atoms.py`` represent the
rounds in exact numbers. Only the guide (``engines/guide.py``) computes in doubles. It proposes parameters, on which the
validity of no end depends.
"""
