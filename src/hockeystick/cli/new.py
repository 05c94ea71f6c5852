"""The command ``hockeystick new``, which writes a commented plan file from a few answers and computes its epsilon."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hockeystick.cli import options
from hockeystick.cli.numbers import FALLING, number
from hockeystick.cli.options import flag_of, names_of
from hockeystick.values.errors import InvalidInputError
from hockeystick.values.words import place

if TYPE_CHECKING:
    from hockeystick.plan.plan import Plan

RELEASES = {
    "poisson": "a model trained with DP-SGD on Poisson batches, as Opacus draws them",
    "shuffled": "a model trained with DP-SGD on shuffled batches, as most data loaders make them",
    "laplace": "counts, sums or other numbers with Laplace noise",
    "gaussian": "counts, sums or other numbers with normal noise",
}
"""Answers to the first question."""

TRAINING = ("poisson", "shuffled")
"""Releases that are trained models; the others are numbers."""

LAWS = {
    "laplace": "the Laplace distribution with scale {!r}",
    "gaussian": "the normal distribution with standard deviation {!r}",
}
"""Name of the noise distribution with a place for its parameter, by the key of the release in :data:`RELEASES`."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question whose answer is a number.

    Attributes:
        key: name, with underscores, of the flag that can answer the question instead.
        text: question on a terminal.
        domain: name of the set of allowed answers, which is in ``values/domains.py`` (loaded only when needed).
    """

    key: str
    text: str
    domain: str

    def checked(self, value: float) -> float:
        """Return the answer if it is allowed.

        Raises:
            InvalidInputError: the answer is outside the domain.
        """
        from hockeystick.values import domains

        domain: domains.Domain = getattr(domains, self.domain)
        return domain.check(value, self.key)


RECORDS = Question("dataset_size", "How many records are in the data?", "RECORDS")

OF_TRAINING = (
    RECORDS,
    Question("batch_size", "How many records does a batch contain on average?", "RECORDS"),
    Question("epochs", "How many epochs does the training run for?", "POSITIVE"),
    Question("noise_multiplier", "How much noise is added (standard deviation / clipping norm)?", "NOISE_OR_NONE"),
)
OF_NUMBERS = (
    RECORDS,
    Question(
        "count",
        "To how many of the released numbers does one record contribute? (1 if each record is in one of the counts.)",
        "NUMBERS",
    ),
    Question("sensitivity", "By how much can one record change one of these numbers?", "POSITIVE"),
    Question(
        "noise",
        "How much noise is added (scale of Laplace noise, or standard deviation of normal noise)?",
        "POSITIVE",
    ),
)

TARGET = Question("epsilon", "For which epsilon do you want the noise? (0: the noise is already chosen.)", "EPSILON")
"""Question about the target, before the one about the noise."""

LARGEST_DELTA = 1e-5
"""Largest delta that is chosen for a plan: with few records, 1 / records is no small probability."""

HEAD = """\
# A plan: the noise that protects the data, and how often it is added. Correct what is wrong, then run:
#   hockeystick epsilon {file}
# A plan may have several [[round]] tables; `hockeystick supported` lists the mechanisms and samplings.
# The guarantee protects single records. If one person may have several records, for example 3, add the lines
# unit = "user" and records_per_unit = 3 above the first [[round]].
"""
"""First lines of the file."""

HEAD_OF_NUMBERS = """\
# Numbers of another kind, such as incomes in addition to counts, need another [[round]] with its own scale. If
# numbers about the same people are published every month, multiply count by the number of months.
"""
"""Further lines of the file where numbers are released."""

COMMENTS = {
    "format": "version of this format",
    "adjacency": "neighbouring datasets differ by one added or removed record",
    "delta": "probability with which the epsilon guarantee may fail; far below 1 / records",
    "mechanism": "kind of noise",
    "noise_multiplier": "standard deviation of the noise / largest contribution of one record (the clipping norm)",
    "scale": "scale of the noise / largest contribution of one record",
    "sampling": "how batches are drawn; `hockeystick sampling FILE` compares other ways",
    "batch_size": "average number of records in a batch",
    "dataset_size": "number of records in the data",
    "epochs": "passes over the data",
    "count": "released numbers to which one record contributes",
}
"""Comment on each key."""

SETTINGS = {question.key: question for question in (*OF_TRAINING, *OF_NUMBERS)}
"""All questions but the first, by the key of their flags."""


@click.command()
@click.argument("file", default="plan.toml", type=options.FILE)
@click.option("--release", type=click.Choice(list(RELEASES)), help="What do you release?")
@options.with_options(
    *(options.number_option(*names_of(key), type=number(key), help=item.text) for key, item in SETTINGS.items())
)
@options.number_option("--epsilon", help="Find the noise for this epsilon instead of asking for the noise.")
@options.number_option(
    "--delta", help="Delta; by default, the largest power of ten below 1 / records, but at most 1e-5."
)
def new(file: str, release: str | None, epsilon: float | None, delta: float | None, **given: float | None) -> None:
    """Write a first plan file from your answers to a few questions, or from flags, and compute its epsilon.

    FILE is plan.toml by default. hockeystick reads no data: a plan describes only the noise and the number of records.
    If you give a flag, the command skips the question that the flag answers.

    Example: hockeystick new --release poisson --dataset-size 60000 --batch-size 256 --epochs 60 --epsilon 3
    """
    from hockeystick.report.answer import METHOD
    from hockeystick.values.exact import decimal, towards
    from hockeystick.values.files import write_text

    if Path(file).suffix.lower() != ".toml":
        raise InvalidInputError(f"{place(file)}: name the new plan file with the ending .toml, such as plan.toml")
    if Path(file).exists():
        raise InvalidInputError(f"{place(file)} exists: name another file, such as `hockeystick new second.toml`")
    release = _release() if release is None else release
    *questions, noise = OF_TRAINING if release in TRAINING else OF_NUMBERS
    for key, value in given.items():
        if value is not None and key not in {question.key for question in (*questions, noise)}:
            raise InvalidInputError(f"{flag_of(key)} does not go with --release {release}", key)
        if value is not None and key == noise.key and epsilon is not None:
            raise InvalidInputError(f"give --epsilon or {flag_of(key)}: the one determines the other; received both")
    if delta is not None and release not in TRAINING and given[RECORDS.key] is None:
        questions.remove(RECORDS)  # the number of records would only determine delta
    with options.flag_names():
        answers = {key: SETTINGS[key].checked(value) for key, value in given.items() if value is not None}
    answers |= {item.key: _answer(item) for item in questions if item.key not in answers}
    if epsilon is None and noise.key not in answers:
        epsilon = _answer(TARGET) or None
        if epsilon is None:
            answers[noise.key] = _answer(noise)
    records = answers.get(RECORDS.key)
    if delta is not None and records is not None and delta * records >= 1:
        raise InvalidInputError(
            f"--delta must be below 1 / records = {1 / records:g}, since publishing one record at random has that "
            f"delta; received {delta!r}",
            "delta",
        )
    with options.flag_names():
        plan = _plan(release, answers, delta, epsilon)
    write_text(file, _commented(plan, file, HEAD if release in TRAINING else HEAD + HEAD_OF_NUMBERS))
    click.echo(f"{place(file)} is written. Read it and correct what is wrong.", err=True)
    click.echo(err=True)
    if epsilon is not None and release not in TRAINING:
        relative = getattr(plan.rounds[0].mechanism, _noise_key(plan))
        law = LAWS[release].format(towards(decimal(relative) * decimal(answers["sensitivity"]), True))  # rounded up
        click.echo(f"To each number, add its own noise, drawn from {law}.\n")
    options.answer("epsilon", plan, {"delta": plan.delta_target, **METHOD}, False, "computing epsilon")
    click.echo(f"\nNext: hockeystick report {place(file)} -o report.html", err=True)


def _release() -> str:
    """Ask on the terminal what is released; return the answer, a key of :data:`RELEASES`."""
    lines = [f"  {name:<9} {text}" for name, text in RELEASES.items()]
    click.echo("\n".join(["What do you release?", *lines]), err=True)
    found: str = _asked("release", "Your answer", click.Choice(list(RELEASES)))
    return found


def _answer(question: Question) -> float:
    """Ask a question on the terminal until the answer is a number in its domain; return this number."""

    def read(text: str) -> float:
        try:
            return question.checked(FALLING.convert(text, None, None))
        except InvalidInputError as error:
            raise click.UsageError(str(error)) from None

    found: float = _asked(question.key, question.text, None, read)
    return found


def _asked(key: str, text: str, kind: Any, read: Callable[[str], Any] | None = None) -> Any:
    """Ask a question on the terminal and return the answer.

    Raises:
        InvalidInputError: the input ends without an answer.
    """
    try:
        return click.prompt(text, type=kind, value_proc=read, err=True, prompt_suffix=" ")
    except click.Abort:
        if sys.stdin.isatty():
            raise  # the user interrupted the program
        flag = flag_of(key)
        raise InvalidInputError(f"{flag} is missing: the input ended before its answer; give the flag", key) from None


def _plan(release: str, said: Mapping[str, float], delta: float | None, epsilon: float | None) -> Plan:
    """Return the plan that the answers describe; if ``epsilon`` is given, with the noise that meets it.

    Raises:
        InvalidInputError: an answer is outside its domain.
        UnreachableError: no noise meets the target.
    """
    from hockeystick.plan.dp_sgd import dp_sgd
    from hockeystick.plan.mechanisms.gaussian import Gaussian
    from hockeystick.plan.mechanisms.laplace import Laplace
    from hockeystick.plan.plan import Plan
    from hockeystick.plan.round import Round
    from hockeystick.questions.calibration import calibrate
    from hockeystick.questions.parameters import of_plan
    from hockeystick.questions.targets import Epsilon
    from hockeystick.values import domains
    from hockeystick.values.exact import decimal, towards

    at = min(10.0 ** -len(str(int(said["dataset_size"]))), LARGEST_DELTA) if delta is None else delta
    if release in TRAINING:
        plan = dp_sgd(**{"noise_multiplier": 1.0, **said}, sampling=release, delta=at)  # type: ignore[arg-type]
    else:
        relative = 1.0
        if epsilon is None:  # rounded down, so that privacy is not overstated
            relative = towards(decimal(said["noise"]) / decimal(said["sensitivity"]), False)
            domains.NOISE_OR_NONE.check(relative, "noise / sensitivity")
        mechanism = Laplace(relative) if release == "laplace" else Gaussian(relative)
        plan = Plan([Round(mechanism, count=int(said["count"]))], delta=at)
    if epsilon is None:
        return plan
    key = _noise_key(plan).replace("_", "-")
    found = calibrate(plan, key, Epsilon(epsilon, at))
    return of_plan(found.plan, key)[1](float(f"{found:.7g}"))


def _noise_key(plan: Plan) -> str:
    """Return the name of the noise parameter of the plan's only round, such as ``scale``."""
    key: str = plan.rounds[0].mechanism.noise_key  # type: ignore[attr-defined]  # of noise on a sum
    return key


def _commented(plan: Plan, file: str, head: str) -> str:
    """Return the text of the plan file: ``head``, then the plan with a comment beside each key."""
    from hockeystick.plan.file import plan_text

    lines = plan_text(plan).splitlines()
    width = max(map(len, lines))
    comments = [COMMENTS.get(line.partition(" = ")[0]) for line in lines]
    rows = [f"{line:<{width}}  # {comment}" if comment else line for line, comment in zip(lines, comments, strict=True)]
    return "\n".join([head.format(file=place(file)), *rows, ""])
