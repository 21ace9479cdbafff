"""The paper's figures: small records computed here, drawn by functions that take records only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from graphnetz._core.rng import generator
from graphnetz.metrics import label_of
from graphnetz.records import Figure
from graphnetz.rings.complementarity import ComplementarityProfile, complementarity
from graphnetz.rings.spaces import STRUCTURES, Array

if TYPE_CHECKING:
    from graphnetz.rings.agreement import AgreementResult
    from graphnetz.rings.evaluation import DatasetEvaluation

MARKERS = {"o": "o", "eg": "s", "cg": "D", "rg": "^", "sg": "v", "cf": "P", "rf": "X", "sf": "<", "ef": ">"}


@dataclass(frozen=True)
class Bars:
    """Mean and 95 % percentile interval by name, with horizontal reference lines."""

    names: tuple[str, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    lines: Mapping[str, float]
    label: str
    title: str = ""


@dataclass(frozen=True)
class Cloud:
    """Complementarity against performance: one series per perturbation, one point per t."""

    series: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]]
    label: str
    title: str = ""


@dataclass(frozen=True)
class Grid:
    """A matrix with named rows and columns."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Array
    label: str
    title: str = ""


@dataclass(frozen=True)
class Curves:
    """Lines over a common axis, several per name."""

    x: Array
    curves: Mapping[str, Array]
    xlabel: str
    ylabel: str


def bars_of(values: Mapping[str, Sequence[float]], *, lines: Mapping[str, float], label: str, title: str = "") -> Bars:
    """Summarise samples by their mean and central 95 %."""
    samples = [np.asarray(item, dtype=float) for item in values.values()]
    samples = [item[np.isfinite(item)] for item in samples]
    bounds = [np.percentile(item, [2.5, 97.5]) if len(item) else (np.nan, np.nan) for item in samples]
    return Bars(
        tuple(values),
        tuple(float(item.mean()) if len(item) else np.nan for item in samples),
        tuple(float(low) for low, _ in bounds),
        tuple(float(high) for _, high in bounds),
        dict(lines),
        label,
        title,
    )


def performance_bars(evaluation: DatasetEvaluation, metric: str, *, untrained: float | None = None) -> Bars:
    """Figure 3: the best model of every mode; lines at the original's mean and, when given, untrained."""
    values = {
        mode: [s.value for s in evaluation.scores if (s.metric, s.mode, s.model) == (metric, mode, model)]
        for mode, model in evaluation.best[metric].items()
    }
    lines = {"original": float(np.mean(values["o"]))}
    if untrained is not None:
        lines["untrained"] = untrained
    return bars_of(values, lines=lines, label=label_of(f"test_{metric}"), title=evaluation.name)


def profile_bars(profile: ComplementarityProfile, *, t: float = 1) -> Bars:
    """Figure 4: complementarity of every perturbation; lines at the original's mean and at one half."""
    values = {code: item.tolist() for code, item in profile.at(t).items()}
    lines = {"0.5": 0.5}
    if "o" in values:
        lines = {"original": float(np.nanmean(values["o"])), **lines}
    return bars_of(values, lines=lines, label=f"mode complementarity (t = {t:g})", title=profile.name)


def performance_cloud(evaluation: DatasetEvaluation, metric: str) -> Cloud:
    """Figures 5 (AUROC) and 10 (accuracy): mean complementarity at every t against mean performance."""
    means = evaluation.separability[metric].means
    series = {}
    for mode, value in means.items():
        if mode in evaluation.complementarity.values:
            x = tuple(float(v) for v in evaluation.complementarity.mean(mode))
            series[mode] = (x, (value,) * len(x))
    return Cloud(series, label_of(f"test_{metric}"), evaluation.name)


def agreement_grid(result: AgreementResult) -> Grid:
    """Figure 8: Jaccard above the diagonal, asymmetric overlap below it."""
    upper = np.triu(np.ones_like(result.jaccard, dtype=bool))
    values = np.where(upper, result.jaccard, result.asymmetric)
    return Grid(result.names, result.names, values, "overlap")


def metric_grid(
    graphs: Any,
    *,
    structures: Sequence[str] = ("diffusion", "heat", "resistance", "shortest_path"),
    features: Sequence[str] = ("euclidean", "cosine"),
    percentile: float = 95,
) -> Grid:
    """Figure 7: a percentile of complementarity for every pair of metrics, at t = 1."""
    items = list(graphs)
    values = [
        [float(np.nanpercentile(complementarity(items, structure=s, features=f), percentile)) for f in features]
        for s in structures
    ]
    return Grid(tuple(structures), tuple(features), np.array(values), f"{percentile:g}th percentile")


def density_curves(
    *, nodes: int = 10, graphs: int = 5, structures: Sequence[str] | None = None, seed: int = 0
) -> Curves:
    """Figure 6: complementarity while edges are added to random trees until they are complete."""
    import torch
    from torch_geometric.data import Data

    from graphnetz.graphs import random_graphs as draws

    room = draws.capacity(nodes, directed=False)
    sequence = []
    for index in range(graphs):
        rng = generator("density", seed, index)
        tree = draws.connected(rng, nodes, edges=0)
        rest = np.setdiff1d(np.arange(room), draws.codes_of(tree, nodes, directed=False))
        pairs = np.concatenate([tree, draws.pairs_of(rng.permutation(rest), nodes, directed=False)], axis=1)
        x = torch.from_numpy(rng.standard_normal((nodes, 1)))
        for size in range(nodes - 1, room + 1):
            edge_index = torch.from_numpy(pairs[:, :size].copy())
            sequence.append(Data(x=x, edge_index=edge_index, num_nodes=nodes))
    density = np.arange(nodes - 1, room + 1) / room
    curves = {
        name: complementarity(sequence, structure=name).reshape(graphs, -1) for name in structures or tuple(STRUCTURES)
    }
    return Curves(density, curves, "density", "mode complementarity")


