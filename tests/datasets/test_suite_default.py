"""The default suite: real, every category, every task type, not toys; and the first one, which needs no download."""

import dataclasses
import subprocess
import sys

import pytest
from torch_geometric.data import Data

from graphnetz._core.errors import UnknownNameError
from graphnetz.datasets import CATEGORIES, SUITES, find_task
from graphnetz.datasets.sources.wheels import wheels
from graphnetz.engine.config import Brought, RunConfig, resolve
from graphnetz.engine.plan import resolve_protocol
from graphnetz.records import Suite
from graphnetz.tasktypes import TASK_TYPES

TASKS = SUITES["default"]()
FIRST = SUITES["first-default"]()
TYPES = {"node_cls", "graph_cls", "graph_reg", "link_pred", "edge_cls", "multi_reg"}


def _load(task):
    return task.loader("nowhere", **({"seed": 0} if task.seeded else {}))


@pytest.mark.parametrize("tasks", [TASKS, FIRST], ids=["default", "first-default"])
def test_every_category_and_task_type_is_there(tasks):
    assert {task.category for task in tasks} == set(CATEGORIES)
    assert {task.task_type for task in tasks} == TYPES
    assert len({task.name for task in tasks}) == len(tasks) >= 10


def test_the_default_suite_keeps_its_rule():
    """What can be told from the cards; ``tests/datasets/test_carried_real.py`` looks at the data."""
    assert 12 <= len(TASKS) <= 16
    real = [task for task in TASKS if not task.card.simulated]
    assert len(real) >= 10
    assert {task.category for task in real} == set(CATEGORIES)
    assert sum(task.card.nodes >= 1000 if task.card.graphs == 1 else task.card.graphs >= 200 for task in TASKS) >= 8
    for task in TASKS:
        assert (task.protocol["selection"], task.protocol["patience"]) == ("best_val", 40), task.name
        assert not task.card.simulated or any("standard" in note for note in task.card.notes), task.name
    used = {file for task in TASKS for file in task.card.checksum}
    assert sum(wheel.size for wheel in wheels().values() if wheel.file in used) <= 80_000_000


def test_the_paper_trains_the_default_suite_to_the_last_epoch():
    asked = resolve(RunConfig.read({"protocol": "paper"}))
    assert asked.seeds == tuple(range(5))
    task = next(task for task in asked.tasks if task.name == "logic_gates")
    usual = resolve_protocol(task, resolve(RunConfig.read({})).protocol)
    paper = resolve_protocol(task, asked.protocol)
    assert (usual.selection, usual.patience) == ("best_val", 40)
    assert (paper.selection, paper.patience) == ("last", None)
    assert (usual.hidden_channels, paper.hidden_channels) == (32, 64)


def test_tasks_named_without_a_suite_take_nothing_of_the_default_one():
    assert resolve(RunConfig.read({"task": "les_miserables"})).seeds == tuple(range(10))
    assert resolve(RunConfig.read({"category": "social"})).seeds == tuple(range(10))
    assert resolve(RunConfig.read({}), Brought(tasks=["les_miserables"])).seeds == tuple(range(10))
    assert resolve(RunConfig.read({"suite": "default", "task": "les_miserables"})).seeds == tuple(range(5))


def test_quick_is_a_part_of_it():
    quick = SUITES["quick"]()
    assert quick
    assert {task.name for task in quick} < {task.name for task in TASKS}


def test_the_first_suite_needs_no_download_and_five_of_it_are_not_toys():
    assert all(task.card.offline for task in FIRST)
    assert sum(not task.card.simulated for task in FIRST) >= 3
    large = 0
    for task in FIRST:
        loaded = _load(task)
        large += loaded.num_nodes >= 1000 if isinstance(loaded, Data) else len(loaded) >= 200
    assert large >= 5


@pytest.mark.parametrize("task", FIRST, ids=lambda task: task.name)
def test_task_type_accepts_the_data(task):
    split = TASK_TYPES[task.task_type].split(_load(task), 0)
    assert split.n_train > split.dims.out_channels
    assert split.n_test >= 25
    # a suite may choose another headline metric; the task is the same
    assert dataclasses.replace(find_task(task.name), metric=task.metric) == task


def test_relational_and_plain_link_prediction_are_both_there():
    kinds = {TASK_TYPES["link_pred"].split(_load(t), 0).kind for t in FIRST if t.task_type == "link_pred"}
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
