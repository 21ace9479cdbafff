"""The figures of the RINGS paper as records; `graphnetz.report.plots.draw_figure` draws any of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphnetz._core.rng import generator
from graphnetz.metrics import METRICS, label_of
from graphnetz.records import Figure
from graphnetz.rings.complementarity import ComplementarityProfile, complementarity
from graphnetz.rings.perturbations import PERTURBATIONS
from graphnetz.rings.spaces import STRUCTURES
from graphnetz.rings.study import runs_of
from graphnetz.stats.paired import mean_interval

if TYPE_CHECKING:
    from graphnetz.rings.agreement import AgreementResult
    from graphnetz.rings.decisions import Against
    from graphnetz.rings.evaluation import DatasetEvaluation


def bars_of(
    values: Mapping[str, Sequence[float]], *, lines: Mapping[str, float], label: str, title: str = "", caption: str = ""
) -> Figure:
    """Summarise samples by their mean and central 95 %, with lines to compare with."""
    samples = [np.asarray(item, dtype=float) for item in values.values()]
    samples = [item[np.isfinite(item)] for item in samples]
    bounds = [np.percentile(item, [2.5, 97.5]) if len(item) else (np.nan, np.nan) for item in samples]
    data = {
        "labels": list(values),
        "values": _plain(item.mean() if len(item) else np.nan for item in samples),
        "low": _plain(low for low, _ in bounds),
        "high": _plain(high for _, high in bounds),
        "lines": dict(lines),
        "dots": True,
        "xlabel": label,
        "title": title,
    }
    return Figure("bar", data, caption)


def performance_bars(evaluation: DatasetEvaluation, metric: str) -> Figure:
    """Figure 3: the best model of every mode; lines at the original's mean, trained and untrained."""
    values = {
        mode: [s.value for s in evaluation.scores if (s.metric, s.mode, s.model) == (metric, mode, model)]
        for mode, model in evaluation.best[metric].items()
    }
    lines = {"original": float(np.mean(values["o"]))}
    if metric in evaluation.untrained:
        lines["untrained"] = evaluation.untrained[metric]
    label = label_of(f"test_{metric}")
    caption = f"{label} of the best model of each mode, with the central 95 % of runs."
    return bars_of(values, lines=lines, label=label, title=evaluation.name, caption=caption)


def mode_dots(evaluation: DatasetEvaluation) -> Figure:
    """Return every mode as a dot with the interval of its mean, on one axis.

    Lines stand at the original and at the margin below it. The metric is the headline one: the last that was judged.
    """
    metric = list(evaluation.separability)[-1]
    shown = {item.mode: item for found in evaluation.decisions[metric].values() for item in found.against}
    labels, means, lows, highs = [], [], [], []
    for mode, model in evaluation.best[metric].items():
        runs = runs_of(evaluation.scores, metric, mode, model)
        labels.append(_mode_label(mode, shown.get(mode)))
        mean, low, high = mean_interval(np.array(list(runs.values())), 1 - evaluation.rule.alpha)
        means.append(mean)
        lows.append(low)
        highs.append(high)
    original = means[list(evaluation.best[metric]).index("o")]
    margin = evaluation.rule.margin_of(metric)
    sign = -1 if METRICS[metric].greater_is_better else 1
    lines = {"original": original} | ({f"margin {margin:g}": original + sign * margin} if margin else {})
    data = {
        "labels": labels, "values": _plain(means), "low": _plain(lows), "high": _plain(highs), "lines": lines,
        "dots": True, "xlabel": label_of(f"test_{metric}"),
        "title": f"{evaluation.name}: {evaluation.verdict}",
    }  # fmt: skip
    share = 100 * (1 - evaluation.rule.alpha)
    caption = (
        f"{label_of(f'test_{metric}')} of original and perturbed data: mean and {share:g} % interval over runs. "
        "Worse, no worse (up to the margin) and open say what is shown, by differences within runs, which these "
        "intervals do not show."
    )
    return Figure("bar", data, caption)


def _mode_label(mode: str, shown: Against | None) -> str:
    """Name a mode and say what was shown about it."""
    name = PERTURBATIONS[mode].title if mode in PERTURBATIONS else mode  # with its code the longest do not fit
    if shown is None:
        return name
    if shown.within:
        return f"{name}: no worse"
    return f"{name}: {'worse' if shown.better else 'open'}"


