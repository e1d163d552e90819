"""Sphinx: the guides and the reference of the Python package. scripts/docs.sh lays out its sources."""
import re

import motte

project = "Motte"
author = "The authors of Motte"
project_copyright = author
release = version = motte.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = f"Motte {release}"
html_copy_source = False
exclude_patterns = ["bindings/python/build"]

# Headings get the anchors that other renderers of Markdown give them, which links in the documents use.
myst_heading_anchors = 4
myst_enable_extensions = ["tasklist"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True}
# The highlighter knows no key paths of Swift.
suppress_warnings = ["misc.highlighting_failure"]
# Languages of examples that no highlighter knows.
PLAIN = {"case", "query"}


def plain_examples(app, docname, source):
    source[0] = re.sub(rf"(?m)^```({'|'.join(PLAIN)})\b.*$", "```text", source[0])


def written_like_guides(app, what, name, thing, options, lines):
    """Docstrings have the marks of the guides: `code`, and examples that are indented behind a blank line."""
    text = re.sub(r"(?<!`)`([^`]+)`(?!`)", lambda code: f"``{' '.join(code[1].split())}``", "\n".join(lines))
    # An indented block behind a blank line is an example; its first line is the one that is indented.
    text = re.sub(r"(?m)^(\S.*\n)\n(?=    )", r"\1\n::\n\n", text)
    lines[:] = text.split("\n")


def setup(app):
    app.connect("source-read", plain_examples)
    app.connect("autodoc-process-docstring", written_like_guides)
    return {"parallel_read_safe": True}
