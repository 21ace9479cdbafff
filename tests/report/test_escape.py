"""Names from others cannot break or deceive any output format."""

import csv as csv_module
import html as html_module
import io
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphnetz.cli.show import console_of, print_table
from graphnetz.report import escape

HOSTILE = (
    "a_b$%",
    "</script><img src=x onerror=alert(1)>",
    "=cmd()",
    "[red]",
    "x" * 300,
    "\u202egnitset\u202c",
    "שלום עולם",
    "a\x00b\x1b[31m\nc",
    "\\input{/etc/passwd}",
    "_hidden",
    "| a | b |",
    "**bold** `code`",
    "-1+2",
    "\ud800",
)


@given(st.text())
def test_clean_leaves_no_control_or_direction_character(text):
    out = escape.clean(text)
    for char in out:
        assert unicodedata.category(char) not in ("Cc", "Cs")
        assert char not in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"
    assert escape.clean(out) == out


@given(st.text(), st.integers(5, 60))
def test_shorten_keeps_both_ends_within_the_width(text, width):
    plain, out = escape.clean(text), escape.shorten(text, width)
    assert len(out) <= width
    if len(plain) <= width:
        assert out == plain
    else:
        assert out[0] == plain[0]
        assert out[-1] == plain[-1]


@given(st.text(max_size=40))
def test_latex_leaves_no_active_character(text):
    out = escape.latex(text)
    # Take away the replacements; what remains must be inert and ASCII or Latin letters.
    rest = re.sub(r"\\(text[a-z]+|dots|ensuremath)\{(\\pm|\\times)?\}|\\[{}$&%#_]|\{[\[\]*-]\}", "", out)
    assert not set(rest) & set("\\{}$&%#_~^<>|`[]*")
    assert all(ord(c) < 0x180 for c in rest)


def test_latex_known_texts():
    assert escape.latex("a_b$%") == r"a\_b\$\%"
    assert escape.latex("Demšar é") == "Demšar é"
    assert escape.latex("א") == "{[}U+05D0{]}"


@given(st.text())
def test_html_round_trips_and_holds_no_markup(text):
    out = escape.html(text)
    assert not set("<>\"'") & set(out)
    assert html_module.unescape(out) == html_module.unescape(escape.html(escape.clean(text)))


@pytest.mark.parametrize("name", HOSTILE)
def test_csv_is_never_a_formula_and_stays_one_cell(name):
    out = escape.csv(name)
    assert out[:1] not in ("=", "+", "-", "@")
    buffer = io.StringIO()
    csv_module.writer(buffer).writerow([out, "next"])
    assert next(csv_module.reader(io.StringIO(buffer.getvalue()))) == [out, "next"]


@pytest.mark.parametrize("name", ["[red]x", "a\\[b]", "a\\\\", ":smile:", "[/]", "[link=x]y[/link]"])
def test_the_terminal_shows_the_name_itself(name, capsys):
    print_table(console_of(120), ["task"], [[name]])
    console_of(120).print(name)
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == ["task", name, name]


@given(st.text(alphabet="a$\\_{}^", max_size=12))
def test_matplotlib_never_parses_a_formula(text):
    from matplotlib.text import Text as MplText

    out = escape.plot(text)
    shown, is_math = MplText()._preprocess_math(out)
    assert not is_math
    assert shown.strip() == escape.shorten(text, 28).strip()


def test_markdown_does_not_open_cells_or_tags():
    out = escape.markdown("a|b <img> [x](y) *z*")
    assert "<" not in out
    assert re.search(r"(?<!\\)[|*\[\]()]", out) is None
