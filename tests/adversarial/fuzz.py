"""Files of a run with one value exchanged: whatever it is, a command answers or refuses, and never ends in a traceback."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from attempts import make_run, outcome

Change = Callable[[Path], object]
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**70, 1.5, 1e308, "", "x", "\x1b[31m", "\u202e", [], [None], [[]], {}, {"a": None}, [1] * 3,
)  # fmt: skip
KEYS = (
    "schema_version", "seeds", "models", "ci_method", "bootstrap_n", "bootstrap_seed", "pairwise_method", "config",
    "config.baselines", "config.auto", "config.protocols", "config.budgets", "config.suite", "config.search", "tasks",
    "tasks.0", "tasks.0.name", "tasks.0.metric", "tasks.0.label", "tasks.0.greater_is_better", "tasks.0.replication",
    "tasks.0.test_ratio", "tasks.0.block", "tasks.0.category", "tasks.0.task_type", "tasks.0.n_test", "tasks.0.splits",
    "cells", "cells.0", "cells.0.task", "cells.0.model", "cells.0.seed", "cells.0.status", "cells.0.metrics",
    "cells.0.metrics.test_acc", "cells.0.epochs", "cells.0.best_epoch", "cells.0.parameters", "cells.0.n_train",
    "cells.0.n_test", "cells.0.notes", "cells.0.trace", "absent", "sections", "sections.0", "verdicts", "comparisons",
)  # fmt: skip
COLUMNS = (
    "task", "model", "seed", "status", "metric", "value", "greater_is_better", "metrics", "epochs", "best_epoch",
    "seconds", "peak_memory", "parameters", "error", "environment", "replication", "n_train", "n_test", "notes",
    "protocol", "owner", "lease", "attempts",
)  # fmt: skip
STORED: tuple[Any, ...] = (
    None, -1, 2**62, 1.5, 9e18, float("inf"), "", "x", "{", "[1]", '{"a": "b"}', "\x1b[2J", b"\x00\xff", "9" * 5000,
)  # fmt: skip

MODEL = (
    "model", "task", "task_type", "dims", "dims.in_channels", "dims.out_channels", "dims.vocabulary", "dims.edge_dim",
    "dims.num_relations", "dims.num_nodes", "hidden_channels", "metric", "reference", "sha256", "kwargs",
    "kwargs.dropout", "kwargs.num_layers", "kwargs.in_channels", "level", "kind", "candidates", "candidates.0.model",
    "candidates.0.test", "classes", "features", "rule", "scale", "inductive", "nodes", "protocol", "seed", "weights",
)  # fmt: skip
WIDE: tuple[Any, ...] = (*VALUES, 1, 2**33, 1e9, ["a", "a"], "../../x")
"""What a folder with a kept model is given: also widths that no memory holds."""


def hostile_models(*, every: int = 1) -> list[tuple[str, Change]]:
    """Return changes of model.json, one of ``every``."""
    made = [(f"{key} = {value!r:.20}", _in_json("model.json", key, value)) for key in MODEL for value in WIDE]
    return made[::every]


def hostile_results(*, every: int = 1) -> list[tuple[str, Change]]:
    """Return changes of results.json, one of ``every``."""
    return [(f"{key} = {value!r:.20}", _in_json("results.json", key, value)) for key in KEYS for value in VALUES][
        ::every
    ]


def hostile_columns(*, every: int = 1) -> list[tuple[str, Change]]:
    """Return changes of a column of the store, one of ``every``."""
    return [(f"{name} = {value!r:.20}", _in_column(name, value)) for name in COLUMNS for value in STORED][::every]


def hostile_files(*, every: int = 1) -> list[tuple[str, Change]]:
    """Return damages of the store's file, one of ``every``: flipped bits, a cut, a page of zeros."""
    made = [(f"flip {i}", _flip(i)) for i in range(40)]
    made += [(f"cut {i}", _cut(i)) for i in range(10)] + [(f"zero {i}", _zero(i)) for i in range(10)]
    return made[::every]


def survives(change: Change, run: Path, *commands: tuple[str, ...]) -> str:
    """Change a run and call commands; return what broke, empty when nothing did."""
    change(run)
    for arguments in commands:
        found = outcome(arguments, run.parent)
        lines = [line for line in found.said.splitlines() if line.strip() and "Warning" not in line]
        if found.code not in (0, 1, 2) or "Traceback" in found.said:
            return f"{arguments[0]}: code {found.code}: {found.said[-800:]}"
        if found.code == 2 and len(lines) != 1:
            return f"{arguments[0]}: {found.said[-800:]}"
        if "\x1b" in found.said + found.printed:
            return f"{arguments[0]}: an escape sequence was printed"
    return ""


