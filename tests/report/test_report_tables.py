"""The documented tables, against scipy and statsmodels."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from graphnetz._core.errors import UsageError
from graphnetz.analysis.ranking import _forms
from graphnetz.records.seed_rule import SeedRule
from graphnetz.report import BenchmarkReport, TaskInfo
from graphnetz.stats import friedman, rank_rows

SUMMARY = ["n_seeds", "mean", "std", "sem", "ci_low", "ci_high", "ci_half"]
PAIRWISE = [
    "task", "model_a", "model_b", "mean_diff", "diff_low", "diff_high", "cohens_dz", "p_raw", "p_holm", "significant",
    "n_seeds",
]  # fmt: skip


@pytest.fixture
def report(build):
    return build(
        {"a": {"X": 0.8, "Y": 0.81, "Z": 0.7}, "b": {"X": 0.5, "Y": 0.5, "Z": 0.52}, "c": {"X": 1, "Y": 2, "Z": 3}}
    )


def test_summary_matches_scipy(report):
    frame = report.summary(ci=0.9)
    assert list(frame.columns)[:7] == SUMMARY
    assert frame.index.names == ["task", "model"]
    for (task, model), row in frame.iterrows():
        x = np.array(report.final_metrics()[task][model])
        low, high = stats.t.interval(0.9, len(x) - 1, x.mean(), stats.sem(x))
        assert row["mean"] == pytest.approx(x.mean(), rel=1e-12)
        assert row["std"] == pytest.approx(x.std(ddof=1), rel=1e-12)
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high), rel=1e-10)
        assert row["ci_half"] == pytest.approx((high - low) / 2, rel=1e-10)


@pytest.mark.parametrize(("method", "oracle"), [("t", stats.ttest_rel), ("wilcoxon", stats.wilcoxon)])
def test_pairwise_matches_scipy_and_statsmodels(report, method, oracle):
    frame = report.pairwise(method=method)
    assert list(frame.columns)[: len(PAIRWISE)] == PAIRWISE
    x = report.final_metrics()
    expected = np.array([oracle(x[r.task][r.model_a], x[r.task][r.model_b]).pvalue for r in frame.itertuples()])
    assert frame["p_raw"].to_numpy() == pytest.approx(expected, rel=1e-9)
    for _, group in frame.groupby("task"):
        holm = multipletests(group["p_raw"], method="holm")[1]
        assert group["p_holm"].to_numpy() == pytest.approx(holm, rel=1e-9)
    whole = report.pairwise(method=method, family="report")
    assert whole["p_holm"].to_numpy() == pytest.approx(multipletests(expected, method="holm")[1], rel=1e-9)
    assert (frame["significant"] == (frame["p_holm"] <= 0.05)).all()
    assert set(whole["family_size"]) == {9}


def test_pairwise_both_is_the_two_tables_side_by_side(report):
    both, t, w = report.pairwise_both(), report.pairwise(method="t"), report.pairwise(method="wilcoxon")
    assert both["p_t_holm"].tolist() == t["p_holm"].tolist()
    assert both["p_wilcoxon_holm"].tolist() == w["p_holm"].tolist()
    assert both["agree"].tolist() == (t["significant"] == w["significant"]).tolist()


def test_smallest_wilcoxon_p_of_the_paper(build):
    clear = {m: 0.5 + 0.1 * i for i, m in enumerate("ABCD")}
    frame = build({"t": clear}, sd=1e-4).pairwise(method="wilcoxon")
    assert frame["p_holm"].to_numpy() == pytest.approx(6 / 512)  # 0.0117 in Table 2


def test_friedman_matches_scipy(report):
    values = np.array([[np.mean(v) for v in models.values()] for models in report.final_metrics().values()])
    found = report.friedman()
    oracle = stats.friedmanchisquare(*values.T)
    assert (found["chi2"], found["p_chi2"]) == pytest.approx((oracle.statistic, oracle.pvalue), rel=1e-9)
    assert (found["k"], found["N"]) == (3, 3)
    assert report.mean_ranks().to_dict() == pytest.approx(report.rank_table().mean().to_dict())


def test_ranks_follow_each_metric_direction(mixed):
    ranks = mixed.rank_table()
    assert list(ranks.columns) == ["GCN", "GAT", "SAGE"]  # GIN is not on every task
    assert ranks.loc["cora"].tolist() == [1, 2, 3]
    assert ranks.loc["zinc", "GCN"] == 3  # the largest error is the worst
    assert mixed.ranking().excluded == {"GIN": ("cora",)}


def test_golden_ranks_of_the_paper():
    """Mean ranks 2.10, 2.40, 2.60, 2.90 over ten tasks: chi2 2.04, p 0.56, CD 1.48, one clique."""
    rows = [(1, 2, 3, 4)] * 4 + [(2, 1, 4, 3)] * 1 + [(4, 3, 2, 1)] * 2 + [(2, 4, 1, 3)] * 1 + [(3, 2, 1, 4)] * 1
    table = np.array(rows)
    names = ["GraphSAGE", "GCN", "GraphTransformer", "GAT"]
    last = np.array([21, 24, 26, 29]) - table.sum(axis=0)
    table = np.vstack([table, last])
    assert sorted(last) == [1, 2, 3, 4]
    frame = pd.DataFrame(
        [
            (f"t{i}", m, s, 1 - 0.1 * r, "test_acc", True)
            for i, row in enumerate(table)
            for m, r in zip(names, row, strict=True)
            for s in range(2)
        ],
        columns=["task", "model", "seed", "score", "metric", "greater_is_better"],
    )
    found = BenchmarkReport.from_scores(frame).friedman()
    assert found["chi2"] == pytest.approx(2.04)
    assert found["p_chi2"] == pytest.approx(0.56, abs=0.005)
    assert found["cd"] == pytest.approx(1.48, abs=0.005)
    assert not found["rejected"]


def test_the_p_of_friedman_never_contradicts_its_decision():
    """Five tasks, four models: chi-square gives .0503 where the permutation test, which decides, rejects."""
    rng = np.random.default_rng(0)
    split = 0
    for _ in range(300):
        values = rng.normal(size=(5, 4)) + np.linspace(0, 1.4, 4)
        found = _forms(friedman(rank_rows(values, [True] * 5), permutations=999), 1.0)
        assert found["rejected"] == (found["p_value"] <= found["alpha"])
        split += found["rejected"] != (found["p_chi2"] <= found["alpha"])
    assert split  # the two do disagree, so the key that stands beside the decision matters


def test_the_corrected_test_stands_in_its_own_columns(build):
    report = build({"t": {"A": 0.80, "B": 0.805}}, replication="resplit", sd=0.01)
    row = report.pairwise().iloc[0]
    d = np.subtract(*report.final_metrics()["t"].values())
    t = d.mean() / (d.std(ddof=1) * np.sqrt(1 / 10 + 100 / 800))
    assert row["p_corrected"] == pytest.approx(2 * stats.t.sf(abs(t), 9), rel=1e-9)
    assert row["p_raw"] < 0.05 < row["p_corrected"]
    assert row["significant"]
    assert row["different"]
    assert row["reach"] == "dataset"
    summary = report.summary()
    assert (summary["corrected_half"] > summary["ci_half"]).all()
    assert report.grid().rows[0].cells[0].mark == ""


def test_test_set_error_is_binomial(build):
    row = build({"t": {"A": 0.8, "B": 0.7}}).summary().loc[("t", "A")]
    assert row["test_se"] == pytest.approx(np.sqrt(row["mean"] * (1 - row["mean"]) / 100))


def test_one_seed_has_no_interval(build):
    report = build({"t": {"A": 0.8, "B": 0.7}}, seeds=1)
    row = report.summary().loc[("t", "A")]
    assert np.isnan(row[["std", "ci_low", "ci_high", "ci_half"]].to_numpy(dtype=float)).all()
    assert "one seed" in row["status"]
    assert np.isnan(report.pairwise()["p_holm"]).all()
    assert [cell.mark for cell in report.grid().rows[0].cells] == ["best", ""]


def test_failed_and_absent_cells_say_why(mixed):
    frame = mixed.summary()
    assert frame.loc[("cora", "GCN"), "n_seeds"] == 9
    assert "failed on 1 seed: RuntimeError: cannot open x.pt" in frame.loc[("cora", "GCN"), "status"]
    assert ("cora", "GIN") not in frame.index
    assert mixed.grid().rows[0].cells[3].note == "GIN does not serve node_cls"
    assert len(mixed.failures) == 1
    assert mixed.pairwise().set_index(["model_a", "model_b"]).loc[("GAT", "GCN"), "n_seeds"].tolist() == [9, 10]


def test_best_follows_direction_and_ties_follow_the_rule(mixed):
    marks = [cell.mark for cell in mixed.grid().rows[1].cells]
    assert marks == ["", "", "", "best"]
    overlap = mixed.grid(tie_rule="overlap").rows[0]
    best, other = overlap.cells[0], overlap.cells[1]
    assert (other.mark == "tied") == (other.high >= best.low)
    with pytest.raises(KeyError, match="Unknown tie rule"):
        mixed.grid(tie_rule="x")


def test_histories_alone_make_a_report():
    runs = {
        "cora": {
            "GCN": [{"train_loss": [1, 0.5], "val_acc": [0.2, 0.7], "test_acc": [0.1, 0.8]}, {"test_acc": [0.1, 0.82]}]
        }
    }
    report = BenchmarkReport((0, 1), runs)
    assert report.metric_name() == "test_acc"
    assert report.final_metrics() == {"cora": {"GCN": [0.8, 0.82]}}
    assert report.final_metrics("train_loss")["cora"]["GCN"][0] == 0.5
    assert report["cora"]["GCN"]["val_acc"] == [0.2, 0.7]
    assert list(report) == list(report.keys()) == ["cora"]
    assert len(report) == 1
    assert "cora" in report
    assert dict(report.items()) == {"cora": {"GCN": runs["cora"]["GCN"][0]}}
    mae = BenchmarkReport((0,), {"zinc": {"A": [{"val_mae": [0.5]}], "B": [{"val_mae": [0.4]}]}})
    assert mae.grid().rows[0].cells[1].mark == "best"


def test_unknown_direction_is_refused_not_guessed():
    runs = {"t": {"A": [{"test_foo": [1.0]}]}}
    with pytest.raises(UsageError, match="direction of 'test_foo' is not declared"):
        BenchmarkReport((0,), runs).summary()
    report = BenchmarkReport((0,), runs, tasks={"t": TaskInfo("test_foo", greater_is_better=False)})
    assert report.summary().loc[("t", "A"), "mean"] == 1.0


def test_settings_of_the_report_are_defaults(report):
    plain = report.summary()
    report.ci_method = "bootstrap"
    changed = report.summary()
    assert (changed["ci_half"] < plain["ci_half"]).all()
    assert changed.equals(report.summary(method="bootstrap"))
    report.pairwise_method = "wilcoxon"
    assert report.pairwise().equals(report.pairwise(method="wilcoxon"))


def test_wrong_names_are_named(report):
    with pytest.raises(KeyError, match=r"Unknown pairwise method 'wilcoxn'\. Did you mean 'wilcoxon'"):
        report.pairwise(method="wilcoxn")
    with pytest.raises(KeyError, match="Unknown family"):
        report.pairwise(family="tsk")
    with pytest.raises(KeyError, match="Unknown layout"):
        report.plot_pairwise(layout="grid")
    with pytest.raises(KeyError, match="Unknown task"):
        report["x"]
    with pytest.raises(KeyError, match="Unknown interval method"):
        report.summary(method="z")
    with pytest.raises(UsageError, match="at least one seed"):
        BenchmarkReport((), {})


def test_power_and_seeds_never_use_the_observed_effect(build):
    near, far = build({"t": {"A": 0.8, "B": 0.8}}), build({"t": {"A": 0.8, "B": 0.9}})
    columns = ["sd_diff", "power", "seeds"]
    assert near.power(0.01)[columns].to_numpy() == pytest.approx(far.power(0.01)[columns].to_numpy())
    assert near.seeds_needed(0.01)["seeds"].iloc[0] == near.power(0.01)["seeds"].iloc[0]
    with pytest.raises(UsageError, match="names no value for task 't'"):
        near.power({"other": 0.1})


def test_equivalence_asks_for_a_margin(build):
    report = build({"t": {"A": 0.8, "B": 0.8, "C": 0.9}}, sd=0.002)
    with pytest.raises(TypeError):
        report.equivalence()
    frame = report.equivalence(0.02).set_index(["model_a", "model_b"])
    assert frame["equivalent"].tolist() == [True, False, False]
    assert frame["p_holm"].to_numpy() == pytest.approx(multipletests(frame["p_raw"], method="holm")[1])
    low, high = frame.loc[("A", "B"), ["low", "high"]]
    assert -0.02 < low < high < 0.02


def test_costs_add_up(mixed):
    frame = mixed.costs().set_index(["task", "model"])
    assert frame.loc[("zinc", "GIN"), "seconds_total"] == pytest.approx(sum(1.5 + s for s in range(10)))
    assert frame["cells"].sum() == 70


def test_rank_stability_frame(report):
    frame = report.rank_stability(n_resamples=200)
    assert frame["p_best"].sum() == pytest.approx(1.0)
    assert (frame["rank_low"] <= frame["mean_rank"]).all()


def test_a_cell_without_a_mark_is_not_said_to_be_worse_where_it_was_not_tested(build):
    report = build({"t": {"A": 0.8, "B": 0.7}}, seeds=3)
    assert "without a mark" not in report.grid().tie_rule
    rows = [("t", m, s, x, "test_acc") for m, x in (("A", 0.8), ("B", 0.5)) for s in range(3)]
    frame = pd.DataFrame(rows, columns=["task", "model", "seed", "score", "metric"])
    constant = BenchmarkReport.from_scores(frame, replication="init")
    assert "could not be tested against A" in constant.verdict("t")
    assert constant.grid().tie_rule.endswith("without a mark: shown to be worse, or not testable, as the verdict says")


def test_intervals_of_a_run_that_chose_its_seeds_are_called_repeated(build):
    report = build({"t": {"A": 0.8, "B": 0.7}}, seeds=5)
    assert report.grid().words == "Mean ± half-width of the 95 % interval (Student's t) over 5 seeds"
    facts = replace(report.analysis.facts, rule=SeedRule(0.01, max_seeds=30))
    stopped = replace(report.analysis, facts=facts).grid
    assert "(Student's t, repeated: it holds however often one looked) over 5 seeds" in stopped.words
    assert stopped.rows[0].cells[0].half > report.grid().rows[0].cells[0].half


def test_a_summary_with_failures_stays_on_lines_of_eighty_columns(mixed):
    lines = repr(mixed.summary()).splitlines()
    assert any("failed on 1 seed" in line for line in lines)
    assert max(map(len, lines[:-1])) <= 80
    assert sum("GIN" in line for line in lines) == 1  # a row is a line
