"""Tests with many dear parameters: ``make test`` takes a share of these, another target the others."""

from __future__ import annotations

from collections import Counter

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow, or with the marker named by ``rest``, all but each n-th parameter of a test marked ``share(n)``.

    Parameters that are stacked vary fastest in the topmost one, so that an n without a common divisor with their
    numbers meets every value of each.
    """
    met: Counter[str] = Counter()
    for item in items:
        share = item.get_closest_marker("share")
        if share is None:
            continue
        test = item.nodeid.partition("[")[0]
        if met[test] % share.args[0]:
            item.add_marker(share.kwargs.get("rest", "slow"))
        met[test] += 1
