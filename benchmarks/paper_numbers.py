"""Every number of the methods paper, as LaTeX macros from stored results.

``python benchmarks/paper_numbers.py`` reads `benchmarks/results` and writes `docs/paper/numbers.tex`; nothing is
computed that is not stored, but counts, shares and extremes. The text of the paper holds no digit of its own
(`tests/docs/test_paper.py`), so that it cannot say anything else than the results.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from statistics import mean, median
from typing import Any

from graphnetz import __version__
from graphnetz.records.analysis import AnalysisOptions

HERE = Path(__file__).parent
RESULTS = HERE / "results"
OUT = HERE.parent / "docs" / "paper" / "numbers.tex"
Macros = dict[str, str]

SPEED_TARGETS = {"W1": 20, "W2": 15, "W3": 6}
"""Asked for in docs/performance.md."""
WORDS = {"node classification": "one citation graph", "link prediction": "links of one graph",
         "graph classification": "molecule-sized graphs"}  # fmt: skip
FALSE_CLAIMS = ("better-split", "better-dataset", "better-source", "ranks-differ", "sequential", "anytime", "gate",
                "equivalent", "regression", "collapse", "not-testable")  # fmt: skip


def stored(name: str) -> Any:
    """What a results file holds; of ``.jsonl`` a list of lines."""
    path = RESULTS / name
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return json.loads(path.read_text(encoding="utf-8"))


def share(value: float, digits: int = 0) -> str:
    """A share as a percentage, with a space that does not break."""
    return f"{100 * value:.{digits}f}\\,\\%"


def whole(value: float) -> str:
    return f"{value:,.0f}".replace(",", "\\,")


def of(part: float, every: float) -> str:
    return f"{whole(part)} of {whole(every)}"


def p_value(p: float) -> str:
    return f"= {p:.3f}" if p >= 0.001 else "< 0.001"


def text(words: str) -> str:
    """Names from the results, safe in LaTeX."""
    for mark, safe in (("\\", r"\textbackslash "), ("_", r"\_"), ("&", r"\&"), ("%", r"\%"), ("#", r"\#")):
        words = words.replace(mark, safe)
    return words


def rows(lines: Iterable[Iterable[str]]) -> str:
    """Lines of a table."""
    return "\n".join(" & ".join(line) + r" \\" for line in lines)


def settings() -> Macros:
    options = AnalysisOptions()
    return {"Version": __version__, "Alpha": share(options.alpha), "Level": share(options.level)}


def calibration() -> Macros:
    found = stored("calibration.json")["rows"]
    held = [row for row in found if row["held"]]
    missed = [row for row in found if not row["held"]]
    claims = Counter(row["claim"] for row in found)
    split = [r for r in found if r["claim"] == "better-split" and r["high"] == 0.05]
    data = [r for r in found if r["claim"] == "better-dataset"]
    power = [r["value"] for r in data if r["situation"].startswith("power")]
    size = [r["value"] for r in data if r["situation"].startswith("size")]
    sets = [r["value"] for r in found if r["claim"] == "rank-set"]
    worst, tail = (
        max(r["value"] for r in found if r["claim"] == claim and r["low"] is None and 0 < (r["high"] or 0) <= 0.1)
        for claim in ("better-source", "not-testable")
    )
    outputs = next(r for r in found if r["claim"] == "outputs")
    lines = []
    for claim in FALSE_CLAIMS:
        some = [r for r in found if r["claim"] == claim and r["low"] is None and 0 < (r["high"] or 0) <= 0.1]
        if some:
            high = max(some, key=lambda r: r["value"])
            kept = sum(r["held"] for r in some)
            lines.append((text(claim), str(len(some)), share(mean(r["value"] for r in some), 1),
                          share(high["value"], 1), of(kept, len(some))))  # fmt: skip
    return {
        "CalibrationRows": whole(len(found)), "CalibrationHeld": of(len(held), len(found)),
        "CalibrationMissed": whole(len(missed)), "CalibrationClaims": whole(len(claims)),
        "CalibrationReplicates": whole(sum(r["replicates"] for r in found)),
        "SplitWorst": share(max(r["value"] for r in split), 1), "SplitRows": whole(len(split)),
        "DatasetSizeLow": share(min(size), 1), "DatasetSizeHigh": share(max(size), 1),
        "DatasetPowerLow": share(min(power), 0), "RankSetLow": share(min(sets), 1), "RankSetRows": whole(len(sets)),
        "SourceWorst": share(worst, 1),
        "TailWorst": share(tail, 1),
        "OutputsTables": whole(outputs["replicates"]), "OutputsWrong": share(outputs["value"], 2),
        "CalibrationTable": rows(lines),
    }  # fmt: skip


def decisions() -> Macros:
    study, suites = stored("decide_sooner.json"), stored("sequential_suites.json")
    auto = {name: suite["ways"]["auto (Pocock)"] for name, suite in suites.items()}
    lines = []
    for name, suite in suites.items():
        for way in ("auto (Pocock)", "auto (O'Brien-Fleming)", "anytime", "AdaStop"):
            row = suite["ways"][way]
            first = f"{text(name)}, {whole(suite['comparisons'])} pairs" if way.startswith("auto (P") else ""
            lines.append((first, text(way), share(row["cells_share"]), f"{row['decided']:.1f}",
                          f"{row['fixed_at_equal_cells']:.1f}", share(row["of_30_fixed"], 1)))  # fmt: skip
    fixed = study["comparisons"] * (1 - study["undecided_share_of_fixed_seeds"])
    oracle = suites["default suite"]["oracle_cells_share"]["0.97"]
    return {
        "StudyCells": whole(study["cells"]), "StudyFixedCells": whole(study["cells_of_fixed_seeds"]),
        "StudyShare": share(study["cells_share"], 1), "StudyPairs": whole(study["comparisons"]),
        "StudyDecided": whole(study["decided"]), "StudyFixedDecided": whole(fixed), "StudyAgree": whole(study["agree"]),
        "StudyContradictions": whole(study["contradictions"]), "OracleShare": share(oracle, 1),
        "AutoShareLow": share(min(row["cells_share"] for row in auto.values())),
        "AutoShareHigh": share(max(row["cells_share"] for row in auto.values())),
        "AutoKeptLow": share(min(row["of_30_fixed"] for row in auto.values()), 1),
        "AutoGain": of(sum(row["decided"] > row["fixed_at_equal_cells"] for row in auto.values()), len(auto)),
        "LookFirst": whole(study["looks"][0]), "LookLast": whole(study["looks"][-1]),
        "Looks": whole(len(study["looks"])), "DecisionTable": rows(lines),
    }  # fmt: skip


def advice() -> Macros:
    tasks = stored("advice.json")["tasks"]
    fixed = [t["ratio"] for t in tasks if t["replication"] == "init"]
    drawn = [t["ratio"] for t in tasks if t["replication"] != "init"]
    return {
        "AdviceTasks": whole(len(tasks)), "AdviceFixedLow": f"{min(fixed):.1f}", "AdviceFixedHigh": f"{max(fixed):.1f}",
        "AdviceDrawnLow": f"{min(drawn):.2f}", "AdviceDrawnHigh": f"{max(drawn):.2f}",
    }  # fmt: skip


def selection() -> Macros:
    out: Macros = {}
    for kind, name in (("node_cls", "Node"), ("link_pred", "Link")):
        found = stored("selection_real.json")[kind]
        out |= {
            f"{name}Graphs": whole(found["graphs"]), f"{name}Domains": whole(found["domains"]),
            f"{name}Best": f"{found['mean best']:.3f}", f"{name}First": f"{found['first']:.3f}",
            f"{name}Average": f"{found['average best']:.3f}", f"{name}Random": f"{found['random']:.3f}",
            f"{name}Gain": f"{found['gain by domain']:.3f}",
            f"{name}P": p_value(found["p (sign flips of domains, one-sided)"]),
            f"{name}GainWords": "shown" if found["p (sign flips of domains, one-sided)"] <= 0.05 else "not shown",
            f"{name}Regret": f"{found['regret of first']:.3f}", f"{name}RegretThree": f"{found['regret of three']:.3f}",
            f"{name}RegretAverage": f"{found['regret of the average best']:.3f}",
            f"{name}Warned": share(found["warned"]), f"{name}RegretWarned": f"{found['regret where warned']:.3f}",
            f"{name}RegretElse": f"{found['regret elsewhere']:.3f}",
        }  # fmt: skip
    return out


def speed() -> Macros:
    peer, rivals = stored("peer.json")["results"], stored("rivals.json")
    lines, inside, models = [], 0, 0
    for name, found in peer.items():
        within = [model["inside"] for model in found["metrics"].values()]
        inside, models = inside + sum(within), models + len(within)
        kind = WORDS[found["workload"].split(",")[0]]
        lines.append((f"{kind}", f"{found['ratio']:.1f}", str(SPEED_TARGETS[name]), of(sum(within), len(within)),
                      whole(found["repeats"])))  # fmt: skip
    met = sum(peer[name]["ratio"] >= target for name, target in SPEED_TARGETS.items())
    own: dict[str, list[float]] = {"cora": [], "enzymes": []}
    for name, row in rivals["rows"].items():
        graph, _, threads = name.split()
        if threads == "1" and graph in own:
            own[graph].append(fastest_rival(row) / row["sides"]["ours"]["ms"])
    differences = [row["difference"] for row in rivals["rows"].values()]
    return {
        "PeerTable": rows(lines), "PeerMet": of(met, len(SPEED_TARGETS)), "PeerInside": of(inside, models),
        "OwnLargeLow": f"{min(own['cora']):.1f}", "OwnLargeHigh": f"{max(own['cora']):.1f}",
        "OwnLargeMedian": f"{median(own['cora']):.1f}", "OwnSmallLow": f"{min(own['enzymes']):.1f}",
        "OwnSmallHigh": f"{max(own['enzymes']):.1f}", "OwnSmallMedian": f"{median(own['enzymes']):.1f}",
        "RivalLoad": f"{rivals['machine']['load']:.0f}", "RivalCores": whole(rivals["machine"]["cores"]),
        "LargestDifference": scientific(max(differences)),
    }  # fmt: skip


def fastest_rival(row: Mapping[str, Any]) -> float:
    """Milliseconds of the fastest other side of a row that runs the same module."""
    return min(side["ms"] for name, side in row["sides"].items() if not name.startswith("ours") and "built" not in name)


def scientific(value: float) -> str:
    digits, power = f"{value:.0e}".split("e")
    return rf"\ensuremath{{{digits}\times 10^{{{int(power)}}}}}"


def large() -> Macros:
    found = [row for row in stored("folders.jsonl") if row["edges"] == max(r["edges"] for r in stored("folders.jsonl"))]
    sgc = [row for row in found if row.get("model") in (None, "SGC")]
    whole_graph = next(row for row in stored("large.jsonl") if row["what"] == "whole" and row["nodes"] == 1_000_000)
    batches = next(row for row in stored("large.jsonl") if row["what"] == "epoch" and row["nodes"] == 1_000_000)
    return {
        "FolderEdges": whole(found[0]["edges"] / 1e6), "FolderDisk": f"{found[0]['disk_gb']:.1f}",
        "FolderMemory": f"{max(row['memory_gb'] for row in found):.1f}",
        "FolderMinutes": whole(sum(row["cpu_s"] for row in sgc) / 60),
        "WholeMemory": f"{max(whole_graph['phase_bytes'].values()) / 1e9:.1f}", "WholeCpu": whole(whole_graph["cpu_s"]),
        "BatchMemory": f"{max(batches['phase_bytes'].values()) / 1e9:.1f}", "BatchCpu": whole(batches["cpu_s"]),
        "WholeNodes": whole(whole_graph["nodes"] / 1e6), "WholeArcs": whole(whole_graph["arcs"] / 1e6),
    }  # fmt: skip


def cells() -> Macros:
    """Boards of many cells; empty words until they were measured."""
    path = RESULTS / "cells.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    boards = found.get("boards", ())
    lines = [
        (whole(b["rows"]), whole(b["models"]), whole(b["tasks"]), "runs" if b["seeds"] else "means",
         f"{b['cpu_s']:.1f}",         f"{b['peak_gb']:.2f}", f"{b['parquet_mb']:.0f}") for b in boards
    ]  # fmt: skip
    top = [b for b in boards if b["rows"] == max(b["rows"] for b in boards)]
    held = [row["coverage"] for row in found.get("coverage", ())]
    return {
        "BoardTable": rows(lines), "BoardMost": whole(max((b["rows"] for b in top), default=0)),
        "BoardCpu": whole(max((b["cpu_s"] for b in top), default=0)),
        "BoardMemory": f"{max((b['peak_gb'] for b in top), default=0):.1f}",
        "BandLow": share(min(held, default=0), 1), "BandRows": whole(len(held)),
    }  # fmt: skip


CHAOS_WORDS = {
    "bad input": "bad files, options and run folders", "exchanged values": "values exchanged in stores and reports",
    "integrity": "tampering, bit flips, forgeries",
    "failing calls and power": "failing calls and allocations, losses of power",
    "kills": "processes killed at every step and at random",
}  # fmt: skip


def reliability() -> Macros:
    parts = stored("chaos.json")["parts"]
    lines, total = [], [0, 0, 0]
    for name, part in parts.items():
        counts = [sum(row[i] for row in part["counts"].values()) for i in range(3)]
        total = [a + b for a, b in zip(total, counts, strict=True)]
        lines.append((CHAOS_WORDS.get(name, "adversarial tests"), *map(whole, counts)))
    mutants = stored("mutants.json")
    tried, killed = (sum(m[key] for m in mutants.values()) for key in ("tried", "killed"))
    return {
        "ChaosTable": rows(lines), "ChaosTried": whole(total[0]), "ChaosHeld": whole(total[1]),
        "ChaosBroken": whole(total[2]), "ChaosMinutes": whole(sum(p["processor_minutes"] for p in parts.values())),
        "MutantsTried": whole(tried), "MutantsKilled": whole(killed),
        "MutantsPossible": whole(sum(m["possible"] for m in mutants.values())),
    }  # fmt: skip


def rings() -> Macros:
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((RESULTS / "rings").glob("*.json"))]
    decided = stored("rings_decisions.json")
    worst = max(max(row["informative"], row["uninformative"]) for row in decided["false"])
    lines = [
        (text(f["facts"]["dataset"]), whole(f["facts"]["runs"]), text(f["facts"]["structure"]),
         text(f["facts"]["features"]), text(f["facts"]["verdict"]), f"{f['hours_in_cells']:.2f}") for f in found
    ]  # fmt: skip
    return {
        "RingsTable": rows(lines), "RingsDatasets": whole(len(found)), "RingsWorst": share(worst, 1),
        "RingsReplicates": whole(decided["replicates"]),
    }  # fmt: skip


def replication() -> Macros:
    """Cells and claims of the two papers; of the second, of which nothing can be compared, the few that say so."""
    netz, bgnn = (stored(f"replicate_{paper}.json")["counts"] for paper in ("graphnetz", "benchmarking_gnns"))
    cell, claim, other = netz["cells"], netz["claims"], netz["claims on other data"]
    theirs, others = bgnn["cells"], bgnn["claims on other data"]
    return {
        "NetzCells": whole(sum(cell.values())),
        "NetzCompared": whole(cell["equivalent"] + cell["differs"] + cell["open"]),
        "NetzEquivalent": whole(cell["equivalent"]), "NetzDiffers": whole(cell["differs"]),
        "NetzOpen": whole(cell["open"]), "NetzOther": whole(cell["not comparable"]),
        "NetzNotRun": whole(cell["not run"]), "NetzClaims": whole(sum(claim.values()) + sum(other.values())),
        "NetzShown": whole(claim["shown"]), "NetzAsked": whole(sum(claim.values()) - claim["not run"]),
        "NetzOtherShown": of(other["shown"], sum(other.values())),
        "NetzContradicted": whole(claim["contradicted"] + other["contradicted"]),
        "BgnnCells": whole(sum(theirs.values())), "BgnnNotRun": whole(theirs["not run"]),
        "BgnnCompared": whole(theirs["equivalent"] + theirs["differs"] + theirs["open"]),
        "BgnnOtherShown": of(others["shown"], sum(others.values())),
        "BgnnContradicted": whole(bgnn["claims"]["contradicted"] + others["contradicted"]),
    }  # fmt: skip


def field() -> Macros:
    places, ranks = stored("published_places.json"), stored("sweep_ranks.json")
    lines = []
    for paper in dict.fromkeys(entry["paper"] for entry in places):
        lines.append((text(paper), *_places([e for e in places if e["paper"] == paper])))
    bgnn = [e for e in places if e["paper"] == "Benchmarking GNNs"]
    shown, adjacent = sum(e["shown"] for e in places), sum(e["adjacent"] for e in places)
    first, last = (
        min(ranks["mean_ranks"].items(), key=lambda r: r[1]),
        max(ranks["mean_ranks"].items(), key=lambda r: r[1]),
    )
    return {
        "PlacesTable": rows([*lines, ("all", *_places(places))]), "PlacesLists": whole(len(places)),
        "PlacesShown": of(shown, adjacent), "PlacesShare": share(shown / adjacent),
        "PlacesBgnn": of(sum(e["shown"] for e in bgnn), sum(e["adjacent"] for e in bgnn)),
        "PlacesAlone": of(sum(e["first_alone"] for e in places), len(places)),
        "SweepTasks": whole(ranks["tasks"]), "SweepGraphs": whole(ranks["graphs"]), "SweepRuns": whole(ranks["runs"]),
        "SweepReachable": whole(ranks["reachable"]), "SweepP": p_value(ranks["p"]), "SweepCd": f"{ranks['cd']:.2f}",
        "SweepFirst": text(first[0]), "SweepFirstRank": f"{first[1]:.2f}", "SweepLast": text(last[0]),
        "SweepLastRank": f"{last[1]:.2f}", "SweepShown": "differ" if ranks["p"] <= 0.05 else "are not shown to differ",
    } | graph_needed()  # fmt: skip


def _places(some: list[Mapping[str, Any]]) -> tuple[str, ...]:
    runs = sorted({e["runs"] for e in some})
    return (
        whole(len(some)), str(runs[0]) if len(runs) == 1 else f"{runs[0]}--{runs[-1]}",
        of(sum(e["shown"] for e in some), sum(e["adjacent"] for e in some)),
        of(sum(e["pairs_shown"] for e in some), sum(e["pairs"] for e in some)),
        of(sum(e["first_alone"] for e in some), len(some)),
    )  # fmt: skip


def graph_needed() -> Macros:
    """Tasks of the sweep on which something else than a graph network has the best mean, and how often it was what."""
    networks = {*stored("sweep_ranks.json")["mean_ranks"], "GIN"}
    first: list[str] = []
    tasks = [task for task in stored("sweep.json")["tasks"].values() if set(task["scores"]) - networks]
    for task in tasks:
        means = {m: mean(s) for m, s in task["scores"].items() if s and all(x is not None for x in s)}
        sign = 1 if task["greater_is_better"] else -1
        first.append(max(means, key=lambda m: sign * means[m]))
    found = Counter(model for model in first if model not in networks)
    listed = ", ".join(f"{text(model)} on {count}" for model, count in found.most_common())
    return {"SweepBaselineFirst": of(sum(found.values()), len(tasks)), "SweepBaselines": listed or "none"}


def tuning() -> Macros:
    """What the findings over the tuned bundles count."""
    found = {one["name"]: one for one in stored("field/more/tuned.json")["findings"]}
    columns, rows_ = found["tuning"]["table"]["columns"], found["tuning"]["table"]["rows"]
    run, tried, all_of = (columns.index(name) for name in ("Runs", "Settings", "Trainings"))
    kept = dict(found["tuning-differences"]["tally"])
    other = dict(found["tuning-best"]["tally"])
    rule = found["tuning-rule"]["table"]["rows"]
    gain = found["tuning-gain"]["table"]["rows"]
    before, after = ([row[i] for row in rule] for i in (3, 6))
    return {
        "TunedTasks": whole(len({row[0] for row in rows_})), "TunedModels": whole(len({row[1] for row in rows_})),
        "TunedSettings": whole(max(row[tried] for row in rows_)), "TunedRuns": whole(sum(row[run] for row in rows_)),
        "TunedTrainings": whole(sum(row[all_of] for row in rows_)),
        "TunedKept": of(kept["default and tuned"], sum(kept.values()) - kept["tuned only"]),
        "TunedTurned": whole(kept["the other way round"]), "TunedNew": whole(kept["tuned only"]),
        "TunedOther": of(other["another is best"], sum(other.values())),
        "TunedRuleTasks": whole(len(rule)), "TunedRuleBefore": whole(before.count("network")),
        "TunedRuleAfter": whole(after.count("network")), "TunedRuleWorseBefore": whole(before.count("baseline")),
        "TunedRuleWorseAfter": whole(after.count("baseline")),
        "TunedRaised": of(sum(row[-1] == "raises" for row in gain), len(gain)),
        "TunedLowered": whole(sum(row[-1] == "lowers" for row in gain)),
        "TunedGainLow": rf"\ensuremath{{{min(row[3] for row in gain):+.3f}}}",
        "TunedGainHigh": rf"\ensuremath{{{max(row[3] for row in gain):+.3f}}}",
    }  # fmt: skip


def glemos() -> Macros:
    with (RESULTS / "selection_glemos.csv").open(encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    return {"GlemosRows": whole(len(lines)), "GlemosSelectors": whole(len({line["selector"] for line in lines}))}


PARTS: tuple[Callable[[], Macros], ...] = (
    settings, calibration, decisions, advice, selection, speed, large, cells, reliability, rings, replication, field,
    tuning, glemos,
)  # fmt: skip


def numbers() -> str:
    """The file of macros."""
    found: Macros = {}
    for part in PARTS:
        made = part()
        if twice := found.keys() & made.keys():
            raise SystemExit(f"Two parts of the paper's numbers define {', '.join(sorted(twice))}.")
        found |= made
    lines = [f"\\newcommand{{\\{name}}}{{{value}}}" for name, value in found.items()]
    return "% Written by benchmarks/paper_numbers.py from benchmarks/results.\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    OUT.write_text(numbers(), encoding="utf-8")
    print(f"{OUT.name}: {numbers().count('newcommand')} macros")
