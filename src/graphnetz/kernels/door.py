"""The one door for speed: run the layers of any module tree in the kernels, and say which of them did."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from graphnetz._core.errors import UsageError
from graphnetz.kernels import drop
from graphnetz.kernels.chain import chain, fits, norm_step
from graphnetz.kernels.features import (
    SparseFeatures,
    SparseRows,
    column_major_,
    mark_constant,
    recognised,
    sparse_linear,
)
from graphnetz.kernels.known import LAYERS, OFF, UNKNOWN, can_restrict, compute, is_known, supports
from graphnetz.kernels.loading import is_loader, quick_batches
from graphnetz.kernels.pooling import AGGREGATIONS, pooled_functions, pooled_rows
from graphnetz.kernels.products import linear, pays
from graphnetz.kernels.receptive import FieldEdges
from graphnetz.kernels.runtime import is_enabled, usable

WIDE = 256
"""Input features from which on a first layer's weights are stored column by column."""

_ENTRIES = ("forward", "encode", "training_loss")
_REPLACED = "its forward was replaced"
_NOT_NODES = "its input is not one tensor of node features"


@dataclass(eq=False)
class LayerRun:
    """Where one message-passing layer ran: how many calls in the kernels, how many by itself, and why."""

    path: str
    layer: str
    kernel: int = 0
    plain: int = 0
    reason: str = ""

    def __str__(self) -> str:
        if self.kernel and not self.plain:
            return "kernel"
        if not self.plain:
            return self.reason or "not called"
        return f"kernel, and {self.plain} calls by itself: {self.reason}" if self.kernel else self.reason


@dataclass
class Acceleration:
    """What `accelerate` gives: the message-passing layers of the model, and where each of them ran.

    Examples
    --------
    >>> report = Acceleration([LayerRun("conv1", "GCNConv", kernel=3), LayerRun("conv2", "NNConv", 0, 3, "unknown")])
    >>> str(report)
    '1 of 2 (conv2 NNConv: unknown)'
    """

    layers: list[LayerRun] = field(default_factory=list)
    active: bool = True
    inside: bool = field(default=False, repr=False)
    needed: dict[tuple[str, bool], bool] = field(default_factory=dict, repr=False)

    @property
    def in_kernels(self) -> int:
        """How many layers ran in the kernels at every call."""
        return sum(run.kernel > 0 and run.plain == 0 for run in self.layers)

    def __str__(self) -> str:
        """Say it in one line; empty for a model that passes no messages by layers of PyTorch Geometric."""
        others = [f"{run.path} {run.layer}: {run}" for run in self.layers if str(run) != "kernel"]
        why = f" ({'; '.join(others)})" if others else ""
        return f"{self.in_kernels} of {len(self.layers)}{why}" if self.layers else ""


@contextlib.contextmanager
def accelerate(model: nn.Module, data: Any = None) -> Iterator[Acceleration]:
    """Run the PyTorch Geometric layers of ``model`` in the kernels inside a ``with`` block.

    Layers keep their parameters; only their ``forward`` is exchanged, and put back at the end. A layer, setting, input
    or way of calling that the kernels do not compute runs as the plain layer: subclasses, hooks, explanations,
    bipartite or sparse inputs, other devices and types, attention weights that are asked for. Values and gradients
    are those of the plain layers to rounding. Dropout draws other numbers than torch does, from torch's seed (see
    `torch_dropout_stream`).

    Parameters
    ----------
    model
        Any module; the swap reaches every layer below it.
    data
        The graph that the model will be called with. Its ``x`` is taken to stay as it is: what only depends on it is
        computed once, and it is multiplied as a sparse matrix where most of it is zero. Make the optimiser inside the
        block then, because wide first weights change their memory layout. Or the ``DataLoader`` of PyTorch Geometric
        that the batches come from, or several of them: graphs in memory are collated once, and batches with the same
        content copied from them. Graphs that were changed since, and other loaders, are collated as ever.

    Yields
    ------
    Acceleration
        Which layers ran in the kernels, and why others did not.

    Examples
    --------
    >>> from torch_geometric.nn import GCNConv
    >>> conv, edges = GCNConv(4, 2), torch.tensor([[0, 1], [1, 0]])
    >>> with accelerate(conv) as report:
    ...     out = conv(torch.ones(2, 4), edges)
    >>> str(report), torch.allclose(out, conv(torch.ones(2, 4), edges))
    ('1 of 1', True)
    """
    report = Acceleration()
    with contextlib.ExitStack() as undo:
        undo.callback(setattr, report, "active", False)
        _swap_layers(model, report, undo)
        if is_enabled():
            undo.enter_context(pooled_functions())
            _swap_entries(model, report, undo)
            loaders = [part for part in (data if isinstance(data, (list, tuple)) else [data]) if is_loader(part)]
            for loader in loaders:
                undo.enter_context(quick_batches(loader))
            x = None if data is None or loaders else getattr(data, "x", None)
            if isinstance(x, Tensor):
                mark_constant(x)
                _turn_first_weights(model, x, undo)
        yield report


