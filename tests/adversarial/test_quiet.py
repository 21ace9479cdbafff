"""Models whose code can leave nothing behind need no process of their own; what others leave behind is taken away."""

from __future__ import annotations

import functools
import importlib
import itertools
import sys
import textwrap

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from coins import one_graph
from torch import nn
from torch_geometric.nn import GCNConv, MessagePassing, global_mean_pool
from torch_geometric.utils import degree

from graphnetz import run_benchmark, task_from_dataset
from graphnetz.engine.executors.worker_process import runs_apart
from graphnetz.engine.own_state import OwnGlobals
from graphnetz.engine.quiet import is_quiet
from graphnetz.engine.worker import Workbench
from graphnetz.models import MODELS, spec_from
from graphnetz.records import Cell, Protocol

SLOPE = 0.2
SIZES = {"hidden": [16, 16]}
SCALE = torch.tensor([2.0])
LOGGER = object()


def halved(x):
    return x / 2


# -- what people write ----------------------------------------------------------------------------


class Tutorial(nn.Module):
    """The network of every introduction."""

    task_types = {"node_cls"}

    def __init__(self, in_channels, hidden_channels, out_channels, dropout=0.5):
        super().__init__()
        self.first = GCNConv(in_channels, hidden_channels)
        self.second = GCNConv(hidden_channels, out_channels)
        self.dropout = dropout

    def forward(self, data):
        x = F.relu(self.first(data.x, data.edge_index))
        x = F.dropout(x, p=self.dropout, training=self.training)
        return self.second(x, data.edge_index)


class OwnLayer(MessagePassing):
    """A layer of one's own: normalised neighbours."""

    def __init__(self, in_channels, out_channels):
        super().__init__(aggr="add")
        self.lin = nn.Linear(in_channels, out_channels, bias=False)
        self.bias = nn.Parameter(torch.zeros(out_channels))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_uniform_(self.lin.weight)

    def forward(self, x, edge_index):
        row, col = edge_index
        norm = degree(col, x.size(0), dtype=x.dtype).clamp(min=1).pow(-0.5)
        return self.propagate(edge_index, x=self.lin(x), norm=norm[row] * norm[col]) + self.bias

    def message(self, x_j, norm):
        return norm.view(-1, 1) * x_j


class WithOwnLayer(Tutorial):
    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__(in_channels, hidden_channels, out_channels)
        widths = [hidden_channels, *SIZES["hidden"]]
        self.convs = nn.ModuleList([OwnLayer(a, b) for a, b in itertools.pairwise(widths)])
        self.norms = nn.ModuleList(nn.BatchNorm1d(b) for b in widths[1:])
        self.head = nn.Sequential(nn.Linear(widths[-1], 8), nn.ReLU(), nn.Linear(8, out_channels))

    def forward(self, data):
        x = self.first(data.x, data.edge_index)
        kept = []
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = F.leaky_relu(norm(conv(x, data.edge_index)), SLOPE) * SCALE
            kept.append(halved(x))
        if len(kept) > 9:
            raise ValueError("too deep")
        return self.head(torch.stack(kept).max(dim=0).values)


class Pools(Tutorial):
    @torch.no_grad()
    def reset(self):
        self.dropout = 0.1

    def forward(self, data):
        return global_mean_pool(super().forward(data), data.batch)


class Fits(Tutorial):
    def fit(self, split, protocol):
        optimizer = torch.optim.Adam(self.parameters(), lr=protocol.lr)
        for _ in range(protocol.epochs):
            optimizer.zero_grad()
            out = self(split.data)[split.train]
            F.cross_entropy(out, split.targets["train"]).backward()
            optimizer.step()


@pytest.mark.parametrize("model", [Tutorial, OwnLayer, WithOwnLayer, Fits], ids=lambda cls: cls.__name__)
def test_what_people_write_is_quiet(model):
    assert is_quiet(model)


