"""Decide sooner: ``seeds="auto"`` against 30 fixed seeds, on the list in ``decide_sooner.toml``.

``run DIR`` trains every cell of the fixed design once (resumable). ``read DIR`` replays the rule of
``seeds="auto"`` on those scores: the same seeds give the same scores, so the replay trains nothing and
stops where a run would. It writes ``results/decide_sooner.json`` and the figure of the documentation,
and exits with 1 when the study misses what it was to show.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
STUDY = HERE / "decide_sooner.toml"
RESULT = HERE / "results" / "decide_sooner.json"
FIGURE = HERE.parent / "docs" / "images" / "decide-sooner.png"


def study() -> dict:
    return tomllib.loads(STUDY.read_text(encoding="utf-8"))


def run(folder: Path, workers: int | None) -> None:
    from graphnetz.datasets import SUITES
    from graphnetz.engine.run import run_benchmark

    plan = study()
    tasks = {task.name: task for task in SUITES[plan["suite"]]()}
    seeds = range(plan["first_seed"], plan["first_seed"] + plan["max_seeds"])
    run_benchmark(
        tasks=[tasks[name] for name in plan["tasks"]],
        models=plan["models"],
        seeds=seeds,
        out=folder,
        workers=workers,
    )


def read(folder: Path) -> dict:
    """Both designs on the same scores: one row per comparison, and the shares."""
    from graphnetz.analysis.sequential import SeedRule, cost_of, decide_report
    from graphnetz.report import BenchmarkReport

    plan = study()
    report = BenchmarkReport.from_json(folder / "results.json")
    check(report, plan)
    n = plan["max_seeds"]
    shared = {"alpha": plan["alpha"], "margin": plan["margin"], "max_seeds": n, "spending": plan["spending"]}
    rule = SeedRule(**shared, first_look=plan["first_look"], futility=plan["futility"])
    once = SeedRule(**shared, first_look=n, futility=0.0)  # one look at all seeds: plain Holm
    auto = decide_report(report.results, report.task_info, plan["models"], rule)
    fixed = decide_report(report.results, report.task_info, plan["models"], once)
    rows = [
        row(a, f, rule)
        for task in plan["tasks"]
        for a, f in zip(auto[task].comparisons, fixed[task].comparisons, strict=True)
    ]
    cost = cost_of(auto, rule)
    by_task = {
        task: {"cells": cost_of({task: auto[task]}, rule).used, "of": cost_of({task: auto[task]}, rule).planned}
        for task in plan["tasks"]
    }
    decided = [r for r in rows if r["auto"] != "undecided"]
    speaking = {t: auto[t] for t in plan["tasks"] if any(r["task"] == t for r in decided)}
    speaking_cost = cost_of(speaking, rule)
    stubborn = SeedRule(**shared, first_look=plan["first_look"], futility=0.0)
    never = cost_of(decide_report(report.results, report.task_info, plan["models"], stubborn), stubborn)
    return {
        "looks": list(rule.looks),
        "comparisons": len(rows),
        "cells": cost.used,
        "cells_of_fixed_seeds": cost.planned,
        "cells_share": round(cost.used / cost.planned, 4),
        "decided": len(decided),
        "agree": sum(r["agrees"] for r in decided),
        "agreement": round(sum(r["agrees"] for r in decided) / len(decided), 4),
        "same_label": sum(r["auto"] == r["fixed"] and r["agrees"] for r in decided),
        "contradictions": sum(r["contradicts"] for r in decided),
        "undecided_share": round(1 - len(decided) / len(rows), 4),
        "undecided_share_of_fixed_seeds": round(sum(r["fixed"] == "undecided" for r in rows) / len(rows), 4),
        "decided_by_fixed_seeds_only": sum(r["auto"] == "undecided" != r["fixed"] for r in rows),
        "cells_share_on_tasks_with_a_decision": round(speaking_cost.used / speaking_cost.planned, 4),
        "cells_share_without_giving_up": round(never.used / never.planned, 4),
        "decided_without_giving_up": never.different + never.equivalent,
        "tasks": by_task,
        "rows": rows,
    }


def check(report, plan: dict) -> None:
    """Refuse scores of another list: the study was fixed before."""
    seeds = tuple(range(plan["first_seed"], plan["first_seed"] + plan["max_seeds"]))
    if (list(report.scores.tasks), list(report.models), report.seeds) != (plan["tasks"], plan["models"], seeds):
        raise SystemExit("This run is not the one that decide_sooner.toml lists.")
    cells = len(plan["tasks"]) * len(plan["models"]) * len(seeds)
    if len(report.results) != cells or report.failures:
        raise SystemExit(
            f"{len(report.results)} of {cells} cells, {len(report.failures)} failed: finish the run first."
        )


def row(auto, fixed, rule) -> dict:
    a, f = auto.state, fixed.state
    same_sign = a.mean_diff * f.mean_diff > 0
    agrees = (a.equivalent and f.equivalent) if a.decision == "equivalent" else (f.different and same_sign)
    opposite = a.different and f.different and not same_sign
    # Equivalent within the margin against a difference that is shown not to be within it, or the other way round.
    opposite |= a.decision == "equivalent" and f.different and min(abs(f.low), abs(f.high)) > rule.margin
    return {
        "task": auto.task,
        "a": auto.a,
        "b": auto.b,
        "auto": a.decision,
        "fixed": f.decision,
        "seeds": a.seeds,
        "difference": round(a.mean_diff, 6),
        "difference_of_fixed_seeds": round(f.mean_diff, 6),
        "agrees": bool(a.decision != "undecided" and agrees),
        "contradicts": bool(a.decision != "undecided" and opposite),
        "why_undecided": a.reason,
    }


def draw(found: dict) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    tasks = list(found["tasks"])
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), sharey=True, width_ratios=(1, 1.2))
    share = [100 * found["tasks"][t]["cells"] / found["tasks"][t]["of"] for t in tasks]
    y = range(len(tasks))
    left.barh(y, share, color="#4477aa")
    left.axvline(50, color="black", linewidth=0.8, linestyle=":")
    left.set(xlabel="cells trained, % of 30 fixed seeds", xlim=(0, 100), yticks=list(y), yticklabels=tasks)
    left.invert_yaxis()
    kinds = (
        ("decided as by 30 seeds", "#228833", lambda r: r["agrees"]),
        ("decided, 30 seeds make no such claim", "#cc3311", lambda r: r["auto"] != "undecided" and not r["agrees"]),
        ("undecided by both", "#bbbbbb", lambda r: r["auto"] == r["fixed"] == "undecided"),
        ("undecided, decided by 30 seeds", "#ccbb44", lambda r: r["auto"] == "undecided" != r["fixed"]),
    )
    start = [0] * len(tasks)
    for name, colour, test in kinds:
        count = [sum(test(r) for r in found["rows"] if r["task"] == t) for t in tasks]
        right.barh(y, count, left=start, color=colour, label=name)
        start = [s + c for s, c in zip(start, count, strict=True)]
    right.set(xlabel="comparisons")
    figure.legend(*right.get_legend_handles_labels(), loc="lower center", ncols=2, frameon=False)
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=110, metadata={"Software": None})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["run", "read"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=None)
    options = parser.parse_args()
    if options.action == "run":
        run(options.folder, options.workers)
        return 0
    found, plan = read(options.folder), study()
    RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    draw(found)
    for key, value in found.items():
        if key not in ("rows", "tasks"):
            print(f"{key}: {value}")
    met = found["agreement"] >= plan["agreement_at_least"] and found["cells_share"] <= plan["cells_at_most"]
    print("met" if met else "NOT met")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
