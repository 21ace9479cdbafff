"""Faults beyond kills, at length: failing calls, failing allocations and losses of power (`make chaos`).

Prints tried, held and broken for each, keeps every finished part in ``benchmarks/results/faults.json`` and exits with 1
when something broke. Interrupted, it goes on where it was; ``--again`` begins anew. The short form is in
``tests/adversarial``. Stopped processes and clocks that jump are tried there alone: they need no repetition.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from faults.shim import build, unavailable, under

RESULTS = Path(__file__).with_name("results") / "faults.json"
EVERY = ("--stride", "1", "--malloc-stride", "1")
PARTS: dict[str, tuple[str, ...]] = {
    "threads": ("faults.threads",),
    "store: calls": ("faults.inject", "--long", *EVERY, *(
        part for kind in ("write", "sync", "rename", "open", "unlink", "truncate") for part in ("--kind", kind))),
    "store: allocations of SQLite": ("faults.inject", "--kind", "sqlmalloc", *EVERY),
    "store: allocations": ("faults.inject", "--long", "--kind", "malloc", "--malloc-stride", "5"),
    "store: no allocation of SQLite from then on": (
        "faults.inject", "--persistent", "--kind", "sqlmalloc", "--malloc-stride", "9"),
    "graphnetz run: calls": ("faults.inject", "--scenario", "command", "--stride", "3", "--kind", "write", "--kind",
                             "sync", "--kind", "rename", "--kind", "open"),
    "graphnetz run: allocations of SQLite": ("faults.inject", "--scenario", "command", "--kind", "sqlmalloc",
                                             "--malloc-stride", "300"),
    "power": ("faults.power", "--states", "10000"),
}  # fmt: skip


SHORT: dict[str, tuple[str, ...]] = {
    "threads": ("faults.threads",),
    "store: calls": ("faults.inject", "--long", "--stride", "3", *(
        part for kind in ("write", "sync", "rename", "open", "unlink", "truncate") for part in ("--kind", kind))),
    "store: allocations of SQLite": ("faults.inject", "--kind", "sqlmalloc", "--malloc-stride", "25"),
    "store: allocations": ("faults.inject", "--long", "--kind", "malloc", "--malloc-stride", "100"),
    "graphnetz run: calls": ("faults.inject", "--scenario", "command", "--stride", "25", "--kind", "write", "--kind",
                             "sync"),
    "power": ("faults.power", "--states", "2000"),
}  # fmt: skip


def run(library: Path, arguments: tuple[str, ...]) -> list[dict[str, Any]]:
    """Run one part in a process under the shim; return its lines."""
    options = under(library, ["-m", *arguments])
    done = subprocess.run(**options, stdout=subprocess.PIPE, text=True, check=True)  # type: ignore[call-overload]
    return [json.loads(line) for line in done.stdout.splitlines()]


def table(found: dict[str, dict[str, Any]]) -> str:
    """What was tried, as a table for the documentation."""
    lines = ["| run | what fails | tried | held | broken |", "|---|---|---|---|---|"]
    for part, told in found.items():
        for row in told["rows"]:
            run, counts = part.partition(":")[0], f"{row['tried']:,} | {row['held']:,} | {row['tried'] - row['held']}"
            lines.append(f"| {run} | {row['fault']}{_every(row.get('stride', 1))} | {counts} |")
    return "\n".join(lines)


def _every(stride: int) -> str:
    return f", every {stride}th call" if stride > 3 else ["", ", every 2nd call", ", every 3rd call"][stride - 1]


def done_before(again: bool) -> dict[str, dict[str, Any]]:
    """Parts of an interrupted sitting, tried as they are tried today; nothing after a complete one."""
    if again or not RESULTS.exists():
        return {}
    known = json.loads(RESULTS.read_text(encoding="utf-8"))
    same = {part: known[part] for part in PARTS if known.get(part, {}).get("arguments") == list(PARTS[part])}
    return {} if len(same) == len(PARTS) else same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", action="store_true", help="forget what was tried before")
    parser.add_argument("--short", action="store_true", help="a sample, of which nothing is kept")
    parser.add_argument("--table", action="store_true", help="print the table of what was tried, try nothing")
    options = parser.parse_args()
    if options.table:
        print(table(json.loads(RESULTS.read_text(encoding="utf-8"))))
        return 0
    if reason := unavailable():
        print(f"skipped: {reason}")
        print(json.dumps({f"not tried: {reason}": [0, 0, 0]}))
        return 0
    parts = SHORT if options.short else PARTS
    found = {} if options.short else done_before(options.again)
    with tempfile.TemporaryDirectory(prefix="graphnetz-shim-") as folder:
        library = build(Path(folder))
        for part in parts:
            if part in found:
                continue
            found[part] = {"arguments": list(parts[part]), "rows": run(library, parts[part])}
            ordered = {name: found[name] for name in parts if name in found}
            if not options.short:
                RESULTS.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
            for row in found[part]["rows"]:
                bad = row["tried"] - row["held"]
                print(f"{part}: {row['fault']}: tried {row['tried']}, held {row['held']}, broken {bad}", flush=True)
    print(table(found))
    rows = [row for told in found.values() for row in told["rows"]]
    tried, held = sum(row["tried"] for row in rows), sum(row["held"] for row in rows)
    print(f"total: tried {tried}, held {held}, broken {tried - held}")
    counts = {
        part: [sum(row[key] for row in told["rows"]) for key in ("tried", "held")] for part, told in found.items()
    }
    print(json.dumps({part: [tried, held, tried - held] for part, (tried, held) in counts.items()}))
    return 0 if tried == held else 1


if __name__ == "__main__":
    sys.exit(main())
