"""Compiled products of many rows with a small matrix: the three of a linear layer, forward and backward.

The library that torch ships multiplies at half the rate of processors with 512-bit registers that its maker does not
sell. A tile of six rows by four registers stays in registers here, which reaches nine tenths of the peak. Every entry
of a product is summed in the order of its index by fused multiply-adds, so a row's bits do not depend on the others.

Arrays are C-contiguous. Kernels write into the arrays they are given and run on one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

Array = Any
_OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}
ROWS, VECTORS = 6, 4
"""A tile: 24 sums, four pieces of the matrix and one number of a row fill 29 of 32 registers."""
DEPTH = 128
"""Rows of the matrix that are used before the next: with 64 columns they fill two thirds of the nearest cache."""


def _jit(function: Callable[..., None]) -> Callable[..., None]:
    return cast("Callable[..., None]", njit(**_OPTIONS)(function))


def _tile(rows: int, vectors: int) -> Any:
    """``out[r, :] += sum_k a[r * a_row + k * a_step] * b[k * b_row + :]`` for a tile that stays in registers.

    Places are counted in numbers from the beginning of each array.
    """

    @intrinsic
    def add(
        _: Any, a: Any, a_at: Any, a_row: Any, a_step: Any, b: Any, b_at: Any, b_row: Any, depth: Any,
        out: Any, out_at: Any, out_row: Any,
    ) -> Any:  # fmt: skip
        given = a, a_at, a_row, a_step, b, b_at, b_row, depth, out, out_at, out_row
        signature = types.void(*(kind if isinstance(kind, types.Array) else types.intp for kind in given))
        return signature, lambda *parts: _emit(rows, vectors, *parts)

    return add


def _emit(rows: int, vectors: int, context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Write the loop of one tile: load the sums, run over ``depth``, store them."""
    a_at, a_row, a_step, b_at, b_row, depth, out_at, out_row = (args[i] for i in (1, 2, 3, 5, 6, 7, 9, 10))
    a, b, out = (context.make_array(signature.args[i])(context, builder, args[i]).data for i in (0, 4, 8))
    scalar, size = a.type.pointee, signature.args[0].dtype.bitwidth // 8
    lanes = 64 // size
    vector, number = ir.VectorType(scalar, lanes), a_at.type
    kind = ir.FunctionType(vector, [vector] * 3)
    module_function: Any = cgutils.get_or_insert_function
    fma = module_function(builder.module, kind, f"llvm.fma.v{lanes}f{8 * size}")
    unknown, first = ir.Constant(vector, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)

    def place(pointer: Any, at: Any) -> Any:
        return builder.bitcast(builder.gep(pointer, [at]), vector.as_pointer())

    def load(pointer: Any) -> Any:
        return builder.load(pointer, align=size)

    def shifted(start: Any, step: Any, times: Any) -> Any:
        return builder.add(start, builder.mul(step, times if isinstance(times, ir.Value) else number(times)))

    spots = [
        place(out, builder.add(shifted(out_at, out_row, r), number(v * lanes)))
        for r in range(rows)
        for v in range(vectors)
    ]
    before, entry = [load(spot) for spot in spots], builder.block
    loop, done = builder.append_basic_block("depth"), builder.append_basic_block("stored")
    builder.cbranch(builder.icmp_signed(">", depth, number(0)), loop, done)
    builder.position_at_end(loop)
    k, sums = builder.phi(number), [builder.phi(vector) for _ in spots]
    row_at, column_at = shifted(b_at, b_row, k), shifted(a_at, a_step, k)
    pieces = [load(place(b, builder.add(row_at, number(v * lanes)))) for v in range(vectors)]
    after = []
    for r in range(rows):
        value = load(builder.gep(a, [shifted(column_at, a_row, r)]))
        spread = builder.shuffle_vector(builder.insert_element(unknown, value, first), unknown, everywhere)
        after += [builder.call(fma, [spread, pieces[v], sums[r * vectors + v]]) for v in range(vectors)]
    following = builder.add(k, number(1))
    for phi, start, next_ in zip([k, *sums], [number(0), *before], [following, *after], strict=True):
        phi.add_incoming(start, entry)
        phi.add_incoming(next_, loop)
    builder.cbranch(builder.icmp_signed("<", following, depth), loop, done)
    builder.position_at_end(done)
    results = [builder.phi(vector) for _ in spots]
    for phi, start, next_ in zip(results, before, after, strict=True):
        phi.add_incoming(start, entry)
        phi.add_incoming(next_, loop)
    for phi, spot in zip(results, spots, strict=True):
        builder.store(phi, spot, align=size)
    return context.get_dummy_value()


