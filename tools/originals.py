"""The authors' own programs beside the accountants here, in one run: ``make papers-originals``.

Two environments answer in turn: that of the project, and ``.venv-originals`` with prv-accountant, fourier-accountant,
dp-accounting and the NumPy that they need. The rows go to ``docs/_static/papers/originals.csv``, from which
``docs/papers.md`` quotes, and the announcement's methods at equal accuracy are drawn from them. Times are
processor time, in seconds, the least of three calls, in one thread.

The bounds of fourier-accountant 0.12.11 look for the peak of the density by a simplex search that runs off at these
rates: the right peak is handed in.
"""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "_static" / "papers" / "originals.csv"
THEIRS = ROOT / ".venv-originals" / "bin" / "python"

NOISE, RATE, EPSILON, LENGTH, LEAST = 0.8, 4e-3, 1.5, 7.47, 1 << 14  # Figure 3 of Gopi, Lee, Wutschitz 2021
ROUNDS = (100, 1000, 4000)
DOTS_NOISE, DOTS_RATE, DOTS_DELTA, DOTS_ROUNDS = 0.5, 2e-5, 1e-8, (1000, 10_000, 100_000)  # the announcement's plan
FEWEST = DOTS_ROUNDS[0]  # rounds after which error is drawn against time
INTERVALS = {True: (1e-2, 1e-3), False: (1e-4,)}  # of connect-the-dots, and of buckets
MORE_INTERVALS = {True: (1e-1, 3e-2, 3e-3, 3e-4), False: (1e-2, 1e-3, 1e-5)}  # for the curves
ERRORS = (0.1,)  # eps_error of prv
MORE_ERRORS = (1.0, 0.03, 0.01, 5e-3)  # for the curves
Row = dict[str, Any]


def timed(call: Callable[[], Any], times: int = 3) -> tuple[Any, float]:
    """What a call returns, and the least processor time of some."""
    seconds, found = math.inf, None
    for _ in range(times):
        start = time.process_time()
        found = call()
        seconds = min(seconds, time.process_time() - start)
    return found, seconds


def bounds_as_published(rounds: int, points: int) -> tuple[float, float]:
    """Both bounds on delta of fourier-accountant."""
    import importlib

    import numpy as np
    from scipy.optimize import brentq

    theirs: Any = importlib.import_module("fourier_accountant.experimental.subsampled_gaussian_bounds")
    outcome = brentq(lambda x: (1 - x) - (1 + x) * (1 - RATE) / RATE * np.exp(-(x - 0.5) / NOISE**2), -1, 1, xtol=1e-14)
    peak = np.array([math.log1p(RATE * math.expm1((outcome - 0.5) / NOISE**2))])
    theirs.optimize.fmin = lambda *args, **options: peak
    ends = [
        ask(target_eps=EPSILON, sigma=NOISE, q=RATE, ncomp=rounds, nx=points, L=LENGTH)
        for ask in (theirs.get_delta_min, theirs.get_delta_max)
    ]
    return float(ends[0]), float(ends[1])


def intervals(rounds: int) -> list[tuple[bool, float]]:
    """Gaps of connect-the-dots and of buckets after so many rounds."""
    more = MORE_INTERVALS if rounds == FEWEST else {True: (), False: ()}
    return [(dots, gap) for dots in (True, False) for gap in sorted((*INTERVALS[dots], *more[dots]), reverse=True)]


def errors(rounds: int) -> list[float]:
    """Errors that prv is asked for after so many rounds."""
    return sorted((*ERRORS, *(MORE_ERRORS if rounds == FEWEST else ())), reverse=True)


