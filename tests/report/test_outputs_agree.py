"""Every two outputs of one report, held against each other over random tables of scores.

``make calibrate`` runs 10,000 tables (``GRAPHNETZ_AGREE_TABLES`` asks for another number).
"""

import csv
import dataclasses
import html
import io
import json
import math
import os
import re
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

from graphnetz._core.text import number, p_value, shorten
from graphnetz.metrics import lookup
from graphnetz.records import CellResult
from graphnetz.report import BenchmarkReport, TaskInfo, escape, plots
from graphnetz.report.write import report_texts

TABLES = int(os.environ.get("GRAPHNETZ_AGREE_TABLES", "200"))
CHUNK = 25
NAMES = (
    "GCN", "GAT", "MLP", "a_b$%&#{}~^\\", "<script>alert(1)</script>", "=cmd()", "[red]x[/]", "O'Neil, \"J\"",
    "\u202eevil", "A | B", "-1+2", "tab\tname", "模型 é", "x" * 90, "y" * 39 + "z", "**bold**", "p = 0.01", "@sum",
)  # fmt: skip
METRICS = (("test_acc", True), ("test_mae", False), ("test_rmse", False), ("score", True), ("score", False))


# One random report


def random_report(index):
    """A report with gaps, failures, ties, constants, both directions, every replication and hostile names."""
    rng = np.random.default_rng([16, index])
    tasks = [str(name) for name in rng.choice(NAMES, rng.integers(1, 7), replace=False)]
    models = [str(name) for name in rng.choice(NAMES, rng.integers(2, 6), replace=False)]
    auto = rng.random() < 0.08
    seeds = range(12 if auto else int(rng.integers(1, 13)))
    gaps, fails = rng.choice([0.0, 0.0, 0.1, 0.4], 2)
    info, results, absent = {}, [], {}
    for task in tasks:
        metric, up = METRICS[rng.integers(len(METRICS))]
        replication = str(rng.choice(["init", "resplit", "fold", "regenerate"]))
        splits = int(rng.choice([0, 5])) if replication == "fold" else 0
        ratio = float(rng.choice([math.nan, 0.1, 0.25, 1.0]))
        info[task] = TaskInfo(
            metric, greater_is_better=up, replication=replication, test_ratio=ratio, splits=splits,
            block=str(rng.choice(["", "one"])), n_test=int(rng.choice([0, 100])),
        )  # fmt: skip
        dead, rows = rng.random() < 0.05, scores(rng, len(models), len(seeds))
        metric = fitting(metric, rows)
        info[task] = dataclasses.replace(info[task], metric=metric)
        for model, row in zip(models, rows, strict=True):
            if rng.random() < 0.1:
                absent[task, model] = "it does not serve this task"
                continue
            lost = dead or rng.random() < 0.04
            for seed, value in zip(seeds, row, strict=True):
                if rng.random() < gaps:
                    continue
                ok = not lost and rng.random() >= fails
                results.append(
                    CellResult(
                        "", task, model, seed, "ok" if ok else "failed", metric, up, {metric: float(value)} if ok else {},
                        error="" if ok else "RuntimeError: no", replication=replication, parameters=100, seconds=1.0,
                    )
                )  # fmt: skip
    config = {"auto": {"margin": 0.01, "max_seeds": 12}} if auto else {}
    if rng.random() < 0.3:
        config["baselines"] = [models[-1]]
    method = str(rng.choice(["t", "t", "t", "wilcoxon", "sign"]))
    interval = str(rng.choice(["t", "t", "bootstrap"]))
    return BenchmarkReport.from_results(
        results, tasks=info, models=models, seeds=seeds, config=config, absent=absent, pairwise_method=method,
        ci_method=interval, bootstrap_n=100,
    )  # fmt: skip


def fitting(metric, values):
    """Return a metric that can take these values: a declared one has bounds, and a report refuses what lies outside."""
    low, high = lookup(metric).bounds if metric != "score" else (-math.inf, math.inf)
    return metric if low <= values.min() and values.max() <= high else "score"