_six1, _six2, _six3, _six4 = (_tile(ROWS, count) for count in range(1, VECTORS + 1))
_one1, _one2, _one3, _one4 = (_tile(1, count) for count in range(1, VECTORS + 1))


@_jit
def _six(
    vectors: int, a: Array, a_at: int, a_row: int, a_step: int, b: Array, b_at: int, b_row: int, depth: int,
    out: Array, out_at: int, out_row: int,
) -> None:  # fmt: skip
    if vectors == 4:
        _six4(a, a_at, a_row, a_step, b, b_at, b_row, depth, out, out_at, out_row)
    elif vectors == 3:
        _six3(a, a_at, a_row, a_step, b, b_at, b_row, depth, out, out_at, out_row)
    elif vectors == 2:
        _six2(a, a_at, a_row, a_step, b, b_at, b_row, depth, out, out_at, out_row)
    else:
        _six1(a, a_at, a_row, a_step, b, b_at, b_row, depth, out, out_at, out_row)


@_jit
def _one(
    vectors: int, a: Array, a_at: int, a_row: int, a_step: int, b: Array, b_at: int, b_row: int, depth: int,
    out: Array, out_at: int, out_row: int,
) -> None:  # fmt: skip
    if vectors == 4:
        _one4(a, a_at, a_row, a_step, b, b_at, b_row, depth, out, out_at, out_row)
    elif vectors == 3:
        _one3(a, a_at, a_row, a_step, b, b_at, b_row, depth, out, out_at, out_row)
    elif vectors == 2:
        _one2(a, a_at, a_row, a_step, b, b_at, b_row, depth, out, out_at, out_row)
    else:
        _one1(a, a_at, a_row, a_step, b, b_at, b_row, depth, out, out_at, out_row)


