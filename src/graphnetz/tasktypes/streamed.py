"""Node classification on a graph folder: sampled training from the map, and exact evaluation layer by layer.

Nothing of the size of the graph is held but a few bytes per node. Batches are drawn and their features gathered in
a second thread while the one before is trained on. In evaluation a layer is computed for blocks of rows, of which only
those that validation and test outputs depend on, and kept in a scratch file for the next layer.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import MessagePassing, SGConv

import graphnetz.kernels as kernels
from graphnetz._core.errors import DataError, UsageError
from graphnetz.graphs.folder import GraphFolder
from graphnetz.graphs.folder_checks import PARTS
from graphnetz.kernels.folders import CHUNK, FolderSampler, neighbourhoods, propagated, scratch
from graphnetz.kernels.receptive import FieldEdges
from graphnetz.kernels.sampling import NeighbourSample
from graphnetz.records import Protocol
from graphnetz.tasktypes.base import Dims, Split, placed
from graphnetz.tasktypes.node_cls import NodeClassification, declared_layers
from graphnetz.tasktypes.onehop import PIECE_ARCS, normalised, one_hop, remember, takes_norm
from graphnetz.tasktypes.rows import Ids, Rows, Stand

AHEAD = 1
"""Batches that wait while one is used and another is made: each holds the features of its nodes."""


class FolderData:
    """What models of a folder are given in place of a graph: the folder, and what is computed of it once.

    Parameters
    ----------
    folder
        The graph.
    """

    some = False
    """Whether of a layer some blocks are computed only, those numbered 0 and 2^k: to find out what a block takes."""

    def __init__(self, folder: GraphFolder) -> None:
        self.folder = folder

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self.folder.num_nodes

    @functools.cached_property
    def sampler(self) -> FolderSampler:
        """Draws batches; made once per process."""
        return FolderSampler(self.folder)

    @functools.cached_property
    def features(self) -> Tensor:
        """The mapped features as a tensor; nothing is loaded."""
        return _tensor(self.folder.array("features"))

    @functools.cached_property
    def labelled(self) -> Ids:
        """Nodes of all parts, rising."""
        return np.unique(np.concatenate([self.folder.array(part) for part in PARTS]))

    def gathered(self, nodes: Ids) -> Tensor:
        """Features of some nodes, in the type that is computed with."""
        return self.features[torch.from_numpy(np.asarray(nodes))].to(torch.get_default_dtype())

    def get(self, name: str) -> None:
        """Nothing: a folder holds no weights or attributes of edges."""
        del name

    def propagated(self, hops: int) -> np.ndarray:
        """Features of the labelled nodes after some propagations over the whole graph."""
        return propagated(self.sampler, hops, self.labelled)

    def communities(self, nodes: Ids, chosen: Ids) -> np.ndarray:
        """Neighbourhoods of some nodes: that of the nearest chosen one."""
        return neighbourhoods(self.sampler.structure, chosen, both_ways=False)[nodes]

    def __copy__(self) -> FolderData:
        return self  # nothing can be set on it, and what it has computed is the size of the nodes

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder}


def folder_split(folder: GraphFolder) -> Split:
    """Return the one split of a folder.

    Parameters
    ----------
    folder
        With features, labels and parts.

    Returns
    -------
    Split
        Its ``data`` is a `FolderData`.
    """
    where = f"The graph folder {str(folder.path)!r}"
    for name, give in (("features", "--features"), ("labels", "--labels"), ("train", "--split")):
        if not folder.has(name):
            raise DataError(f"{where} holds no {name}, which classifying nodes needs. Convert it with {give}.")
    labels = folder.array("labels")
    nodes = {part: np.asarray(folder.array(part)) for part in PARTS}
    targets = {part: labels[ids].astype(np.int64) for part, ids in nodes.items()}
    for part, target in targets.items():
        if not target.size:
            raise DataError(f"{where} has no {part} nodes. Every part needs at least one.")
    if np.unique(targets["train"]).size < 2:
        raise DataError(f"{where}: the training nodes have one class only, there is nothing to learn.")
    return Split(
        data=FolderData(folder),
        **placed({part: torch.from_numpy(ids.copy()) for part, ids in nodes.items()}),
        dims=Dims(folder.num_features, folder.num_classes),
        metric="acc",
        replication="init",
        targets=targets,
        examples={part: ids.copy() for part, ids in nodes.items()},
        n_train=len(nodes["train"]),
        n_test=len(nodes["test"]),
        kind="single",
        unit="node",
    )


def _tensor(array: np.ndarray) -> Tensor:
    """A tensor over a read-only array, which nobody writes to."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        return torch.from_numpy(array)


class FolderEdges(Stand):
    """Stands for the edge index of a folder: convolutions take it as a sign to note themselves."""

    graph: FolderData

    def __new__(cls, data: FolderData) -> FolderEdges:
        """Stand for the arcs of ``data``."""
        make: Any = torch.Tensor._make_wrapper_subclass
        out: FolderEdges = make(cls, (2, data.folder.num_arcs), dtype=torch.int64, device="cpu")
        out.graph = data
        return out