def scores(rng, models, seeds):
    spread, scale = rng.choice([0.0, 0.003, 0.02, 0.1]), rng.choice([1.0, 1.0, 1.0, 1e-7, 1e5, -1.0])
    # Where seeds differ by more than models do, missing cells can turn the order of the means around.
    common = rng.normal(0, rng.choice([0.02, 0.02, 0.5]), seeds)
    values = 0.6 + rng.normal(0, rng.choice([0.0, 0.02, 0.1]), (models, 1)) + common
    values = values + rng.normal(0, 1, (models, seeds)) * spread
    if rng.random() < 0.3:
        values = np.round(values, int(rng.integers(1, 4)))
    if rng.random() < 0.1:
        values[:] = values[:1]  # the same score for all
    if rng.random() < 0.1:
        values = 0.5 + np.arange(models)[:, None] * 0.1 + np.zeros(seeds)  # constants
    return values * scale


# What every output says: facts[key][output] = what it says of it


class Facts(defaultdict):
    """Statements by subject and by output; a contradiction is a subject of which two outputs say different things."""

    def __init__(self):
        super().__init__(dict)

    def say(self, output, key, value):
        self[key][output] = value

    def contradictions(self):
        for key, said in self.items():
            for (one, a), (two, b) in pairwise(said.items()):
                if a != b:
                    yield f"{key}: {one} says {a!r}, {two} says {b!r}"


def body(cell):
    return number(cell[0]) + (f" ± {number(cell[1])}" if math.isfinite(cell[1]) else "")


def without_seeds(text):
    """A cell without its remark that only some of the seeds finished."""
    return re.sub(r" \(\d+ of \d+\)$", "", text)


def number_of(text):
    return math.nan if text == "" else float(text)


def say_frames(facts, report, files):
    """CSV files, and who is best by means alone."""
    info = report.task_info
    rows = list(csv.DictReader(io.StringIO(files["summary.csv"])))
    frame = report.summary()
    assert [r["task"] for r in rows] == [escape.csv(task) for task, _ in frame.index]
    for (task, model), row in zip(frame.index, rows, strict=True):
        mean, half, low, high = (number_of(row[key]) for key in ("mean", "ci_half", "ci_low", "ci_high"))
        facts.say("summary.csv", ("n", task, model), int(row["n_seeds"]))
        facts.say("summary.csv", ("cell", task, model), body((mean, half)) if math.isfinite(mean) else "n/a")
        facts.say("summary.csv", ("span", task, model), f"[{number(low, digits=4)}, {number(high, digits=4)}]")
    for task, group in frame["mean"].dropna().groupby(level="task", sort=False):
        best = group.max() if info[task].greater_is_better else group.min()
        near = {m for (_, m), v in group.items() if math.isclose(v, best, rel_tol=1e-12, abs_tol=1e-300)}
        facts.say("summary.csv", ("best among", task), near)
    rows = list(csv.DictReader(io.StringIO(files["pairwise.csv"])))
    both = list(csv.DictReader(io.StringIO(files["pairwise_both.csv"])))
    pairs = report.pairwise()
    for row, side, task, a, b in zip(rows, both, pairs["task"], pairs["model_a"], pairs["model_b"], strict=True):
        key, up = (task, a, b), info[task].greater_is_better
        low, high = number_of(row["sim_low"]), number_of(row["sim_high"])
        diff, p = number_of(row["mean_diff"]), number_of(row["p_decided"])
        better = "" if diff == 0 or math.isnan(diff) else a if (diff > 0) == up else b
        facts.say("pairwise.csv", ("different", *key), row["different"] == "true")
        facts.say("pairwise.csv", ("reach", *key), row["reach"])
        facts.say("pairwise.csv from reach", ("different", *key), row["reach"] != "")
        apart = not low < 0 < high if row["different"] == "true" else not low <= 0 <= high
        assert math.isnan(low) or apart == (row["different"] == "true"), f"star and interval of {key} disagree"
        facts.say("pairwise.csv from p", ("different", *key), bool(p <= 0.05))
        facts.say("pairwise.csv", ("p", *key), "no test" if row["decided_by"] == "deterministic" else p_value(p))
        facts.say("pairwise.csv", ("difference", *key), number(diff, signed=True))
        span = f"{number(low, signed=True)}, {number(high, signed=True)}" if math.isfinite(low) else "n/a"
        facts.say("pairwise.csv", ("difference span", *key), span)
        facts.say("pairwise.csv", ("pair n", *key), int(row["n_seeds"]))
        facts.say("pairwise_both.csv", ("pair n", *key), int(side["n_seeds"]))
        facts.say("pairwise.csv", ("better", *key), better)
        facts.say(
            "pairwise.csv's word", ("better", *key), next((m for m in (a, b) if row["better"] == escape.csv(m)), "")
        )
        for test in ("t", "wilcoxon"):
            facts.say("pairwise_both.csv", (test, *key), p_value(number_of(side[f"p_{test}_holm"])))
            facts.say("pairwise_both.csv", (f"{test} significant", *key), side[f"significant_{test}"] == "true")
        if row["method"] in ("t", "wilcoxon"):
            facts.say("pairwise.csv", (row["method"], *key), p_value(number_of(row["p_holm"])))
            facts.say("pairwise.csv", (f"{row['method']} significant", *key), row["significant"] == "true")


