"""Two runs compared, several merged, many on one board."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats.multitest import multipletests

from graphnetz._core.errors import UsageError
from graphnetz.analysis import run_changes
from graphnetz.cli.app import run_app
from graphnetz.report import BenchmarkReport
from graphnetz.report.compare_runs import compare_reports, merge_reports
from graphnetz.report.write import write_report

EVIL = "</script><img src=x onerror=alert(1)>"


def frame(values, *, metric="test_acc", greater=True):
    """values[task][model]: scores by seed."""
    rows = [
        (task, model, seed, float(score), metric, greater)
        for task, models in values.items()
        for model, scores in models.items()
        for seed, score in enumerate(scores)
    ]
    return pd.DataFrame(rows, columns=["task", "model", "seed", "score", "metric", "greater_is_better"])


def report(values, **options):
    return BenchmarkReport.from_scores(frame(values, **options))


@pytest.fixture
def pair():
    rng = np.random.default_rng(3)
    a = {t: {m: 0.7 + rng.normal(0, 0.01, 8) for m in ("GCN", EVIL)} for t in ("cora", "pubmed")}
    b = {t: {m: x.copy() for m, x in models.items()} for t, models in a.items()}
    b["cora"]["GCN"] += 0.05 + rng.normal(0, 0.01, 8)
    b["pubmed"]["GCN"] -= 0.05 + rng.normal(0, 0.01, 8)
    b["pubmed"][EVIL] += rng.normal(0, 0.01, 8)
    return a, b


def test_changes_agree_with_scipy_and_statsmodels(pair):
    a, b = pair
    found = compare_reports(report(a), report(b))
    by = {(c.task, c.model): c for c in found.changes}
    tested = [k for k, c in by.items() if c.verdict != "identical"]
    raw = [scipy_stats.ttest_rel(b[t][m], a[t][m]).pvalue for t, m in tested]
    assert [by[k].p for k in tested] == pytest.approx(raw, rel=1e-9)
    # The identical pair belongs to the family too: it counts as a test that shows nothing.
    holm = multipletests([*raw, 1.0], method="holm")[1][:-1]
    assert [by[k].p_holm for k in tested] == pytest.approx(list(holm), rel=1e-9)
    assert by["cora", "GCN"].verdict == "better"
    assert by["pubmed", "GCN"].verdict == "worse"
    assert by["cora", EVIL].verdict == "identical"
    assert by["cora", "GCN"].diff == pytest.approx(np.mean(b["cora"]["GCN"] - a["cora"]["GCN"]))
    assert "1 became better, 1 worse, 1 is identical" in found.sentence()


def test_direction_of_the_metric_decides_what_better_is(pair):
    a, b = pair
    found = compare_reports(report(a, metric="test_mae", greater=False), report(b, metric="test_mae", greater=False))
    assert {(c.task, c.verdict) for c in found.changes if c.model == "GCN"} == {("cora", "worse"), ("pubmed", "better")}


def test_only_shared_seeds_are_paired_and_gaps_are_named(pair):
    a, _ = pair
    rise = np.array([0.1, 0.11, 0.1, 0.12, 0.1])
    short = {"cora": {"GCN": a["cora"]["GCN"][:5] + rise}, "new": {"GIN": [0.5, 0.6]}}
    found = compare_reports(report(a), report(short))
    (change,) = found.changes
    assert (change.n, change.verdict) == (5, "better")
    assert ("task only in the second run", "new") in found.only
    assert ("seed only in the first run", "7") in found.only
    other = report({"cora": {"GCN": [0.1, 0.2]}}, metric="test_f1")
    assert compare_reports(report(a), other).incomparable[0][0] == "cora"
    assert "share no task" in compare_reports(report(a), other).sentence()
    for alpha in (0.0, 1.0, 2.0):
        with pytest.raises(UsageError, match="alpha"):
            compare_reports(report(a), report(a), alpha=alpha)


def test_identical_runs_are_called_identical(pair):
    a, _ = pair
    found = compare_reports(report(a), report(a))
    assert {c.verdict for c in found.changes} == {"identical"}
    assert found.sentence() == "All 4 shared (task, model) pairs have identical scores."


def constant(first, second, seeds, tasks=1, **options):
    """Two runs whose scores differ by the same amount on every seed."""
    noise = np.random.default_rng(0).normal(0, options.pop("noise", 0.0), seeds)
    runs = ({f"t{t}": {"GCN": level + noise} for t in range(tasks)} for level in (first, second))
    return [BenchmarkReport.from_scores(frame(values).assign(**options)) for values in runs]


def test_a_constant_drop_is_a_drop():
    """0.80 to 0.50 on every seed was said to show no significant change."""
    found = compare_reports(*constant(0.80, 0.50, 10))
    (change,) = found.changes
    assert (change.verdict, change.method, change.p_holm) == ("worse", "sign-flip", 2 / 2**10)
    assert "1 worse" in found.sentence()
    assert found.verdict().claims == ("regression",)
    # Five seeds can be exchanged in 2^5 ways, two of which look like this: 0.0625 shows nothing.
    (few,) = compare_reports(*constant(0.80, 0.50, 5, noise=0.01)).changes
    assert (few.verdict, few.p_holm) == ("untested", 0.0625)
    # All pairs are exchanged together, so a drop on every task is no less a drop than on one.
    assert {c.verdict for c in compare_reports(*constant(0.80, 0.79, 10, tasks=60, noise=0.01)).changes} == {"worse"}


def test_where_nothing_is_random_no_test_is_needed():
    (change,) = compare_reports(*constant(0.80, 0.50, 6, replication="init")).changes
    assert (change.verdict, change.method) == ("worse", "none")
    assert math.isnan(change.p)
    (random,) = compare_reports(*constant(0.80, 0.50, 5, replication="init", noise=0.01)).changes
    assert random.verdict == "untested"
    # Three equal scores of a small test set happen by chance.
    (few,) = compare_reports(*constant(0.80, 0.50, 3, replication="init")).changes
    assert few.verdict == "untested"


def test_exchanging_runs_of_constant_pairs_by_enumeration():
    """The family-wise p is the share of exchanges under which any pair looks as constant as the one that is."""
    signs = [np.ones(6), np.array([1, -1, 1, 1, 1, 1.0]), -np.ones(6)]
    flips = np.array(list(itertools.product([-1, 1], repeat=6)))
    hits = np.any([np.abs((flips * row).sum(axis=1)) == 6 for row in signs], axis=0)
    assert run_changes._flips(signs, 6) == pytest.approx(hits.mean())


def test_runs_without_common_seeds_or_data_get_welch(pair):
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.8, 0.01, 6), rng.normal(0.7, 0.02, 9)
    first = report({"t": {"GCN": a}})
    other = BenchmarkReport.from_scores(frame({"t": {"GCN": b}}).assign(seed=range(100, 109)))
    witness = scipy_stats.ttest_ind(b, a, equal_var=False)
    (change,) = compare_reports(first, other).changes
    assert (change.verdict, change.method) == ("worse", "welch")
    assert change.p == pytest.approx(witness.pvalue, rel=1e-9)
    assert (change.low, change.high) == pytest.approx(tuple(witness.confidence_interval()), rel=1e-9)
    again, same = report({"t": {"GCN": a}}), report({"t": {"GCN": a + rng.normal(0, 1e-3, 6)}})
    for n, run in enumerate((again, same)):
        run.provenance = {"dataset_fingerprints": {"t": str(n)}}
    assert compare_reports(again, same).changes[0].method == "welch"
    same.provenance = again.provenance
    assert compare_reports(again, same).changes[0].method == "t"


def test_a_margin_is_tested_for_and_not_only_looked_at():
    rng = np.random.default_rng(1)
    a = rng.normal(0.8, 0.01, 10)
    d = rng.normal(-0.02, 0.005, 10)
    runs = report({"t": {"GCN": a}}), report({"t": {"GCN": a + d}})
    for margin in (0.01, 0.019):
        (change,) = compare_reports(*runs, margin=margin).changes
        assert change.p == pytest.approx(scipy_stats.ttest_1samp(d, -margin).pvalue, rel=1e-6)
    assert compare_reports(*runs, margin=0.01).worse
    assert not compare_reports(*runs, margin=0.03).worse
    with pytest.raises(UsageError, match="margin"):
        compare_reports(*runs, margin=-1)


def test_merge_is_the_union_whatever_the_order(pair):
    a, _ = pair
    left, right = report({"cora": a["cora"]}), report({"pubmed": a["pubmed"]})
    merged = merge_reports([left, right])
    whole = report(a)
    pd.testing.assert_frame_equal(merged.summary(), whole.summary())
    again = merge_reports([right, left, whole])  # repeated cells with equal values are one cell
    assert len(again.results) == len(whole.results)
    pd.testing.assert_frame_equal(again.summary().sort_index(), whole.summary().sort_index())


def test_merged_runs_say_what_their_folders_let_them_say(tmp_path):
    """Predictions lie beside a run, not in its cells: a board lost them, and with them how far differences reach."""
    rng = np.random.default_rng(5)
    right = {"GCN": 0.9, "MLP": 0.6}
    rows = [
        (task, model, seed, example, 1, int(rng.random() < right[model]))
        for task in ("cora", "pubmed") for model in right for seed in range(5) for example in range(80)
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["task", "model", "seed", "example", "target", "prediction"])
    table = table.assign(metric="test_acc")
    for model in right:
        mine = BenchmarkReport.from_predictions(table[table.model == model], replication="init")
        write_report(mine, tmp_path / model, figures=False)
    whole = BenchmarkReport.from_predictions(table, replication="init")
    assert {pair.reach for pair in whole.analysis.comparisons} == {"source"}
    parts = [BenchmarkReport.from_json(tmp_path / model / "results.json") for model in right]
    merged = merge_reports(parts, names=list(right))
    assert [pair.claims for pair in merged.analysis.comparisons] == [pair.claims for pair in whole.analysis.comparisons]
    assert merge_reports([merged, *parts]).analysis.comparisons == merged.analysis.comparisons
    write_report(merged, tmp_path / "both", figures=False)
    again = BenchmarkReport.from_json(tmp_path / "both" / "results.json")
    assert [pair.reach for pair in again.analysis.comparisons] == ["source", "source"]


def test_merge_refuses_a_contradiction_and_the_board_renames_it(pair):
    a, b = pair
    with pytest.raises(UsageError, match="second has another value than an earlier run for cora / GCN / seed 0"):
        merge_reports([report(a), report(b)], names=["first", "second"])
    board = merge_reports([report(a), report(b)], names=["first", "second"], rename=True)
    assert "GCN (second)" in board.scores.models
    assert board.scores.cell("cora", "GCN (second)") == pytest.approx(b["cora"]["GCN"])
    with pytest.raises(UsageError, match="cannot be merged"):
        merge_reports([report(a), report({"cora": {"X": [0.1, 0.2]}}, metric="test_f1")])
    with pytest.raises(UsageError, match="no run"):
        merge_reports([])


def test_places_are_intervals():
    rng = np.random.default_rng(0)
    seed = rng.normal(0, 0.01, 10)
    values = {"t": {m: mean + seed + rng.normal(0, 0.002, 10) for m, mean in (("A", 0.9), ("B", 0.8), ("C", 0.7))}}
    values["t"]["D"] = values["t"]["A"] + np.tile([0.002, -0.002], 5)
    found = {p.model: p for p in report(values).analysis.places}
    assert found["A"].text == found["D"].text == "1 to 2"
    assert (found["B"].text, found["C"].text) == ("3", "4")


# The commands


@pytest.fixture
def files(pair, tmp_path):
    for name, values in zip("ab", pair, strict=True):
        frame(values).to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


def test_compare_command(files, capsys):
    assert run_app(["compare", str(files / "a.csv"), str(files / "b.csv")]) == 0
    text = capsys.readouterr().out
    assert "1 became better, 1 worse" in text
    assert EVIL[:20] in text
    assert run_app(["compare", str(files / "a.csv"), str(files / "b.csv"), "--json"]) == 0
    raw = json.loads(capsys.readouterr().out)
    assert {c["verdict"] for c in raw["changes"]} == {"better", "worse", "identical", "not shown"}


def test_a_regression_can_fail_a_build(files, capsys):
    a, b = str(files / "a.csv"), str(files / "b.csv")
    assert run_app(["compare", a, b, "--fail-if-worse"]) == 1
    assert run_app(["compare", a, b, "--fail-if-worse", "--margin", "0.2"]) == 0
    assert run_app(["compare", a, a, "--fail-if-worse"]) == 0
    assert "identical scores" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare", "nowhere", "nowhere"], "There is no 'nowhere'"),
        (["compare", ".", "."], "There is no run in '.'"),
        (["compare", "a.csv", "b.csv", "--method", "tt"], "Unknown pairwise method 'tt'"),
        (["merge", "a.csv", "b.csv", "--out", "m"], "has another value"),
        (["merge", "a.csv", "--out", "."], "is not empty"),
        (["merge", "a.csv"], "--out"),
        (["leaderboard", "nowhere"], "There is no 'nowhere'"),
        (["serve", "."], "There is no run in '.'"),
        (["report", "nowhere"], "There is no 'nowhere'"),
    ],
)
def test_wrong_usage_is_one_sentence(files, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(files)
    assert run_app(arguments) == 2
    text = capsys.readouterr().err
    assert words in text
    assert "Traceback" not in text


def test_merge_command_writes_one_folder(files, pair, monkeypatch, capsys):
    monkeypatch.chdir(files)
    a, _ = pair
    for task in a:
        frame({task: a[task]}).to_csv(f"{task}.csv", index=False)
    assert run_app(["merge", "cora.csv", "pubmed.csv", "--out", "m", "--json"]) == 0
    raw = json.loads(capsys.readouterr().out)
    assert [task["name"] for task in raw["tasks"]] == ["cora", "pubmed"]
    assert (files / "m" / "report.html").exists()
    assert run_app(["compare", "m", "a.csv"]) == 0
    assert "identical scores" in capsys.readouterr().out


def test_leaderboard_command(files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    assert run_app(["leaderboard", "a.csv", "b.csv", "--out", "site"]) == 0
    assert "cora: GCN (b)" in capsys.readouterr().out
    page = (files / "site" / "index.html").read_text()
    assert "Standings" in page
    assert "<img src=x" not in page
    table = pd.read_csv(files / "site" / "leaderboard.csv")
    assert (table["first_place"] <= table["last_place"]).all()
    assert (table["last_place"] <= table["models"]).all()
    across = pd.read_csv(files / "site" / "places.csv")
    assert across["mean_rank"].is_monotonic_increasing
    assert (across["first_place"] <= across["last_place"]).all()
    assert "Places by mean rank for other tasks of this kind" in page


def test_a_merged_folder_says_where_it_came_from(build, tmp_path, capsys):
    for name, task in (("a", "cora"), ("b", "zinc")):
        part = build({task: {"GCN": 0.8, "GAT": 0.7}}, seeds=3)
        part.provenance = {"environments": {f"env-{name}": {"python": "3.11"}}, "dataset_fingerprints": {task: name}}
        write_report(part, tmp_path / name, figures=False)
        (tmp_path / name / "config.toml").write_text(f'task = ["{task}"]\n')
    out = str(tmp_path / "m")
    assert run_app(["merge", str(tmp_path / "a"), str(tmp_path / "b"), "--out", out]) == 0
    assert (tmp_path / "m" / "parts" / "b.toml").read_text() == 'task = ["zinc"]\n'
    body = json.loads((tmp_path / "m" / "provenance.json").read_text())
    assert set(body["environments"]) == {"env-a", "env-b"}
    assert body["dataset_fingerprints"] == {"cora": "a", "zinc": "b"}
    assert "graphnetz merge a b --out again" in (tmp_path / "m" / "report.html").read_text()
    capsys.readouterr()
    assert run_app(["resume", out]) == 2
    text = capsys.readouterr().err
    assert "was merged from a and b and is no run of its own" in text
    assert "parts" in text


def test_runs_of_other_data_are_not_merged(build):
    first, second = (build({"cora": {"GCN": 0.8, "GAT": 0.7}}, seeds=3) for _ in range(2))
    first.provenance = {"dataset_fingerprints": {"cora": "x"}}
    second.provenance = {"dataset_fingerprints": {"cora": "y"}}
    with pytest.raises(UsageError, match="second ran it on other data"):
        merge_reports([first, second], names=["first", "second"])
    second.provenance = {"dataset_fingerprints": ["not a table"]}
    assert merge_reports([first, second]).scores.tasks == ("cora",)


def test_scores_in_a_csv_give_the_whole_report(files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    assert run_app(["report", "a.csv", "--paper"]) == 0
    assert "Report: a/report.html" in capsys.readouterr().out
    found = {path.relative_to(files / "a").as_posix() for path in (files / "a").rglob("*") if path.is_file()}
    assert {
        "report.html", "results.json", "summary.csv", "summary.md", "pairwise.csv", "results.tex", "pairwise.tex",
        "figures/forest.pdf", "figures/forest.png", "paper/methods.tex", "paper/references.bib",
    } <= found  # fmt: skip
    page = (files / "a" / "report.html").read_text()
    assert EVIL not in page
    assert all(f'id="{part}"' in page for part in ("summary", "tasks", "across", "methods", "provenance"))
    means = pd.read_csv(files / "a" / "summary.csv").set_index(["task", "model"])["mean"]
    raw = pd.read_csv(files / "a.csv").groupby(["task", "model"])["score"].mean()
    assert means.to_dict() == pytest.approx(raw.to_dict())


@pytest.mark.parametrize(("method", "margin"), [("t", 0.0), ("wilcoxon", 0.0), ("t", 0.01)])
def test_the_interval_of_a_change_agrees_with_its_verdict(method, margin):
    """Six models, of which some reach 0.05 alone and not after Holm: the interval shown holds zero for these."""
    rng = np.random.default_rng(0)
    base, noise = rng.normal(0.8, 0.02, (6, 10)), rng.normal(0, 0.01, (6, 10))
    drop = np.linspace(-0.03, 0.0, 6)[:, None]
    before, after = (
        report({"cora": {f"M{i}": row for i, row in enumerate(rows)}}) for rows in (base, base + drop + noise)
    )
    found = compare_reports(before, after, method=method, margin=margin)
    assert {"worse", "not shown"} <= {c.verdict for c in found.changes}
    for c in found.changes:
        outside = c.sim_low >= margin or c.sim_high <= -margin
        assert outside == (c.verdict in ("better", "worse")), c
        assert c.sim_low <= c.diff <= c.sim_high
    assert found.to_table().rows[0][7:9] == (found.changes[0].sim_low, found.changes[0].sim_high)
    assert margin or method != "t" or any(c.p <= 0.05 < c.p_holm for c in found.changes)


def test_one_pair_is_spoken_of_in_the_singular(pair):
    a, _ = pair
    b = {"cora": {"GCN": a["cora"]["GCN"], EVIL: a["cora"][EVIL][::-1]}}
    assert "1 is identical and 1 shows no significant change" in compare_reports(report(a), report(b)).sentence()
