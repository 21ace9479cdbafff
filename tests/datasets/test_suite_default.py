"""The default suite: offline, every category, every task type, not toys."""

import dataclasses

import pytest
from torch_geometric.data import Data

from graphnetz._core.errors import UnknownNameError
from graphnetz.datasets import CATEGORIES, SUITES, find_task
from graphnetz.tasktypes import TASK_TYPES

TASKS = SUITES["default"]()


def _load(task):
    return task.loader("nowhere", **({"seed": 0} if task.seeded else {}))


def test_every_category_and_task_type_is_there():
    assert {task.category for task in TASKS} == set(CATEGORIES)
    assert {task.task_type for task in TASKS} == {
        "node_cls", "graph_cls", "graph_reg", "link_pred", "edge_cls", "multi_reg",
    }  # fmt: skip
    assert len({task.name for task in TASKS}) == len(TASKS) >= 10
    assert all(task.card.offline for task in TASKS)
    assert sum(not task.card.simulated for task in TASKS) >= 3  # real data where a dependency carries some


def test_at_least_five_tasks_are_not_toys():
    large = 0
    for task in TASKS:
        loaded = _load(task)
        large += loaded.num_nodes >= 1000 if isinstance(loaded, Data) else len(loaded) >= 200
    assert large >= 5


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_task_type_accepts_the_data(task):
    split = TASK_TYPES[task.task_type].split(_load(task), 0)
    assert split.n_train > split.dims.out_channels
    assert split.n_test >= 25
    # a suite may choose another headline metric; the task is the same
    assert dataclasses.replace(find_task(task.name), metric=task.metric) == task


def test_relational_and_plain_link_prediction_are_both_there():
    kinds = {TASK_TYPES["link_pred"].split(_load(t), 0).kind for t in TASKS if t.task_type == "link_pred"}
    assert kinds == {"relational", ""}


def test_unknown_suite_is_named():
    with pytest.raises(UnknownNameError, match="Did you mean 'default'"):
        SUITES["defualt"]