def tex_rows(text):
    return [line[:-2].split(" & ") for line in text.split("\\midrule\n")[-1].splitlines() if line.endswith(r" \\")]


def from_tex(text):
    text = re.sub(r"\\ \\mbox\{(.*?)\}", r" \1", text)
    plain = re.sub(r"\\cdot 10\^\{(-?\d+)\}", lambda m: f"e{int(m[1]):+03d}", text).replace(r"\textit{n/a}", "n/a")
    return re.sub(r"\\cellcolor\{\w+\}|\\mathbf|[${}]", "", plain).replace(r"\pm", "±").strip()


def say_latex(facts, report, files):
    grid, models = report.grid(), report.scores.models
    rows = tex_rows(files["results.tex"])
    assert len(rows) == len(grid.rows)
    for row, cells in zip(grid.rows, rows, strict=True):
        assert escape.latex(row.task, width=40) == cells[0].strip()
        marks = {m: re.match(r"\\cellcolor\{(\w+)\}", c.strip()) for m, c in zip(models, cells[2:], strict=True)}
        say_marks(facts, "results.tex", row.task, {m: found[1] if found else "" for m, found in marks.items()})
        for model, cell in zip(models, cells[2:], strict=True):
            facts.say("results.tex", ("cell", row.task, model), without_seeds(from_tex(cell)))
    first, both = files["pairwise.tex"].split("Paired t-test and Wilcoxon")
    pairs = [(p.task, p.a, p.b) for p in report.comparisons()]
    for key, cells, sides in zip(pairs, tex_rows(first), tex_rows(both), strict=True):
        assert cells[1] == f"{escape.latex(key[1], width=24)} vs.\\ {escape.latex(key[2], width=24)}"
        facts.say("pairwise.tex", ("different", *key), "khaki" in cells[5])
        facts.say("pairwise.tex", ("reach", *key), cells[6].strip().replace("--", ""))
        facts.say("pairwise.tex", ("p", *key), from_tex(cells[5]))
        facts.say("pairwise.tex", ("difference", *key), from_tex(cells[2]))
        facts.say("pairwise.tex", ("difference span", *key), from_tex(cells[3]).strip("[]"))
        for test, cell in (("t", sides[3]), ("wilcoxon", sides[4])):
            facts.say("pairwise.tex", (test, *key), from_tex(cell.replace(r"$^\dagger$", "")))
            facts.say("pairwise.tex", (f"{test} significant", *key), "khaki" in cell)


