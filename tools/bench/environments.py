"""The peers, and an environment for each under ``.bench``."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOME = ROOT / ".bench"
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input")


@dataclass(frozen=True)
class Route:
    """One way of asking a peer.

    Attributes:
        key: the worker's name for it.
        label: as shown.
        claim: what its value is said to be.
        slower_than: label of an earlier route of the same peer that does less work.
    """

    key: str
    label: str
    claim: str
    slower_than: str | None = None


@dataclass(frozen=True)
class Peer:
    """An accountant with an environment of its own.

    Attributes:
        name: its package, and what ``PEERS=`` selects by.
        installs: arguments of one ``pip install`` after the other.
        routes: how it is asked.
    """

    name: str
    installs: tuple[tuple[str, ...], ...]
    routes: tuple[Route, ...]

    @property
    def module(self) -> str:
        """Its worker."""
        return f"bench.peers.ask_{self.name.replace('-', '_')}"


NUMERICAL = ("numpy==2.4.6", "scipy==1.17.1")
"""The same for all: their speed is part of everybody's."""

PEERS = (
    Peer(
        "dp-accounting",
        (("dp-accounting==0.6.0", *NUMERICAL),),
        (Route("pld", "dp-accounting PLD", "upper bound"), Route("rdp", "dp-accounting RDP", "upper bound")),
    ),
    Peer(
        "prv-accountant",
        (("prv-accountant==0.2.0", *NUMERICAL),),
        (Route("prv", "prv-accountant", "upper bound"),),
    ),
    Peer(
        "opacus",
        # torch by itself first, so that a build without CUDA is taken where the index offers one
        (("torch==2.13.0",), ("opacus==1.6.0", *NUMERICAL)),
        (Route("prv", "opacus PRV", "upper bound"), Route("rdp", "opacus RDP", "upper bound")),
    ),
    Peer(
        "fourier-accountant",
        (("fourier-accountant==0.12.11", NUMERICAL[0]),),
        (
            Route("default", "fourier-accountant", "estimate"),
            Route("fine", "fourier-accountant, nx 4e6", "estimate", slower_than="fourier-accountant"),
        ),
    ),
)
OURS = Peer("hockeystick", (), (Route("default", "hockeystick", "certified upper bound"),))
PLOT = Peer("plot", (("matplotlib==3.11.2",),), ())


class CannotBuildError(Exception):
    """An environment could not be made; the text is what was said last."""


def python_of(peer: Peer) -> Path:
    """The interpreter of a peer's environment, which is made where it is missing or was made otherwise."""
    if not peer.installs:
        return Path(sys.executable)
    home = HOME / peer.name
    python = home / "bin" / "python"
    wanted = hashlib.sha256(repr((sys.version_info[:2], peer.installs)).encode()).hexdigest()
    stamp = home / ".made"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    shutil.rmtree(home, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(home)], peer)
    for packages in peer.installs:
        _run([str(python), *PIP, *packages], peer)
    stamp.write_text(wanted, encoding="utf-8")
    return python


def _run(command: list[str], peer: Peer) -> None:
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": ""}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        last = done.stdout.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise CannotBuildError(f"{peer.name}: {last[0]}")
