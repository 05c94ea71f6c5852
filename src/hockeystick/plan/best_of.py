"""That the best of a random number of runs is released, as a plan says it: law, mean and shape of the number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hockeystick.values import domains
from hockeystick.values.errors import InvalidInputError

Runs = Literal["geometric", "logarithmic", "negative-binomial", "poisson"]

RUNS: tuple[Runs, ...] = ("geometric", "logarithmic", "negative-binomial", "poisson")
"""The laws of the number of runs."""

SHAPES = {"geometric": 1.0, "logarithmic": 0.0}
"""The shape eta of the truncated negative binomial laws that have a name of their own."""

MEAN = domains.Domain("a number greater than 0 and at most 1e12", {"exclusiveMinimum": 0, "maximum": 1e12}).of(
    "expected number of runs"
)
"""The expected numbers of runs."""

SHAPE = domains.Domain("a number greater than -1 and at most 1e6", {"exclusiveMinimum": -1, "maximum": 1e6}).of(
    "shape of the law of runs"
)
"""The shapes of a truncated negative binomial law."""

SECRET = "the number of runs is drawn anew from its law, is not published, and nothing but the best run is released"  # noqa: S105
"""What every answer assumes of the program."""


@dataclass(frozen=True)
class BestOf:
    """The release of the best of a random number of runs.

    Args:
        runs: the law of the number of runs: ``"geometric"`` and ``"logarithmic"`` on 1, 2, ...;
            ``"negative-binomial"``, of which these are the shapes 1 and 0; or ``"poisson"``, under which there may be
            none.
        mean: the expected number of runs; above 1 but for ``"poisson"``.
        shape: of ``"negative-binomial"``, greater than -1.

    Raises:
        InvalidInputError: an unknown law, a mean or a shape outside its domain, or a shape of another law.

    >>> BestOf("geometric", 20).keys()
    {'runs': 'geometric', 'mean': 20.0}
    """

    runs: Runs
    mean: float
    shape: float | None = None

    def __post_init__(self) -> None:
        if self.runs not in RUNS:
            raise InvalidInputError(domains.choice("runs", self.runs, RUNS), "runs")
        if (self.shape is None) == (self.runs == "negative-binomial"):
            raise InvalidInputError(
                "shape belongs to runs 'negative-binomial', and to no other law; received runs "
                f"{self.runs!r} and shape {domains.shown(self.shape)}",
                "shape",
            )
        object.__setattr__(self, "mean", MEAN.check(self.mean, "mean"))
        if self.shape is not None:
            object.__setattr__(self, "shape", SHAPE.check(self.shape, "shape"))
        if self.runs != "poisson" and not self.mean > 1:
            raise InvalidInputError(
                f"mean must be greater than 1 with runs {self.runs!r}, of which there is at least one; received "
                f"{self.mean!r}",
                "mean",
            )

    @property
    def eta(self) -> float | None:
        """The shape, also of laws with a name of their own; ``None`` for ``"poisson"``."""
        return SHAPES.get(self.runs) if self.shape is None else self.shape

    def keys(self) -> dict[str, Any]:
        """The keys of the table ``[selection]`` of a plan file."""
        keys = {"runs": self.runs, "mean": self.mean}
        return keys if self.shape is None else {**keys, "shape": self.shape}
