"""What tuning changes over many tasks: every number is a count of rows that were made with a known answer."""

import numpy as np
import pytest

from graphnetz.analysis.findings import findings
from graphnetz.analysis.tuning_findings import FEW_GRAPHS
from graphnetz.records import CellResult
from graphnetz.records.analysis import CLAIMS
from graphnetz.records.findings import TUNING
from graphnetz.report import BenchmarkReport, TaskInfo

MEANS = {  # (default, tuned) by task: tuning helps GCN everywhere, and turns who is first on the second
    "kept": {"GCN": (0.80, 0.84), "MLP": (0.60, 0.60), "Majority": (0.3, 0.3)},
    "turned": {"GCN": (0.55, 0.70), "MLP": (0.62, 0.62), "Majority": (0.3, 0.3)},
    "lost": {"GCN": (0.70, 0.7001), "MLP": (0.65, 0.70), "Majority": (0.3, 0.3)},
}
TRIALS = {"GCN": 3, "MLP": 2, "Majority": 1}


def made(means, seeds=8, noise=0.004, keep=True, rng=None):
    rng = rng or np.random.default_rng(0)
    cells = []
    for task, models in means.items():
        for model, (default, tuned) in models.items():
            for seed in range(seeds):
                before = default + rng.normal(0, noise)
                after = before + tuned - default
                first = {"val_acc": 0.5, "default": True} | ({"test_acc": before} if keep else {})
                more = [{"val_acc": 0.6 + i / 10, "lr": 0.1 / (i + 1)} for i in range(TRIALS.get(model, 2) - 1)]
                trace = (first, *more) if TRIALS.get(model, 2) > 1 else ()
                value = after if trace else before
                key, metrics = f"{task}{model}{seed}", {"test_acc": value}
                cells.append(CellResult(key, task, model, seed, metric="test_acc", metrics=metrics, trace=trace))
    info = {task: TaskInfo("test_acc", replication="regenerate", task_type="node_cls", block=task) for task in means}
    models = tuple(dict.fromkeys(model for of in means.values() for model in of))
    config = {"baselines": [name for name in models if name in ("MLP", "Majority")]}
    return BenchmarkReport.from_results(cells, tasks=info, models=models, seeds=range(seeds), config=config)


@pytest.fixture(scope="module")
def told():
    return {found.name: found for found in findings(made(MEANS).analysis) if found.question == TUNING}


def test_runs_settings_and_trainings_are_counted(told):
    assert told["tuning"].text == (
        "Tuned and default settings stand side by side in 48 runs of 2 models on 3 tasks: each run chose on validation "
        "data among 3 settings (MLP has fewer), the default ones among them, 120 trainings in all."
    )
    assert sum(row[4] for row in told["tuning"].table.rows) == 3 * 8 * (3 + 2) == 120
    assert all(row[1] != "Majority" for row in told["tuning"].table.rows)


def test_means_before_and_after_are_counted_without_a_test(told):
    rows = {(row[0], row[1]): row[-1] for row in told["tuning-means"].table.rows}
    assert len(rows) == 6  # Majority has nothing to tune
    assert rows["turned", "GCN"] == pytest.approx(0.15)
    assert told["tuning-means"].text == (
        "After tuning the mean test score is better for 4 of 6 pairs of a task and a model, worse for 0 and the same for "
        "2; from +0.000 (MLP on turned) to +0.150 (GCN on turned)."
    )
    assert dict(told["tuning-means"].tally) == {"better": 4, "the same": 2, "worse": 0}


def test_differences_survive_fall_turn_or_come_anew(told):
    found = told["tuning-differences"]
    rows = {(row[0], row[1], row[2]): row[3] for row in found.table.rows}
    assert rows["kept", "GCN", "MLP"] == "default and tuned"
    assert rows["turned", "GCN", "MLP"] == "the other way round"
    assert rows["lost", "GCN", "MLP"] == "default settings only"
    assert ("lost", "MLP", "Majority") in rows  # one of the two was tuned
    assert found.text == (
        "Of 9 differences that default settings show, 7 are shown after tuning too, 1 no longer and 1 the other way "
        "round; 0 more are shown only after tuning."
    )
    assert sum(count for _, count in found.tally) == len(found.table.rows) == 9


