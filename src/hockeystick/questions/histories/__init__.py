"""Many users' histories of training: who took part in what, and one certified epsilon for each distinct history.

A *history* is what one user took part in: for each kind of step, that is each noise multiplier with its sample rate,
the number of steps. It has no order: rounds whose parameters are fixed beforehand are composed as a product of pairs,
which is the same in every order. Millions of users share some thousand histories, and each of these is asked once.

- ``naming``: equal values, and equal sequences of values, get equal numbers, exactly and in whole arrays at a time;
- ``entries``: rows of (user, noise, rate, steps), in any order and in pieces, become one history for each user;
- ``answers``: the epsilon of each of a list of histories.
"""
