"""A tenth of the storm on a ledger, and a ledger by hand that it finds out: ``make ledger-storm`` has the whole one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from postgresql import server

STORM = [sys.executable, str(Path(__file__).parents[2] / "tools" / "storm.py")]


def blown(*given: str) -> str:
    found = subprocess.run([*STORM, *given], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def test_a_storm_on_a_file_loses_nothing() -> None:
    assert ", 0 lost, 0 twice" in blown("--processes", "16", "--spends", "80")


def test_a_storm_on_a_server_loses_nothing_and_finds_out_a_ledger_by_hand() -> None:
    psycopg = pytest.importorskip("psycopg")
    with server() as address:
        if address is None:
            pytest.skip("no server of PostgreSQL is installed")
        with psycopg.connect(address + "postgres", autocommit=True) as connection:
            for name in ("careful", "careless"):
                connection.execute(f"CREATE DATABASE {name}")
        assert ", 0 lost, 0 twice" in blown("--processes", "16", "--spends", "40", "--postgresql", address + "careful")
        blown("--processes", "8", "--spends", "20", "--careless", "--postgresql", address + "careless")


def test_a_storm_on_a_file_finds_out_a_ledger_by_hand() -> None:
    blown("--processes", "8", "--spends", "20", "--careless")
