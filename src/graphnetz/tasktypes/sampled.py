"""Mini-batches of sampled neighbourhoods on one large graph; evaluation stays exact.

The engine trades a task type for its sampled form when the protocol asks for it. Training sees at
most ``fanouts[h]`` neighbours of each node ``h`` hops away; validation and test outputs come from the
whole graph, layer by layer.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

import graphnetz.kernels as kernels
from graphnetz._core.errors import UsageError
from graphnetz.kernels.sampling import NeighbourSample, NeighbourSampler
from graphnetz.records import Protocol
from graphnetz.tasktypes.base import Split, TaskType
from graphnetz.tasktypes.heads import DistMultHead, LinkHead
from graphnetz.tasktypes.link_pred import LinkPrediction, decode_pairs
from graphnetz.tasktypes.node_cls import NodeClassification, declared_layers
from graphnetz.tasktypes.onehop import in_pieces, normalised, remember
from graphnetz.tasktypes.packing import PackedGraphs
from graphnetz.tasktypes.streamed import FolderData, StreamedNodes, ahead, draw_key


class _Batches:
    """What both sampled task types share: drawing a batch, and shaping it for the model."""

    def __init__(self, protocol: Protocol, model: nn.Module) -> None:
        assert protocol.batch_nodes is not None
        assert protocol.fanouts is not None
        self.size, self.fanouts = protocol.batch_nodes, protocol.fanouts
        self.model = model
        self.layers: tuple[Any, ...] = ()

    @contextmanager
    def epoch(self, split: Split) -> Iterator[None]:
        """Choose how batches of an epoch are shaped, and prepare the model's layers for it."""
        self.layers = fast_layers(self.model, split.data)
        with nullcontext() if self.layers else normalised(self.model):
            yield

    def drawn(self, split: Split, seeds: np.ndarray, key: int) -> NeighbourSample:
        """A batch around ``seeds``; ``key`` decides the draws."""
        return sampler_of(split).sample(seeds, self.fanouts, seed=key)

    def shaped(self, split: Split, sample: NeighbourSample) -> Data:
        """One structure per layer where the kernels can use them, else one subgraph with the seeds first."""
        if self.layers:
            field = sample.field(len(self.layers))
            features = kernels.input_features(split.data.x)
            return Data(
                x=field.inputs(features), edge_index=field.edges(self.layers), n_id=torch.from_numpy(sample.nodes)
            )
        return subgraph(split.data, sample)


class SampledNodes(NodeClassification):
    """Node classification in batches of training nodes."""

    def __init__(self, protocol: Protocol, model: nn.Module) -> None:
        self._make = _Batches(protocol, model)

    def batches(self, split: Split, batch_size: int) -> Iterator[Any]:
        with self._make.epoch(split):
            order = split.train[torch.randperm(split.train.numel()).to(split.train.device)]
            jobs = [(seeds, draw_key()) for seeds in torch.split(order, self._make.size)]
            yield from ahead(functools.partial(self._drawn, split), jobs)

    def _drawn(self, split: Split, job: tuple[Tensor, int]) -> Data:
        seeds, key = job
        batch = self._make.shaped(split, self._make.drawn(split, seeds.cpu().numpy(), key))
        batch.seeds = seeds
        return batch

    def loss(self, model: nn.Module, split: Split, batch: Any) -> Tensor:
        assert split.labels is not None
        return self.criterion(model(batch)[: batch.seeds.numel()], split.labels[batch.seeds])

    def scores(self, model: nn.Module, split: Split, parts: tuple[str, ...]) -> dict[str, Tensor]:
        with _whole(model, split):
            return super().scores(model, split, parts)


