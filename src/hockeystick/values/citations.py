"""The bibliography: the sources behind keys such as ``[ZDW22]`` in docstrings, claims and error messages.

The entries are in ``bibliography.toml`` beside this file. The file is read when a citation is first shown, and not when
the library is imported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

KEY = r"[A-Z][A-Za-z]*\+?[0-9]{2}[a-z]?"
"""Regular expression of one key: letters of the authors' names, a plus if there are more authors, and the year."""

CITED = re.compile(rf"\[({KEY}(?:, {KEY})*)\]")
"""Pattern of a citation: one or several keys in square brackets."""


@dataclass(frozen=True, slots=True)
class Source:
    """An entry of the bibliography.

    Attributes:
        authors: family names, in the order in which they are printed.
        year: year in which ``where`` appeared.
        title: title of the paper or book.
        where: conference, journal or publisher, with its year.
        arxiv: identifier at arXiv, without the prefix "arXiv".
        doi: digital object identifier, if there is no ``arxiv``.
        isbn: International Standard Book Number.
    """

    authors: tuple[str, ...]
    year: int
    title: str
    where: str
    arxiv: str | None = None
    doi: str | None = None
    isbn: str | None = None

    @property
    def identifier(self) -> str:
        """Return the arXiv identifier (``"arXiv 2106.08567"``), the DOI, the ISBN, or else the place of publication."""
        named = {"arXiv": self.arxiv, "doi": self.doi, "ISBN": self.isbn}
        return next((f"{name} {value}" for name, value in named.items() if value is not None), self.where)

    @property
    def address(self) -> str | None:
        """Return the address of the source at arXiv or doi.org; ``None`` without such an identifier."""
        if self.arxiv is not None:
            return f"https://arxiv.org/abs/{self.arxiv}"
        return None if self.doi is None else f"https://doi.org/{self.doi}"


@cache
def bibliography() -> Mapping[str, Source]:
    """Return the entries by their keys, in the order of the file."""
    import tomllib  # late, like the next import, since most programs show no citation
    from importlib import resources

    text = resources.files(__package__).joinpath("bibliography.toml").read_text(encoding="utf-8")
    entries = tomllib.loads(text)
    return {key: Source(**{**entry, "authors": tuple(entry["authors"])}) for key, entry in entries.items()}


def readable(text: str) -> str:
    """Return a text with an identifier of the publication in place of every citation key.

    Args:
        text: any text; keys that are not in the bibliography are left as they are.

    >>> readable("Zhu, Dong, Wang 2022 [ZDW22], Theorem 11")
    'Zhu, Dong, Wang 2022 (arXiv 2106.08567), Theorem 11'
    """
    return CITED.sub(_identified, text)


def _identified(found: re.Match[str]) -> str:
    keys = found[1].split(", ")
    if not all(key in bibliography() for key in keys):
        return found[0]
    return "(" + ", ".join(bibliography()[key].identifier for key in keys) + ")"
