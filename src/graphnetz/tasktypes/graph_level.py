"""What task types on packed graphs share: mini-batches of graphs, and evaluation part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

import graphnetz.kernels as kernels
from graphnetz._core.errors import DataError
from graphnetz.tasktypes.base import Dims, EncoderBuilder, Split, TaskType, to_numpy
from graphnetz.tasktypes.graphs import as_graphs, given_split, random_split, vocabulary
from graphnetz.tasktypes.heads import EmbedInput, GraphHead, embedded
from graphnetz.tasktypes.packing import PackedGraphs, pack
from graphnetz.tasktypes.shown import lent


class OnGraphs(TaskType):
    """A model gives rows for a graph: for all of one, full batch, or for mini-batches of several."""

    @staticmethod
    def by_graph(dataset: Any, count: int, seed: int) -> tuple[dict[str, Any], Any]:
        """The dataset's own split of its graphs, or a random one; and what a seed varies."""
        given = given_split(dataset, seed)
        return given if given is not None else (random_split(count, seed), "resplit")

    @staticmethod
    def described(y: Tensor, parts: dict[str, Any]) -> dict[str, Any]:
        """Targets, ids and numbers of the examples of each part."""
        return {
            "targets": {part: to_numpy(y[index]) for part, index in parts.items()},
            "examples": {part: to_numpy(index) for part, index in parts.items()},
            "n_train": parts["train"].numel(),
            "n_test": parts["test"].numel(),
        }

    @staticmethod
    def dims_of(packed: PackedGraphs, out: int, out_graph: int | None = None) -> Dims:
        """Widths of the packed features."""
        edge = packed.edge.get("edge_attr")
        x = packed.node["x"]
        return Dims(
            x.size(1), out, None if edge is None else edge.size(1), vocabulary=vocabulary(x), out_graph=out_graph,
            pe_dim=packed.pe_dim,
        )  # fmt: skip

    def wrap(self, model: nn.Module, dims: Dims, hidden: int) -> nn.Module:
        return EmbedInput(dims.vocabulary, hidden, model) if dims.vocabulary else model

    def batches(self, split: Split, batch_size: int) -> Iterator[Any]:
        if not isinstance(split.data, PackedGraphs):
            yield split.data
            return
        order = torch.randperm(split.train.numel()).to(split.train.device)  # drawn alike whatever the device
        for index in split.train[order].split(batch_size):
            yield split.data.select(index)

    def scores(self, model: nn.Module, split: Split, parts: tuple[str, ...]) -> dict[str, Tensor]:
        if not isinstance(split.data, PackedGraphs):
            out = model(split.data)
            return {part: out[split.part(part)] for part in parts}
        return evaluation_outputs(split, parts, lambda batch: self.output(model, batch))

    def output(self, model: nn.Module, batch: Any) -> Tensor:
        """The model's rows for one batch."""
        out: Tensor = model(batch)
        return out


class GraphLevel(OnGraphs):
    """One target per graph."""

    defaults = MappingProxyType({"lr": 1e-3, "weight_decay": 0.0, "batch_size": 32})

    def packed(self, dataset: Any, seed: int, *, target: str = "y") -> tuple[PackedGraphs, dict[str, Any], Any]:
        """Check, pack and split by graphs."""
        graphs = as_graphs(dataset, self.label.capitalize())
        packed = pack(graphs)
        if target not in packed.graph:
            raise DataError(f"{self.label.capitalize()} needs {target} with one value (or one row) per graph.")
        parts, replication = self.by_graph(dataset, len(graphs), seed)
        for part, index in parts.items():
            if index.numel() == 0 or int(index.max()) >= len(graphs) or int(index.min()) < 0:
                raise DataError(f"The {part} split is empty or points outside the {len(graphs)} graphs.")
        return packed, parts, replication

    def adapt(self, build: EncoderBuilder, dims: Dims, hidden: int) -> nn.Module:
        return GraphHead(embedded(build, dims, hidden, hidden), hidden, dims.out_channels)


def evaluation_batches(split: Split, part: str) -> list[Any]:
    """Evaluation batches of one part, made once per split."""
    key = f"batches_{part}"
    if key not in split.cache:
        split.cache[key] = [split.data.select(piece) for piece in split.data.chunks(split.part(part))]
        for batch in split.cache[key]:
            kernels.mark_constant(batch.x)
    batches: list[Any] = split.cache[key]
    return batches


def evaluation_outputs(split: Split, parts: tuple[str, ...], run: Callable[[Any], Tensor]) -> dict[str, Tensor]:
    """Rows of ``run`` for the examples of ``parts``.

    A batch holds graphs of one part only: a model that takes statistics of its batch at evaluation must not let
    test graphs change its validation outputs, by which epochs and settings are chosen, nor the other way round.
    """
    return {part: torch.cat([run(lent(batch)) for batch in evaluation_batches(split, part)]) for part in parts}
