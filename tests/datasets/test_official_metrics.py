"""The official metric of every dataset is its headline, and says who made it official."""

import pytest

from graphnetz import run_benchmark
from graphnetz.datasets import CARDS, SUITES, task_of
from graphnetz.engine.config import RunConfig, resolve_tasks
from graphnetz.metrics import METRICS
from graphnetz.tasktypes import TASK_TYPES
from graphnetz.tasktypes.ranked import queries_of

OFFICIAL = {
    **dict.fromkeys(("ogbg_molhiv", "ogbg_molbace", "ogbg_molbbbp", "ogbg_molclintox", "ogbg_molsider"), "auc"),
    **dict.fromkeys(("ogbg_moltox21", "ogbg_moltoxcast", "minesweeper", "tolokers", "questions"), "auc"),
    **dict.fromkeys(("ogbg_molmuv", "ogbg_molpcba", "peptides_func"), "ap"),
    **dict.fromkeys(("ogbn_arxiv", "ogbn_products", "roman_empire", "amazon_ratings"), "acc"),
    **dict.fromkeys(("peptides_struct", "zinc", "aqsol", "qm9"), "mae"),
    **dict.fromkeys(("esol", "freesolv", "lipo"), "rmse"),
    **dict.fromkeys(("fb15k_237", "wordnet18rr"), "mrr"),
    **{"ogbn_proteins": "auc", "ogbl_ppa": "hits@100", "ogbl_ddi": "hits@20", "ogbl_citation2": "mrr"},
    "ogbl_wikikg2": "mrr",
    **dict.fromkeys(("pascalvoc_sp", "coco_sp"), "macro_f1"),
    **{"ogbl_collab": "hits@50", "elliptic_bitcoin": "f1", "bbbp": "auc", "clintox": "auc", "cora": "acc"},
}


@pytest.mark.parametrize("name", list(CARDS))
def test_every_card_declares_a_metric_and_who_made_it_official(name):
    card = CARDS[name]
    assert card.evaluator, f"{name} does not say where its metric is from"
    for kind in card.serves:
        metric = card.metric_of(kind)
        assert metric in METRICS, f"{name} has no metric for {kind}"
        assert metric in TASK_TYPES[kind].metrics
        assert task_of(card, kind).metric == metric


@pytest.mark.parametrize(("name", "metric"), OFFICIAL.items())
def test_official_metrics_are_those_of_the_benchmarks(name, metric):
    assert task_of(name).metric == metric


def test_ogb_cards_agree_with_the_evaluators_of_ogb():
    pd = pytest.importorskip("pandas")
    ogb = pytest.importorskip("ogb")
    from pathlib import Path

    ours = {"rocauc": "auc", "ap": "ap", "acc": "acc", "rmse": "rmse", "mrr": "mrr"}
    seen = 0
    for family in ("nodeproppred", "graphproppred", "linkproppred"):
        table = pd.read_csv(Path(ogb.__path__[0]) / family / "master.csv", index_col=0)
        for dataset in table.columns:
            name = dataset.replace("-", "_")
            if name in CARDS:
                wanted = table[dataset]["eval metric"]
                assert task_of(name).metric == ours.get(wanted, wanted), name
                seen += 1
    assert seen >= 12


def test_the_paper_protocol_keeps_the_metric_of_the_paper():
    named = ["tolokers", "fb15k_237", "esol", "ogbg_molhiv", "cora"]
    official = resolve_tasks(RunConfig.read({"task": named}))
    assert [task.metric for task in official] == ["auc", "mrr", "rmse", "auc", "acc"]
    paper = resolve_tasks(RunConfig.read({"task": named, "protocol": "paper"}))
    assert [task.metric for task in paper] == [None] * 5  # accuracy, ROC-AUC, MAE: the first of each task type
    chosen = resolve_tasks(RunConfig.read({"task": "tolokers", "protocol": "paper", "metric": "ap"}))
    assert [task.metric for task in chosen] == ["ap"]
    # What a suite has chosen is not the card's, and stays.
    suite = resolve_tasks(RunConfig.read({"suite": "first-default", "protocol": "paper", "task": ["trader_trust"]}))
    assert [task.metric for task in suite] == ["auc"]
    assert {task.metric for task in SUITES["cross-category"]()} == {None}


def test_the_metric_enters_the_plan_and_the_keys():
    from graphnetz.engine.config import resolve

    def keys(**more):
        run = resolve(RunConfig.read({"task": "karate_club", "model": "GCN", "seeds": 1, **more}))
        plan = run.plan()[1]
        return plan.cells[0].key, plan.info["karate_club"].metric

    (first, plain), (second, ranked) = keys(), keys(metric="auc")
    assert first != second
    assert (plain, ranked) == ("test_acc", "test_auc")


