"""ModelSpec: what the engine knows of a model, and the registry of known ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from torch import nn

from graphnetz._core.errors import UsageError
from graphnetz._core.registry import Registry
from graphnetz.tasktypes import TASK_TYPES, Dims, known_task_type
from graphnetz.tasktypes.heads import FromGraph

ALL: frozenset[str] = frozenset({"*"})
"""Every task type there is when the plan is made, third parties' included."""

_KNOWN_CODE = ("graphnetz", "torch_geometric", "torch")
_PLAIN = (str, int, float, bool, tuple, list, type(None))
_CHANNELS = ("in_channels", "hidden_channels", "out_channels")


@dataclass(frozen=True)
class ModelSpec:
    """A model class, the task types it serves, and how to build it.

    Parameters
    ----------
    cls
        An ``nn.Module`` (an encoder: the engine trains it) or a class with ``fit(split, rng)`` and
        ``score(split)`` (a predictor).
    task_types
        Names of task types, or `ALL`.
    factory
        ``(in_channels, hidden_channels, out_channels) -> module``; None calls the class. A factory
        made by `_multi_task_factory` is adapted to each task type.
    kwargs
        Extra constructor arguments.

    Examples
    --------
    >>> from graphnetz import GCN, ModelSpec
    >>> ModelSpec(GCN, kwargs={"dropout": 0.5}).kind
    'encoder'
    """

    cls: type
    task_types: frozenset[str] = ALL
    factory: Callable[..., Any] | None = None
    kwargs: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def kind(self) -> Literal["encoder", "predictor"]:
        """Whether our loop trains it, or it fits itself."""
        return "encoder" if issubclass(self.cls, nn.Module) else "predictor"

    @property
    def name(self) -> str:
        """The class's name."""
        return self.cls.__name__

    @property
    def is_node_level(self) -> bool:
        """Whether it gives one row per node whatever the task, and is adapted to each task type.

        That is said by the class (``level = "node"``) or a `_multi_task_factory`, and known of the models of
        ``torch_geometric.nn.models`` that stack convolutions.
        """
        from torch_geometric.nn.models.basic_gnn import BasicGNN

        declared = self.factory is None and getattr(self.cls, "level", "") == "node"
        return declared or isinstance(self.factory, MultiTaskFactory) or issubclass(self.cls, BasicGNN)

    @property
    def is_ours(self) -> bool:
        """Whether all code that builds and is the model belongs to this package, PyTorch Geometric or torch."""
        parts = [self.cls, *([] if isinstance(self.factory, MultiTaskFactory | None) else [self.factory])]
        parts += [value for value in self.kwargs.values() if not isinstance(value, _PLAIN)]
        return all(str(getattr(part, "__module__", "")).partition(".")[0] in _KNOWN_CODE for part in parts)

    def serves(self, task_type: str) -> bool:
        """Whether the model can be run on a task type.

        Parameters
        ----------
        task_type
            Name of the task type.

        Returns
        -------
        bool
            True for every task type when ``task_types`` is `ALL`.

        Examples
        --------
        >>> from graphnetz.models import MODELS
        >>> MODELS["GIN"].serves("graph_cls"), MODELS["GIN"].serves("node_cls")
        (True, False)
        """
        return self.task_types == ALL or task_type in self.task_types

    def with_kwargs(self, kwargs: Mapping[str, Any]) -> ModelSpec:
        """Return a copy with more constructor arguments; a wrong name is refused before training.

        Parameters
        ----------
        kwargs
            Argument -> value.

        Returns
        -------
        ModelSpec
            The original is not changed.

        Examples
        --------
        >>> from graphnetz.models import MODELS
        >>> MODELS["GCN"].with_kwargs({"dropout": 0.5}).kwargs
        {'dropout': 0.5}
        """
        accepted = _parameters(self.factory or self.cls)
        for key in kwargs:
            if accepted is not None and key not in accepted:
                known = ", ".join(sorted(set(accepted) - set(_CHANNELS)))
                raise UsageError(f"{self.name} takes no argument {key!r}. It takes: {known or 'none'}.")
        return replace(self, kwargs={**self.kwargs, **kwargs})

    def accepts(self, argument: str) -> bool:
        """Whether the constructor takes an argument.

        Parameters
        ----------
        argument
            Name of the argument.

        Returns
        -------
        bool
            True also for constructors that take any keyword.

        Examples
        --------
        >>> from graphnetz.models import MODELS
        >>> MODELS["GAT"].accepts("heads"), MODELS["GCN"].accepts("heads")
        (True, False)
        """
        accepted = _parameters(self.factory or self.cls)
        return accepted is None or argument in accepted

    def build(self, task_type: str, dims: Dims, hidden: int) -> Any:
        """Build the model for one task; whatever the user's constructor raises passes through.

        Parameters
        ----------
        task_type
            What it shall predict.
        dims
            Widths of the data.
        hidden
            Width of hidden layers.

        Returns
        -------
        torch.nn.Module or predictor
            Untrained; an encoder that returns node vectors is adapted to the task type.

        Examples
        --------
        >>> from graphnetz.models import MODELS
        >>> from graphnetz.tasktypes import Dims
        >>> model = MODELS["GCN"].build("graph_cls", Dims(3, 2), 8)
        >>> sum(p.numel() for p in model.parameters()) > 0
        True
        """
        if self.kind == "predictor":
            return self.cls(**self.kwargs)
        kind = known_task_type(task_type)
        make = self.cls if isinstance(self.factory, MultiTaskFactory) else self.factory or self.cls
        if self.is_node_level:
            return kind.adapt(lambda i, h, o: self._construct(make, i, h, o, dims), dims, hidden)
        known = {"task_type": task_type, "vocabulary": dims.vocabulary, "out_graph": dims.out_graph}
        accepted = _parameters(make)
        if accepted is not None and "vocabulary" in accepted:
            dims = replace(dims, vocabulary=())  # the model embeds categories itself
        wide_in, wide_out = kind.direct_channels(dims, hidden)
        model = self._construct(make, wide_in, hidden, wide_out, dims, known)
        return kind.wrap(model, dims, hidden)

    def _construct(
        self, make: Callable[..., Any], i: int, h: int, o: int, dims: Dims, known: Mapping[str, Any] | None = None
    ) -> Any:
        accepted = _parameters(make)
        extra = dict(self.kwargs)
        offered = {key: getattr(dims, key) for key in ("edge_dim", "num_relations", "pe_dim", "num_nodes")} | dict(
            known or {}
        )
        for key, value in offered.items():
            if accepted is not None and key in accepted and value is not None:
                extra.setdefault(key, value)
        if all(name in (_signature(make) or ()) for name in _CHANNELS):
            model = make(in_channels=i, hidden_channels=h, out_channels=o, **extra)
        else:
            model = make(i, h, o, **extra)
        return FromGraph(model) if FromGraph.needed(model) else model


