"""A race of candidates on one's own graph within a time budget: the answer is measured, not guessed.

Successive halving (Jamieson and Talwalkar, 2016): many candidates are trained for a few epochs on one split, the better
ones for longer, and the best ones in full on several splits. Validation decides; test values are only reported.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphnetz._core.errors import UsageError
from graphnetz._core.text import counted

if TYPE_CHECKING:
    from graphnetz.models import ModelSpec
    from graphnetz.records import CellResult, Protocol, Task
    from graphnetz.selection.recommend import Recommendation

RUNGS = ((1 / 20, 0.3), (1 / 5, 0.55))
"""Share of the epochs that a rung trains for, and share of the time after which none of its runs begins."""
FINALISTS = 3
"""Candidates that are trained in full on every split before others are."""
_SLACK = 0.97
"""Share of the budget after which nothing is begun: what is being trained has to be stopped, and the answer written."""


@dataclass(frozen=True)
class Contender:
    """What a race found out about one candidate.

    Parameters
    ----------
    name, prior
        Its name, and its place in the order it entered the race with; 1 is the first.
    validation, test
        Metric of the runs in full, one value per split.
    half
        Half the width of the 95 % interval of the mean test metric, corrected for splits that share examples (Nadeau
        and Bengio, 2003); NaN for fewer than two splits.
    epochs
        Most epochs it was trained for; 0 when it was never begun.
    seconds
        Wall-clock time of all its runs.
    error
        Why it could not be trained.

    Examples
    --------
    >>> Contender("GCN", 1, validation=(0.7, 0.8), test=(0.6, 0.8)).mean
    0.7
    """

    name: str
    prior: int
    validation: tuple[float, ...] = ()
    test: tuple[float, ...] = ()
    half: float = math.nan
    epochs: int = 0
    seconds: float = 0.0
    error: str = ""

    @property
    def splits(self) -> int:
        """Number of splits it was measured on in full."""
        return len(self.test)

    @property
    def mean(self) -> float:
        """Mean test metric; NaN when it was not measured in full."""
        return sum(self.test) / len(self.test) if self.test else math.nan


@dataclass(frozen=True)
class Race:
    """The outcome of a race, best first.

    Parameters
    ----------
    metric, greater_is_better
        What was measured.
    contenders
        First those measured on all splits, by mean validation; then those on fewer; then the rest in prior order.
    seconds, budget
        Time that it took and that it was given; None for no limit.
    splits
        Number of splits that finalists are measured on.
    results
        The runs in full, as the engine files them.

    Examples
    --------
    >>> found = Race("auc", True, (Contender("GCN", 1, (0.8,), (0.7,)), Contender("GAT", 2)), 1.0, 2.0, 1)
    >>> [contender.name for contender in found.measured]
    ['GCN']
    """

    metric: str
    greater_is_better: bool
    contenders: tuple[Contender, ...]
    seconds: float
    budget: float | None
    splits: int
    results: tuple[CellResult, ...] = field(default=(), repr=False, compare=False)

    @property
    def measured(self) -> tuple[Contender, ...]:
        """Those with at least one run in full, best first."""
        return tuple(item for item in self.contenders if item.splits)

    @property
    def first(self) -> Contender:
        """The candidate that entered the race as the first."""
        return min(self.contenders, key=lambda item: item.prior)

    def sentences(self) -> tuple[str, ...]:
        """Say what was tried, and how the first choice of the prior fared.

        Returns
        -------
        tuple of str
            For the reader of the table.

        Examples
        --------
        >>> found = Race("auc", True, (Contender("GCN", 2, (0.8,), (0.7,)), Contender("GAT", 1)), 1.0, 2.0, 1)
        >>> found.sentences()[-1]
        'The time did not suffice to train GAT, first before probing, in full: GCN was not compared with it.'
        """
        tried = sum(1 for item in self.contenders if item.epochs or item.splits)
        limit = "" if self.budget is None else f" of {self.budget:.3g} s"
        how = "Probed" if self.budget is not None else "Trained"
        out = [
            f"{how} in {self.seconds:.1f} s{limit}: {tried} of {counted(len(self.contenders), 'configuration')} tried, "
            f"{len(self.measured)} in full; validation chose, test values are shown."
        ]
        if not self.measured:
            out.append("The time sufficed for none in full: the order is that of the known graphs. Give more time.")
            return tuple(out)
        best, first = self.measured[0], self.first
        if first.error:
            out.append(f"{first.name}, first before probing, could not be trained: {first.error}")
        elif not first.splits:
            out.append(
                f"The time did not suffice to train {first.name}, first before probing, in full: {best.name} was not "
                "compared with it."
            )
        elif best is not first:
            out.append(f"{first.name}, first before probing, reached {first.mean:.3f}.")
        return tuple(out)


def parse_seconds(text: str | float) -> float:
    """Read a time such as ``60s``, ``2m``, ``1h`` or plain seconds.

    Parameters
    ----------
    text
        A number with or without a unit.

    Returns
    -------
    float
        Seconds.

    Examples
    --------
    >>> parse_seconds("60s"), parse_seconds("1.5m"), parse_seconds(5)
    (60.0, 90.0, 5.0)
    """
    word = str(text).strip().lower()
    factor = {"s": 1.0, "m": 60.0, "h": 3600.0}.get(word[-1:], 0.0)
    try:
        value = float(word[:-1]) * factor if factor else float(word)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise UsageError(f"{text!r} is no time. Give seconds above 0, such as 60s, 2m or 1h.")
    return value


def probe(
    recommendation: Recommendation,
    budget: float | str = 60.0,
    *,
    splits: int = 3,
    epochs: int | None = None,
    say: Callable[[str], object] = str,
) -> Race:
    """Race the configurations of a recommendation on its graph, with splits and protocol of the bank.

    Parameters
    ----------
    recommendation
        Graph, and candidates in prior order; ask for a long shortlist, `recommend(..., top=100)`.
    budget
        Seconds of wall-clock time, or text such as ``"60s"``.
    splits
        Splits on which the best are measured.
    epochs
        Most epochs of a run in full; None takes those of the bank.
    say
        Told what is done.

    Returns
    -------
    Race
        Best first, with test values of every split.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphnetz.selection import recommend
    >>> from graphnetz.selection.probe import probe
    >>> found = probe(recommend(nx.karate_club_graph(), "link_pred", top=3), "20s", splits=1, epochs=5)
    >>> found.measured[0].splits
    1
    """
    begin = time.perf_counter()  # importing torch is part of the time that a user waits
    from graphnetz.selection.building import engine_model
    from graphnetz.selection.collect import PROTOCOL, measured_task

    task = measured_task(recommendation.graph, recommendation.task_type, epochs=epochs)
    candidates = {choice.name: engine_model(choice.configuration) for choice in recommendation.choices}
    expected = {choice.name: choice.seconds for choice in recommendation.choices}
    return _Track(
        task, candidates, parse_seconds(budget), tuple(range(splits)), PROTOCOL, expected, begin=begin, say=say
    )()


def race(
    task: Task,
    candidates: Mapping[str, ModelSpec],
    *,
    budget: float,
    seeds: Iterable[int] = range(3),
    protocol: Mapping[str, Any] | None = None,
    expected: Mapping[str, float] | None = None,
    root: str = "data/benchmark",
    say: Callable[[str], object] = str,
) -> Race:
    """Race models on a task within a time budget.

    Parameters
    ----------
    task
        What they are trained on.
    candidates
        Models by name, in prior order; the first is trained in full whatever happens, if time allows.
    budget
        Seconds of wall-clock time; what runs when it is over is stopped.
    seeds
        Splits on which the best are measured.
    protocol
        Settings of training.
    expected
        Seconds that a run in full is expected to take, where something is known.
    root
        Where datasets are kept.
    say
        Told what is done.

    Returns
    -------
    Race
        Best first.

    Examples
    --------
    >>> from graphnetz.datasets import task_of
    >>> from graphnetz.models import MODELS
    >>> race(task_of("karate_club"), {"GCN": MODELS["GCN"]}, budget=20, seeds=[0]).measured[0].name
    'GCN'
    """
    if not candidates:
        raise UsageError("There is nothing to race: give at least one candidate.")
    begin = time.perf_counter()
    made = _Track(
        task, candidates, budget, tuple(seeds), protocol or {}, expected or {}, begin=begin, root=root, say=say
    )
    return made()


def measure(
    task: Task,
    candidates: Mapping[str, ModelSpec],
    *,
    seeds: Iterable[int] = range(3),
    protocol: Mapping[str, Any] | None = None,
    root: str = "data/benchmark",
    workers: int | None = None,
    out: str | Path | None = None,
) -> Race:
    """Train all candidates in full on all splits, several at a time: a race without a time limit.

    Parameters
    ----------
    task, candidates, seeds, protocol, root
        As in `race`.
    workers
        Cells at a time.
    out
        Run folder to keep; an existing one is resumed.

    Returns
    -------
    Race
        Best first.

    Examples
    --------
    >>> from graphnetz.datasets import task_of
    >>> from graphnetz.models import MODELS
    >>> measure(task_of("karate_club"), {"GCN": MODELS["GCN"]}, seeds=[0], protocol={"epochs": 2}).measured[0].splits
    1
    """
    from graphnetz.engine.run import run_benchmark

    begin, wanted = time.perf_counter(), tuple(seeds)
    report = run_benchmark(
        models=dict(candidates), tasks=task, seeds=wanted, protocol=protocol, root=root, workers=workers, out=out,
        verbose=False, save_predictions=False,
    )  # fmt: skip
    first = next((result for result in report.results if result.ok), None)
    absent = {model: why for (_, model), why in report.absent.items()}
    if first is None:
        reasons = [result.error for result in report.results] or list(absent.values())
        raise UsageError(f"None could be trained: {reasons[0] if reasons else 'none serves the task'}")
    metric, greater = first.metric.removeprefix("test_"), first.greater_is_better
    rows = []
    for place, name in enumerate(candidates, 1):
        runs = [result for result in report.results if result.model == name]
        made = _contender(name, place, [run for run in runs if run.ok], metric, first.n_test / max(first.n_train, 1))
        error = next((run.error for run in runs if not run.ok), absent.get(name, ""))
        longest, seconds = max((run.epochs for run in runs), default=0), sum(run.seconds for run in runs)
        rows.append(replace(made, epochs=longest, seconds=seconds, error=error))
    took = time.perf_counter() - begin
    return Race(metric, greater, _ordered(rows, greater), took, None, len(wanted), results=tuple(report.results))


@dataclass
class _Lane:
    """The runs of one candidate."""

    spec: ModelSpec
    prior: int
    expected: float
    runs: dict[tuple[int, int], CellResult] = field(default_factory=dict)
    seconds: float = 0.0
    error: str = ""

    def last(self, seed: int) -> tuple[int, CellResult] | None:
        """The longest run on a split."""
        found = [(epochs, run) for (held, epochs), run in self.runs.items() if held == seed]
        return max(found, key=lambda item: item[0], default=None)

    def done(self, seed: int, epochs: int) -> bool:
        """Whether a run of so many epochs would say nothing new: it was made, or a shorter one ended by itself."""
        last = self.last(seed)
        return last is not None and (last[0] >= epochs or last[1].epochs < last[0])

    def price(self, seed: int, epochs: int, full: int, pace: float) -> float:
        """Seconds that a run is likely to take at most."""
        last = self.last(seed) or next(((e, r) for (_, e), r in self.runs.items()), None)
        if last is not None:
            return last[1].seconds * (epochs / last[0] if last[1].epochs >= last[0] else 1.0)
        whole = self.expected * pace
        return whole * epochs / full if whole == whole else 0.0


class _Track:
    """Runs a race."""

    def __init__(
        self, task: Task, candidates: Mapping[str, ModelSpec], budget: float, seeds: tuple[int, ...],
        protocol: Mapping[str, Any], expected: Mapping[str, float], *, begin: float, root: str = "data/benchmark",
        say: Callable[[str], object] = str,
    ) -> None:  # fmt: skip
        import graphnetz.kernels as kernels
        from graphnetz.engine.executors import EXECUTORS
        from graphnetz.engine.plan import resolve_protocol
        from graphnetz.engine.worker import Workbench
        from graphnetz.metrics import METRICS

        self.begin, self.budget, self.seeds, self.say = begin, budget, seeds, say
        self.task = task
        self.protocol: Protocol = resolve_protocol(task, dict(protocol))
        serving = {name: spec for name, spec in candidates.items() if spec.serves(task.task_type)}
        self.lanes = {
            name: _Lane(spec, place, expected.get(name, math.nan))
            for place, (name, spec) in enumerate(serving.items(), 1)
        }
        self.bench = Workbench({task.name: task}, serving, root, save_predictions=False)
        self.executor = EXECUTORS["serial"](workers=1)
        kernels.load()
        split = self.bench.split(task.name, seeds[0])
        self.metric, self.ratio = split.metric, split.n_test / max(split.n_train, 1)
        self.greater = METRICS[self.metric].greater_is_better
        self.pace = 1.0
        self.start = self.elapsed  # imports and the first split take part of the budget, whatever is done then

    def __call__(self) -> Race:
        """Run rung after rung, then the finalists, and return the standings."""
        full, first = self.protocol.epochs, next(iter(self.lanes))
        entered: Sequence[str] = _spread(self.lanes)
        for share, until in RUNGS:
            epochs = max(round(full * share), min(5, full))
            for name in entered:
                self._run(name, self.seeds[0], epochs, until=until)
            ranked = self._ranked(entered)
            self.say(f"{self.elapsed:.1f} s: {len(ranked)} trained for up to {epochs} epochs")
            entered = list(dict.fromkeys([*ranked[: max(math.ceil(len(ranked) / 2), FINALISTS)], first]))
        self._finals(entered, first)
        return self._outcome()

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.begin

    def _finals(self, entered: Sequence[str], first: str) -> None:
        """Train in full: the best few on every split, then the next few, as long as there is time."""
        full = self.protocol.epochs
        waiting = [name for name in self._ranked(entered) if name != first]
        head, tried = [first, *waiting[:FINALISTS]], set[str]()
        while head:
            for seed in self.seeds:
                for name in head:
                    self._run(name, seed, full, until=1.0)
            tried |= {*head}
            rest = dict.fromkeys([*waiting, *self._ranked(self.lanes), *_spread(self.lanes)])
            head = [name for name in rest if name not in tried][:FINALISTS]

    def _run(self, name: str, seed: int, epochs: int, *, until: float) -> None:
        """Train one candidate, unless it is known, broken, or unlikely to fit into the time that is left."""
        from graphnetz.engine.executors import Limits
        from graphnetz.engine.executors.base import results_of
        from graphnetz.records import Cell

        lane = self.lanes[name]
        if lane.error or lane.done(seed, epochs):
            return
        left = self.start + (self.budget * _SLACK - self.start) * until - self.elapsed
        if left <= 0 or lane.price(seed, epochs, self.protocol.epochs, self.pace) > left:
            return
        cell = Cell(f"{name}-{seed}-{epochs}", self.task.name, name, seed, self.protocol.replace(epochs=epochs))
        limits = Limits(max(self.budget * _SLACK - self.elapsed, 0.01))
        before = time.perf_counter()
        result = results_of(self.executor, [cell], self.bench, limits=limits)[cell.key]
        result = replace(result, seconds=time.perf_counter() - before)
        lane.seconds += result.seconds
        if result.ok:
            lane.runs[seed, epochs] = result
            self._learn_pace()
        elif result.status != "timeout":
            lane.error = result.error

    def _learn_pace(self) -> None:
        """How much slower this machine is than that of the expected costs: the median over what was run."""
        ratios = sorted(
            run.seconds / (lane.expected * (min(epochs, self.protocol.epochs) / self.protocol.epochs))
            for lane in self.lanes.values() if lane.expected > 0
            for (_, epochs), run in lane.runs.items() if run.epochs >= epochs
        )  # fmt: skip
        if ratios:
            self.pace = ratios[len(ratios) // 2]

    def _value(self, result: CellResult) -> float:
        found = float(result.metrics.get(f"val_{self.metric}", math.nan))
        return found if self.greater else -found

    def _ranked(self, names: Iterable[str]) -> list[str]:
        """Names by validation on the first split: of the longest run, since all had the same chances."""
        held = [(name, self.lanes[name].last(self.seeds[0])) for name in names]
        known = [(self._value(last[1]), name) for name, last in held if last is not None]
        return [name for value, name in sorted(known, key=lambda item: -item[0]) if value == value]

    def _outcome(self) -> Race:
        full = self.protocol.epochs
        rows: list[Contender] = []
        results: list[CellResult] = []
        for name, lane in self.lanes.items():
            held = [lane.last(seed) for seed in self.seeds if lane.done(seed, full)]
            made = _contender(name, lane.prior, [run for _, run in filter(None, held)], self.metric, self.ratio)
            longest = max((run.epochs for run in lane.runs.values()), default=0)
            rows.append(replace(made, epochs=longest, seconds=lane.seconds, error=lane.error))
            results += [run for _, run in filter(None, held)]
        order, splits = _ordered(rows, self.greater), len(self.seeds)
        return Race(self.metric, self.greater, order, self.elapsed, self.budget, splits, results=tuple(results))


def _contender(name: str, prior: int, runs: Sequence[CellResult], metric: str, ratio: float) -> Contender:
    from graphnetz.stats import corrected_interval

    validation, test = (
        tuple(float(run.metrics.get(f"{part}_{metric}", math.nan)) for run in runs) for part in ("val", "test")
    )
    half = corrected_interval(test, ratio).half if len(test) > 1 else math.nan
    return Contender(name, prior, validation, test, half)


def _ordered(rows: Iterable[Contender], greater: bool) -> tuple[Contender, ...]:
    """Most splits first, then the best mean validation; among equals, and without a run, the prior decides."""

    def place(row: Contender) -> tuple[float, ...]:
        mean = sum(row.validation) / row.splits if row.splits else 0.0
        return -row.splits, math.inf if mean != mean else -mean if greater else mean, row.prior

    return tuple(sorted(rows, key=place))


def _spread(lanes: Mapping[str, _Lane]) -> list[str]:
    """Candidates in prior order, but one of each kind of model before the next of any: neighbours differ little."""
    seen: dict[Any, int] = {}
    turns = []
    for name, lane in lanes.items():
        seen[lane.spec.cls] = seen.get(lane.spec.cls, 0) + 1
        turns.append((seen[lane.spec.cls], lane.prior, name))
    return [name for _, _, name in sorted(turns)]
