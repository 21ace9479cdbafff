"""What a seed varies is declared, or found out by comparing two seeds, never guessed from a signature."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

from graphnetz import BenchmarkReport, run_benchmark, task_from_dataset
from graphnetz._core.errors import UsageError
from graphnetz.benchmark import get_split
from graphnetz.datasets import SUITES
from graphnetz.datasets.cards import CARDS, LOADER_REGISTRY, dataset, task_of
from graphnetz.engine.identity.data import seed_effect
from graphnetz.records import GraphList, Task

RUN = {"models": ["Majority", "FeatureOnly"], "backend": "serial", "verbose": False}


def ring(nodes=40, *, split=0, noise=0, masks=True):
    half = torch.arange(nodes)
    data = Data(
        x=torch.randn(nodes, 3, generator=torch.Generator().manual_seed(noise)),
        edge_index=torch.stack([half, half.roll(1)]),
        y=half % 2,
    )
    if masks:
        order = torch.from_numpy(np.random.default_rng(split).permutation(nodes))
        for part, chosen in zip(("train", "val", "test"), order.split([20, 10, 10]), strict=True):
            data[f"{part}_mask"] = torch.zeros(nodes, dtype=torch.bool).index_fill(0, chosen, True)
    return data


def resplit(root, *, seed):
    return ring(split=seed)


def regenerate(root, *, seed):
    return ring(noise=seed)


def the_same(root, *, seed):
    return ring()


def by_edges(root, *, seed):
    """Held-out edges differ, and so does the graph of those that are left."""
    data = ring(masks=False)
    order = torch.from_numpy(np.random.default_rng(seed).permutation(40))
    for part, chosen in (("val", order[:9]), ("test", order[9:18])):
        held = data.edge_index[:, chosen]
        data[f"{part}_pos_edge_index"], data[f"{part}_neg_edge_index"] = held, (held + 5) % 40
    data.edge_index = data.edge_index[:, order[18:]]
    return data


def shuffled(root, *, seed):
    graphs = [ring(8 + i, masks=False) for i in range(12)]
    order = np.random.default_rng(seed).permutation(12)
    return GraphList([graphs[i] for i in order], splits={"train": [*range(8)], "val": [8, 9], "test": [10, 11]})


@pytest.mark.parametrize(
    ("loader", "kind", "found"),
    [
        (resplit, "node_cls", "resplit"),
        (regenerate, "node_cls", "regenerate"),
        (the_same, "node_cls", "init"),
        (by_edges, "link_pred", "unknown"),
    ],
)
def test_an_undeclared_seed_is_found_out_and_recorded_as_found(loader, kind, found):
    models = RUN["models"] if kind == "node_cls" else ["DegreeProduct"]
    report = run_benchmark(tasks=Task("mine", kind, loader), seeds=range(2), **(RUN | {"models": models}))
    assert report.task_info["mine"].replication == found
    assert {result.replication for result in report.results} == {found}
    (note,) = (note for note in report.provenance["notes"] if "mine" in note)
    assert "does not declare" in note
    assert "Found out: the data of seeds 0 and 1" in note


def test_the_order_of_graphs_and_split_lists_are_no_new_data():
    assert seed_effect(shuffled("", seed=0), shuffled("", seed=1)) == "resplit"


def test_what_has_no_stable_bytes_is_unknown():
    a, b = ring(), ring()
    a.rows, b.rows = iter("ab"), iter("ab")
    assert seed_effect(a, b) == "unknown"


def test_a_declaration_is_believed_and_nothing_is_compared(monkeypatch):
    monkeypatch.setattr("graphnetz.engine.plan.seed_effect", lambda *_: pytest.fail("compared"))
    for word in ("resplit", "regenerate", "unknown"):
        report = run_benchmark(tasks=Task("mine", "node_cls", regenerate, replication=word), seeds=range(2), **RUN)
        assert report.task_info["mine"].replication == word
        assert not report.provenance["notes"]


def test_a_run_can_be_told_what_undeclared_seeds_vary(monkeypatch):
    monkeypatch.setattr("graphnetz.engine.plan.seed_effect", lambda *_: pytest.fail("compared"))
    tasks = [
        Task("undeclared", "node_cls", regenerate),
        Task("declared", "node_cls", regenerate, replication="regenerate"),
        Task("fixed", "node_cls", lambda root: ring()),
    ]
    report = run_benchmark(tasks=tasks, seeds=range(2), replication="resplit", **RUN)
    found = {name: info.replication for name, info in report.task_info.items()}
    # The masks of the last one do not change with the seed, whatever is said.
    assert found == {"undeclared": "resplit", "declared": "regenerate", "fixed": "init"}


def test_a_loader_is_called_once_per_seed_and_a_lone_seed_stays_unknown():
    seen = []

    def loader(root, *, seed):
        seen.append(seed)
        return ring(split=seed)

    run_benchmark(tasks=Task("mine", "node_cls", loader), seeds=(7, 11), **RUN)
    assert seen == [7, 11]
    assert get_split(Task("mine", "node_cls", loader), 3).replication == "unknown"


def test_splits_of_one_dataset_get_the_corrected_test_and_so_does_the_unknown():
    for word, test in (("resplit", "corrected"), ("unknown", "corrected"), ("regenerate", "paired t")):
        rng = np.random.default_rng(0)
        frame = [
            {"task": "t", "model": m, "seed": s, "score": 0.5 + 0.05 * (m == "a") + 0.02 * rng.standard_normal(),
             "metric": "test_acc", "replication": word, "test_ratio": 0.5}
            for m in "ab" for s in range(10)
        ]  # fmt: skip
        report = BenchmarkReport.from_scores(pd.DataFrame(frame))
        words = " ".join(verdict.text + str(verdict) for verdict in report.verdicts())
        assert test in words
        assert ("what a seed varies was not stated" in words) == (word == "unknown")


def test_cards_declare_and_an_unknown_word_is_refused():
    @dataset("social", serves={"node_cls": 3}, replication="resplit", simulated=True, offline=True)
    def rings_for_replication(root="data", *, seed=0):
        return ring(split=seed)

    try:
        assert task_of("rings_for_replication").replication == "resplit"
        assert get_split(task_of("rings_for_replication"), 1).replication == "resplit"
    finally:
        CARDS.remove("rings_for_replication")
        rows = LOADER_REGISTRY["social"]["node_cls"]
        rows[:] = [row for row in rows if row[0] != "rings_for_replication"]
    with pytest.raises(UsageError, match=r"Unknown replication 'resplitt'\. Known: init"):
        task_from_dataset("x", "node_cls", ring(), replication="resplitt")
    with pytest.raises(UsageError, match="Unknown replication"):
        dataset("social", serves={"node_cls": 3}, replication="new")(resplit)


OWN = {task.name: task for suite in SUITES.values() for task in suite()} | {
    task.name: task for card in CARDS.values() for task in (task_of(card, kind) for kind in card.serves)
}


def test_our_own_tasks_with_a_seed_declare_what_it_varies():
    seeded = [task for task in OWN.values() if task.seeded]
    assert len(seeded) >= 17
    assert [task.name for task in seeded if task.replication is None] == []


@pytest.mark.parametrize("name", ["random_tsp", "sbm_communities", "ising_lattice_published", "kinship_rules"])
def test_what_our_cards_declare_is_what_their_data_shows(name):
    loader = CARDS[name].loader
    assert seed_effect(loader("", seed=0), loader("", seed=1)) in (CARDS[name].replication, "unknown")
