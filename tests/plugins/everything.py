"""A plug-in that adds one of everything, as docs/extend.md says; installed by test_everything.py."""

from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from graphnetz import register_model
from graphnetz.audit.checks import check
from graphnetz.datasets.cards import dataset, task_of
from graphnetz.datasets.suites import SUITES
from graphnetz.engine.executors import EXECUTORS, SerialExecutor
from graphnetz.engine.trackers import LOGGERS
from graphnetz.metrics import METRICS, metric
from graphnetz.records.config import PROTOCOLS, Preset
from graphnetz.records.replication import Certificate, Replication
from graphnetz.report.plots import FIGURES
from graphnetz.rings import FEATURES, perturbation, structure_metric
from graphnetz.selection import SELECTORS, extractor
from graphnetz.selection.bench import COLLECTIONS
from graphnetz.selection.selectors.base import Selector
from graphnetz.stats import CORRECTIONS, INTERVALS, PAIRED_TESTS, SPENDING
from graphnetz.stats.paired import TestOutcome
from graphnetz.tasktypes import task_type
from graphnetz.tasktypes.loop import OPTIMISERS
from graphnetz.tasktypes.node_cls import NodeClassification


@metric("plug_share", "plugged share", greater_is_better=True, bounds=(0.0, 1.0))
def plug_share(target, score):
    """Share of right classes."""
    return METRICS["acc"].compute(target, score)


@task_type
class PlugNodes(NodeClassification):
    """Node classification that leads with another metric."""

    name, label, metrics = "plug_nodes", "plugged node classification", ("plug_share", "acc")

    def split(self, dataset, seed):
        split = super().split(dataset, seed)
        split.metric = "plug_share"
        return split


@dataset(
    "social", serves={"plug_nodes": 5}, title="Plugged rings", source="made here", licence="CC0",
    citation="Nobody, Plugged rings, 2026.", simulated=True, offline=True, nodes=60, features=3,
)  # fmt: skip
def plug_rings(root="data"):
    """Two rings of 30 nodes whose features tell them apart."""
    half = torch.arange(30)
    ring = torch.stack([half, half.roll(1)])
    rng, y = np.random.default_rng(0), torch.arange(60) // 30
    x = torch.tensor(rng.normal(size=(60, 3)), dtype=torch.float) + y[:, None]
    part = torch.tensor(rng.permutation(60) % 3)
    masks = {f"{name}_mask": part == i for i, name in enumerate(("train", "val", "test"))}
    return Data(x=x, edge_index=torch.cat([ring, ring.flip(0), ring + 30, ring.flip(0) + 30], 1), y=y, **masks)


@register_model(name="PlugLinear", task_types=["node_cls", "plug_nodes"])
class PlugLinear(torch.nn.Module):
    """One linear layer."""

    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.layer = torch.nn.Linear(in_channels, out_channels)

    def forward(self, data):
        return self.layer(data.x)


@SUITES.register("plug-suite")
def plug_suite():
    """One task."""
    return [task_of("plug_rings")]


@OPTIMISERS.register("plug_sgd")
def plug_sgd(parameters, *, lr, weight_decay):
    """Plain gradient descent."""
    return torch.optim.SGD(parameters, lr=lr, weight_decay=weight_decay)


@PAIRED_TESTS.register("plug_signs")
def plug_signs(differences, test_ratio):
    """Two-sided p of all differences having one sign; anything else is p = 1."""
    values, n = differences.values, differences.n
    same = bool((values > 0).all() or (values < 0).all())
    return TestOutcome(float(np.sign(values).sum()), 2.0 ** (1 - n) if same else 1.0, n, 2.0 ** (1 - n))


@INTERVALS.register("plug_wide")
def plug_wide(x, level, n_resamples, seed):
    """Chebyshev's inequality: wide, for any distribution."""
    half = x.std(ddof=1) / np.sqrt(len(x) * (1 - level))
    return x.mean() - half, x.mean() + half


@CORRECTIONS.register("plug_sidak")
def plug_sidak(p):
    """One step of Sidak."""
    return np.where(p.shape[-1] == 1, p, 1 - (1 - p) ** p.shape[-1])


@SPENDING.register("plug_even")
def plug_even(alpha, fraction):
    """The same for every look."""
    return alpha * fraction


@EXECUTORS.register("plug_serial")
class PlugSerial(SerialExecutor):
    """Cells in the driver."""


@LOGGERS.register("plug_lines")
class PlugLines:
    """One line per cell."""

    def __init__(self, where, folder):
        self.path = Path(where) if where else folder / "plug_lines.txt"
        self.lines = []

    def cell(self, cell, result):
        self.lines.append(f"{cell.task} {cell.model} {cell.seed} {result.status}")

    def close(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("\n".join(self.lines))


@FIGURES.register("plug_nothing")
def plug_nothing(data):
    """An empty figure."""
    from matplotlib import pyplot

    return pyplot.subplots()


@perturbation("plug_doubled", mode="features", title="plugged doubling")
def plug_doubled(data, rng):
    """Features times two."""
    data.x = 2 * data.x
    return data


@structure_metric("plug_hops")
def plug_hops(adjacency, t):
    """Zero between neighbours, one otherwise."""
    yield 1.0 - (adjacency > 0)


@FEATURES.register("plug_first")
def plug_first(x):
    """Distance of the first feature."""
    return np.abs(x[:, :, None, 0] - x[:, None, :, 0])


@extractor("plug_squares")
def plug_squares(graph):
    """Squared degrees."""
    return graph.simple_degree**2


@SELECTORS.register("plug_median")
class PlugMedian(Selector):
    """The model with the best median over all known graphs."""

    title = "plugged median"

    def _fit(self, P, M):
        self.median = np.nan_to_num(np.nanmedian(np.where(np.isfinite(P).any(0), P, 0.0), axis=0))

    def _predict(self, M):
        return np.tile(self.median, (len(M), 1))


@check("plug constant feature")
def plug_constant(seen):
    """A feature that is the same everywhere."""
    yield "warning", "The plugged check was here.", 1.0


plug_short = Preset({"epochs": 2}, ("PlugLinear",))
PROTOCOLS.add("plug_short", plug_short)


plug_paper = Replication("plug-paper", "Plugged", "Me", lambda **_: Certificate("plug-paper", "Me", "small"))


@COLLECTIONS.register("plug_collection")
def plug_collection(path, feature_sets):
    """A reader that knows no file."""
    return None
