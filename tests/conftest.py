"""Tests with many dear parameters: ``make test`` takes a share of these, ``make test-long`` the others."""

from __future__ import annotations

from collections import Counter

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--each-long N``: of the long tests, in their order, each N-th is run."""
    parser.addoption("--each-long", type=int, default=1, metavar="N", help="of the long tests run each N-th")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as long all but each n-th parameter of a test that is marked ``share(n)``.

    Parameters that are stacked vary fastest in the topmost one, so that an n without a common divisor with their
    numbers meets every value of each. Then leave out of the long tests all but each N-th.
    """
    met: Counter[str] = Counter()
    for item in items:
        share = item.get_closest_marker("share")
        if share is None:
            continue
        test = item.nodeid.partition("[")[0]
        if met[test] % share.args[0]:
            item.add_marker(pytest.mark.long)
        met[test] += 1
    long = [item for item in items if item.get_closest_marker("long")]
    left_out = {item for at, item in enumerate(long) if at % config.getoption("each_long")}
    config.hook.pytest_deselected(items=[*left_out])
    items[:] = [item for item in items if item not in left_out]
