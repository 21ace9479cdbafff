"""Recommendation: which configurations to try on a graph, without training anything."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import UsageError
from graphnetz.graphs.compressed import Graph, as_graph
from graphnetz.graphs.folder import GraphFolder, is_folder
from graphnetz.records import Section, Table, Task
from graphnetz.selection import building
from graphnetz.selection.bank import COLLECTION_SET, FEATURE_SET, Matrix, PerformanceBank
from graphnetz.selection.collection import Collection, as_collection, read_collection
from graphnetz.selection.example import Source
from graphnetz.selection.folders import SAMPLES, FolderCounts
from graphnetz.selection.forecast import Familiarity, distances, expected_cost, familiarity, forecast, ranked
from graphnetz.selection.metafeatures import feature_names, meta_features
from graphnetz.selection.published import PublishedBank
from graphnetz.selection.real import LEAST_EDGES, Basis, advice_for
from graphnetz.selection.sampled import check_how, described
from graphnetz.selection.selectors.base import Selector
from graphnetz.selection.selectors.kernel import KernelSelector
from graphnetz.selection.space import Configuration

FloatArray = npt.NDArray[np.float64]
NEAREST = 15
"""Known graphs over which the distance from the best is averaged."""
_VALUES_PER_EDGE = 16.0


@dataclass(frozen=True)
class Choice:
    """One line of the shortlist.

    Attributes
    ----------
    rank
        1 is the first to try.
    configuration
        Method and settings.
    score, low, high
        Predicted headline metric, and bounds meant to hold it with the recommendation's level.
    seconds, memory
        Expected cost of one run in seconds and bytes; NaN when unknown.

    Examples
    --------
    >>> from graphnetz.selection import Choice, Configuration
    >>> Choice(1, Configuration("Jaccard"), 0.9, 0.85, 0.95, 0.1, float("nan")).name
    'Jaccard'
    """

    rank: int
    configuration: Configuration
    score: float
    low: float
    high: float
    seconds: float
    memory: float

    @property
    def name(self) -> str:
        """Name of the configuration."""
        return self.configuration.name


@dataclass(frozen=True, eq=False)
class Recommendation:
    """A ranked shortlist with its reasons; made by `recommend`.

    Attributes
    ----------
    graph
        The new graph, or the new collection of graphs.
    task_type, metric
        What is predicted, and the metric of the scores.
    choices
        The shortlist, best first.
    familiarity
        How much the graph resembles those of the bank.
    level
        Probability that intervals are meant to cover.
    known_graphs, known_configurations
        Size of the bank.
    within
        How far the first choice is expected to be from the best of all: the mean over the known graphs that resemble
        this one most; NaN where it was never measured on one of them.
    notes
        What the reader should know.
    extra
        Further figures by name.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz.selection import recommend
    >>> found = recommend(nx.karate_club_graph(), "link_pred", top=3)
    >>> len(found.choices), found.known_graphs >= 80
    (3, True)
    """

    graph: Graph | Collection
    task_type: str
    metric: str
    choices: tuple[Choice, ...]
    familiarity: Familiarity
    level: float
    known_graphs: int
    known_configurations: int
    within: float = float("nan")
    notes: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> tuple[int, int]:
        """Nodes and edges: of a graph on disk those of the whole, of which ``graph`` is one sample."""
        return self.extra.get("nodes", self.graph.num_nodes), self.extra.get("edges", self.graph.num_edges)

    @property
    def nearest(self) -> tuple[tuple[str, float], ...]:
        """Known graphs that resemble this one most, with their distance (0: the same)."""
        return self.familiarity.nearest

    @property
    def warning(self) -> str:
        """Says why the answer is doubtful: the graph is far from the known ones, or they disagree; else empty."""
        return self.familiarity.warning

    def to_model(self, position: int = 0, *, in_channels: int | None = None, out_channels: int | None = None) -> Any:
        """Build the PyTorch Geometric model of a choice.

        Parameters
        ----------
        position
            Which choice; 0 is the first.
        in_channels, out_channels
            Widths; None takes them from the graph's features and labels, and 32 where it has none.

        Returns
        -------
        torch.nn.Module or predictor
            Untrained.

        Examples
        --------
        >>> import networkx as nx
        >>> from graphnetz.selection import recommend
        >>> found = recommend(nx.karate_club_graph(), "link_pred")
        >>> found.to_model(in_channels=16, out_channels=8) is not None
        True
        """
        widths = self._channels(in_channels, out_channels)
        return building.build_model(self._choice(position).configuration, *widths, **self._kind())

    def to_code(self, position: int = 0, *, in_channels: int | None = None, out_channels: int | None = None) -> str:
        """Python source that builds the same model, and inputs for it where the graph has no features.

        Parameters
        ----------
        position
            Which choice; 0 is the first.
        in_channels, out_channels
            Widths; None takes them from the graph's features and labels, and 32 where it has none.

        Returns
        -------
        str
            A script to paste.

        Examples
        --------
        >>> import networkx as nx
        >>> from graphnetz.selection import recommend
        >>> code = recommend(nx.karate_club_graph(), "link_pred").to_code(in_channels=16, out_channels=8)
        >>> compile(code, "model.py", "exec") is not None
        True
        """
        widths = self._channels(in_channels, out_channels)
        # A graph without features needs inputs that are learned.
        bare = self.graph.num_nodes if self.graph.features is None else 0
        return building.model_code(self._choice(position).configuration, *widths, learn_for=bare, **self._kind())

    def to_script(self, source: Source, position: int = 0) -> str:
        """Python source that reads the graph, trains a choice on three splits and prints what it reaches.

        Parameters
        ----------
        source
            Where the graph comes from.
        position
            Which choice; 0 is the first.

        Returns
        -------
        str
            A whole program.

        Examples
        --------
        >>> from graphnetz.selection import recommend
        >>> from graphnetz.selection.example import Source
        >>> print(recommend(Source().read(), "link_pred").to_script(Source()).splitlines()[-1])
            print(report.summary().to_string())
        """
        chosen = self._choice(position).configuration
        imports, read = source.to_code(self.task_type).splitlines()
        return (
            f"# {chosen.name} for {self.graph.name}:\n"
            f"# trains it on three splits and prints its {self.metric} on test examples that training did not see.\n"
            "from graphnetz import run_benchmark\n"
            "from graphnetz.selection.building import engine_model\n"
            "from graphnetz.selection.collect import PROTOCOL, measured_task\n"
            f"{imports}\n"
            "from graphnetz.selection.space import Configuration\n\n"
            f"{read}\n"
            f"chosen = Configuration({chosen.method!r}, {chosen.settings!r})\n\n"
            'if __name__ == "__main__":\n'
            f"    task = measured_task(graph, {self.task_type!r})\n"
            "    model = {chosen.name: engine_model(chosen)}\n"
            "    report = run_benchmark(models=model, tasks=[task], seeds=3, protocol=PROTOCOL, verbose=False)\n"
            "    print(report.summary().to_string())\n"
        )

    def to_task(self, *, epochs: int | None = None) -> Task:
        """Return this graph as a task that the benchmark runs, split and fed as the graphs of the bank were.

        Parameters
        ----------
        epochs
            Training epochs; None takes those of the bank.

        Returns
        -------
        Task
            For ``run_benchmark(tasks=...)``.

        Examples
        --------
        >>> import networkx as nx
        >>> from graphnetz.selection import recommend
        >>> recommend(nx.karate_club_graph(), "link_pred").to_task(epochs=50).task_type
        'link_pred'
        """
        from graphnetz.selection.collect import measured_task

        return measured_task(self.graph, self.task_type, epochs=epochs)

    def to_section(self) -> Section:
        """Return the recommendation as a section of a page.

        Returns
        -------
        Section
            Verdict and tables as plain data.

        Examples
        --------
        >>> import networkx as nx
        >>> from graphnetz.selection import recommend
        >>> recommend(nx.karate_club_graph(), "link_pred").to_section().title
        "Which model for Zachary's Karate Club?"
        """
        rows = tuple(
            (c.rank, c.name, round(c.score, 4), round(c.low, 4), round(c.high, 4), _rounded(c.seconds))
            for c in self.choices
        )
        columns = ("rank", "configuration", f"predicted {self.metric or 'score'}", "low", "high", "seconds")
        near = tuple((name, round(distance, 4)) for name, distance in self.nearest)
        best = self.choices[0]
        return Section(
            name="selection",
            title=f"Which model for {self.graph.name}?",
            verdict=f"Try {best.name} first: predicted {best.score:.3f} ({best.low:.3f} to {best.high:.3f}).",
            paragraphs=tuple(item for item in (self.warning, *self.notes) if item),
            tables=(
                Table(columns, rows, f"Shortlist with {self.level:.0%} intervals; nothing was trained."),
                Table(("known graph", "distance"), near, "The known graphs it resembles most."),
            ),
            level="warning" if self.warning else "info",
            extra={"task_type": self.task_type, "known_graphs": self.known_graphs},
        )

    def _repr_html_(self) -> str:
        """Return shortlist and reasons for a notebook cell."""
        return self.to_section()._repr_html_()

    def _choice(self, position: int) -> Choice:
        if not 0 <= position < len(self.choices):
            raise UsageError(f"There is no choice {position}; the shortlist has {len(self.choices)}, numbered from 0.")
        return self.choices[position]

    def _kind(self) -> dict[str, Any]:
        vocabulary = self.graph.vocabulary if isinstance(self.graph, Collection) else ()
        return {"task_type": self.task_type, "vocabulary": vocabulary}

    def _channels(self, in_channels: int | None, out_channels: int | None) -> tuple[int, int]:
        features, labels = self.graph.features, self.graph.labels
        bare = 3 if isinstance(self.graph, Collection) else 32  # columns of degrees, or a learned vector
        wide_in = in_channels or (features.shape[1] if features is not None else bare)
        classes = int(labels.max()) + 1 if labels is not None and self.task_type != "link_pred" else 32
        return int(wide_in), int(out_channels or classes)


def recommend(
    graph: Any,
    task_type: str,
    top: int = 5,
    budget: float | None = None,
    *,
    bank: PerformanceBank | PublishedBank | None = None,
    selector: Selector | None = None,
    level: float = 0.9,
    orbits: str = "exact",
) -> Recommendation:
    """Rank the configurations of a bank for a new graph, without training.

    Parameters
    ----------
    graph
        Edge list file, PyG Data, networkx graph, scipy matrix, edge_index array, or a graph folder, of which samples
        are looked at (notes say how far they differ). For graph classification a list or dataset of graphs with a
        class each, a folder in TU layout, or what else `graphnetz.selection.collection.read_collection` reads.
    task_type
        ``"link_pred"``, ``"node_cls"`` or ``"graph_cls"``, or any task type the bank has records for.
    top
        Length of the shortlist.
    budget
        Seconds one training run may take; configurations expected to take longer are left out.
    bank
        Default: the bank that ships with the package; published ones are in `graphnetz.selection.published.BANKS`.
    selector
        Default: regression on the landmarks of the bank's real graphs (`graphnetz.selection.real`) and, where the
        bank knows too few, `KernelSelector` without forests on the structure of all its graphs.
    level
        Probability that an interval is meant to cover.
    orbits
        ``"sampled"`` counts edge orbits on 20,000 edges of a larger graph, where a selector looks at structure at all;
        a note states the error.

    Returns
    -------
    Recommendation
        The shortlist, best first, with intervals and how familiar the graph is.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz.selection import recommend
    >>> [choice.rank for choice in recommend(nx.karate_club_graph(), "link_pred", top=2).choices]
    [1, 2]
    """
    if top < 1:
        raise UsageError(f"top must be at least 1, got {top}.")
    check_how(orbits)
    if task_type == "graph_cls":
        several = read_collection(graph) if isinstance(graph, str | Path) else as_collection(graph)
        return _recommended(several, task_type, top, budget, bank=bank, selector=selector, level=level, orbits=orbits)
    if isinstance(graph, GraphFolder) or is_folder(graph):
        folder = graph if isinstance(graph, GraphFolder) else GraphFolder.open(graph)
        return _of_folder(folder, task_type, top, budget, bank=bank, selector=selector, level=level, orbits=orbits)
    return _recommended(
        as_graph(graph), task_type, top, budget, bank=bank, selector=selector, level=level, orbits=orbits
    )


def _recommended(
    one: Graph | Collection, task_type: str, top: int, budget: float | None, *,
    bank: PerformanceBank | PublishedBank | None, selector: Selector | None, level: float, orbits: str,
    nodes: int | None = None, edges: int | None = None,
) -> Recommendation:  # fmt: skip
    """The recommendation for a graph in memory; costs are those of ``nodes`` and ``edges`` if given."""
    _check(one, task_type)
    held = bank if bank is not None else PerformanceBank.load()
    records = held.matrix(task_type)
    if len(records.graphs) < 5 or len(records.configurations) < 2:
        raise UsageError(
            f"The bank has {len(records.graphs)} graphs and {len(records.configurations)} configurations for "
            f"{task_type!r}; a recommendation needs 5 and 2. Collect more."
        )
    basis: Basis | None = None
    seen: tuple[str, ...] = ()
    if selector is None and not isinstance(held, PublishedBank):
        basis = advice_for(held, one, task_type, level=level)
    if basis is None:  # structure is looked at where landmarks do not decide
        new, seen = described(one, held.feature_set if isinstance(held, PublishedBank) else _usual(one), orbits)
        basis = _from_all(records, new, selector or KernelSelector(trees=0), level)
        if task_type == "link_pred" and one.num_edges < LEAST_EDGES:
            few = f"It has {one.num_edges} edges, too few to learn from and to test on: the order says little."
            seen = (*seen, few)
    columns = [records.configurations.index(item) for item in basis.configurations]
    size, new_size = (
        (records.size, 1.0)
        if isinstance(held, PublishedBank)
        else _work(held, records, (nodes or one.num_nodes, edges or one.num_edges), one)
    )
    # A collection costs as much per graph, whatever their number: those of the bank have about the same.
    known = 1.0 if isinstance(held, PublishedBank) else _counts(held, records)
    own = one.num_graphs if isinstance(one, Collection) else 1.0
    seconds = (own * expected_cost(records.seconds / known, size / known, new_size / own))[columns]
    memory = expected_cost(records.memory, size, new_size)[columns]
    order, notes = _within_budget(basis.order, seconds, budget)
    notes = (*basis.notes, *notes, *seen)
    if isinstance(held, PublishedBank):
        notes = (*notes, f"Records: {held.citation}; licence {held.licence}.", *held.notes.get(task_type, ()))
    choices = tuple(
        Choice(
            *(position + 1, basis.configurations[j], float(basis.forecast.mean[j])),
            *(float(basis.forecast.low[j]), float(basis.forecast.high[j]), float(seconds[j]), float(memory[j])),
        )
        for position, j in enumerate(order[:top])
    )
    return Recommendation(
        *(one, task_type, records.metric, choices, basis.familiarity, level),
        *(basis.known_graphs, len(basis.configurations), float(basis.shortfall[order[0]]), notes),
    )


def _check(one: Graph | Collection, task_type: str) -> None:
    """Refuse what no model could learn."""
    if task_type == "link_pred" and one.num_edges == one.num_nodes * (one.num_nodes - 1) // 2:
        raise UsageError(f"Every pair of the {one.num_nodes} nodes has an edge: there is no link left to predict.")
    if task_type == "node_cls" and one.labels is not None:
        held = one.labels[one.labels >= 0]
        if 2 * (classes := len(np.unique(held))) > len(held):
            raise UsageError(
                f"There are {classes} classes for {len(held)} nodes: hardly two nodes share one, so nothing can be "
                "learned. Give the column of the classes with --label-column (label_column=)."
            )


def _of_folder(folder: GraphFolder, task_type: str, top: int, budget: float | None, **options: Any) -> Recommendation:
    """What samples of a graph on disk say together, and how far they differ."""
    if task_type != "node_cls":
        raise UsageError("Nodes of a graph folder are classified; ask for that (--task node_cls).")
    counts = FolderCounts(folder)
    if counts.labels is None:
        raise UsageError(f"{str(folder.path)!r} holds no labels or no split. Convert it with --labels.")
    nodes, edges = folder.num_nodes, int(counts.degree.sum(dtype=np.int64)) // 2
    samples = [counts.sample(seed) for seed in range(SAMPLES)]
    found = [_recommended(one, task_type, 10**6, budget, nodes=nodes, edges=edges, **options) for one in samples]
    rows = [{choice.name: choice for choice in one.choices} for one in found]
    names = [name for name in rows[0] if all(name in row for row in rows)]
    names.sort(key=lambda name: float(np.mean([row[name].rank for row in rows])))
    choices = tuple(
        replace(
            rows[0][name], rank=place, score=float(np.mean([row[name].score for row in rows])),
            low=min(row[name].low for row in rows), high=max(row[name].high for row in rows),
        )
        for place, name in enumerate(names[:top], 1)
    )  # fmt: skip
    apart = max(float(np.ptp([row[choice.name].score for row in rows])) for choice in choices)
    same = sum(one.choices[0].name == choices[0].name for one in found)
    sizes, column = [one.num_nodes for one in samples], feature_names("labels").index("homophily_edge")
    alike = [float(meta_features(one, "labels")[column]) for one in samples]
    notes = (
        f"The graph lies on disk: {SAMPLES} samples of {min(sizes):,} to {max(sizes):,} of its {nodes:,} nodes, around "
        f"training and validation nodes, were looked at. Predictions for the shortlist differ by up to {apart:.3f} "
        f"between them, and {choices[0].name} comes first in {same} of {SAMPLES}; intervals hold those of all samples.",
        f"Counted on the whole graph: mean degree {2 * edges / nodes:.1f} (in the samples "
        f"{np.mean([2 * one.num_edges / one.num_nodes for one in samples]):.1f}), share of edges inside a class "
        f"{counts.edges[1][0]:.3f} (in the samples {np.mean(alike):.3f}).",
    )
    return replace(
        found[0], choices=choices, notes=(*found[0].notes, *notes), extra={"nodes": nodes, "edges": edges},
        within=float(np.mean([one.within for one in found])),
    )  # fmt: skip


def _usual(one: Graph | Collection) -> str:
    """What a bank describes its graphs by."""
    return COLLECTION_SET if isinstance(one, Collection) else FEATURE_SET


def _counts(bank: PerformanceBank, records: Matrix) -> FloatArray:
    return np.array([[bank.graphs[name].graphs] for name in records.graphs], dtype=np.float64)


def _work(
    bank: PerformanceBank, records: Matrix, size: tuple[int, int], graph: Graph | Collection
) -> tuple[FloatArray, FloatArray]:
    """What a run works on, per known graph and configuration, and per configuration on the new graph.

    Nodes, edges and, for methods that look at them, a sixteenth of the feature values that are not zero: with it the
    same graph with and without its features takes the measured ratio (Cora 1.3, Wisconsin 2).
    """
    name, looked_at = "feature_nonzero_mean", COLLECTION_SET if isinstance(graph, Collection) else "features"
    column, place = feature_names(_usual(graph)).index(name), feature_names(looked_at).index(name)
    nodes = np.array([bank.graphs[name].nodes for name in records.graphs], dtype=np.float64)
    looks = np.array([item.method not in building.WITHOUT_FEATURES for item in records.configurations])
    values = np.nan_to_num(records.M[:, column]) * nodes / _VALUES_PER_EDGE
    own = float(np.nan_to_num(meta_features(graph, looked_at)[place])) * size[0] / _VALUES_PER_EDGE
    return records.size[:, None] + values[:, None] * looks, float(sum(size)) + own * looks


def _from_all(records: Matrix, new: FloatArray, selector: Selector, level: float) -> Basis:
    """What every graph of the bank says to a graph with these meta-features."""
    usable = np.isfinite(new) & (np.isfinite(records.M).mean(axis=0) >= 0.5)
    known, query = np.nan_to_num(records.M[:, usable]), new[usable][None, :]
    order = np.argsort(-selector.fit(records.P, known).predict(query)[0], kind="stable")
    a, b = ranked(known, query)
    return Basis(
        records.configurations, order, forecast(records.P, a, b, level=level),
        familiarity(records.graphs, known, query), _shortfalls(records.P, a, b), len(records.graphs),
    )  # fmt: skip


def _shortfalls(P: FloatArray, known: FloatArray, new: FloatArray) -> FloatArray:
    """Mean distance of each configuration from the best one on the known graphs that are nearest and have it."""
    missed = np.nanmax(P, axis=1, keepdims=True) - P
    near = missed[np.argsort(distances(new, known)[0], kind="stable")]
    counted = np.isfinite(near) & (np.cumsum(np.isfinite(near), axis=0) <= NEAREST)
    count = counted.sum(axis=0)
    total = np.where(counted, near, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _within_budget(order: Any, seconds: Any, budget: float | None) -> tuple[Any, tuple[str, ...]]:
    if budget is None:
        return order, ()
    fits = ~(seconds[order] > budget)  # an unknown cost is kept, and shown as unknown
    if not fits.any():
        least = float(np.nanmin(seconds))
        raise UsageError(
            f"No configuration is expected to train within {budget:g} s; the cheapest takes {least:.2g} s."
        )
    dropped = int((~fits).sum())
    note = f"{dropped} configurations were left out because they are expected to take longer than {budget:g} s."
    return order[fits], (note,) if dropped else ()


def _rounded(value: float) -> float | str:
    return float(f"{value:.3g}") if np.isfinite(value) else "unknown"
