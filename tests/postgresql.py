"""A server of PostgreSQL for tests, started in a folder of its own where the package is installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def programs() -> Path | None:
    """The folder with the newest server's programs, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    program = shutil.which("initdb")
    return Path(program).parent if program else None


@contextmanager
def server() -> Iterator[str | None]:
    """Address of a new server, up to the name of a database; None where there is no package or no user to run it."""
    place = programs()
    if place is None:
        yield None
        return
    folder = tempfile.mkdtemp()
    user = [] if os.getuid() else ["runuser", "-u", "postgres", "--"]  # the server refuses to run as root
    try:
        Path(folder).chmod(0o777)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        settings = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c max_connections=200"
        data, quiet = f"{folder}/data", {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([*user, place / "initdb", "-D", data, "-A", "trust", "-U", "tests"], **quiet)  # type: ignore[call-overload]
        control = [*user, place / "pg_ctl", "-D", data, "-w"]
        subprocess.run([*control, "-o", settings, "-l", f"{folder}/log", "start"], **quiet)  # type: ignore[call-overload]
        try:
            yield f"postgresql://tests@127.0.0.1:{port}/"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **quiet)  # type: ignore[call-overload]
    except (FileNotFoundError, subprocess.CalledProcessError):
        yield None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
