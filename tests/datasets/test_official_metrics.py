"""The official metric of every dataset is its headline, and says who made it official."""

import pytest

from graphnetz import run_benchmark
from graphnetz.datasets import CARDS, SUITES, task_of
from graphnetz.engine.config import RunConfig, resolve_tasks
from graphnetz.metrics import METRICS, ranks_among
from graphnetz.tasktypes import TASK_TYPES
from graphnetz.tasktypes.ranked import queries_of

OGB_GRAPHS, OGB_NODES, OGB_LINKS = (f"ogb.{family}proppred.Evaluator" for family in ("graph", "node", "link"))
LISTED = (
    ("ogbg_molhiv ogbg_molbace ogbg_molbbbp ogbg_molclintox ogbg_molsider ogbg_moltox21 ogbg_moltoxcast", "graph_cls",
     "auc", OGB_GRAPHS),
    ("ogbg_molmuv ogbg_molpcba", "graph_cls", "ap", OGB_GRAPHS),
    ("ogbn_arxiv ogbn_products", "node_cls", "acc", OGB_NODES),
    ("ogbn_proteins", "node_cls", "auc", OGB_NODES),
    ("ogbl_collab", "link_pred", "hits@50", OGB_LINKS),
    ("ogbl_ppa", "link_pred", "hits@100", OGB_LINKS),
    ("ogbl_ddi", "link_pred", "hits@20", OGB_LINKS),
    ("ogbl_citation2 ogbl_wikikg2", "link_pred", "mrr", OGB_LINKS),
    ("peptides_func", "graph_cls", "ap", "LRGB (Dwivedi et al., 2022)"),
    ("peptides_struct", "graph_reg", "mae", "LRGB (Dwivedi et al., 2022)"),
    ("pascalvoc_sp coco_sp", "node_cls", "macro_f1", "LRGB (Dwivedi et al., 2022)"),
    ("minesweeper tolokers questions", "node_cls", "auc", "Platonov et al., 2023"),
    ("roman_empire amazon_ratings", "node_cls", "acc", "Platonov et al., 2023"),
    ("fb15k_237 wordnet18rr", "link_pred", "mrr", "filtered MRR among all entities"),
    ("elliptic_bitcoin", "node_cls", "f1", "F1 of the illicit class"),
    ("esol freesolv lipo", "graph_reg", "rmse", "MoleculeNet (Wu et al., 2018): RMSE"),
    ("bbbp clintox", "graph_cls", "auc", "MoleculeNet (Wu et al., 2018): ROC-AUC"),
    ("zinc aqsol bgnn_aqsol", "graph_reg", "mae", "MAE"),
    ("cora citeseer pubmed", "node_cls", "acc", "accuracy"),
)  # fmt: skip
"""Benchmarks whose metric somebody made official: datasets, task type, headline, and what the card calls its judge."""
OFFICIAL = [(name, *facts) for names, *facts in LISTED for name in names.split()]
ERRORS = ("mae", "rmse")
PAPER = {"node_cls": "acc", "graph_cls": "acc", "graph_reg": "mae", "link_pred": "auc"}
"""What the GraphNetz paper scores by, which ``--protocol paper`` keeps."""


@pytest.mark.parametrize("name", list(CARDS))
def test_every_card_declares_a_metric_and_who_made_it_official(name):
    card = CARDS[name]
    assert card.evaluator, f"{name} does not say where its metric is from"
    for kind in card.serves:
        metric = card.metric_of(kind)
        assert metric in METRICS, f"{name} has no metric for {kind}"
        assert metric in TASK_TYPES[kind].metrics
        assert task_of(card, kind).metric == metric


@pytest.mark.parametrize(("name", "kind", "metric", "judge"), OFFICIAL)
def test_official_metrics_are_those_of_the_benchmarks(name, kind, metric, judge):
    card = CARDS[name]
    assert task_of(card, kind).metric == metric
    assert judge in card.evaluator
    assert METRICS[metric].greater_is_better is (metric not in ERRORS)
    others = TASK_TYPES[kind].metrics
    assert metric in others
    assert kind != "link_pred" or {"mrr", "hits@1", "hits@3", "hits@10"} <= set(others)
    for key in others:  # chosen before the run, whatever the headline is
        (chosen,) = resolve_tasks(RunConfig.read({"task": name, "task_type": kind, "metric": key}))
        assert chosen.metric == key
    (paper,) = resolve_tasks(RunConfig.read({"task": name, "task_type": kind, "protocol": "paper"}))
    assert paper.metric is None
    assert others[0] == PAPER[kind]  # None takes the first of the task type


def test_what_no_task_type_can_ask_is_said_and_has_no_card():
    from pathlib import Path

    page = Path(__file__).resolve().parents[2] / "docs" / "catalogue.md"
    assert not [name for name in CARDS if "pcqm" in name]
    assert "PCQM-Contact" in page.read_text(encoding="utf-8").partition("## Gaps")[2]


