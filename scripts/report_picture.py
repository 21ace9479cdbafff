"""Take the pictures of the README and the documentation: the first screen of a report on a desk, at night, on a phone.

``python scripts/report_picture.py runs/default`` writes ``docs/images/report.png``, ``report-dark.png`` and
``report-phone.png``, and beside them ``report.json``: which suite they show, and digests of what that suite is (tasks,
their files, protocols, models and seeds), of the results and of the pictures. A test compares them, so that a suite
that has changed asks for new pictures.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path

from graphnetz.datasets import SUITES
from graphnetz.records.config import DEFAULT_MODELS

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
VIEWS = {"report": (1280, 800, "light"), "report-dark": (1280, 800, "dark"), "report-phone": (390, 844, "light")}
SHOWN = ("default", "quick")
"""Suites that a picture may show."""


def inputs(name: str) -> str:
    """Return the sha256 of what the pictures of a suite are about."""
    suite = SUITES[name]
    tasks = [
        [task.name, task.task_type, task.metric, task.epochs, dict(task.protocol), dict(task.card.checksum)]
        for task in suite()
        if task.card is not None
    ]
    shown = {"tasks": tasks, "models": list(DEFAULT_MODELS), "seeds": suite.seeds_at(None)}
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


def take(page: Path) -> dict[str, str]:
    """Let a browser without a window draw the top of ``page``; return the digests of the pictures."""
    import screenshots  # its neighbour: the same letters, and the same stillness
    from playwright.sync_api import sync_playwright

    out = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(screenshots.FLAGS))
        for name, (width, height, scheme) in VIEWS.items():
            size = {"width": width, "height": height}
            sheet = browser.new_page(viewport=size, color_scheme=scheme, bypass_csp=True)
            sheet.goto(page.resolve().as_uri())
            screenshots.hold_still(sheet, screenshots.still_style())
            sheet.screenshot(path=IMAGES / f"{name}.png")
            out[name] = hashlib.sha256((IMAGES / f"{name}.png").read_bytes()).hexdigest()
        browser.close()
    return out


def main() -> int:
    """Draw, and write down what was drawn."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/default")
    results = folder / "results.json"
    tasks = json.loads(results.read_text(encoding="utf-8"))["config"]["tasks"]
    suite = next((name for name in SHOWN if tasks == [task.name for task in SUITES[name]()]), None)
    if suite is None:
        print(
            f"{str(folder)!r} is a run of none of {', '.join(SHOWN)}. Give a folder that 'make run' wrote.",
            file=sys.stderr,
        )
        return 2
    facts = {
        "suite": suite,
        "inputs": inputs(suite),
        "results": hashlib.sha256(results.read_bytes()).hexdigest(),
        "pictures": take(folder / "report.html"),
    }
    (IMAGES / "report.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
