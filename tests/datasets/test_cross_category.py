"""The published cross-category experiment: its rows, its data, and our numbers beside the published ones."""

import json
import math

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats as scipy_stats

from graphnetz import BenchmarkReport
from graphnetz.analysis.published import beside, rows_inside
from graphnetz.datasets import SUITES, find_task
from graphnetz.datasets.generators import published as generators
from graphnetz.tasktypes import TASK_TYPES
from graphnetz.tasktypes.graphs import features_of

SUITE = SUITES["cross-category"]
TABLE = {}
for row in SUITE.published():
    TABLE.setdefault(row.task, {})[row.model] = (row.mean, row.half_width)


def report_of(cells):
    """A report whose cells have exactly these means, standard deviations and numbers of seeds."""
    metric = {(row.task, row.model): row.metric for row in SUITE.published()}
    rows = []
    for (task, model), (mean, sd, n) in cells.items():
        steps = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        steps = steps * (sd / steps.std(ddof=1)) if n > 1 else steps
        rows += [(task, model, s, mean + step, f"test_{metric[task, model]}", True) for s, step in enumerate(steps)]
    columns = ["task", "model", "seed", "score", "metric", "greater_is_better"]
    return BenchmarkReport.from_scores(pd.DataFrame(rows, columns=columns))


def test_ten_rows_in_the_order_of_the_paper_with_its_epochs():
    tasks = SUITES["cross-category"]()
    assert [(t.name, t.task_type, t.epochs) for t in tasks] == [
        ("tsp_random", "link_pred", 80),
        ("mutag_scored_as_published", "graph_cls", 40),
        ("cora", "node_cls", 100),
        ("fb15k_237", "link_pred", 20),
        ("euroroad", "link_pred", 80),
        ("board_directors", "link_pred", 40),
        ("internet_as_all_degrees", "link_pred", 40),
        ("mnist_superpixels_1500", "graph_cls", 4),
        ("ising_lattice_published", "link_pred", 60),
        ("terrorists_911", "link_pred", 120),
    ]
    assert list(TABLE) == [t.name for t in tasks]
    assert len({t.category for t in tasks}) == 10
    assert find_task("mnist_superpixels_1500").card.name == "mnist_superpixels"


def test_published_numbers_are_those_of_the_reference(shared_reference):
    """The table in the package against an independent transcription of the paper."""
    rows = json.loads((shared_reference / "graphnetz_tables.json").read_text())["table3"]
    ours = TABLE
    assert len(rows) == len(ours) == 10
    for row, (name, models) in zip(rows, ours.items(), strict=True):
        theirs = {m: row[m] for m in ("GCN", "GAT", "GraphSAGE", "GraphTransformer", "GIN") if row[m] is not None}
        assert models == {model: tuple(cell) for model, cell in theirs.items()}, name


def test_tsp_graph_joins_exactly_the_nearest_points():
    (data,) = generators.tsp_neighbours(3)
    points = data.x.double().numpy()
    gap = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(gap, np.inf)
    expected = {frozenset((i, int(j))) for i in range(200) for j in np.argsort(gap[i])[:4]}
    found = {frozenset(pair) for pair in data.edge_index.T.tolist()}
    assert found == expected
    assert data.num_edges == 2 * len(expected)


def test_ising_grid_is_the_king_graph_with_loops():
    pairs = generators.grid_pairs(7)
    king = nx.strong_product(nx.path_graph(7), nx.path_graph(7))
    expected = {tuple(sorted((7 * a + b, 7 * c + d))) for (a, b), (c, d) in king.edges} | {(i, i) for i in range(49)}
    assert {tuple(pair) for pair in pairs.tolist()} == expected


def test_ising_spins_are_biased_coins_and_pairs_are_hidden_once():
    ups = []
    for seed in range(20):
        (data,) = generators.ising_grid(seed)
        ups.append(float((data.x > 0).float().mean()))
        parts = [data[f"{part}_pos_edge_index"].T.tolist() for part in ("train", "val", "test")]
        every = [tuple(pair) for part in parts for pair in part]
        assert len(every) == len(set(every)) == len(generators.grid_pairs(20))
        assert len(parts[2]) == int(0.1 * len(every))
        seen = {tuple(sorted(pair)) for pair in data.edge_index.T.tolist()}
        assert not seen & {tuple(pair) for part in parts[1:] for pair in part}
        wrong = torch.cat([data.val_neg_edge_index, data.test_neg_edge_index], dim=1).T.tolist()
        assert not {tuple(pair) for pair in wrong} & set(every)
        assert len(wrong) == len(parts[1]) + len(parts[2])
    probability = (1 + math.tanh(1 / 2.27)) / 2
    assert abs(np.mean(ups) - probability) < 4 * math.sqrt(probability * (1 - probability) / (20 * 400))
    assert any(a == b for a, b in parts[2])
    (without,) = generators.ising_grid(0, loops=False)
    assert not (without.test_pos_edge_index[0] == without.test_pos_edge_index[1]).any()


