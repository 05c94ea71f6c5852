"""Privacy filters and an odometer: budgets for rounds whose parameters are chosen after seeing earlier results.

A *filter* decides before each round if the round still fits. All rounds that it allowed are private together, however
their parameters were chosen (Rogers, Roth, Ullman, Vadhan 2016 [RRUV16]). An *odometer* reports the privacy spent at
every moment. Only proved rules are included:

- ``pure``: the largest losses of the rounds add up to at most epsilon [RRUV16];
- ``rdp``: the Renyi divergences of one fixed order add up to at most the budget (Feldman, Zrnic 2021 [FZ21]);
- ``zcdp``: the rhos add up to at most the budget ([FZ21]; Whitehouse, Ramdas, Rogers, Wu 2023 [WRRW23]);
- ``gdp``: ``sum mu_i^2 <= mu^2`` (Koskela, Tobaben, Honkela 2023 [KTH23]);
- ``approximate-dp``: the deltas add up to at most ``delta''``; and either the largest losses add up to at most epsilon,
  or the rhos to at most a rho that implies epsilon at delta' ([RRUV16, WRRW23]; proof in :class:`ApproximateDpFilter`).

- ``currency``: the budget is a number of rounds of one reference. Every other round has a certified price in reference
  rounds, which depends on what is left [RHL+26]; proof in ``currency.py``.

*Spent* and *budget* are separate. Every filter counts in a ``currency``, its unit, and has ``spent``, ``budget`` and
``remaining`` in that unit. Its ``budget_epsilon(delta)`` is the epsilon of all rounds together that the filter allows.
No filter has an ``epsilon`` of the rounds spent so far: with adaptively chosen parameters, it does not follow from the
filter in general [RRUV16]. :class:`Odometer` has one: its ``epsilon(delta)`` covers the rounds spent so far.

No filter composes the realised curves (trade-off functions or loss distributions) and stops where they cross the
budget. That is invalid in general, because later parameters may depend on earlier results [TKRH26, RHL+26]. The
distinction between filters and odometers is due to [RRUV16].
"""