def theirs(asked: dict[str, float]) -> list[Row]:
    """Rows of the authors' programs; ``asked`` has the quotient of the ends of PRV by rounds."""
    import warnings

    import dp_accounting.pld.privacy_loss_distribution as pld
    from prv_accountant import PRVAccountant
    from prv_accountant.privacy_random_variables import PoissonSubsampledGaussianMechanism

    warnings.simplefilter("ignore")
    rows: list[Row] = []
    for rounds in ROUNDS:
        points = LEAST
        while True:
            ends, seconds = timed(lambda: bounds_as_published(rounds, points), 1)  # noqa: B023
            quotient = ends[1] / ends[0] if 0 < ends[0] <= ends[1] < 1 else math.inf
            if quotient <= asked[str(rounds)] or points >= LEAST << 11:
                break
            points *= 2
        rows.append(
            {"figure": "3a", "program": "fourier-accountant 0.12.11", "rounds": rounds, "points": points,
             "lower": ends[0], "upper": ends[1], "seconds": seconds}
        )  # fmt: skip

    def by_prv(noise: float, rate: float, rounds: int, error: float, delta_error: float) -> Any:
        mechanism = PoissonSubsampledGaussianMechanism(sampling_probability=rate, noise_multiplier=noise)
        return PRVAccountant(prvs=[mechanism], eps_error=error, delta_error=delta_error, max_self_compositions=[rounds])

    for rounds, error in ((1000, 0.2), (1000, 0.05)):
        found, seconds = timed(
            lambda: by_prv(NOISE, RATE, rounds, error, 1e-10).compute_delta(EPSILON, [rounds])  # noqa: B023
        )
        rows.append({"figure": "3b", "program": "prv-accountant 0.2.0", "options": f"eps_error={error}",
                     "rounds": rounds, "lower": found[0], "upper": found[2], "seconds": seconds})  # fmt: skip
    for rounds in DOTS_ROUNDS:
        for dots, interval in intervals(rounds):

            def ask() -> float:
                one = pld.from_gaussian_mechanism(
                    DOTS_NOISE,
                    sampling_prob=DOTS_RATE,
                    value_discretization_interval=interval,  # noqa: B023
                    use_connect_dots=dots,  # noqa: B023
                )
                return float(one.self_compose(rounds).get_epsilon_for_delta(DOTS_DELTA))  # noqa: B023

            upper, seconds = timed(ask)
            name = "connect-the-dots" if dots else "buckets"
            rows.append({"figure": "dots", "program": "dp-accounting 0.6.0", "method": name,
                         "options": f"interval={interval:g}", "rounds": rounds, "upper": upper,
                         "seconds": seconds})  # fmt: skip
        for error in errors(rounds):
            found, seconds = timed(
                lambda: by_prv(DOTS_NOISE, DOTS_RATE, rounds, error, DOTS_DELTA / 1000).compute_epsilon(  # noqa: B023
                    DOTS_DELTA,
                    [rounds],  # noqa: B023
                )
            )
            rows.append({"figure": "dots", "program": "prv-accountant 0.2.0", "method": "prv",
                         "options": f"eps_error={error:g}", "rounds": rounds, "lower": found[0], "upper": found[2],
                         "seconds": seconds})  # fmt: skip
    return rows


