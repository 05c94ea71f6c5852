"""A budget that several people and programs spend, kept in a database.

**Guarantee.** The budget is that of a privacy filter (``questions/filters``), chosen when the ledger is begun and never
changed. Releases are declared before they are made, and may depend on anything, including earlier releases: everything
that the filter allows, taken together, is as private as the budget states. The certified accountants are not used. They
answer for releases fixed beforehand, and their number for a list that grew after looking at results may be too small
[TKRH26, RHL+26].

**Log.** Every event is an entry of an append-only log: the beginning, grants, renewals, releases, and their outcomes.
Each entry carries the hash of all before it (``entries.py``). The state, that is the remaining budget of each account,
follows from the log (``state.py``) and is stored beside it, so that a release costs the same after ten entries and
after a million. Entry and state are written in one transaction (``store.py``), and the database itself refuses a state
above its limits. ``verification.py`` recomputes the state from the log.
"""