class MultiTaskFactory:
    """Marks an encoder class that returns node embeddings and is adapted to every task type."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.__signature__ = inspect.signature(cls)

    def __call__(
        self, in_channels: int, hidden_channels: int, out_channels: int, *, task_type: str = "node_cls"
    ) -> nn.Module:
        """Build the adapted model directly, as documented for scripts."""
        spec = ModelSpec(self.cls, frozenset({task_type}), self)
        model: nn.Module = spec.build(task_type, Dims(in_channels, out_channels), hidden_channels)
        return model


def _multi_task_factory(cls: type) -> MultiTaskFactory:
    """Return a factory that wraps ``cls`` with the adapter of the dispatched task type."""
    return MultiTaskFactory(cls)


def _parameters(make: Callable[..., Any]) -> Mapping[str, inspect.Parameter] | None:
    """Named parameters of a callable, or None when it takes anything."""
    parameters = _signature(make)
    if parameters is None or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return None
    return parameters


def _signature(make: Callable[..., Any]) -> Mapping[str, inspect.Parameter] | None:
    try:
        return inspect.signature(make).parameters
    except (TypeError, ValueError):
        return None


MODELS: Registry[ModelSpec] = Registry(
    "model",
    entry_points="graphnetz.models",
    accepts=ModelSpec,
    decorator="graphnetz.register_model",
    homes=("graphnetz.papers.benchmarking_gnns.models", "graphnetz.papers.rings.models"),
)
"""Registered models by name; `register_model` adds one, plug-ins by entry point."""


def register_model(
    cls: type | None = None,
    *,
    task_type: str | Iterable[str] | None = None,
    task_types: str | Iterable[str] | None = None,
    factory: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Register a model class by name; a decorator, or a call with the class.

    Parameters
    ----------
    cls
        The class, when called directly.
    task_type, task_types
        Task types it serves: one name, several, or `ALL`. The two spellings mean the same.
    factory
        How to build it; see `ModelSpec`.
    name
        Name in `MODELS`; the class's own when left out.

    Returns
    -------
    type or callable
        The class, or a decorator for it.

    Examples
    --------
    >>> import torch
    >>> from graphnetz import register_model
    >>> from graphnetz.models import MODELS
    >>> @register_model(task_type={"node_cls"})
    ... class TinyGCN(torch.nn.Module):
    ...     ...
    >>> MODELS.remove("TinyGCN").task_types
    frozenset({'node_cls'})
    """

    def register(target: type) -> type:
        given = task_type if task_type is not None else task_types
        spec = ModelSpec(target, _task_types(given, target), factory)
        label = name or target.__name__
        known = MODELS[label] if MODELS.registered(label) else None
        if known is not None and _identity(known.cls) == _identity(target):
            MODELS.remove(label)  # the same class again: a notebook cell was run twice
        MODELS.add(label, spec)
        return target

    return register if cls is None else register(cls)


