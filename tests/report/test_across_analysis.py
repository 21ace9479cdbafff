"""Places, aggregates and costs of an analysis against plain computation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from graphnetz.analysis.ranking import worst_ranks
from graphnetz.records.analysis import CLAIMS
from graphnetz.report import BenchmarkReport

EFFECTS = {"GCN": 0.8, "GAT": 0.79, "MLP": 0.7, "Majority": 0.5, "Late": 0.9}


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    rows = [
        (f"t{t}", model, seed, mean + rng.normal(0, 0.01), "test_acc", True)
        for t in range(8)
        for model, mean in EFFECTS.items()
        if model != "Late" or t < 2
        for seed in range(4)
    ]
    columns = ["task", "model", "seed", "score", "metric", "greater_is_better"]
    return BenchmarkReport.from_scores(pd.DataFrame(rows, columns=columns))


def test_a_model_that_omits_tasks_stands_where_it_is_when_they_are_worst(report):
    sets = report.analysis.rank_sets
    place = sets.models.index("Late")
    assert sets.missing[place] == 6
    assert sets.mean_ranks[place] == (2 * 1 + 6 * 5) / 8  # best where it ran, last elsewhere
    assert list(sets.mean_ranks) == sorted(sets.mean_ranks)
    assert sets.models[0] == "GCN"
    text = report.verdict()
    assert "Tasks that Late omits count as worst" in text
    assert "Late" in report.analysis.ranking.excluded
    ranks = worst_ranks(np.array([[3.0, np.nan, 5.0, np.nan]]), [True])
    assert ranks.tolist() == [[2.0, 3.5, 1.0, 3.5]]


def test_tasks_of_one_graph_count_once(build):
    means = {f"t{i}": {"A": 0.9, "B": 0.8} for i in range(7)}
    alone, shared = build(means), build(means, blocks={"t0": "g", "t1": "g"})
    assert (alone.analysis.rank_sets.n_blocks, shared.analysis.rank_sets.n_blocks) == (7, 6)
    assert "7 tasks on 6 graphs" in shared.analysis.rank_sets.words


def test_aggregates_keep_everyone_where_they_can(report):
    found = report.analysis.aggregates
    assert found.models == ("GCN", "GAT", "MLP", "Majority")
    assert set(found.everyone) == set(EFFECTS)
    strength = dict(zip(found.everyone, found.strength.strength, strict=True))
    effect = dict(zip(found.everyone, found.effects.effect, strict=True))
    for values in (strength, effect):
        assert values["Late"] > values["GCN"] > values["MLP"] > values["Majority"]  # never beaten where it ran
    values = report.scores.values[:, :4]
    low, high = values.mean(axis=2).min(axis=1)[:, None, None], values.mean(axis=2).max(axis=1)[:, None, None]
    runs = np.sort(((values - low) / (high - low))[:, 0].ravel())
    assert found.scores.iqm[0] == pytest.approx(runs[8:24].mean())
    wins = [(task[0] > task[1]) + 0.5 * (task[0] == task[1]) for task in values.mean(axis=2)]
    assert found.scores.wins[0, 1] == pytest.approx(np.mean(wins))


def test_every_table_says_its_scale_and_every_claim_is_known(report):
    tables = dict(report.analysis.population)
    assert "normalised per task" in tables["All runs in one number"].caption
    assert {"Improvement", "Win rates", "Strengths and effects"} <= set(tables)
    for verdict in report.verdicts():
        assert set(verdict.claims) <= set(CLAIMS)
    assert "rank-set" in report.verdicts()[1].claims


def test_score_against_cost(build):
    means = {f"t{i}": {"A": 0.9, "B": 0.8, "C": 0.7} for i in range(3)}
    analysis = build(means, sd=0.001).analysis
    points = {point.model: point for point in analysis.pareto}
    for point in points.values():
        beaten = any(
            other.score >= point.score and other.seconds <= point.seconds
            and (other.score > point.score or other.seconds < point.seconds)
            for other in points.values()
        )  # fmt: skip
        assert point.front == (not beaten)
    assert (points["A"].score, points["C"].score) == (1.0, 0.0)  # and no 1e-16
