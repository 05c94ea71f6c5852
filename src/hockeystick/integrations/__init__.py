"""The accounting inside tools that people already use; each module imports its tool, and this one imports none.

- ``hockeystick.integrations.opacus``: an accountant and a privacy engine for Opacus;
- ``hockeystick.integrations.dp_accounting``: a ``PrivacyAccountant`` for dp_accounting, events to plans and back;
- ``hockeystick.integrations.torch``: loaders of PyTorch whose batches follow a scheme, and what a loader really does;
- ``hockeystick.integrations.batches``: the samplers behind them, by NumPy alone, for any training loop;
- ``hockeystick.integrations.frames``: epsilon of every row of a pandas or Polars frame;
- ``hockeystick.integrations.history``: a plan from a history of (noise multiplier, sample rate, steps).
"""
