"""Every code sample of the GraphNetz paper and its documentation page runs unchanged.

The datasets behind ``run_benchmark("social", ...)`` are downloads; here the category is filled with tiny tasks of
the same names, so that the calls themselves are what is tested.
"""

import inspect
import pickle

import pytest
import torch
from torch_geometric.nn import GCNConv

from graphnetz import (
    GAT,
    GCN,
    GIN,
    BenchmarkReport,
    GraphSAGE,
    GraphTransformer,
    SearchSpace,
    Task,
    register_model,
    register_task,
    run_benchmark,
    task_from_dataset,
    unregister_task,
)
from graphnetz.datasets import BENCHMARK_TASKS, iter_benchmark_tasks
from graphnetz.models import MODELS
from graphnetz.testing import examples as graphs


@pytest.fixture
def tiny_social(monkeypatch):
    """The social category with three tiny tasks."""
    tasks = {
        "node_cls": [
            task_from_dataset(n, "node_cls", graphs.two_cliques(36, s), epochs=3)
            for s, n in enumerate(("cora", "citeseer"))
        ],
        "link_pred": [task_from_dataset("cora_link_pred", "link_pred", graphs.two_cliques(36), epochs=3)],
    }
    monkeypatch.setitem(BENCHMARK_TASKS, "social", tasks)
    monkeypatch.setitem(BENCHMARK_TASKS, "infrastructure", {"link_pred": tasks["link_pred"]})


@pytest.fixture
def report(tiny_social):
    return run_benchmark(
        category="social",
        models={"GCN": GCN, "GAT": GAT, "GraphSAGE": GraphSAGE, "GraphTransformer": GraphTransformer},
        seeds=(0, 1, 2),
        task_type="node_cls",  # restrict to one task family (optional)
        epochs=3,  # override the per-task default (optional)
        only=["cora", "citeseer"],  # subset of tasks (optional)
        verbose=False,
    )


def test_standard_call_and_the_report_object(report, tmp_path):
    assert list(report.keys()) == ["cora", "citeseer"]
    assert set(report["cora"]) == {"GCN", "GAT", "GraphSAGE", "GraphTransformer"}
    assert [len(runs) for runs in report.histories["cora"].values()] == [3] * 4
    report.to_latex(tmp_path / "results.tex", ci=0.95, bold_best=True)
    report.pairwise_to_latex(tmp_path / "pairwise.tex")
    for figure, _ in (
        report.plot_forest(ci=0.95),
        report.plot_pairwise(layout="matrix"),
        report.plot_pairwise(layout="list"),
        report.plot_critical_difference(alpha=0.05),
        report.plot(),
        report.plot_learning_curves(),
        report.plot_dashboard(),
    ):
        figure.savefig(tmp_path / "figure.png")
    summary = report.summary(method="bootstrap")
    assert list(summary.columns[:7]) == ["n_seeds", "mean", "std", "sem", "ci_low", "ci_high", "ci_half"]
    report.ci_method = "bootstrap"
    report.pairwise_method = "wilcoxon"
    pairwise = report.pairwise()
    assert len(pairwise) == 2 * 6
    assert {"chi2", "rejected"} <= set(report.friedman())
    assert set(report.final_metrics()) == {"cora", "citeseer"}
    again = pickle.loads(pickle.dumps(report))
    assert again.summary().equals(report.summary())


def test_one_class_instead_of_a_dict(tiny_social):
    report = run_benchmark("infrastructure", GAT, task_type="link_pred", seeds=(0,), verbose=False)
    assert list(report["cora_link_pred"]) == ["GAT"]


def test_model_path_a_decorator(tiny_social):
    @register_model(task_type={"node_cls"})
    class TinyGCN(torch.nn.Module):
        def __init__(self, in_channels, hidden_channels, out_channels):
            super().__init__()
            self.conv1 = GCNConv(in_channels, hidden_channels)
            self.conv2 = GCNConv(hidden_channels, out_channels)

        def forward(self, data):
            x, ei = data.x, data.edge_index
            return self.conv2(torch.relu(self.conv1(x, ei)), ei)

    try:
        report = run_benchmark("social", {"TinyGCN": TinyGCN}, task_type="node_cls", seeds=(0, 1), verbose=False)
        assert report.summary().loc[("cora", "TinyGCN"), "n_seeds"] == 2
        by_name = run_benchmark("social", "TinyGCN", task_type="node_cls", seeds=(0, 1), verbose=False)
        assert by_name.final_metrics() == report.final_metrics()
    finally:
        MODELS.remove("TinyGCN")


