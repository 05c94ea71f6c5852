"""The pictures of the primer: the two worlds, epsilon and delta as areas, guesses, sampling, composition, attacks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from statistics import NormalDist

import hockeystick as hs
from hockeystick.integrations.batches import PoissonBatches
from hockeystick.report.document.chart import Axis, Chart
from hockeystick.report.document.curves import RATES, band_points, delta_points
from hockeystick.report.rounding import round_up
from pictures.drawing import BAND, BLUE, GREY, GRID, INK, RED, Charted, Note, Picture, area, arrow, box, dot, line, text

EPOCHS, DELTA = 60, 1e-5  # of the training that the primer speaks of, and of what is claimed of it

NOISE = 1.0  # standard deviation of the noise on a count, in people
BELL = NormalDist(0.0, NOISE)  # the law of that noise

DIGITS = 4  # of the numbers of right guesses

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)  # at which guesses are counted

RECORDS, STEPS, YOU = 12, 6, 3  # of the picture of sampling, and the record that is marked in it
SEED = 28  # of the Poisson batches that are drawn in it
ORDER = (7, 2, 10, 5, 0, 8, 3, 11, 6, 1, 9, 4)  # of the records in the epoch that is shuffled


def training(epochs: int) -> hs.Plan:
    """The training that the primer speaks of, after so many epochs."""
    return hs.dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=epochs, delta=DELTA)


def worlds() -> Picture:
    """One data set with a record and one without it, through the same computation."""
    parts = []
    for top, inside in ((14, True), (132, False)):
        said = "with your record" if inside else "without it"
        parts.append(text(8, top + 86, said))
        for place in range(12):
            x, y = 8 + 20 * (place % 6), top + 14 + 20 * (place // 6)
            yours = place == 8
            if yours and not inside:
                parts.append(box(x, y, 15, 15, "none", RED, dashed=True))
            else:
                parts.append(box(x, y, 15, 15, RED if yours else BAND))
        parts += [arrow(134, top + 32, 32), box(172, top + 6, 112, 52, "none", INK)]
        parts += [text(228, top + 28, "computation", "middle"), text(228, top + 46, "and noise", "middle")]
        parts.append(arrow(290, top + 32, 32))
        colour = BLUE if inside else GREY
        bell = [(328 + 1.4 * x, top + 58 - 48 * math.exp(-0.5 * ((x - 50 - 8 * inside) / 17) ** 2)) for x in range(101)]
        parts += [line(bell, colour, 2), line([(328, top + 59), (472, top + 59)], GREY, 1)]
        parts.append(text(400, top + 78, "possible results", "middle"))
    parts.append(line([(8, 122), (472, 122)], GRID))
    return Picture(
        "worlds",
        "Two worlds: one with your record, one without it",
        "Two rows. In each row, a dataset of small squares goes through the same computation with noise, and a bell "
        "curve shows the possible results. In the lower row, one square, your record, is missing, and the bell curve "
        "is shifted a little.",
        "Every number in differential privacy is about this comparison. Somebody who sees the result must say from "
        "which of the two rows it came. The more the two curves overlap, the harder this task is.",
        parts,
        226,
    )


def bells() -> Picture:
    """The densities of a noisy count in the two worlds, and the part above e times the other: delta at epsilon 1."""
    delta = hs.Plan([hs.Round(hs.Gaussian(NOISE))]).delta(1.0).upper

    def place(at: float, height: float) -> tuple[float, float]:
        return 30 + (at - 96.5) * 44.5, 206 - 430 * height

    grid = [96.5 + 0.05 * step for step in range(191)]
    without = [(at, BELL.pdf(at - 100)) for at in grid]
    with_it = [(at, BELL.pdf(at - 101)) for at in grid]
    raised = [(at, math.e * height) for at, height in without]
    first = next(high[0] for high, low in zip(with_it, raised, strict=True) if high[1] > low[1])
    shade = [place(at, height) for at, height in with_it if at >= first]
    shade += [place(at, height) for at, height in reversed(raised) if at >= first]
    shown = [point for point in raised if point[0] > 100 and point[1] < 0.44]
    parts = [
        area(shade, RED),
        line([place(*point) for point in shown], GREY, 1.5, dashed=True),
        line([place(*point) for point in without], GREY, 2),
        line([place(*point) for point in with_it], BLUE, 2),
        line([place(96.5, 0), place(106, 0)], INK, 1),
    ]
    for at in range(97, 107):
        x, y = place(at, 0)
        parts += [line([(x, y), (x, y + 4)], INK, 1), text(x, y + 18, str(at), "middle")]
    parts += [
        text(250, 247, "the count that is published", "middle"),
        text(*place(98.4, 0.2), "without you", "end", GREY),
        text(*place(102.35, 0.2), "with you", "start", BLUE),
        text(*place(101.75, 0.41), "e = 2.718… times the curve", "start", GREY),
        text(*place(101.75, 0.37), "without you (ε = 1)", "start", GREY),
        text(*place(104.0, 0.11), f"δ = {round_up(delta, 3)}", "start", RED),
        line([place(103.95, 0.1), place(102.9, 0.055)], RED, 1),
    ]
    return Picture(
        "bells",
        "Epsilon is a factor between two curves, and delta is the part that the factor does not cover",
        f"Two bell curves around 100 and 101, and a dashed curve, which is the left bell curve times e. Right of "
        f"{first:.1f}, the right bell curve lies above the dashed curve. The area between these two curves is "
        f"{round_up(delta, 3)}, which is delta at epsilon 1.",
        f"One bell curve belongs to a count of 100 people with noise of standard deviation {NOISE:g}, and the other to "
        "the same count with you. Epsilon says by which factor one curve is raised. Delta is the area of the other "
        "curve above the raised curve.",
        parts,
        258,
    )


def guesses() -> Picture:
    """How many of 100 guesses between the two worlds can be right, by epsilon."""
    parts, rights = [], []
    left, unit, row = 70, 3.2, 30
    for number, epsilon in enumerate(EPSILONS):
        right = 50 * (1 + float(hs.Plan([hs.Round(hs.RandomizedResponse(epsilon))]).profile().advantage().upper))
        rights.append(right)
        y = 34 + row * number
        parts += [
            text(left - 10, y + 14, f"ε = {epsilon:g}", "end"),
            box(left, y, unit * 50, 19, GRID),
            box(left + unit * 50, y, unit * (right - 50), 19, RED),
            text(left + unit * right + 6, y + 14, round_up(right, DIGITS)),
        ]
    bottom = 34 + row * len(EPSILONS)
    parts += [
        line([(left + unit * 50, 24), (left + unit * 50, bottom)], INK, 1, dashed=True),
        text(left + unit * 50, 17, "tossing a coin", "middle", GREY),
        text(left, bottom + 18, "right guesses of 100, at most"),
    ]
    told = ", ".join(
        f"{round_up(right, DIGITS)} at {epsilon:g}" for epsilon, right in zip(EPSILONS, rights, strict=True)
    )
    return Picture(
        "guesses",
        "Largest number of right guesses out of 100, by epsilon",
        f"Bars show the number of right guesses out of 100. Each bar begins with the 50 of a coin toss: {told}.",
        "The bars show how many of 100 guesses about the use of your record can be right, if both answers are equally "
        "likely and delta is 0. The limit holds whatever the guesser knows, and however fast any computer is.",
        parts,
        bottom + 30,
    )


def sampling() -> Picture:
    """Which records are in which step: Poisson batches drawn by the library, and one shuffled epoch."""
    batches = PoissonBatches(RECORDS, batch_size=RECORDS // STEPS, seed=SEED)
    drawn = [list(batch) for batch in itertools.islice(itertools.chain.from_iterable(itertools.repeat(batches)), STEPS)]
    shuffled = [ORDER[step::STEPS] for step in range(STEPS)]
    parts = []
    for left, title, steps in ((54, "Poisson", drawn), (304, "shuffled", shuffled)):
        wide = 28 * STEPS
        parts.append(text(left + wide / 2, 18, title, "middle"))
        for record in range(RECORDS):
            y = 38 + 15 * record
            colour = RED if record == YOU else BLUE
            parts.append(line([(left, y), (left + wide, y)], GRID, 1))
            parts += [dot(left + 14 + 28 * step, y, 5, colour) for step, batch in enumerate(steps) if record in batch]
        parts.append(text(left + wide / 2, 234, "steps \u2192", "middle", GREY))
        parts.append(text(left - 8, 42 + 15 * YOU, "you", "end", RED))
    return Picture(
        "sampling",
        "Records that take part in each step, for two ways of making batches",
        f"Two grids of {RECORDS} records by {STEPS} steps, with a dot where a record is in a batch. On the left, with "
        "Poisson batches, the columns have different numbers of dots, and a record may be in no batch or in several. "
        "On the right, with shuffled batches, each record has one dot.",
        "On the left, each record tosses its own coin in every step, so nobody can say whether you took part in a "
        "step. On the right, in an epoch of a loader that shuffles, you take part in exactly one step.",
        parts,
        244,
    )


def composition() -> Charted:
    """Epsilon after each epoch, and what the epsilons of single epochs add up to."""
    epochs = [1, *range(5, EPOCHS + 1, 5)]
    plans = [training(number) for number in epochs]
    composed = [(float(number), plan.epsilon().upper) for number, plan in zip(epochs, plans, strict=True)]
    added = [(float(number), number * plans[0].epsilon(DELTA / number).upper) for number in epochs]
    shown = [point for point in added if point[1] <= 1.15 * 4]
    total = composed[-1][1]
    chart = Chart(
        "composition",
        "Epsilon after each epoch",
        f"A curve that rises ever more slowly to {round_up(total, 3)} after {EPOCHS} epochs, and a dashed curve far "
        f"above it, which reaches {round_up(shown[-1][1], 3)} after {shown[-1][0]:g} epochs.",
        Axis("epochs", 0.0, float(EPOCHS)),
        Axis("ε at δ = 1e-5", 0.0, 4.6),
        composed,
        guide=shown,
        guide_label="adding up epochs",
        mark=((float(EPOCHS), total), f"ε ≤ {round_up(total, 3)}"),
    )
    return Charted(
        chart,
        "The longer a dataset is used, the more is revealed. However, privacy losses partly cancel, like steps in "
        "random directions. The sum of the epsilons of all epochs (dashed) is therefore far too large.",
    )


def curve() -> Charted:
    """Every pair of epsilon and delta of the training."""
    plan = training(EPOCHS)
    bound = plan.epsilon()
    points = delta_points(plan, DELTA, bound)
    upper = [(at["epsilon"], at["upper"]) for at in points if at["upper"] > 0]
    chart = Chart(
        "pairs",
        "Delta against epsilon for one training run",
        f"A falling curve on a logarithmic axis, from {round_up(upper[0][1], 3)} at epsilon 0 to "
        f"{round_up(upper[-1][1], 3)} at epsilon {round_up(upper[-1][0], 3)}. The point at delta 1e-5 is marked.",
        Axis("ε", 0.0, upper[-1][0]),
        Axis("δ", 1e-8, 1.0, logarithmic=True),
        upper,
        mark=((bound.upper, DELTA), f"ε ≤ {round_up(bound.upper, 3)} at δ = 1e-5"),
    )
    return Charted(
        chart,
        "All pairs of epsilon and delta of one training run. An epsilon without its delta determines no such pair.",
    )


def attack() -> Charted:
    """The best attack on the training: members found, against outsiders accused."""
    points = band_points("fpr", RATES, training(EPOCHS).profile().tpr(list(RATES)))
    upper = [(at["fpr"], at["upper"]) for at in points]
    found = float(training(EPOCHS).profile().tpr(0.01).upper)
    chart = Chart(
        "attack",
        "Members found by the best possible attack, against outsiders accused wrongly",
        "A rising curve above the dashed line of guessing, on logarithmic axes. The marked point has a share of "
        f"{round_up(found, 3)} of members and a share of 0.01 of outsiders.",
        Axis("share of outsiders who are accused wrongly", upper[0][0], 1.0, logarithmic=True),
        Axis("share of members who are found", upper[0][0], 1.0, logarithmic=True),
        upper,
        guide=[(at["fpr"], at["fpr"]) for at in points],
        guide_label="guessing",
    )
    note = Note((0.01, found), f"1 % accused, {round_up(100 * found, 3)} % found", (-10, -8))
    return Charted(chart, "No attack, known or unknown, can be above this curve.", note)


PICTURES: Mapping[str, Callable[[], Picture | Charted]] = {
    "worlds": worlds,
    "bells": bells,
    "guesses": guesses,
    "sampling": sampling,
    "composition": composition,
    "pairs": curve,
    "attack": attack,
}
"""The pictures of the primer, by name."""