def test_what_wraps_code_is_followed_or_called_loud():
    assert not is_quiet(Pools), "torch.no_grad keeps an object of its own: nobody knows what it holds"
    assert is_quiet(Tutorial, 0.5, "add", (1, 2), None)
    assert not is_quiet(Tutorial, nn.Linear(1, 1))
    assert not is_quiet(Tutorial, [])


# -- every way out --------------------------------------------------------------------------------


def loud(**methods):
    """A model with one method exchanged."""
    return type("Loud", (Tutorial,), methods)


def _patches(self, data):
    torch.relu = torch.zeros_like


def _patches_by_alias(self, data):
    library = torch.nn.functional
    library.relu = torch.zeros_like


def _hands_on(self, data):
    vars(torch)


def _setattr(self, data):
    setattr(torch, "relu", torch.zeros_like)  # noqa: B010


def _setting(self, data):
    torch.set_default_dtype(torch.float64)


def _backend(self, data):
    torch.backends.mkldnn.flags(False)


def _hook(self, data):
    nn.modules.module.register_module_forward_hook(print)


def _class_state(self, data):
    type(self).calls = 1


def _class_through_dunder(self, data):
    self.__class__.calls = 1


def _class_by_name(self, data):
    Tutorial.calls = 1


def _imports(self, data):
    import os

    os.environ["A"] = "b"


def _executes(self, data):
    exec("torch.relu = torch.zeros_like")


def _opens(self, data):
    open("x", "w").close()


def _object(self, data):
    return LOGGER


def _closure():
    calls = []

    def forward(self, data):
        calls.append(1)

    return forward


def _nonlocal():
    calls = 0

    def forward(self, data):
        nonlocal calls
        calls += 1

    return forward


def _default(self, data, seen=[]):  # noqa: B006
    seen.append(1)


@functools.lru_cache
def _remembers(x):
    return x


def _cached(self, data):
    return _remembers(3)


def _calls_loud(self, data):
    return _patches(self, data)


def _inner_class(self, data):
    class Inner:
        pass

    return Inner


def _globals(self, data):
    globals()["SLOPE"] = 3


def _library_of_another(self, data):
    return np.ctypeslib


WAYS = {
    name: function
    for name, function in list(globals().items())
    if name.startswith("_") and getattr(function, "__module__", "") == __name__ and name not in ("_remembers",)
}


@pytest.mark.parametrize("name", WAYS)
def test_every_way_out_is_loud(name):
    function = WAYS[name]() if name in ("_closure", "_nonlocal") else WAYS[name]
    assert not is_quiet(loud(forward=function))


def test_state_that_cannot_be_put_back_is_loud():
    assert not is_quiet(loud(kept=nn.Linear(1, 1)))
    assert not is_quiet(loud(kept=[object()]))
    assert not is_quiet(loud(kept=[0] * 20_000)), "too much to copy before every cell"
    assert is_quiet(loud(kept=[1, 2])), "put back after the cell"
    assert not is_quiet(type("Meta", (type,), {})("Made", (Tutorial,), {}))


def test_quiet_models_stay_in_the_worker_and_others_do_not():
    task = task_from_dataset("t", "node_cls", one_graph())
    models = {"Tutorial": spec_from(Tutorial), "Loud": spec_from(loud(forward=_patches)), "GCN": MODELS["GCN"]}
    bench = Workbench({"t": task}, models, "data")
    cells = {name: Cell(name, "t", name, 0, Protocol()) for name in models}
    assert {name: runs_apart(bench, cell) for name, cell in cells.items()} == {
        "Tutorial": False, "Loud": True, "GCN": False,
    }  # fmt: skip


# -- globals of modules ---------------------------------------------------------------------------

KEEPS = """
    import torch
    from torch import nn

    calls = 0
    seen = []
    table = {"scale": 1.0}
    buffer = torch.zeros(2)


    class Keeps(nn.Module):
        task_types = {"node_cls"}

        def __init__(self, in_channels, hidden_channels, out_channels):
            super().__init__()
            self.layer = nn.Linear(in_channels, out_channels)

        def forward(self, data):
            global calls, fresh
            calls += 1
            fresh = calls
            seen.append(calls)
            table["scale"] = table["scale"] * 0.5 + helper.extra
            helper.extra += 1.0
            buffer.add_(1.0)
            return self.layer(data.x) * (table["scale"] + buffer.sum() + len(seen))
"""


