"""Input features that are mostly zeros."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils._pytree import tree_map

from graphnetz.kernels.drop import dropout
from graphnetz.kernels.functions import spmm
from graphnetz.kernels.products import linear
from graphnetz.kernels.runtime import usable, uses_torch_stream
from graphnetz.kernels.structure import IntArray, Structure, TensorCache

MAX_DENSITY = 0.1
MIN_WIDTH = 32
NARROW = 32
"""Columns up to which the gradient of a weight is computed transposed."""


class SparseFeatures:
    """Node features as CSR; stands in for a dense matrix in the layers of this package.

    Parameters
    ----------
    structure
        Rows are nodes ("destinations"), columns are feature numbers ("sources").
    values
        The stored values in CSR order.
    """

    def __init__(self, structure: Structure, values: Tensor) -> None:
        self.structure = structure
        self.values_tensor = values
        self._first: dict[int, SparseFeatures] = {}

    @classmethod
    def from_dense(cls, x: Tensor) -> SparseFeatures:
        """Store the entries of ``x`` that are not zero."""
        rows, columns = x.detach().nonzero(as_tuple=True)
        places = np.stack([columns.numpy(), rows.numpy()])
        return cls(Structure.from_edges(places, (x.size(1), x.size(0))), x.detach()[rows, columns])

    @classmethod
    def from_csr(cls, x: Tensor) -> SparseFeatures:
        """Take over a ``torch.sparse_csr`` matrix."""
        indices = x.col_indices().numpy()
        dtype = np.int32 if max(*x.shape, indices.size) < 2**31 - 1 else np.int64
        indptr: IntArray = x.crow_indices().numpy().astype(dtype)
        structure = Structure(indptr, indices.astype(dtype), np.arange(indices.size), x.size(1))
        return cls(structure, x.values().detach())

    @property
    def shape(self) -> tuple[int, int]:
        """(nodes, features)."""
        return self.structure.num_dst, self.structure.num_src

    @property
    def dtype(self) -> torch.dtype:
        """Type of the values."""
        return self.values_tensor.dtype

    @property
    def density(self) -> float:
        """Share of stored values."""
        return self.structure.num_arcs / max(1, self.shape[0] * self.shape[1])

    def size(self, dim: int) -> int:
        """Like ``Tensor.size``."""
        return self.shape[dim]

    @cached_property
    def _dense(self) -> Tensor:
        columns, rows = self.structure.coo
        return torch.zeros(self.shape, dtype=self.dtype).index_put((rows, columns), self.values_tensor, accumulate=True)

    def to_dense(self) -> Tensor:
        """Return the dense matrix (built once)."""
        return self._dense

    def rows(self, index: IntArray) -> SparseFeatures:
        """Return the rows ``index``, in that order."""
        every = np.arange(self.shape[1])
        part = self.structure.restrict(np.asarray(index, dtype=np.int64), every)
        values = self.values_tensor[torch.from_numpy(np.asarray(part.parent_arcs))]
        return SparseFeatures(Structure(part.indptr, part.indices, part.order, part.num_src), values)

    def first(self, count: int) -> SparseFeatures:
        """Return the first rows, cut out and sorted once: a training pass asks for the same ones in every epoch."""
        if count not in self._first:
            self._first[count] = self.rows(np.arange(count))
        return self._first[count]

    def dropout(self, p: float, *, training: bool = True) -> SparseFeatures:
        """Drop stored values with probability ``p``; zeros stay zeros whatever is drawn for them."""
        if not training or p == 0.0:
            return self
        if uses_torch_stream():
            columns, rows = self.structure.coo
            mask = F.dropout(torch.ones(self.shape, dtype=self.dtype), p)
            return SparseFeatures(self.structure, self.values_tensor * mask[rows, columns])
        return SparseFeatures(self.structure, dropout(self.values_tensor, p))


class SparseRows(Tensor):
    """`SparseFeatures` as a tensor that any code can use; it becomes dense only when an operation asks for values."""

    sparse: SparseFeatures | None
    changed: Tensor

    def __new__(cls, sparse: SparseFeatures) -> SparseRows:
        """Wrap features without making them dense."""
        make: Any = torch.Tensor._make_wrapper_subclass
        out: SparseRows = make(cls, sparse.shape, dtype=sparse.dtype, device="cpu")
        out.sparse = sparse
        return out

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        del types

        def dense(value: Any) -> Any:
            return value._dense(writes=func._schema.is_mutable) if isinstance(value, SparseRows) else value

        return func(*tree_map(dense, args), **tree_map(dense, kwargs or {}))

    def _dense(self, *, writes: bool) -> Tensor:
        if self.sparse is None:
            return self.changed
        if not writes:
            return self.sparse.to_dense()
        self.changed, self.sparse = self.sparse.to_dense().clone(), None  # the stored values hold no longer
        return self.changed


Features = Tensor | SparseFeatures
_FEATURES = TensorCache()


def mark_constant(x: Tensor) -> None:
    """Say that ``x`` are a dataset's own features: what only depends on them may be computed once and kept."""
    _FEATURES.slot(x)["constant"] = True


