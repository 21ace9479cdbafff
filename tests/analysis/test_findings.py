"""Findings over many tasks: every number is a count of rows, and the rows are those of the comparisons."""

import re

import numpy as np
import pandas as pd
import pytest

from graphnetz.analysis.field import share
from graphnetz.analysis.findings import TYPES, WITHOUT_EDGES, findings
from graphnetz.records.analysis import CLAIMS
from graphnetz.report import BenchmarkReport, TaskInfo

TRUTH = {  # model -> mean on each task: edges help on the first, harm on the second, do nothing on the third
    "helps": {"GCN": 0.9, "GAT": 0.8, "MLP": 0.5, "GradientBoosting": 0.6},
    "harms": {"GCN": 0.5, "GAT": 0.4, "MLP": 0.9, "GradientBoosting": 0.8},
    "same": {"GCN": 0.7, "GAT": 0.7, "MLP": 0.7, "GradientBoosting": 0.7},
    "links": {"GCN": 0.6, "GAT": 0.7, "MLP": 0.5, "GradientBoosting": 0.9},
}
BASELINES = ["MLP", "GradientBoosting"]


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    rows = [
        (task, model, seed, mean + rng.normal(0, 0.01))
        for task, models in TRUTH.items()
        for model, mean in models.items()
        for seed in range(10)
    ]
    frame = pd.DataFrame(rows, columns=["task", "model", "seed", "score"])
    kinds = dict.fromkeys(TRUTH, "node_cls") | {"links": "link_pred"}
    frame = frame.assign(
        metric="test_acc", greater_is_better=True, replication="regenerate", task_type=frame["task"].map(kinds)
    )
    made = BenchmarkReport.from_scores(frame)
    made.config["baselines"] = BASELINES
    return made


@pytest.fixture(scope="module")
def told(report):
    return {found.name: found for found in findings(report.analysis)}


def by_task(found, column):
    return {row[0]: row[found.table.columns.index(column)] for row in found.table.rows}


def test_differences_are_those_of_the_pairwise_table(report, told):
    frame = report.pairwise()
    shown = sum(pair.different for pair in report.analysis.comparisons)
    assert dict(told["differences"].tally) == {"shown": shown, "not shown": len(frame) - shown}
    assert f"{shown} of {len(frame)} comparisons" in told["differences"].text
    assert sum(row[2] for row in told["differences"].table.rows) == len(frame)
    # all seven differences by which the truth differs on a task of six pairs; 'same' has none
    assert by_task(told["differences"], "Shown") == {"helps": 6, "harms": 6, "same": 0, "links": 6}


def test_where_edges_help_and_harm_is_told_from_the_best_of_both_sides(told):
    found = told["graph-node_cls"]
    assert by_task(found, "Shown") == {"helps": "the graph helps", "harms": "edges do harm", "same": "not shown"}
    assert (
        "Node classification, 3 tasks: on 2 (same and harms) the best network is not shown to be better" in found.text
    )
    assert "(harms)" in found.text
    assert by_task(found, "First")["harms"] == "GCN"  # the better network stands for its side
    assert by_task(found, "First is better by")["harms"] == pytest.approx(-0.4, abs=0.02)
    assert "graph-link_pred" not in told


def test_networks_are_counted_on_all_tasks_they_share(told):
    (pair,) = [found for name, found in told.items() if name.startswith("networks-")]
    assert dict(pair.tally) == {"GCN": 2, "neither": 1, "GAT": 1}
    assert pair.text == (
        "GCN is shown to be better than GAT on 2 of 4 tasks, GAT than GCN on 1; on 1 no difference is shown."
    )


def test_the_baseline_that_is_beaten_least_is_named(report, told):
    rows = {row[0]: row[1:3] for row in told["rules"].table.rows}
    first = {(p.task, p.model) for p in report.analysis.places if p.first == 1}
    assert rows == {rule: (4, sum((task, rule) in first for task in TRUTH)) for rule in BASELINES}
    assert rows["GradientBoosting"][1] == 2  # links, and 'same' where nothing is shown
    assert dict(told["best-rule"].tally) == {"networks better": 1, "not shown": 1, "baseline better": 2}


