"""Accounting inside existing tools; each module imports its tool, and this one imports none.

- ``hockeystick.integrations.opacus``: an accountant and a privacy engine for Opacus;
- ``hockeystick.integrations.dp_accounting``: a ``PrivacyAccountant`` for dp_accounting, and its events as plans;
- ``hockeystick.integrations.torch``: PyTorch loaders whose batches follow a scheme, and the scheme of a given loader;
- ``hockeystick.integrations.batches``: the samplers behind them for any training loop, in NumPy alone;
- ``hockeystick.integrations.frames``: epsilon of every row of a pandas or Polars frame;
- ``hockeystick.integrations.history``: a plan from a history of (noise multiplier, sample rate, steps).
"""
