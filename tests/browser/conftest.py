"""A real browser, and reports to look at."""

import importlib.util
import io
import json
import os
import shutil
import subprocess
import tarfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from graphnetz.records import CellResult, Figure, Section, Table
from graphnetz.records.board import Board, BoardRow
from graphnetz.records.views import CellView, Grid, TaskRow
from graphnetz.report import BenchmarkReport, TaskInfo
from graphnetz.report.certificate import page as certificate_page
from graphnetz.report.page import PageData, render_page, render_sections
from graphnetz.report.pagedata import build_page

_spec = importlib.util.spec_from_file_location(
    "screenshots", Path(__file__).resolve().parents[2] / "scripts" / "screenshots.py"
)
screenshots = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(screenshots)
HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "=cmd()",
    "[red]",
    "x" * 300,
    "שלום עולם",
    '"><svg onload=alert(2)>',
    "${alert(3)}{{7*7}}",
)


def make_report(tasks, models, *, seeds=10, failures=True):
    """Cells with a seed effect that all models share, one absent pair and one failed cell."""
    rng = np.random.default_rng(7)
    results = []
    for t, task in enumerate(tasks):
        key = "test_mae" if t % 4 == 3 else "test_acc"
        shared = rng.normal(0, 0.01, seeds)
        for m, model in enumerate(models):
            if (t, m) == (1, len(models) - 1):
                continue
            for seed in range(seeds):
                value = 0.5 + 0.03 * (m % 5) + 0.02 * (t % 7) + shared[seed] + rng.normal(0, 0.008)
                curve = [value * (1 - 0.5 ** (e + 1)) for e in range(8)]
                status = "failed" if failures and (t, m, seed) == (0, 0, 3) else "ok"
                results.append(
                    CellResult(
                        f"{t}-{m}-{seed}", task, model, seed, status, key, key == "test_acc",
                        {key: value} if status == "ok" else {}, {key: curve} if seeds < 50 else {}, 8, None,
                        1.0 + m, 2e8, 1000 * (m + 1), "" if status == "ok" else f"RuntimeError: {HOSTILE[0]}", "env",
                        "init", 800, 100,
                    )
                )  # fmt: skip
    infos = {
        task: TaskInfo("test_mae", greater_is_better=False) if t % 4 == 3 else TaskInfo("test_acc")
        for t, task in enumerate(tasks)
    }
    section = Section(
        "rings", "Fitness of the datasets", "Keep both.", ("Words.",), (Table(("a", "b"), (("x", 1.5),), "A table"),),
        (Figure("bar", {"labels": ["x", "y"], "values": [1.0, 2.0]}, "A bar chart"),),
    )  # fmt: skip
    return BenchmarkReport.from_results(
        results,
        tasks=infos,
        models=tuple(models),
        seeds=range(seeds),
        config={"title": tasks[0] if tasks[0] in HOSTILE else "Example benchmark", "baselines": [models[0]]},
        absent={(tasks[1], models[-1]): f"{models[-1]} does not serve this task type"},
        sections=[section],
        provenance={"reproduce": "graphnetz run --suite default", "versions": {"python": "3.11"}},
    )


