"""MetaGL: a heterogeneous graph transformer over graphs and models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from graphnetz._core.rng import training_context
from graphnetz.selection.selectors.base import SELECTORS, FloatArray, Selector, unit_range, unit_rows
from graphnetz.selection.selectors.factors import masked_nmf
from graphnetz.selection.selectors.training import EarlyStop, holdout

if TYPE_CHECKING:
    from torch import Tensor, nn

_RELATIONS = (
    ("graph", "meta_similar", "graph"),
    ("graph", "performance_similar", "graph"),
    ("model", "performance_similar", "model"),
    ("model", "suits", "graph"),
    ("graph", "suited_by", "model"),
)


_CHECK_EVERY = 5


@dataclass(frozen=True)
class _Network:
    """Node inputs and edges; edges into a new graph come from known nodes only."""

    graph: FloatArray
    model: FloatArray
    edges: dict[tuple[str, str, str], npt.NDArray[np.int64]]


@SELECTORS.register("metagl")
class MetaGL(Selector):
    """MetaGL (Park et al., 2023) on PyTorch Geometric's ``HGTConv``.

    Unlike the published code a new graph only receives messages, so its scores do not depend on
    which other graphs are asked for at the same time; validation graphs are treated as new ones;
    and known graphs enter with factors predicted out of bag, as new graphs do. Training uses whole
    batches, a larger step, less dropout and fewer epochs than published.
    """

    name, title = "metagl", "MetaGL"

    def __init__(
        self,
        *,
        factors: int = 64,
        hidden: int = 32,
        neighbours: int = 30,
        epochs: int = 150,
        lr: float = 1e-2,
        dropout: float = 0.2,
        patience: int = 6,
        seed: int = 0,
    ) -> None:
        super().__init__(seed=seed)
        self.factors, self.hidden, self.neighbours = factors, hidden, neighbours
        self.epochs, self.lr, self.dropout, self.patience = epochs, lr, dropout, patience

    def _fit(self, P: FloatArray, M: FloatArray) -> None:
        self._unseen = ~np.isfinite(P).any(axis=0)
        target = unit_range(P) * 10.0 + 1.0
        self._learn_factors(target, _extend(M))
        self._train(target, self._join())

    def _learn_factors(self, P: FloatArray, M: FloatArray) -> None:
        from sklearn.ensemble import RandomForestRegressor

        rank = min(self.factors, *P.shape)
        if np.isfinite(P).all():
            u, s, vt = np.linalg.svd(P - P.mean(axis=0), full_matrices=False)
            U, V = u[:, :rank] * np.sqrt(s[:rank]), vt[:rank].T * np.sqrt(s[:rank])
        else:
            U, V = masked_nmf(P, rank, seed=self.seed)
        V = np.where(np.isfinite(P).any(axis=0).reshape(-1, 1), V, 0.0)
        forest = RandomForestRegressor(
            100, max_features=0.33, random_state=self.seed, bootstrap=True, oob_score=len(P) >= 20
        )
        forest.fit(M, U if rank > 1 else U[:, 0])
        known = np.asarray(forest.oob_prediction_ if len(P) >= 20 else forest.predict(M)).reshape(U.shape)
        known = np.where(np.isfinite(known), known, U)
        self._forest, self._meta, self._known, self._true, self._models = forest, M, known, U, V
        # One scale for all factors: scaling each to unit variance would make the weak ones, which
        # are mostly noise, as loud as the strong ones.
        self._centre_g, self._centre_m = known.mean(axis=0), V.mean(axis=0)
        self._spread_g, self._spread_m = known.std(axis=0).max() + 1e-9, V.std(axis=0).max() + 1e-9

    def _join(self, M: FloatArray | None = None) -> _Network:
        """Network of the known graphs and models, with new graphs appended as receivers."""
        k, known = self.neighbours, len(self._known)
        edges = {
            _RELATIONS[0]: _nearest(self._meta, self._meta, k, skip_self=True),
            _RELATIONS[1]: _nearest(self._known, self._true, k, skip_self=True),
            _RELATIONS[2]: _nearest(self._models, self._models, k, skip_self=True),
            _RELATIONS[3]: _nearest(self._known, self._models, k),
            _RELATIONS[4]: _nearest(self._models, self._true, k),
        }
        factors = self._known
        if M is not None:
            new = np.asarray(self._forest.predict(M)).reshape(len(M), -1)
            factors = np.concatenate([self._known, new])
            for relation, (target, source) in zip(
                (_RELATIONS[0], _RELATIONS[1], _RELATIONS[3]),
                ((M, self._meta), (new, self._true), (new, self._models)),
                strict=True,
            ):
                arriving = _nearest(target, source, k)
                arriving[1] += known
                edges[relation] = np.concatenate([edges[relation], arriving], axis=1)
        return _Network(
            (factors - self._centre_g) / self._spread_g, (self._models - self._centre_m) / self._spread_m, edges
        )

    def _train(self, target: FloatArray, network: _Network) -> None:
        import torch

        train, valid = holdout(len(target), seed=self.seed)
        with training_context(self.seed):
            # One thread is deterministic by itself, and the deterministic kernels take twice the time;
            # the context restores the caller's setting.
            torch.use_deterministic_algorithms(False)
            net = _encoder(len(self._known[0]), self.hidden, self.dropout)
            optimiser = torch.optim.Adam(net.parameters(), lr=self.lr, weight_decay=1e-4)
            stop = EarlyStop(net, self.patience)
            y, inputs = torch.tensor(target, dtype=torch.float32), _tensors(network)
            for epoch in range(self.epochs):
                net.train()
                optimiser.zero_grad()
                list_loss(net(*inputs)[train], y[train]).backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                if epoch % _CHECK_EVERY:
                    continue
                net.eval()
                with torch.no_grad():
                    loss = list_loss(net(*inputs)[valid], y[valid]).item()
                if stop.done(loss):
                    break
            self._net = stop.best()

    def _predict(self, M: FloatArray) -> FloatArray:
        import torch

        network = self._join(_extend(M))
        with training_context(self.seed), torch.no_grad():
            out = self._net(*_tensors(network))[len(self._known) :].double().numpy()
        return np.asarray(np.where(self._unseen, out.min(axis=1, keepdims=True), out))


def _extend(M: FloatArray) -> FloatArray:
    return np.concatenate([M, np.log1p(M)], axis=1)


def _nearest(target: FloatArray, source: FloatArray, k: int, *, skip_self: bool = False) -> npt.NDArray[np.int64]:
    """Edges from the ``k`` most similar sources (cosine) to each target, ``[2, k * targets]``."""
    similarity = unit_rows(target) @ unit_rows(source).T
    if skip_self:
        np.fill_diagonal(similarity, -np.inf)
    k = max(1, min(k, source.shape[0] - int(skip_self)))
    nearest = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
    return np.stack([nearest.ravel(), np.repeat(np.arange(len(target)), k)])


def _tensors(network: _Network) -> tuple[dict[str, Tensor], dict[tuple[str, str, str], Tensor]]:
    import torch

    nodes = {
        "graph": torch.tensor(network.graph, dtype=torch.float32),
        "model": torch.tensor(network.model, dtype=torch.float32),
    }
    return nodes, {key: torch.tensor(value) for key, value in network.edges.items()}


def list_loss(predicted: Tensor, target: Tensor) -> Tensor:
    """ListNet top-one cross entropy over the observed entries (Cao et al., 2007)."""
    import torch

    seen = ~target.isnan()
    wanted = torch.softmax(target.nan_to_num().masked_fill(~seen, -torch.inf), dim=1)
    given = torch.log_softmax(predicted.masked_fill(~seen, -torch.inf), dim=1)
    return -(wanted * given.masked_fill(~seen, 0.0)).sum(dim=1).mean()


def _encoder(features: int, hidden: int, dropout: float) -> nn.Module:
    import torch
    from torch import nn

    from graphnetz.selection.selectors.transformer import HeteroLayer

    metadata = (["graph", "model"], list(_RELATIONS))

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.ModuleDict({kind: nn.Linear(features, hidden) for kind in metadata[0]})
            self.layers = nn.ModuleList([HeteroLayer(hidden, hidden, metadata, heads=4) for _ in range(2)])
            self.dropout = nn.Dropout(dropout)

        def forward(self, nodes: dict[str, Tensor], edges: dict[tuple[str, str, str], Tensor]) -> Tensor:
            x = {kind: self.dropout(torch.relu(self.first[kind](value))) for kind, value in nodes.items()}
            for layer in self.layers:
                x = {kind: self.dropout(value) for kind, value in layer(x, edges).items()}
            scores: Tensor = x["graph"] @ x["model"].T
            return scores

    return Encoder()
