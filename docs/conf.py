"""Sphinx: how the documentation is built. `make docs` runs it with warnings as errors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tools"))

project = "hockeystick"
author = "The hockeystick authors"
copyright = author

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "breakable",
    "mathml",
    "outside",
    "stacked",
]
html_math_renderer = "mathml"
exclude_patterns = ["_build", "generated/*.md"]
templates_path = ["_templates"]
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

html_theme = "pydata_sphinx_theme"
html_title = project
html_static_path = ["_static"]
html_css_files = ["hockeystick.css"]
html_js_files = [("sortable.js", {"defer": "defer"})]
html_sidebars = {"**": ["contents"]}
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "navbar_center": [],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": [],
    "footer_end": [],
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
pygments_style = "friendly"


def setup(app: Any) -> None:
    """Write the generated pages before any page is read, and take the version from the package."""
    import pages

    import hockeystick

    app.config.version = app.config.release = hockeystick.__version__
    app.connect("builder-inited", lambda _: pages.write(HERE / "generated"))
    app.connect("doctree-read", lambda _, doctree: without_blank_ends(doctree))
    app.connect("doctree-read", lambda app, doctree: with_links_to_sources(app, doctree))


def with_links_to_sources(app: Any, doctree: Any) -> None:
    """Make every key of the bibliography that a page or a docstring cites a link to its entry."""
    from docutils import nodes

    if app.env.docname == "bibliography":
        return
    for text in list(doctree.findall(nodes.Text)):
        if not isinstance(text.parent, nodes.literal | nodes.literal_block | nodes.reference | nodes.math):
            linked = list(_linked(str(text), app.env.docname))
            if len(linked) > 1:
                text.parent.replace(text, linked)


def _linked(text: str, docname: str) -> Iterator[Any]:
    import pages
    from docutils import nodes
    from sphinx.addnodes import pending_xref

    from hockeystick.values.citations import CITED, bibliography

    end = 0
    for found in CITED.finditer(text):
        keys = found[1].split(", ")
        if not all(key in bibliography() for key in keys):
            continue
        yield nodes.Text(text[end : found.start()] + "[")
        for number, key in enumerate(keys):
            if number:
                yield nodes.Text(", ")
            target = {"refdomain": "std", "reftype": "ref", "reftarget": pages.anchor(key), "refexplicit": True}
            yield pending_xref("", nodes.inline(key, key), refdoc=docname, refwarn=True, **target)
        yield nodes.Text("]")
        end = found.end()
    yield nodes.Text(text[end:])


def without_blank_ends(doctree: Any) -> None:
    """Drop the empty line with which an example has to end for doctest to find its end."""
    from docutils import nodes

    for block in doctree.findall(nodes.literal_block):
        text = block.astext()
        if text.endswith("\n"):
            block.rawsource = text.rstrip("\n")
            block[:] = [nodes.Text(block.rawsource)]