def say_marks(facts, output, task, marks):
    words = {"khaki": "best", "almond": "tied"}
    by = {model: words.get(mark, mark) for model, mark in marks.items()}
    facts.say(output, ("best", task), [m for m, mark in by.items() if mark == "best"])
    facts.say(output, ("tied", task), {m for m, mark in by.items() if mark == "tied"})


def say_markdown(facts, report, files):
    lines = [line for line in files["summary.md"].splitlines() if line.startswith("|")][2:]
    for row, line in zip(report.grid().rows, lines, strict=True):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[3:-1]]
        marks = {
            m: "best" if c.endswith("**(best)**") else "tied" if c.endswith("(=)") else ""
            for m, c in zip(report.scores.models, cells, strict=True)
        }
        say_marks(facts, "summary.md", row.task, marks)
        for model, cell in zip(report.scores.models, cells, strict=True):
            plain = without_seeds(re.sub(r" \*\*\(best\)\*\*$| \(=\)$", "", cell))
            facts.say("summary.md", ("cell", row.task, model), "n/a" if plain.startswith("n/a") else plain)


def say_json(facts, report, files, *, again_too):
    raw = json.loads(files["results.json"])
    count = dict.fromkeys(report.summary().index, 0)
    for cell in raw["cells"]:
        value = next(iter(cell["metrics"].values()), None)
        count[cell["task"], cell["model"]] += cell["status"] == "ok" and value is not None
    for (task, model), n in count.items():
        facts.say("results.json", ("n", task, model), n)
    failed = [(c["task"], c["model"], c["seed"]) for c in raw["cells"] if c["status"] != "ok"]
    facts.say("results.json", ("failures",), len(failed))
    facts.say("results.json", ("verdicts",), [v["text"] for v in raw["verdicts"]])
    if again_too:
        say_again(facts, report, files)


def say_again(facts, report, files):
    """A report that was read back says the same."""
    again = BenchmarkReport.from_json(files["results.json"])
    assert again.pairwise().equals(report.pairwise())
    assert again.summary().equals(report.summary())
    facts.say("results.json read back", ("verdicts",), [v.text for v in again.verdicts()])


def plain(cell):
    return re.sub(r" significant$| †$", "", re.sub(r"<[^>]+>", "", cell).strip()).strip()


def say_page(facts, report, files):
    page = files["report.html"]
    table = page.split('<table class="heat')[1].split("</table>")[0]
    order = [int(i) for i in re.findall(r'<th scope="col" class="n" data-m="(\d+)"', table)]
    models = [report.scores.models[i] for i in order]
    rows = table.split("<tr data-t=")[1:]
    pattern = re.compile(r'<td class="n ([\w ]*)" data-m="\d+"(?: data-v="[^"]*" title="([^"]*)")?>(.*?)</td>', re.S)
    for row, text in zip(report.grid().rows, rows, strict=True):
        cells = [(mark.split()[-1] if mark.split()[1:] else "", *rest) for mark, *rest in pattern.findall(text)]
        say_marks(facts, "page", row.task, {m: c[0] for m, c in zip(models, cells, strict=True)})
        for model, (_, title, inner) in zip(models, cells, strict=True):
            shown = re.sub(r'<span class="(?:mark|lost)".*?</span>|<[^>]+>', "", inner, flags=re.S).strip()
            facts.say("page", ("cell", row.task, model), shown)
            if title:
                span, n = re.match(r"(\[.*?\]), (\d+) seed", title).groups()
                facts.say("page", ("n", row.task, model), int(n))
                facts.say("page", ("span", row.task, model), span)
    say_cards(facts, report, page)
    cells = [
        re.findall(r'<td(?: class="([^"]*)")?(?: title="[^"]*")?>(.*?)</td>', line, re.S)
        for part in page.split('<table class="pairs sortable">')[1:]
        for line in re.findall(r'<tr data-two="[\d ]+"><td>.*?</tr>', part.split("</table>")[0], re.S)
    ]
    for pair, row in zip(report.comparisons(), cells, strict=True):
        key = (pair.task, pair.a, pair.b)
        assert html.unescape(plain(row[0][1])) == shorten(pair.a, 30)
        facts.say("page", ("different", *key), "best" in row[5][0])
        facts.say("page", ("p", *key), plain(row[5][1]))
        facts.say("page", ("difference", *key), plain(row[2][1]))
        facts.say("page", ("difference span", *key), plain(row[3][1]).replace(" to ", ", "))
        facts.say("page", ("reach", *key), plain(row[6][1]).replace("–", ""))
        for test, cell in (("t", row[7]), ("wilcoxon", row[8])):
            facts.say("page", (test, *key), plain(cell[1]))
            facts.say("page", (f"{test} significant", *key), "best" in cell[0])
    shown = page.split('id="failures"')[1].split("</table>")[0].count("<tr><td>") if 'id="failures"' in page else 0
    facts.say("page", ("failures",), shown)
    said = re.search(r"<dt>Cells</dt><dd>[\d,]+ finished(?:, (\d+) failed)?", page)[1]
    facts.say("page, head", ("failures",), int(said or 0))
    lists = [part.split("</ul>")[0] for part in page.split('<ul class="verdicts">')[1:]]
    found = [text for part in lists for text in re.findall(r'</p><p>(.*?)</p>(?:<p class="basis">|</li>)', part, re.S)]
    facts.say("page", ("verdicts, sorted",), sorted(html.unescape(text) for text in found))
    facts.say("report", ("verdicts, sorted",), sorted(escape.clean(v.text) for v in report.verdicts()))


