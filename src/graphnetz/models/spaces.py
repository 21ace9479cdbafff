"""What is worth tuning: values for settings of training and for arguments of models, in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphnetz.models.spec import ModelSpec

TRAINING: Mapping[str, Sequence[Any]] = {
    "lr": (0.03, 0.01, 0.003, 0.001),
    "weight_decay": (0.0, 5e-4, 5e-3),
    "hidden_channels": (16, 64, 128),
}
"""For every network."""

ARGUMENTS: Mapping[str, Sequence[Any]] = {
    "dropout": (0.0, 0.2, 0.5, 0.7),
    "attn_dropout": (0.0, 0.2, 0.5),
    "heads": (1, 4, 8),
    "num_layers": (2, 3, 4),
    "K": (1, 2, 3, 5),
    "jk": ("none", "last", "max"),
    "aggr": ("mean", "max", "sum"),
    "strength": (0.01, 0.1, 1.0, 10.0),
    "rounds": (25, 50, 100, 200),
    "rate": (0.03, 0.06, 0.12, 0.25),
    "alpha": (0.5, 0.8, 0.9, 0.95),
    "dimensions": (16, 32, 64, 128),
    "num_components": (8, 16, 32, 64),
}
"""For every model whose constructor has an argument of that name and of that meaning in the field."""

WALKS: Mapping[str, Sequence[Any]] = {"p": (0.25, 1.0, 4.0), "q": (0.25, 1.0, 4.0)}
"""For predictors on random walks (node2vec); of a network ``p`` is more likely the probability of dropout."""


def space_of(spec: ModelSpec) -> dict[str, Sequence[Any]]:
    """Return the space that a model declares, or that its arguments imply.

    A class attribute ``search_space`` (argument or setting -> values) takes the place of what follows from the names
    of its arguments.

    Parameters
    ----------
    spec
        The model.

    Returns
    -------
    dict
        Setting or argument -> values; empty for a rule that has nothing to tune.

    Examples
    --------
    >>> from graphnetz.models import MODELS
    >>> sorted(space_of(MODELS["GAT"])), sorted(space_of(MODELS["FeatureOnly"])), space_of(MODELS["Majority"])
    (['dropout', 'heads', 'hidden_channels', 'lr', 'weight_decay'], ['strength'], {})
    """
    from torch_geometric.nn.models.basic_gnn import BasicGNN

    declared = getattr(spec.cls, "search_space", None)
    if isinstance(declared, Mapping):
        return dict(declared)
    fixed = {"estimator", *spec.kwargs}
    known = dict(ARGUMENTS) | (dict(WALKS) if spec.kind == "predictor" else {})
    if issubclass(spec.cls, BasicGNN):
        known["jk"] = ("last", "max", "cat")  # PyTorch Geometric says None, not "none", which is its default
    named = {key: values for key, values in known.items() if key not in fixed and _takes(spec, key)}
    return named if spec.kind == "predictor" else {**TRAINING, **named}


def _takes(spec: ModelSpec, argument: str) -> bool:
    """Whether a constructor names the argument; one that takes any keyword says nothing about it."""
    from graphnetz.models.construct import signature_of

    return argument in (signature_of(spec.factory or spec.cls) or {})
