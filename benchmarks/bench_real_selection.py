"""How good the recommendation is on real graphs: ``python benchmarks/bench_real_selection.py``.

Every domain of real graphs is left out in turn. The selector is fitted on the others, and everything it chooses
(kernel, ridge, fall-back) is chosen by leaving domains out once more within them, so that nothing is tuned on the
graphs that are scored. Scores are means over the splits of the test part.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from graphnetz.selection import PerformanceBank
from graphnetz.selection.real import Known, fit_real, known_graphs

LEVEL = 0.9
TASKS = ("link_pred", "node_cls", "graph_cls")
COLUMNS = (
    *("graph", "domain", "best", "average", "first", "three", "random", "average_three", "covered", "cells", "far"),
    "expected",
)


def left_out(known: Known) -> dict[str, Any]:
    """Per graph: what the average best, the first and the first three choices reach, coverage and the warning."""
    rows: dict[str, list[Any]] = {key: [] for key in COLUMNS}
    for domain in np.unique(known.domains):
        out = known.domains == domain
        fitted = fit_real(known.take(~out), level=LEVEL)
        for i in np.flatnonzero(out):
            found = fitted.advise(known.M[i])
            truth, seen = known.P[i], np.isfinite(known.P[i])
            order = [j for j in found.order if seen[j]]
            usual = [j for j in fitted.average_order if seen[j]]
            rows["graph"].append(known.graphs[i])
            rows["domain"].append(domain)
            rows["best"].append(np.nanmax(truth))
            rows["first"].append(truth[order[0]])
            rows["three"].append(max(truth[order[:3]]))
            rows["average"].append(truth[usual[0]])
            rows["average_three"].append(max(truth[usual[:3]]))
            rows["random"].append(np.nanmean(truth))
            inside = (truth >= found.low) & (truth <= found.high)
            rows["covered"].append(int(inside[seen].sum()))
            rows["cells"].append(int(seen.sum()))
            rows["far"].append(bool(found.unfamiliar))
            rows["expected"].append(found.regret)
    return {key: np.array(value) for key, value in rows.items()}


def by_domain(values: np.ndarray, domains: np.ndarray) -> np.ndarray:
    """Means within domains."""
    return np.array([values[domains == d].mean() for d in np.unique(domains)])


def flipped(gain: np.ndarray) -> float:
    """Share of all ways to flip the signs of the domains, those with no gain aside, that reach as much."""
    moved = gain[gain != 0]
    signs = 1 - 2 * (np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved)) & 1)
    return float((signs @ moved >= moved.sum() - 1e-12).mean())


def summary(rows: dict[str, Any]) -> dict[str, Any]:
    """The figures of the documentation."""
    gain = by_domain(rows["first"] - rows["average"], rows["domain"])
    rng = np.random.default_rng(0)
    coverage = by_domain(rows["covered"] / rows["cells"], rows["domain"])
    draws = rng.choice(coverage, (5_000, len(coverage))).mean(axis=1)
    regret1, regret3 = rows["best"] - rows["first"], rows["best"] - rows["three"]
    far = rows["far"]
    # Where regret is expected to be small it should be small: the halves of the graphs by what was expected.
    small = rows["expected"] <= np.median(rows["expected"])
    return {
        "graphs": len(far), "domains": len(gain), "mean best": rows["best"].mean(),
        "first": rows["first"].mean(), "average best": rows["average"].mean(), "random": rows["random"].mean(),
        "gain by domain": gain.mean(), "p (sign flips of domains, one-sided)": flipped(gain),
        "p (Wilcoxon of domains, one-sided)": float(stats.wilcoxon(gain, alternative="greater").pvalue)
        if np.any(gain) else 1.0,
        "regret of first": regret1.mean(), "regret of three": regret3.mean(),
        "expected regret of first": rows["expected"].mean(),
        "small expected regret": rows["expected"][small].mean(), "regret where small": regret1[small].mean(),
        "large expected regret": rows["expected"][~small].mean() if (~small).any() else float("nan"),
        "regret where large": regret1[~small].mean() if (~small).any() else float("nan"),
        "regret of the average best": (rows["best"] - rows["average"]).mean(),
        "regret of the average three": (rows["best"] - rows["average_three"]).mean(),
        "coverage": coverage.mean(), "coverage interval": np.quantile(draws, [0.025, 0.975]).round(3).tolist(),
        "warned": far.mean(), "regret where warned": regret1[far].mean() if far.any() else float("nan"),
        "regret elsewhere": regret1[~far].mean(),
    }  # fmt: skip


def main() -> None:
    """Evaluate every task."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bank", type=Path, help="default: the bank that ships")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rows", action="store_true", help="print every graph")
    arguments = parser.parse_args()
    bank, out = PerformanceBank.load(arguments.bank), {}
    for task_type in TASKS:
        rows = left_out(known_graphs(bank, task_type))
        out[task_type] = summary(rows)
        print(task_type)
        for key, value in out[task_type].items():
            print(f"  {key}: {value:.4f}" if isinstance(value, float) else f"  {key}: {value}")
        if arguments.rows:
            for row in zip(*rows.values(), strict=True):
                print("   ", *(f"{v:.3f}" if isinstance(v, float) else v for v in row))
    if arguments.json:
        arguments.json.write_text(json.dumps(out, indent=1, default=float) + "\n")


if __name__ == "__main__":
    main()