def test_every_number_of_a_sentence_is_a_count_or_stands_in_its_rows(told):
    for found in told.values():
        values = {str(len(found.table.rows)), *(f"{count:,}" for _, count in found.tally)}
        values |= {f"{a + b:,}" for _, a in found.tally for _, b in found.tally}
        values |= {f"{sum(count for _, count in found.tally):,}"}
        cells = [value for row in found.table.rows for value in row]
        values |= {str(value) for value in cells} | {f"{value:.2f}" for value in cells if isinstance(value, float)}
        for _, part in found.tally:
            values.add(share(part, max(1, sum(count for _, count in found.tally))).split()[0])
        columns = [[row[i] for row in found.table.rows] for i in range(len(found.table.columns))]
        numeric = [c for c in columns if c and all(isinstance(v, int | float) for v in c)]
        values |= {f"{sum(c):,}" for c in numeric} | {str(m) for c in numeric for m in (min(c), max(c))}
        values |= {str(column.count("yes")) for column in columns} | {"80"}
        # of how many models at least half may be the best, and models of a board
        values |= {str(sum(2 * row[4] >= row[3] for row in found.table.rows)) if found.name == "best" else ""}
        said = re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", found.text)
        assert said, found.text
        assert [number.rstrip(",") for number in said if number.rstrip(",") not in values] == [], found.text


def test_claims_are_known_kinds_and_names_are_unique(report, told):
    assert all(kind in CLAIMS for found in told.values() for kind in found.claims)
    assert len(told) == len(findings(report.analysis))


def test_sentences_about_all_tasks_return_without_generated_data(report):
    """The same makers on fewer tasks; types and runs say how many tasks have generated data."""
    told = {found.name: found for found in findings(report.analysis, generated=["same", "links", "elsewhere"])}
    plain = {found.name: found for found in findings(report.analysis)}
    real = {name for name in told if name.endswith("-real")}
    assert real == {"differences-real", "best-real", "rules-real", "best-rule-real"}
    assert set(told) - real == set(plain)
    assert told["differences-real"].text == (
        "Without generated data: 12 of 12 comparisons of two models on one task show a difference (100 %)."
    )
    assert told["best-real"].text.startswith("Without generated data: on 2 of 2 tasks one model is shown")
    assert told["rules-real"].text.startswith("Without generated data: on ")
    for name in real:
        assert {row[0] for row in told[name].table.rows} <= {"helps", "harms", *BASELINES}
    order = [found.name for found in findings(report.analysis, generated=["same", "links"])]
    assert all(order[order.index(name) - 1] == name.removesuffix("-real") for name in real)
    assert "of 4 tasks (2 of generated data) with" in told["runs"].text
    assert told["graph-node_cls"].text.startswith("Node classification, 3 tasks (1 of generated data): on 2 (")
    # what is counted over all tasks stays what it was
    assert [told[name].table for name in plain] == [found.table for found in plain.values()]


def test_nothing_is_said_twice_where_all_or_no_data_were_generated(report):
    for names in ((), ("elsewhere",), tuple(TRUTH)):
        assert not [found for found in findings(report.analysis, generated=names) if found.name.endswith("-real")]


def test_tasks_that_are_tested_on_few_examples_are_counted(report):
    info = {
        task: TaskInfo("test_acc", task_type="node_cls", n_test=n)
        for task, n in zip(TRUTH, (99, 100, 5, 0), strict=True)
    }
    made = BenchmarkReport.from_results(report.results, tasks=info, models=report.models, seeds=report.seeds)
    (found,) = [found for found in findings(made.analysis) if found.name == "small"]
    assert found.text.startswith("On 2 of 3 tasks a run is tested on fewer than 100 nodes")
    assert [row[0] for row in found.table.rows if row[-1] == "yes"] == ["helps", "same"]


