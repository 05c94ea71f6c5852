"""What Beam warns of by itself."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    for kind in ("DeprecationWarning", "FutureWarning", "ResourceWarning", "PendingDeprecationWarning", "UserWarning"):
        config.addinivalue_line("filterwarnings", f"ignore::{kind}")
