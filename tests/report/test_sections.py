"""Sections as files of a run folder enter the report; what is not a section is refused or named."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphnetz._core.errors import DataError
from graphnetz.cli.app import run_app
from graphnetz.cli.load import load_report
from graphnetz.records import Figure, Section, Table
from graphnetz.report.page import render_page
from graphnetz.report.pagedata import build_page
from graphnetz.report.sections import read_sections, write_section

EVIL = "</script><img src=x onerror=alert(1)>"


def audit(**changes):
    body = {
        "name": "audit-cora",
        "title": f"Audit {EVIL}",
        "verdict": "Two rows leak.",
        "paragraphs": ("Words.",),
        "tables": (Table(("what", "rows"), (("leak", 2), ("copy", None), (EVIL, float("nan")))),),
        "figures": (Figure("bar", {"labels": ["a"], "values": [1.0]}, "Bars"),),
        "level": "warning",
        "extra": {"n": 2},
    }
    return Section(**(body | changes))


def test_a_section_file_enters_page_and_results(mixed, tmp_path):
    mixed.write(tmp_path, figures=False)
    write_section(tmp_path, audit())
    assert run_app(["report", str(tmp_path), "--no-figures"]) == 1  # a cell of it failed
    page = (tmp_path / "report.html").read_text()
    assert "Two rows leak." in page
    assert EVIL not in page
    assert page.index("Fitness") < page.index("Two rows leak.") < page.index('id="methods"')
    names = [s["name"] for s in json.loads((tmp_path / "results.json").read_text())["sections"]]
    assert names == ["rings", "audit-cora"]
    # A newer file replaces what an older report held.
    write_section(tmp_path, audit(verdict="Nothing leaks."))
    assert "Nothing leaks." in [s.verdict for s in load_report(tmp_path).sections]
    assert len(load_report(tmp_path).sections) == 2


def test_a_report_written_elsewhere_takes_no_section_along(mixed, tmp_path):
    write_section(tmp_path / "a", audit())
    mixed.write(tmp_path / "a", figures=False)
    mixed.write(tmp_path / "b", figures=False)
    assert "Two rows leak." in (tmp_path / "a" / "report.html").read_text()
    assert "Two rows leak." not in (tmp_path / "b" / "report.html").read_text()


def test_files_come_back_as_written_and_names_stay_apart(tmp_path):
    assert read_sections(tmp_path) == []
    odd = ["a/b", "a-b", "../../etc/x", "x" * 300, "שלום"]
    paths = {write_section(tmp_path, audit(name=name)) for name in odd}
    assert len(paths) == len(odd)
    assert {path.parent for path in paths} == {tmp_path / "sections"}
    found = {section.name: section for section in read_sections(tmp_path)}
    assert set(found) == set(odd)
    assert found["a-b"].tables[0].rows == (("leak", 2), ("copy", None), (EVIL, None))
    assert found["a-b"].figures == audit().figures


BAD = {
    "no JSON": "{",
    "a list": "[]",
    "another schema": json.dumps({"schema": "x", "schema_version": 1, "name": "a", "title": "b"}),
    "no title": json.dumps({"schema": "graphnetz.section", "schema_version": 1, "name": "a"}),
    "ragged": json.dumps(
        {"schema": "graphnetz.section", "schema_version": 1, "name": "a", "title": "b",
         "tables": [{"columns": ["x"], "rows": [[1, 2]]}]}
    ),
    "nested": json.dumps(
        {"schema": "graphnetz.section", "schema_version": 1, "name": "a", "title": "b",
         "tables": [{"columns": ["x"], "rows": [[{"y": 1}]]}]}
    ),
    "a huge figure": json.dumps(
        {"schema": "graphnetz.section", "schema_version": 1, "name": "a", "title": "b",
         "figures": [{"kind": "bar", "data": {"values": [0] * 10_001}}]}
    ),
    "deep": '{"schema":"graphnetz.section","schema_version":1,"name":"a","title":"b","extra":{"x":' + "[" * 200_000,
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_is_named_and_does_not_cost_the_report(mixed, tmp_path, kind):
    bad = tmp_path / "sections" / "bad.json"
    bad.parent.mkdir()
    bad.write_text(BAD[kind])
    with pytest.raises(DataError, match=r"bad\.json"):
        read_sections(tmp_path)
    (note,) = read_sections(tmp_path, strict=False)
    assert note.level == "warning"
    assert "bad.json" in note.verdict


def test_the_note_about_a_bad_file_ends_when_it_is_mended(mixed, tmp_path):
    bad = tmp_path / "sections" / "bad.json"
    bad.parent.mkdir()
    bad.write_text("{")
    mixed.write(tmp_path, figures=False)
    assert "A section that was not read" in (tmp_path / "report.html").read_text()
    bad.unlink()
    load_report(tmp_path).write(tmp_path, figures=False)
    assert "A section that was not read" not in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("data", [{}, {"labels": ["a"], "values": ["x"]}, {"labels": 3, "values": [1]}])
def test_a_figure_with_wrong_data_is_named_on_the_page(mixed, tmp_path, data):
    write_section(tmp_path, audit(figures=(Figure("bar", data, "Bars"),)))
    assert "not drawn: its data does not suit" in render_page(build_page(mixed, sections=read_sections(tmp_path)))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
KEYS = ("name", "title", "verdict", "paragraphs", "tables", "figures", "level", "extra")


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), JSON))
def test_any_json_is_a_section_or_a_data_error(raw):
    try:
        section = Section.from_json(raw)
    except DataError:
        return
    assert Section.from_json(section.to_json()) == section
