"""What a cell must leave as it found it: the data it was lent, and the libraries that later cells compute with."""

from __future__ import annotations

import dataclasses
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.modules import module as hooked

from graphnetz._core.errors import GraphnetzError
from graphnetz.engine.own_state import ClassState, OwnGlobals, classes_of, made_late
from graphnetz.tasktypes import Split
from graphnetz.tasktypes.packing import PackedGraphs
from graphnetz.tasktypes.pairs import Pairs

_WATCHED = (
    "torch", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.linalg", "torch.optim", "torch.autograd",
    "torch_geometric.nn", "torch_geometric.nn.conv", "torch_geometric.utils", "torch_geometric.data",
    "numpy", "numpy.linalg", "numpy.random", "random", "math",
    "graphnetz.metrics", "graphnetz.metrics.classes", "graphnetz.metrics.ranking", "graphnetz.metrics.ranks",
    "graphnetz.metrics.regression", "graphnetz.models", "graphnetz.tasktypes", "graphnetz.tasktypes.loop",
    "graphnetz.tasktypes.heads", "graphnetz.tasktypes.packing", "graphnetz.engine.worker",
)  # fmt: skip
"""Modules whose functions and classes nobody may exchange."""

_HOOKS = tuple(name for name in vars(hooked) if name.startswith("_global_") and name.endswith("_hooks"))
_BLOCK = 4096
_MISSING = object()


class TamperedError(GraphnetzError):
    """A model changed what it was lent, or what other models are trained with."""


@dataclass(frozen=True)
class Setting:
    """One switch of torch: how to read it, and how to put it back."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], Any]


SETTINGS = (
    Setting("the number of threads", torch.get_num_threads, torch.set_num_threads),
    Setting("the default type of numbers", torch.get_default_dtype, torch.set_default_dtype),
    Setting("whether gradients are recorded", torch.is_grad_enabled, torch.set_grad_enabled),
    Setting(
        "whether algorithms are deterministic", torch.are_deterministic_algorithms_enabled,
        lambda value: torch.use_deterministic_algorithms(value, warn_only=True),
    ),
    Setting(
        "the precision of matrix products", torch.get_float32_matmul_precision, torch.set_float32_matmul_precision
    ),
)  # fmt: skip


@dataclass
class Guard:
    """The libraries of this process as they were; made once, asked after every cell.

    Parameters
    ----------
    models
        Classes whose own state is put back by `restore`.
    code
        Whatever else of the user's own runs in a cell: of the globals that its functions reach the plain ones are kept.
    """

    models: Iterable[type] = ()
    code: Iterable[Any] = ()
    _spaces: dict[str, tuple[Any, dict[str, Any]]] = field(default_factory=dict)
    _own: list[ClassState] = field(default_factory=list)
    _globals: OwnGlobals = field(default_factory=OwnGlobals)
    _hooks: dict[str, dict[Any, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._spaces = {name: (owner, dict(vars(owner))) for name, owner in _spaces()}
        self._hooks = {name: dict(vars(hooked)[name]) for name in _HOOKS}
        self._own = [ClassState(cls) for cls in classes_of(self.models)]
        self._globals = OwnGlobals(*self.models, *self.code)

    def changed(self) -> list[str]:
        """Return what was exchanged, in words; empty where all is as it was."""
        words = [f"{name} was replaced" for name, _, _, _ in self._exchanged()]
        hooks = [name for name, before in self._hooks.items() if dict(vars(hooked)[name]) != before]
        return words + ["a hook on all modules was left behind"] * bool(hooks)

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """Put everything back that is changed inside: libraries, the models' classes and their modules' globals."""
        before = self._globals.kept()
        try:
            yield
        finally:
            self.restore()
            self._globals.put_back(before)

    def restore(self) -> None:
        """Put libraries and the state of the models' classes back."""
        for _, owner, name, before in list(self._exchanged()):
            _put(owner, name, before)
        for name, kept in self._hooks.items():
            vars(hooked)[name].clear()
            vars(hooked)[name].update(kept)
        for state in self._own:
            state.restore()

    def _exchanged(self) -> Iterator[tuple[str, Any, str, Any]]:
        for place, (owner, before) in self._spaces.items():
            now = vars(owner)
            if len(now) == len(before) and all(map(operator.is_, now.values(), before.values())):
                continue  # as nearly always: nineteen thousand names in half a millisecond
            for name, value in before.items():
                if now.get(name, _MISSING) is not value and callable(value) and not made_late(now.get(name)):
                    yield f"{place}.{name}", owner, name, value
            if isinstance(owner, type) and len(now) != len(before):
                # A method that a class inherits is exchanged by adding one of that name.
                for name in now.keys() - before.keys():
                    if any(name in vars(base) for base in owner.__mro__[1:]) and not made_late(now[name]):
                        yield f"{place}.{name}", owner, name, _MISSING