def _swap_layers(model: nn.Module, report: Acceleration, undo: contextlib.ExitStack) -> None:
    from torch_geometric.nn import Linear, MessagePassing

    inner: set[int] = set()
    compiled = _is_compiled(model)
    for path, module in model.named_modules():
        now = vars(module).get("forward")
        if isinstance(module, MessagePassing):
            inner.update(map(id, module.aggr_module.modules()))
            run = LayerRun(path, type(module).__name__)
            report.layers.append(run)
            if isinstance(now, _Layer):  # the block of an outer call: its swap stays, and counts for both
                now.runs.append(run)
                undo.callback(now.runs.remove, run)
            elif not is_enabled() or not is_known(module) or now is not None:
                run.reason = OFF if not is_enabled() else _REPLACED if is_known(module) else UNKNOWN
            else:
                undo.callback(_Layer(module, report, [run]).undo)
        elif is_enabled() and type(module) in AGGREGATIONS and id(module) not in inner and now is None:
            undo.callback(_Pool(module, report).undo)
        elif is_enabled() and type(module) is nn.BatchNorm1d and now is None and not compiled:
            undo.callback(_Norm(module, report).undo)
        elif is_enabled() and type(module) in (nn.Linear, Linear) and now is None and not compiled:
            undo.callback(_Map(module, report).undo)


def _is_compiled(model: nn.Module) -> bool:
    kinds = (torch.jit.ScriptModule, torch._dynamo.eval_frame.OptimizedModule)
    return any(isinstance(part, kinds) for part in model.modules())


def _swap_entries(model: nn.Module, report: Acceleration, undo: contextlib.ExitStack) -> None:
    """Let dropout and products with constant inputs be seen inside the model's own methods."""
    if _is_compiled(model):
        return
    for name in _ENTRIES:
        if callable(getattr(model, name, None)) and name not in vars(model):
            undo.callback(_Entry(model, report, name).undo)


def _turn_first_weights(model: nn.Module, x: Tensor, undo: contextlib.ExitStack) -> None:
    """Store the weights that meet sparse ``x`` column by column until the block ends."""
    if x.size(-1) < WIDE or not isinstance(recognised(x)[0], SparseFeatures):
        return
    for part in model.modules():
        weight = getattr(part, "weight", None)
        if not isinstance(weight, nn.Parameter) or weight.dim() != 2 or weight.size(1) != x.size(1):
            continue
        if weight.is_contiguous() and column_major_(weight):
            undo.callback(_row_major, weight)


def _row_major(weight: nn.Parameter) -> None:
    weight.data = weight.data.contiguous()


def restrictable(layers: Sequence[Any], x: Any) -> bool:
    """Whether a model made of ``layers``, all of them accelerated now, may run on a `ReceptiveField` of ``x``."""
    return all(isinstance(vars(layer).get("forward"), _Layer) for layer in layers) and can_restrict(layers, x)


def streams(layer: Any) -> bool:
    """Whether ``layer`` is computed now by a kernel that never holds the messages of all arcs together."""
    name = type(layer).__name__
    known = isinstance(vars(layer).get("forward"), _Layer) and LAYERS[name].streams
    return known and (supports(layer) or supports(layer, edges=True))


