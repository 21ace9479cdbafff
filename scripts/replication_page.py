"""Write ``docs/replication.md`` from the certificates in ``benchmarks/results/replicate_*.json``.

``python scripts/replication_page.py`` writes the page and its picture; ``... FOLDER...`` first takes over the
certificates that ``graphnetz replicate`` left in folders. What was run there replaces the same cells and claims alone.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphnetz.papers.replicate import HOURS
from graphnetz.records.replication import Certificate, Judged, ReplicatedCell, certificate_from_json
from graphnetz.report.certificate import markdown

HERE = Path(__file__).resolve().parent.parent
PAGE = HERE / "docs" / "replication.md"
RESULTS = HERE / "benchmarks" / "results"
PICTURE = HERE / "docs" / "images" / "replication.png"
PAPERS = {"graphnetz": "GraphNetz", "benchmarking-gnns": "Benchmarking GNNs"}
FIRST = {"graphnetz": "published", "benchmarking-gnns": "small"}
"""The size of each paper that is stored under its name alone."""

HEAD = """# Replicating papers

What came of the numbers and claims of two papers when their experiments were run again with this package.

{found}

{summary}

MUTAG, and MNIST where its file is at hand, are scored as the paper scores them: on the fifth of the graphs that it also
validates on. Such a score is optimistic wherever an epoch or a setting is chosen on these graphs, which is why only
these two rows have it; under the paper's protocol the last epoch counts at fixed settings, and nothing is chosen.