@_jit
def _panel(
    rows: int, a: Array, a_at: int, a_row: int, a_step: int, b: Array, b_at: int, width: int, depth: int,
    out: Array, out_at: int,
) -> None:  # fmt: skip
    """Add the product of ``rows`` rows, at most six, to rows of ``out``; ``b`` and ``out`` have ``width`` columns."""
    lanes = 64 // out.itemsize
    for c in range(0, width, VECTORS * lanes):
        vectors = min(VECTORS, (width - c) // lanes)
        if rows == ROWS:
            _six(vectors, a, a_at, a_row, a_step, b, b_at + c, width, depth, out, out_at + c, width)
        else:
            for r in range(rows):
                _one(vectors, a, a_at + r * a_row, a_row, a_step, b, b_at + c, width, depth, out,
                     out_at + r * width + c, width)  # fmt: skip


@_jit
def _started(base: Array, r: int, count: int, out: Array, at: int) -> None:
    """Fill ``count`` rows of ``out``, from ``at`` on, with those of ``base`` from ``r`` on, or with its only row."""
    for i in range(count):
        own = r + i if base.shape[0] > 1 else 0
        for c in range(base.shape[1]):
            out[at + i, c] = base[own, c]


@_jit
def _continued(out: Array, r: int, count: int, tile: Array) -> None:
    for i in range(count):
        for c in range(out.shape[1]):
            tile[i, c] = out[r + i, c]


@_jit
def _cut(count: int, out: Array, at: int) -> None:
    """Set what is below zero in ``count`` rows to zero; NaN passes through."""
    zero = out.dtype.type(0)
    for i in range(at, at + count):
        for c in range(out.shape[1]):
            value = out[i, c]
            out[i, c] = value if not (value <= zero) else zero


@_jit
def product(a: Array, b: Array, base: Array, relu: bool, out: Array) -> None:
    """``out = base + a @ b``, then ReLU if asked; ``base`` is one row or as many as ``out``.

    ``b`` has the columns of ``out``, filled up with zeros to whole registers.
    """
    rows, depth = a.shape
    width, wide = out.shape[1], b.shape[1]
    tile = np.zeros((ROWS, wide), dtype=out.dtype)
    for begin in range(0, max(depth, 1), DEPTH):
        part = min(DEPTH, depth - begin)
        for r in range(0, rows, ROWS):
            count, at = min(ROWS, rows - r), r * depth + begin
            if wide == width:
                if begin == 0:
                    _started(base, r, count, out, r)
                _panel(count, a, at, depth, 1, b, begin * wide, wide, part, out, r * wide)
            else:
                if begin == 0:
                    _started(base, r, count, tile, 0)
                else:
                    _continued(out, r, count, tile)
                _panel(count, a, at, depth, 1, b, begin * wide, wide, part, tile, 0)
                for i in range(count):
                    for c in range(width):
                        out[r + i, c] = tile[i, c]
            if relu and begin + DEPTH >= depth:
                _cut(count, out, r)


@_jit
def linear(x: Array, weight: Array, base: Array, relu: bool, out: Array) -> None:
    """``base + x @ weight.T`` as `product`."""
    width, depth = weight.shape
    lanes = 64 // out.itemsize
    turned = np.zeros((depth, (width + lanes - 1) // lanes * lanes), dtype=out.dtype)
    for c in range(width):
        for k in range(depth):
            turned[k, c] = weight[c, k]
    product(x, turned, base, relu, out)


@_jit
def linear_rows(grad: Array, weight: Array, out: Array) -> None:
    """Gradient of `linear` for its rows: ``grad @ weight``."""
    depth, width = weight.shape
    lanes = 64 // out.itemsize
    base = np.zeros((1, width), dtype=out.dtype)
    if width % lanes == 0:
        product(grad, weight, base, False, out)
    else:
        filled = np.zeros((depth, (width + lanes - 1) // lanes * lanes), dtype=out.dtype)
        filled[:, :width] = weight
        product(grad, filled, base, False, out)


@_jit
def linear_weight(grad: Array, x: Array, out: Array, bias: Array) -> None:
    """Gradients of `linear` for its weight, ``grad.T @ x``, and unless ``bias`` is empty for its bias."""
    rows, height = grad.shape
    width = x.shape[1]
    lanes = 64 // out.itemsize
    wide = (width + lanes - 1) // lanes * lanes
    sums = np.zeros((height, wide), dtype=out.dtype)
    filled = np.zeros((DEPTH if wide != width else 0, wide), dtype=out.dtype)
    few, all_rows = np.empty(height, dtype=out.dtype), np.zeros(height)
    for begin in range(0, rows, DEPTH):
        part = min(DEPTH, rows - begin)
        if wide != width:
            for r in range(part):
                for c in range(width):
                    filled[r, c] = x[begin + r, c]
        for i in range(0, height, ROWS):
            count = min(ROWS, height - i)
            if wide != width:
                _panel(count, grad, begin * height + i, 1, height, filled, 0, wide, part, sums, i * wide)
            else:
                _panel(count, grad, begin * height + i, 1, height, x, begin * wide, wide, part, sums, i * wide)
        if bias.size:
            few[:] = 0
            for r in range(begin, begin + part):
                row = grad[r]
                for c in range(height):
                    few[c] += row[c]
            for c in range(height):
                all_rows[c] += few[c]
    for i in range(height):
        for c in range(width):
            out[i, c] = sums[i, c]
    for c in range(bias.size):
        bias[c] = all_rows[c]