@dataclass(frozen=True)
class Watch:
    """The tensors that one cell is lent, and what they held before."""

    tensors: tuple[tuple[str, Tensor], ...]
    versions: tuple[int, ...]
    digests: tuple[int, ...]

    @classmethod
    def over(cls, split: Split) -> Watch:
        """Look at everything that models reach through a split."""
        tensors = tuple(_tensors(split))
        return cls(tensors, tuple(t._version for _, t in tensors), tuple(_digest(t) for _, t in tensors))

    def changed(self) -> list[str]:
        """Return the tensors that are no longer what they were.

        Operations of torch count up a tensor's version; writing through NumPy does not, and shows in the digest.
        """
        before = zip(self.tensors, self.versions, self.digests, strict=True)
        names = [name for (name, t), version, digest in before if t._version != version or _digest(t) != digest]
        return [f"{name} was changed in place" for name in dict.fromkeys(names)]


@contextmanager
def threads_fixed() -> Iterator[None]:
    """Refuse another number of threads at once: in a forked process torch may wait for ever for those of its parent.

    Raises
    ------
    TamperedError
        Inside, where a model asks for them.
    """
    kept, number = torch.set_num_threads, torch.get_num_threads()

    def refuse(nthreads: int) -> None:
        if nthreads != number:
            raise TamperedError(f"the number of threads was changed from {number} to {nthreads}")

    torch.set_num_threads = refuse
    try:
        yield
    finally:
        torch.set_num_threads = kept


def switches() -> dict[str, Any]:
    """Return the settings of torch that a cell must not leave changed."""
    return {setting.name: setting.read() for setting in SETTINGS}


def switched(before: Mapping[str, Any]) -> list[str]:
    """Put changed settings back and return their names."""
    words = []
    for setting in SETTINGS:
        now = setting.read()
        if now != before[setting.name]:
            setting.write(before[setting.name])
            words.append(f"{setting.name} was changed from {before[setting.name]} to {now}")
    return words


def _spaces() -> Iterator[tuple[str, Any]]:
    """Modules and the classes they show, each once."""
    seen: set[int] = set()
    for name in _WATCHED:
        module = sys.modules.get(name)
        if module is None:
            continue
        yield name, module
        package = name.partition(".")[0]
        for key, value in list(vars(module).items()):
            if isinstance(value, type) and id(value) not in seen and value.__module__.partition(".")[0] == package:
                seen.add(id(value))
                yield f"{name}.{key}", value


def _put(owner: Any, name: str, value: Any) -> None:
    if value is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, value)


# -- data -----------------------------------------------------------------------------------------


def _tensors(split: Split) -> Iterator[tuple[str, Tensor]]:
    data = split.data
    if isinstance(data, PackedGraphs):
        yield from (("data.edge_index", data.edge_index), ("data.ptr", data.node_ptr), ("data.ptr", data.edge_ptr))
        for table in (data.node, data.edge, data.graph):
            yield from ((f"data.{key}", value) for key, value in table.items())
        for part in ("val", "test"):  # made once and kept, unlike the batches of training
            for batch in split.cache.get(f"batches_{part}", ()):
                yield from _attributes(batch)
    else:
        yield from _attributes(data)
    for name in ("train", "val", "test"):
        part = split.part(name)
        values = (part.index, part.label, part.relation) if isinstance(part, Pairs) else (part,)
        yield from ((f"split.{name}", value) for value in values if isinstance(value, Tensor))
    if split.labels is not None:
        yield "split.labels", split.labels
    if split.train_data is not None:
        yield from ((name.replace("data.", "train_data."), value) for name, value in _attributes(split.train_data))


def _attributes(data: Any) -> Iterator[tuple[str, Tensor]]:
    stored = data.to_dict() if hasattr(data, "to_dict") else {}
    yield from ((f"data.{key}", value) for key, value in stored.items() if isinstance(value, Tensor))


def _digest(value: Tensor) -> int:
    """Return a number made of the sums of blocks of bytes: half a millisecond for 15 MB.

    Nothing is missed but values that change places within a block, which operations of torch cannot do unnoticed.
    """
    if value.layout is not torch.strided or value.device.type != "cpu":
        return 0  # the version tells
    if not value.numel():
        return 0  # nothing to change, and an empty tensor may have strides that cannot be viewed as bytes
    if value.numel() == 1:
        return hash(repr(value.item()))  # of its words: every NaN has a hash of its own
    # Flat first: a side of length 1 may have any stride, which bytes must not have.
    flat = value.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
    whole = flat[: flat.size // 8 * 8].view(np.uint64)
    sums = np.add.reduceat(whole, np.arange(0, whole.size, _BLOCK)) if whole.size else whole
    return hash((sums.tobytes(), flat[whole.size * 8 :].tobytes()))


def private(split: Split) -> Split:
    """Return a copy of a split that shares no tensor with it."""
    names = ("data", "train", "val", "test", "labels", "message", "others", "train_data")
    return dataclasses.replace(split, **{name: _copied(getattr(split, name)) for name in names}, cache={})


def _copied(value: Any) -> Any:
    if hasattr(value, "clone"):
        return value.clone()
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(
            value, **{f.name: _copied(getattr(value, f.name)) for f in dataclasses.fields(value)}
        )
    return value
