"""Figures of plans, and of several methods on one plan.

``curve``, ``steps`` and ``tradeoff`` take plans and return a matplotlib figure (``shown.py``);
:func:`save` writes a figure to a file. Underneath, a ``Panel`` describes the content of a figure, and ``drawn`` draws
panels with matplotlib, which the extra ``plot`` installs. The figures that reproduce papers use ``Panel`` and ``drawn``
directly.
"""

from hockeystick.plot.draw import drawn as drawn
from hockeystick.plot.files import checked_ending as checked_ending
from hockeystick.plot.files import need_matplotlib as need_matplotlib
from hockeystick.plot.files import save
from hockeystick.plot.panel import BRACKET as BRACKET
from hockeystick.plot.panel import Line as Line
from hockeystick.plot.panel import Mark as Mark
from hockeystick.plot.panel import Panel as Panel
from hockeystick.plot.plans import curve_panel as curve_panel
from hockeystick.plot.plans import steps_panel as steps_panel
from hockeystick.plot.plans import tradeoff_panel as tradeoff_panel
from hockeystick.plot.shown import curve, steps, tradeoff

__all__ = ["curve", "save", "steps", "tradeoff"]
