"""Scripts that train and pack the field: what they choose, what they say of its cost, how a tuned run becomes a row."""

import sys
from pathlib import Path

import pytest

from graphnetz.datasets import SUITES, find_task
from graphnetz.models import MODELS
from graphnetz.records import CellResult

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def scripts():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import field_more
        import sweep
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    return field_more, sweep


def test_tuned_parts_hold_every_task_once_with_all_models_and_one_budget(scripts):
    _, sweep = scripts
    parts = list(sweep.tuned_parts())
    names = [task for part in parts for task in part.tasks]
    assert len(set(names)) == len(names) >= 12
    assert {find_task(name).task_type for name in names} == {"node_cls", "link_pred", "edge_cls", "graph_cls"}
    assert {part.trials for part in parts} == {sweep.TRIALS}
    assert len({part.name for part in parts}) == len(parts)
    for part in parts:
        assert part.name.endswith(find_task(part.tasks[0]).task_type)
        assert {find_task(name).task_type for name in part.tasks} == {find_task(part.tasks[0]).task_type}
        offered = {task.name for task in SUITES[part.suite]()}
        there = [name for name in part.tasks if name in offered]  # others come from a mirror
        assert there or part.suite == "reachable"
    assert set(sweep.MODELS) <= set(MODELS)


def test_parts_are_chosen_by_name_task_and_work(scripts):
    _, sweep = scripts
    parts = [sweep.Part("a-1", "reachable", ("x", "y"), 5.0), sweep.Part("b-1", "reachable", ("z",), 50.0)]
    chosen = [(part.name, part.tasks) for part in sweep.chosen_parts(parts, 10.0, ["*"], [])]
    assert chosen == [("a-1", ("x", "y"))]
    assert [part.tasks for part in sweep.chosen_parts(parts, 99.0, ["a-*", "b-*"], ["y", "z"])] == [("y",), ("z",)]
    assert [part.name for part in sweep.chosen_parts(parts, 99.0, ["b-*"], [])] == ["b-1"]


def test_costs_are_added_up_and_what_was_not_measured_is_said(scripts):
    _, sweep = scripts
    rows = [["a", 1, 5, 1000, 1.24, 0.5], ["b", 2, 5, 200, 0.3, "not measured"]]
    assert sweep.cost_words(rows, "runs") == (
        "These 1,200 runs took 1.5 hours by the clock, mostly beside other work; 30 minutes of processor time were "
        "measured for 1,000 of them."
    )
    assert sweep.cost_words(rows[:1], "tuned runs").endswith("beside other work, and 30 minutes of processor time.")


@pytest.mark.parametrize(
    ("better", "value", "chosen"), [(True, 0.9, "lr 0.1, dropout 0.5"), (False, 0.7, "the default ones")]
)
def test_a_tuned_run_becomes_a_row_with_the_settings_that_validation_chose(scripts, better, value, chosen):
    field_more, _ = scripts
    trace = (
        {"val_acc": 0.5, "default": True, "test_acc": 0.7},
        {"lr": 0.1, "model.dropout": 0.5, "val_acc": 0.8},
        {"lr": 0.2, "val_acc": 0.8},  # equal: the first stays
        {"lr": 9.0, "error": "diverged"},
    )
    cell = CellResult("k", "t", "GCN", 3, metric="test_acc", metrics={"test_acc": value}, trace=trace,
                      greater_is_better=better)  # fmt: skip
    assert field_more.tuned_row(cell) == ["GCN", 3, 0.7, value, 4, chosen]
