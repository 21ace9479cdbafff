"""From a configuration to a PyTorch Geometric model, its source code, and a task to verify it on."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphnetz._core.errors import UsageError
from graphnetz.records import Task
from graphnetz.selection.graph import Graph
from graphnetz.selection.space import Configuration
from graphnetz.selection.splits import node_split

_CLASSES = {"GCN": "GCN", "GraphSAGE": "GraphSAGE", "GAT": "GAT", "GIN": "GIN"}
"""Methods that are one class of ``torch_geometric.nn.models``."""


_RENAMED = {
    "hidden_channels": {"Node2Vec": "dimensions", "*": "width"},
    "num_layers": {"LabelPropagation": "iterations"},
    "mlp_hidden_channels": {"SEAL": "mlp_width"},
}
"""Settings that our models call otherwise, by method."""


def engine_model(configuration: Configuration) -> Any:
    """Return the registered model of a configuration as a `ModelSpec` with its settings."""
    from graphnetz.models import MODELS

    method = configuration.method
    spec = MODELS[f"stack.{method}" if method in _CLASSES else method]
    settings = {}
    for key, value in configuration.settings:
        names = _RENAMED.get(key, {})
        settings[names.get(method, names.get("*", key))] = value
    return spec.with_kwargs(settings)


def build_model(configuration: Configuration, in_channels: int, out_channels: int) -> Any:
    """Build the model: a class of PyTorch Geometric where there is one, else the registered model."""
    if configuration.method in _CLASSES:
        from torch_geometric.nn import models

        return getattr(models, _CLASSES[configuration.method])(**_arguments(configuration, in_channels, out_channels))
    from graphnetz.models import MODELS

    if configuration.method not in MODELS:
        raise UsageError(
            f"There is no ready model for {configuration.method!r}. Ready: {', '.join(sorted(_CLASSES))}, and every "
            "registered model of that name."
        )
    spec = engine_model(configuration)
    if spec.kind == "predictor":
        return spec.cls(**spec.kwargs)
    return spec.cls(in_channels, 32, out_channels, **spec.kwargs)


def model_code(configuration: Configuration, in_channels: int, out_channels: int) -> str:
    """Python source that builds the model of `build_model`."""
    if configuration.method in _CLASSES:
        name = _CLASSES[configuration.method]
        arguments = ", ".join(f"{k}={v!r}" for k, v in _arguments(configuration, in_channels, out_channels).items())
        return f"from torch_geometric.nn.models import {name}\n\nmodel = {name}({arguments})\n"
    settings = ", ".join(f"({key!r}, {value!r})" for key, value in configuration.settings)
    settings = f"({settings},)" if settings else "()"
    return (
        "from graphnetz.selection.building import build_model\n"
        "from graphnetz.selection.space import Configuration\n\n"
        f"model = build_model(Configuration({configuration.method!r}, {settings}), {in_channels}, {out_channels})\n"
    )


def _arguments(configuration: Configuration, in_channels: int, out_channels: int) -> dict[str, Any]:
    params = dict(configuration.params)
    out: dict[str, Any] = {
        "in_channels": in_channels,
        "hidden_channels": params.pop("hidden_channels", out_channels),
        "num_layers": params.pop("num_layers", 2),
        "out_channels": out_channels,
    }
    if params.get("jk") == "none":
        params.pop("jk")
    if params.pop("concat", True) is False:
        params["concat"] = False
    heads = params.get("heads", 1)
    if (
        configuration.method == "GAT"
        and params.get("concat", True)
        and out["num_layers"] > 1
        and out["hidden_channels"] % heads
    ):
        out["hidden_channels"] += heads - out["hidden_channels"] % heads
    return {**out, **params}


def graph_task(graph: Graph, task_type: str, *, epochs: int) -> Task:
    """Return the graph as a task; without node features each node gets its log degree and a constant.

    Nodes are split 64 / 16 / 20 for classification; pairs are split by the task type.
    """
    if task_type == "node_cls" and graph.labels is None:
        raise UsageError("Node classification needs labels. Give a PyG Data with y, or as_graph(..., labels=...).")

    def load(root: str | None = None) -> Any:  # noqa: ARG001 - loaders take the data folder
        import torch
        from torch_geometric.data import Data

        rows = np.repeat(np.arange(graph.num_nodes), graph.simple_degree)
        features = graph.features
        if features is None:
            features = np.stack([np.log1p(graph.simple_degree), np.ones(graph.num_nodes)], axis=1)
        dense = features.toarray() if hasattr(features, "toarray") else features
        data = Data(
            x=torch.tensor(np.asarray(dense), dtype=torch.float32),
            edge_index=torch.tensor(np.stack([rows, graph.indices])),
        )
        if graph.labels is not None:
            data.y = torch.tensor(graph.labels)
        if task_type == "node_cls":
            for part, nodes in node_split(graph).items():
                mask = torch.zeros(graph.num_nodes, dtype=torch.bool)
                mask[torch.from_numpy(nodes)] = True
                data[f"{part}_mask"] = mask
        return data

    return Task(graph.name, task_type, load, epochs, graph=graph.name)