def test_one_task_or_one_model_has_no_findings_that_compare():
    frame = pd.DataFrame({"task": "cora", "model": "GCN", "seed": range(3), "score": [0.5, 0.6, 0.7]})
    made = BenchmarkReport.from_scores(frame.assign(metric="test_acc", greater_is_better=True))
    assert [found.text for found in findings(made.analysis)] == [
        "3 runs of 1 task with 3 seeds each stand behind this page; 0 failed; 1 task with fewer than 5 seeds is left out of comparisons."
    ]
    empty = BenchmarkReport.from_results([], tasks={"cora": TaskInfo("test_acc")}, models=("GCN",), seeds=(0,))
    assert findings(empty.analysis) == ()


def test_tasks_with_few_seeds_are_named_and_not_counted(report):
    """Three seeds show next to nothing after Holm: that is no finding about models."""
    rows = [(task, model, seed, value + 0.01 * seed) for task, models in TRUTH.items() for model, value in models.items()
            for seed in range(3 if task == "harms" else 6)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["task", "model", "seed", "score"])
    frame["score"] += np.random.default_rng(6).normal(0, 0.01, len(frame))
    made = BenchmarkReport.from_scores(frame.assign(metric="test_acc", greater_is_better=True, task_type="node_cls"))
    made.config["baselines"] = BASELINES
    told = {found.name: found for found in findings(made.analysis)}
    assert "; 1 task with fewer than 5 seeds is left out of comparisons." in told["runs"].text
    for name, found in told.items():
        tasks = [row[0] for row in found.table.rows if row[0] in TRUTH]
        assert ("harms" in tasks) == (name == "runs"), name


def test_tasks_on_which_every_run_collapsed_count_for_nobody(report):
    """Nothing is compared there, so that no baseline is unbeaten and no model is best."""
    rows = [(task, model, seed, value) for task, models in TRUTH.items() for model, value in models.items()
            for seed in range(6)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["task", "model", "seed", "score"])
    rng = np.random.default_rng(5)
    frame["score"] += rng.normal(0, 0.01, len(frame))
    frame.loc[frame["task"] == "same", "score"] = 0.0
    made = BenchmarkReport.from_scores(frame.assign(metric="test_f1", greater_is_better=True, task_type="edge_cls"))
    made.config["baselines"] = BASELINES
    told = {found.name: found for found in findings(made.analysis)}
    compared = {pair.task for pair in made.analysis.comparisons}
    assert {row[0] for row in told["best"].table.rows} == compared
    assert all(row[1] == len(compared) for row in told["rules"].table.rows)


def test_shares_never_round_to_a_certainty():
    assert [share(0, 5), share(5, 5), share(1, 400), share(399, 400)] == ["0 %", "100 %", "below 1 %", "over 99 %"]


def test_types_are_called_what_the_task_types_call_themselves():
    from graphnetz.tasktypes import TASK_TYPES

    assert {kind: TASK_TYPES[kind].label for kind in TYPES} == TYPES
    assert set(TYPES) == set(TASK_TYPES)


@pytest.mark.parametrize("name", WITHOUT_EDGES)
def test_models_that_see_no_edge_answer_alike_whatever_the_edges_are(name):
    import networkx as nx

    from graphnetz import run_benchmark, task_from_networkx

    scores = []
    for graph in (nx.karate_club_graph(), nx.cycle_graph(34)):
        rng = np.random.default_rng(1)
        for node in graph:
            graph.nodes[node]["club"] = "a" if node < 17 else "b"
            graph.nodes[node].update(dict(zip("xyz", rng.normal(size=3), strict=True)))
        task = task_from_networkx("club", graph, label="club", features=["x", "y", "z"])
        made = run_benchmark(
            models=[name, "GCN"], tasks=task, seeds=range(3), epochs=5, backend="serial", verbose=False
        )
        scores.append({model: made.scores.cell("club", model).tolist() for model in (name, "GCN")})
    assert scores[0][name] == scores[1][name]
    assert scores[0]["GCN"] != scores[1]["GCN"]
