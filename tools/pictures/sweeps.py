"""The pictures of the page on sweeps: a map of epsilons, and noise per coordinate against the gradients it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache

import hockeystick as hs
from hockeystick.report.rounding import round_up
from pictures.drawing import BLUE, GREY, GRID, INK, Picture, dot, line, text

TARGET, LEAST = 3.0, 1000  # epsilon of the front, and the steps that its rows have at least
NOISES, EPOCHS = (0.6, 0.8, 1.0, 1.2, 1.6, 2.0), (5, 10, 20, 40)  # of the map

LEFT, RIGHT, TOP, BOTTOM = 62.0, 472.0, 12.0, 216.0  # of the axes

FAINT, FULL = (
    0.06,
    0.62,
)  # how opaque the fields of the least and of the largest number are: words stay readable on both

FEWEST, MOST = 2.4e5, 4e6  # gradients that the axis has
QUIET, LOUD = 5e-4, 1.3e-2  # noise per coordinate that the axis has


def training() -> hs.Plan:
    """The plan of the page."""
    return hs.dp_sgd(1.0, batch_size=256, dataset_size=60_000, epochs=15, delta=1e-5)


@cache
def calibrated() -> hs.Sweep:
    """The sweep of the page with a target."""
    grid = {"batch_size": [64, 128, 256, 512, 1024, 2048], "epochs": [5, 10, 20, 40]}
    return hs.sweep(training(), grid, target=TARGET)


def field() -> Picture:
    """Epsilon over noise and epochs: a number in every field, the more opaque the larger it is."""
    found = hs.sweep(training(), {"noise_multiplier": NOISES, "epochs": EPOCHS})
    logs = [math.log(row["upper"]) for row in found.rows]
    low, high = min(logs), max(logs)
    wide, tall = (RIGHT - LEFT) / len(NOISES), (BOTTOM - TOP) / len(EPOCHS)
    parts = []
    for number, (row, log) in enumerate(zip(found.rows, logs, strict=True)):
        column, up = divmod(number, len(EPOCHS))
        x, y = LEFT + column * wide, BOTTOM - (up + 1) * tall
        opaque = FAINT + (FULL - FAINT) * (log - low) / (high - low)
        parts.append(
            f'<rect x="{x:.2f}" y="{y:.2f}" width="{wide - 2:.2f}" height="{tall - 2:.2f}" rx="2.5" fill="{BLUE}" '
            f'fill-opacity="{opaque:.3f}"/>'
        )
        parts.append(text(x + 0.5 * wide - 1, y + 0.5 * tall + 4, round_up(row["upper"], 3), "middle"))
    parts += [text(LEFT + (at + 0.5) * wide, BOTTOM + 18, f"{NOISES[at]:g}", "middle") for at in range(len(NOISES))]
    parts += [text(LEFT - 8, BOTTOM - (at + 0.5) * tall + 4, str(EPOCHS[at]), "end") for at in range(len(EPOCHS))]
    parts += [text(0.5 * (LEFT + RIGHT), BOTTOM + 38, "noise multiplier", "middle", GREY), _upright("epochs")]
    return Picture(
        "sweep-map",
        "Epsilon over noise multiplier and epochs, as a map",
        f"A grid of {len(NOISES)} by {len(EPOCHS)} fields, each with its epsilon. Epsilon is largest, "
        f"{round_up(math.exp(high), 3)}, at the least noise and the most epochs, and falls to "
        f"{round_up(math.exp(low), 3)} at the opposite corner.",
        "Epsilon at delta 1e-5 of the plan above at other noise and other epochs: certified upper ends, rounded up.",
        parts,
        BOTTOM + 46,
    )


def front() -> Picture:
    """Noise per coordinate against gradients, both logarithmic: all rows with enough steps, and the best of them."""

    def place(gradients: float, noise: float) -> tuple[float, float]:
        across = math.log(gradients / FEWEST) / math.log(MOST / FEWEST)
        up = math.log(noise / QUIET) / math.log(LOUD / QUIET)
        return LEFT + across * (RIGHT - LEFT), BOTTOM - up * (BOTTOM - TOP)

    parts = []
    for gradients, said in ((3e5, "300,000"), (1e6, "1,000,000"), (3e6, "3,000,000")):
        x = place(gradients, LOUD)[0]
        parts += [line([(x, TOP), (x, BOTTOM)], GRID, 1), text(x, BOTTOM + 18, said, "middle")]
    for noise in (0.0005, 0.001, 0.002, 0.005, 0.01):
        y = place(FEWEST, noise)[1]
        parts += [line([(LEFT, y), (RIGHT, y)], GRID, 1), text(LEFT - 6, y + 4.5, f"{noise:g}", "end")]
    found = calibrated()
    kept = found.pareto(least_steps=LEAST).rows
    for number in found.choices(least_steps=LEAST):
        row = found.rows[number]
        parts.append(dot(*place(row["gradients"], row["noise_per_coordinate"]), 3, GREY))
    parts.append(line([place(row["gradients"], row["noise_per_coordinate"]) for row in kept], BLUE, 2))
    for row in kept:
        x, y = place(row["gradients"], row["noise_per_coordinate"])
        parts.append(dot(x, y, 4.5, BLUE))
        first = row is kept[0]
        parts.append(text(x + 8, y - 6 if first else y - 8, f"{row['batch_size']} × {row['epochs']}", "start", INK, 12))
    parts += [text(0.5 * (LEFT + RIGHT), BOTTOM + 38, "gradients computed in all", "middle", GREY)]
    parts.append(_upright("noise per coordinate", 11))
    return Picture(
        "sweep-front",
        "Noise per coordinate of the averaged gradient against the gradients computed",
        f"Dots on two logarithmic axes; the {len(kept)} of which none is better in both are joined by a falling "
        f"line, from {kept[0]['noise_per_coordinate']:.5f} at {kept[0]['gradients']:,.0f} gradients to "
        f"{kept[-1]['noise_per_coordinate']:.5f} at {kept[-1]['gradients']:,.0f}.",
        f"Trainings of at least {LEAST} steps with epsilon at most {TARGET:g}, each with the noise that takes. "
        "On the line: batch size × epochs of those of which none has less noise for as many gradients.",
        parts,
        BOTTOM + 46,
    )


def _upright(said: str, x: float = 20) -> str:
    """Words along the second axis, read from below."""
    y = 0.5 * (TOP + BOTTOM)
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="middle" fill="{GREY}" font-size="13" '
        f'transform="rotate(-90 {x:g} {y:g})">{said}</text>'
    )


PICTURES: Mapping[str, Callable[[], Picture]] = {"sweep-map": field, "sweep-front": front}
"""The pictures of the page by name."""
