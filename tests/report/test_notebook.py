"""What a notebook shows: reports, tables, verdicts and comparisons, with every name escaped."""

from html.parser import HTMLParser

import pytest

from graphnetz.records import Figure, Section, Table
from graphnetz.report.compare_runs import compare_reports

EVIL = "</table></script><img src=x onerror=alert(1)>"
BIDI = "\u202egnp.exe"


class Tags(HTMLParser):
    """Opening and closing tags match; what is shown as text is collected."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], set(), ""

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in ("br", "wbr", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def shown(thing):
    page = Tags()
    html = thing._repr_html_()
    page.feed(html)
    page.close()
    assert page.open == []
    assert not page.seen & {"img", "script", "iframe", "link"}
    assert "\u202e" not in html
    return page


@pytest.fixture
def evil(build):
    means = {EVIL: {EVIL: 0.8, BIDI: 0.7, "GCN": 0.6}, BIDI: {EVIL: 0.8, BIDI: 0.7, "GCN": 0.6}}
    return build(means, seeds=5, sd=0.001)


def test_report_shows_verdicts_and_table(evil, mixed):
    page = shown(evil)
    assert "onerror" in page.text  # as text
    assert "0.800" in page.text
    assert {"table", "li", "th"} <= page.seen
    page = shown(mixed)
    assert "GIN is better than every other model" in page.text
    assert "★" in page.text
    assert "n/a" in page.text


def test_verdicts_show_alone_and_together(evil):
    verdicts = evil.verdicts()
    page = shown(verdicts)
    assert all(verdict.text.split("<")[0][:30] in page.text for verdict in verdicts[:1])
    assert page.text.count("Holm over") == sum("Holm over" in verdict.basis for verdict in verdicts)
    assert "table" not in page.seen
    assert str(verdicts).count("\n  - ") == len(verdicts)
    assert isinstance(verdicts, tuple)
    assert "onerror" in shown(next(verdict for verdict in verdicts if verdict.about == EVIL)).text


def test_grid_table_section_and_comparison(evil):
    assert "Mean ± half-width" in shown(evil.grid()).text
    table = Table((EVIL, "x"), ((BIDI, 1.23456789), (None, float("nan")), (True, 3)), EVIL)
    page = shown(table)
    assert "1.235" in page.text
    assert "n/a" in page.text
    assert "yes" in page.text
    section = Section("a", EVIL, BIDI, (EVIL,), (table,), (Figure("bar", {}, EVIL),))
    assert "On the page also" in shown(section).text
    page = shown(compare_reports(evil, evil))
    assert "identical" in page.text
    assert page.text.count("test_acc") == 6


def test_suites_cards_and_recommendations_have_views():
    from dataclasses import replace

    import networkx as nx

    from graphnetz.datasets import CARDS, SUITES
    from graphnetz.records import Suite
    from graphnetz.records.task import Task
    from graphnetz.selection import recommend

    page = shown(SUITES["quick"])
    assert all(task.name in page.text for task in SUITES["quick"]())
    assert "onerror" in shown(Suite(EVIL, lambda: [Task(EVIL, "node_cls", print)], citation=EVIL)).text
    page = shown(replace(CARDS["cora"], title=EVIL, notes=(BIDI, EVIL)))
    assert "node_cls" in page.text
    assert "onerror" in page.text
    found = recommend(nx.karate_club_graph(), "link_pred", top=3)
    page = shown(found)
    assert all(choice.name in page.text for choice in found.choices)