@pytest.mark.data
def test_tolokers_is_scored_by_ranking(shared_data, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(shared_data))
    report = run_benchmark(
        tasks=["tolokers"], models=["GCN", "GraphSAGE", "Majority"], seeds=[0], eval_every=20, root=str(tmp_path),
        verbose=False,
    )  # fmt: skip
    mean = report.summary()["mean"]["tolokers"]
    assert {cell.metric for cell in report.results} == {"test_auc"}
    assert mean["Majority"] == pytest.approx(0.5)
    assert mean["GCN"] == pytest.approx(0.72, abs=0.02)
    assert mean["GraphSAGE"] == pytest.approx(0.79, abs=0.03)
    by = {cell.model: cell.metrics for cell in report.results}
    assert {"test_acc", "test_ap", "test_f1", "test_balanced_acc", "val_auc"} <= set(by["GCN"])
    # By accuracy GCN cannot be told from the commonest class, which is why it is not the headline.
    assert by["GCN"]["test_acc"] == pytest.approx(by["Majority"]["test_acc"], abs=0.02)


def test_supplied_candidates_are_ranked_as_the_evaluator_of_ogb_ranks_them():
    evaluator = pytest.importorskip("ogb.linkproppred")
    import numpy as np
    import torch
    from torch_geometric.data import Data

    rng = np.random.default_rng(0)
    nodes, queries, width = 50, 12, 20
    ring = np.stack([np.arange(nodes), (np.arange(nodes) + 1) % nodes])
    graph = Data(x=torch.eye(nodes), edge_index=torch.from_numpy(np.concatenate([ring, ring[::-1]], axis=1)))
    for part, step in (("val", 2), ("test", 3)):
        source = np.arange(queries)
        true = np.stack([source, source + step])
        false = np.stack([np.repeat(source[:, None], width, 1), rng.integers(20, nodes, (queries, width))])
        graph[f"{part}_pos_edge_index"], graph[f"{part}_neg_edge_index"] = map(torch.from_numpy, (true, false))
    split = TASK_TYPES["link_pred"].split(graph, 0)
    assert (split.metric, split.n_test, split.test.width) == ("mrr", queries, width + 1)

    strength = np.round(rng.random((nodes, nodes)), 1)  # rounded, so that there are ties
    head, tail = split.test.index.numpy()
    score = strength[head, tail]
    found = TASK_TYPES["link_pred"].measure(split, "test", score, ("mrr", "hits@1", "hits@3", "hits@10"))
    truth = split.targets["test"].reshape(queries, -1) > 0.5
    table = score.reshape(queries, -1)
    official = evaluator.Evaluator("ogbl-citation2").eval(
        {"y_pred_pos": torch.tensor(table[truth]), "y_pred_neg": torch.tensor(table[~truth].reshape(queries, -1))}
    )
    assert found["test_mrr"] == pytest.approx(official["mrr_list"].mean())
    for k in (1, 3, 10):
        assert found[f"test_hits@{k}"] == pytest.approx(official[f"hits@{k}_list"].mean())


def test_supplied_heads_and_tails_of_triples_are_ranked_as_the_evaluator_of_ogb_ranks_them():
    evaluator = pytest.importorskip("ogb.linkproppred")
    import numpy as np
    import torch
    from torch_geometric.data import Data

    rng = np.random.default_rng(1)
    nodes, queries, width = 40, 9, 12
    ring = torch.stack([torch.arange(nodes), (torch.arange(nodes) + 1) % nodes])
    graph = Data(num_nodes=nodes, num_relations=3, feature_rule="degree", edge_index=ring)
    for part, step in (("train", 1), ("valid", 2), ("test", 3)):
        head = np.arange(queries)
        graph[f"{part}_edge_index"] = torch.from_numpy(np.stack([head, head + step]))
        graph[f"{part}_edge_type"] = torch.from_numpy(head % 3)
    for part in ("val", "test"):
        for end in ("head", "tail"):
            graph[f"{part}_{end}_neg"] = torch.from_numpy(rng.integers(15, nodes, (queries, width)))
    split = TASK_TYPES["link_pred"].split(graph, 0)
    assert (split.metric, split.n_test, split.test.width) == ("mrr", 2 * queries, width + 1)
    asked = queries_of(split, "test")
    assert len(set(asked.example)) == 2 * queries  # a triple is asked about twice
    assert (asked.ends[:queries] == asked.ends[queries:]).all()

    strength = np.round(rng.random((3, nodes, nodes)), 1)  # rounded, so that there are ties
    heads, tails = split.test.index.numpy()
    score = strength[split.test.relation.numpy(), heads, tails]
    found = TASK_TYPES["link_pred"].measure(split, "test", score, ("mrr", "hits@1", "hits@3", "hits@10"))
    head, tail = graph.test_edge_index.numpy()
    kind, own = graph.test_edge_type.numpy(), np.tile(strength[graph.test_edge_type, head, tail], 2)
    wrong = [
        strength[kind[:, None], head[:, None], graph.test_tail_neg],
        strength[kind[:, None], graph.test_head_neg, tail[:, None]],
    ]
    official = evaluator.Evaluator("ogbl-wikikg2").eval(
        {"y_pred_pos": torch.tensor(own), "y_pred_neg": torch.tensor(np.concatenate(wrong))}
    )
    assert found["test_mrr"] == pytest.approx(official["mrr_list"].mean())
    for k in (1, 3, 10):
        assert found[f"test_hits@{k}"] == pytest.approx(official[f"hits@{k}_list"].mean())
