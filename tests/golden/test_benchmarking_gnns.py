"""Findings of Dwivedi et al. (JMLR 24(43), 2023) at a size for two cores.

Everything here is generated, except ENZYMES. Parameter budgets, depths, learning rates and batch sizes are the
published ones unless a line below says otherwise; fewer graphs and shorter training are the reduction. A kept folder
(``GRAPHNETZ_GOLDEN``) is resumed, one subfolder per experiment.
"""

import functools
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from graphnetz import run_benchmark
from graphnetz.datasets import SUITES
from graphnetz.datasets.generators import symmetric
from graphnetz.datasets.sources.tu import tu_dataset
from graphnetz.papers.benchmarking_gnns.tasks import study_task
from graphnetz.records import GraphList, Plateau, Task

SEEDS = (41, 95, 12, 35)  # the published ones
MORE_SEEDS = (*SEEDS, 22, 7)  # where four left a p of 0.04
BUDGET = 100_000
pytestmark = [pytest.mark.golden, pytest.mark.timeout(14400)]


def task(name, kind, load, *, transform=None, epochs, metric=None, **protocol):
    return Task(name, kind, lambda _root: load(), epochs, metric=metric, protocol=protocol, transform=transform)


def run(name, tasks, models, *, seeds=SEEDS, **arguments):
    kept, workers = os.environ.get("GRAPHNETZ_GOLDEN"), os.environ.get("GRAPHNETZ_GOLDEN_WORKERS")
    report = run_benchmark(
        models=models, tasks=tasks, seeds=seeds, out=Path(kept, name) if kept else None, verbose=bool(kept),
        workers=int(workers) if workers else None,
        protocol={"budget": BUDGET} | arguments.pop("protocol", {}), **arguments,
    )  # fmt: skip
    assert not [cell.error for cell in report.results if not cell.ok]
    return report


def scores(report, task_name, model):
    return 100 * report.scores.cell(task_name, model)


# --- Claims of the paper at size small: what the certificate says of them (`graphnetz replicate benchmarking-gnns`).


def certificate(table):
    from graphnetz.papers.replicate import replicate

    kept = os.environ.get("GRAPHNETZ_GOLDEN")
    workers = os.environ.get("GRAPHNETZ_GOLDEN_WORKERS")
    more = {"workers": int(workers)} if workers else {}
    out = Path(kept, "replicate") if kept else None
    return replicate("benchmarking-gnns", table=table, size="small", out=out, hours=None, tell=print, **more)


@pytest.mark.parametrize("table", ["8a", "8b", "10", "11", "12"])
def test_no_claim_of_the_paper_is_contradicted_and_most_are_shown(table):
    made = certificate(table)
    outcomes = {item.claim.says: item.outcome for item in made.claims}
    assert "contradicted" not in outcomes.values(), outcomes
    assert "not run" not in outcomes.values(), outcomes
    assert list(outcomes.values()).count("shown") >= len(outcomes) / 2, outcomes
    assert not any(cell.agreement == "equivalent" for cell in made.cells)  # reduced data are never compared


# --- Beyond the claims: single targets, and what the paper does not gain. Positional encodings at the small size of the
# suite: 500 graphs of GraphTheoryProp, 40 epochs, the rate halved after one epoch without progress.


def pe_report(dataset, models, *, seeds=SEEDS, save_predictions=False, folder=None, **options):
    tasks = [study_task(dataset, size="small", pe=pe, **options) for pe in (False, True)]
    chosen = {model: SUITES["pe-study"].models()[model] for model in models}
    report = run(folder or dataset, tasks, chosen, seeds=seeds, save_predictions=save_predictions)
    return report, *(task.name for task in tasks)


GATED, ISOMORPHISM = "bgnn.GatedGCN-GRU", "bgnn.GIN-GRU"
ECCENTRICITY = 1


@pytest.fixture(scope="module")
def graph_theory_report():
    return pe_report("graph_theory_prop", [GATED], seeds=MORE_SEEDS, save_predictions=True)