def _in_json(name: str, key: str, value: Any) -> Change:
    def change(run: Path) -> None:
        path = run / name
        raw = json.loads(path.read_text(encoding="utf-8"))
        *way, last = [int(part) if part.isdigit() else part for part in key.split(".")]
        place = raw
        for part in way:
            place = place[part]
        place[last] = value
        path.write_text(json.dumps(raw), encoding="utf-8")

    return change


def _in_column(name: str, value: Any) -> Change:
    def change(run: Path) -> None:
        with closing(sqlite3.connect(run / "store.sqlite")) as db, db:
            db.execute("PRAGMA ignore_check_constraints = ON")
            db.execute("PRAGMA foreign_keys = OFF")
            try:
                db.execute(f"UPDATE cells SET {name} = ? WHERE position = (SELECT MIN(position) FROM cells)", (value,))
            except sqlite3.IntegrityError:
                return  # SQLite itself refuses it

    return change


def _flip(number: int) -> Change:
    def change(run: Path) -> None:
        path = run / "store.sqlite"
        content, rng = bytearray(path.read_bytes()), random.Random(number)
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)

    return change


def _cut(number: int) -> Change:
    def change(run: Path) -> None:
        path = run / "store.sqlite"
        content = path.read_bytes()
        path.write_bytes(content[: len(content) * number // 10])

    return change


def _zero(number: int) -> Change:
    def change(run: Path) -> None:
        path = run / "store.sqlite"
        content = bytearray(path.read_bytes())
        start = number * (len(content) // 10) // 4096 * 4096
        content[start : start + 4096] = bytes(4096)
        path.write_bytes(content)

    return change


READ = (("status", "run"), ("report", "run", "--no-figures"))
PREDICT = ("predict", "model", "--graph", "g.csv", "--features", "f.csv")


def make_model(folder: Path) -> Path:
    """Train a small model to change: two rings of five nodes, one class each."""
    arcs = [(5 * ring + i, 5 * ring + (i + 1) % 5) for ring in (0, 1) for i in range(5)]
    tables = {
        "g.csv": ["source,target", *(f"{a},{b}" for a, b in arcs)],
        "l.csv": ["node,label", *(f"{i},{'ab'[i // 5]}" for i in range(10))],
        "f.csv": ["node,p,q", *(f"{i},{i // 5},{i % 3}" for i in range(10))],
    }
    for name, lines in tables.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    given = ["--graph", "g.csv", "--labels", "l.csv", "--features", "f.csv", "--model", "GCN"]
    found = outcome(["train", *given, "--seeds", "1", "--epochs", "2", "--workers", "1", "--out", "model"], folder)
    if found.code != 0:
        raise RuntimeError(found.said)
    return folder / "model"


def groups(*, every: int = 1) -> Iterator[tuple[str, list[tuple[str, Change]], str, bool]]:
    """Yield the groups of changes, the folder they change, and whether its results.json is left out."""
    yield "damaged store", hostile_files(every=every), "run", True
    yield "store columns", hostile_columns(every=every), "run", True
    yield "results.json", hostile_results(every=every), "run", False
    yield "model.json", hostile_models(every=every), "model", False


def main() -> int:
    """Try every change, or one of ``EVERY``; print tried, held and broken, and the same as JSON in the last line."""
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    found: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as place:
        base = Path(place)
        make_run(base), make_model(base)
        for title, changes, folder, from_store in groups(every=every):
            broke = 0
            for name, change in changes:
                with tempfile.TemporaryDirectory() as other:
                    copy = shutil.copytree(base, Path(other) / "all") / folder
                    if from_store:
                        (copy / "results.json").unlink()
                    why = survives(change, copy, *(READ if folder == "run" else (PREDICT,)))
                broke += bool(why)
                if why:
                    print(f"broken: {title}: {name}: {why}")
            found[title] = [len(changes), len(changes) - broke, broke]
            print("{}: tried {}, held {}, broken {}".format(title, *found[title]), flush=True)
    print("total: tried {}, held {}, broken {}".format(*map(sum, zip(*found.values(), strict=True))))
    print(json.dumps(found))
    return int(any(broke for _, _, broke in found.values()))


if __name__ == "__main__":  # the long form: python tests/adversarial/fuzz.py [EVERY]
    sys.exit(main())
