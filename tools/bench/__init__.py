"""Speed and true error beside other accountants: ``make bench``.

Each peer is installed in an environment of its own under ``.bench`` and asked by a process of its own (``peers``), the
calls alternating with the same calls to this library. ``cases`` says what is asked, ``truth.json`` holds the answers to
many digits, ``run`` asks, ``table`` and ``plot`` show.
"""