The certificate of Benchmarking GNNs at size small holds what minutes teach, with fewer graphs and shorter training than
the paper's: {tasks}. At size
generated networks, folds and training are the published ones on data of our own: {whole} cells with all of the
published runs, {part} with some of them, which they say. Levels of neither size are compared; every claim that could be
decided has the paper's direction. That positions help on CSL is the same difference (1.0 against 0.1) on all five
folds, which five folds are too few to show at 5 %, however many seeds are trained on each.
[What the other cells would take](#published-protocols-that-were-not-run-or-in-part) is listed below.

![Differences of {comparable} cells from the published means](images/replication.png)

*GraphNetz, on the paper's data and under its protocol: ours minus the published mean, with the 95 % Welch interval.
Shaded: the margin within which a difference does not matter.*

How to read the words:

- **Cells.** The difference has a 95 % Welch interval. *Equivalent* means that two one-sided Welch tests at 5 % put it
  within a margin stated beforehand (0.02 for metrics between 0 and 1, a twentieth of the published mean for others),
  *differs* that the interval leaves zero out, *open* neither. Folds are what is repeated where a paper has folds.
- **Comparable** are the published files under the published protocol. Data of our own generators, reduced sizes and
  other copies of a dataset are *not comparable*, with the reason: a difference there is no sign of an error, and
  agreement no sign of a replication. Networks of a mirror that are compared have as many nodes and edges as the
  published ones; the files themselves were not compared.
- **Claims** are listed as data (`papers/<paper>/claims.toml`). *Shown*: our runs decide for it at 5 % (Holm within the
  task). *Contradicted*: they decide for the opposite. *Not shown*: they decide nothing. On other data than the paper's
  they tell the direction only, and are counted apart.

## Do it yourself

```
graphnetz replicate graphnetz --size published --mirror DIR
graphnetz replicate benchmarking-gnns --table 8b --dry-run
graphnetz replicate benchmarking-gnns --table 8b
graphnetz replicate benchmarking-gnns --table 10 --size generated --seeds 14,15
graphnetz replicate rings --mirror DIR
graphnetz replicate glemos --mirror DIR
```

runs what is reachable of a paper and writes `certificate.html`, `.md` and `.json`: every published cell beside ours,
and what came of every claim of the paper. All cells are priced first (`--dry-run` stops there); what takes more than
`--hours` core-hours per model and task (8) is left out and listed, and so is data that cannot be had. Then every run
shows its progress and the time left. Called again, only missing cells are trained. `--seeds` takes other seeds than the
paper's; fewer of them on each fold are said in every cell, and not compared.

Of Benchmarking GNNs, size published trains the network of every row of a table (500k rows, encodings and second runs
too) with the width, rate, batch and patience of that row, on the published files; size generated does the same on data
of our own, or rebuilt from its sources, where there is any. Both measure the training examples too, as the tables do.

`rings` sets the words of Coupette et al. (2025) on each dataset (structure, features, verdict) beside those that our
rules make of the same runs: the other word *contradicts*, *undecided* leaves a claim *not shown*. Size small is MUTAG
with the paper's GIN, ten runs per mode without a search (about five core-minutes); size published searches the paper's
grid in 100 runs of each dataset that is reachable. [RINGS](rings.md) has more runs of more datasets, and
[selection](selection.md) what `glemos` is about.

A paper of your own is one `Replication` (entry point `graphnetz.replications`): its name, and a function that returns a
`Certificate`; `graphnetz.papers.replicate.FromSuites` is that function for papers whose numbers are those of suites.
The golden tests (`make golden`) hold these certificates: no claim may be contradicted.
"""

CAUSES = {
    "fb15k_237": "the paper draws the first relation vectors from a standard normal distribution, ours start smaller "
    "and learn within the 20 epochs; with the paper's start our GraphSAGE falls to 0.56, where 0.63 is published "
    "([catalogue](catalogue.md))",
    "euroroad": "the cause is not known, but it is neither our split nor our layers: two plain layers of PyG on PyG's "
    "own split give 0.541 to 0.582 in eight blocks of ten runs, 0.558 in the mean",
}
"""What is known of causes, each tested in the golden run (`tests/datasets/test_cross_category.py`)."""


def stored() -> list[Certificate]:
    """Certificates that the project keeps, in the order of `PAPERS`; of one paper the first size first."""
    paths = [path for name in PAPERS for path in sorted(RESULTS.glob(f"replicate_{name.replace('-', '_')}*.json"))]
    return [certificate_from_json(json.loads(path.read_text(encoding="utf-8"))) for path in paths]


def take(folder: Path) -> Path:
    """Put the tables of a folder's certificate into what is stored of that paper at that size."""
    made = certificate_from_json(json.loads((folder / "certificate.json").read_text(encoding="utf-8")))
    size = "" if FIRST[made.paper] == made.size else f"_{made.size}"
    target = RESULTS / f"replicate_{made.paper.replace('-', '_')}{size}.json"
    if target.exists():
        made = joined(certificate_from_json(json.loads(target.read_text(encoding="utf-8"))), made)
    target.write_text(json.dumps(made.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return target


def tables_of(made: Certificate) -> set[str]:
    """Tables that a certificate says something about; some are of claims alone."""
    return {item.table for item in (*made.cells, *made.left, *(judged.claim for judged in made.claims))}


def joined(held: Certificate, made: Certificate) -> Certificate:
    """What was run anew in the place of what is held of the same tasks; what was not run anew stays as it is."""

    def place(row: Any) -> tuple[str, str, str]:
        return row.table, row.task.removesuffix(f"_{made.size}"), row.model  # cells have the size in their names

    ran, told, was = ({place(row) for row in rows} for rows in (made.cells, made.left, held.cells))
    cells = (*(cell for cell in held.cells if place(cell) not in ran), *made.cells)
    left = (
        *(item for item in held.left if place(item) not in ran | told),
        *(item for item in made.left if place(item) not in was),
    )
    new = {item.claim.says: item for item in made.claims if item.outcome != "not run"}
    claims = [new.pop(item.claim.says, item) for item in held.claims]
    known = {item.claim.says for item in held.claims}
    claims += [item for item in made.claims if item.claim.says not in known]
    claims = [_ranked_again(item, cells) if item.claim.form == "ranks" else item for item in claims]
    return dataclasses.replace(made, cells=_in_order(cells), left=_in_order(left), claims=tuple(claims))


def _ranked_again(item: Judged, cells: Sequence[ReplicatedCell]) -> Judged:
    """A claim about ranks over all tasks of a table, from the means of all its cells: ranks need no more than these."""
    import pandas as pd

    from graphnetz.analysis.replication import _ranks
    from graphnetz.metrics import METRICS
    from graphnetz.report import BenchmarkReport

    columns = ["task", "model", "seed", "score", "metric", "greater_is_better"]
    rows = [
        (c.task, c.model, seed, c.ours, f"test_{c.metric}", METRICS[c.metric].greater_is_better)
        for c in cells
        for seed in (0, 1)
        if c.table == item.claim.table
    ]
    outcome, basis = _ranks(BenchmarkReport.from_scores(pd.DataFrame(rows, columns=columns)), item.claim)
    kinds = len({c.why_not for c in cells if c.table == item.claim.table and c.why_not})
    why = f"{kinds} kinds of departures, task by task in the cells" if kinds else ""
    return dataclasses.replace(item, outcome=outcome, basis=basis, why_not=why)


def _in_order(rows: Sequence[Any]) -> tuple[Any, ...]:
    """Rows of one table and task together, in the order in which they first come."""
    places = {key: place for place, key in enumerate(dict.fromkeys((row.table, row.task) for row in rows))}
    return tuple(sorted(rows, key=lambda row: places[row.table, row.task]))


def summary(certificates: list[Certificate]) -> str:
    """Count cells and claims of the papers side by side."""
    columns = []
    for made in certificates:
        counts = made.counts()
        cells, here, other = counts["cells"], counts["claims"], counts["claims on other data"]
        columns.append([
            f"{PAPERS[made.paper]}, size {made.size}", "---", f"**{sum(cells.values())}**",
            *(cells[kind] for kind in ("equivalent", "differs", "open", "not comparable", "not run")),
            f"**{len(made.claims)}**", *(here[kind] for kind in ("shown", "not shown", "contradicted")),
            ", ".join(f"{other[kind]} {kind}" for kind in ("shown", "not shown", "contradicted")), here["not run"],
        ])  # fmt: skip
    rows = zip(ROWS, *columns, strict=True)
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)


ROWS = (
    "", "---", "**Published cells**", "on the paper's data: equivalent", "on the paper's data: differs",
    "on the paper's data: open", "run, but not comparable", "not run", "**Claims**", "on the paper's data: shown",
    "on the paper's data: not shown", "on the paper's data: contradicted", "on other data (direction only)", "not run",
)  # fmt: skip


def found(certificates: list[Certificate]) -> str:
    """Say in words what came of each paper."""
    return "\n\n".join(_found(made) for made in certificates)


def _found(made: Certificate) -> str:
    cells = [cell for cell in made.cells if cell.agreement != "not comparable"]
    claims = [item for item in made.claims if item.outcome != "not run"]
    words = f"**{PAPERS[made.paper]}**, size {made.size}. "
    if cells:
        same, differ, left = (sum(c.agreement == kind for c in cells) for kind in ("equivalent", "differs", "open"))
        words += (
            f"Of {len(cells)} cells on the paper's data and under its protocol {same} are shown to be equivalent to "
            f"the published ones, {differ} differ, and {left} are open. If nothing differed, {len(cells) / 20:.1g} of "
            "them would differ by chance. "
        )
    elif not made.cells:
        words += "None of its cells was run for this page. "
    else:
        words += "Nothing here is on the paper's data, so that levels are not compared and claims tell directions. "
    for comparable, where in ((True, "on the paper's data"), (False, "on other data")):
        held = [item for item in claims if item.comparable is comparable]
        if held:
            shown = [item.claim.says for item in held if item.outcome == "shown"]
            against = [item.claim.says for item in held if item.outcome == "contradicted"]
            words += f"{len(shown)} of {len(held)} claims {where} are shown"
            words += f", and contradicted: {'; '.join(against)}. " if against else " and none is contradicted. "
    lines = [words.rstrip()]
    apart: dict[str, list[ReplicatedCell]] = {}
    for cell in cells:
        if cell.agreement == "differs":
            apart.setdefault(cell.task, []).append(cell)
    for task, mine in apart.items():
        named = ", ".join(f"{c.model} {c.ours:.3f} against {c.published:.3f}" for c in mine)
        lines.append(f"- `{task}` differs ({named}): {CAUSES.get(task, 'the cause is not known')}.")
    return "\n".join([lines[0], *([""] if apart else []), *lines[1:]])


def compared(certificates: list[Certificate]) -> list[ReplicatedCell]:
    """Cells of the first paper on its own data and protocol."""
    return [cell for cell in certificates[0].cells if cell.agreement != "not comparable"]


def picture(cells: list[ReplicatedCell]) -> None:
    """Draw the differences from the published means."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = {"equivalent": "#228833", "open": "#bbbbbb", "differs": "#cc3311"}
    figure, axes = plt.subplots(figsize=(6.4, 0.9 + 0.24 * len(cells)))
    axes.axvspan(-cells[0].margin, cells[0].margin, color="#eeeeee", zorder=0)
    axes.axvline(0.0, color="#999999", linewidth=0.8, zorder=1)
    for kind, colour in colours.items():
        rows = [(i, c) for i, c in enumerate(cells) if c.agreement == kind]
        if rows:
            at, mine = zip(*rows, strict=True)
            middle = [c.ours - c.published for c in mine]
            sides = [[m - c.low for m, c in zip(middle, mine, strict=True)],
                     [c.high - m for m, c in zip(middle, mine, strict=True)]]  # fmt: skip
            axes.errorbar(middle, at, xerr=sides, fmt="o", ms=4, color=colour, ecolor=colour, lw=1.2, label=kind)
    axes.set_yticks(range(len(cells)), [f"{c.task}, {c.model}" for c in cells], fontsize=7)
    axes.invert_yaxis()
    axes.locator_params(axis="x", nbins=6)
    axes.set_xlabel("ours minus published")
    axes.legend(frameon=False, fontsize=7, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=110, metadata={"Software": None})


PRICED = """## Published protocols that were not run, or in part

A cell whose published protocol is expected to take at most 8 core-hours per model and task belongs on this page. These
are such cells of data that is at hand and was not trained here, or on fewer seeds, for want of time: {total:.0f}
core-hours together, and {most:.0f} at most. Called again in the same folder, a command goes on where it ended.

| command | task | models, with the core-hours of what is missing of each | together |
| --- | --- | --- | --- |
{rows}

Prices are processor time of one core: a probe of one epoch (`python benchmarks/replicate_prices.py`), times the epochs
that are expected, times all runs. Expected are the epochs that the published runs needed (the paper prints hours per
run and seconds per epoch; column `epochs` of `papers/benchmarking_gnns/published.csv`), those that our finished runs
needed where the paper does not say{measured}, and else all that a run may use. In
brackets: what it costs if all are used. Probes of `csl_pe_generated` ran beside other work, which makes them dearer by
about 1.8, and our GIN needed 88 to 104 epochs there where 65 were published. `--dry-run` says the same of every table,
by the clock.

More than 8 core-hours are expected of {dear}.

Not priced, and not run either: DD (an epoch of its MLP took 5.3 s beside other work, which is 11 core-hours for its 20
runs of 374 epochs), the encodings of Table 13 that Table 10 lacks, AQSOL, PATTERN, CLUSTER and tours at size generated,
CYCLES and GraphTheoryProp. Everything else needs files that no mirror here has.
"""


def priced(certificates: list[Certificate]) -> str:
    """What the cells would take that could be run here and were not, or in part; empty where nothing is priced."""
    path = RESULTS / "replicate_prices.json"
    if not path.exists():
        return ""
    cells = {(cell.task, cell.model): cell for made in certificates for cell in made.cells}
    tasks: dict[tuple[str, str], list[str]] = {}
    sums: dict[tuple[str, str], list[float]] = {}
    dear: list[str] = []
    measured: dict[str, dict[int, list[str]]] = {}
    for row in json.loads(path.read_text(encoding="utf-8")):
        cell = cells.get((row["task"], row["model"]))
        done = PART.search(cell.why_not) if cell else None
        missing = row["cells"] - (int(done[1]) if done else row["cells"] if cell else 0)
        expected, most = (
            missing * (row["begin_seconds"] + row["epoch_seconds"] * row[of]) / 3600 for of in ("epochs", "most")
        )
        if row.get("from") == "ours":
            measured.setdefault(row["task"], {}).setdefault(row["epochs"], []).append(row["model"])
        if not missing:
            continue
        if expected * row["cells"] / missing > HOURS:
            dear.append(f"{row['model']} on `{row['task']}` ({expected:.3g})")
            continue
        place = (COMMANDS[row["suite"]], row["task"])
        words = f"{row['model']} {expected:.2g} ({most:.2g})" + (f", {done[1]} of {done[2]} runs done" if done else "")
        tasks.setdefault(place, []).append(words)
        sums.setdefault(place, []).append(expected)
        sums.setdefault(("", ""), []).append(most)
    most = sum(sums.pop(("", ""), []))
    rows = [f"| `{c}` | `{task}` | {'; '.join(w)} | {sum(sums[c, task]):.2g} |" for (c, task), w in tasks.items()]
    found = [f"{n} for {', '.join(models)} on `{of}`" for of, m in measured.items() for n, models in sorted(m.items())]
    told = f" ({'; '.join(found)})" if measured else ""
    total = sum(sum(found) for found in sums.values())
    return PRICED.format(rows="\n".join(rows), dear=", ".join(dear), total=total, most=most, measured=told)


PART = re.compile(r"(\d+) of the (\d+) runs")
"""How a cell says that fewer seeds than published were trained on each fold."""

COMMANDS = {
    "cross-category": "graphnetz replicate graphnetz --table 3 --size published",
    "bgnn-table-10": "graphnetz replicate benchmarking-gnns --table 10 --size generated",
    "bgnn-table-16": "graphnetz replicate benchmarking-gnns --table 16 --size generated",
}
"""What trains the tasks of a suite, with ``--mirror DIR`` where these are files."""


def _small(held: list[Certificate]) -> dict[str, Any]:
    """What the text says of the certificates of Benchmarking GNNs."""
    cells = {made.size: made.cells for made in held if made.paper == "benchmarking-gnns"}
    names = dict.fromkeys(cell.task.removesuffix("_small") for cell in cells["small"])
    own = [bool(PART.search(cell.why_not)) for cell in cells.get("generated", ())]
    return {"tasks": ", ".join(f"`{name}`" for name in names), "whole": own.count(False), "part": own.count(True)}


SWEEP = """## Every reachable task

The GraphNetz paper ends by saying that more tasks are the next experiment. Over one task of each of {graphs} graphs
Friedman's test {says} equal ranks of its four encoders: p = {p:.2g} ({test}), mean ranks {ranks}, critical
difference {cd:.2f}. The largest gap of mean ranks is {gap:.2f}; if it held, {enough} tasks would be enough to separate
the two.

![Mean ranks over the reachable tasks](images/sweep-cd.png)

How the critical difference falls with the number of tasks, and how often random parts of these tasks of that size
reject equal ranks, or separate the first from the last (large parts have most tasks in common, and say what all say):

| tasks | critical difference | Friedman rejects | first and last apart |
| --- | --- | --- | --- |
{rows}

![Critical difference by number of tasks](images/sweep-n.png)

The suite `reachable` holds every task that needs no internet (generators, packages, wheels, the mirror): {reachable}
here. This is a part of it, cut by the time of one machine: {tasks} tasks, {seeds} seeds each, {runs} runs of five
architectures and of baselines{borrowed}. Tasks have their own protocol, except those of the GraphNetz paper that only
its replication ran here; within a task all models have the same. `python benchmarks/sweep.py run DIR` trains more, the
cheapest first, and goes on when called again; `bundle DIR` packs runs, `gather` and `read` make tables and figures
(`benchmarks/results/sweep.json`). What these runs say is on [the page of findings](findings.md).

Tasks: {names}.
"""


def sweep() -> str:
    """What the stored part of the sweep says; empty where there is none."""
    path = RESULTS / "sweep_ranks.json"
    if not path.exists():
        return ""
    found = json.loads(path.read_text(encoding="utf-8"))
    rows = [f"| {r['tasks']} | {r['cd']:.2f} | {r['rejected']:.0%} | {r['separated']:.0%} |" for r in found["falling"]]
    ranks = ", ".join(f"{model} {rank:.2f}" for model, rank in found["mean_ranks"].items())
    low, high = found["seeds"]
    means = list(found["mean_ranks"].values())
    gap = max(means) - min(means)
    enough = math.ceil(found["graphs"] * (found["cd"] / gap) ** 2)  # the critical difference falls with the root of n
    says = "rejects" if found["p"] < 0.05 else "does not reject"
    lent = found["borrowed"]
    words = f"; {len(lent)} tasks are those of [sooner decisions](decide-sooner.md)" if lent else ""
    more = {"gap": gap, "enough": enough, "says": says, "borrowed": words}
    more |= {"seeds": f"{low} to {high}" if low < high else str(low), "rows": "\n".join(rows), "ranks": ranks}
    return SWEEP.format(**found | more | {"names": ", ".join(f"`{name}`" for name in found["names"])})


def page() -> str:
    """The whole page."""
    held = stored()
    words = {"summary": summary(held), "found": found(held), "comparable": len(compared(held))} | _small(held)
    parts = [HEAD.format(**words)]
    for made in held:
        parts.append(f"## {made.citation} (`{made.paper}`, size {made.size})\n\n{markdown(made, heading=3)}")
    return "\n".join([*parts, *filter(None, [priced(held), sweep()])])


if __name__ == "__main__":
    for place in sys.argv[1:]:
        take(Path(place))
    picture(compared(stored()))
    PAGE.write_text(page(), encoding="utf-8")
