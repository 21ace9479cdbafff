"""Tensors whose rows are computed when they are asked for: a model runs over them without holding the graph's rows.

A module is called once with such a tensor in place of the features. Functions that treat rows one by one are noted;
a convolution notes itself. Only when some rows of the result are asked for is anything computed, for these rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from graphnetz._core.errors import UsageError

Ids = npt.NDArray[np.int64]

_ROW_BY_ROW = {
    "relu", "relu_", "relu6", "elu", "elu_", "celu", "selu", "gelu", "silu", "mish", "leaky_relu", "prelu", "hardtanh",
    "tanh", "sigmoid", "softplus", "dropout", "linear", "layer_norm", "batch_norm", "add", "__add__", "__radd__", "sub",
    "__sub__", "__rsub__", "mul", "__mul__", "__rmul__", "div", "__truediv__", "neg", "__neg__", "float", "contiguous",
    "detach", "clone",
}  # fmt: skip
"""Functions of torch whose row of output depends on the same row of input alone."""

_ALONG_ROWS = {"softmax", "log_softmax", "cat", "concat", "normalize"}
"""The same, where they are told to work inside rows."""

_ASKS = {"__get__", "size", "dim", "numel", "is_floating_point", "__repr__", "ndimension", "stride"}
"""Questions about shape and type, which need no rows."""


class Stand(Tensor):
    """A tensor without numbers, which stands for something that is not in memory."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        del types, args, kwargs
        raise UsageError(
            f"The model applies {func} to a graph that lies on disk. Pass its edges to convolutions alone, and treat "
            "rows one by one."
        )


class Rows(Stand):
    """One row per node, computed for the nodes that are asked for.

    Parameters
    ----------
    count
        Number of rows.
    probe
        One row of zeros that went the same way: it has the width and type.
    read
        ``(nodes) -> rows``; nodes are distinct.
    parents
        What the rows are computed from; they are made ready before rows are read.
    """

    read: Callable[[Ids], Tensor]
    parents: tuple[Rows, ...]
    probe: Tensor

    def __new__(cls, count: int, probe: Tensor, read: Callable[[Ids], Tensor], parents: tuple[Rows, ...] = ()) -> Rows:
        """Stand for ``count`` rows like ``probe``."""
        make: Any = torch.Tensor._make_wrapper_subclass
        out: Rows = make(cls, (count, *probe.shape[1:]), dtype=probe.dtype, device="cpu")
        out.read, out.parents, out.probe = read, parents, probe
        return out

    def ready(self, mask: npt.NDArray[np.bool_]) -> None:
        """Compute what reading the rows in ``mask`` needs and is kept; what is not kept passes it on."""
        for parent in self.parents:
            parent.ready(mask)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        given = kwargs or {}
        name = getattr(func, "__name__", str(func))
        if name in _ASKS:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **given)
        if name not in _ROW_BY_ROW and name not in _ALONG_ROWS:
            raise UsageError(
                f"The model applies {name!r} to the rows of all nodes, and on a graph folder only functions of single "
                "rows and one-hop convolutions can run. Leave it out, or train in memory."
            )
        return _noted(func, name, args, given)


def _noted(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Rows:
    """Note one function, after it was tried on a row of zeros."""
    inputs = [value for value in _flat((args, kwargs)) if isinstance(value, Rows)]
    with torch.no_grad():
        probe = func(*_put(args, lambda rows: rows.probe), **_put(kwargs, lambda rows: rows.probe))
    dim = kwargs.get("dim", args[1] if len(args) > 1 and isinstance(args[1], int) else None)
    inside = name not in _ALONG_ROWS or dim in (-1, 1) or (name == "normalize" and dim is None)
    batch_statistics = name == "batch_norm" and (kwargs.get("training") or (len(args) > 5 and args[5]))
    if not isinstance(probe, Tensor) or probe.dim() != 2 or probe.size(0) != 1 or not inside or batch_statistics:
        raise UsageError(
            f"The model applies {name!r} across the rows of all nodes, and on a graph folder rows are computed one by "
            "one. Leave it out, or train in memory."
        )

    def read(nodes: Ids) -> Tensor:
        found = {id(rows): rows.read(nodes) for rows in inputs}
        out: Tensor = func(*_put(args, lambda rows: found[id(rows)]), **_put(kwargs, lambda rows: found[id(rows)]))
        return out

    return Rows(inputs[0].shape[0], probe, read, tuple(inputs))


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [item for part in value for item in _flat(part)]
    if isinstance(value, dict):
        return [item for part in value.values() for item in _flat(part)]
    return [value]


def _put(value: Any, what: Callable[[Rows], Tensor]) -> Any:
    """Replace every `Rows` in a nest of arguments."""
    if isinstance(value, Rows):
        return what(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_put(part, what) for part in value)
    if isinstance(value, dict):
        return {key: _put(part, what) for key, part in value.items()}
    return value
