"""RINGS as suites and as a replication: names, published figures, judgements beside ours, and crossed seeds."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from graphnetz import BenchmarkReport
from graphnetz._core.errors import UsageError
from graphnetz.analysis.published import beside
from graphnetz.datasets import SUITES
from graphnetz.papers.replicate import REPLICATIONS
from graphnetz.papers.rings import replication
from graphnetz.papers.rings.suite import CARD_OF, MODES, figures
from graphnetz.records import CellResult, GraphList
from graphnetz.rings import evaluate
from graphnetz.rings.presets import GRANULAR, PRESETS, Tuning, tuning_of

STUDIES = {"rings": ("6", "7"), "rings-regression": ("13",), "rings-transformer": ("15", "16")}


@pytest.mark.parametrize("name", STUDIES)
def test_every_published_figure_is_a_task_of_its_suite(name):
    suite = SUITES[name]
    tasks = {task.name: task for task in suite()}
    rows = suite.published()
    assert {row.table for row in rows} == set(STUDIES[name])
    assert {row.task for row in rows} <= set(tasks)
    assert {row.model for row in rows} <= set(suite.models())
    assert {name.rpartition("@")[2] for name in tasks} == set(MODES)
    assert all(task.seeded == task.name.endswith(("@rg", "@rf")) for task in tasks.values())


def test_figures_are_those_of_the_paper():
    table = {(row.table, row.task, row.model): row.mean for row in figures("13", "15", "16")}
    assert table["13", "zinc@o", "rings.GCN"] == 0.80
    assert table["15", "mutag@rf", "GPS"] == 0.849
    assert table["16", "nci1@cf", "rings.GIN"] == 0.675


def test_listing_imports_no_torch():
    code = "import sys; from graphnetz.datasets import SUITES; print(len(SUITES['rings']()), 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        str(6 * len([card for card in CARD_OF.values() if card not in ("qm9", "zinc")])),
        "False",
    ]


def test_each_published_metric_stands_beside_the_same_metric():
    rng = np.random.default_rng(0)
    cells = [
        CellResult(f"k{s}", "mutag@o", "rings.GIN", s, metrics={"test_auc": 0.9 + x, "test_acc": 0.8 + x})
        for s, x in enumerate(rng.normal(size=12) / 100)
    ]
    report = BenchmarkReport.from_results(
        cells, tasks={"mutag@o": _info()}, models=["rings.GIN"], seeds=range(12), config={}
    )
    found = {row.metric: row for row in beside(report, SUITES["rings"])}
    assert set(found) == {"acc", "auc"}
    assert found["acc"].published == 0.767
    assert found["acc"].ours == pytest.approx(np.mean([cell.metrics["test_acc"] for cell in cells]))
    assert found["auc"].ours == pytest.approx(np.mean([cell.metrics["test_auc"] for cell in cells]))
    assert found["acc"].spread == pytest.approx(np.std([cell.metrics["test_acc"] for cell in cells], ddof=1))


def _info():
    from graphnetz.records.task_info import TaskInfo

    return TaskInfo(metric="test_auc", label="ROC-AUC", greater_is_better=True, replication="resplit")


@pytest.mark.parametrize(
    ("ours", "outcome"), [("uninformative", "shown"), ("informative", "contradicted"), ("undecided", "not shown")]
)
def test_words_of_the_paper_beside_ours(tmp_path, monkeypatch, ours, outcome):
    decided = {"acc": {part: SimpleNamespace(sentence="why.") for part in ("structure", "features")}}
    found = SimpleNamespace(
        verdict="realign", reason="low and high", decisions=decided,
        assessment=SimpleNamespace(structure=ours, features=ours),
    )  # fmt: skip
    monkeypatch.setattr(replication, "_evaluation", lambda folder, card, root: found if card == "aids" else "no cells")
    judged = {item.claim.says: item for item in replication._judged(tmp_path / "rings", None, "data", "published")}
    assert judged["structure of AIDS is uninformative"].outcome == outcome
    assert judged["verdict on AIDS: realign"].outcome == "shown"
    assert judged["verdict on NCI1: keep"].outcome == "not run"
    assert not any("QM9" in says for says in judged)  # those are of the regression suite
    one = list(replication._judged(tmp_path / "rings", "section 4.3", "data", "small"))
    assert {item.claim.table for item in one} == {"section 4.3"}
    assert all(not item.comparable for item in one if item.outcome == "shown")
    assert set(replication.TABLES) == set(REPLICATIONS["rings"].tables)


def shapes(n=24):
    def graph(i):
        end = 3 * (1 - i % 2)
        return Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1, 2], [1, 2, end]]), y=torch.tensor([i % 2]))

    return [graph(i) for i in range(n)]


def test_crossed_seeds_are_those_of_table_12():
    assert PRESETS["crossed"].crossed == GRANULAR
    seeds = {"initialisation": (42, 7), "split": (67, 23), "perturbation": (34, 12)}
    tuning = Tuning(crossed=seeds, epochs=1, runs=4, protocol={"hidden_channels": 8})
    found = evaluate(shapes(), models=("GCN",), modes=("o", "eg", "rf"), tuning=tuning, backend="serial", verbose=False)
    runs = {mode: sorted(s.run for s in found.scores if s.mode == mode and s.metric == "acc") for mode in ("o", "rf")}
    assert runs == {"o": [0, 1, 2, 3], "rf": [0, 1, 2, 3, 4, 5, 6, 7]}
    assert found.rule.splits == 2  # runs of one split are one unit
    assert found.verdict == "undecided" or found.provisional
    with pytest.raises(UsageError, match="Leave runs out"):
        tuning_of(tuning, runs=10)


def test_crossed_runs_share_splits_and_weights():
    from graphnetz import get_split
    from graphnetz.datasets.custom import HeldDataset
    from graphnetz.records import Task
    from graphnetz.rings.crossed import crossed_tasks

    seeds = {"initialisation": (42, 7), "split": (67, 23), "perturbation": (34, 12)}
    task = Task("toy", "graph_cls", HeldDataset(shapes()))
    drawn = crossed_tasks(task, "rf", seeds, test_share=0.25)
    fixed = crossed_tasks(task, "o", seeds, test_share=0.25)
    assert [item.name for item in drawn] == ["toy+0+0@rf", "toy+1+0@rf", "toy+0+1@rf", "toy+1+1@rf"]
    splits = [get_split(item, 42) for item in (*drawn, *fixed)]
    parts = [tuple(split.part("test").tolist()) for split in splits]
    assert parts[0] == parts[2] == parts[4] != parts[1] == parts[3] == parts[5]
    assert get_split(drawn[0], 7).part("test").tolist() == list(parts[0])  # weights vary, the split does not
    own = Task("own", "graph_cls", HeldDataset(GraphList(shapes(), splits=[{"train": [0], "val": [1], "test": [2]}])))
    with pytest.raises(UsageError, match="split of their own"):
        crossed_tasks(own, "o", seeds, test_share=0.25)[0].loader("data")


def test_runs_on_the_one_split_of_a_dataset_are_one_unit(tmp_path, monkeypatch):
    """Weights that start anew on the published split of Peptides are no further splits."""
    from graphnetz.datasets.custom import HeldDataset
    from graphnetz.records import Task

    def cells(folder):
        gap = 0.0 if folder.name.endswith("@o") else 0.3
        scores = [
            {f"{part}_{key}": 0.9 - gap + s / 1000 for part in ("test", "val") for key in ("acc", "auc")}
            for s in range(12)
        ]
        return [CellResult(f"k{s}", folder.name, "rings.GIN", s, metrics=found) for s, found in enumerate(scores)]

    monkeypatch.setattr(replication, "_cells", cells)
    one = {"train": list(range(16)), "val": list(range(16, 20)), "test": list(range(20, 24))}
    for splits, units in ((one, 1), (None, 12)):
        task = Task("toy@o", "graph_cls", HeldDataset(GraphList(shapes(), splits=splits)))
        monkeypatch.setattr(replication, "mode_tasks", lambda names, task=task: [task])
        found = replication._evaluation(tmp_path, "toy", "data")
        assert {item.units for item in found.decisions["acc"]["structure"].against} == {units}
        assert found.assessment.structure == ("undecided" if units == 1 else "informative")
