"""A device that is none: tensors with values that say they lie elsewhere, and a record of every operation on them.

Values lie on the CPU, so that what an "elsewhere" computes can be compared with the CPU's numbers; an operation that is
given tensors of both places fails, as on a GPU. Copies are the only way from one to the other.
"""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

PLACE = torch.device("mps", 0)
"""Its name: one that the engine takes, and for which torch loads nothing when it is named."""

_COPIES = {"aten::_to_copy", "aten::copy_"}


class There(torch.Tensor):
    """A tensor that says it lies on `PLACE`."""

    @staticmethod
    def __new__(cls, held):
        return torch.Tensor._make_wrapper_subclass(
            cls, held.size(), strides=held.stride(), storage_offset=held.storage_offset(), dtype=held.dtype,
            layout=held.layout, requires_grad=False,
        )  # fmt: skip

    def __init__(self, held):
        self.held = held

    __torch_function__ = torch._C._disabled_torch_function_impl

    @property
    def device(self):
        return PLACE

    @property
    def is_cpu(self):
        return False

    def cpu(self):
        return torch.ops.aten._to_copy.default(self, device=torch.device("cpu"))

    def to(self, *args, **kwargs):
        # Under the name lies a tensor of the CPU: torch itself would see nothing to do.
        named = [value for value in (*args, kwargs.get("device")) if isinstance(value, str | torch.device)]
        if named and torch.device(named[0]).type == "cpu":
            rest = [value for value in args if not isinstance(value, str | torch.device)]
            return self.cpu().to(*rest, **{key: value for key, value in kwargs.items() if key != "device"})
        return super().to(*args, **kwargs)

    def data_ptr(self):
        return self.held.data_ptr()

    def tolist(self):
        return self.held.tolist()

    def numpy(self, **_):
        raise TypeError("can't convert a tensor of another device to numpy")

    def __repr__(self):
        return f"There({tuple(self.shape)})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        del types
        return dispatched(func, args, kwargs or {})


def dispatched(func, args, kwargs):
    """Run an operation on the values, refuse one that mixes places, and say of results where they lie."""
    flat, layout = tree_flatten((args, kwargs))
    there = [value for value in flat if isinstance(value, There)]
    named = kwargs.get("device")
    wanted = torch.device(named) if named is not None else None
    name = func._schema.name
    fresh = there or not any(isinstance(value, torch.Tensor) for value in flat)
    if fresh and name not in _COPIES and torch._C._current_graph_task_id() >= 0:
        wanted = PLACE  # a gradient begins as zeros where its tensor lies, which torch itself takes for the CPU
    if not there and wanted != PLACE:
        return func(*args, **kwargs)
    here = [v for v in flat if isinstance(v, torch.Tensor) and not isinstance(v, There) and v.dim()]
    if there and here and name not in _COPIES:
        raise AssertionError(f"{name} was given tensors of two devices")
    values, options = tree_unflatten([v.held if isinstance(v, There) else v for v in flat], layout)
    if named is not None:
        options["device"] = torch.device("cpu")
    found = func(*values, **options)
    if wanted is not None and wanted != PLACE:
        return found
    known = {id(value.held): value for value in there}
    if name == "aten::copy_":
        return args[0]

    def placed(value):
        if not isinstance(value, torch.Tensor):
            return value
        return known[id(value)] if id(value) in known else There(value)

    return tree_map(placed, found)


class Elsewhere(TorchDispatchMode):
    """Makes tensors on `PLACE` where they are asked for; needed around everything that uses it."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        del types
        return dispatched(func, args, kwargs or {})
