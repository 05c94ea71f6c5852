"""A sweep on the executor of a Dask client: the rows of one process to the last bit, from threads and processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest

import hockeystick as hs

PLAN = hs.dp_sgd(1.0, sample_rate=0.01, steps=1000, delta=1e-5)
GRID: dict[str, Any] = {"noise_multiplier": [0.8, 1.2, -1.0], "steps": [100, 1000, 2000, 3000]}


WORKERS: dict[str, dict[str, Any]] = {
    "threads": {"processes": False, "n_workers": 1, "threads_per_worker": 2},
    "processes": {"host": "127.0.0.1", "n_workers": 2, "threads_per_worker": 1},
}


@pytest.fixture(scope="module", params=list(WORKERS))
def client(request: pytest.FixtureRequest) -> Iterator[Any]:
    with distributed.Client(dashboard_address=None, **WORKERS[request.param]) as found:
        yield found


def test_rows_are_those_of_one_process(client: Any) -> None:
    here = hs.sweep(PLAN, GRID)
    assert here.unanswered == 4  # of the noise below 0
    there = hs.sweep(PLAN, GRID, executor=client.get_executor())
    assert there.to_csv() == here.to_csv()


def test_noises_for_a_target_and_a_file(client: Any, tmp_path: Path) -> None:
    grid = {"steps": [100, 1000, 2000, 3000]}
    here, there = tmp_path / "here.csv", tmp_path / "there.csv"
    hs.sweep(PLAN, grid, target=2.0, output=here)
    hs.sweep(PLAN, grid, target=2.0, output=there, executor=client.get_executor())
    assert there.read_bytes() == here.read_bytes()