def ours() -> list[Row]:
    """Rows of the accountants here, on the same plans."""
    import hockeystick as hs
    from hockeystick.papers.dots import buckets
    from hockeystick.papers.experiment import Setting, cold
    from hockeystick.papers.gopi import theorem_error

    def plan(noise: float, rate: float, rounds: int) -> hs.Plan:
        return hs.dp_sgd(noise, rate, rounds, adjacency="remove")

    rows: list[Row] = []
    one: Any

    def add(figure: str, method: str, rounds: int, bound: Any, seconds: float, **more: Any) -> None:
        ends = bound.ends
        rows.append({"figure": figure, "program": "hockeystick", "method": method, "rounds": rounds,
                     "lower": ends.get("lower"), "upper": ends["upper"], "seconds": seconds, **more})  # fmt: skip

    for rounds in ROUNDS:
        one = plan(NOISE, RATE, rounds)
        mesh = 2 * LENGTH / LEAST
        options = {"eps_error": theorem_error(mesh, 1e-7, rounds), "delta_error": 1e-10}
        bound, seconds = timed(lambda: one.delta(EPSILON, accountant="prv", **options))  # noqa: B023
        add("3a", "prv", rounds, bound, seconds, points=LEAST)
    for rounds in DOTS_ROUNDS:
        asked: list[tuple[str, dict[str, Any]]] = [("auto", {})]
        asked += [("prv", {"eps_error": error}) for error in errors(rounds)]
        asked += [("connect-the-dots", {"interval": gap}) for dots, gap in intervals(rounds) if dots]
        one = plan(DOTS_NOISE, DOTS_RATE, rounds)
        for method, given in asked:
            bound = one.epsilon(DOTS_DELTA, accountant=method, **given)
            _, seconds = timed(lambda: cold(one).epsilon(DOTS_DELTA, accountant=method, **given))  # noqa: B023
            add("dots", method, rounds, bound, seconds,
                options=" ".join(f"{key}={value:g}" for key, value in given.items()))  # fmt: skip
    for gap in (gap for dots, gap in intervals(FEWEST) if not dots):
        upper, seconds = timed(lambda: buckets(Setting(DOTS_NOISE, DOTS_RATE, FEWEST), gap))  # noqa: B023
        rows.append({"figure": "dots", "program": "hockeystick", "method": "buckets", "options": f"interval={gap:g}",
                     "rounds": FEWEST, "upper": upper, "seconds": seconds})  # fmt: skip
    return rows


CURVES = {
    ("dp-accounting 0.6.0", "buckets"): "advanced",
    ("hockeystick", "buckets"): "privacy-buckets",
    ("prv-accountant 0.2.0", "prv"): "gdp",
    ("hockeystick", "prv"): "prv",
    ("dp-accounting 0.6.0", "connect-the-dots"): "rdp",
    ("hockeystick", "connect-the-dots"): "connect-the-dots",
}
"""Accountant whose style the curve of a program's method has."""


def draw(rows: list[Row]) -> None:
    """Draw how far the upper end of epsilon is above the truth, against time, on the announcement's plan."""
    from hockeystick.plot import Line, Panel, drawn, save

    own = [row for row in rows if row["figure"] == "dots" and row["rounds"] == FEWEST]
    (truth,) = (row["lower"] for row in own if row["method"] == "auto")
    lines = []
    for (program, method), style in CURVES.items():
        curve = [row for row in own if (row["program"], row["method"]) == (program, method)]
        who = "here" if program == "hockeystick" else program.partition(" ")[0]
        over = [row["upper"] - truth for row in curve]
        lines.append(Line(f"{method}, {who}", [row["seconds"] for row in curve], over, style=style))
    panel = Panel("processor time (s)", "upper end of $\\varepsilon$ above the truth", lines, None, "log", "log")
    save(drawn([panel], width=5.2), TABLE.parent / "dots-accuracy.svg")


def main() -> None:
    """Ask both environments, write the table and draw the figure."""
    if len(sys.argv) > 1:
        print(json.dumps(theirs(json.loads(sys.argv[1]))))
        return
    rows = ours()
    asked = {row["rounds"]: row["upper"] / row["lower"] for row in rows if row["figure"] == "3a"}
    found = subprocess.run(
        [str(THEIRS), "-W", "ignore", __file__, json.dumps(asked)], check=True, stdout=subprocess.PIPE, text=True
    )
    rows += json.loads(found.stdout.splitlines()[-1])
    draw(rows)
    columns = ("figure", "program", "method", "options", "rounds", "points", "lower", "upper", "seconds")
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        for row in sorted(rows, key=lambda row: (row["figure"], row["rounds"], row["program"])):
            numbers = {key: f"{value:.9g}" for key, value in row.items() if isinstance(value, float)}
            writer.writerow({**row, **numbers, "seconds": f"{row['seconds']:.3g}"})


if __name__ == "__main__":
    main()