def test_the_split_asks_for_the_published_pairs():
    (data,) = generators.ising_grid(0)
    split = TASK_TYPES["link_pred"].split([data], 0)
    positive = split.test.index[:, split.test.label > 0.5]
    # The same pairs in another order: held-out pairs come mixed.
    assert sorted(positive.T.tolist()) == sorted(data.test_pos_edge_index.T.tolist())
    assert len(split.test) == 2 * positive.size(1)


def test_networks_get_identity_features_up_to_8192_nodes_and_degrees_above():
    from torch_geometric.data import Data

    ring = torch.stack([torch.arange(9000), (torch.arange(9000) + 1) % 9000])
    small = Data(edge_index=ring[:, :100], num_nodes=8192, feature_rule="identity")
    large = Data(edge_index=ring, num_nodes=9000, feature_rule="identity")
    assert features_of(small, small.edge_index).shape == (8192, 8192)
    assert features_of(large, large.edge_index).shape == (9000, 3)


@pytest.mark.data
def test_published_degrees_count_hidden_edges_and_ours_do_not(shared_data, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(shared_data))
    split = {
        name: TASK_TYPES["link_pred"].split(find_task(name).loader(tmp_path), 0)
        for name in ("internet_as", "internet_as_all_degrees")
    }
    honest, leaking = (split[name].data for name in split)
    assert honest.x.shape == leaking.x.shape == (22963, 3)
    assert torch.equal(honest.edge_index, leaking.edge_index)
    seen = torch.bincount(honest.edge_index[0], minlength=22963).double()
    hidden = torch.bincount(
        torch.cat(
            [
                split["internet_as"].part(p).index[:, split["internet_as"].part(p).label > 0.5].flatten()
                for p in ("val", "test")
            ]
        ),
        minlength=22963,
    )
    for data, degree in ((honest, seen), (leaking, seen + hidden)):
        assert torch.allclose(data.x[:, 0].double(), torch.log1p(degree) / math.log(22963), atol=1e-6)


def test_cells_beside_published_ones_by_hand():
    ours = {
        ("cora", "GCN"): (0.815, 0.002, 10),
        ("cora", "GAT"): (0.70, 0.01, 10),
        ("mutag_scored_as_published", "GIN"): (0.8, math.nan, 1),
    }
    rows = {(r.task, r.model): r for r in beside(report_of(ours), SUITE)}
    assert list(rows) == list(ours)
    assert len(SUITE.published()) == 42
    gcn = rows["cora", "GCN"]
    published_sd = 0.001 * math.sqrt(10) / scipy_stats.t.ppf(0.975, 9)
    low, high = _welch(published_sd)
    witness = scipy_stats.ttest_ind_from_stats(0.815, 0.002, 10, 0.811, published_sd, 10, equal_var=False)
    assert (witness.pvalue < 0.05) == (low > 0 or high < 0)
    assert (gcn.low, gcn.high) == pytest.approx((low, high))
    assert gcn.inside
    assert rows["cora", "GAT"].inside is False
    assert rows["cora", "GAT"].verdict == "differs"
    assert rows["mutag_scored_as_published", "GIN"].inside
    assert math.isnan(rows["mutag_scored_as_published", "GIN"].low)
    assert rows["mutag_scored_as_published", "GIN"].verdict == "one seed has no interval"
    assert rows_inside(list(rows.values()), SUITE) == ([], [])


def _welch(published_sd):
    a, b = 0.002**2 / 10, published_sd**2 / 10
    df = (a + b) ** 2 / (a**2 / 9 + b**2 / 9)
    half = scipy_stats.t.ppf(0.975, df) * math.sqrt(a + b)
    return 0.004 - half, 0.004 + half


def test_rows_count_when_every_published_model_was_run():
    ours = {("cora", m): (mean + 0.019, 0.01, 10) for m, (mean, _) in TABLE["cora"].items()}
    ours |= {("euroroad", m): (mean, 0.01, 10) for m, (mean, _) in TABLE["euroroad"].items()}
    ours["euroroad", "GAT"] = (0.9, 0.01, 10)
    assert rows_inside(beside(report_of(ours), SUITE), SUITE) == (["cora"], ["cora", "euroroad"])


def test_another_metric_is_not_compared():
    report = report_of({("cora", "GCN"): (0.811, 0.002, 10)})
    frame = report.frame("cells").assign(metric="test_auc", greater_is_better=True).rename(columns={"value": "score"})
    (row,) = beside(BenchmarkReport.from_scores(frame), SUITE)
    assert row.verdict == "another metric (acc was published)"


MODELS = ["GCN", "GAT", "GraphSAGE", "GraphTransformer"]


@pytest.mark.golden
@pytest.mark.parametrize("name", ["tsp_random", "ising_lattice_published"])
def test_generated_rows_reproduce_the_paper(name):
    from graphnetz.engine.run import run_benchmark

    report = run_benchmark(models=MODELS, tasks=[name], seeds=range(10), protocol="paper", verbose=False)
    assert rows_inside(beside(report, SUITE), SUITE) == ([name], [name])


