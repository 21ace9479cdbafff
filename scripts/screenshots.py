"""Pictures of the page as a reader sees it: three widths, light and dark. ``make screenshots`` writes them.

They show a made-up benchmark (``showcase``) and lie in ``tests/browser/expected``, half as wide as they were taken. The
browser tests take them again and compare them with some tolerance, so that a change of the page is seen by somebody:
look at the new pictures before you commit them. All letters are DejaVu's, which matplotlib carries: with the fonts of
the machine a heading of the narrow page may need one line more, and everything below it would stand lower.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from graphnetz.records import CellResult, Predictions
from graphnetz.report import BenchmarkReport, TaskInfo
from graphnetz.report.page import render_page
from graphnetz.report.pagedata import build_page

EXPECTED = Path(__file__).resolve().parents[1] / "tests" / "browser" / "expected"
VIEWS = {"wide": (1280, 800), "tablet": (820, 1100), "phone": (390, 844)}
SCHEMES = ("light", "dark")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--hide-scrollbars", "--font-render-hinting=none",
)  # fmt: skip

MODELS = ("MLP", "GCN", "GAT", "GraphSAGE", "GIN", "GatedGCN", "GraphTransformer", "PNA", "LabelPropagation")
SKILL = (0.0, 0.055, 0.06, 0.075, 0.05, 0.105, 0.1, 0.115, 0.03)
TASKS = (
    ("cora", "node_cls", "citation", "resplit"), ("pubmed", "node_cls", "citation", "resplit"),
    ("email_departments", "node_cls", "social", "init"), ("college_messages", "link_pred", "social", "resplit"),
    ("proteins", "graph_cls", "biology", "fold"), ("enzymes", "graph_cls", "biology", "fold"),
    ("mutag", "graph_cls", "chemistry", "fold"), ("solubility", "graph_reg", "chemistry", "resplit"),
    ("knot_volume", "graph_reg", "mathematics", "resplit"), ("road_links", "link_pred", "transport", "resplit"),
    ("power_grid", "edge_cls", "transport", "init"), ("superpixels", "graph_cls", "vision", "init"),
)  # fmt: skip


def showcase(
    *, models: tuple[str, ...] = MODELS, n_seeds: int = 5, n_test: int = 240, epochs: int = 30
) -> BenchmarkReport:
    """Return a made-up benchmark: four task types, two directions, predictions, curves, failures and gaps."""
    rng = np.random.default_rng(24)
    results, infos, absent = [], {}, {}
    for t, (task, kind, category, replication) in enumerate(TASKS):
        metric, up = ("test_mae", False) if kind == "graph_reg" else ("test_acc", True)
        infos[task] = TaskInfo(
            metric, greater_is_better=up, replication=replication, category=category, task_type=kind, n_test=n_test,
            test_ratio=0.25, splits=n_seeds if replication == "fold" else 0,
        )  # fmt: skip
        hard, base, spread = rng.normal(0, 0.9, n_test), 0.52 + 0.03 * (t % 5), 0.4 + 0.25 * (t % 4)
        for m, model in enumerate(models):
            if model == "LabelPropagation" and kind in ("graph_cls", "graph_reg"):
                absent[task, model] = f"{model} needs labels of neighbours, which {kind} does not have"
                continue
            gain = spread * SKILL[m % len(SKILL)] + rng.normal(0, 0.012)
            for seed in range(n_seeds):
                failed = (model, task) == ("PNA", "superpixels") and seed > 2
                cell = _cell(
                    rng, f"{t}-{m}-{seed}", task, model, seed, base + gain, hard, up=up, failed=failed, epochs=epochs
                )
                results.append(cell)
    return BenchmarkReport.from_results(
        results, tasks=infos, models=models, seeds=range(n_seeds), absent=absent,
        config={"title": "Nine models on twelve graph tasks", "baselines": ["MLP", "LabelPropagation"]},
        provenance={"reproduce": "graphnetz run config.toml"},
    )  # fmt: skip


def _cell(
    rng: np.random.Generator, key: str, task: str, model: str, seed: int, level: float, hard: Any, *, up: bool,
    failed: bool, epochs: int,
) -> CellResult:  # fmt: skip
    metric, n = "test_acc" if up else "test_mae", len(hard)
    facts: dict[str, Any] = {
        "key": key, "task": task, "model": model, "seed": seed, "metric": metric, "greater_is_better": up,
        "epochs": epochs, "seconds": 0.4 * (1 + len(model)) * (1 + 0.1 * seed), "peak_memory": 2e8,
        "parameters": 1000 * (1 + len(model)), "environment": "env", "replication": "init", "n_train": 4 * n,
        "n_test": n,
    }  # fmt: skip
    if failed:
        return CellResult(**facts, status="oom", error="MemoryError: the cell needed more than 2.0 GB")
    draw = hard + rng.normal(0, 0.6, n) + rng.normal(0, 0.05)
    truths = np.random.default_rng(sum(map(ord, task)))  # all models of a task are tested on the same examples
    examples, target = np.arange(n), truths.integers(0, 2, n)
    if up:
        right = draw < np.quantile(draw, min(0.97, level + rng.normal(0, 0.008)))
        value, score = float(right.mean()), np.where(right, target, 1 - target).astype(np.uint8)
        kept = Predictions(examples, target.astype(np.uint8), score, unit="node")
    else:
        truth = truths.normal(0, 1, n)
        given = truth + (1.1 - level) * (np.abs(draw) + 0.05) * rng.choice([-1, 1], n)
        value, kept = float(np.abs(given - truth).mean()), Predictions(examples, truth, given, unit="graph")
    start = 0.3 if up else 1.4
    curve = [
        value + (start - value) * float(np.exp(-e / 6)) + float(rng.normal(0, 0.004)) for e in range(epochs - 1)
    ] + [value]
    return CellResult(**facts, metrics={metric: value}, history={metric: curve}, predictions=kept)


FACES = 2


def still_style() -> str:
    """Return the style sheet of a page that stands still: one font everywhere, every card laid out before it is seen.

    A page draws its cards when they come near the screen and scrolls smoothly; a picture taken meanwhile shows where
    the page was on its way, another on every machine.
    """
    faces = []
    for name, weight in (("DejaVuSans", "1 599"), ("DejaVuSans-Bold", "600 1000")):
        raw = (Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{name}.ttf").read_bytes()
        source = f"url(data:font/ttf;base64,{base64.b64encode(raw).decode()})"
        faces.append(f"@font-face {{ font-family: Carried; font-weight: {weight}; src: {source}; }}")
    still = "html { scroll-behavior: auto !important; } .card { content-visibility: visible !important; }"
    return "\n".join([*faces, "* { font-family: Carried !important; }", still])


LOADED = "Promise.all([...document.fonts].map(face => face.load())).then(faces => faces.length)"
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(scrollY))))"


def hold_still(sheet: Any, style: str) -> None:
    """Give a page the style of pictures, and wait until its letters are there and it was drawn with them.

    A font is fetched when a letter first asks for it, so to wait for fonts under way may be to wait for none.
    """
    sheet.add_style_tag(content=style)
    if sheet.evaluate(LOADED) != FACES:
        raise RuntimeError("The page did not take the letters that pictures are made with.")
    sheet.evaluate(DRAWN)


def take(folder: Path, page: Path, browser: Any) -> list[Path]:
    """Take every picture of ``page`` into ``folder`` and return the files."""
    out, style = [], still_style()
    for name, (width, height) in VIEWS.items():
        for scheme in SCHEMES:
            size = {"width": width, "height": height}
            context = browser.new_context(viewport=size, color_scheme=scheme, bypass_csp=True)
            sheet = context.new_page()
            sheet.goto(page.as_uri())
            hold_still(sheet, style)
            raw = folder / f"page-{name}-{scheme}.png"
            sheet.screenshot(path=raw)
            out.append(raw)
            if name != "tablet":
                sheet.evaluate("document.getElementById('task-0').scrollIntoView({behavior: 'instant'})")
                sheet.evaluate(DRAWN)
                raw = folder / f"cards-{name}-{scheme}.png"
                sheet.screenshot(path=raw)
                out.append(raw)
            context.close()
    return out


def halve(path: Path) -> None:
    """Make a picture half as wide with 256 colours: small enough to be kept, and no model's colour becomes grey."""
    from PIL import Image

    with Image.open(path) as image:
        small = image.convert("RGB").reduce(2)
    small.quantize(256, kmeans=2, dither=Image.Dither.NONE).save(path, optimize=True)


