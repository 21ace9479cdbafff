"""Where the kernels must not run, the plain layer runs instead, with its own result."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys

import pytest
import torch
from kernel_graphs import features, make, random_edges

from graphnetz import kernels as gk
from graphnetz.kernels import known

EDGES = random_edges(8, 24)


@pytest.fixture
def forbidden(monkeypatch):
    """Fail the test if any fast layer runs."""

    def refuse(*_args, **_kwargs):
        raise AssertionError("a kernel ran")

    refusing = {name: dataclasses.replace(layer, run=refuse) for name, layer in known.LAYERS.items()}
    monkeypatch.setattr(known, "LAYERS", refusing)


def test_the_fixture_notices_a_kernel(forbidden):
    with pytest.raises(AssertionError, match="a kernel ran"):
        gk.message_passing(make("gcn", 4), features(8, 4, 0), EDGES)


def test_off_by_flag(forbidden):
    conv, x = make("gat", 4), features(8, 4, 0)
    with gk.enabled(False):
        assert not gk.usable(x)
        assert torch.equal(gk.message_passing(conv, x, EDGES), conv(x, EDGES))
    assert gk.usable(x)
    gk.set_enabled(False)
    try:
        assert torch.equal(gk.message_passing(conv, x, EDGES), conv(x, EDGES))
    finally:
        gk.set_enabled(True)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int64])
def test_other_types(dtype):
    assert not gk.usable(torch.ones(2, 2).to(dtype))


def test_half_precision_runs_the_layer(forbidden):
    conv, x = make("gcn", 4, dtype=torch.bfloat16), features(8, 4, 0, torch.bfloat16)
    assert torch.equal(gk.message_passing(conv, x, EDGES), conv(x, EDGES))


def test_other_devices():
    assert not gk.usable(torch.ones(2, 2, device="meta"))


def test_autocast(forbidden):
    conv, x = make("sage", 4, dtype=torch.float32), features(8, 4, 0, torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = gk.message_passing(conv, x, EDGES)
        assert torch.equal(got, conv(x, EDGES))
    assert got.dtype == torch.bfloat16


def test_torch_func(forbidden):
    conv, x = make("gcn", 4), features(8, 4, 0)
    parameters = dict(conv.named_parameters())

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = conv

        def forward(self, x):
            return gk.message_passing(self.conv, x, EDGES)

    model = Model()

    def loss(weights):
        named = {f"conv.{name}": value for name, value in weights.items()}
        return torch.func.functional_call(model, named, (x,)).pow(2).sum()

    found = torch.func.grad(loss)(parameters)
    want = torch.autograd.grad(conv(x, EDGES).pow(2).sum(), list(parameters.values()))
    for got, expected in zip(found.values(), want, strict=True):
        torch.testing.assert_close(got, expected)
    both = torch.func.vmap(lambda v: gk.message_passing(conv, v, EDGES))(torch.stack([x, 2 * x]))
    torch.testing.assert_close(both[1], conv(2 * x, EDGES))


def test_forward_mode(forbidden):
    conv, x = make("gcn", 4), features(8, 4, 0)
    with torch.no_grad():
        _, tangent = torch.func.jvp(lambda v: gk.message_passing(conv, v, EDGES), (x,), (torch.ones_like(x),))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
        out = torch.autograd.forward_ad.unpack_dual(gk.message_passing(conv, dual, EDGES))
    torch.testing.assert_close(out.tangent, tangent)


def test_torch_compile(forbidden):
    conv, x = make("gcn", 4), features(8, 4, 0)
    compiled = torch.compile(lambda v: gk.message_passing(conv, v, EDGES), backend="eager")
    torch.testing.assert_close(compiled(x), conv(x, EDGES))


def test_sparse_adjacency(forbidden):
    conv, x = make("sage", 4), features(8, 4, 0)
    adjacency = torch.zeros(8, 8, dtype=torch.float64)
    adjacency[EDGES[1], EDGES[0]] = 1.0
    matrix = adjacency.to_sparse_csr()
    torch.testing.assert_close(gk.message_passing(conv, x, matrix), conv(x, matrix))


def test_structure_without_kernels_gives_its_edges_to_the_layer(forbidden):
    conv, x = make("gat", 4), features(8, 4, 0)
    with gk.enabled(False):
        sparse = gk.SparseFeatures.from_dense(x)
        got = gk.message_passing(conv, sparse, gk.Structure.from_edges(EDGES, 8))
    torch.testing.assert_close(got, conv(x, EDGES))


def test_input_features_are_sparse_only_where_it_pays():
    wide = torch.eye(64)
    sparse = gk.input_features(wide)
    assert isinstance(sparse, gk.SparseFeatures)
    assert gk.input_features(wide) is sparse
    assert gk.input_features(sparse) is sparse
    assert isinstance(gk.input_features(wide.to_sparse_csr()), gk.SparseFeatures)
    wide[0, 0] = 3.0
    assert gk.input_features(wide).to_dense()[0, 0] == 3.0
    for x in (torch.ones(64, 64), torch.eye(8), torch.eye(64).requires_grad_(), torch.eye(64).half()):
        assert gk.input_features(x) is x
    with gk.enabled(False):
        assert gk.input_features(wide) is wide


def _python(code: str, **environment: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_environment_switches_kernels_off():
    code = "from graphnetz import kernels; print(kernels.is_enabled())"
    assert _python(code, GRAPHNETZ_KERNELS="0") == "False"
    assert _python(code, GRAPHNETZ_KERNELS="1") == "True"


def test_import_loads_neither_numba_nor_torch_and_metrics_stay_without():
    code = (
        "import sys; import graphnetz.kernels; from graphnetz.metrics import METRICS; METRICS['auc'];"
        "a = 'torch' in sys.modules; from graphnetz.kernels import message_passing, Structure;"
        "print(a, 'numba' in sys.modules)"
    )
    assert _python(code) == "False False"


def test_cache_falls_back_to_a_private_folder(tmp_path):
    code = (
        "from pathlib import Path; from graphnetz.kernels import runtime\n"
        "runtime._writable = lambda folder, real=runtime._writable: 'graphnetz-numba' in folder.name and real(folder)\n"
        "runtime._prepare_cache(); import numba; folder = Path(numba.config.CACHE_DIR)\n"
        "print(folder.parent, oct(folder.stat().st_mode & 0o777), folder.name)"
    )
    clean = {"TMPDIR": str(tmp_path), "NUMBA_CACHE_DIR": ""}
    where, mode, name = _python(code, **clean).split()
    assert (where, mode) == (str(tmp_path), "0o700")
    # A folder of that name that others may write is not trusted: cached code is executed.
    (tmp_path / name).chmod(0o777)
    where, mode, other = _python(code, **clean).split()
    assert (where, mode) == (str(tmp_path), "0o700")
    assert other != name


@pytest.mark.parametrize("width", [2, 33, 64])
def test_a_layer_of_the_wrong_width_is_refused_as_torch_refuses_it(width):
    """Identity features are multiplied as sparse ones, whose loop must not read beyond the weight."""
    from torch_geometric.data import Data
    from torch_geometric.nn import GCNConv

    data = Data(x=torch.eye(34), edge_index=random_edges(34, 80))
    model = torch.nn.Sequential(GCNConv(width, 2))
    gk.input_features(data.x)
    with gk.accelerate(model, data), pytest.raises(RuntimeError, match=r"shapes cannot be multiplied \(34x34"):
        model[0](data.x, data.edge_index)
