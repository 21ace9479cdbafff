"""The gallery of the documentation: every figure with the code that makes it, drawn while the site is built."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphnetz.records import CellResult, Components
from graphnetz.report import BenchmarkReport, TaskInfo
from graphnetz.report.figures import FIGURES, draw_pages
from graphnetz.report.plots import draw_components
from graphnetz.report.style import page_files

DPI = 110.0
MODELS = {"GCN": 0.80, "GAT": 0.805, "GraphSAGE": 0.79, "GIN": 0.76, "MLP": 0.70}
TASKS = {"cora": "test_acc", "citeseer": "test_acc", "mutag": "test_auc", "proteins": "test_acc", "zinc": "test_mae"}
METHODS = {
    "forest": "report.plot_forest()",
    "dashboard": "report.plot_dashboard()",
    "bars": "report.plot()",
    "pairwise_matrix": "report.plot_pairwise()",
    "pairwise_list": 'report.plot_pairwise(layout="list")',
    "critical_difference": "report.plot_critical_difference()",
    "learning_curves": "report.plot_learning_curves()",
}
"""Figures that also have a documented method of their own."""


def example() -> BenchmarkReport:
    """A made-up report that has something to show in every figure."""
    rng = np.random.default_rng(7)
    cells = []
    for t, (task, metric) in enumerate(TASKS.items()):
        shared = rng.normal(0, 0.01, 10)
        for m, (model, mean) in enumerate(MODELS.items()):
            level = mean + rng.normal(0, 0.015) + 0.03 * t
            for seed in range(10):
                score = float(level + shared[seed] + rng.normal(0, 0.008))
                value = 1.1 - score if metric == "test_mae" else score
                far = -0.3 if metric == "test_mae" else 0.3
                curve = [value - far * float(np.exp(-epoch / 6)) for epoch in range(30)]
                cells.append(
                    CellResult(
                        f"{task}-{model}-{seed}", task, model, seed, metric=metric, metrics={metric: value},
                        greater_is_better=metric != "test_mae", history={metric: curve}, epochs=30,
                        seconds=(1.0 + m) * (1 + 0.1 * t), replication="resplit", n_train=800, n_test=100,
                    )
                )  # fmt: skip
    info = {t: TaskInfo(m, greater_is_better=m != "test_mae", replication="resplit") for t, m in TASKS.items()}
    return BenchmarkReport.from_results(cells, tasks=info, models=tuple(MODELS), seeds=range(10))


def pictures(report: BenchmarkReport) -> dict[str, bytes]:
    """PNG files by name: the first page of every figure."""
    files: dict[str, bytes] = {}
    for name in FIGURES:
        pages = draw_pages(report.analysis, name)
        if name == "components":  # needs kept predictions, which a made-up report has none of
            shares = [(0.3, 0.1, 0.5, 0.1), (0.1, 0.2, 0.6, 0.1), (0.2, 0.5, 0.2, 0.1)]
            names = ("seed_share", "split_share", "example_share", "rest_share")
            found = [
                Components(task, "GAT", "GCN", **dict(zip(names, share, strict=True)))
                for task, share in zip(TASKS, shares, strict=False)
            ]
            pages = [draw_components(found)[0]]
        if pages:
            files |= page_files(pages[:1], name, formats=("png",), dpi=DPI)
    return files


def page() -> str:
    """The gallery as Markdown."""
    lines = [
        "# Gallery",
        "",
        "Every figure of a report, the code that makes it, and what it shows. The scores are made up. `report` is any",
        "`BenchmarkReport`: what `run_benchmark` returns, or `BenchmarkReport.from_scores(table)`. In a notebook each",
        "line shows its figure; `report.write(folder)` and `graphnetz report FOLDER` write all of them as PDF and PNG.",
        "Where a figure needs several pages, each says which tasks it holds.",
        "",
        '`size="column"` (3.35 inches), `"page"` (6.7 inches) or `"slide"` (16:9) fits any of them to its paper.',
        "Blue is better and orange worse whatever the direction of a metric; a model has one colour everywhere.",
        "",
    ]
    for name, kind in FIGURES.items():
        also = f"\n{METHODS[name]}  # the same as one figure" if name in METHODS else ""
        lines += [
            f"## {name.replace('_', ' ').capitalize()}", "", f"![{name}](gallery/{name}.png)", "", kind.words, "",
            "```python", f'report.figures("{name}"){also}', "```", "",
        ]  # fmt: skip
    return "\n".join(lines)


def on_files(files: Any, config: Any) -> Any:
    """Add the page and its pictures to the site (a hook of mkdocs)."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "gallery.md", content=page()))
    for name, data in pictures(example()).items():
        files.append(File.generated(config, f"gallery/{name}", content=data))
    return files