def say_cards(facts, report, page):
    """The numbers in letters beside every forest, and its dots."""
    cards = page.split('<article class="card"')[1:]
    for row, card in zip(report.grid().rows, cards, strict=True):
        for line in re.findall(r'<tr class="c\d+" data-m="\d+">.*?</tr>', card, re.S):
            model = report.scores.models[int(re.search(r'data-m="(\d+)"', line)[1])]
            words = re.sub(r'<span class="(?:mark|lost)".*?</span>|<[^>]+>', "", line.split('<td class="n">')[1])
            facts.say("card", ("cell", row.task, model), words.strip())
            aside = line.count('class="m d hollow"')
            facts.say("card", ("n", row.task, model), line.count('class="m d"') + aside)


def say_headline(facts, report):
    """The three sentences count what tables say."""
    found, pairs = report.analysis.headline, report.comparisons()
    shown = re.match(r"([\d,]+) of ([\d,]+) comparisons? shows? a difference", found.reaches.text)
    only = found.reaches.text.startswith("The only comparison shows a difference")
    facts.say("headline", ("shown",), int(shown[1].replace(",", "")) if shown else int(only))
    facts.say("comparisons", ("shown",), sum(pair.different for pair in pairs))
    failed = re.search(r"([\d,]+) of [\d,]+ runs? failed", found.distrust.text)
    facts.say("headline", ("failures",), int(failed[1]) if failed else 0)
    sets = report.analysis.rank_sets
    alone = bool(sets.models) and sets.n_tasks > 1 and not sets.reason and sets.high[0] == 1
    if len(report.scores.tasks) > 1:
        facts.say("places", ("alone",), alone)
        facts.say("headline", ("alone",), "first alone" in found.leads.text)
    for task, line in found.lines.items():
        place = report.analysis.standings[task]
        others = len(report.scores.present(task)) - 1
        facts.say("standings", ("clear", task), bool(place and place.worse and len(place.worse) == others))
        facts.say("headline", ("clear", task), line.level == "different")
        if place:
            assert shorten(place.best, 24) in line.text


