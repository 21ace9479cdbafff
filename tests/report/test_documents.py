"""LaTeX, CSV, Markdown and the page."""

import base64
import csv
import hashlib
import io
import math
import re
from html.parser import HTMLParser

import pytest

from graphnetz._core.text import number, p_value
from graphnetz.records import Figure, Section, Table
from graphnetz.records.analysis import Comparison, Verdict
from graphnetz.records.headline import Headline
from graphnetz.records.views import CellView, Grid, TaskRow
from graphnetz.report import latex, tables
from graphnetz.report.page import PageData, TaskCard, render_fragment, render_page

EVIL = "</script><img src=x onerror=alert(1)>"
NAMES = (EVIL, "a_b$%", "=cmd()", "[red]", "y" * 300, "\u202eevil", "שלום")


def make_grid():
    cells = [CellView(0.8, 0.79, 0.81, 0.01, 10, "best"), CellView(0.79, 0.78, 0.8, 0.01, 10, "tied")]
    cells += [CellView(note=name) for name in NAMES[2:]]
    rows = tuple(TaskRow(name, "Test accuracy", True, tuple(cells), "cat") for name in NAMES)
    return Grid(NAMES, rows, n_seeds=10, tie_rule="cannot be told apart")


def both_of(**found):
    return Comparison("t", "a", "b", True, 5, 0.1, **found)


def check_latex(text):
    """Balanced braces and environments, no raw special character, the same number of cells in every row."""
    depth = 0
    for i, char in enumerate(text):
        if char in "{}" and text[i - 1] != "\\":
            depth += 1 if char == "{" else -1
            assert depth >= 0
    assert depth == 0
    assert re.findall(r"\\begin\{(\w+)\}", text) == re.findall(r"\\end\{(\w+)\}", text)[::-1]
    for table in re.findall(r"\\toprule\n(.*?)\\bottomrule", text, flags=re.S):
        rows = [line for line in table.splitlines() if line.endswith(r"\\")]
        assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) == 1
        for row in rows:
            assert re.search(r"(?<!\\)[#_%](?!\{)", re.sub(r"\$[^$]*(?<!\\)\$", "", row)) is None
            assert not row.startswith(("[", "*"))
    body = text.split("\\begin{table}")[1]
    assert all(ord(c) < 0x180 for c in body)


def test_summary_table_is_sound_latex():
    text = latex.summary_latex(make_grid())
    check_latex(text)
    assert r"\cellcolor{khaki}$\mathbf{0.800 \pm 0.010}$" in text
    assert r"\cellcolor{almond}$0.790 \pm 0.010$" in text
    assert r"\textit{n/a}" in text
    assert "picked from the same data" in text
    plain = latex.summary_latex(make_grid(), bold_best=False, caption="my_caption", label="tab:x_y")
    check_latex(plain)
    assert "cellcolor" not in plain
    assert r"my\_caption" in plain


def test_pairwise_tables_are_sound_latex():
    pairs = [
        Comparison(t, "a_b", EVIL, True, 10, 0.1, dz=2.0, p_decided=p, sim_low=0.05, sim_high=0.15, different=p < 0.05)
        for t in NAMES
        for p in (1e-9, 0.3, math.nan)
    ]
    text = latex.pairwise_latex(pairs)
    check_latex(text)
    assert r"\cellcolor{khaki}$1\cdot 10^{-9}$" in text
    assert "Holm correction within each task" in text
    both = latex.both_latex([(both_of(p_adjusted=0.01), both_of(p_adjusted=0.2, smallest_adjusted=0.1))])
    check_latex(both)
    assert r"$^\dagger$" in both
    assert "& no" in both


def test_csv_round_trips_numbers_and_guards_names():
    text = tables.csv_text(["name", "x", "ok"], [["=1+1", 0.1, True], ["b", math.nan, False], [None, -2.5e-7, True]])
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[1] == ["'=1+1", "0.1", "true"]
    assert rows[2] == ["b", "", "false"]
    assert float(rows[3][1]) == -2.5e-7


def test_markdown_keeps_one_cell_per_column():
    text = tables.summary_markdown(make_grid(), title="t|x", verdicts=[Verdict("tied", "t", "<b>a</b> is *best*")])
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
    assert "<" not in text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.8, "0.800"), (1e-6, "1.0e-06"), (123456.0, "1.23e+05"), (0.0, "0.000"), (math.nan, "n/a"), (-math.inf, "-inf")],
)
def test_number(value, text):
    assert number(value) == text


def test_p_value():
    assert p_value(3.58e-05) == "3.58e-05"
    assert p_value(0.0117) == "0.0117"
    assert p_value(math.nan) == "n/a"


class Inspector(HTMLParser):
    """Collects tags, attributes and text, and checks that tags close."""

    VOID = frozenset({"meta", "img", "link", "br", "wbr"})

    def __init__(self):
        super().__init__()
        self.tags, self.stack, self.words, self.attributes = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, key, value) for key, value in attrs]
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def page(**changes):
    section = Section(
        EVIL,
        EVIL,
        EVIL,
        (EVIL,),
        (Table((EVIL, "n"), ((EVIL, 1.5), (None, True)), EVIL),),
        (Figure("bar", {"labels": [EVIL], "values": [1]}, EVIL), Figure("unknown", {}, "c")),
    )
    data = {
        "title": EVIL,
        "facts": (("Tasks", EVIL),),
        "verdicts": (Verdict("tied", EVIL, EVIL, EVIL),),
        "grid": make_grid(),
        "order": tuple(range(len(NAMES))),
        "headline": Headline(*[Verdict("tied", EVIL, EVIL)] * 3),
        "cards": tuple(
            TaskCard(i, row, Verdict("tied", EVIL, EVIL), (Verdict("tied", EVIL, EVIL, EVIL),))
            for i, row in enumerate(make_grid().rows)
        ),
        "files": (("Tables", ("a b.csv", "javascript:alert(1).csv"), 3),),
        "absent": ((EVIL, EVIL, EVIL),),
        "failures": Table(("Task",), ((EVIL,),)),
        "sections": (section,),
        "methods": (EVIL,),
        "provenance": ((EVIL, Table(("Key", "Value"), ((EVIL, EVIL),))),),
    }
    return render_page(PageData(**{**data, **changes}))


def test_page_escapes_names_and_loads_nothing():
    text = page()
    found = Inspector()
    found.feed(text)
    found.close()
    assert found.stack == []
    assert found.tags.count("script") == 1  # ours, hashed in the policy
    assert not [a for a in found.attributes if a[1].startswith("on") or a[1] == "style"]
    images = [value for tag, key, value in found.attributes if tag == "img" and key == "src"]
    assert images
    assert all(value.startswith("data:image/svg+xml;base64,") for value in images)
    links = [value for tag, key, value in found.attributes if key == "href" and not value.startswith("#")]
    assert links == ["a%20b.csv", "javascript%3Aalert%281%29.csv"]  # files of the folder, and no other scheme
    assert any(EVIL in words for words in found.words)  # shown, not run
    assert "\u202e" not in text


def test_page_policy_covers_its_own_style_and_script_only():
    text = page()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1).replace("&#39;", "'")
    for tag in ("style", "script"):
        (body,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, flags=re.S)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_page_without_optional_parts_and_unknown_figure_kind():
    text = page(absent=(), failures=None, sections=(), provenance=())
    assert 'id="failures"' not in text
    assert "Unknown figure kind" in page()


def test_every_anchor_has_a_target():
    text = page()
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)


def test_fragment_escapes():
    text = render_fragment(make_grid(), [Verdict("tied", EVIL, EVIL)])
    assert "<img" not in text
