"""Shared by the tests that attack: the shim between a program and the C library, and data that hides its answers."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))
from coins import many_graphs, one_graph, triples

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """Start Python programs under the shim; skipped where it cannot be built."""
    spec = importlib.util.spec_from_file_location("faults_shim", BENCHMARKS / "faults" / "shim.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if reason := module.unavailable():
        pytest.skip(reason)
    library = module.build(tmp_path_factory.mktemp("shim"))

    def start(*arguments, clock=0.0, **options):
        told = module.under(library, [str(argument) for argument in arguments], clock=clock)
        return subprocess.Popen(
            told["args"], env=told["env"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
        )

    return start


@pytest.fixture
def counted(shim):
    """Run a harness to its end; return its lines, one object each."""

    def run(*arguments):
        process = shim(*arguments)
        out, errors = process.communicate(timeout=240)
        assert process.returncode == 0, errors[-3000:]
        return [json.loads(line) for line in out.splitlines()]

    return run


@pytest.fixture(autouse=True)
def modules_of_benchmarks(monkeypatch):
    """``chaos`` and ``faults`` are programs beside the package."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] in ("chaos", "faults")]:
        if name != "chaos":  # tests of the engine hold it
            del sys.modules[name]


@pytest.fixture(scope="session")
def coins():
    """The datasets by name, with the task type of each."""
    edge = one_graph()
    edge.edge_label = torch.randint(2, (edge.num_edges,), generator=torch.Generator().manual_seed(3))
    return {
        "nodes": ("node_cls", one_graph()),
        "node labels": ("node_cls", one_graph(labels="float")),
        "node labels in whole numbers": ("node_cls", one_graph(labels="whole")),
        "nodes of many graphs": ("node_cls", many_graphs("nodes")),
        "graphs": ("graph_cls", many_graphs("class")),
        "graph labels": ("graph_cls", many_graphs("labels")),
        "real values": ("graph_reg", many_graphs("real")),
        "edges": ("edge_cls", edge),
        "edges of many graphs": ("edge_cls", many_graphs("edges")),
        "both": ("multi_reg", many_graphs("both")),
        "pairs": ("link_pred", one_graph()),
        "triples": ("link_pred", triples()),
    }