def say_records(facts, report):
    """What figures draw."""
    for row in report.grid().rows:
        say_marks(facts, "grid", row.task, dict(zip(report.scores.models, (c.mark for c in row.cells), strict=True)))
    for pair in report.comparisons():
        key = (pair.task, pair.a, pair.b)
        facts.say("figures", ("different", *key), pair.different)
        facts.say("figures", ("p", *key), pair.p_words)
        facts.say("figures", ("better", *key), pair.better)
    facts.say("report", ("failures",), len(report.failures))
    facts.say("report", ("verdicts",), [escape.clean(v.text) for v in report.verdicts()])
    view, found = report.ranking().view(), report.ranking()
    if found.rejected:
        lead = {view.models[i] for i in next((set(c) for c in view.cliques if 0 in c), {0})}
        lead -= {found.sets.models[j] for _, j in found.sets.better}
        facts.say("figures", ("leaders",), lead)


def say_sentences(facts, report):
    """Who is said to be better than whom; sentences are read back with the names that may stand in them."""
    models = report.scores.models
    name = "(?:" + "|".join(sorted((re.escape(shorten(m, 40)) for m in models), key=len, reverse=True)) + ")"
    several = f"{name}(?:, {name})*(?: and {name})?"
    back = {shorten(m, 40): m for m in models}
    for task in report.scores.tasks:
        text = next(v.text for v in report.verdicts() if v.about == task)
        pairs = [p for p in report.comparisons() if p.task == task]
        tie = re.search(f"({several}) cannot be told apart from ({name})", text)
        same = re.search(f"({several}) have the same score on every", text)
        if tie or same:
            group = listed_exactly(tie[1], models) | {back[tie[2]]} if tie else listed_exactly(same[1], models)
            facts.say("verdict", ("group", task), group)
        lead = re.search(rf"({name}) is better than (every other model|{several}) [a-z ]+ \([\d,]+ [a-z ]+; "
                         rf"(?:nearest ({name}): )?(\S+)(?: \[(\S+), (\S+)\])?, "
                         r"(?:adjusted p = ([^);,]+)|the same difference on every seed, (?:p = )?([^);]+))", text)  # fmt: skip
        best = report.analysis.standings[task].best if report.analysis.standings[task] else ""
        if lead:
            who = back[lead[1]]
            every = lead[2] == "every other model"
            beaten = {p.other(who) for p in pairs if p.involves(who)} if every else listed_exactly(lead[2], models)
            facts.say("verdict", ("best", task), [who])
            facts.say("verdict", ("worse", task), beaten)
            say_nearest(facts, task, who, pairs, lead)
            for other in beaten:
                pair = next(p for p in pairs if p.involves(who) and p.involves(other))
                facts.say("verdict", ("better", task, pair.a, pair.b), who)
                facts.say("verdict", ("different", task, pair.a, pair.b), True)
        if "cannot show a difference" in text:
            for pair in pairs:
                facts.say("verdict", ("different", task, pair.a, pair.b), False)
        elif best and len(pairs) and max(p.n for p in pairs) > 1:
            facts.say(
                "comparisons", ("worse", task), {p.other(best) for p in pairs if p.involves(best) and p.beats(best)}
            )
            facts["worse", task].setdefault("verdict", set())
            if not facts["worse", task]["comparisons"]:
                facts.say("verdict", ("worse", task), set())
        assert not any(p.beats(p.other(best)) for p in pairs if p.involves(best)), f"{task}: {best} is beaten"
    every = report.verdict()
    failed = re.search(r"(\d+) cells? failed", every)
    facts.say("verdict", ("failures",), int(failed[1]) if failed else 0)
    found = report.ranking()
    if not found.reason:
        facts.say("ranking", ("ranks differ",), bool(found.rejected))
        facts.say("verdict", ("ranks differ",), "are not shown to differ" not in every)
        lead = re.search(f"Across tasks ({several}) (?:is|are) not shown behind", every)
        if found.rejected:
            facts.say("verdict", ("leaders",), listed_exactly(lead[1], models) if lead else set(found.models))


