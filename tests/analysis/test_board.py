"""One row per model: the numbers of a leaderboard, held against brute force and SciPy."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from graphnetz._core.errors import UsageError
from graphnetz.records import CellResult
from graphnetz.report import BenchmarkReport, TaskInfo
from graphnetz.stats import aggregate_scores, pooled_rates, shared_rates

KINDS = {"a": ("node_cls", "x"), "b": ("node_cls", "y"), "c": ("graph_reg", "y")}
MEANS = {  # model C lacks task b; c is an error, so lower is better
    "a": {"A": 0.9, "B": 0.7, "C": 0.8}, "b": {"A": 0.5, "B": 0.6}, "c": {"A": 0.2, "B": 0.4, "C": 0.1},
}  # fmt: skip


def make(environment="", provenance=None):
    results, infos = [], {}
    for task, row in MEANS.items():
        kind, category = KINDS[task]
        up, metric = task != "c", "test_acc" if task != "c" else "test_mae"
        infos[task] = TaskInfo(metric, greater_is_better=up, task_type=kind, category=category)
        for model, seed in product(row, range(4)):
            ok = (task, model, seed) != ("a", "B", 3)
            value = {metric: row[model] + 0.01 * seed} if ok else {}
            results.append(
                CellResult(
                    f"{task}{model}{seed}", task, model, seed, "ok" if ok else "oom", metric, up, value,
                    seconds=2.0 if model == "A" else 4.0, peak_memory=1e6, environment=environment,
                )
            )  # fmt: skip
    return BenchmarkReport.from_results(
        results, tasks=infos, models=("A", "B", "C"), seeds=range(4), provenance=provenance or {}
    )


def rows(board):
    return {row.model: row for row in board.rows}


def test_rank_and_score_count_lacking_tasks_as_worst_and_stand_beside_those_without():
    every = make().analysis.boards[0]
    found = rows(every)
    assert (every.kind, every.name, every.tasks) == ("", "", 3)
    assert [row.model for row in every.rows] == ["A", "C", "B"]  # by mean rank with b as C's worst
    assert found["A"].rank == pytest.approx((1 + 2 + 2) / 3)
    assert found["C"].rank == pytest.approx((2 + 3 + 1) / 3)
    assert found["C"].rank_own == pytest.approx((2 + 1) / 2)
    assert found["C"].score_own == pytest.approx((0.5 + 1.0) / 2, abs=1e-9)
    assert found["C"].score == pytest.approx((0.5 + 0.0 + 1.0) / 3, abs=1e-9)
    assert (found["C"].tasks, found["C"].runs, found["C"].failures) == (2, 8, 0)
    assert (found["B"].tasks, found["B"].runs, found["B"].failures) == (3, 12, 1)


def test_boards_of_a_type_and_a_category_rest_on_their_tasks_alone():
    boards = {(b.kind, b.name): b for b in make().analysis.boards}
    assert set(boards) == {("", ""), ("type", "graph_reg"), ("type", "node_cls"), ("category", "x"), ("category", "y")}
    assert boards["type", "node_cls"].tasks == 2
    assert [row.model for row in boards["type", "graph_reg"].rows] == ["C", "A", "B"]
    assert rows(boards["category", "x"])["A"].rank == 1.0
    assert boards["type", "graph_reg"].reason.startswith("1 independent task cannot show a place")


def test_places_are_those_of_the_ranking():
    analysis = make().analysis
    sets, found = analysis.rank_sets, rows(analysis.boards[0])
    assert {m: (found[m].low, found[m].high, found[m].rank) for m in sets.models} == {
        m: (sets.low[i], sets.high[i], pytest.approx(sets.mean_ranks[i])) for i, m in enumerate(sets.models)
    }


def test_cost_is_in_units_of_the_reference_cell_of_its_machine():
    known = {"environments": {"fast": {"reference": {"seconds": 0.5, "peak_memory": 2e6}}, "other": 3}}
    row = rows(make("fast", known).analysis.boards[0])["A"]
    assert (row.seconds, row.memory, row.raw_seconds, row.raw_memory) == (4.0, 0.5, 2.0, 1e6)
    row = rows(make("slow", known).analysis.boards[0])["A"]
    assert math.isnan(row.seconds)
    assert row.raw_seconds == 2.0


def test_rates_agree_with_mann_whitney_and_with_aggregates_of_complete_tables():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(5, 4, 6)).round(1)  # with ties
    improvement, wins = shared_rates(values)
    whole = aggregate_scores(values, n_resamples=10)
    np.testing.assert_allclose(improvement, whole.improvement)
    np.testing.assert_allclose(wins, whole.wins)
    values[2, 1] = np.nan
    values[0, 3, 2:] = np.nan
    improvement, _ = shared_rates(values)
    for i, j in product(range(4), repeat=2):
        rates = []
        for task in values:
            a, b = (row[np.isfinite(row)] for row in (task[i], task[j]))
            if a.size and b.size:
                rates.append(scipy_stats.mannwhitneyu(a, b).statistic / (a.size * b.size))
        assert improvement[i, j] == pytest.approx(np.mean(rates))


def test_two_models_without_a_common_task_have_no_rate():
    values = np.full((2, 2, 3), np.nan)
    values[0, 0], values[1, 1] = 1.0, 2.0
    improvement, wins = shared_rates(values)
    assert math.isnan(improvement[0, 1])
    assert math.isnan(wins[1, 0])


def test_scores_alone_have_a_board_without_cost():
    frame = pd.DataFrame(
        [(t, m, s, 0.5 + 0.1 * (m == "A") + 0.01 * s) for t in "xy" for m in "AB" for s in range(3)],
        columns=["task", "model", "seed", "score"],
    ).assign(metric="test_acc", greater_is_better=True)
    row = rows(BenchmarkReport.from_scores(frame).analysis.boards[0])["A"]
    assert (row.wins, row.improvement, row.runs, row.failures) == (1.0, 1.0, 6, 0)
    assert math.isnan(row.seconds)


def test_models_without_a_row_are_named_with_the_reason():
    scores = [(t, m, s, 0.5 + 0.1 * ("ABC".index(m)) + 0.01 * s)
              for t in "xy" for m in "ABC" for s in range(1 if m == "C" else 5)]  # fmt: skip
    frame = pd.DataFrame(scores, columns=["task", "model", "seed", "score"]).assign(
        metric="test_acc", greater_is_better=True
    )
    found = BenchmarkReport.from_scores(frame, replication="init").analysis
    assert {row.model for row in found.boards[0].rows} == {"A", "B"}
    assert found.boards[0].left_out == "Without a row: C (too few seeds are shared with the others)."
    assert make().analysis.boards[0].left_out == ""


def test_rates_from_sorted_runs_are_the_means_of_those_of_all_pairs():
    rng = np.random.default_rng(8)
    for seeds in (1, 4):
        values = rng.normal(size=(7, 9, seeds)).round(1)  # with ties
        if seeds > 1:
            values[0, 3, 2:] = values[2, 1, 0] = np.nan
        rates = shared_rates(values)
        for found, pairs in zip(pooled_rates(values), rates, strict=True):
            np.fill_diagonal(pairs, np.nan)
            np.testing.assert_allclose(found, np.nanmean(pairs, axis=1), rtol=1e-13)
    with pytest.raises(UsageError, match="of every model on every task"):
        pooled_rates(np.full((2, 2, 3), np.nan))