def profile_bars(profile: ComplementarityProfile, *, t: float = 1) -> Figure:
    """Figure 4: complementarity of every perturbation; lines at the original's mean and at one half."""
    values = {code: item.tolist() for code, item in profile.at(t).items()}
    lines = {"0.5": 0.5}
    if "o" in values:
        lines = {"original": float(np.nanmean(values["o"])), **lines}
    label = f"mode complementarity (t = {t:g})"
    caption = "Mode complementarity by perturbation, with the central 95 % of graphs."
    return bars_of(values, lines=lines, label=label, title=profile.name, caption=caption)


def performance_cloud(evaluation: DatasetEvaluation, metric: str) -> Figure:
    """Figures 5 (AUROC) and 10 (accuracy): mean complementarity at every t against mean performance."""
    series = {}
    for mode, value in evaluation.separability[metric].means.items():
        if mode in evaluation.complementarity.values:
            x = _plain(evaluation.complementarity.mean(mode))
            series[mode] = {"x": x, "y": _plain([value] * len(x))}
    points = {"series": series, "xlabel": "mean mode complementarity", "ylabel": label_of(f"test_{metric}")}
    return Figure("scatter", points, "Complementarity at t = 1 to 10 against performance.")


def agreement_grid(result: AgreementResult) -> Figure:
    """Figure 8: Jaccard above the diagonal, asymmetric overlap below it."""
    upper = np.triu(np.ones_like(result.jaccard, dtype=bool))
    values = np.where(upper, result.jaccard, result.asymmetric)
    words = "Test examples classified correctly by both: Jaccard above, share of the column's set below the diagonal."
    return _grid(result.names, result.names, values, label="overlap", caption=words)


def metric_grid(
    graphs: Any,
    *,
    structures: Sequence[str] = ("diffusion", "heat", "resistance", "shortest_path"),
    features: Sequence[str] = ("euclidean", "cosine"),
    percentile: float = 95,
) -> Figure:
    """Figure 7: a percentile of complementarity for every pair of metrics, at t = 1."""
    items = list(graphs)
    values = [
        [float(np.nanpercentile(complementarity(items, structure=s, features=f), percentile)) for f in features]
        for s in structures
    ]
    words = "Complementarity under other metrics of structure (rows) and features (columns), original data, t = 1."
    return _grid(structures, features, values, label=f"{percentile:g}th percentile", caption=words)


def density_curves(
    *, nodes: int = 10, graphs: int = 5, structures: Sequence[str] | None = None, seed: int = 0
) -> Figure:
    """Figure 6: complementarity while edges are added to random trees until they are complete.

    One line per metric: the mean over ``graphs`` trees, with the range between the lowest and highest.
    """
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
    density = _plain(np.arange(nodes - 1, room + 1) / room)
    series = {}
    for name in structures or tuple(STRUCTURES):
        found = complementarity(sequence, structure=name).reshape(graphs, -1)
        ranges = {"y": found.mean(axis=0), "low": found.min(axis=0), "high": found.max(axis=0)}
        series[name] = {"x": density, **{key: _plain(values) for key, values in ranges.items()}}
    return Figure("line", {"series": series, "xlabel": "density", "ylabel": "mode complementarity"})


def evaluation_figures(evaluation: DatasetEvaluation) -> tuple[Figure, ...]:
    """Return the figures of an evaluation as plain data for the page."""
    out = [mode_dots(evaluation)] if evaluation.decisions else []
    out += [performance_bars(evaluation, metric) for metric in evaluation.separability]
    out.append(profile_bars(evaluation.complementarity))
    out += [performance_cloud(evaluation, metric) for metric in evaluation.separability]
    if evaluation.agreement is not None:
        out.append(agreement_grid(evaluation.agreement))
    if evaluation.grid is not None:
        out.append(evaluation.grid)
    return tuple(out)


def _grid(rows: Sequence[str], columns: Sequence[str], values: Any, *, label: str, caption: str) -> Figure:
    table = [_plain(row) for row in values]
    return Figure("heatmap", {"rows": list(rows), "columns": list(columns), "values": table, "label": label}, caption)


def _plain(values: Any) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
