"""Real tasks: what the audit finds is what was expected, no more and no less."""

import json
from pathlib import Path

import pytest

from graphnetz.audit import audit
from graphnetz.datasets import SUITES, find_task

EXPECTED = json.loads(Path(__file__).with_name("expected_findings.json").read_text(encoding="utf-8"))


def checks(task, root):
    return {item.check for item in audit(task, root=str(root))}


@pytest.mark.parametrize("name", EXPECTED["offline"])
def test_tasks_of_the_first_default_suite(name, tmp_path_factory):
    task = next(task for task in SUITES["first-default"]() if task.name == name)
    assert checks(task, tmp_path_factory.getbasetemp() / "offline") == set(EXPECTED["offline"][name])


def test_the_list_covers_the_first_default_suite():
    assert set(EXPECTED["offline"]) == {task.name for task in SUITES["first-default"]()}


@pytest.mark.data
@pytest.mark.parametrize("name", EXPECTED["shared"])
def test_real_datasets(name, shared_data, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(shared_data))
    monkeypatch.setenv("GRAPHNETZ_OFFLINE", "1")
    root = tmp_path_factory.getbasetemp() / "shared"
    assert checks(find_task(name), root) == set(EXPECTED["shared"][name])


@pytest.mark.data
@pytest.mark.golden
@pytest.mark.parametrize("name", EXPECTED["long"])
def test_large_real_datasets(name, shared_data, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(shared_data))
    monkeypatch.setenv("GRAPHNETZ_OFFLINE", "1")
    root = tmp_path_factory.getbasetemp() / "long"
    assert checks(find_task(name), root) == set(EXPECTED["long"][name])
