"""The default suite: offline, every category, every task type, not toys."""

import dataclasses
import subprocess
import sys

import pytest
from torch_geometric.data import Data

from graphnetz._core.errors import UnknownNameError
from graphnetz.datasets import CATEGORIES, SUITES, find_task
from graphnetz.engine.config import RunConfig, resolve
from graphnetz.records import Suite
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


def test_a_function_is_a_suite_and_a_suite_may_say_more(monkeypatch):
    monkeypatch.setattr(SUITES, "_entries", dict(SUITES._entries))

    @SUITES.register("mine")
    def mine():
        """Two tasks of mine."""
        return TASKS[:2]

    assert mine() == SUITES["mine"]() == TASKS[:2]
    assert (SUITES["mine"].name, SUITES["mine"].title) == ("mine", "Two tasks of mine.")
    SUITES.add("fuller", Suite("fuller", lambda size: TASKS[: {"all": 3, "few": 1}[size]],
                               models=lambda: {"GCN": "GCN"}, seeds={"all": range(7), "few": (3, 4)},
                               protocol={"lr": 0.5}, model_protocol={"GCN": {"epochs": 2}}, sizes=("all", "few")))  # fmt: skip
    found = resolve(RunConfig.read({"suite": "fuller", "size": "few"}))
    assert (len(found.tasks), found.seeds, found.config.seeds) == (1, (3, 4), [3, 4])
    assert (found.protocol["lr"], found.model_protocol) == (0.5, {"GCN": {"epochs": 2}})
    other = resolve(RunConfig.read({"suite": "fuller", "lr": 0.1, "epochs": 5, "seeds": 2}))
    assert (len(other.tasks), other.seeds, other.protocol["lr"], other.model_protocol) == (3, (0, 1), 0.1, {})
    with pytest.raises(UnknownNameError, match=r"Unknown task of the suite 'fuller': 'cora'"):
        resolve(RunConfig.read({"suite": "fuller", "task": "cora"}))
    assert [task.name for task in resolve(RunConfig.read({"suite": "mine", "task": "cora", "model": "GCN"})).tasks] == [
        "cora"
    ]


def test_papers_are_loaded_when_a_suite_of_theirs_is_asked_for():
    code = (
        "import sys; from graphnetz.datasets import SUITES; SUITES['default']\n"
        "print([m for m in sys.modules if m.startswith('graphnetz.papers')]); print(len(SUITES['csl-study']()))\n"
        "print('graphnetz.papers.benchmarking_gnns.suite' in sys.modules, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:3] == ["[]", "2", "True False"]


def test_unknown_suite_is_named():
    with pytest.raises(UnknownNameError, match="Did you mean 'default'"):
        SUITES["defualt"]