def write_page(report, folder):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "report.html"
    path.write_text(render_page(build_page(report)), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def usual(tmp_path_factory):
    report = make_report([f"task {i}" for i in range(7)], ["MLP", "GCN", "GAT", "SAGE", "GIN"])
    return write_page(report, tmp_path_factory.mktemp("usual"))


@pytest.fixture(scope="session")
def pictures():
    """The script that takes pictures of the page."""
    return screenshots


@pytest.fixture(scope="session")
def showcase(tmp_path_factory):
    """Twelve tasks, nine models, five seeds: two directions, failures, gaps, predictions and curves."""
    return screenshots.write_page(tmp_path_factory.mktemp("showcase"))


@pytest.fixture(scope="session")
def thirty(tmp_path_factory):
    """30 models on 30 tasks."""
    report = make_report([f"task-{i}" for i in range(30)], [f"model-{i}" for i in range(30)], seeds=3)
    return write_page(report, tmp_path_factory.mktemp("thirty"))


@pytest.fixture(scope="session")
def long_names(tmp_path_factory):
    """Models and tasks whose names have forty letters and differ in the last one."""
    models = [f"TransformerWithVeryLongNameOfFortyChars_{i}" for i in range(4)]
    tasks = [f"a_dataset_with_a_name_of_forty_letters_{i}" for i in range(3)]
    return write_page(make_report(tasks, models, seeds=3), tmp_path_factory.mktemp("long"))


@pytest.fixture(scope="session")
def board(tmp_path_factory):
    """A leaderboard of 100 models and 50 tasks, from made-up records: 250,000 comparisons take minutes to compute."""
    rng, kinds = np.random.default_rng(1), ("node_cls", "graph_cls", "link_pred", "edge_cls", "graph_reg")
    models = tuple(f"model-{i:03d}" for i in range(100))
    rows = tuple(
        TaskRow(f"task {t}", "Test accuracy", True, tuple(CellView(m, m - 0.01, m + 0.01, 0.01, 5, planned=5) for m in means),
                f"category {t % 6}", kinds[t % 5])
        for t, means in enumerate(rng.uniform(0.4, 0.9, (50, 100)).tolist())
    )  # fmt: skip
    names = [
        ("", "", 50),
        *(("type", kind, 10) for kind in kinds),
        *(("category", f"category {c}", 8) for c in range(6)),
    ]
    boards = tuple(
        Board(kind, name, tuple(BoardRow(m, 1, 100, *rng.uniform(0, 1, 6).tolist(), n, 5 * n, 0) for m in models), n)
        for kind, name, n in names
    )
    data = PageData(
        "Leaderboard", (("Tasks", "50"),), Grid(models, rows, n_seeds=5), order=tuple(range(100)), boards=boards,
        pages={row.task: f"tasks/{row.task}.html" for row in rows},
    )  # fmt: skip
    path = tmp_path_factory.mktemp("board") / "index.html"
    path.write_text(render_page(data), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """The stored certificate of a paper, as a page."""
    path = Path(__file__).resolve().parents[2] / "scripts" / "replication_page.py"
    spec = importlib.util.spec_from_file_location("replication_page", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    out = tmp_path_factory.mktemp("certificate") / "certificate.html"
    out.write_text(certificate_page(next(iter(module.stored()))), encoding="utf-8")
    return out


@pytest.fixture(scope="session")
def rings(tmp_path_factory):
    """A page of one verdict, as that of a dataset's fitness."""
    section = Section(
        "rings", "Fitness of mutag", "Keep it: structure and features both tell.", ("Words.",),
        (Table(("Mode", "Mean"), (("original", 0.81), ("empty graph", 0.7)), "Modes"),
         Table(("Mode", "Relation"), (("original", "higher"),)),
         Table(("metric", "about", "mode", "difference", "low", "high", "better", "below the margin"),
               (("accuracy", "structure", "eg", 0.005556, -0.009135, 0.02025, "yes", "no"),),
               "Advantage of the original over each perturbation, paired by run: these tests decide.")),
        (Figure("bar", {"labels": ["original", "empty graph"], "values": [0.81, 0.7]}, "Means of modes"),),
    )  # fmt: skip
    out = tmp_path_factory.mktemp("rings") / "rings.html"
    out.write_text(render_sections(section.title, [section]), encoding="utf-8")
    return out


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    return write_page(make_report(HOSTILE, HOSTILE[::-1], seeds=4), tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """10,000 cells; the seconds that making the page took."""
    report = make_report([f"task-{i}" for i in range(100)], [f"model-{i}" for i in range(10)])
    assert len(report.results) >= 9_900
    start = time.process_time()
    path = write_page(report, tmp_path_factory.mktemp("large"))
    return SimpleNamespace(path=path, seconds=time.process_time() - start)


@pytest.fixture(scope="session")
def browser():
    sync = pytest.importorskip("playwright.sync_api")
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("There is no chromium. Run scripts/chromium.sh.")
    with sync.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=list(screenshots.FLAGS))
        yield launched
        launched.close()


@pytest.fixture
def look(browser):
    """Open a file; what the page logged, requested or asked is collected beside it."""
    contexts = []

    def open_page(path, *, width=1200, height=900, script=True, scheme="light"):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            java_script_enabled=script,
            color_scheme=scheme,
            reduced_motion="reduce",  # a page that is still scrolling hides what is shown at the pointer
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.logged, page.requests, page.dialogs = [], [], []
        page.on("console", lambda message: page.logged.append(message.text))
        page.on("pageerror", lambda error: page.logged.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("dialog", lambda dialog: (page.dialogs.append(dialog.message), dialog.dismiss()))
        page.goto(path.as_uri() if hasattr(path, "as_uri") else path)
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """The text of axe-core: from an installed Python package, else fetched with npm, else skip."""
    try:
        from importlib import resources

        return resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    except (ModuleNotFoundError, FileNotFoundError):
        pass
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("axe-core is not here: install axe-playwright-python or npm.")
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run([npm, "pack", "axe-core", "--json"], cwd=folder, capture_output=True, timeout=120)
    if done.returncode != 0:
        pytest.skip("axe-core could not be fetched.")
    names = json.loads(done.stdout)
    archive = folder / names[0]["filename"] if isinstance(names, list) else next(folder.glob("*.tgz"))
    with tarfile.open(fileobj=io.BytesIO(archive.read_bytes())) as tar:
        return tar.extractfile("package/axe.min.js").read().decode()
