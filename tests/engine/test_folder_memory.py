"""Memory of cells on a graph folder: mapped pages are shared and not charged, anonymous ones are, and are enforced."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import numpy as np
import pytest

from graphnetz import run_benchmark, task_from_edges
from graphnetz._core.errors import UsageError
from graphnetz.engine.cost import footprint
from graphnetz.engine.executors import memory
from graphnetz.graphs import GraphFolder, convert

pytestmark = pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="reads Linux's own accounts")
WIDE, NODES = 1024, 40_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> GraphFolder:
    """A graph with 160 MB of features."""
    place = tmp_path_factory.mktemp("wide")
    rng = np.random.default_rng(0)
    np.save(place / "x.npy", rng.standard_normal((NODES, WIDE), dtype=np.float32))
    part = rng.integers(0, 40, NODES)
    masks = {f"{name}_mask": part == k for k, name in enumerate(("train", "val", "test"))}
    np.savez(place / "g.npz", edges=rng.integers(0, NODES, (100_000, 2)), y=rng.integers(0, 3, NODES), **masks)
    return convert(place / "g.npz", place / "graph", features=place / "x.npy")


def _touch(path: Path, queue: multiprocessing.Queue, together: multiprocessing.Barrier) -> None:
    before = memory.resident()
    graph = GraphFolder.open(path)
    total = float(graph.array("features").sum())
    own = memory.resident() - before
    together.wait(30)  # both hold the map now
    name, shares = str(path / "features"), []
    for block in Path("/proc/self/smaps").read_text().split("VmFlags:"):
        if name in block:
            shares += [int(line.split()[1]) * 1024 for line in block.splitlines() if line.startswith("Pss:")]
    together.wait(30)
    queue.put((own, sum(shares), total))


def test_two_workers_use_the_memory_of_one_map_once(folder: GraphFolder) -> None:
    context = multiprocessing.get_context("fork")
    queue, together = context.Queue(), context.Barrier(2)
    workers = [context.Process(target=_touch, args=(folder.path, queue, together)) for _ in range(2)]
    for worker in workers:
        worker.start()
    found = [queue.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    size = NODES * WIDE * 4
    assert sum(share for _, share, _ in found) == pytest.approx(size, rel=0.1)  # not twice
    assert all(own < 0.1 * size for own, _, _ in found)


def test_mapped_pages_are_not_charged_to_a_cell(folder: GraphFolder) -> None:
    task = task_from_edges("wide", folder.path, epochs=1)
    options = {"tasks": task, "models": ["GraphSAGE"], "seeds": [0], "verbose": False, "workers": 1}
    protocol = {"batch_nodes": 16, "fanouts": (2, 2)}
    report = run_benchmark(**options, backend="local", memory=600, protocol=protocol)
    (result,) = report.results
    assert result.status == "ok"
    assert result.peak_memory < 600e6


def unpropagated(folder: GraphFolder) -> None:
    """Remove what an SGC found before, or it would have nothing to propagate."""
    for kept in folder.path.glob("propagated-*"):
        kept.unlink()


def test_anonymous_pages_are_enforced(folder: GraphFolder, monkeypatch) -> None:
    unpropagated(folder)
    monkeypatch.setattr(footprint, "estimate", lambda workbench, sizes, cells, **_: [0.0 for _ in cells])  # a wrong one
    task = task_from_edges("wide", folder.path, epochs=1)
    options = {"tasks": task, "models": ["SGC"], "seeds": [0], "verbose": False, "workers": 1}
    report = run_benchmark(**options, backend="local", memory=150)  # a slice of all columns takes 330 MB
    (result,) = report.results
    assert result.status == "oom"


@pytest.mark.parametrize("model", ["GraphSAGE", "GCN", "GAT", "SGC"])
def test_the_estimate_is_within_a_fifth_of_the_peak(folder: GraphFolder, model: str, monkeypatch) -> None:
    priced = []
    price = footprint.estimate
    monkeypatch.setattr(footprint, "estimate", lambda *args, **how: priced.extend(price(*args, **how)) or priced[-1:])
    task = task_from_edges("wide", folder.path, epochs=2)
    options = {"tasks": task, "models": [model], "seeds": [0], "verbose": False, "workers": 1}
    protocol = {"batch_nodes": 256, "fanouts": (10, 10)}
    for _ in range(2):
        unpropagated(folder)
        (result,) = run_benchmark(**options, backend="local", memory=3000, protocol=protocol).results
        assert result.status == "ok"
        assert priced[-1] == pytest.approx(result.peak_memory, rel=0.2)


def test_what_cannot_fit_is_refused_before_training(folder: GraphFolder) -> None:
    unpropagated(folder)
    task = task_from_edges("wide", folder.path, epochs=1)
    with pytest.raises(UsageError, match=r"needs about \d+ MB beside the graph on disk and a worker may use 150 MB"):
        run_benchmark(tasks=task, models=["SGC"], seeds=[0], verbose=False, workers=1, memory=150)


def test_room_in_control_groups_counts_and_pages_of_files_do_not(tmp_path: Path) -> None:
    inner = tmp_path / "user.slice" / "run.scope"
    inner.mkdir(parents=True)
    (tmp_path / "own").write_text("4:memory:/elsewhere\n0::/user.slice/run.scope\n")
    for group, limit, used in ((inner, "max", 7), (inner.parent, "1000", 900)):
        (group / "memory.max").write_text(f"{limit}\n")
        (group / "memory.current").write_text(f"{used}\n")
    assert memory._left_in_groups(tmp_path, tmp_path / "own") == [100.0]
    (inner.parent / "memory.stat").write_text("anon 100\nfile 900\nactive_file 300\ninactive_file 400\nshmem 100\n")
    assert memory._left_in_groups(tmp_path, tmp_path / "own") == [800.0]
    assert memory._left_in_groups(tmp_path, tmp_path / "missing") == []