class StreamedNodes(NodeClassification):
    """Node classification on a graph folder."""

    def __init__(self, protocol: Protocol, model: nn.Module) -> None:
        self.protocol, self.model = protocol, model

    def batches(self, split: Split, batch_size: int) -> Iterator[Any]:
        size = self.protocol.batch_nodes or len(split.train)
        order = torch.randperm(len(split.train))
        if propagates(self.model):
            for places in torch.split(order, size):
                yield Data(whole=split.data, places=places, num_nodes=len(places))
            return
        if self.protocol.fanouts is None:
            raise UsageError(
                "Layers on a graph folder are trained on sampled neighbours: give batch_nodes and fanouts."
            )
        jobs = [(places, draw_key()) for places in torch.split(order, size)]
        layers = fast_layers(self.model)
        draw = functools.partial(self._drawn, split, layers)
        with nothing() if layers else normalised(self.model):
            yield from ahead(draw, jobs)

    def _drawn(self, split: Split, layers: tuple[Any, ...], job: tuple[Tensor, int]) -> Data:
        places, key = job
        data: FolderData = split.data
        sample = data.sampler.sample(split.train[places].numpy(), self.protocol.fanouts or (), seed=key)
        if layers:
            field = sample.field(len(layers))
            x, edges = data.gathered(field.nodes), cast(Tensor, field.edges(layers))
        else:
            x, edges = data.gathered(sample.nodes), sample.edge_index
            remember(edges, sample, None)
        batch = Data(x=x, edge_index=edges, n_id=torch.from_numpy(sample.nodes), num_nodes=len(x))
        batch.places = places
        return batch

    def loss(self, model: nn.Module, split: Split, batch: Any) -> Tensor:
        target = _tensor(split.targets["train"])[batch.places]
        if propagates(model):
            out = noted(model, batch.whole).read(split.train[batch.places].numpy())
        else:
            out = model(batch)[: len(batch.places)]
        return self.criterion(out, target)

    def scores(self, model: nn.Module, split: Split, parts: tuple[str, ...]) -> dict[str, Tensor]:
        nodes = {part: split.part(part).numpy() for part in parts}
        wanted = np.unique(np.concatenate(list(nodes.values())))
        out = noted(model, split.data)
        mask = np.zeros(split.data.num_nodes, dtype=bool)
        mask[wanted] = True
        out.ready(mask)
        found = out.read(wanted)
        return {part: found[torch.from_numpy(np.searchsorted(wanted, ids))] for part, ids in nodes.items()}


def unfit_for_folder(cls: Any) -> str:
    """Why a model cannot be trained on a graph folder, for a sentence after its name; empty where it may.

    Parameters
    ----------
    cls
        The class, or what makes the model.

    Returns
    -------
    str
        What can be seen before it is built; the rest shows when it is first called.
    """
    if not isinstance(cls, type) or not issubclass(cls, nn.Module) or hasattr(cls, "fit"):
        return "fits itself on a graph in memory, and this one stays on disk"
    return "has a loss of its own over the whole graph, which stays on disk" if hasattr(cls, "training_loss") else ""


@contextmanager
def nothing() -> Iterator[None]:
    """Nothing needs to be lent to layers that run in kernels."""
    yield


def draw_key() -> int:
    """Return a number of torch's stream, hence of the cell's seed, that decides the draws of a batch."""
    return int(torch.randint(2**62, ()))


def ahead(make: Callable[[Any], Any], jobs: list[Any], *, depth: int = AHEAD) -> Iterator[Any]:
    """Yield ``make(job)`` in order, made in a second thread while earlier ones are used; ``depth`` wait at most."""
    with ThreadPoolExecutor(1) as pool:
        waiting: list[Future[Any]] = []
        for job in jobs:
            waiting.append(pool.submit(make, job))
            if len(waiting) > depth:
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()


def propagates(model: nn.Module) -> bool:
    """Whether a model passes messages by constant propagations of the features alone, as SGC does."""
    found = [module for module in model.modules() if isinstance(module, MessagePassing)]
    return bool(found) and all(type(module) is SGConv for module in found)


def fast_layers(model: nn.Module) -> tuple[Any, ...]:
    """The convolutions of a model that the kernels compute layer by layer; empty for any other model."""
    layers = declared_layers(model)
    return layers if layers and kernels.restrictable(layers, torch.zeros(1)) else ()