def draw_bars(bars: Bars, *, axes: Any = None) -> Any:
    """Draw dots with intervals and reference lines; return the axes."""
    axes = _axes(axes, width=0.7 * len(bars.names) + 1.6)
    at = np.arange(len(bars.names))
    mean = np.array(bars.mean)
    error = np.array([mean - np.array(bars.low), np.array(bars.high) - mean])
    axes.errorbar(at, mean, yerr=error.clip(min=0), fmt="o", color="#0072B2", ecolor="#56B4E9", elinewidth=3, ms=5)
    for (name, value), colour in zip(bars.lines.items(), ("black", "silver", "grey"), strict=False):
        axes.axhline(value, color=colour, lw=1, zorder=0)
        axes.annotate(name, (1, value), xycoords=("axes fraction", "data"), fontsize=7, va="center", color="#555555")
    axes.set_xticks(at, bars.names)
    axes.set_ylabel(bars.label)
    axes.set_title(bars.title)
    return axes


def draw_cloud(cloud: Cloud, *, axes: Any = None) -> Any:
    """Draw one marker per perturbation and t; return the axes."""
    axes = _axes(axes)
    for code, (x, y) in cloud.series.items():
        axes.plot(x, y, MARKERS.get(code, "h"), ls="-", lw=0.6, ms=5, alpha=0.8, label=code)
    axes.set_xlabel("mean mode complementarity")
    axes.set_ylabel(cloud.label)
    axes.set_title(cloud.title)
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return axes


def draw_grid(grid: Grid, *, axes: Any = None) -> Any:
    """Draw a labelled matrix; return the axes."""
    axes = _axes(axes, width=0.55 * len(grid.columns) + 2.4, height=0.42 * len(grid.rows) + 1.4)
    image = axes.imshow(grid.values, cmap="cividis", aspect="auto", vmin=0, vmax=1)
    axes.set_xticks(range(len(grid.columns)), grid.columns, rotation=60, ha="right", fontsize=7)
    axes.set_yticks(range(len(grid.rows)), grid.rows, fontsize=7)
    if grid.values.size <= 400:
        for (i, j), value in np.ndenumerate(grid.values):
            if np.isfinite(value):
                colour = "black" if value > 0.5 else "white"
                axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=6, color=colour)
    axes.figure.colorbar(image, ax=axes, label=grid.label)
    axes.set_title(grid.title)
    return axes


def draw_curves(curves: Curves, *, axes: Any = None) -> Any:
    """Draw every line, those of one name in one colour; return the axes."""
    axes = _axes(axes)
    for index, (name, lines) in enumerate(curves.curves.items()):
        for number, line in enumerate(np.atleast_2d(lines)):
            axes.plot(curves.x, line, color=f"C{index}", lw=1, alpha=0.7, label=name if number == 0 else None)
    axes.set_xlabel(curves.xlabel)
    axes.set_ylabel(curves.ylabel)
    axes.legend(fontsize=7, frameon=False)
    return axes


def _axes(axes: Any, *, width: float = 5.0, height: float = 3.2) -> Any:
    if axes is not None:
        return axes
    from matplotlib.figure import Figure as Canvas

    return Canvas(figsize=(width, height), layout="constrained").subplots()


def evaluation_figures(evaluation: DatasetEvaluation) -> tuple[Figure, ...]:
    """Return the figures of an evaluation as plain data for the page."""
    out = []
    for metric in evaluation.separability:
        bars = performance_bars(evaluation, metric)
        out.append(_bar_figure(bars, f"{bars.label} of the best model of each mode, with the central 95 % of runs."))
    bars = profile_bars(evaluation.complementarity)
    out.append(_bar_figure(bars, "Mode complementarity by perturbation, with the central 95 % of graphs."))
    for metric in evaluation.separability:
        cloud = performance_cloud(evaluation, metric)
        series = {code: {"x": _plain(x), "y": _plain(y)} for code, (x, y) in cloud.series.items()}
        points = {"series": series, "xlabel": "mean mode complementarity", "ylabel": cloud.label}
        out.append(Figure("scatter", points, "Complementarity at t = 1 to 10 against performance."))
    if evaluation.agreement is not None:
        words = (
            "Test examples classified correctly by both: Jaccard above, share of the column's set below the diagonal."
        )
        out.append(_grid_figure(agreement_grid(evaluation.agreement), words))
    if evaluation.grid is not None:
        words = "Complementarity under other metrics of structure (rows) and features (columns), original data, t = 1."
        out.append(_grid_figure(evaluation.grid, words))
    return tuple(out)


def _grid_figure(grid: Grid, caption: str) -> Figure:
    data: dict[str, Any] = {
        "rows": list(grid.rows),
        "columns": list(grid.columns),
        "values": [_plain(row) for row in grid.values],
        "label": grid.label,
    }
    return Figure("heatmap", data, caption)


def _bar_figure(bars: Bars, caption: str) -> Figure:
    data = {
        "labels": list(bars.names),
        "values": _plain(bars.mean),
        "low": _plain(bars.low),
        "high": _plain(bars.high),
        "lines": dict(bars.lines),
        "dots": True,
        "xlabel": bars.label,
        "title": bars.title,
    }
    return Figure("bar", data, caption)


def _plain(values: Any) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