def test_encodings_help_gated_convolution_on_eccentricity(graph_theory_report):
    """The target on which the paper's gain is largest (Table 12: -2.36 to -3.35)."""
    report, plain, encoded = graph_theory_report
    errors = {}
    for cell in report.results:
        wrong = cell.predictions.target[:, ECCENTRICITY] - cell.predictions.score[:, ECCENTRICITY]
        errors[cell.task, cell.seed] = np.log10(np.mean(wrong**2))
    gain = [errors[plain, seed] - errors[encoded, seed] for seed in MORE_SEEDS]
    assert stats.ttest_1samp(gain, 0.0, alternative="greater").pvalue < 0.05, gain


def test_encodings_do_not_move_gin_on_graph_theory_as_published():
    """Published averages (Table 12, four seeds): -3.19, s.d. 0.11, and -3.21, s.d. 0.13, a gain of 0.02.

    With 500 training graphs GIN's batch norms do not fit new graphs on some seeds; 1,500 are enough.
    """
    report, plain, encoded = pe_report(
        "graph_theory_prop", [ISOMORPHISM], seeds=MORE_SEEDS, folder="graph_theory_prop_gin", train=1500
    )
    gain = report.scores.cell(plain, ISOMORPHISM) - report.scores.cell(encoded, ISOMORPHISM)
    assert gain.std(ddof=1) < 0.2, "training is not stable"
    spread = np.hypot(gain.std(ddof=1) / np.sqrt(len(gain)), np.hypot(0.11, 0.13) / np.sqrt(4))
    assert abs(gain.mean() - 0.02) < 2 * spread, (gain.mean(), spread)
    assert abs(gain.mean()) < 0.1


# --- ENZYMES: its 18 attributes only, our own stratified folds, published rates, batches and patience (with 5 instead of
# 25 the rate falls before anything is learnt). Training stops when the rate has been halved four times instead of ten:
# on folds of another partition the accuracy did not move after that, and it saves two fifths of the epochs. Published
# (Table 16, seed 41 and 95): mean and s.d. over ten folds; "GCN" is the vanilla one.

ENZYMES = {
    "bgnn.GCN-vanilla": (7e-4, (65.833, 4.610), (64.833, 7.089)),
    "bgnn.GAT": (1e-3, (68.500, 5.241), (68.500, 4.622)),
    "bgnn.GIN": (7e-3, (65.333, 6.823), (67.667, 5.831)),
    "bgnn.GatedGCN": (7e-4, (65.667, 4.899), (70.000, 4.944)),
}


def enzymes(folder, mirror):
    graphs = [graph.clone() for graph in tu_dataset(folder, "ENZYMES", use_node_attr=True, mirror=mirror)]
    for graph in graphs:
        graph.x = graph.x[:, :18]
    labels = np.array([int(graph.y) for graph in graphs])
    folds = symmetric.stratified_folds(labels, np.random.default_rng(41), folds=10)
    return GraphList(graphs, splits=folds, replication="fold")


@pytest.fixture(scope="module")
def enzymes_report(shared_data, tmp_path_factory):
    load = functools.partial(enzymes, str(tmp_path_factory.mktemp("enzymes")), str(shared_data))
    one = task("enzymes_attributes", "graph_cls", load, epochs=1000, batch_size=20)
    rates = {m: {"lr": lr, "schedule": Plateau(0.5, 25, lr / 15)} for m, (lr, *_) in ENZYMES.items()}
    return run("enzymes", [one], list(ENZYMES), seeds=range(10), model_protocol=rates)


@pytest.mark.data
@pytest.mark.parametrize("model", list(ENZYMES))
def test_enzymes_mean_lies_within_one_published_deviation(enzymes_report, model):
    _, *published = ENZYMES[model]
    ours = scores(enzymes_report, "enzymes_attributes", model)
    assert len(ours) == 10
    assert any(abs(ours.mean() - mean) <= sd for mean, sd in published), (ours.mean(), published)