def noted(model: nn.Module, data: FolderData) -> Rows:
    """Return the output of a model on all nodes, of which nothing is computed yet.

    Parameters
    ----------
    model
        Its convolutions look one hop far, and between them rows are treated one by one; otherwise it is refused.
    data
        The graph.

    Returns
    -------
    Rows
        One row per node.
    """
    x = Rows(data.num_nodes, torch.zeros(1, data.folder.num_features), data.gathered)
    convs = [module for module in model.modules() if isinstance(module, MessagePassing)]
    before = [(conv, vars(conv).get("forward")) for conv in convs]
    try:
        for conv in convs:
            conv.forward = functools.partial(_note, conv, conv.forward, x)
        # The class's own forward: what watches functions of torch in training knows nothing of rows to come.
        out = type(model).forward(model, Data(x=x, edge_index=FolderEdges(data), num_nodes=data.num_nodes))
    finally:
        for conv, kept in before:
            del conv.forward
            if kept is not None:
                conv.forward = kept
    if not isinstance(out, Rows):
        raise UsageError(f"{type(model).__name__} returned no row per node, and on a graph folder it must.")
    return out


def _note(conv: Any, forward: Any, first: Rows, x: Any, edge_index: Any, *args: Any, **kwargs: Any) -> Rows:
    """Note a convolution instead of computing it."""
    if not isinstance(x, Rows) or not isinstance(edge_index, FolderEdges) or args or kwargs:
        raise UsageError(
            f"On a graph folder {type(conv).__name__} can be given the rows and the edges of the graph, nothing else."
        )
    data = edge_index.graph
    if type(conv) is SGConv:
        if x is not first or not conv.add_self_loops:
            raise UsageError("On a graph folder SGConv propagates the features themselves, with self-loops.")
        table = data.propagated(conv.K)
        read = lambda nodes: torch.from_numpy(table[np.searchsorted(data.labelled, nodes)])  # noqa: E731
        out: Rows = conv.lin(Rows(data.num_nodes, first.probe, read))
        return out
    if not one_hop(conv):
        raise UsageError(f"{type(conv).__name__} is not known to look one hop far, which a graph folder needs.")
    return Layer(conv, forward, x, data)


class Layer(Rows):
    """The output of a convolution: its rows are computed once, by blocks, and lie in a scratch file."""

    conv: Any
    forward_: Any
    source: Rows
    graph: FolderData
    held: np.ndarray | None

    def __new__(cls, conv: Any, forward: Any, source: Rows, data: FolderData) -> Layer:
        """Note ``conv`` on ``source``."""
        with torch.no_grad():
            loop = torch.zeros(2, 1, dtype=torch.int64)
            probe = type(conv).forward(conv, source.probe, loop)
        out: Layer = super().__new__(cls, data.num_nodes, probe, lambda nodes: out._rows(nodes))  # type: ignore[assignment]
        out.conv, out.forward_, out.source, out.graph, out.held = conv, forward, source, data, None
        return out

    def ready(self, mask: np.ndarray) -> None:
        """Compute the rows in ``mask``, after those that they need."""
        sampler, chunks = self.graph.sampler, [np.s_[k : k + CHUNK] for k in range(0, mask.size, CHUNK)]
        if layers_behind(self.source):  # features lie there, whichever rows are asked for
            needed = np.zeros_like(mask)
            for part in chunks:
                sampler.mark(np.flatnonzero(mask[part]) + part.start, needed)
            self.source.ready(needed)
            del needed
        self.held, number = scratch(self.graph.folder, (mask.size, self.probe.size(1))), 0
        for part in chunks:
            for nodes in sampler.pieces(np.flatnonzero(mask[part]) + part.start, PIECE_ARCS):
                if not self.graph.some or number & (number - 1) == 0:
                    self.held[nodes] = self.computed(nodes).numpy()
                number += 1

    def _rows(self, nodes: Ids) -> Tensor:
        assert self.held is not None
        return torch.from_numpy(self.held[nodes])

    def computed(self, nodes: Ids) -> Tensor:
        """Compute the rows of some nodes from those of their neighbours."""
        sample = self.graph.sampler.sample(nodes, (-1,), seed=0)
        with torch.no_grad():
            x = self.source.read(sample.nodes)
            return block(self.conv, self.forward_, x, sample)


def layers_behind(rows: Rows) -> list[Layer]:
    """Return the layers that rows are computed from, themselves included, each once."""
    found, todo = {id(rows): rows}, [rows]
    while todo:
        last = todo.pop()
        fresh = [r for r in ((last.source,) if isinstance(last, Layer) else last.parents) if id(r) not in found]
        found |= {id(r): r for r in fresh}
        todo += fresh
    return [r for r in found.values() if isinstance(r, Layer)]


def block(conv: Any, forward: Any, x: Tensor, sample: NeighbourSample) -> Tensor:
    """Compute a convolution for the seeds of a sample that holds all their arcs.

    Parameters
    ----------
    conv, forward
        The layer, and how it is called now.
    x
        Rows of the sample's nodes.
    sample
        The seeds first.

    Returns
    -------
    Tensor
        One row per seed.
    """
    out: Tensor
    if kernels.restrictable((conv,), x):
        out = forward(x, FieldEdges(sample.field(1), (conv,)))
        return out
    if takes_norm(conv):
        conv._cached_edge_index = sample.gcn_edges(x.dtype, weighted=False)
    try:
        out = forward(x, sample.edge_index)
    finally:
        if takes_norm(conv):
            conv._cached_edge_index = None
    return out[: sample.num_seeds]
