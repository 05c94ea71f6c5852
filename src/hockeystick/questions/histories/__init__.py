"""Many users' training histories, and one certified epsilon for each distinct history.

A *history* lists the participations of one user: the number of steps of each kind, where a kind is a noise multiplier
and a sample rate. It has no order, since rounds whose parameters are fixed beforehand compose as a product of pairs,
the same in every order. Millions of users may share some thousand histories; each history is answered once.

- ``entries``: rows of (user, noise, rate, steps), in any order and in pieces, become one history for each user;
- ``answers``: the epsilon of each of a list of histories.
"""