def test_model_path_b_attribute_and_incompatible_pairs_are_named(tiny_social):
    class AttrGCN(torch.nn.Module):
        task_types = {"node_cls"}

        def __init__(self, in_channels, hidden_channels, out_channels):
            super().__init__()
            self.conv = GCNConv(in_channels, out_channels)

        def forward(self, data):
            return self.conv(data.x, data.edge_index)

    report = run_benchmark("social", {"A": AttrGCN, "GCN": GCN}, seeds=(0,), verbose=False)
    assert ("cora_link_pred", "A") in report.absent
    assert "link_pred" in report.absent["cora_link_pred", "A"]


def test_model_path_c_inline_tuple(tiny_social):
    class MyGNN(torch.nn.Module):
        def __init__(self, i, h, o, dropout=0.0):
            super().__init__()
            self.conv, self.p = GCNConv(i, o), dropout

        def forward(self, data):
            return self.conv(torch.nn.functional.dropout(data.x, self.p, self.training), data.edge_index)

    report = run_benchmark(
        "social",
        {
            "MyGNN-d0.3": (MyGNN, "node_cls", lambda i, h, o: MyGNN(i, h, o, dropout=0.3)),
            "MyGNN-d0.5": (MyGNN, "node_cls", lambda i, h, o: MyGNN(i, h, o, dropout=0.5)),
        },
        seeds=(0, 1),
        verbose=False,
    )
    first, second = (report.histories["cora"][m][0]["train_loss"] for m in ("MyGNN-d0.3", "MyGNN-d0.5"))
    assert first != second


def test_multi_task_factory(tiny_social):
    from graphnetz.benchmark import _multi_task_factory
    from graphnetz.benchmark import register_model as register

    class MyEncoder(torch.nn.Module):
        """Returns per-node embeddings of shape [N, hidden_channels]."""

        def __init__(self, in_channels, hidden_channels, out_channels):
            super().__init__()
            self.conv = GCNConv(in_channels, out_channels)

        def forward(self, data):
            return self.conv(data.x, data.edge_index)

    ALL_TASKS = {"node_cls", "graph_cls", "graph_reg", "link_pred"}
    register(MyEncoder, task_type=ALL_TASKS, factory=_multi_task_factory(MyEncoder))
    try:
        tasks = [task_from_dataset(kind, kind, graphs.EXAMPLES[kind](), epochs=2) for kind in sorted(ALL_TASKS)]
        report = run_benchmark(models={"MyEncoder": MyEncoder}, tasks=tasks, seeds=(0, 1), verbose=False)
        assert (report.summary()["n_seeds"] == 2).all()
    finally:
        MODELS.remove("MyEncoder")


def test_dataset_path_a_ad_hoc_leaves_nothing_behind():
    before = {c: {k: list(v) for k, v in t.items()} for c, t in BENCHMARK_TASKS.items()}
    task = task_from_dataset("my_dataset", "node_cls", graphs.two_cliques(), epochs=100)
    report = run_benchmark(models={"GCN": GCN}, tasks=[task], seeds=(0, 1), epochs=3, verbose=False)
    assert report.summary().loc[("my_dataset", "GCN"), "n_seeds"] == 2
    assert before == {c: {k: list(v) for k, v in t.items()} for c, t in BENCHMARK_TASKS.items()}


def test_dataset_path_b_registration():
    ds = graphs.rings_and_stars()
    register_task("my_lab", task_from_dataset("my_assay", "graph_cls", ds, epochs=50))
    try:
        assert [t.name for t in iter_benchmark_tasks(category="my_lab")] == ["my_assay"]
        with pytest.raises(ValueError, match="already registered"):
            register_task("my_lab", task_from_dataset("my_assay", "graph_cls", ds))
        report = run_benchmark("my_lab", [GCN, GIN], seeds=(0,), epochs=2, verbose=False)
        assert set(report["my_assay"]) == {"GCN", "GIN"}
    finally:
        unregister_task("my_lab", "my_assay")


