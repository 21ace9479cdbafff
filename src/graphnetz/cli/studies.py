"""What `graphnetz run --suite` does for the studies of Benchmarking GNNs: their arguments, and their tables."""

from __future__ import annotations

from typing import Any

from graphnetz._core.errors import UsageError, unknown_name


def study_arguments(config: Any) -> dict[str, Any]:
    """Arguments of `run_benchmark` that a study decides; flags that were given win. Empty for other suites.

    The seeds of the study are written into the configuration, so that a resumed run has the same ones.
    """
    from graphnetz.datasets.bgnn import STUDIES

    if config.suite not in STUDIES:
        if config.size != "published":
            raise UsageError(f"--size {config.size} is for the studies: {', '.join(STUDIES)}. Leave it out.")
        return {}
    from graphnetz.papers.benchmarking_gnns.suite import study

    chosen = study(config.suite)
    found = chosen.arguments(config.size, budget=config.budget)
    if config.task:
        tasks = {task.name: task for task in found["tasks"]}
        for name in config.task:
            if name not in tasks:
                raise unknown_name("task of the study", name, tasks)
        found["tasks"] = [tasks[name] for name in config.task]
    if config.model:
        from graphnetz.models import MODELS

        found["models"] = {
            name: chosen.models[name] if name in chosen.models else MODELS[name] for name in config.model
        }
    if "seeds" in config.model_fields_set:
        found["seeds"] = config.seed_list()
    else:
        config.seeds = found["seeds"]
    given = config.overrides()
    if config.hidden_channels != type(config).model_fields["hidden_channels"].default:
        found["protocol"], found["model_protocol"] = {}, {}  # a width was asked for: no budget
    found["protocol"] = {**found["protocol"], **given}
    found["model_protocol"] = {
        name: value for name, value in found["model_protocol"].items() if name in found["models"]
    }
    return found


def print_study(report: Any, suite: str | None) -> None:
    """Print our cells beside the published ones, when the suite is a study."""
    from graphnetz.datasets.bgnn import STUDIES

    if suite not in STUDIES:
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from graphnetz.papers.benchmarking_gnns.suite import beside, study
    from graphnetz.papers.benchmarking_gnns.tables import CITATION

    rows = beside(report, study(str(suite)))
    console = Console(highlight=False, soft_wrap=True)
    if not rows:
        console.print("No cell of this run has a published counterpart.")
        return
    table = Table(title="beside the published numbers", title_justify="left", box=None, pad_edge=False)
    for column in ("task", "model", "parameters", "published", "ours", "min", "max", "difference (95 %)", "verdict"):
        table.add_column(column, no_wrap=True, justify="left" if column in ("task", "model", "verdict") else "right")
    for row in rows:
        between = f"{row.low:+.3f} to {row.high:+.3f}" if row.low == row.low else "needs two runs"
        table.add_row(
            escape(row.task), escape(row.model), f"{row.parameters:,}", f"{row.published:.3f} ± {row.published_sd:.3f}",
            f"{row.ours:.3f}", f"{row.smallest:.3f}", f"{row.largest:.3f}", between,
            row.verdict + ("" if row.same_data else " (other data)"),
        )  # fmt: skip
    console.print(table)
    counts = {
        verdict: sum(row.verdict == verdict for row in rows) for verdict in dict.fromkeys(r.verdict for r in rows)
    }
    console.print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + f" of {len(rows)} cells.")
    if not all(row.same_data for row in rows):
        console.print(
            "Other data: a reduced size or a generator of our own; a difference there is no sign of an error."
        )
    console.print(f"Published (mean ± population s.d.): {CITATION}.")