def test_who_is_best_changes_on_one_task_and_the_former_best_is_shown_worse(told):
    rows = {row[0]: row[1:] for row in told["tuning-best"].table.rows}
    assert rows["kept"] == ("GCN", "GCN", "no", "may still be best")
    assert rows["turned"] == ("MLP", "GCN", "yes", "shown worse")
    assert rows["lost"][0] == "GCN"
    assert rows["lost"][3] == "may still be best"
    changed = sum(row[2] == "yes" for row in rows.values())
    assert f"On {changed} of 3 tasks another model" in told["tuning-best"].text
    assert "; on 1 the best with default settings is then shown to be worse" in told["tuning-best"].text


def test_networks_against_baselines_before_and_after(told):
    rows = {row[0]: (row[3], row[6]) for row in told["tuning-rule"].table.rows}
    assert rows == {"kept": ("network", "network"), "turned": ("baseline", "network"), "lost": ("network", "neither")}
    assert told["tuning-rule"].text == (
        "With default settings the best network is shown to be better than the best baseline on 2 of 3 tasks and worse "
        "on 1; with both tuned, better on 2 and worse on 0."
    )


def test_the_untuned_analysis_is_that_of_the_default_scores():
    report = made(MEANS)
    before = report.analysis.untuned
    assert before.scores.cell("turned", "GCN").mean() == pytest.approx(0.55, abs=0.01)
    np.testing.assert_array_equal(before.scores.cell("kept", "Majority"), report.scores.cell("kept", "Majority"))
    assert before.untuned is None
    assert before.facts.baselines == report.analysis.facts.baselines


def test_without_the_default_scores_nothing_is_said_of_tuning():
    found = findings(made(MEANS, keep=False).analysis)
    assert found
    assert all(one.question != TUNING for one in found)


def test_claims_are_known_kinds(told):
    assert all(kind in CLAIMS for found in told.values() for kind in found.claims)


def gained(means, rng):
    tasks = {f"t{i}": {f"M{j}": (0.5, 0.5 + gain) for j, gain in enumerate(row)} for i, row in enumerate(means)}
    found = {one.name: one for one in findings(made(tasks, seeds=5, rng=rng).analysis)}
    return found.get("tuning-gain")


def test_a_gain_over_graphs_is_shown_with_its_interval_and_few_graphs_say_nothing():
    rng = np.random.default_rng(1)
    found = gained(
        np.column_stack([rng.normal(0.05, 0.01, 8), rng.normal(0, 0.01, 8), rng.normal(-0.05, 0.01, 8)]), rng
    )
    rows = {row[0]: row for row in found.table.rows}
    assert [rows[name][-1] for name in ("M0", "M1", "M2")] == ["raises", "not shown", "lowers"]
    assert rows["M0"][4] < 0.05 < rows["M0"][5]
    assert found.text.startswith(
        "Tuning is shown to raise the mean test score of 1 of 3 models (M0) and to lower that of 1 (M2);"
    )
    assert "largest mean gain: M0, +0.0" in found.text
    assert gained(np.full((FEW_GRAPHS - 1, 2), 0.05), rng) is None


@pytest.mark.parametrize("draw", ["normal", "mostly zero", "lognormal"])
def test_gains_that_are_none_are_rarely_shown(draw):
    """Eight models over twelve graphs without a mean gain: any is shown in at most 5 % of fields.

    Drawn gains stand for those of a task, straight at the interval that the finding prints: 2,000 fields.
    """
    from graphnetz.analysis.tuning_findings import gain_intervals

    rng = np.random.default_rng(7)
    fields, wrong = 2000, 0
    for _ in range(fields):
        gains = rng.normal(0, 0.02, (12, 8))
        if draw == "mostly zero":  # the default is chosen again, or what was chosen gives the same test score
            gains *= rng.random(gains.shape) < 0.5
        elif draw == "lognormal":  # a long tail of gains, as much lost elsewhere
            gains = rng.lognormal(0, 0.5, gains.shape) - np.exp(0.125)
        wrong += any(low > 0 or high < 0 for _, low, high in gain_intervals(gains.T, 0.95))
    error = np.sqrt(0.05 * 0.95 / fields)
    assert wrong / fields <= {"lognormal": 0.20}.get(draw, 0.05 + 3 * error)
    assert wrong > 0
