"""The tables of `bench_rivals.py` in docs/performance.md, written between two marks and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- rivals: written by benchmarks/bench_rivals.py -->", "<!-- end of rivals -->"

RIVALS = ("pyg", "pyg csr", "pyg compile", "dgl")


def write_table(kept: dict[str, Any], page: Path) -> None:
    """Replace what stands between the marks."""
    text = page.read_text()
    block = "\n\n".join([BEGIN, *_tables(kept), END])
    page.write_text(re.sub(re.escape(BEGIN) + ".*" + re.escape(END), lambda _: block, text, flags=re.DOTALL))


def _tables(kept: dict[str, Any]) -> list[str]:
    names = kept.get("machine", {})
    about = ", ".join(f"{key} {value}" for key, value in names.items())
    if names.get("load", 0.0) > names.get("cores", 1) / 2:
        about += ". The machine was busy with other work: times are longer than on an idle one, ratios less sure"
    rows = [(*key.split(), row) for key, row in kept["rows"].items()]
    found = [f"Measured on: {about}."]
    for threads in sorted({threads for _, _, threads, _ in rows}):
        chosen = [(graph, model, row) for graph, model, count, row in rows if count == threads]
        clock = "processor time" if threads == "1" else "wall time"
        found += [f"Milliseconds per epoch of training and evaluation, {threads} thread(s), {clock}:", _speed(chosen)]
    single = [(graph, model, row) for graph, model, count, row in rows if count == "1" and row["limits"]]
    if single:
        found.append("Bytes moved and products multiplied per epoch, and what the machine's own rates allow:")
        found.append(_limits(single))
    return found


def _speed(rows: list[tuple[str, str, dict[str, Any]]]) -> str:
    lines = [
        "| graph | model | PyG | PyG, CSR | PyG, compiled | DGL | ours, own loop | ratio | ours, engine | ratio "
        "| built-in: PyG | ours | ratio | memory, MB: PyG, ours | difference |",
        "|---" * 15 + "|",
    ]
    for graph, model, row in rows:
        sides = row["sides"]
        cells = [_ms(sides, name) for name in RIVALS]
        # The ratio is to the fastest of the rivals, not to the slowest.
        best = min(sides[name]["ms"] for name in RIVALS if name in sides)
        for name in ("ours", "ours engine"):
            cells += [_ms(sides, name), _ratio(best, sides.get(name))]
        built = sides.get("pyg built-in", {"ms": float("nan")})["ms"]
        cells += [_ms(sides, "pyg built-in"), _ms(sides, "ours built-in"), _ratio(built, sides.get("ours built-in"))]
        cells += [f"{sides['pyg']['mb']:.0f}, {sides['ours']['mb']:.0f}", f"{row['difference']:.0e}"]
        lines.append("| " + " | ".join([graph, model, *cells]) + " |")
    return "\n".join(lines)


def _limits(rows: list[tuple[str, str, dict[str, Any]]]) -> str:
    lines = ["| graph | model | side | GB | GFLOP | limit, ms | measured, ms | times the limit |", "|---" * 8 + "|"]
    for graph, model, row in rows:
        for name, count in row["limits"].items():
            if isinstance(count, dict):
                spent = row["sides"][name]["ms"]
                cells = [_short(value) for value in (count["gb"], count["gflop"], count["limit_ms"], spent)]
                lines.append("| " + " | ".join([graph, model, name, *cells, f"{spent / count['limit_ms']:.1f}"]) + " |")
    return "\n".join(lines)


def _ms(sides: dict[str, Any], name: str) -> str:
    return _short(sides[name]["ms"]) if name in sides else ""


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _ratio(rival: float, side: dict[str, Any] | None) -> str:
    return "" if side is None else f"{rival / side['ms']:.1f}"
