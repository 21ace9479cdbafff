"""Separability inside an existing training pipeline: the user trains, the study records and judges."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from torch_geometric.data import Data

from graphnetz._core.errors import MissingExtraError, UsageError
from graphnetz._core.paths import write_file
from graphnetz.rings.decisions import Decision, Part, Rule, decide_modes
from graphnetz.rings.perturbations import PERTURBATIONS, perturb_dataset
from graphnetz.rings.rules import Assessment, combine
from graphnetz.rings.separability import SeparabilityResult, separability

MODES = ("o", "eg", "cg", "rg", "cf", "rf")
"""The original and the five perturbations that networks can be trained on (Table 4 of the paper)."""


@dataclass(frozen=True)
class ModeScore:
    """One test score: which mode and model, which metric, which run; ``validation`` chooses between models."""

    mode: str
    model: str
    metric: str
    run: Hashable
    value: float
    validation: float = math.nan


def best_models(scores: Iterable[ModeScore], metric: str, *, greater_is_better: bool) -> dict[str, str]:
    """Return the model with the best mean validation score of every mode, the first of equally good ones.

    The test scores are what is compared, so they may not choose: the best of several models on the test set would
    flatter the modes on which scores vary most.
    """
    sign = 1 if greater_is_better else -1
    values: dict[str, dict[str, list[float]]] = {}
    for score in scores:
        if score.metric == metric:
            values.setdefault(score.mode, {}).setdefault(score.model, []).append(sign * score.validation)
    for mode, item in values.items():
        if len(item) > 1 and not np.isfinite([value for row in item.values() for value in row]).all():
            raise UsageError(
                f"{mode!r} has scores of {len(item)} models and not all have a validation score to choose by. "
                "Record validation= with every score, or the scores of one model."
            )
    return {mode: max(item, key=lambda name, i=item: np.mean(i[name])) for mode, item in values.items()}  # type: ignore[misc]


def runs_of(scores: Iterable[ModeScore], metric: str, mode: str, model: str) -> dict[Hashable, float]:
    """Return run -> score of one model on one mode."""
    return {s.run: s.value for s in scores if (s.metric, s.mode, s.model) == (metric, mode, model)}


def compare_runs(
    runs: Mapping[str, Mapping[Hashable, float]],
    *,
    within_runs: bool = False,
    blocks: Mapping[Hashable, Hashable] | None = None,
    **options: Any,
) -> SeparabilityResult:
    """Describe how modes differ; paired tests take the runs that all modes have.

    ``blocks`` names the fold or fixed split of each run; where some share one, whole blocks are exchanged.
    """
    names = list(dict.fromkeys(run for values in runs.values() for run in values))
    block = {run: blocks.get(run, run) for run in names} if blocks else {run: run for run in names}
    clustered = len(set(block.values())) < len(names)
    if within_runs or clustered or options.get("statistic") == "signedrank":
        common = [run for run in names if all(run in other for other in runs.values())]
        runs = {mode: {run: values[run] for run in common} for mode, values in runs.items()}
        if within_runs or clustered:
            options.setdefault("blocks", [block[run] for run in common])
    return separability({mode: list(values.values()) for mode, values in runs.items()}, **options)


def decide_runs(
    runs: Mapping[str, Mapping[Hashable, float]],
    metric: str,
    *,
    rule: Rule,
    greater_is_better: bool,
    blocks: Mapping[Hashable, Hashable] | None = None,
) -> dict[Part, Decision]:
    """Decide about structure and features from runs by name; a run that a mode lacks counts as failed there."""
    names = list(dict.fromkeys(run for values in runs.values() for run in values))
    if all(isinstance(run, int) for run in names):  # runs of a benchmark are read in the order of their seeds
        names = list(range(max(cast("list[int]", names)) + 1))
    table = {mode: [values.get(run, math.nan) for run in names] for mode, values in runs.items()}
    labels = [blocks.get(run, run) for run in names] if blocks else None
    return decide_modes(table, metric, rule=rule, greater_is_better=greater_is_better, blocks=labels)


def assess_decisions(decisions: Mapping[str, Mapping[Part, Decision]]) -> Assessment:
    """Join the decisions of all metrics into one assessment."""
    structure, features = (
        combine([found[part].outcome for found in decisions.values()]) for part in ("structure", "features")
    )
    return Assessment(structure[0], features[0], {"structure": structure[1], "features": features[1]})


@dataclass
class SeparabilityStudy:
    """Collects scores of original and perturbed datasets and evaluates their separability.

    For models trained in a loop of your own; `evaluate` does all of it by itself.

    Parameters
    ----------
    modes
        Perturbations to compare.
    directions
        By metric: whether greater is better. Metrics not named here count as greater-is-better.
    records, blocks
        Scores recorded before, and the blocks of their runs.

    Examples
    --------
    >>> from graphnetz.rings import SeparabilityStudy
    >>> study = SeparabilityStudy(modes=("o", "eg"))
    >>> for run in range(10):
    ...     for mode in study.modes:
    ...         study.record(mode, 0.9 - 0.2 * (mode == "eg") + run / 1000, metric="acc", run=run)
    >>> study.evaluate("acc").relation
    'o > eg'
    """

    modes: tuple[str, ...] = MODES
    directions: dict[str, bool] = field(default_factory=dict)
    records: list[ModeScore] = field(default_factory=list)
    blocks: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for mode in self.modes:
            _ = PERTURBATIONS[mode]

    def datasets(self, graphs: Iterable[Data], *, seed: int = 0, **options: Any) -> dict[str, list[Data]]:
        """Return the dataset under every mode, ready for your own training loop.

        Parameters
        ----------
        graphs
            The original graphs.
        seed
            Seed of random perturbations.
        **options
            Options of the perturbations, such as ``width``.

        Returns
        -------
        dict of list
            Mode -> perturbed graphs in the same order.

        Examples
        --------
        >>> import torch
        >>> from torch_geometric.data import Data
        >>> from graphnetz.rings import SeparabilityStudy
        >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> sets = SeparabilityStudy(modes=("o", "eg")).datasets([path])
        >>> {mode: graphs[0].num_edges for mode, graphs in sets.items()}
        {'o': 4, 'eg': 0}
        """
        from graphnetz.rings.tasks import PerturbedLoader, degree_features

        source = degree_features(list(graphs))
        out = {}
        for mode in self.modes:
            widths = PerturbedLoader(list, mode)._options(source)
            out[mode] = perturb_dataset(source, mode, seed=seed, **{**widths, **options})
        return out

    def record(
        self,
        mode: str,
        value: float,
        *,
        metric: str,
        run: Hashable,
        model: str = "model",
        validation: float = math.nan,
        block: Hashable = None,
    ) -> None:
        """Add one score.

        Parameters
        ----------
        mode
            One of the study's modes.
        value
            Test score of the run.
        metric
            Name of the metric.
        run
            Names fold and seed; runs with the same name are paired across modes.
        model
            Name of the model.
        validation
            Validation score of the run; needed where a mode has several models to choose from.
        block
            Fold or fixed split of the run, where several runs share one: such runs are no independent evidence.

        Examples
        --------
        >>> from graphnetz.rings import SeparabilityStudy
        >>> study = SeparabilityStudy()
        >>> study.record("o", 0.91, metric="acc", run="fold 0, seed 0", model="GCN")
        >>> study.metrics
        ('acc',)
        """
        if mode not in self.modes:
            raise UsageError(f"The study has no mode {mode!r}. Its modes: {', '.join(self.modes)}.")
        entry = ModeScore(mode, model, metric, str(run), float(value), float(validation))
        if any((r.mode, r.metric, r.run, r.model) == (mode, metric, entry.run, model) for r in self.records):
            raise UsageError(f"{mode!r} already has a {metric!r} of {model!r} for run {entry.run!r}.")
        if block is not None and self.blocks.setdefault(str(run), str(block)) != str(block):
            raise UsageError(f"Run {entry.run!r} is in block {self.blocks[str(run)]!r} already, not in {block!r}.")
        self.records.append(entry)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics recorded so far."""
        return tuple(dict.fromkeys(record.metric for record in self.records))

    def best_models(self, metric: str) -> dict[str, str]:
        """Return the model with the best mean validation score of every mode.

        Parameters
        ----------
        metric
            Name of a recorded metric.

        Returns
        -------
        dict of str
            Mode -> model.

        Examples
        --------
        >>> from graphnetz.rings import SeparabilityStudy
        >>> study = SeparabilityStudy()
        >>> study.record("o", 0.91, metric="acc", run=0, model="GCN", validation=0.88)
        >>> study.record("o", 0.90, metric="acc", run=0, model="GIN", validation=0.93)
        >>> study.best_models("acc")
        {'o': 'GIN'}
        """
        ordered = sorted(self.records, key=lambda record: record.model)  # of equally good models the first by name
        return best_models(ordered, metric, greater_is_better=self.directions.get(metric, True))

    def scores(self, metric: str) -> dict[str, dict[Hashable, float]]:
        """Scores of the best model of every mode.

        Parameters
        ----------
        metric
            Name of a recorded metric.

        Returns
        -------
        dict of dict
            Mode -> run -> score.

        Examples
        --------
        >>> from graphnetz.rings import SeparabilityStudy
        >>> study = SeparabilityStudy()
        >>> study.record("o", 0.91, metric="acc", run=0)
        >>> study.scores("acc")
        {'o': {'0': 0.91}}
        """
        best = self.best_models(metric)
        if not best:
            raise UsageError(f"No score of {metric!r} was recorded. Recorded: {', '.join(self.metrics) or 'none'}.")
        return {mode: runs_of(self.records, metric, mode, best[mode]) for mode in self.modes if mode in best}

    def evaluate(self, metric: str, *, within_runs: bool = False, **options: Any) -> SeparabilityResult:
        """Compare all modes on one metric.

        Parameters
        ----------
        metric
            Name of a recorded metric.
        within_runs
            Permute modes within runs of the same name only.
        **options
            Passed on to `separability`.

        Returns
        -------
        SeparabilityResult
            Pairs, groups and the relation string.

        Examples
        --------
        >>> from graphnetz.rings import SeparabilityStudy
        >>> study = SeparabilityStudy(modes=("o", "eg"))
        >>> for run in range(10):
        ...     study.record("o", 0.9 + run / 1000, metric="acc", run=run)
        ...     study.record("eg", 0.9 - run / 1000, metric="acc", run=run)
        >>> study.evaluate("acc", permutations=500).relation
        'o > eg'
        """
        options.setdefault("greater_is_better", self.directions.get(metric, True))
        return compare_runs(self.scores(metric), within_runs=within_runs, blocks=self._blocks, **options)

    @property
    def _blocks(self) -> dict[Hashable, Hashable]:
        out: dict[Hashable, Hashable] = {}
        out.update(self.blocks)
        return out

    def decide(self, metric: str, *, rule: Rule | None = None) -> dict[Part, Decision]:
        """Decide whether structure and features are informative on one metric.

        Parameters
        ----------
        metric
            Name of a recorded metric.
        rule
            Level and margin; default `Rule()`.

        Returns
        -------
        dict of Decision
            By ``"structure"`` and ``"features"``.

        Examples
        --------
        >>> from graphnetz.rings import SeparabilityStudy
        >>> study = SeparabilityStudy(modes=("o", "eg"))
        >>> for run in range(10):
        ...     study.record("o", 0.9 + run / 1000, metric="acc", run=run)
        ...     study.record("eg", 0.9 - run / 1000, metric="acc", run=run)
        >>> study.decide("acc")["structure"].outcome
        'uninformative'
        """
        better = self.directions.get(metric, True)
        return decide_runs(
            self.scores(metric), metric, rule=rule or Rule(), greater_is_better=better, blocks=self._blocks
        )

    def assess(self, *, rule: Rule | None = None) -> Assessment:
        """Decide about structure and features from all recorded metrics.

        Parameters
        ----------
        rule
            Level and margin; default `Rule()`.

        Returns
        -------
        Assessment
            Whether structure and features are informative.

        Examples
        --------
        >>> from graphnetz.rings import SeparabilityStudy
        >>> study = SeparabilityStudy(modes=("o", "eg", "rf"))
        >>> for run in range(10):
        ...     for mode, mean in {"o": 0.9, "eg": 0.7, "rf": 0.5}.items():
        ...         study.record(mode, mean + run / 1000, metric="acc", run=run)
        >>> study.assess().symbol
        '++'
        """
        return assess_decisions({metric: self.decide(metric, rule=rule) for metric in self.metrics})

    def save(self, path: str | Path) -> None:
        """Write the records as JSON.

        Parameters
        ----------
        path
            File to write; it appears whole or not at all.

        Examples
        --------
        >>> import tempfile
        >>> from graphnetz.rings import SeparabilityStudy
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     SeparabilityStudy(modes=("o", "eg")).save(f"{folder}/study.json")
        ...     SeparabilityStudy.load(f"{folder}/study.json").modes
        ('o', 'eg')
        """
        payload = {
            "modes": list(self.modes),
            "directions": self.directions,
            "records": [_as_json(record) for record in self.records],
            "blocks": self.blocks,
        }
        write_file(path, json.dumps(payload, indent=1))

    @classmethod
    def load(cls, path: str | Path) -> SeparabilityStudy:
        """Read a study written by `save`.

        Parameters
        ----------
        path
            The file.

        Returns
        -------
        SeparabilityStudy
            With the same modes, directions and records.

        Examples
        --------
        >>> import tempfile
        >>> from graphnetz.rings import SeparabilityStudy
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     SeparabilityStudy(modes=("o", "eg")).save(f"{folder}/study.json")
        ...     SeparabilityStudy.load(f"{folder}/study.json").records
        []
        """
        raw = json.loads(Path(path).read_text(encoding="utf-8"))
        records = [ModeScore(**record) for record in raw["records"]]
        return cls(tuple(raw["modes"]), dict(raw["directions"]), records, dict(raw.get("blocks", {})))

    def callback(self, mode: str, *, metric: str, run: Hashable, model: str = "model") -> Any:
        """Return a Lightning callback that records the logged ``metric`` when testing ends.

        Parameters
        ----------
        mode, metric, run, model
            As in `record`; ``metric`` is the name under which the trainer logs it.

        Returns
        -------
        lightning.Callback
            For ``Trainer(callbacks=[...])``; needs the package lightning or pytorch_lightning.

        Examples
        --------
        >>> from graphnetz.rings import SeparabilityStudy
        >>> SeparabilityStudy().callback("o", metric="test_acc", run=0)  # doctest: +SKIP
        <graphnetz.rings.study...RecordScore object>
        """
        lightning = _lightning()
        study = self

        class RecordScore(lightning.Callback):  # type: ignore[name-defined, misc]
            """Writes the value that the trainer logged under ``metric`` into the study."""

            def on_test_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
                logged = trainer.callback_metrics
                if metric not in logged:
                    known = ", ".join(sorted(logged)) or "none"
                    raise UsageError(f"The trainer logged no metric {metric!r}. Logged: {known}.")
                study.record(mode, float(logged[metric]), metric=metric, run=run, model=model)

        return RecordScore()


def _as_json(record: ModeScore) -> dict[str, Any]:
    """Plain values; a run without validation score has no such key, because JSON has no NaN."""
    plain = asdict(record)
    if math.isnan(record.validation):
        del plain["validation"]
    return plain


def _lightning() -> Any:
    for name in ("lightning.pytorch", "pytorch_lightning"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise MissingExtraError("The callback needs Lightning: pip install lightning. Or call SeparabilityStudy.record.")
