"""The other end of ``peers/worker.py``: a process that is asked, watched, killed when it takes too long, restarted."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from bench.environments import ROOT

START_LIMIT = 120.0  # seconds for the imports
UNFINISHED = "did not finish"
MEMORY_MIB = 8192.0  # address space of a worker
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)

Reply = dict[str, Any]


class StartError(Exception):
    """The worker's imports failed; the text is the end of its log."""


class Worker:
    """One peer's process, on one core; it starts when first asked, and again after it has been killed.

    Args:
        python: the interpreter.
        module: what it runs, found under ``tools``.
        log: where what it prints goes.
        core: the only core it may use; ``None`` leaves it to the system.
        source: where packages are looked for first, such as the ``src`` of another tree.

    Attributes:
        warm_up: questions asked once after each start, their answers unused.
        ready: what it said when its imports were done.
    """

    def __init__(self, python: Path, module: str, log: Path, core: int | None, source: Path | None = None) -> None:
        self.python, self.module, self.log, self.core, self.source = python, module, log, core, source
        self.warm_up: list[Reply] = []
        self.ready: Reply = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def ask(self, question: Reply, limit: float) -> Reply:
        """The answer, or ``{"error": ...}`` where the process ran out of time or died."""
        self.start()
        started = time.perf_counter()
        reply = self._exchange({**question, "limit_mib": MEMORY_MIB}, limit)
        if reply is None:
            taken = time.perf_counter() - started
            died = self._process is not None and self._process.poll() is not None
            self.stop()
            return {"error": "the process died" if died else f"{UNFINISHED} in {limit:.0f} s", "seconds": taken}
        return reply

    def stop(self) -> None:
        """Kill the process."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process, self._buffer = None, b""

    def start(self) -> None:
        """Start the process where there is none.

        Raises:
            StartError: it ends, or takes too long, before it is ready.
        """
        if self._process is not None and self._process.poll() is None:
            return
        self.stop()
        pinned = ["taskset", "-c", str(self.core)] if self.core is not None and shutil.which("taskset") else []
        environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONWARNINGS": "ignore"}
        paths = [str(self.source)] if self.source is not None else []
        paths.append(str(ROOT / "tools"))
        if self.python == Path(sys.executable) and "PYTHONPATH" in environment:
            paths.append(environment["PYTHONPATH"])  # not for the other environments
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*pinned, str(self.python), "-m", self.module],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        ready = self._read_line(START_LIMIT)
        if ready is None:
            self.stop()
            said = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:] or ["nothing"]
            raise StartError(f"{self.module} does not start: {said[0]}")
        self.ready = ready
        for question in self.warm_up:
            self._exchange(question, START_LIMIT)

    def _exchange(self, question: Reply, limit: float) -> Reply | None:
        stdin = self._pipe("stdin")
        try:
            stdin.write(json.dumps(question).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError:
            return None
        return self._read_line(limit)

    def _read_line(self, limit: float) -> Reply | None:
        """The next line as JSON; ``None`` at the end of the output or of the time."""
        descriptor = self._pipe("stdout").fileno()
        end = time.perf_counter() + limit
        while b"\n" not in self._buffer:
            left = end - time.perf_counter()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                return None
            more = os.read(descriptor, 65536)
            if not more:
                assert self._process is not None
                self._process.wait(timeout=10)
                return None
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\n")
        reply: Reply = json.loads(line)
        return reply

    def _pipe(self, name: str) -> IO[bytes]:
        pipe: IO[bytes] = getattr(self._process, name)
        return pipe