@pytest.mark.golden
@pytest.mark.data
def test_the_start_of_the_relations_is_why_fb15k_237_differs(shared_data, tmp_path, monkeypatch):
    """One cause, switched alone: relation vectors from a standard normal instead of a Glorot start."""
    from graphnetz._core.rng import training_context
    from graphnetz.datasets import CARDS
    from graphnetz.models import MODELS as SPECS
    from graphnetz.records import Protocol
    from graphnetz.tasktypes import fit

    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(shared_data))
    task_type, found = TASK_TYPES["link_pred"], {}
    split = task_type.split(CARDS["fb15k_237"].loader(tmp_path), 0)
    for start in ("glorot", "normal"):
        with training_context(0, threads=1, dtype="float32"):
            model = SPECS["GraphSAGE"].build("link_pred", split.dims, 64)
            if start == "normal":
                torch.nn.init.normal_(model.relation)
            found[start] = fit(task_type, model, split, Protocol(epochs=20, eval_every=20)).metrics["test_auc"]
    mean, half = TABLE["fb15k_237"]["GraphSAGE"]
    assert found["glorot"] > mean + half + 0.02
    assert found["normal"] < 0.7 < found["glorot"]


@pytest.mark.golden
@pytest.mark.data
def test_mutag_scored_as_in_the_paper_gives_the_published_means(shared_data, tmp_path, monkeypatch):
    """On the fifth that the paper validates and scores on; `mutag`, with a test part of 20 graphs, gives GraphSAGE 0.785."""
    from graphnetz.engine.run import run_benchmark

    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(shared_data))
    task = next(task for task in SUITES["cross-category"]() if task.name == "mutag_scored_as_published")
    report = run_benchmark(models=["GraphSAGE"], tasks=[task], seeds=range(10), protocol="paper", verbose=False)
    mean, half = TABLE["mutag_scored_as_published"]["GraphSAGE"]
    assert abs(report.summary().loc[("mutag_scored_as_published", "GraphSAGE"), "mean"] - mean) <= half + 0.02


@pytest.mark.data
def test_graphs_scored_as_in_the_paper_are_a_fifth_and_no_split_is_like_another(shared_data, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(shared_data))
    task = next(task for task in SUITES["cross-category"]() if task.name == "mutag_scored_as_published")
    graphs = task.loader(str(tmp_path))
    assert task.card.name == "mutag"
    for split in graphs.splits:
        assert [len(split[part]) for part in ("train", "val", "test")] == [149, 1, 38]
        assert sorted(np.concatenate(list(split.values()))) == list(range(188))
    assert len({tuple(split["test"]) for split in graphs.splits}) == len(graphs.splits) == 10


def plain_gcn(graph, seed, epochs):
    """ROC-AUC of two plain layers of PyG on PyG's own split of a network with identity features."""
    from sklearn.metrics import roc_auc_score
    from torch_geometric.data import Data
    from torch_geometric.nn import GCNConv
    from torch_geometric.transforms import RandomLinkSplit

    torch.manual_seed(seed)
    whole = Data(edge_index=graph.edge_index, x=torch.eye(graph.num_nodes))
    train, _, test = RandomLinkSplit(num_val=0.05, num_test=0.1, is_undirected=True)(whole)
    first, second = GCNConv(graph.num_nodes, 64), GCNConv(64, 64)
    optimiser = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01)
    for _ in range(epochs):
        z = second(first(train.x, train.edge_index).relu(), train.edge_index)
        score = (z[train.edge_label_index[0]] * z[train.edge_label_index[1]]).sum(1)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(score, train.edge_label)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    z = second(first(train.x, train.edge_index).relu(), train.edge_index).detach()
    return roc_auc_score(test.edge_label, (z[test.edge_label_index[0]] * z[test.edge_label_index[1]]).sum(1))


@pytest.mark.golden
@pytest.mark.data
def test_the_copy_of_the_network_is_why_board_directors_differs(shared_data, tmp_path, monkeypatch):
    """PyG's own split and layers on our copy (another month) give our value, not the published one."""
    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(shared_data))
    graph = find_task("board_directors").loader(tmp_path)[0]
    mean, half = TABLE["board_directors"]["GCN"]
    assert 0.92 < np.mean([plain_gcn(graph, seed, 40) for seed in range(5)]) < mean - half


@pytest.mark.golden
@pytest.mark.data
def test_plain_layers_give_our_value_on_euroroad_and_not_the_published_one(shared_data, tmp_path, monkeypatch):
    """What differs is unknown; it is neither our split nor our layers. Blocks of ten runs gave 0.541 to 0.582."""
    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(shared_data))
    graph = find_task("euroroad").loader(tmp_path)[0]
    mean, _ = TABLE["euroroad"]["GCN"]
    found = np.array([plain_gcn(graph, seed, 80) for seed in range(30)])
    assert found.mean() > (0.552 + mean) / 2  # ours is the nearer one, three standard errors of thirty runs away
    assert scipy_stats.ttest_1samp(found, mean, alternative="greater").pvalue < 0.05
    assert found.mean() == pytest.approx(0.552, abs=0.02)
