"""A budget that several people and programs spend, kept in a database.

**Guarantee.** The budget belongs to a privacy filter (``questions/filters``), which is chosen when the ledger is begun
and never changed. Releases are declared before they are made, and may depend on anything, including earlier releases.
All releases that the filter allows, taken together, are as private as the budget states. The certified accountants are
not used: they answer for releases fixed beforehand, and for a list that grew after looking at results their numbers may
be too small [TKRH26, RHL+26].

**Log.** Every event is an entry of an append-only log: the beginning, grants, renewals, releases, and their outcomes.
Each entry carries the hash of all before it (``entries.py``). The state, which is the remaining budget of each account,
follows from the log (``state.py``). It is also stored, so that a release takes as long after a million entries as after
ten. Entry and state are written in one transaction (``store.py``), and the database itself refuses a state above its
limits. ``verification.py`` recomputes the state from the log.
"""
