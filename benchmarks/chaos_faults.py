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


def run(library: Path, arguments: tuple[str, ...]) -> list[dict[str, Any]]:
    """Run one part in a process under the shim; return its lines."""
    options = under(library, ["-m", *arguments])
    done = subprocess.run(**options, stdout=subprocess.PIPE, text=True, check=True)  # type: ignore[call-overload]
    return [json.loads(line) for line in done.stdout.splitlines()]


def table(found: dict[str, list[dict[str, Any]]]) -> str:
    """What was tried, as a table for the documentation."""
    lines = ["| run | what fails | tried | held | broken |", "|---|---|---|---|---|"]
    for part, rows in found.items():
        for row in rows:
            broken = row["tried"] - row["held"]
            lines.append(
                f"| {part.partition(':')[0]} | {row['fault']} | {row['tried']:,} | {row['held']:,} | {broken} |"
            )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", action="store_true", help="forget what was tried before")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="these parts")
    options = parser.parse_args()
    if reason := unavailable():
        print(f"skipped: {reason}")
        return 0
    found = {} if options.again or not RESULTS.exists() else json.loads(RESULTS.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="graphnetz-shim-") as folder:
        library = build(Path(folder))
        for part in options.only or PARTS:
            if part in found and not options.only:
                continue
            rows = run(library, PARTS[part])
            found[part] = rows
            for row in rows:
                row.pop("slowest", None)
            RESULTS.write_text(json.dumps({name: found[name] for name in PARTS if name in found}, indent=1) + "\n")
            for row in rows:
                bad = row["tried"] - row["held"]
                print(f"{part}: {row['fault']}: tried {row['tried']}, held {row['held']}, broken {bad}", flush=True)
    print(table(found))
    tried, held = (sum(row[key] for rows in found.values() for row in rows) for key in ("tried", "held"))
    print(f"total: tried {tried}, held {held}, broken {tried - held}")
    return 0 if tried == held else 1


if __name__ == "__main__":
    sys.exit(main())
