"""How GLEMOS is replicated: its selectors on its testbeds, each published mean beside ours, and their order."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from graphnetz._core.text import counted
from graphnetz.papers.glemos.banks import glemos_files
from graphnetz.papers.glemos.collections import FEATURE_SETS
from graphnetz.papers.glemos.tables import published_table
from graphnetz.papers.replicate import REPLICATIONS, Tell
from graphnetz.records.replication import Certificate, Judged, LeftOut, PaperClaim, ReplicatedCell, Replication
from graphnetz.records.suite import Published
from graphnetz.selection.bench import run_testbeds
from graphnetz.selection.study import TestbedStudy

CITATION = "Park et al., GLEMOS, 2023"
MASKED = "a tenth of the performances is hidden in the published files, and link prediction lacks 44 of 350 models"
_QUICK = ("random", "gb_perf", "gb_rank", "isac", "as")
_ALL = (*_QUICK, "alors", "s2", "ncf", "metaod", "metagl")
_METRICS = {"auc": "mean", "mrr": "mrr", "ndcg1": "ndcg1"}
_TABLES = {
    "5": "fully observed", "6": "sparse", "7": "out of domain", "8": "small to large", "9": "cross task",
    "10": "fully observed, feature sets", "11": "sparse, feature sets", "12": "out of domain, feature sets",
    "13": "small to large, feature sets", "14": "cross task, feature sets", "15": "fully observed, seconds",
}  # fmt: skip
_SMALL = ("5", "7", "8")


def replicate_glemos(
    *, table: str | None, size: str, out: Path, tell: Tell, **settings: Any
) -> Certificate:  # fmt: skip
    """Evaluate selectors on the published testbeds and return the certificate; nothing is priced."""
    wanted = (table,) if table is not None else _SMALL if size == "small" else tuple(_TABLES)
    rows = [row for row in published_table() if row.table in wanted]
    sets = ("regular",) if not {*wanted} & {"10", "11", "12", "13", "14"} else FEATURE_SETS
    beds = {_bed(row) for row in rows}
    folder = glemos_files(str(settings.get("root") or "data/benchmark"))
    studies = run_testbeds(
        folder, _QUICK if size == "small" else _ALL, feature_sets=sets, only=sorted(beds), out=out, say=tell
    )  # fmt: skip
    by_bed = {(item.task, item.testbed): item for item in studies}
    cells, left = [], []
    for row in rows:
        made = _cell(row, by_bed.get((row.task, _bed(row))))
        if made is not None:
            cells.append(made)
        else:
            needs = "not part of size small" if size == "small" else "seconds of their machine, or a metric not kept"
            left.append(LeftOut(row.table, f"{row.task}, {_bed(row)}", row.model, needs))
    judged = [claim for item in studies for claim in _claims(item, rows)]
    notes = (f"Not comparable: {MASKED}.", f"Selectors: {counted(len(studies), 'testbed')}, folds as published.")
    return Certificate("glemos", CITATION, size, tuple(cells), tuple(judged), tuple(left), notes=notes)


def _bed(row: Published) -> str:
    level = row.more["sparsity"]
    return f"sparse {level}%" if level else row.more["testbed"]


def _cell(row: Published, study: TestbedStudy | None) -> ReplicatedCell | None:
    """One published mean beside ours; the interval is Welch's with the published standard error where there is one."""
    if study is None or row.metric not in _METRICS:
        return None
    line = next(
        (x for x in study.lines if x.selector == row.model and x.features in ("", row.more["features"])), None
    )  # fmt: skip
    if line is None:
        return None
    ours = getattr(line, _METRICS[row.metric])
    result = study.results.get(row.model)
    values = getattr(result.scores, row.metric) if result is not None and line.features == study.features else None
    sd = float("nan") if values is None else float(values[values == values].std(ddof=1))
    theirs = float(row.more["standard_error"] or "nan")
    half = 1.96 * math.hypot(theirs, sd / math.sqrt(study.graphs))
    return ReplicatedCell(
        row.table, f"{row.task}, {_bed(row)}", row.model, row.metric, row.mean, theirs * math.sqrt(study.graphs),
        study.graphs, ours, sd, study.graphs, ours - row.mean - half, ours - row.mean + half, 0.02, "not comparable",
        "the published testbeds", MASKED,
    )  # fmt: skip


def _claims(study: TestbedStudy, rows: list[Published]) -> list[Judged]:
    """The selector with the best published AUC over each other that was run, where the paper's means differ by .02."""
    theirs = {
        row.model: row.mean for row in rows
        if (row.task, _bed(row), row.metric, row.more["features"]) == (study.task, study.testbed, "auc", "regular")
    }  # fmt: skip
    run = {pair.first for pair in study.pairs} | {pair.second for pair in study.pairs}
    best = max((name for name in theirs if name in run), key=lambda name: theirs[name], default=None)
    out = []
    for other in sorted(run - {best}):
        if best is None or other not in theirs or theirs[best] - theirs[other] < 0.02:
            continue
        says = f"{best} over {other} on {study.task}, {study.testbed}"
        claim = PaperClaim(says, task=study.task, better=best, worse=other)
        pair = next(item for item in study.pairs if {item.first, item.second} == {best, other})
        gap = pair.difference if pair.first == best else -pair.difference
        outcome = "not shown" if not pair.differ else "shown" if gap > 0 else "contradicted"
        out.append(Judged(claim, outcome, f"AUC difference {gap:+.3f}, adjusted p {pair.p:.2g}", MASKED))
    return out


REPLICATIONS.add(
    "glemos",
    Replication(
        "glemos", "Selecting graph learning models without training them", CITATION, replicate_glemos,
        tables={key: words for key, words in _TABLES.items() if key != "15"}, priced=False,
    ),
)  # fmt: skip
