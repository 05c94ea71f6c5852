"""Random calls of every public function over the whole domain, held to laws that need no true value: ``make fuzz``.

``python -m fuzz 10000 1`` runs the first 10,000 cases of seed 1. A case is a function of ``cases/`` that draws what is
asked and holds the answers to laws; ``draws`` makes values at the edges of each domain, ``laws`` says what has to hold
and what each call may cost, ``registry`` knows which case stands for which public name, ``run`` keeps each case in a
process of its own and goes on where it was stopped.

For a new public function: write a function of a :class:`~fuzz.draws.Draw` and a :class:`~fuzz.laws.Held` in the file of
its kind, with ``@case(kind, name, ...)`` above it. ``tests/test_fuzz.py`` fails as long as a public name has none.
"""
