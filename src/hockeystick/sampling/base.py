"""What a sampling scheme has to say for itself: which theorem turns a mechanism's pair into that of a sampled round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from hockeystick.adjacency import Direction
from hockeystick.mechanisms.base import Claim, Mechanism
from hockeystick.pairs import DominatingPair


class Sampling(ABC):
    """How the records of one round are chosen.

    Attributes:
        name: the plan file's name for it.
        assumption: one line for people: what the loader must do for the number to be valid.
    """

    name: ClassVar[str]
    assumption: ClassVar[str]

    @classmethod
    @abstractmethod
    def claim(cls, mechanism: type[Mechanism], direction: Direction) -> Claim:
        """Whether the combination is supported, and why."""

    @abstractmethod
    def pair(self, mechanism: Mechanism, direction: Direction) -> DominatingPair:
        """The dominating pair of one round; only where :meth:`claim` does not refuse."""

    @property
    def dataset_records(self) -> int | None:
        """Number of records of the dataset, where the scheme knows it."""
        return None
