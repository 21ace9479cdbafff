"""What the caller's process keeps: its memory allocator and its garbage collector are its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from graphnetz import run_benchmark, task_from_dataset
from graphnetz._core import malloc


def test_import_leaves_the_collector_alone():
    code = (
        "import atexit, gc; before = gc.get_threshold(), gc.isenabled(), gc.callbacks[:]\n"
        "atexit.register(lambda: print('frozen', gc.get_freeze_count()))\n"  # registered first: called last
        "import graphnetz, graphnetz.models; graphnetz.run_benchmark, graphnetz.BenchmarkReport\n"
        "print((gc.get_threshold(), gc.isenabled(), gc.callbacks[:]) == before)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["True", "frozen", "0"]


@pytest.mark.parametrize("executor", ["serial", "local"])
def test_only_worker_processes_change_malloc(executor, monkeypatch, tmp_path):
    seen: Path = tmp_path / "pids"
    monkeypatch.setattr(malloc, "reuse_memory", lambda: seen.open("a").write(f"{os.getpid()}\n"))
    graph = Data(
        x=torch.eye(12), edge_index=torch.stack([torch.arange(12), torch.arange(12).roll(1)]), y=torch.arange(12) % 2
    )
    graph.train_mask, graph.val_mask, graph.test_mask = (torch.arange(12) // 4 == part for part in range(3))
    task = task_from_dataset("ring", "node_cls", graph, epochs=1)
    report = run_benchmark(tasks=[task], models="GCN", seeds=[0], backend=executor, out=tmp_path / "run")
    assert all(result.ok for result in report.results)
    pids = set(map(int, seen.read_text().split())) if seen.exists() else set()
    assert os.getpid() not in pids
    assert bool(pids) == (executor == "local")