def difference(one: Path, two: Path) -> float:
    """Return the mean difference of two pictures, 0 to 255, seen from so far that letters are grey.

    Edges of letters differ from machine to machine; what stands where, and in which colour, does not. A picture that
    was kept at half its width is compared with the other at that width: else 1 to 2 is the work of the scaling alone.
    """
    from PIL import Image

    seen = []
    with Image.open(one) as first, Image.open(two) as second:
        width = min(first.width, second.width)
        for image in (first, second):
            small = image.convert("RGB").reduce(max(1, image.width // width))
            seen.append(np.asarray(small.resize((48, 36), Image.Resampling.BOX), dtype=float))
    return float(np.abs(seen[0] - seen[1]).mean())


def write_page(folder: Path) -> Path:
    """Write the page of the showcase."""
    path = folder / "report.html"
    path.write_text(render_page(build_page(showcase())), encoding="utf-8")
    return path


def main() -> int:
    """Take all pictures into the folder of expected ones, or into the one that was named."""
    import shutil

    from playwright.sync_api import sync_playwright

    target = Path(sys.argv[1]) if len(sys.argv) > 1 else EXPECTED
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="graphnetz-screenshots-") as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        for path in take(target, write_page(Path(folder)), browser):
            if target == EXPECTED:
                halve(path)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
