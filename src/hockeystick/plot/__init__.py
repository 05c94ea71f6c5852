"""Figures, all of them drawn here: of plans, and of what several methods say of one.

``curve``, ``steps``, ``tradeoff`` and ``compare`` take plans and hand back a figure of matplotlib (``shown.py``). A
figure is described as :class:`Panel` (what is shown), drawn by :func:`drawn` (matplotlib, the extra ``plot``) and
written by :func:`save`.
"""

from hockeystick.plot.draw import drawn
from hockeystick.plot.files import checked_ending, need_matplotlib, save
from hockeystick.plot.panel import BRACKET, Bracket, Line, Mark, Panel
from hockeystick.plot.plans import compare_panel, curve_panel, steps_panel, tradeoff_panel
from hockeystick.plot.schemes import samplings_figure
from hockeystick.plot.shown import compare, curve, steps, tradeoff

__all__ = [
    "BRACKET",
    "Bracket",
    "Line",
    "Mark",
    "Panel",
    "checked_ending",
    "compare",
    "compare_panel",
    "curve",
    "curve_panel",
    "drawn",
    "need_matplotlib",
    "samplings_figure",
    "save",
    "steps",
    "steps_panel",
    "tradeoff",
    "tradeoff_panel",
]
