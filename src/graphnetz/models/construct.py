"""How a model is built: which of the constructor's parameters are told what, by their names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from graphnetz._core.errors import UsageError

ROLES: tuple[tuple[str, ...], ...] = (
    ("in_channels", "in_dim", "in_features", "in_feats", "input_dim", "num_features", "num_node_features", "nfeat"),
    ("hidden_channels", "hidden_dim", "hidden_features", "hidden_feats", "hidden_size", "num_hidden", "nhid", "hidden"),
    ("out_channels", "out_dim", "out_features", "out_feats", "output_dim", "num_classes", "n_classes", "nclass"),
)
"""What the field calls the width of the input, of hidden layers and of the output."""

NUM_LAYERS = 2
"""Depth of a model that must be told one, as that of the built-in models."""

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def signature_of(make: Callable[..., Any]) -> Mapping[str, inspect.Parameter] | None:
    """Parameters of a callable; None where it does not tell."""
    try:
        return inspect.signature(make).parameters
    except (TypeError, ValueError):
        return None


def named_parameters(make: Callable[..., Any]) -> Mapping[str, inspect.Parameter] | None:
    """Named parameters of a callable, or None when it takes anything."""
    parameters = signature_of(make)
    if parameters is None or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return None
    return parameters


def call_with(
    make: Callable[..., Any], widths: tuple[int, int, int], *, given: Mapping[str, Any], offered: Mapping[str, Any]
) -> Any:
    """Call a constructor with widths, given arguments and whatever else of ``offered`` it names.

    Nothing that it raises is caught: what to pass is read off its signature.

    Parameters
    ----------
    make
        A class or factory.
    widths
        Of input, hidden layers and output.
    given
        Arguments that the user chose.
    offered
        Facts about the data, passed where a parameter has their name.

    Returns
    -------
    Any
        What the constructor made.

    Examples
    --------
    >>> def model(num_features, num_classes, hidden=16, num_layers=3):
    ...     return num_features, hidden, num_classes, num_layers
    >>> call_with(model, (5, 8, 2), given={"num_layers": 4}, offered={})
    (5, 8, 2, 4)
    """
    told_by, accepted = _signature(make), named_parameters(make)
    parameters = told_by or {}
    extra = dict(given)
    for key, value in offered.items():
        if accepted is not None and key in accepted and value is not None:
            extra.setdefault(key, value)
    names = [next((name for name in role if name in parameters), None) for role in ROLES]
    told = {name: width for name, width in zip(names, widths, strict=True) if name is not None}
    required = [
        p.name for p in parameters.values()
        if p.kind in (inspect.Parameter.POSITIONAL_ONLY, *_NAMED) and p.default is p.empty
    ]  # fmt: skip
    if "num_layers" in required:
        extra.setdefault("num_layers", NUM_LAYERS)
    unknown = [name for name in required if name not in told and name not in extra]
    if told_by is not None and not unknown and (told or not _takes_widths(parameters, extra)):
        return make(**(told | extra))
    if lacking := [name for name in unknown if name in offered]:
        raise UsageError(
            f"{getattr(make, '__name__', make)} must be told {', '.join(lacking)}, which this data does not have. Give "
            "it a default, or choose data that has it."
        )
    nameless = [name for name in required if name not in extra]
    if told_by is not None and (nameless[3:] or (told and len(unknown) > 2) or not _takes_widths(parameters, extra)):
        raise UsageError(
            f"{getattr(make, '__name__', make)} must be told {', '.join(unknown)}, which graphnetz does not know. Call "
            "its widths in_channels, hidden_channels and out_channels, and give its other parameters defaults."
        )
    return make(*widths, **extra)


def _signature(make: Callable[..., Any]) -> Mapping[str, inspect.Parameter] | None:
    """As `signature_of`, but a module without a constructor of its own takes nothing, whatever torch's says."""
    return {} if getattr(make, "__init__", None) is nn.Module.__init__ else signature_of(make)


def _takes_widths(parameters: Mapping[str, inspect.Parameter], extra: Mapping[str, Any]) -> bool:
    """Whether three widths can be passed by their places alone, beside what is passed by name."""
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters.values()):
        return True
    by_place = [
        p.name for p in parameters.values()
        if p.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    ]  # fmt: skip
    return len(by_place) >= 3 and not set(by_place[:3]) & set(extra)
