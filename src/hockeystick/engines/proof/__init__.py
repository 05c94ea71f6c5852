"""Intervals proved by ball arithmetic; imported only if a proof is requested, since it needs python-flint.

``engine.py`` picks one of three ways to enclose delta at an epsilon: closed forms (``closed.py``), a trapezoid sum on a
vertical line (``contour.py``, over the lines of ``lines.py``, which ``boxes.py`` bounds far up the line), and two laws
in whole numbers on a grid (``grid.py``, over ``cells.py``). ``search.py`` finds the epsilon at a delta for all of them.
``rounds.py`` and ``atoms.py`` represent the rounds in exact numbers. Only the guide (``engines/guide.py``) computes in
doubles: it chooses where to look, and no end depends on it.
"""