def recognised(x: Any) -> tuple[Any, bool]:
    """Return ``x`` in the form that is multiplied fastest, and whether it was marked as constant.

    Only marked features and `SparseRows` change their form.
    """
    if type(x) is SparseRows:
        return (x if x.sparse is None else x.sparse), False
    if type(x) is not Tensor or x.requires_grad or "constant" not in _FEATURES.peek(x):
        return x, False
    return input_features(x), True


def input_features(x: Features) -> Features:
    """Return constant input features in the form that the first layer multiplies fastest.

    Wide matrices with fewer than 10 % non-zeros become `SparseFeatures`, converted once while ``x``
    lives; everything else comes back as it is.
    """
    if isinstance(x, Tensor) and x.layout == torch.sparse_csr and x.device.type == "cpu":
        return SparseFeatures.from_csr(x)
    if not isinstance(x, Tensor) or not usable(x) or x.requires_grad or x.dim() != 2 or x.size(1) < MIN_WIDTH:
        return x
    slot = _FEATURES.slot(x)
    if "sparse" not in slot:
        few = int(torch.count_nonzero(x)) < MAX_DENSITY * x.numel()
        slot["sparse"] = SparseFeatures.from_dense(x) if few else None
    return x if slot["sparse"] is None else slot["sparse"]


def sparse_linear(x: SparseFeatures, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x @ weight.T + bias`` with ``weight`` ``[out, in]``, as ``torch.nn.functional.linear``.

    A weight stored column by column (`column_major_`) is read and its gradient written in place,
    without a transposed copy.
    """
    if weight.size(1) != x.shape[1]:  # the loop over stored entries would read beyond the weight
        rows, columns = x.shape
        shapes = f"({rows}x{columns} and {weight.size(1)}x{weight.size(0)})"
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied {shapes}")
    return spmm(x.structure, x.values_tensor, weight.t(), base=bias)


def narrow_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``torch.nn.functional.linear``, two to four times as fast in training where the input has few columns.

    The gradient of a tall weight ``[out, in]`` is a product with very short rows, which the library multiplies
    slowly; of the transposed weight it is one with long rows. ``bias`` may also hold one row per row of ``x``.
    """
    if x.dim() != 2 or x.size(1) > NARROW or weight.size(0) <= x.size(1):
        return linear(x, weight, bias)
    turned = weight.t().contiguous()
    return x @ turned if bias is None else torch.addmm(bias, x, turned)


@torch.no_grad()
def column_major_(weight: torch.nn.Parameter) -> bool:
    """Store a matrix column by column, as products with sparse features read it; values and shape stay.

    For the first layer over sparse features, before the optimiser is made. Return whether it could be done.
    """
    if type(weight) is not torch.nn.Parameter or weight.dim() != 2 or not usable(weight):
        return False
    weight.data = weight.data.t().contiguous().t()
    return True


def linear_map(x: Features, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Linear map of dense or sparse features."""
    if isinstance(x, SparseFeatures):
        return sparse_linear(x, weight, bias)
    return narrow_linear(x, weight, bias)


def shared_linears(x: Features, *maps: Any) -> list[Tensor]:
    """Several linear layers of the same dense rows as one product, which is faster for each."""
    biases = [part.bias for part in maps if part.bias is not None]
    if isinstance(x, SparseFeatures) or len(biases) not in (0, len(maps)):
        return [linear_map(x, part.weight, part.bias) for part in maps]
    weight, bias = torch.cat([part.weight for part in maps]), torch.cat(biases) if biases else None
    sizes = [part.weight.size(0) for part in maps]
    return [out.contiguous() for out in torch.split(narrow_linear(x, weight, bias), sizes, dim=1)]