class SampledLinks(LinkPrediction):
    """Link prediction in batches of pairs; a batch has at most ``batch_nodes`` ends."""

    def __init__(self, protocol: Protocol, model: nn.Module) -> None:
        self._make = _Batches(protocol, model)

    def batches(self, split: Split, batch_size: int) -> Iterator[Any]:
        pairs = split.train
        with self._make.epoch(split):
            order = torch.randperm(len(pairs)).to(pairs.index.device)
            for chosen in torch.split(order, max(self._make.size // 2, 1)):
                ends, local = np.unique(pairs.index[:, chosen].cpu().numpy(), return_inverse=True)
                batch = self._make.shaped(split, self._make.drawn(split, ends, draw_key()))
                batch.pairs = type(pairs)(
                    torch.from_numpy(local.reshape(2, -1)).to(pairs.index.device),
                    pairs.label[chosen],
                    None if pairs.relation is None else pairs.relation[chosen],
                )
                yield batch

    def loss(self, model: nn.Module, split: Split, batch: Any) -> Tensor:
        return self.criterion(decode_pairs(model, model.encode(batch), batch.pairs), batch.pairs.label)  # type: ignore[operator]

    def scores(self, model: nn.Module, split: Split, parts: tuple[str, ...]) -> dict[str, Tensor]:
        with _whole(model, split):
            return super().scores(model, split, parts)


SAMPLED: dict[str, type[SampledNodes] | type[SampledLinks]] = {
    NodeClassification.name: SampledNodes,
    LinkPrediction.name: SampledLinks,
}
"""Task types that can be trained on sampled neighbourhoods."""


def sampled(kind: TaskType, protocol: Protocol, model: nn.Module, split: Split | None = None) -> TaskType:
    """Return the sampled form of ``kind`` where the protocol or a graph on disk asks for one, else ``kind`` itself."""
    if split is not None and isinstance(split.data, FolderData):
        return StreamedNodes(protocol, model)
    if protocol.batch_nodes is None:
        return kind
    if kind.name not in SAMPLED:
        raise UsageError(
            f"batch_nodes samples neighbours for {', '.join(sorted(SAMPLED))}, not for {kind.name}. Leave it out."
        )
    return SAMPLED[kind.name](protocol, model)


def check_samples(split: Split, task: str) -> None:
    """Refuse sampling where there is no single graph to sample from."""
    if isinstance(split.data, PackedGraphs):
        raise UsageError(
            f"batch_nodes samples neighbours of one large graph and the task {task!r} has {split.data.num_graphs}: "
            "they are batched by graph already (batch_size). Leave batch_nodes out."
        )
    if split.train_data is not None:
        raise UsageError(
            f"batch_nodes samples neighbours of the whole graph and the task {task!r} trains without its test nodes. "
            "Leave batch_nodes out."
        )


def sampler_of(split: Split) -> NeighbourSampler:
    """The split's sampler, made once."""
    if "sampler" not in split.cache:
        data = split.data
        weight = data.get("edge_weight")
        structure = kernels.structure_of(data.edge_index, int(data.num_nodes or 0))
        split.cache["sampler"] = NeighbourSampler(
            structure, None if weight is None else weight.reshape(-1).cpu().numpy()
        )
    found: NeighbourSampler = split.cache["sampler"]
    return found


def fast_layers(model: nn.Module, data: Any) -> tuple[Any, ...]:
    """The convolutions of a model that the kernels compute layer by layer; empty for any other model."""
    encoder = model.encoder if isinstance(model, (LinkHead, DistMultHead)) else model
    layers = declared_layers(encoder)
    if not layers or data.get("edge_weight") is not None or data.get("edge_attr") is not None:
        return ()
    return layers if kernels.restrictable(layers, kernels.input_features(data.x)) else ()


def subgraph(data: Data, sample: NeighbourSample) -> Data:
    """The sampled arcs as PyG's loaders hand them out: seeds first, ``n_id`` names the nodes."""
    where = data.edge_index.device
    nodes, ids = torch.from_numpy(sample.nodes).to(where), sample.edge_ids.to(where)
    out = Data(edge_index=sample.edge_index.to(where), num_nodes=sample.nodes.size, n_id=nodes, e_id=ids)
    for key, value in data.to_dict().items():
        if not isinstance(value, Tensor) or key in ("edge_index", "ptr") or value.dim() == 0:
            continue
        if data.is_node_attr(key):
            out[key] = value[nodes]
        elif data.is_edge_attr(key):
            out[key] = value[ids]
    if "train_mask" in out:  # the loss may see the seeds only
        out.train_mask = torch.arange(sample.nodes.size, device=where) < sample.num_seeds
    remember(out.edge_index, sample, out.get("edge_weight"))
    return out


def _whole(model: nn.Module, split: Split) -> Any:
    """How to evaluate on the whole graph: the kernels go layer by layer anyway, plain layers in pieces."""
    if fast_layers(model, split.data):
        return nullcontext()
    return in_pieces(model, sampler_of(split), split.data)
