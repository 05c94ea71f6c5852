"""``make checker-check``: the epsilon of every shipped plan, proved again by ``checker/hockeystick_check.py``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import hockeystick as hs
from hockeystick.report.rounding import exact, round_up

ROOT = Path(__file__).parents[1]
COVERED, REFUSED = 0, 4  # statuses of the checker that are no failure


def main() -> int:
    """Run the checker on each plan with the epsilon that the library states, in three digits."""
    failed = 0
    for path in sorted((ROOT / "examples" / "plans").glob("*.toml")):
        plan = hs.load_plan(path)
        assert plan.delta_target is not None  # every shipped plan says it
        claim = ["--epsilon", round_up(plan.epsilon().upper), "--delta", exact(plan.delta_target)]
        before = os.times()
        run = subprocess.run(
            [sys.executable, "-I", "-S", str(ROOT / "checker" / "hockeystick_check.py"), str(path), *claim],
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = os.times().children_user - before.children_user  # of the processor
        print(f"{path.stem} ({seconds:.1f} s): {run.stdout.splitlines()[-1]}", flush=True)
        failed += run.returncode not in (COVERED, REFUSED)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
