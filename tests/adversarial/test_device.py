"""The device that a run states is the one its parameters were on; others are refused before anything is written."""

from __future__ import annotations

import subprocess
import sys

import networkx as nx
import pytest
import torch

from graphnetz import run_benchmark, task_from_networkx
from graphnetz._core.device import resolve_device
from graphnetz._core.errors import UsageError
from graphnetz.models import MODELS

TASK = task_from_networkx("karate", nx.karate_club_graph(), label="club")
OPTIONS = {"models": ["GCN", "Majority"], "tasks": TASK, "seeds": 1, "epochs": 1, "backend": "serial", "verbose": False}
ABSENT = ["cuda:7", "quantum", "meta", "cuda:-1", "xla", "", "cpu:1:2"]


@pytest.mark.parametrize("device", ABSENT)
def test_a_device_that_is_not_here_is_refused_and_nothing_is_written(device, tmp_path):
    out = tmp_path / "run"
    with pytest.raises(UsageError) as refusal:
        run_benchmark(**OPTIONS, device=device, out=str(out))
    assert "Use " in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert not out.exists()


@pytest.mark.parametrize("how", ["protocol", "model_protocol"])
def test_overrides_are_checked_too(how, tmp_path):
    value = {"device": "cuda:7"}
    chosen = {"protocol": value} if how == "protocol" else {"model_protocol": {"GCN": value}}
    with pytest.raises(UsageError, match="cuda:7"):
        run_benchmark(**OPTIONS, **chosen, out=str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_the_command_says_so_in_one_sentence_and_exits_with_2(tmp_path):
    out = tmp_path / "run"
    words = ["run", "--task", "karate_club", "--model", "GCN", "--seeds", "1", "--device", "quantum", "--out", str(out)]
    done = subprocess.run([sys.executable, "-m", "graphnetz", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Unknown device 'quantum'" in done.stderr
    assert "Traceback" not in done.stderr
    assert not out.exists()


@pytest.mark.parametrize("device", ["cpu", "auto", "cpu:0", torch.device("cpu")])
def test_the_record_states_where_the_parameters_were(device, monkeypatch):
    report = run_benchmark(**OPTIONS, device=device)
    assert {r.status for r in report.results} == {"ok"}
    wanted = "cuda:0" if torch.cuda.is_available() and device == "auto" else "cpu"
    assert {r.protocol.device for r in report.results if r.model == "GCN"} == {wanted}
    assert {r.protocol.device for r in report.results if r.model == "Majority"} == {"cpu"}


def test_a_known_device_of_another_machine_is_left_to_it():
    assert resolve_device("cuda:7", here=False) == "cuda:7"
    with pytest.raises(UsageError, match="quantum"):
        resolve_device("quantum", here=False)


def test_the_device_is_read_off_the_parameters(monkeypatch):
    from graphnetz.engine.worker import _device_of

    model = MODELS["GCN"].cls(3, 4, 2)
    assert _device_of(model) == "cpu"
    assert _device_of(model.to("meta")) == "meta", "not the one that was asked for"
