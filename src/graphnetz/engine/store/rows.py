"""Rows of the store to records and back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphnetz.engine.store.codec import (
    dump_json,
    dump_metrics,
    load_metrics,
    pack_history,
    pack_json,
    pack_predictions,
    unpack_history,
    unpack_json,
    unpack_predictions,
)
from graphnetz.records import CellResult, Predictions, Protocol
from graphnetz.records.digests import sha256

RESULT_COLUMNS = (
    "key", "task", "model", "seed", "status", "metric", "value", "greater_is_better", "metrics", "epochs",
    "best_epoch", "seconds", "peak_memory", "parameters", "error", "environment", "replication", "n_train", "n_test",
    "notes",
)  # fmt: skip
SETTABLE = RESULT_COLUMNS[4:]
ASSIGNMENTS = ", ".join(f"{name} = ?" for name in SETTABLE)


def protocol_row(protocol: Protocol) -> tuple[str, str]:
    """Return the hash and the text of a protocol; many cells share one."""
    body = dump_json(protocol.as_dict())
    return sha256(body.encode())[:16], body


def protocol_from_body(body: str) -> Protocol:
    """Rebuild from `protocol_row`."""
    return Protocol().replace(**json.loads(body))


def result_values(result: CellResult) -> tuple[Any, ...]:
    """Values of the columns `SETTABLE`; NaN becomes NULL."""
    return tuple(_DUMP.get(name, _same)(getattr(result, name)) for name in SETTABLE)


def detail_values(result: CellResult, tested: str) -> tuple[bytes | None, bytes | None, bytes | None]:
    """Compressed history, trace and predictions; ``tested`` is the hash of the examples of the latter.

    What a cell read stands beside its trace: few cells read anything.
    """
    trace: Any = list(result.trace)
    if result.reads:
        trace = {"trace": trace, "reads": dict(result.reads)}
    return pack_history(result.history), pack_json(trace), pack_predictions(result.predictions, tested)


def trace_and_reads(blob: bytes | None) -> tuple[tuple[Any, ...], dict[str, str]]:
    """Rebuild the trace and the reads from `detail_values`."""
    found = unpack_json(blob) or ()
    return (tuple(found["trace"]), found["reads"]) if isinstance(found, dict) else (tuple(found), {})


def result_from_row(
    row: Sequence[Any], protocols: Mapping[str, Protocol], tested: Callable[[str], Predictions]
) -> CellResult:
    """Rebuild a result from `RESULT_COLUMNS`, the hash of its protocol and the detail blobs."""
    count = len(RESULT_COLUMNS)
    values = {name: _LOAD.get(name, _same)(value) for name, value in zip(RESULT_COLUMNS, row, strict=False)}
    del values["value"]
    history, blob, predictions = row[count + 1 :]
    trace, reads = trace_and_reads(blob)
    return CellResult(
        **values,
        history=unpack_history(history),
        trace=trace,
        reads=reads,
        predictions=unpack_predictions(predictions, tested),
        protocol=protocols.get(row[count]),
    )


def _null(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _nan(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _same(value: Any) -> Any:
    return value


_DUMP: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("value", "seconds", "peak_memory"), _null),
    **dict.fromkeys(("greater_is_better", "epochs", "parameters", "n_train", "n_test"), int),
    "best_epoch": lambda epoch: None if epoch is None else int(epoch),
    "metrics": dump_metrics,
    "notes": dump_json,
}
_LOAD: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("seconds", "peak_memory"), _nan),
    "greater_is_better": bool,
    "metrics": load_metrics,
    "notes": lambda text: tuple(json.loads(text)),
}
