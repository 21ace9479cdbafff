"""From a configuration to a PyTorch Geometric model and its source code."""

from __future__ import annotations

from typing import Any

from graphnetz._core.errors import UsageError
from graphnetz.selection.space import Configuration

_CLASSES = {"GCN": "stack.GCN", "GraphSAGE": "stack.GraphSAGE", "GAT": "stack.GAT", "GIN": "stack.GIN"}
"""Methods that are one class of ``torch_geometric.nn.models``, and the registered model that the engine trains."""


WITHOUT_FEATURES = frozenset(
    {"SpectralEmbedding", "GraRep", "Node2Vec", "LabelPropagation", "Jaccard", "ResourceAllocation", "AdamicAdar"}
)
"""Methods that never look at node features."""

_RENAMED = {
    "hidden_channels": {"Node2Vec": "dimensions", "*": "width"},
    "num_layers": {"LabelPropagation": "iterations"},
    "mlp_hidden_channels": {"SEAL": "mlp_width"},
}
"""Settings that our models call otherwise, by method."""


def engine_model(configuration: Configuration) -> Any:
    """Return the registered model of a configuration as a `ModelSpec` with its settings."""
    from graphnetz.models import MODELS

    method, given = configuration.method, dict(configuration.settings)
    summed = given.pop("pool", "mean") == "sum"  # GIN as registered sums the nodes of a graph, as published
    spec = MODELS[method if summed else _CLASSES.get(method, method)]
    settings = {}
    for key, value in given.items():
        names = _RENAMED.get(key, {})
        settings[names.get(method, names.get("*", key))] = value
    return spec.with_kwargs(settings)


def build_model(
    configuration: Configuration, in_channels: int, out_channels: int, *, task_type: str = "node_cls",
    vocabulary: tuple[int, ...] = (),
) -> Any:  # fmt: skip
    """Build the model: a class of PyTorch Geometric where there is one, else the registered model.

    Of graph classification it is what the engine trains: a network with its pooling and last layer, behind an embedding
    of features that are categories with ``vocabulary`` values.
    """
    if task_type == "graph_cls":
        from graphnetz.tasktypes import Dims

        dims = Dims(in_channels, out_channels, vocabulary=vocabulary)
        return engine_model(configuration).build(task_type, dims, 32)
    if configuration.method in _CLASSES:
        from torch_geometric.nn import models

        return getattr(models, configuration.method)(**_arguments(configuration, in_channels, out_channels))
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


def model_code(
    configuration: Configuration, in_channels: int, out_channels: int, *, learn_for: int = 0,
    task_type: str = "node_cls", vocabulary: tuple[int, ...] = (),
) -> str:  # fmt: skip
    """Python source that builds the model of `build_model`.

    With ``learn_for`` nodes it also makes the learned vectors that stand in for missing node features.
    """
    if task_type == "graph_cls":
        categories = f", vocabulary={vocabulary!r}" if vocabulary else ""
        return _registered(configuration, in_channels, out_channels, ', task_type="graph_cls"' + categories)
    code = _model_code(configuration, in_channels, out_channels)
    if not learn_for or configuration.method in WITHOUT_FEATURES:
        return code
    return (
        f"import torch\n{code}"
        "# The graph has no node features: learn a vector per node together with the model.\n"
        f"x = torch.nn.Embedding({learn_for}, {in_channels}).weight\n"
    )


def _model_code(configuration: Configuration, in_channels: int, out_channels: int) -> str:
    if configuration.method in _CLASSES:
        name = configuration.method
        arguments = ", ".join(f"{k}={v!r}" for k, v in _arguments(configuration, in_channels, out_channels).items())
        return f"from torch_geometric.nn.models import {name}\n\nmodel = {name}({arguments})\n"
    return _registered(configuration, in_channels, out_channels)


def _registered(configuration: Configuration, in_channels: int, out_channels: int, more: str = "") -> str:
    settings = ", ".join(f"({key!r}, {value!r})" for key, value in configuration.settings)
    settings = f"({settings},)" if settings else "()"
    return (
        "from graphnetz.selection.building import build_model\n"
        "from graphnetz.selection.space import Configuration\n\n"
        f"chosen = Configuration({configuration.method!r}, {settings})\n"
        f"model = build_model(chosen, {in_channels}, {out_channels}{more})\n"
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
