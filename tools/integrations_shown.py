"""What docs/integrations.md shows: the scripts of examples/integrations, what they print, and how long it takes.

It runs where the integrations are tested: ``.venv-integrations/bin/python tools/integrations_shown.py --write`` puts
it all into the page; without ``--write`` it is printed. tests/integrations/test_shown.py compares all but the times.
"""

from __future__ import annotations

import argparse
import difflib
import importlib.metadata
import os
import re
import resource
import subprocess
import sys
import textwrap
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "integrations.md"
SCRIPTS = ROOT / "examples" / "integrations"
SECTION = re.compile(r"(<!-- (\w+): begin -->\n)(.*?)(<!-- \2: end -->\n)", re.DOTALL)
REPEATS = 5
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

DELTA, STEPS, RATE = 1e-6, 10_000, 0.01
TRAINING = {"target_epsilon": 2.0, "target_delta": 1e-5, "sample_rate": 1 / 75}


@dataclass(frozen=True)
class Run:
    """One script: what it printed, and the CPU time it took with all it imports."""

    output: str
    seconds: float


def run(name: str) -> Run:
    """The script, in a process of its own.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    started = _children()
    command = [sys.executable, "-W", "ignore", str(SCRIPTS / f"{name}.py")]
    done = subprocess.run(command, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True, check=True)
    return Run(done.stdout, _children() - started)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def change(package: str) -> list[str]:
    """The lines that differ between the original script and the certified one, with - and +."""
    original, certified = (
        (SCRIPTS / f"{package}_{which}.py").read_text(encoding="utf-8").splitlines()
        for which in ("original", "certified")
    )
    lines = list(difflib.unified_diff(original, certified, n=0, lineterm=""))[2:]
    return [line for line in lines if not line.startswith("@@")]


def shown(package: str, original: Run, certified: Run) -> str:
    """The script, what changes, and what both print."""
    script = (SCRIPTS / f"{package}_original.py").read_text(encoding="utf-8")
    return (
        f"The original script, `examples/integrations/{package}_original.py`:\n\n```python\n{script}```\n\n"
        f"The changes in `examples/integrations/{package}_certified.py`:\n\n"
        "```diff\n" + "\n".join(change(package)) + "\n```\n\n"
        f"The original prints\n\n```text\n{original.output}```\n\n"
        f"and the changed script prints\n\n```text\n{certified.output}```\n"
    )


def best(question: Callable[[], object]) -> float:
    """Seconds of CPU time of the fastest of a few."""
    times = []
    for _ in range(REPEATS):
        started = time.process_time()
        question()
        times.append(time.process_time() - started)
    return min(times)


def opacus_questions() -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """What is asked of either accountant of Opacus, each time of a fresh one."""
    from opacus.accountants import create_accountant
    from opacus.accountants.utils import get_noise_multiplier

    from hockeystick.integrations.opacus import MECHANISM, least_noise_multiplier
    from hockeystick.plan.plan import Plan

    def epsilon(mechanism: str) -> object:
        accountant = create_accountant(mechanism)
        accountant.history = [(0.85, 1 / 75, 225)]
        return accountant.get_epsilon(1e-5)

    return {
        "epsilon of 225 steps": (lambda: epsilon("prv"), lambda: epsilon(MECHANISM)),
        "noise for epsilon 2": (
            lambda: get_noise_multiplier(**TRAINING, epochs=3, accountant="prv"),
            lambda: least_noise_multiplier(2.0, 1e-5, 1 / 75, 225, Plan([])),
        ),
    }


def dp_accounting_questions() -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """What is asked of either accountant of dp_accounting, each time of a fresh one."""
    import dp_accounting as dp
    from dp_accounting.pld import PLDAccountant

    from hockeystick.integrations.dp_accounting import HockeystickAccountant

    def training(noise: float) -> dp.DpEvent:
        return dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(RATE, dp.GaussianDpEvent(noise)), STEPS)

    def epsilon(kind: Callable[[], dp.PrivacyAccountant]) -> object:
        return kind().compose(training(1.0)).get_epsilon(DELTA)

    def noise(kind: Callable[[], dp.PrivacyAccountant]) -> object:
        return dp.calibrate_dp_mechanism(kind, training, 1.0, DELTA)

    def stepwise(kind: Callable[[], dp.PrivacyAccountant]) -> object:
        accountant = kind()
        step = dp.PoissonSampledDpEvent(RATE, dp.GaussianDpEvent(1.0))
        return [accountant.compose(step).get_epsilon(DELTA) for _ in range(20)]

    both = (PLDAccountant, HockeystickAccountant)
    asked = {
        "epsilon of 10,000 steps": epsilon,
        "noise for epsilon 1": noise,
        "20 steps, epsilon after each": stepwise,
    }
    return {label: (partial(ask, both[0]), partial(ask, both[1])) for label, ask in asked.items()}


def times(runs: dict[str, tuple[Run, Run]]) -> str:
    """The table of times, and how they were got."""
    packages = ("opacus", "dp-accounting", "torch", "numpy", "scipy")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    rows = []
    for package, questions in (("opacus", opacus_questions()), ("dp_accounting", dp_accounting_questions())):
        label = {"opacus": "Opacus, PRV", "dp_accounting": "dp_accounting, PLD"}[package]
        original, certified = runs[package]
        rows.append((label, "the whole script", original.seconds, certified.seconds))
        rows += [(label, question, best(theirs), best(ours)) for question, (theirs, ours) in questions.items()]
    table = "".join(f"| {label} | {what} | {read(a)} | {read(b)} |\n" for label, what, a, b in rows)
    note = (
        f"CPU time, measured by `tools/integrations_shown.py` with {versions} and Python {sys.version.split()[0]}: the "
        "whole script once, on one thread, with its imports and the training; the rest as the fastest of "
        f"{REPEATS}, imports not counted."
    )
    head = "| original | what | original | with hockeystick |\n| --- | --- | --- | --- |\n"
    return f"{head}{table}\n{textwrap.fill(note, 120, break_on_hyphens=False)}\n"


def read(seconds: float) -> str:
    """Two digits, in a unit that people read."""
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{float(f'{1000 * seconds:.2g}'):g} ms"


def sections() -> dict[str, str]:
    """What belongs into the page, by the name of its place."""
    packages = ("opacus", "dp_accounting")
    runs = {package: (run(f"{package}_original"), run(f"{package}_certified")) for package in packages}
    return {**{package: shown(package, *runs[package]) for package in packages}, "times": times(runs)}


def main() -> None:
    """Print the sections, or put them into the page."""
    warnings.simplefilter("ignore")  # what other accountants warn of
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="rewrite the page in place")
    found = sections()
    if not parser.parse_args().write:
        print("\n".join(found.values()))
        return
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(SECTION.sub(lambda match: match[1] + found[match[2]] + match[4], page), encoding="utf-8")


if __name__ == "__main__":
    main()