@pytest.fixture
def keeps(tmp_path, monkeypatch):
    """A model that keeps everything in globals of its modules, fresh for each test."""
    (tmp_path / "keeps_help.py").write_text("extra = 0.0\n")
    (tmp_path / "keeps_state.py").write_text("import keeps_help as helper\n" + textwrap.dedent(KEEPS))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("keeps_state")
    for name in ("keeps_state", "keeps_help"):
        sys.modules.pop(name, None)


def outcomes(model, **options):
    task = task_from_dataset("t", "node_cls", one_graph())
    settings = {"seeds": range(3), "epochs": 3, "verbose": False} | options
    report = run_benchmark(models={"m": (model, "node_cls")}, tasks=[task], **settings)
    return {r.seed: (r.status, r.error, dict(r.metrics)) for r in report.results}


def test_globals_of_a_module_are_what_they_were_for_every_cell(keeps):
    alone = {seed: outcomes(keeps.Keeps, backend="serial", seeds=[seed])[seed] for seed in range(3)}
    assert {status for status, _, _ in alone.values()} == {"ok"}
    assert (keeps.calls, keeps.seen, keeps.table, keeps.helper.extra) == (0, [], {"scale": 1.0}, 0.0)
    assert keeps.buffer.tolist() == [0.0, 0.0]
    assert not hasattr(keeps, "fresh")
    assert outcomes(keeps.Keeps, backend="serial") == alone
    assert outcomes(keeps.Keeps, backend="local", workers=1) == alone


def test_globals_are_put_back_in_fresh_interpreters(keeps, monkeypatch):
    alone = outcomes(keeps.Keeps, backend="serial", seeds=[1])
    monkeypatch.setenv("GRAPHNETZ_START", "spawn")
    assert outcomes(keeps.Keeps, backend="local", workers=1, seeds=[0, 1])[1] == alone[1]


def test_what_the_models_do_not_reach_is_the_callers(keeps):
    keeps.mine = [1]
    kept = OwnGlobals(keeps.Keeps)
    before = kept.kept()
    keeps.mine.append(2)
    keeps.other = 3
    keeps.seen.append(9)
    kept.put_back(before)
    assert (keeps.mine, keeps.other, keeps.seen) == ([1, 2], 3, [])


def test_a_model_that_changes_data_and_then_fails_has_tampered():
    class Fails(Tutorial):
        def forward(self, data):
            data.x.mul_(0.0)
            raise RuntimeError("after the deed")

    for options in ({"backend": "serial"}, {"backend": "local", "workers": 1}):
        status, error, _ = outcomes(Fails, seeds=[0], **options)[0]
        assert status == "tampered"
        assert "data.x was changed in place" in error


def test_a_quiet_model_that_tampers_costs_its_worker_and_nobody_else(monkeypatch):
    class Centres(Tutorial):
        def forward(self, data):
            data.x.sub_(3.0)
            return super().forward(data)

    assert is_quiet(Centres)
    task = task_from_dataset("t", "node_cls", one_graph())

    def scores(**options):
        models = {"Centres": (Centres, "node_cls"), "Victim": (Tutorial, "node_cls"), "GCN": "GCN"}
        report = run_benchmark(models=models, tasks=[task], seeds=2, epochs=3, verbose=False, **options)
        return {(r.model, r.seed): (r.status, dict(r.metrics)) for r in report.results}

    one = scores(backend="local", workers=1)
    assert one == scores(backend="local", workers=2) == scores(backend="serial")
    assert {model: status for (model, _), (status, _) in one.items()} == {
        "Centres": "tampered", "Victim": "ok", "GCN": "ok",
    }  # fmt: skip
