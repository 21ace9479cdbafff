"""The page says how its cells were made, in words and numbers a reader can use."""

import json
from html.parser import HTMLParser

from graphnetz.report import write
from graphnetz.report.page import render_page
from graphnetz.report.pagedata import build_page
from graphnetz.report.provenance import origin_tables, reproduce

PROTOCOLS = {
    "cora": {"optimiser": "adam", "lr": 0.01, "epochs": 3, "patience": None},
    "zinc": {"optimiser": "adam", "lr": 0.001, "epochs": 3, "patience": None},
}


class Words(HTMLParser):
    """The text of a page."""

    def __init__(self, html):
        super().__init__()
        self.text = ""
        self.feed(html)

    def handle_data(self, data):
        self.text += data


def test_configuration_protocols_environment_and_cost_are_tables(mixed):
    mixed.config["protocols"] = PROTOCOLS
    mixed.provenance = {
        "environments": {"abc": {"python": "3.11", "gpu": None, "packages": {"torch": "2.13"}}},
        "dataset_fingerprints": {"cora": "f00"},
        "notes": [],
        "started": "2026-01-01",
    }
    tables = dict(origin_tables(mixed))
    assert list(tables) == [
        "Configuration",
        "Training by task",
        "Run",
        "Environment abc",
        "Fingerprints of the data",
        "Cost",
        "Score against cost",
    ]
    assert tables["Environment abc"].rows == (("python", "3.11"), ("packages: torch", "2.13"))
    training = tables["Training by task"]
    assert training.columns == ("Task", "Learning rate")
    assert training.rows == (("cora", 0.01), ("zinc", 0.001))
    assert training.caption == "Shared by all: optimiser adam, epochs 3."
    first = tables["Cost"].rows[0]
    assert first[:3] == ("cora", "GCN", 10)
    assert first[5] == 100.0  # 1e8 bytes
    text = Words(render_page(build_page(mixed))).text
    assert "{'" not in text  # no Python on the page
    assert "packages: torch" in text


def test_one_command_makes_the_cells_again(mixed, tmp_path):
    assert reproduce(mixed) == ""  # bare scores: nobody here knows
    mixed.config |= {"protocols": PROTOCOLS, "tasks": ["cora", "zinc"], "models": ["GCN"], "seeds": [0, 1]}
    words = reproduce(mixed, tmp_path)
    assert words == "run_benchmark(tasks=['cora', 'zinc'], models=['GCN'], seeds=[0, 1], epochs=3)"
    (tmp_path / "config.toml").write_text("")
    assert reproduce(mixed, tmp_path) == "graphnetz run config.toml --out again"
    mixed.write(tmp_path, figures=False)
    assert "<code>graphnetz run config.toml --out again</code>" in (tmp_path / "report.html").read_text()
    mixed.config["merged"] = ["a b", "c;rm"]
    assert reproduce(mixed) == "graphnetz merge 'a b' 'c;rm' --out again"


def test_the_page_is_there_before_the_figures(mixed, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(write, "write_figures", lambda report, folder: seen.append((tmp_path / "report.html").exists()))
    mixed.write(tmp_path)
    assert seen == [True]
    mixed.write(tmp_path / "none", figures=False)
    assert len(seen) == 1
    assert json.loads((tmp_path / "none" / "results.json").read_text())["seeds"] == list(range(10))