def test_dataset_path_c_seed_aware_loader():
    seen = []

    def synthetic_loader(_root, *, seed):
        seen.append(seed)
        return graphs.rings_and_stars(24, seed=seed)

    task = Task("synthetic_g100", "graph_cls", synthetic_loader, epochs=20)
    report = run_benchmark(models={"GCN": GCN}, tasks=[task], seeds=(0, 1, 2), epochs=2, verbose=False)
    assert seen == [0, 1, 2]
    assert report.tasks["synthetic_g100"].replication == "regenerate"


def test_documented_signatures():
    names = list(inspect.signature(run_benchmark).parameters)
    assert names[:13] == (
        [
            "category",
            "models",
            "root",
            "hidden_channels",
            "epochs",
            "only",
            "verbose",
            "seeds",
            "seed",
            "task_type",
            "tasks",
            "device",
            "search",
        ]
    )
    kinds = [p.kind for p in inspect.signature(run_benchmark).parameters.values()]
    assert all(k is inspect.Parameter.KEYWORD_ONLY for k in kinds[13:])
    report = list(inspect.signature(BenchmarkReport).parameters)
    assert report[:7] == [
        "seeds",
        "histories",
        "config",
        "ci_method",
        "bootstrap_n",
        "bootstrap_seed",
        "pairwise_method",
    ]


def test_every_documented_name_can_be_imported():
    import graphnetz

    documented = [
        "run_benchmark",
        "BenchmarkReport",
        "Task",
        "ModelSpec",
        "register_model",
        "register_task",
        "unregister_task",
        "task_from_dataset",
        "iter_benchmark_tasks",
        "BENCHMARK_TASKS",
        "list_datasets",
        "CATEGORIES",
        "GCN",
        "GAT",
        "GIN",
        "GraphSAGE",
        "GraphTransformer",
        "DGI",
        "train_node_classification",
        "train_graph_classification",
        "train_graph_regression",
        "train_link_prediction",
        "train_relational_link_prediction",
        "train_dgi",
        "plot_benchmark",
        "plot_history",
        "plot_grouped_bars",
        "save_figure",
        "set_plot_style",
        "Netz",
        "SearchSpace",
    ]
    for name in documented:
        assert getattr(graphnetz, name) is not None
        assert name in dir(graphnetz)
    from graphnetz.datasets import LOADER_REGISTRY
    from graphnetz.datasets.social import cora

    assert ("cora", cora) in LOADER_REGISTRY["social"]["node_cls"]
    from graphnetz.training import DGIWrapper, _resolve_device

    assert str(_resolve_device("cpu")) == "cpu"
    assert _resolve_device(None) == _resolve_device("auto")
    assert DGIWrapper is not None


def test_search_never_looks_at_the_test_set():
    task = task_from_dataset("t", "node_cls", graphs.two_cliques(60), epochs=5)
    space = SearchSpace(lr=(1e-1, 1e-4), hidden_channels=(4, 16), model={"dropout": (0.0, 0.5)})
    report = run_benchmark(models=[GCN, "Majority"], tasks=[task], seeds=(0, 1), search=space, verbose=False)
    for result in report.results:
        if result.model == "Majority":
            continue
        assert len(result.trace) == 8
        best = max(row["val_acc"] for row in result.trace)
        assert result.metrics["val_acc"] == best
        assert not any(key.startswith("test") for row in result.trace for key in row)


def test_training_functions():
    from torch_geometric.loader import DataLoader
    from torch_geometric.transforms import RandomLinkSplit

    from graphnetz import DGI, train_dgi, train_graph_classification, train_link_prediction, train_node_classification
    from graphnetz.tasktypes.heads import GraphHead, LinkHead

    data = graphs.two_cliques(40)
    history = train_node_classification(GCN(6, 8, 2), data, epochs=4)
    assert {len(v) for v in history.values()} == {4}
    assert set(history) == {"train_loss", "val_acc", "test_acc"}
    many = graphs.rings_and_stars()
    history = train_graph_classification(
        GraphHead(GCN(3, 8, 8), 8, 2), DataLoader(many[:20], batch_size=8), DataLoader(many[20:]), epochs=3
    )
    assert set(history) == {"train_loss", "val_acc"}
    parts = RandomLinkSplit(num_val=0.1, num_test=0.1, is_undirected=True)(data)
    history = train_link_prediction(LinkHead(GCN(6, 8, 8)), *parts, epochs=3)
    assert set(history) == {"train_loss", "val_auc", "test_auc"}
    assert len(train_dgi(DGI(6, 16), data, epochs=3)["train_loss"]) == 3