@pytest.mark.parametrize(("name", "metric"), [row[::2][:2] for row in OFFICIAL if row[0].startswith("ogb")])
@pytest.mark.parametrize("seed", range(3))
def test_headlines_equal_the_evaluator_of_each_dataset_of_ogb(name, metric, seed, monkeypatch):
    """Random scores with ties, and gaps among the labels where the dataset has any."""
    import builtins
    import importlib

    import numpy as np
    import torch

    pytest.importorskip("ogb")
    monkeypatch.setattr(builtins, "input", lambda *_: pytest.fail("ogb asked a question"))
    rng, compute = np.random.default_rng(seed), METRICS[metric].compute
    judge = importlib.import_module(CARDS[name].evaluator.rpartition(".")[0]).Evaluator(name.replace("_", "-"))
    if metric == "acc":
        y, s = rng.integers(0, 6, 80), rng.normal(size=(80, 6))
        wanted = judge.eval({"y_true": y[:, None], "y_pred": s.argmax(1)[:, None]})["acc"]
        assert compute(y, s) == pytest.approx(wanted, abs=1e-12)
    elif metric in ("auc", "ap"):
        y = rng.integers(0, 2, (50, judge.num_tasks)).astype(float)
        s = rng.integers(-3, 4, y.shape).astype(float)
        if judge.num_tasks > 2:
            y[rng.random(y.shape) < 0.2] = np.nan
        wanted = judge.eval({"y_true": y, "y_pred": s})[judge.eval_metric]
        assert compute(y[:, 0] if judge.num_tasks == 1 else y, s) == pytest.approx(wanted, abs=1e-12)
    elif metric.startswith("hits@"):
        pos, neg = (rng.integers(0, 60, size).astype(float) for size in (70, 300))
        wanted = judge.eval({"y_pred_pos": torch.from_numpy(pos), "y_pred_neg": torch.from_numpy(neg)})[metric]
        y = np.r_[np.ones(70), np.zeros(300)]
        assert compute(y, np.r_[pos, neg]) == pytest.approx(wanted, abs=1e-12)
    else:
        pos, neg = rng.integers(0, 9, 40).astype(float), rng.integers(0, 9, (40, 25)).astype(float)
        found = judge.eval({"y_pred_pos": torch.from_numpy(pos), "y_pred_neg": torch.from_numpy(neg)})
        wanted = float(found["mrr_list"].mean())
        assert METRICS[metric].of_ranks(ranks_among(pos, neg)) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("metric", sorted({row[2] for row in OFFICIAL if not row[0].startswith("ogb")} - {"mrr"}))
@pytest.mark.parametrize("seed", range(3))
def test_headlines_of_the_other_benchmarks_equal_torchmetrics(metric, seed):
    """Classes that do not occur among them, as in small parts of the superpixel sets."""
    import numpy as np
    import torch

    tm = pytest.importorskip("torchmetrics.functional")
    rng = np.random.default_rng(seed)
    classes, binary = 21, rng.integers(0, 2, 60)
    y, s = (
        rng.integers(0, classes - 4, 60),
        np.pad(rng.normal(size=(60, classes - 2)), ((0, 0), (0, 2)), constant_values=-9),
    )
    labels, logits = rng.integers(0, 2, (60, 10)), rng.normal(size=(60, 10))
    targets, values = rng.normal(size=(40, 11)), rng.normal(size=(40, 11))
    guess, score = torch.from_numpy(s.argmax(1)), np.stack([np.zeros(60), rng.normal(size=60)], axis=1)
    whole = torch.from_numpy
    cases = {
        "acc": (y, s, lambda: tm.accuracy(guess, whole(y), task="multiclass", num_classes=classes, average="micro")),
        "macro_f1": (y, s, lambda: tm.f1_score(guess, whole(y), task="multiclass", num_classes=classes, average="macro")),
        "f1": (binary, score, lambda: tm.f1_score(whole(score.argmax(1)), whole(binary), task="binary")),
        "auc": (binary, score, lambda: tm.auroc(torch.sigmoid(whole(score[:, 1])), whole(binary), task="binary")),
        "ap": (labels, logits, lambda: tm.average_precision(
            torch.sigmoid(whole(logits)), whole(labels), task="multilabel", num_labels=10)),
        "mae": (targets, values, lambda: tm.mean_absolute_error(whole(values), whole(targets))),
        "rmse": (targets[:, 0], values[:, 0], lambda: tm.mean_squared_error(
            whole(values[:, 0].copy()), whole(targets[:, 0].copy()), squared=False)),
    }  # fmt: skip
    truth, given, wanted = cases[metric]
    assert METRICS[metric].compute(truth, given) == pytest.approx(float(wanted()), abs=1e-6)


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
