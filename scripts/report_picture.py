"""Take the picture of the README: the first screen of the report of ``make run``.

``python scripts/report_picture.py runs/default`` writes ``docs/images/report.png`` and beside it ``report.json``, with
digests of what the picture shows (the tasks of the default suite, their files, protocols, models and seeds) and of the
picture. A test compares both, so that a suite that has changed asks for a new picture.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from graphnetz.datasets import SUITES
from graphnetz.records.config import DEFAULT_MODELS

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
WIDTH, HEIGHT = 1200, 900


def inputs() -> str:
    """Return the sha256 of what the picture is about."""
    suite = SUITES["default"]
    tasks = [
        [task.name, task.task_type, task.metric, task.epochs, dict(task.protocol), dict(task.card.checksum)]
        for task in suite()
        if task.card is not None
    ]
    shown = {"tasks": tasks, "models": list(DEFAULT_MODELS), "seeds": suite.seeds_at(None)}
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


def picture(page: Path, target: Path) -> None:
    """Let a browser without a window draw the top of ``page``."""
    with tempfile.TemporaryDirectory(prefix="graphnetz-picture-") as profile:
        subprocess.run(  # noqa: S603 (a program that the caller installed, on a file of ours)
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",  # noqa: S607
             "--hide-scrollbars", f"--user-data-dir={profile}", f"--window-size={WIDTH},{HEIGHT}",
             f"--screenshot={target}", page.resolve().as_uri()],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip


def main() -> int:
    """Draw, and write down what was drawn."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/default")
    results = folder / "results.json"
    names = json.loads(results.read_text(encoding="utf-8"))["config"]["tasks"]
    if names != [task.name for task in SUITES["default"]()]:
        print(
            f"{str(folder)!r} is not a run of the default suite. Give the folder that 'make run' wrote.",
            file=sys.stderr,
        )
        return 2
    target = IMAGES / "report.png"
    picture(folder / "report.html", target)
    facts = {
        "inputs": inputs(),
        "picture": hashlib.sha256(target.read_bytes()).hexdigest(),
        "results": hashlib.sha256(results.read_bytes()).hexdigest(),
    }
    target.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
