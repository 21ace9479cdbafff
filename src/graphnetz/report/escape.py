"""Names come from others: each output format gets them in a form that cannot break or deceive it."""

from __future__ import annotations

import html as _html
import re

from markupsafe import Markup

from graphnetz._core.text import clean as clean
from graphnetz._core.text import shorten as shorten

_LATEX = {
    **{char: f"\\{char}" for char in "{}$&%#_"},
    # A bracket or star that opens a table row would be read as an argument of the line break.
    **{char: f"{{{char}}}" for char in "[]*-"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "±": r"\ensuremath{\pm}",
    "×": r"\ensuremath{\times}",
    "…": r"\dots{}",
    "–": "--",
    "’": "'",
}

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~$-])")


def latex(text: object, *, width: int = 60) -> str:
    r"""Return ``text`` for LaTeX running text, table cells and captions.

    Letters that pdfLaTeX has no font for are spelt as ``{[}U+05D0{]}``, so that the document
    compiles whatever a name holds.

    Examples
    --------
    >>> print(latex("a_b$%"))
    a\_b\$\%
    """
    return "".join(_latex_char(char) for char in shorten(text, width))


def _latex_char(char: str) -> str:
    if char in _LATEX:
        return _LATEX[char]
    code = ord(char)
    if code < 0x7F or (0xC0 <= code <= 0x17F and char.isalpha() and char not in "ĸŉſ"):
        return char
    return f"{{[}}U+{code:04X}{{]}}"


def html_parts(text: object, width: int) -> Markup:
    """Return a name for HTML that may break after an underscore, a hyphen or what was left out.

    A narrow column would break it inside a word, or cut the end by which names differ.
    """
    return Markup("<wbr>").join(re.split(r"(?<=[_…-])(?=\w)", shorten(text, width)))


def html(text: object) -> str:
    """Return ``text`` for HTML content and quoted attributes."""
    return _html.escape(clean(text), quote=True)


def markdown(text: object, *, width: int = 80) -> str:
    """Return ``text`` for Markdown running text and table cells."""
    plain = _html.escape(shorten(text, width), quote=False)
    return _MARKDOWN.sub(r"\\\1", plain)


def csv(text: object) -> str:
    """Return ``text`` for a CSV cell: a leading ``= + - @`` gets a quote, so no spreadsheet runs it."""
    plain = clean(text)
    return "'" + plain if plain[:1] in ("=", "+", "-", "@") else plain


def plot(text: object, *, width: int = 28) -> str:
    r"""Return ``text`` for matplotlib, where a pair of ``$`` would start a formula."""
    plain = shorten(text, width).replace("$", r"\$")
    return " " + plain if plain.startswith("_") else plain  # a leading _ hides a legend entry
