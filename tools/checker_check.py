"""``make checker-check``: the epsilon of every shipped plan, proved again by ``checker/hockeystick_check.py``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import hockeystick as hs
from hockeystick.report.rounding import exact, round_up

ROOT = Path(__file__).parents[1]
CHECKER = ROOT / "checker" / "hockeystick_check.py"
COVERED, UNPROVED, REFUSED = 0, 3, 4  # statuses of the checker


def main() -> int:
    """Run the checker on each plan with the epsilon that the library states, in three digits."""
    failed = 0
    for path in sorted((ROOT / "examples" / "plans").glob("*.toml")):
        plan = hs.load_plan(path)
        assert plan.delta_target is not None  # every shipped plan says it
        before = os.times()
        claim = round_up(plan.epsilon().upper), exact(plan.delta_target)
        status, line = checked(path, *claim)
        if status == UNPROVED:  # of few outcomes: the error falls in stairs, at which the checker gives up
            status, line = checked(path, *claim, "--step", "12")
        seconds = os.times().children_user - before.children_user  # of the processor
        print(f"{path.stem} ({seconds:.1f} s): {line}", flush=True)
        failed += status not in (COVERED, REFUSED)
    return min(failed, 1)


def checked(path: Path, epsilon: str, delta: str, *options: str) -> tuple[int, str]:
    """Status and last line of the checker, asked to prove a claim about the plan in a file."""
    run = subprocess.run(
        [sys.executable, "-I", "-S", str(CHECKER), str(path), "--epsilon", epsilon, "--delta", delta, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    return run.returncode, (run.stdout or run.stderr).splitlines()[-1]


if __name__ == "__main__":
    sys.exit(main())
