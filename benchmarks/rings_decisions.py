"""How often RINGS decides, and how often falsely: mode scores with known truth, from 3 to 100 runs, clustered and not.

``python benchmarks/rings_decisions.py [--replicates N] [--write]`` prints one line per situation and exits with 1 when
false claims exceed alpha by more than Monte-Carlo error allows. ``--write`` puts the figures into
``benchmarks/results/rings_decisions.json`` and the tables into ``docs/rings.md``. ``make calibrate`` runs it as well.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphnetz.rings import Rule, decide_modes
from graphnetz.rings.evaluate import run_looks

ROOT = Path(__file__).resolve().parents[1]
RESULT, PAGE = ROOT / "benchmarks" / "results" / "rings_decisions.json", ROOT / "docs" / "rings.md"
RUNS = (3, 5, 10, 20, 50, 100)
KINDS = ("normal", "accuracy", "skewed", "unequal")
MARGIN, ALPHA = 0.02, 0.05
STRUCTURE = ("eg", "cg", "rg")
ONE_EQUAL = {"eg": 0.0, "cg": 0.1, "rg": 0.1}  # the easiest way to a false "informative": one of three is as good
AT_MARGIN = dict.fromkeys(STRUCTURE, MARGIN)  # the easiest way to a false "uninformative": all at the margin
CLEAR = dict.fromkeys(STRUCTURE, 0.05)
EQUAL = dict.fromkeys(STRUCTURE, 0.0)


def draw(
    rng: np.random.Generator, n: int, gaps: Mapping[str, float], *, kind: str = "normal", folds: int = 0
) -> dict[str, np.ndarray]:
    """Scores of the original and its structural perturbations on ``n`` runs, whose means differ by ``gaps``.

    Modes share how hard a run's split is. With ``folds`` runs take folds in turn, and every mode has an effect of
    its own on each fold, as large as the noise of a run.
    """
    shared = rng.normal(size=n) * 0.03
    out = {}
    for mode, gap in ({"o": 0.0} | dict(gaps)).items():
        noise = _noise(rng, n, kind, original=mode == "o")
        if folds:
            noise = noise + (rng.normal(size=folds) * 0.03)[np.arange(n) % folds]
        level = 0.8 - gap + shared + noise
        out[mode] = rng.binomial(40, np.clip(level, 0, 1)) / 40 if kind == "accuracy" else level
    return out


def _noise(rng: np.random.Generator, n: int, kind: str, *, original: bool) -> np.ndarray:
    if kind == "skewed":  # now and then a run goes badly, more so on the original
        return (1 - rng.exponential(size=n)) * (0.04 if original else 0.02)
    spread = 0.06 if kind == "unequal" and original else 0.02
    return rng.normal(size=n) * spread


def folds_of(n: int, clustered: bool) -> int:
    """Folds of a clustered situation: two or more runs each, at most ten."""
    return min(10, max(1, n // 2)) if clustered else 0


def outcomes(
    replicates: int, n: int, gaps: Mapping[str, float], *, kind: str, clustered: bool, seed: int = 0
) -> dict[str, float]:
    """Shares of the three outcomes."""
    folds = folds_of(n, clustered)
    rule = Rule(alpha=ALPHA, margin=MARGIN, splits=folds)
    found = []
    for index in range(replicates):
        rng = np.random.default_rng([seed, index, n, KINDS.index(kind), clustered])
        runs = draw(rng, n, gaps, kind=kind, folds=folds)
        found.append(decide_modes(runs, "acc", rule=rule)["structure"].outcome)
    return {name: found.count(name) / replicates for name in ("informative", "uninformative", "undecided")}


def in_rounds(replicates: int, gaps: Mapping[str, float], *, kind: str, most: int = 100) -> dict[str, float]:
    """Shares of outcomes, and mean runs, when runs are added in rounds until something is decided."""
    rule = Rule(alpha=ALPHA, margin=MARGIN, looks=run_looks(most))
    found, spent = [], []
    for index in range(replicates):
        runs = draw(np.random.default_rng([7, index, KINDS.index(kind)]), most, gaps, kind=kind)
        for look in rule.looks:
            state = decide_modes({mode: values[:look] for mode, values in runs.items()}, "acc", rule=rule)["structure"]
            if state.outcome != "undecided" or look == most:
                found.append(state.outcome)
                spent.append(look)
                break
    shares = {name: found.count(name) / replicates for name in ("informative", "uninformative", "undecided")}
    return shares | {"runs": float(np.mean(spent))}


def after_adding(replicates: int, n: int, gaps: Mapping[str, float], *, kind: str) -> dict[str, float]:
    """Of situations undecided after ``n`` runs: the share decided once the stated number of runs is there."""
    rule, decided, stated = Rule(alpha=ALPHA, margin=MARGIN), [], []
    for index in range(replicates):
        rng = np.random.default_rng([9, index, n, KINDS.index(kind)])
        runs = draw(rng, 3000, gaps, kind=kind)
        first = decide_modes({mode: values[:n] for mode, values in runs.items()}, "acc", rule=rule)["structure"]
        if first.outcome != "undecided" or first.needed is None or first.needed > 3000:
            continue
        more = decide_modes({mode: values[: first.needed] for mode, values in runs.items()}, "acc", rule=rule)
        decided.append(more["structure"].outcome != "undecided")
        stated.append(first.needed)
    return {"undecided": len(decided), "decided": float(np.mean(decided)), "median": float(np.median(stated))}


def bound(replicates: int) -> float:
    """Largest share of false claims that alpha and Monte-Carlo error explain."""
    return ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / replicates)


def measure(replicates: int) -> dict[str, Any]:
    """Measure fixed numbers of runs; print a line per situation."""
    false, decided = [], []
    for clustered in (False, True):
        for kind in KINDS:
            for n in RUNS:
                options = {"kind": kind, "clustered": clustered}
                informative = outcomes(replicates, n, ONE_EQUAL, **options)["informative"]
                uninformative = outcomes(replicates, n, AT_MARGIN, seed=1, **options)["uninformative"]
                false.append(options | {"runs": n, "informative": informative, "uninformative": uninformative})
                print(f"false   {_where(false[-1])}: informative {informative:.3f}, uninformative {uninformative:.3f}")
                clear = outcomes(replicates // 4, n, CLEAR, seed=2, **options)["undecided"]
                equal = outcomes(replicates // 4, n, EQUAL, seed=3, **options)["undecided"]
                decided.append(options | {"runs": n, "clear": clear, "equal": equal})
                print(f"open    {_where(decided[-1])}: gap 0.05 {clear:.2f}, equal {equal:.2f}", flush=True)
    return {"replicates": replicates, "false": false, "open": decided}


def measure_rounds(replicates: int) -> dict[str, Any]:
    """Measure runs in rounds, and whether the stated number of runs is enough."""
    rounds = []
    for kind in KINDS:
        row: dict[str, Any] = {"kind": kind}
        for name, gaps in (("one", ONE_EQUAL), ("margin", AT_MARGIN), ("clear", CLEAR), ("equal", EQUAL)):
            row[name] = in_rounds(replicates, gaps, kind=kind)
        rounds.append(row)
        wrong = f"informative {row['one']['informative']:.3f}, uninformative {row['margin']['uninformative']:.3f}"
        print(f"rounds  {kind}: false {wrong}; mean runs {row['clear']['runs']:.0f} and {row['equal']['runs']:.0f}")
    added = []
    for name, gaps in (("gap 0.03", dict.fromkeys(STRUCTURE, 0.03)), ("equal", EQUAL), ("one equal", ONE_EQUAL)):
        added.append({"truth": name} | after_adding(max(50, replicates // 10), 10, gaps, kind="normal"))
        print(f"added   {name}: {added[-1]}", flush=True)
    return {"rounds": rounds, "added": added}


def _where(row: Mapping[str, Any]) -> str:
    return f"{row['runs']:3d} runs, {row['kind']}{', folds' if row['clustered'] else ''}"


def missed(found: Mapping[str, Any]) -> list[str]:
    """Situations in which a claim is false too often."""
    most = bound(found["replicates"])
    out = [
        f"{_where(row)}: {claim} {row[claim]:.3f}"
        for row in found["false"]
        for claim in ("informative", "uninformative")
        if row[claim] > most
    ]
    for row in found["rounds"]:
        wrong = max(row["one"]["informative"], row["margin"]["uninformative"])
        if wrong > most:
            out.append(f"in rounds, {row['kind']}: {wrong:.3f}")
    return out


def tables(found: Mapping[str, Any]) -> str:
    """The figures as tables of the page: the worst of the four kinds of scores."""
    lines = [
        "| runs | false informative | false uninformative | undecided, gap 0.05 | undecided, no gap |",
        "|---|---|---|---|---|",
    ]
    for clustered in (False, True):
        for n in RUNS:
            wrong = [row for row in found["false"] if (row["runs"], row["clustered"]) == (n, clustered)]
            left = [row for row in found["open"] if (row["runs"], row["clustered"]) == (n, clustered)]
            worst = [max(row[key] for row in wrong) for key in ("informative", "uninformative")]
            spans = [[row[key] for row in left] for key in ("clear", "equal")]
            shown = [f"{value:.1%}" for value in worst] + [f"{min(s):.0%} to {max(s):.0%}" for s in spans]
            lines.append(f"| {n}{f' on {folds_of(n, True)} folds' if clustered else ''} | {' | '.join(shown)} |")
    for row in found["rounds"]:
        runs = f"{row['clear']['runs']:.0f} and {row['equal']['runs']:.0f} runs on average"
        wrong = f"{row['one']['informative']:.1%} | {row['margin']['uninformative']:.1%}"
        open_ = f"{row['clear']['undecided']:.0%} | {row['equal']['undecided']:.0%}"
        lines.append(f"| auto, {row['kind']} scores ({runs}) | {wrong} | {open_} |")
    head = "| truth | undecided after 10 runs | median stated number | decided once it is there |"
    lines += ["", head, "|---|---|---|---|"]
    for row in found["added"]:
        lines.append(f"| {row['truth']} | {row['undecided']} | {row['median']:.0f} | {row['decided']:.0%} |")
    return "\n".join(lines)


def write(found: Mapping[str, Any]) -> None:
    """Write the result file and the tables of the page."""
    RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    start, end = "<!-- decisions: benchmarks/rings_decisions.py -->", "<!-- /decisions -->"
    before, _, rest = text.partition(start)
    PAGE.write_text(f"{before}{start}\n{tables(found)}\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--write", action="store_true", help="write the result file and the tables of docs/rings.md")
    parser.add_argument("--rounds", action="store_true", help="measure rounds only, and take the rest from the file")
    options = parser.parse_args(argv)
    kept = json.loads(RESULT.read_text(encoding="utf-8")) if options.rounds else measure(options.replicates)
    found = kept | measure_rounds(options.replicates)
    wrong = missed(found)
    for text in wrong:
        print("MISSED ", text)
    if options.write:
        write(found)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
