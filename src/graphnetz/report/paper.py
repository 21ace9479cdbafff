"""The paper kit: tables, vector figures, a methods paragraph and references, ready to include."""

from __future__ import annotations

import json
import math
from collections import Counter
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
from graphnetz.report.figures import FIGURES, page_counts, write_figures
from graphnetz.report.page import render_text
from graphnetz.report.provenance import training
from graphnetz.report.write import pairwise_tex

if TYPE_CHECKING:
    from graphnetz.report.report import BenchmarkReport

_CITED = {"t": "student1908", "wilcoxon": "wilcoxon1945", "corrected_t": "nadeau2003"}
_WORDS = {
    "lr": "learning rate", "epochs": "epochs at most", "batch_size": "graphs per batch at most",
}  # fmt: skip
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
        "paper.tex": render_text(
            "paper.tex",
            figures=_figures(report),
            findings=_findings(report),
            compared=bool(report.analysis.comparisons),
        ),
    }
    for name, text in texts.items():
        write_file(folder / name, text)
    write_figures(report.analysis, folder / "figures", formats=("pdf",))
    return folder


def _figures(report: BenchmarkReport) -> list[tuple[str, int, str]]:
    """Name, page and caption of every page of a figure."""
    out = []
    for name, pages in page_counts(report.analysis).items():
        words = escape.latex(FIGURES[name].words, width=400)
        out += [(name, i + 1, words + (f" Page {i + 1} of {pages}." if pages > 1 else "")) for i in range(pages)]
    return out


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
        single=report.analysis.grid.single,
        seeds=escape.latex(_seeds(table.seeds)),
        settings=[*_replication(report), *_protocol(training(report.config)), *_searched(report)],
        rule=report.seed_rule,
        reaches=_reaches(report),
        source=_source(report),
        alpha=report.analysis.options.alpha,
        level=escape.latex(f"{100 * report.analysis.grid.level:g} %"),
        total=len(report.results),
        failed=len(report.failures),
        interval=escape.latex(INTERVAL_WORDS.get(report.ci_method, report.ci_method)),
        compared=bool(report.analysis.comparisons),
        test=_tested(report),
        keys=keys,
    )


def _tested(report: BenchmarkReport) -> str:
    """Every test that decided, the one that was asked for with its citation."""
    words, key = latex.deciding_words(report.analysis.comparisons), _CITED.get(report.pairwise_method)
    asked = f"{TEST_WORDS.get(report.pairwise_method, report.pairwise_method)} test"
    text, asked = (escape.latex(part, width=400) for part in (words, asked))
    return text.replace(asked, f"{asked}~\\cite{{{key}}}", 1) if key else text


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
    """What all tasks share in one sentence, what others share among themselves in the next ones."""
    if not protocols:
        return []
    every = list(protocols.values())
    shared = {key: every[0].get(key) for key in _PROTOCOL if all(p.get(key) == every[0].get(key) for p in every)}
    out = []
    if shared:
        out.append(f"All cells were trained with {_settings(shared)}.")
    own = {task: {key: p[key] for key in _PROTOCOL if key not in shared and key in p} for task, p in protocols.items()}
    alike = grouped((task for task in own if own[task]), lambda task: _settings(own[task]))
    return out + [f"On {escape.latex(names(tasks, most=99), width=3000)}: {words}." for words, tasks in alike.items()]


def _searched(report: BenchmarkReport) -> list[str]:
    """The search space, and what was chosen most often in the cells of each model."""
    space = report.config.get("search")
    if not space:
        return []
    axes = {name: values for name, values in space.items() if name not in ("n_random", "seed", "model") and values}
    axes |= {name: values for name, values in (space.get("model") or {}).items() if values}
    tried = "; ".join(f"{name.replace('_', ' ')} in {', '.join(map(_plain, values))}" for name, values in axes.items())
    how = f"{space['n_random']} random candidates of the grid" if space.get("n_random") else "the whole grid"
    out = [
        f"Hyper-parameters were searched inside every cell, with its own seed, over {how} "
        f"({escape.latex(tried, width=900)}); the best validation score decided, and the test part was not looked at."
    ]
    chosen: dict[str, Counter[str]] = {}
    for cell in report.results:
        if cell.ok and (found := cell.chosen):
            words = ", ".join(f"{k.removeprefix('model.').replace('_', ' ')} {_plain(v)}" for k, v in found.items())
            chosen.setdefault(cell.model, Counter())[words] += 1
    most = [
        f"{escape.latex(model)} {escape.latex(words, width=200)} ({times} of {sum(counts.values())} cells)"
        for model, counts in chosen.items()
        for words, times in counts.most_common(1)
    ]
    return out + ([f"Chosen most often: {'; '.join(most)}."] if most else [])


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _reaches(report: BenchmarkReport) -> list[str]:
    """How many comparisons are shown, reach by reach."""
    pairs = report.analysis.comparisons
    shown = Counter(pair.reach for pair in pairs if pair.reach)
    words = {
        "split": "other initialisations on the same split", "dataset": "other random splits of the same dataset",
        "source": "new examples from the same source", "unknown": "these seeds (what a seed varies was not stated)",
    }  # fmt: skip
    return [f"{count} of {len(pairs)} comparisons for {words.get(reach, reach)}" for reach, count in shown.items()]


_CROSSED = "from the kept predictions by crossed random effects of runs and test examples"
_CORRECTED = r"by the corrected resampled $t$-test~\cite{nadeau2003}"
_SOURCE = {
    "crossed": _CROSSED, "corrected_t": _CORRECTED,
    "crossed+corrected_t": f"{_CROSSED} and {_CORRECTED}, the wider of the two",
}  # fmt: skip


def _source(report: BenchmarkReport) -> str:
    """How the furthest reach was asked; where several ways were taken, in how many comparisons each."""
    claims = (claim.evidence for pair in report.analysis.comparisons for claim in pair.claims)
    asked = (found for found in claims if found.reach == "source" and math.isfinite(found.p))
    ways = Counter(found.method for found in asked if found.method in _SOURCE)
    if len(ways) == 1:
        return _SOURCE[next(iter(ways))]
    return "; ".join(f"in {count} comparisons {_SOURCE[way]}" for way, count in ways.most_common())


def _findings(report: BenchmarkReport) -> list[tuple[str, str]]:
    """Every verdict in words, task by task: the same sentences as on the page."""
    groups = grouped(report.analysis.verdicts, lambda verdict: verdict.about)
    return [
        (escape.latex(about), " ".join(escape.latex(verdict.text, width=2000) for verdict in mine))
        for about, mine in groups.items()
    ]


def _settings(values: Mapping[str, Any]) -> str:
    kept = {k: v for k, v in values.items() if v is not None}
    text = ", ".join(f"{_WORDS.get(k, k.replace('_', ' '))} {_plain(v)}" for k, v in kept.items())
    return escape.latex(text, width=900)
