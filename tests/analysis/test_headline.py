"""A report in three sentences: each kind of sentence, and that it says what tables say."""

import numpy as np
import pandas as pd
import pytest

from graphnetz.records import CellResult
from graphnetz.records.analysis import CLAIMS
from graphnetz.report import BenchmarkReport, TaskInfo


def scores(leads, *, tasks=8, seeds=5, spread=0.01, replication="resplit"):
    """Models whose means differ by ``leads``, the same on every task."""
    rng = np.random.default_rng(5)
    rows = [
        (f"t{t}", model, seed, 0.5 + lead + float(rng.normal(0, spread)))
        for t in range(tasks) for model, lead in leads.items() for seed in range(seeds)
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["task", "model", "seed", "score"]).assign(
        metric="test_acc", greater_is_better=True
    )
    return BenchmarkReport.from_scores(frame, replication=replication).analysis


def test_a_clear_leader_is_said_to_lead_alone():
    found = scores({"A": 0.2, "B": 0.0, "C": 0.05})
    assert found.rank_sets.high[0] == 1
    assert found.headline.leads.text == (
        "A leads: it is shown to be first alone of 3 models on tasks like these 8 (mean rank 1.00)."
    )
    assert found.headline.leads.claims == ("rank-set",)
    shown = sum(pair.different for pair in found.comparisons)
    assert found.headline.reaches.text.startswith(f"{shown} of 24 comparisons show a difference, all on other splits")
    assert "on 8 of 8 tasks one model is better than every other" in found.headline.reaches.text
    assert set(found.headline.reaches.claims) == {"better-dataset"}
    assert {line.level for line in found.headline.lines.values()} == {"different"}


def test_no_difference_is_said_as_such():
    found = scores({"A": 0.0, "B": 0.0, "C": 0.0}, spread=0.05)
    first = [m for m, low in zip(found.rank_sets.models, found.rank_sets.low, strict=True) if low == 1]
    assert len(first) == 3
    assert "No model is shown to lead alone: any of the 3 may be first" in found.headline.leads.text
    assert found.headline.reaches.text == "Nowhere: none of 24 comparisons within a task shows a difference."
    assert found.headline.reaches.claims == ()


def test_few_tasks_cannot_show_who_leads():
    text = scores({"A": 0.2, "B": 0.0}, tasks=3).headline.leads.text
    assert text == (
        "A has the best mean rank (1.00 among 2 models); 3 independent tasks cannot show who leads on others like them."
    )


def test_models_that_share_the_best_rank_are_all_named():
    found = scores({"A": 0.0, "B": 0.0, "C": 0.0}, spread=0.0, tasks=3)
    assert found.headline.leads.text == (
        "All 3 models share the mean rank 2.00; 3 independent tasks cannot show who leads on others like them."
    )
    assert found.headline.lines["t0"].text == "A, B and C have the same scores."
    two = scores({"A": 0.1, "B": 0.1, "C": 0.0}, spread=0.0)
    assert (
        "may be first of 3 models on tasks like these 8; A and B share the best mean rank, 1.50."
        in two.headline.leads.text
    )


def test_tasks_are_named_unless_they_are_all():
    one = scores({"A": 0.0, "B": 0.0}, seeds=1, tasks=3).headline
    assert one.distrust.text.startswith("Nothing can be tested on any task; comparisons rest on 1 seed at most")
    assert "1 of 3 tasks one model" not in one.reaches.text


def test_one_task_speaks_for_itself():
    found = scores({"A": 0.2, "B": 0.0}, tasks=1)
    assert found.headline.leads.text == "On t0: A is better than B on this dataset."
    assert found.headline.reaches.text == "The only comparison shows a difference, on other splits of the dataset."


def test_unstated_seeds_are_distrusted():
    doubt = scores({"A": 0.2, "B": 0.0}, replication=None).headline.distrust
    assert "what a seed varies was not stated on any task" in doubt.text[0].lower() + doubt.text[1:]


def test_nothing_to_distrust_is_no_praise():
    text = scores({"A": 0.2, "B": 0.0}, seeds=10).headline.distrust.text
    assert text.endswith("the best of a task was still picked from the scores that test it.")


@pytest.mark.parametrize("failed", [1, 3])
def test_failures_come_first(failed):
    cells = [
        CellResult(f"{t}{m}{s}", t, m, s, "oom" if (m, t) == ("B", "y") and s < failed else "ok", "test_acc", True,
                   {} if (m, t) == ("B", "y") and s < failed else {"test_acc": 0.5 + 0.01 * s + 0.1 * (m == "A") + 0.001 * s**2})
        for t in "xy" for m in "AB" for s in range(6)
    ]  # fmt: skip
    infos = {task: TaskInfo("test_acc") for task in "xy"}
    found = BenchmarkReport.from_results(cells, tasks=infos, models=("A", "B"), seeds=range(6)).analysis
    assert found.headline.distrust.text.startswith(f"{failed} of 24 runs failed (B)")


def test_nothing_finished():
    cells = [CellResult(str(s), "t", "A", s, "oom", "test_acc", error="no") for s in range(2)]
    found = BenchmarkReport.from_results(
        cells, tasks={"t": TaskInfo("test_acc")}, models=("A",), seeds=range(2)
    ).analysis
    assert found.headline.leads.text == "On t: No model finished."
    assert "2 of 2 runs failed" in found.headline.distrust.text


def test_only_known_claims_are_made():
    for found in (scores({"A": 0.2, "B": 0.0, "C": 0.05}), scores({"A": 0.01, "B": 0.0}, replication=None)):
        said = [*found.headline.sentences, *found.headline.lines.values()]
        assert {claim for verdict in said for claim in verdict.claims} <= set(CLAIMS)
