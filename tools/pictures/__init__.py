"""The pictures of the documentation, drawn when it is built: each page that shows one includes the file of its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pictures import front, primer
from pictures.drawing import Charted, Picture
from pictures.plans import privacy_curve as privacy_curve

PICTURES: Mapping[str, Callable[[], Picture | Charted]] = {
    **primer.PICTURES,
    **front.PICTURES,
}
"""All pictures of pages by name; the file of each is ``generated/picture-NAME.html``."""
