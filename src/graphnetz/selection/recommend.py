"""Recommendation: which configurations to try on a graph, without training anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphnetz._core.errors import UsageError
from graphnetz.graphs.compressed import Graph, as_graph
from graphnetz.records import Section, Table, Task
from graphnetz.selection import building
from graphnetz.selection.bank import FEATURE_SET, PerformanceBank
from graphnetz.selection.forecast import Familiarity, expected_cost, familiarity, forecast, ranked
from graphnetz.selection.metafeatures import meta_features
from graphnetz.selection.selectors.base import Selector
from graphnetz.selection.selectors.kernel import KernelSelector
from graphnetz.selection.space import Configuration


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
        The new graph.
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
    notes
        What the reader should know.
    extra
        Further figures by name.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz.selection import recommend
    >>> found = recommend(nx.karate_club_graph(), "link_pred", top=3)
    >>> len(found.choices), found.known_graphs > 100
    (3, True)
    """

    graph: Graph
    task_type: str
    metric: str
    choices: tuple[Choice, ...]
    familiarity: Familiarity
    level: float
    known_graphs: int
    known_configurations: int
    notes: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def nearest(self) -> tuple[tuple[str, float], ...]:
        """Known graphs that resemble this one most, with their distance (0 same, 1 opposite)."""
        return self.familiarity.nearest

    @property
    def warning(self) -> str:
        """Says that the graph resembles none of the known ones; empty when it does."""
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
        return building.build_model(self._choice(position).configuration, *widths)

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
        return building.model_code(self._choice(position).configuration, *widths, learn_for=bare)

    def to_task(self, *, epochs: int = 300) -> Task:
        """Return this graph as a task that the benchmark runs, split and fed as the graphs of the bank were.

        Parameters
        ----------
        epochs
            Training epochs.

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

    def _choice(self, position: int) -> Choice:
        if not 0 <= position < len(self.choices):
            raise UsageError(f"There is no choice {position}; the shortlist has {len(self.choices)}, numbered from 0.")
        return self.choices[position]

    def _channels(self, in_channels: int | None, out_channels: int | None) -> tuple[int, int]:
        features, labels = self.graph.features, self.graph.labels
        wide_in = in_channels or (features.shape[1] if features is not None else 32)
        classes = int(labels.max()) + 1 if labels is not None and self.task_type == "node_cls" else 32
        return int(wide_in), int(out_channels or classes)


def recommend(
    graph: Any,
    task_type: str,
    top: int = 5,
    budget: float | None = None,
    *,
    bank: PerformanceBank | None = None,
    selector: Selector | None = None,
    level: float = 0.9,
) -> Recommendation:
    """Rank the configurations of a bank for a new graph, without training.

    Parameters
    ----------
    graph
        Edge list file, PyG Data, networkx graph, scipy matrix or edge_index array.
    task_type
        ``"link_pred"`` or ``"node_cls"``, or any task type the bank has records for.
    top
        Length of the shortlist.
    budget
        Seconds one training run may take; configurations expected to take longer are left out.
    bank
        Default: the bank that ships with the package.
    selector
        Default: `KernelSelector` without forests, which needs a fraction of a second.
    level
        Probability that an interval is meant to cover.

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
    one = as_graph(graph)
    records = (bank if bank is not None else PerformanceBank.load()).matrix(task_type)
    if len(records.graphs) < 5 or len(records.configurations) < 2:
        raise UsageError(
            f"The bank has {len(records.graphs)} graphs and {len(records.configurations)} configurations for "
            f"{task_type!r}; a recommendation needs 5 and 2. Collect more."
        )
    new = meta_features(one, FEATURE_SET)
    usable = np.isfinite(new) & (np.isfinite(records.M).mean(axis=0) >= 0.5)
    known, query = np.nan_to_num(records.M[:, usable]), new[usable][None, :]
    scores = (selector or KernelSelector(trees=0)).fit(records.P, known).predict(query)[0]
    a, b = ranked(known, query)
    predicted = forecast(records.P, a, b, level=level)
    size = float(one.num_nodes + one.num_edges)
    seconds = expected_cost(records.seconds, records.size, size)
    memory = expected_cost(records.memory, records.size, size)
    order, notes = _within_budget(np.argsort(-scores, kind="stable"), seconds, budget)
    choices = tuple(
        Choice(
            *(position + 1, records.configurations[j], float(predicted.mean[j])),
            *(float(predicted.low[j]), float(predicted.high[j]), float(seconds[j]), float(memory[j])),
        )
        for position, j in enumerate(order[:top])
    )
    return Recommendation(
        *(one, task_type, records.metric, choices, familiarity(records.graphs, known, query), level),
        *(len(records.graphs), len(records.configurations), notes),
    )


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
