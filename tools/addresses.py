"""The metadata that depend on where a release is made: the project's addresses, and a README without relative links.

No file of the repository names its public address. Whoever releases sets ``HOCKEYSTICK_ADDRESS`` to it, and hatchling
runs this file while it builds. Without that variable a build has no ``[project.urls]``, and links of the README to
files of the repository are plain words.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

ADDRESS = "HOCKEYSTICK_ADDRESS"
"""The environment variable with the address of the repository, such as ``https://github.com/OWNER/NAME``."""

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")
"""A link to a file of the repository, or a picture that is one."""


def readme(text: str, address: str | None, tag: str) -> str:
    """A README without relative links.

    Args:
        text: the README of the repository.
        address: the address of the repository on GitHub; ``None`` if there is none.
        tag: the tag of the release.
    """
    if address is None:
        return LINK.sub(r"\2", text)
    return LINK.sub(
        lambda link: f"{link[1]}[{link[2]}]({address}/{'raw' if link[1] else 'blob'}/{tag}/{link[3]})", text
    )


def urls(address: str, tag: str) -> dict[str, str]:
    """The table ``[project.urls]``: files of this release, and where faults are reported."""
    files = f"{address}/blob/{tag}"
    return {
        "Source": address,
        "Documentation": f"{address}/tree/{tag}/docs",
        "Changelog": f"{files}/CHANGELOG.md",
        "Security": f"{files}/SECURITY.md",
        "Issues": f"{address}/issues",
    }


class Addresses(MetadataHookInterface):
    """Fills in ``readme`` and ``urls``, which the project file leaves open."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add both to the table ``[project]``; in an unpacked sdist they are those that it was made with."""
        if "readme" in metadata:
            return
        address, tag = os.environ.get(ADDRESS), f"v{metadata['version']}"
        text = readme((Path(self.root) / "README.md").read_text(encoding="utf-8"), address, tag)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        if address is not None:
            metadata["urls"] = urls(address, tag)
