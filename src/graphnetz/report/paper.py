"""The paper kit: tables, vector figures, a methods paragraph and references, ready to include."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphnetz._core.grouping import grouped
from graphnetz._core.paths import write_file
from graphnetz._core.text import names
from graphnetz.records.analysis import INTERVAL_WORDS, TEST_WORDS
from graphnetz.records.task_info import REPLICATION_WORDS
from graphnetz.report import escape, latex
from graphnetz.report.bibliography import bibtex, dataset_key, model_key
from graphnetz.report.page import render_text
from graphnetz.report.provenance import training
from graphnetz.report.write import figure_plans, pairwise_tex, write_figures

if TYPE_CHECKING:
    from graphnetz.report.report import BenchmarkReport

_CITED = {"t": "student1908", "wilcoxon": "wilcoxon1945", "corrected_t": "nadeau2003"}
_PROTOCOL = ("optimiser", "lr", "weight_decay", "epochs", "hidden_channels", "batch_size", "selection", "patience")


def write_paper(
    report: BenchmarkReport, folder: Path, *, datasets: Mapping[str, tuple[str, str]] | None = None
) -> Path:
    """Write the kit to ``folder``.

    ``datasets[task]`` is the name and the citation of the dataset behind a task, where there is a card.
    """
    known = dict(datasets or {})
    texts = {
        "results.tex": latex.summary_latex(report.analysis.grid),
        "pairwise.tex": pairwise_tex(report.analysis),
        "methods.tex": methods_tex(report, known),
        "references.bib": bibtex(test_keys(report), report.scores.models, dict(sorted(set(known.values())))),
        "paper.tex": render_text("paper.tex", figures=[plan.name for plan in figure_plans(report.analysis)]),
    }
    for name, text in texts.items():
        write_file(folder / name, text)
    write_figures(report.analysis, folder / "figures", formats=("pdf",))
    return folder


def test_keys(report: BenchmarkReport) -> list[str]:
    """BibTeX keys of the statistics that this report really used."""
    keys = []
    pairs = report.analysis.comparisons
    if pairs:
        keys += [_CITED[report.pairwise_method]] if report.pairwise_method in _CITED else []
        keys += ["wilcoxon1945", "holm1979"]  # Wilcoxon stands beside the chosen test in pairwise.tex
    if any("corrected_t" in claim.evidence.method for pair in pairs for claim in pair.claims):
        keys.append("nadeau2003")
    if report.ci_method == "bca":
        keys.append("efron1987")
    found = report.analysis.ranking
    if not found.reason:
        keys += ["friedman1937", "demsar2006"] + (["iman1980"] if found.decided_by == "f" else [])
    return list(dict.fromkeys(keys))


def methods_tex(report: BenchmarkReport, datasets: Mapping[str, tuple[str, str]]) -> str:
    """Return the paragraph that says what was run and how it was tested, with citations."""
    table = report.scores
    keys = set(test_keys(report))
    models = [_cited(model, model_key(model)) for model in table.models]
    tasks = [_cited(task, dataset_key(datasets[task][0]) if task in datasets else None) for task in table.tasks]
    return render_text(
        "methods.tex",
        models=models,
        tasks=tasks,
        seeds_per_cell=report.analysis.grid.seeds,
        seeds=escape.latex(_seeds(table.seeds)),
        settings=[*_replication(report), *_protocol(training(report.config))],
        total=len(report.results),
        failed=len(report.failures),
        interval=escape.latex(INTERVAL_WORDS.get(report.ci_method, report.ci_method)),
        compared=bool(report.analysis.comparisons),
        test=escape.latex(TEST_WORDS.get(report.pairwise_method, report.pairwise_method)),
        cited=_CITED.get(report.pairwise_method),
        keys=keys,
    )


def _cited(name: str, key: str | None) -> str:
    text = escape.latex(name, width=60)
    return f"{text}~\\cite{{{key}}}" if key else text


def _seeds(seeds: Sequence[int]) -> str:
    whole = list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))) if seeds else False
    return f"seeds {seeds[0]} to {seeds[-1]}" if whole and len(seeds) > 2 else "seeds " + ", ".join(map(str, seeds))


def _replication(report: BenchmarkReport) -> list[str]:
    info = report.task_info
    groups = grouped(info, lambda task: info[task].replication)
    if len(groups) == 1:
        return [f"On every task {REPLICATION_WORDS[next(iter(groups))]['seed']}."]
    return [
        f"On {escape.latex(names(tasks, most=12), width=900)} {REPLICATION_WORDS[kind]['seed']}."
        for kind, tasks in groups.items()
    ]


def _protocol(protocols: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What tasks share in one sentence, what differs task by task in the next ones."""
    if not protocols:
        return []
    every = list(protocols.values())
    shared = {key: every[0].get(key) for key in _PROTOCOL if all(p.get(key) == every[0].get(key) for p in every)}
    out = []
    if shared:
        out.append(f"All cells were trained with {_settings(shared)}.")
    for task, protocol in protocols.items():
        own = {key: protocol.get(key) for key in _PROTOCOL if key not in shared and key in protocol}
        if own:
            out.append(f"{escape.latex(task, width=60)}: {_settings(own)}.")
    return out


def _settings(values: Mapping[str, Any]) -> str:
    kept = {k: v for k, v in values.items() if v is not None}
    text = ", ".join(f"{k.replace('_', ' ')} {v if isinstance(v, str) else json.dumps(v)}" for k, v in kept.items())
    return escape.latex(text, width=900)
