"""What a cell on a graph folder needs in memory, found before it is trained from one batch and one block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from torch import nn

import graphnetz.kernels as kernels
from graphnetz._core.rng import generator
from graphnetz.engine.cost.alive import Alive
from graphnetz.kernels.folders import column_slices, scratch
from graphnetz.kernels.sampling import NeighbourSample
from graphnetz.records import Protocol
from graphnetz.tasktypes import Split
from graphnetz.tasktypes.onehop import PIECE_ARCS
from graphnetz.tasktypes.rows import Rows
from graphnetz.tasktypes.streamed import AHEAD, FolderData, Layer, StreamedNodes, noted, propagates

_ARC_BYTES = 48
"""Bytes per arc of a sample in the making: places, local numbers, room for fresh nodes, both orders and weights."""


def folder_bytes(model: nn.Module, split: Split, protocol: Protocol) -> float:
    """Return the bytes that training and evaluating a model on a folder needs above its worker's baseline.

    Parameters
    ----------
    model
        As it will be trained.
    split
        Of a graph folder.
    protocol
        Batches and fan-outs.

    Returns
    -------
    float
        The largest of training, evaluation and propagation, and what is held per node throughout.
    """
    data: FolderData = split.data
    nodes = data.num_nodes
    held = 4.0 * nodes * (1 + bool(data.folder.header["self_loops"]))  # local numbers, and degrees without loops
    outputs = 8.0 * split.dims.out_channels * sum(len(split.targets[part]) for part in ("val", "test"))
    if propagates(model):
        widest = max(stop - start for start, stop in column_slices(data.folder))
        return held + 8.0 * nodes * widest + 8.0 * nodes + outputs
    with kernels.accelerate(model):
        trained = _training(StreamedNodes(protocol, model), model, split)
        layers = list(_layers(noted(model.eval(), data)))
        evaluated = max(_block(layer) for layer in layers) + (len(layers) + 1.0) * nodes + outputs
    return held + max(trained, evaluated, 8.0 * nodes)


def _training(task: StreamedNodes, model: nn.Module, split: Split) -> float:
    """One batch in use, those that wait, the one in the making, and the tensors of a step."""
    size = min(task.protocol.batch_nodes or len(split.train), len(split.train))
    sample = split.data.sampler.sample(split.train[:size].numpy(), task.protocol.fanouts or (), seed=0)
    rows = 4.0 * sample.nodes.size * split.data.folder.num_features
    batch = next(iter(task.batches(split, 1)))
    model.train()
    step = _peak(lambda: task.loss(model, split, batch).backward())  # type: ignore[no-untyped-call]
    for parameter in model.parameters():
        parameter.grad = None
    return float((AHEAD + 2) * (rows + _sample_bytes(sample)) + _stored(split.data) * sample.nodes.size + step)


def _block(layer: Layer) -> float:
    """The tensors and arrays of one block of rows of a layer, whose inputs are taken to be there."""
    data, rng = layer.graph, generator("folder-bytes", layer.graph.num_nodes)
    for source in _layers(layer.source):
        source.held = scratch(data.folder, (data.num_nodes, source.probe.size(1)))
    chosen = np.sort(rng.choice(data.num_nodes, min(PIECE_ARCS, data.num_nodes), replace=False))
    nodes = next(data.sampler.pieces(chosen, PIECE_ARCS))
    sample = data.sampler.sample(nodes, (-1,), seed=0)
    return _peak(lambda: layer.computed(nodes)) + _sample_bytes(sample)


def _peak(call: Callable[[], Any]) -> float:
    with Alive() as alive:
        call()
    return float(alive.peak)


def _sample_bytes(sample: NeighbourSample) -> float:
    return float(_ARC_BYTES * sample.arcs.size + 16 * sample.nodes.size)


def _stored(data: FolderData) -> float:
    """Bytes of a gathered row before it is turned into the type that is computed with; 0 where it is the same."""
    features = data.folder.array("features")
    return 0.0 if features.dtype == np.float32 else float(features.itemsize * features.shape[1])


def _layers(rows: Rows) -> Iterator[Layer]:
    if isinstance(rows, Layer):
        yield rows
        yield from _layers(rows.source)
    for parent in rows.parents:
        yield from _layers(parent)
