"""Accounting inside existing tools.

Each module imports the tool that it integrates; this package imports none.

- ``hockeystick.integrations.opacus``: an accountant and a privacy engine for Opacus;
- ``hockeystick.integrations.dp_accounting``: a ``PrivacyAccountant`` for dp_accounting, and plans made from its events;
- ``hockeystick.integrations.torch``: PyTorch loaders that draw batches by a sampling scheme, and recognition of the
  scheme of a given loader;
- ``hockeystick.integrations.batches``: samplers of batches for any training loop, which need only NumPy;
- ``hockeystick.integrations.history``: a plan from a list of (noise multiplier, sample rate, steps).
"""
