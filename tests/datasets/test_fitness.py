"""What RINGS found about datasets reaches their cards and the reports that use them."""

import csv
import importlib
import json
from pathlib import Path

import pytest

from graphnetz import run_benchmark
from graphnetz.datasets import CARDS, find_task
from graphnetz.datasets.fitness import NEED, fitness_of, fitness_section
from graphnetz.records import DatasetCard, Task
from graphnetz.rings import perturb_task

ROOT = Path(__file__).resolve().parents[2]


def test_the_shipped_table_is_made_of_the_kept_runs(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    evidence = importlib.import_module("rings_evidence")
    shipped = evidence.SHIPPED.read_text(encoding="utf-8")
    monkeypatch.setattr(evidence, "SHIPPED", tmp_path / "fitness.csv")
    evidence.ship(None)
    assert (tmp_path / "fitness.csv").read_text(encoding="utf-8") == shipped
    files = [json.loads(path.read_text(encoding="utf-8")) for path in evidence.KEPT.glob("*.json")]
    kept = sorted(
        (
            body.get("title", body["facts"]["dataset"]),
            body.get("task_type", "graph_cls"),
            evidence.splits_in_words(body),
        )
        for body in files
    )
    rows = csv.DictReader(shipped.splitlines())
    assert sorted((row["dataset"], row["task_type"], row["splits"]) for row in rows) == kept


def test_words_for_every_finding():
    rows = (ROOT / "src" / "graphnetz" / "datasets" / "fitness.csv").read_text(encoding="utf-8").splitlines()
    for row in csv.DictReader(rows):
        assert {row["structure"], row["node_features"]} <= set(NEED)


def test_what_was_found_is_said_of_its_task_and_its_splits():
    found = fitness_of(CARDS["karate_club"], "node_cls")
    assert found.sentence.endswith("(RINGS; GCN, 20 runs per mode on 10 fixed splits)")
    assert "what stands in for node features that it lacks is not needed" in found.sentence
    assert "its node features are" in fitness_of(CARDS["mutag"]).sentence
    assert fitness_of(CARDS["karate_club"], "link_pred") is None
    section = fitness_section([find_task("mutag"), find_task("imdb_multi")])
    assert section.verdict == "imdb_multi (GIN): shown not to need the graph."


def test_other_features_are_other_data():
    mutag = CARDS["mutag"]
    assert fitness_of(mutag).dataset == "MUTAG"
    narrow = DatasetCard("mutag", "biology", {"graph_cls": 1}, mutag.loader, title="MUTAG", features=3)
    assert fitness_of(narrow) is None
    assert fitness_of(None) is None


def test_perturbed_data_are_not_the_dataset():
    task = find_task("mutag")
    assert fitness_section([task]).tables[0].rows[0][0] == "mutag"
    assert fitness_section([perturb_task(task, "eg")]) is None


@pytest.mark.parametrize("known", [True, False])
def test_a_report_says_what_is_known_about_its_dataset(known):
    import torch
    from torch_geometric.data import Data

    def load(root):
        return [
            Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([i % 2])) for i in range(20)
        ]

    card = DatasetCard("toy", "biology", {"graph_cls": 1}, load, title="MUTAG", features=7 if known else 3)
    report = run_benchmark(
        tasks=[Task("toy", "graph_cls", load, 1, card=card)], models="GCN", seeds=2, backend="serial", verbose=False
    )
    found = [section for section in report.sections if section.name == "fitness"]
    assert [section.tables[0].rows[0][:2] for section in found] == ([("toy", "realign")] if known else [])