class _Swap:
    """A method of one module exchanged for another while a block lasts.

    A copy of the module takes its own copy along, and after the block the copy falls back to its class.
    """

    swaps = True

    def __init__(self, module: nn.Module, report: Acceleration, name: str = "forward") -> None:
        self.module, self.report, self.name = module, report, name
        vars(module)[name] = self

    def undo(self) -> None:
        """Let the class's own method show again."""
        if vars(self.module).get(self.name) is self:
            del vars(self.module)[self.name]

    def plain(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method of the class."""
        return getattr(type(self.module), self.name)(self.module, *args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other.module = copy.deepcopy(self.module, memo)
        return other

    def __reduce__(self) -> Any:
        return getattr, (self.module, self.name)  # while the module is read back, that is its class's own method


class _Layer(_Swap):
    """The forward of a layer that the kernels know."""

    def __init__(self, module: nn.Module, report: Acceleration, runs: list[LayerRun]) -> None:
        super().__init__(module, report)
        self.runs = runs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.report.active:
            return self.plain(*args, **kwargs)
        found = self._computed(args, kwargs)
        if isinstance(found, Tensor):
            for run in self.runs:
                run.kernel += 1
            return found
        for run in self.runs:
            run.plain, run.reason = run.plain + 1, found
        return self.plain(*args, **kwargs)

    def _computed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | str:
        layer = LAYERS[type(self.module).__name__]
        if len(args) == 2 and not kwargs:  # the usual call, without matching of names
            x, edges, options = *args, {}
        else:
            names = ("x", "edge_index", *layer.names)
            given = dict(zip(names, args, strict=False)) | kwargs
            x, edges = given.pop("x", None), given.pop("edge_index", None)
            options = {key: value for key, value in given.items() if value is not None}
            if len(args) > len(names):
                return _NOT_NODES
        if not isinstance(x, Tensor):
            return _NOT_NODES
        features, constant = recognised(x)
        restricted = type(edges) is FieldEdges
        edges = edges.at(self.module) if restricted else edges
        # The kernels' own operations need not be seen; those of a network inside the layer must be.
        if layer.nested or not self.report.inside:
            found = compute(self.module, features, edges, constant=constant, **options)
        else:
            with torch._C.DisableTorchFunction():
                found = compute(self.module, features, edges, constant=constant, **options)
        if restricted and isinstance(found, str):
            raise UsageError(f"{type(self.module).__name__} cannot run on a part of the graph: {found}.")
        return found


class _Pool(_Swap):
    """The forward of a pooling module over sorted graphs."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = dict(zip(("x", "index", "ptr", "dim_size", "dim"), args, strict=False)) | kwargs
        found = pooled_rows(AGGREGATIONS[type(self.module)], **given) if self.report.active else None
        return self.plain(*args, **kwargs) if found is None else found


class _Norm(_Swap):
    """The forward of a batch norm over rows."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and self.report.active and type(args[0]) is Tensor and args[0].dim() == 2:
            (x,) = args
            if usable(x) and (step := norm_step(self.module)) and fits([step], x, x.size(0)):
                return chain([step], x)
        return self.plain(*args, **kwargs)


class _Map(_Swap):
    """The forward of a linear map of rows; features that were marked as constant may be sparse and are left to it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and type(args[0]) is Tensor and args[0].dim() == 2:
            (x,), module = args, cast(Any, self.module)
            weight = module.weight
            plain = type(weight) is nn.Parameter and weight.dtype == x.dtype and weight.device.type == "cpu"
            if plain and pays(x.size(0), weight) and self.report.active and usable(x) and not recognised(x)[1]:
                return linear(x, weight, module.bias)
        return self.plain(*args, **kwargs)


class _Entry(_Swap):
    """A method of the model through which training and evaluation enter it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        report, mode = self.report, (self.name, self.module.training)
        if not report.active or report.inside or torch.compiler.is_compiling() or report.needed.get(mode) is False:
            return self.plain(*args, **kwargs)
        report.inside = True
        functions = _Functions()
        try:
            with functions:
                return self.plain(*args, **kwargs)
        finally:
            # Looking on costs a microsecond per operation: a model that gave nothing to do is not looked at again.
            report.needed.setdefault(mode, functions.used)
            report.inside = False


class _Functions(TorchFunctionMode):
    """Sees the calls of a few functions of torch in the model's code; everything else passes."""

    used = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        quick = _QUICK.get(func)
        if quick is not None:
            out = quick(*args, **(kwargs or {}))
            if out is not NotImplemented:
                self.used = self.used or not args or out is not args[0]
                return out
        return func(*args, **(kwargs or {}))


def _quick_dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    if not training or p == 0.0:
        return input if isinstance(input, Tensor) else NotImplemented
    if inplace or not isinstance(input, Tensor) or not 0.0 <= p <= 1.0:
        return NotImplemented
    features, _ = recognised(input)
    if isinstance(features, SparseFeatures):
        return SparseRows(features.dropout(p))
    return drop.dropout(input, p) if usable(input) else NotImplemented


def _quick_linear(input: Any, weight: Any, bias: Any = None) -> Any:
    features, _ = recognised(input)
    if not isinstance(features, SparseFeatures) or not usable(weight) or weight.dtype != features.dtype:
        return NotImplemented
    return sparse_linear(features, weight, bias)


_QUICK: dict[Any, Callable[..., Any]] = {F.dropout: _quick_dropout, F.linear: _quick_linear}
