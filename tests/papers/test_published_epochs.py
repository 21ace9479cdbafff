"""Epochs of published runs: what the hours and seconds per epoch come to that the paper prints."""

import json

import pytest

from graphnetz.datasets import SUITES
from graphnetz.papers.benchmarking_gnns.suite import rows
from graphnetz.papers.benchmarking_gnns.tables import dataset_of
from graphnetz.papers.benchmarking_gnns.tasks import FOLDS

NEVER_BETTER = 55
"""CSL: 5e-4 is halved nine times until it is below 1e-6, each after six epochs without a better loss, and one before."""


@pytest.fixture
def printed(shared_reference):
    return json.loads((shared_reference / "benchmarking_gnns_tables.json").read_text())["tables"]


def times_of(row, printed):
    """Seconds per epoch and hours of the printed rows with the figures of a row of ours."""
    table, _, second = row.table.partition(" ")
    for other in printed[table]["rows"]:
        scaled = [(other["test"] / by, other["test_sd"] / by) for by in (1, 100) if other.get("test") is not None]
        same = any((m, s) == pytest.approx((row.mean, row.sd), abs=1e-9) for m, s in scaled)
        if same and other.get("epoch_s") and other.get("run") in (None, 2 if second else 1):
            yield other["epoch_s"], other["total_h"]


def test_epochs_are_hours_over_seconds_per_epoch_and_fold(printed):
    told = [row for row in rows() if row.more["epochs"]]
    assert len(told) == 219
    for row in told:
        name, _ = dataset_of(row.task)
        folds = FOLDS[name].folds if name in FOLDS else 1
        if (row.table, row.task) == ("10", "csl") and row.model == "bgnn.GatedGCN":
            found = [(0.58, 0.05)]  # the same network in Table 13; Table 10 prints one line for all without times
        else:
            found = list(times_of(row, printed))
        assert any(abs(int(row.more["epochs"]) - 3600 * h / s / folds) <= 1 for s, h in found), row


def test_runs_that_the_clock_ended_say_nothing():
    """Hours at the limit: how many epochs the schedule would have needed is not known."""
    (row,) = (r for r in rows() if (r.table, r.task, r.model) == ("14", "tsp", "bgnn.GatedGCN-E"))
    assert row.more["epochs"] == ""


def test_the_least_that_the_rule_of_csl_allows_is_below_every_published_count():
    suite = SUITES["bgnn-table-10"]
    assert suite.epochs_needed("csl_pe_generated", "bgnn.GIN") == 65
    assert suite.epochs_needed("csl", "bgnn.GCN") == 0  # not printed
    counts = [int(row.more["epochs"]) for row in rows() if row.task.startswith("csl") and row.more["epochs"]]
    assert min(counts) >= NEVER_BETTER
