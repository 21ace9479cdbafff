"""The public contract suites find what they are for: one planted fault for each promise that is easily broken."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from graphnetz import register_model, testing
from graphnetz.datasets.cards import CARDS, dataset
from graphnetz.engine.executors import EXECUTORS, SerialExecutor
from graphnetz.engine.trackers import LOGGERS
from graphnetz.metrics import METRICS, metric
from graphnetz.models import MODELS
from graphnetz.rings import PERTURBATIONS, perturbation
from graphnetz.selection import SELECTORS
from graphnetz.selection.selectors.base import Selector
from graphnetz.stats import CORRECTIONS, INTERVALS, PAIRED_TESTS
from graphnetz.stats.paired import TestOutcome, student_test
from graphnetz.tasktypes import TASK_TYPES, task_type
from graphnetz.tasktypes.node_cls import NodeClassification

HOMES = {
    "metric": METRICS, "paired_test": PAIRED_TESTS, "interval": INTERVALS, "correction": CORRECTIONS,
    "model": MODELS, "dataset": CARDS, "perturbation": PERTURBATIONS, "selector": SELECTORS, "executor": EXECUTORS,
    "tracker": LOGGERS, "task_type": TASK_TYPES,
}  # fmt: skip


@pytest.fixture
def refused():
    """Check the entry called 'wrong' and match the sentence it is refused with; take it out again."""

    def check(kind, words, **options):
        try:
            with pytest.raises(AssertionError, match=words):
                getattr(testing, f"check_{kind}")("wrong", **options)
        finally:
            HOMES[kind].remove("wrong")

    return check


def test_statistics(refused):
    @PAIRED_TESTS.register("wrong")
    def bold(differences, test_ratio):
        found = student_test(differences, 0.0)
        return TestOutcome(found.statistic, found.p / 2, found.n_used, 0.0, found.reason)

    refused("paired_test", "without an effect significant")

    @PAIRED_TESTS.register("wrong")
    def one_sided(differences, test_ratio):
        p = student_test(differences, 0.0).p / 2
        return TestOutcome(0.0, p if differences.values.mean() > 0 else 1 - p, differences.n, 0.0)

    refused("paired_test", "for b and a")
    INTERVALS.add("wrong", lambda x, level, n, seed: (x.mean() - x.std() * level / 9, x.mean() + x.std() * level / 9))
    refused("interval", "holds the true mean in")
    CORRECTIONS.add("wrong", lambda p: np.minimum(p * p.size, 1.0))
    refused("correction", "mixes families")
    metric("wrong", "Wrong", greater_is_better=False, bounds=(0.0, 1.0))(METRICS["acc"].compute)
    refused("metric", "turn its direction")
    metric("wrong", "Wrong", greater_is_better=True, bounds=(0.0, 0.5))(METRICS["acc"].compute)
    refused("metric", "leaves")


class Rows(torch.nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.layer = torch.nn.Linear(in_channels, out_channels)

    def forward(self, data):
        return self.layer(data.x)


def test_models(refused):
    class Restless(Rows):
        def forward(self, data):
            return super().forward(data) + float(np.random.default_rng().random())

    register_model(Restless, name="wrong", task_type="node_cls")
    refused("model", "other outputs on node_cls")

    class Peeking:
        def fit(self, split, rng):
            self.answers = split.targets

        def score(self, split):
            return {part: np.eye(2)[self.answers[part]] for part in ("val", "test")}

    register_model(Peeking, name="wrong", task_type="node_cls")
    refused("model", "reads the true values of the test set")

    class Writing(Rows):
        def forward(self, data):
            data.x.mul_(0.5)
            return super().forward(data)

    register_model(Writing, name="wrong", task_type="node_cls")
    refused("model", "changes the data|other outputs")


def test_task_types(refused):
    @task_type
    class Drawn(NodeClassification):
        name, label, metrics = "wrong", "Wrong", ("acc",)

        def split(self, dataset, seed):
            dataset.y = dataset.y[torch.randperm(24)]
            return super().split(dataset, seed)

    refused("task_type", "in two ways")


def test_datasets(refused):
    facts = {"title": "Dots", "source": "here", "citation": "Nobody.", "offline": True}

    def dots(root, *, seed=0):
        """Two cliques."""
        return testing.EXAMPLES["node_cls"]()

    dataset("social", serves={"node_cls": 3}, name="wrong", **facts)(dots)
    refused("dataset", "does not state its licence")
    dataset("social", serves={"node_cls": 3}, name="wrong", licence="CC0", **facts)(dots)
    refused("dataset", "takes a seed that changes nothing")
    dataset("social", serves={"node_cls": 3}, name="wrong", licence="CC0", nodes=3, **facts)(dots)
    refused("dataset", "has 24 nodes; its card says 3")

    def noise(root):
        """Another one each time."""
        return Data(x=torch.randn(24, 2), edge_index=torch.arange(24).reshape(2, 12))

    dataset("social", serves={"node_cls": 3}, name="wrong", licence="CC0", **facts)(noise)
    refused("dataset", "draws from the global generators")


def test_perturbations_and_selectors(refused):
    @perturbation("wrong", mode="features")
    def in_place(data, rng):
        data.x.mul_(2)
        return data

    refused("perturbation", "changes the graph it is given")

    @perturbation("wrong", mode="graph")
    def other_mode(data, rng):
        data.x = 2 * data.x
        return data

    refused("perturbation", "declares the mode 'graph'")

    @SELECTORS.register("wrong")
    class Drifting(Selector):
        def _fit(self, P, M):
            self.total = getattr(self, "total", 0.0) + np.nan_to_num(P).mean(axis=0)

        def _predict(self, M):
            return np.tile(self.total, (len(M), 1))

    refused("selector", "remembers an earlier fit")


def test_executors_and_trackers(refused):
    @EXECUTORS.register("wrong")
    class Greedy(SerialExecutor):
        def run(self, cells, run_one, *, on_start, **options):
            super().run(cells, run_one, on_start=lambda cell: on_start(cell) or True, **options)

    refused("executor", "16|granted cells")

    @EXECUTORS.register("wrong")
    class Forgetful(SerialExecutor):
        def run(self, cells, run_one, **options):
            super().run(cells[:-1], run_one, **options)

    refused("executor", "once for each cell")

    @LOGGERS.register("wrong")
    class Careless:
        def __init__(self, where, folder):
            self.folder = folder

        def cell(self, cell, result):
            (self.folder / cell.task).parent.mkdir(parents=True, exist_ok=True)

    refused("tracker", "no method 'close'")

    @LOGGERS.register("wrong")
    class Escaping(Careless):
        def cell(self, cell, result):
            (self.folder.parent / "elsewhere").mkdir(exist_ok=True)

        def close(self):
            pass

    refused("tracker", "writes beside its folder")
