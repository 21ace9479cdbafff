"""ModelSpec: what the engine knows of a model, and the registry of known ones."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from torch import nn

from graphnetz._core.errors import UnknownNameError, UsageError
from graphnetz._core.registry import Registry
from graphnetz.models.construct import call_with, named_parameters
from graphnetz.records.references import is_reference, label_of
from graphnetz.tasktypes import Dims, known_task_type
from graphnetz.tasktypes.heads import from_graph

ALL: frozenset[str] = frozenset({"*"})
"""Every task type there is when the plan is made, third parties' included."""

_KNOWN_CODE = ("graphnetz", "torch_geometric", "torch")
_PLAIN = (str, int, float, bool, tuple, list, type(None))
_CHANNELS = ("in_channels", "hidden_channels", "out_channels")


@dataclass(frozen=True)
class Source:
    """Where a model that is not registered came from: its reference, and its file's hash (empty: installed)."""

    reference: str
    sha256: str


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
    declared
        Whether somebody said which task types it serves; if not, the first batch of each task tells.
    level
        ``"node"`` for a model that gives one row per node whatever the task: it is adapted to each task type.
    source
        The file it came from, where it is one of the user's own.

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
    declared: bool = True
    level: Literal["", "node"] = ""
    source: Source | None = None

    @property
    def kind(self) -> Literal["encoder", "predictor"]:
        """Whether our loop trains it, or it fits itself."""
        return "encoder" if issubclass(self.cls, nn.Module) else "predictor"

    @property
    def name(self) -> str:
        """The class's name, for an estimator of scikit-learn that of its own class."""
        return type(self.kwargs["estimator"]).__name__ if "estimator" in self.kwargs else self.cls.__name__

    @property
    def is_node_level(self) -> bool:
        """Whether it gives one row per node whatever the task, and is adapted to each task type.

        That is said by the class (``level = "node"``) or a `_multi_task_factory`, and known of the models of
        ``torch_geometric.nn.models`` that stack convolutions.
        """
        from torch_geometric.nn.models.basic_gnn import BasicGNN

        declared = self.factory is None and "node" in (self.level, getattr(self.cls, "level", ""))
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
        accepted = named_parameters(self.factory or self.cls)
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
        accepted = named_parameters(self.factory or self.cls)
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
        accepted = named_parameters(make)
        if accepted is not None and "vocabulary" in accepted:
            dims = replace(dims, vocabulary=())  # the model embeds categories itself
        wide_in, wide_out = kind.direct_channels(dims, hidden)
        model = self._construct(make, wide_in, hidden, wide_out, dims, known)
        return kind.wrap(model, dims, hidden)

    def _construct(
        self, make: Callable[..., Any], i: int, h: int, o: int, dims: Dims, known: Mapping[str, Any] | None = None
    ) -> Any:
        offered = {key: getattr(dims, key) for key in ("edge_dim", "num_relations", "pe_dim", "num_nodes")}
        return from_graph(call_with(make, (i, h, o), given=self.kwargs, offered=offered | dict(known or {})))


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
        spec = _spec(target, given, factory)
        label = name or target.__name__
        known = MODELS[label] if MODELS.registered(label) else None
        if known is not None and _identity(known.cls) == _identity(target):
            MODELS.remove(label)  # the same class again: a notebook cell was run twice
        MODELS.add(label, spec)
        return target

    return register if cls is None else register(cls)


def _identity(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


def _spec(cls: type, given: str | Iterable[str] | None, factory: Callable[..., Any] | None = None) -> ModelSpec:
    """A class with the task types it was given or declares; where nobody says any, all are tried."""
    if not issubclass(cls, nn.Module) and not (hasattr(cls, "fit") and hasattr(cls, "score")):
        raise UsageError(
            f"{cls.__name__} is no model: it is neither a torch.nn.Module nor a class with fit(split, rng) and "
            "score(split)."
        )
    given = getattr(cls, "task_types", None) if given is None else given
    if given is None:
        return ModelSpec(cls, ALL, factory, declared=False)
    names = frozenset({given} if isinstance(given, str) else given)
    for item in names - ALL:
        known_task_type(item)
    return ModelSpec(cls, names, factory)


_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")
"""``package.module.Class``, as Python writes it."""


def spec_from(value: Any, *, code: bool = False) -> ModelSpec:
    """Resolve a class, name, tuple or spec to a ModelSpec.

    Parameters
    ----------
    value
        A class, the name of a registered model, ``(class, task types[, factory])``, an estimator of scikit-learn or a
        spec.
    code
        Whether a text may name a file or module to import, as in ``path.py:Class``. Never true for what was read
        from a folder or bundle: importing runs it.

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
        if code and is_reference(value) and not MODELS.registered(value):
            from graphnetz.models.brought import brought_spec

            return brought_spec(value)
        if code and not MODELS.registered(value) and _DOTTED.fullmatch(value):
            module, _, name = value.rpartition(".")
            raise UnknownNameError(
                f"Unknown model {value!r}. A class of a module is named with a colon: {module}:{name}."
            )
        return MODELS[value]
    if isinstance(value, tuple):
        if not 2 <= len(value) <= 3 or not isinstance(value[0], type):
            raise UsageError(f"An inline model is (class, task types[, factory]), got {value!r}.")
        return _spec(value[0], value[1], value[2] if len(value) == 3 else None)
    from graphnetz.models.estimators import is_estimator, on_rows

    if is_estimator(value):
        return on_rows(value)
    if isinstance(value, type):
        return next((spec for spec in MODELS.values() if spec.cls is value), None) or _spec(value, None)
    raise UsageError(
        f"A model is a class, a registered name, a ModelSpec or (class, task types[, factory]), got {value!r}."
    )


def named_specs(models: Any, *, code: bool = False) -> dict[str, ModelSpec]:
    """Resolve every documented form of ``models=`` to names and specs, in order.

    Parameters
    ----------
    models
        As in `run_benchmark`.
    code
        As in `spec_from`.

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
        chosen = {str(name): spec_from(value, code=code) for name, value in models.items()}
    else:
        inline = (
            isinstance(models, tuple)
            and len(models) >= 2
            and isinstance(models[0], type)
            and not isinstance(models[1], type)
        )
        single = isinstance(models, (str, type, ModelSpec)) or inline or hasattr(models, "get_params")
        chosen = {}
        for value in [models] if single else list(models):
            spec = spec_from(value, code=code)
            name = (
                label_of(value) if isinstance(value, str) and code else value if isinstance(value, str) else spec.name
            )
            if name in chosen:
                raise UsageError(
                    f"Two models are called {name!r}. Give each its own name: a dict in Python, or "
                    "--model name=path.py:Class."
                )
            chosen[name] = spec
    if not chosen:
        raise UsageError("run_benchmark requires `models`: at least one, got none.")
    return chosen
