"""What other packages warn of while they do what they are asked; our own warnings stay errors."""

from __future__ import annotations

import pytest

THEIRS = (
    "ignore:Secure RNG turned off:UserWarning",
    "ignore:GDP accounting is experimental:UserWarning",
    "ignore:Full backward hook is firing:UserWarning",
    "ignore:Using a non-full backward hook:FutureWarning",
)


def pytest_configure(config: pytest.Config) -> None:
    for line in THEIRS:
        config.addinivalue_line("filterwarnings", line)
