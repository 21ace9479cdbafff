"""Link prediction: held-out pairs of a graph, supplied pairs, or triples of a knowledge graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data

from graphnetz._core.errors import DataError
from graphnetz._core.rng import generator
from graphnetz.metrics import METRICS
from graphnetz.tasktypes.base import Dims, EncoderBuilder, Split, TaskType, as_float, task_type
from graphnetz.tasktypes.graphs import as_graphs, edge_features, features_of, vocabulary
from graphnetz.tasktypes.heads import DistMultHead, LinkHead, embedded, per_node
from graphnetz.tasktypes.pairs import (
    Pairs,
    corrupt_tails,
    grouped,
    labelled,
    mixed,
    sample_non_edges,
    triple_codes,
    unordered_pairs,
)
from graphnetz.tasktypes.ranked import among_all, filtered_ranks, model_scorer, ranks_of

VALIDATION, TEST = 0.05, 0.10
"""Shares of pairs held out, as in the GraphNetz paper."""

_RELATIONAL = ("train_edge_index", "train_edge_type", "valid_edge_index", "test_edge_index")
_SUPPLIED = ("val_pos_edge_index", "val_neg_edge_index", "test_pos_edge_index", "test_neg_edge_index")


@task_type
class LinkPrediction(TaskType):
    """Binary cross-entropy on pairs with as many negatives; a model gives ``encode`` and ``decode``.

    Where the headline metric is one of ranks, triples of a knowledge graph are ranked among all entities at either end,
    those left out that make a true triple themselves (the filtered setting of Bordes et al., 2013).
    """

    name = "link_pred"
    label = "link prediction"
    metrics = ("auc", "ap", "mrr", "hits@1", "hits@3", "hits@10", "hits@20", "hits@50", "hits@100")
    defaults = MappingProxyType({"lr": 1e-2, "weight_decay": 0.0})

    def split(self, dataset: Any, seed: int) -> Split:
        graph = as_graphs(dataset, "Link prediction")[0]
        if all(key in graph for key in _RELATIONAL):
            return _relational(graph, seed)
        if all(key in graph for key in _SUPPLIED):
            return _supplied(graph, seed)
        return _held_out(graph, seed)

    def adapt(self, build: EncoderBuilder, dims: Dims, hidden: int) -> nn.Module:
        encoder = embedded(build, dims, hidden, hidden)
        return LinkHead(encoder) if dims.num_relations is None else DistMultHead(encoder, hidden, dims.num_relations)

    def wrap(self, model: nn.Module, dims: Dims, hidden: int) -> nn.Module:
        if hasattr(model, "encode") and hasattr(model, "decode"):
            return model
        return self.adapt(lambda *_: model, dims, hidden)

    def direct_channels(self, dims: Dims, hidden: int) -> tuple[int, int]:
        return (hidden if dims.vocabulary else dims.in_channels), hidden

    def batches(self, split: Split, batch_size: int) -> Iterator[Any]:
        yield split.data

    def loss(self, model: nn.Module, split: Split, batch: Any) -> Tensor:
        z = encoded(model, batch)
        return self.criterion(decode_pairs(model, z, split.train), split.train.label)

    def criterion(self, score: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(score, as_float(target))

    def scores(self, model: nn.Module, split: Split, parts: tuple[str, ...]) -> dict[str, Tensor]:
        z = encoded(model, split.data)
        return {part: decode_pairs(model, z, split.part(part)) for part in parts}

    def outputs(self, model: nn.Module, seen: Split, split: Split, parts: tuple[str, ...]) -> dict[str, Tensor]:
        if not among_all(split):
            return self.scores(model, seen, parts)
        z = encoded(model, seen.data)
        scorer = model_scorer(model, z, int(split.data.num_nodes))
        return {part: torch.from_numpy(filtered_ranks(split, part, scorer)) for part in parts}

    def predicted(self, model: Any, seen: Split, split: Split) -> dict[str, np.ndarray]:
        if not among_all(split):
            return super().predicted(model, seen, split)
        return {part: filtered_ranks(split, part, model.score_all) for part in ("val", "test")}

    def measure(
        self, split: Split, part: str, score: np.ndarray, keys: tuple[str, ...] | None = None
    ) -> dict[str, float]:
        ranks = ranks_of(split, part, score)
        chosen = keys if keys is not None else self.keys(split)
        if ranks is None:
            return super().measure(split, part, score, chosen)
        ranked = {key: compute for key in chosen if (compute := METRICS[key].of_ranks) is not None}
        pooled = super().measure(split, part, score, tuple(key for key in chosen if key not in ranked))
        return {f"{part}_{key}": compute(ranks) for key, compute in ranked.items()} | pooled

    def applies(self, key: str, split: Split) -> bool:
        if split.kind == "relational":  # ranks among all entities, or pairs of a true and a false triple: not both
            return (METRICS[key].of_ranks is not None) == among_all(split)
        return True


def encoded(model: nn.Module, data: Data) -> Any:
    """What a model's decoder reads: one row per node, or whatever a decoder of its own asks for, such as the graph."""
    z = model.encode(data)  # type: ignore[operator]
    return per_node(z, data) if isinstance(z, Tensor) else z