def _identity(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


def _task_types(given: str | Iterable[str] | None, cls: type) -> frozenset[str]:
    if given is None:
        given = getattr(cls, "task_types", None)
    if given is None:
        raise UsageError(
            f"{cls.__name__} does not say which task types it serves. Decorate it with "
            '@register_model(task_type={"node_cls"}), give it a task_types attribute, '
            f'or pass ({cls.__name__}, "node_cls", factory). Known: {", ".join(sorted(TASK_TYPES))}.'
        )
    names = frozenset({given} if isinstance(given, str) else given)
    if names != ALL:
        for item in names:
            known_task_type(item)
    return names


def spec_from(value: Any) -> ModelSpec:
    """Resolve a class, name, tuple or spec to a ModelSpec.

    Parameters
    ----------
    value
        A class, the name of a registered model, ``(class, task types[, factory])`` or a spec.

    Returns
    -------
    ModelSpec
        A registered class keeps the task types it was registered with.

    Examples
    --------
    >>> from graphnetz.models import spec_from
    >>> spec_from("GIN").name, sorted(spec_from("GIN").task_types)
    ('GIN', ['graph_cls', 'graph_reg'])
    """
    if isinstance(value, ModelSpec):
        return value
    if isinstance(value, str):
        return MODELS[value]
    if isinstance(value, tuple):
        if not 2 <= len(value) <= 3 or not isinstance(value[0], type):
            raise UsageError(f"An inline model is (class, task types[, factory]), got {value!r}.")
        return ModelSpec(value[0], _task_types(value[1], value[0]), value[2] if len(value) == 3 else None)
    if isinstance(value, type):
        for spec in MODELS.values():
            if spec.cls is value:
                return spec
        return ModelSpec(value, _task_types(None, value))
    raise UsageError(
        f"A model is a class, a registered name, a ModelSpec or (class, task types[, factory]), got {value!r}."
    )


def named_specs(models: Any) -> dict[str, ModelSpec]:
    """Resolve every documented form of ``models=`` to names and specs, in order.

    Parameters
    ----------
    models
        As in `run_benchmark`.

    Returns
    -------
    dict of ModelSpec
        By the name that reports show.

    Examples
    --------
    >>> from graphnetz import GCN
    >>> from graphnetz.models import named_specs
    >>> list(named_specs([GCN, "MLP"])), list(named_specs({"wide": GCN}))
    (['GCN', 'MLP'], ['wide'])
    """
    if models is None:
        raise UsageError("run_benchmark requires `models`: a class, a registered name, a list of either, or a dict.")
    if isinstance(models, Mapping):
        chosen = {str(name): spec_from(value) for name, value in models.items()}
    else:
        inline = (
            isinstance(models, tuple)
            and len(models) >= 2
            and isinstance(models[0], type)
            and not isinstance(models[1], type)
        )
        single = isinstance(models, (str, type, ModelSpec)) or inline
        chosen = {}
        for value in [models] if single else list(models):
            name = value if isinstance(value, str) else spec_from(value).name
            if name in chosen:
                raise UsageError(f"Two models are called {name!r}. Pass a dict to give each its own name.")
            chosen[name] = spec_from(value)
    if not chosen:
        raise UsageError("run_benchmark requires `models`: at least one, got none.")
    return chosen