def say_nearest(facts, task, who, pairs, lead):
    """The numbers of the nearest model, turned to the direction of the tables."""
    near = lead[3] or lead[2]
    pair = next(p for p in pairs if p.involves(who) and shorten(p.other(who), 40) == near)
    key, turned = (task, pair.a, pair.b), str.maketrans("+-", "-+")
    flip = (lambda text: re.sub(r"^[+-]", lambda m: m[0].translate(turned), text)) if pair.a != who else str
    facts.say("verdict", ("p", *key), (lead[7] or lead[8]).replace("both are deterministic", "no test"))
    facts.say("verdict", ("difference", *key), flip(lead[4]))
    span = [flip(lead[5]), flip(lead[6])] if lead[5] else ["n/a"]
    facts.say("verdict", ("difference span", *key), ", ".join(span if pair.a == who else span[::-1]))


def listed_exactly(text, models):
    """The models whose joined names are ``text``."""
    found = [m for m in models if shorten(m, 40) in text]
    chosen = [m for m in found if not any(m != o and shorten(m, 40) in shorten(o, 40) for o in found)]
    return set(chosen)


def contradictions(index):
    """Every two outputs of random table ``index`` that contradict each other, in words."""
    report = random_report(index)
    files = report_texts(report, report.sections)
    facts = Facts()
    say_frames(facts, report, files)
    say_latex(facts, report, files)
    say_markdown(facts, report, files)
    say_json(facts, report, files, again_too=index % 4 == 0)
    say_page(facts, report, files)
    say_headline(facts, report)
    say_records(facts, report)
    say_sentences(facts, report)
    out = [f"table {index}: {text}" for text in facts.contradictions()]
    for task in report.scores.tasks:
        near, best = facts["best among", task].get("summary.csv", set()), facts["best", task].get("grid", [])
        counts = (facts["n", task, model].get("summary.csv", 0) for model in report.scores.present(task))
        complete = all(n == len(report.seeds) for n in counts)
        # Where cells are missing, the best is taken over shared seeds: tests/analysis holds it against its definition.
        # Where seeds cover folds unevenly, a sentence must say that folds count alike, and seeds in the means.
        even = not any("unevenly" in verdict.basis for verdict in report.analysis.verdicts if verdict.about == task)
        # A model that collapses in most runs is set aside, which a sentence says; its mean may still be the best.
        near -= set(report.analysis.standings[task].aside) if best and even and complete else set()
        if bool(near) != bool(best) or (best and complete and even and best[0] not in near):
            out.append(f"table {index}: {task}: {best} is marked best, by means it is {near}")
        group = facts["group", task].get("verdict")
        if group is not None and group != set(best) | facts["tied", task]["grid"]:
            out.append(f"table {index}: {task}: the verdict ties {group}, the table {best} and {facts['tied', task]}")
    return out


@pytest.mark.parametrize("start", range(0, TABLES, CHUNK))
def test_no_two_outputs_contradict_each_other(start):
    found = [text for i in range(start, min(start + CHUNK, TABLES)) for text in contradictions(i)]
    assert found == []


@pytest.mark.parametrize("index", [1, 5])
def test_figures_draw_what_the_tables_say(index):
    """The list marks the comparisons that differ; the matrix frames them."""
    report = random_report(index)
    pairs = report.comparisons()
    assert pairs
    _, found = plots.draw_pairwise_list(pairs)
    axes = np.ravel(found)  # one per task, because metrics share no axis
    hits = sum(pair.different for pair in pairs)
    lines = (line for one in axes for line in one.get_lines())
    filled = [line for line in lines if line.get_marker() == "o" and line.get_markerfacecolor() != "white"]
    assert sum(len(line.get_xdata()) for line in filled) == hits
    words = [text.get_text() for one in axes for text in one.texts]
    shown = (pair.p_words if pair.decided_by == "deterministic" else f"p = {pair.p_words}" for pair in pairs)
    assert words == [f"{p}{f' · {pair.reach}' if pair.reach else ''}" for p, pair in zip(shown, pairs, strict=True)]


def test_the_check_can_fail():
    """A number changed in one output is found."""
    facts = Facts()
    facts.say("a", ("p", "t"), "0.01")
    facts.say("b", ("p", "t"), "0.02")
    assert list(facts.contradictions()) == ["('p', 't'): a says '0.01', b says '0.02'"]