def decode_pairs(model: nn.Module, z: Tensor, pairs: Pairs) -> Tensor:
    """Scores of ``pairs`` from the nodes' embeddings, with relations where there are any."""
    if pairs.relation is None:
        return model.decode(z, pairs.index)  # type: ignore[operator,no-any-return]
    return model.decode(z, pairs.index, pairs.relation)  # type: ignore[operator,no-any-return]


def _held_out(graph: Data, seed: int) -> Split:
    """Hold out 5 % of the pairs for validation and 10 % for testing: at random, or the last ones in time.

    Time is ``edge_time``, the first of a pair. The parts and their negatives are the same for every seed then, which
    varies the start of training alone.
    """
    nodes = int(graph.num_nodes or 0)
    edges = graph.edge_index.numpy()
    codes, number = unordered_pairs(edges, nodes)
    held = (max(int(codes.size * VALIDATION), 1), max(int(codes.size * TEST), 1))
    if codes.size < sum(held) + 1:
        raise DataError(f"Link prediction needs at least 3 distinct edges, got {codes.size}. Use a larger graph.")
    in_time = graph.get("edge_time") is not None
    rng = generator("link_pred", "in time") if in_time else generator("link_pred", seed)
    order = _in_time(graph.edge_time.numpy(), number, held) if in_time else rng.permutation(codes.size)
    bounds = {"val": order[: held[0]], "test": order[held[0] : sum(held)], "train": order[sum(held) :]}
    in_train = np.zeros(codes.size + 1, dtype=bool)  # the last entry answers for self-loops (-1): kept
    in_train[bounds["train"]] = True
    in_train[-1] = True
    keep = torch.from_numpy(in_train[number])
    negatives = sample_non_edges(codes, nodes, codes.size, rng)
    short = negatives.shape[1] < codes.size
    share = negatives.shape[1] / codes.size
    parts, start = {}, 0
    for part in ("val", "test", "train"):
        chosen = codes[bounds[part]]
        count = max(int(chosen.size * share), 1) if short else chosen.size
        parts[part] = labelled(np.stack([chosen // nodes, chosen % nodes]), negatives[:, start : start + count])
        start += count
    notes = [f"the graph is so dense that only {negatives.shape[1]} negatives exist"] if short else []
    message = _message_graph(graph, keep)
    if in_time:
        notes.append(_strangers(message, codes[bounds["test"]]))
    return _make(message, parts, notes=tuple(notes), replication="init" if in_time else "resplit")


def _in_time(time: np.ndarray, number: np.ndarray, held: tuple[int, int]) -> np.ndarray:
    """Pairs in the order validation, test, training: the test pairs are the last ones, those of validation before."""
    pairs = int(number.max()) + 1
    first = np.full(pairs, np.inf)
    np.minimum.at(first, number[number >= 0], time[number >= 0])
    order = np.argsort(first, kind="stable")
    early, val, test = np.split(order, [pairs - sum(held), pairs - held[1]])
    return np.concatenate([val, test, early])


def _strangers(message: Data, codes: np.ndarray) -> str:
    """Say how many test pairs join a node of which training knows no edge."""
    nodes = int(message.num_nodes or 0)
    known = np.bincount(message.edge_index.numpy().ravel(), minlength=nodes) > 0
    new = ~(known[codes // nodes] & known[codes % nodes])
    return f"test edges are the last ones in time; {new.mean():.0%} of them join a node without an edge before"


def _message_graph(graph: Data, keep: Tensor) -> Data:
    """The graph that models may see: training edges, with features from training edges only."""
    data = Data(edge_index=graph.edge_index[:, keep], num_nodes=graph.num_nodes)
    data.x = features_of(graph, data.edge_index)
    if data.x.is_floating_point():
        data.x = data.x.to(torch.get_default_dtype())
    attributes = edge_features([graph])
    if attributes is not None:
        data.edge_attr = attributes[0][keep]
    if graph.get("edge_weight") is not None:
        data.edge_weight = graph.edge_weight[keep].to(torch.get_default_dtype())
    return data


def _make(data: Data, parts: Mapping[str, Any], *, notes: tuple[str, ...] = (), **options: Any) -> Split:
    # A model that decodes held-out pairs must not read the answer off their places: positives came first.
    parts = {part: pairs if part == "train" else mixed(pairs) for part, pairs in parts.items()}
    edge_dim = None if data.edge_attr is None else data.edge_attr.size(1)
    dims = Dims(
        data.x.size(1), 1, edge_dim, options.pop("num_relations", None), vocabulary(data.x), num_nodes=data.num_nodes,
        pe_dim=None if data.get("pe") is None else data.pe.size(1),
    )  # fmt: skip
    return Split(
        data=data,
        **parts,
        dims=dims,
        metric=options.pop("metric", "auc"),
        replication=options.pop("replication", "resplit"),
        targets={part: pairs.label.numpy() for part, pairs in parts.items()},
        examples={part: pairs.ids(int(data.num_nodes or 0)) for part, pairs in parts.items()},
        unit="pair",
        n_train=len(parts["train"]),
        n_test=len(parts["test"]) // max(parts["test"].width, 1),
        notes=notes,
        **options,
    )


def _supplied(graph: Data, seed: int) -> Split:
    """Pairs and negatives given with the dataset; training negatives are drawn.

    Negatives ``[2, pair]`` are shared by all true pairs of a part, ``[2, pair, candidate]`` each pair's own.
    """
    nodes = int(graph.num_nodes or 0)
    edges = graph.edge_index.numpy()
    train = graph.get("train_pos_edge_index")
    positive = train.numpy() if train is not None else edges[:, edges[0] < edges[1]]
    codes, _ = unordered_pairs(edges, nodes)
    negative = sample_non_edges(codes, nodes, positive.shape[1], generator("link_pred", seed))
    parts = {"train": labelled(positive, negative)}
    for part in ("val", "test"):
        true, false = graph[f"{part}_pos_edge_index"].numpy(), graph[f"{part}_neg_edge_index"].numpy()
        ranked = false.ndim == 3
        parts[part] = grouped(true, false, generator("candidates", part)) if ranked else labelled(true, false)
    keep = torch.ones(edges.shape[1], dtype=torch.bool)
    data = _message_graph(graph, keep)
    held = np.concatenate([graph[f"{part}_pos_edge_index"].numpy() for part in ("val", "test")], axis=1)
    if graph.get("pe") is not None and not np.isin(unordered_pairs(held, nodes)[0], codes).any():
        data.pe, data.pe_view = graph.pe, graph.get("pe_view")  # made from training edges: it knows no held-out one
    return _make(data, parts, replication="init", kind="supplied", metric="mrr" if parts["test"].width else "auc")


def _relational(graph: Data, seed: int) -> Split:
    """Triples of a knowledge graph on its canonical split, negatives by filtered tail corruption."""
    nodes = int(graph.num_nodes or 0)
    triples = {}
    for part, name in (("train", "train"), ("val", "valid"), ("test", "test")):
        index, kind = graph[f"{name}_edge_index"].numpy(), graph[f"{name}_edge_type"].numpy()
        triples[part] = np.stack([index[0], kind, index[1]])
    relations = int(max(int(graph.get("num_relations", 0) or 0), max(int(t[1].max()) for t in triples.values()) + 1))
    sizes = (nodes, relations)
    # Held-out triples are true as well: none of them may serve as a negative.
    known = np.unique(np.concatenate([triple_codes(t[0], t[1], t[2], sizes) for t in triples.values()]))
    parts = {}
    listed = "test_head_neg" in graph
    for number, (part, rows) in enumerate(triples.items()):
        if listed and part != "train":
            parts[part] = _listed(graph, part, rows)
            continue
        tails = corrupt_tails(rows, known, sizes, generator("relational", seed, number))
        parts[part] = labelled(rows[[0, 2]], np.stack([rows[0], tails]), (rows[1], rows[1]))
    # Message passing sees training triples in both directions and nothing else.
    head, tail = torch.from_numpy(triples["train"][[0, 2]])
    both = torch.stack([torch.cat([head, tail]), torch.cat([tail, head])])
    data = Data(edge_index=both, num_nodes=nodes)
    kinds = torch.from_numpy(triples["train"][1])
    # A relation and its inverse are different messages.
    data.edge_type = torch.cat([kinds, kinds + relations])
    data.x = features_of(graph, both)
    told: dict[str, Any] = {"kind": "supplied", "metric": "mrr"} if listed else {"kind": "relational"}
    return _make(data, parts, replication="init", num_relations=relations, **told)


def _listed(graph: Data, part: str, rows: np.ndarray) -> Pairs:
    """Triples of a part among the tails, then among the heads that the dataset lists for each."""
    head, kind, tail = rows
    tails, heads = (graph[f"{part}_{end}_neg"].numpy() for end in ("tail", "head"))
    for_tails = np.stack([np.broadcast_to(head[:, None], tails.shape), tails])
    for_heads = np.stack([heads, np.broadcast_to(tail[:, None], heads.shape)])
    true = np.tile(np.stack([head, tail]), 2)
    found = grouped(true, np.concatenate([for_tails, for_heads], axis=1), generator("candidates", part))
    relation = torch.from_numpy(np.repeat(np.tile(kind, 2), found.width))
    return Pairs(found.index, found.label, relation, found.width)
