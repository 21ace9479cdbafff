"""Comparing selectors on testbeds, and the published tables beside ours."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from graphnetz._core.errors import UsageError
from graphnetz.cli.app import run_app
from graphnetz.papers.glemos import published_table
from graphnetz.records import Section
from graphnetz.selection.bench import run_testbeds, write_studies
from graphnetz.selection.study import published_value, study
from graphnetz.selection.testbeds import fully_observed
from graphnetz.stats import cluster_interval


@pytest.fixture(scope="module")
def bed():
    rng = np.random.default_rng(0)
    M = rng.random((40, 6))
    P = 0.5 + 0.3 * np.sin(4 * M[:, :1] * np.arange(1, 9)) * rng.random(8) + 0.02 * rng.standard_normal((40, 8))
    return fully_observed(P, M, np.arange(40) % 4)


def test_study_uses_graphs_as_blocks(bed):
    names = ["random", "gb_perf", "as", "isac"]
    found = study(bed, names, task="link_pred")
    table = np.stack([found.results[name].scores.auc for name in names], axis=1)
    wanted = stats.friedmanchisquare(*table.T)
    assert found.omnibus.chi2_ties == pytest.approx(wanted.statistic)
    assert found.graphs == 40
    raw = {}
    for pair in found.pairs:
        a, b = names.index(pair.first), names.index(pair.second)
        assert pair.difference == pytest.approx(table[:, a].mean() - table[:, b].mean())
        raw[pair.first, pair.second] = stats.wilcoxon(table[:, a], table[:, b]).pvalue
        assert pair.p >= raw[pair.first, pair.second] - 0.02
    line = next(item for item in found.lines if item.selector == "as")
    span = cluster_interval(table[:, 2], found.results["as"].domains)
    assert (line.mean, line.low, line.high) == pytest.approx((table[:, 2].mean(), span.low, span.high))
    assert np.isnan([line.published, line.published_mrr, line.published_ndcg1]).all()  # no paper has this matrix
    assert not found.has_published
    by_domain = [[table[found.results["as"].domains == d, i].mean() for d in range(4)] for i in range(4)]
    assert found.omnibus_domains.chi2_ties == pytest.approx(stats.friedmanchisquare(*by_domain).statistic)
    assert "over 40 graphs" in found.friedman_sentence()
    assert "over 4 domains" in found.friedman_sentence()
    assert "below 20 clusters (here 4)" in found.interval_note
    assert found.lines[0].mean == max(item.mean for item in found.lines)
    section = found.to_section()
    assert Section.from_json(section.to_json()) == section


def test_published_figures_stand_beside_their_own_matrix_only(bed):
    """MetaGL's testbeds showed the figures of GLEMOS as published."""
    theirs = study(replace(bed, published="glemos"), ["as"], task="link_pred")
    line = theirs.lines[0]
    assert (line.published, line.published_mrr, line.published_ndcg1) == (0.864, 0.371, 0.957)
    assert "GLEMOS" in " ".join(theirs.to_section().paragraphs)
    ours = study(bed, ["as"], task="link_pred").to_section()
    assert "GLEMOS" not in " ".join(ours.paragraphs)
    assert not [column for column in ours.tables[0].columns if "published" in column]


def test_intervals_without_domains_are_over_graphs(bed):
    one = study(replace(bed, domains=None), ["as"])
    auc = one.results["as"].scores.auc
    half = stats.t.ppf(0.975, 39) * auc.std(ddof=1) / np.sqrt(40)
    assert (one.lines[0].low, one.lines[0].high) == pytest.approx((auc.mean() - half, auc.mean() + half))
    assert one.omnibus is None
    assert "over graphs" in one.interval_note


def test_the_verdict_speaks_of_the_tested_feature_set(bed):
    """Another set may have the best line, but the tests were made on the first one."""
    noise = fully_observed(bed.P, np.random.default_rng(3).random((40, 2)), bed.domains)
    found = study({"noise": noise, "useful": bed}, ["random", "gb_perf", "as"], task="link_pred")
    assert found.lines[0].features == "useful"
    best = max(found.results, key=lambda name: found.results[name].mean["auc"])
    assert found.sentence().startswith(f"{best} has the best mean auc with noise features")


def test_feature_sets_get_their_own_lines(bed):
    other = fully_observed(bed.P, bed.M[:, :2], bed.domains)
    found = study({"regular": bed, "compact": other}, ["gb_perf", "as"], task="node_cls")
    assert {(line.selector, line.features) for line in found.lines} == {
        (name, features) for name in ("gb_perf", "as") for features in ("regular", "compact")
    }
    with pytest.raises(UsageError, match="at least one"):
        study(bed, [])


def test_published_tables_are_complete():
    rows = published_table()
    per_table = {}
    for row in rows:
        per_table[int(row.table)] = per_table.get(int(row.table), 0) + 1
    assert per_table == {5: 60, 6: 100, 7: 60, 8: 60, 9: 60, **dict.fromkeys(range(10, 15), 80), 15: 6}
    assert all(row.more["standard_error"] for row in rows)
    assert published_value("fully observed", "link_pred", "regular", "auc", "metagl", table="glemos") == 0.875
    assert published_value("sparse 90%", "node_cls", "regular", "auc", "gb_rank", table="glemos") == 0.697
    assert (
        published_value("cross task", "node_cls to link_pred", "reg+graphlets", "auc", "ncf", table="glemos") == 0.640
    )
    assert published_value("small to large", "link_pred", "regular", "ndcg1", "gb_rank", table="glemos") == 0.960
    assert np.isnan(published_value("fully observed", "link_pred", "regular", "auc", "kernel", table="glemos"))
    # One cell is printed in two tables: both must agree.
    by_cell = {}
    for row in rows:
        key = (row.task, row.metric, row.model, *(row.more[k] for k in ("testbed", "features", "sparsity")))
        by_cell.setdefault(key, set()).add(row.mean)
    assert all(len(values) == 1 for values in by_cell.values())


def test_evaluations_are_kept(tmp_path, monkeypatch, capsys):
    """A second call reads what the first one evaluated, and gives the same study."""
    from graphnetz.selection import bench
    from graphnetz.selection.bank import PerformanceBank, PerformanceRecord
    from graphnetz.selection.space import Configuration

    rng = np.random.default_rng(1)
    bank = PerformanceBank()
    for i in range(15):
        bank.add_graph(f"g{i}", rng.integers(0, 30, (2, 90)), domain=f"d{i % 5}")
        for name in "ABC":
            bank.add(PerformanceRecord(f"g{i}", Configuration(name), "link_pred", float(rng.random())))
    monkeypatch.setattr(bench.PerformanceBank, "load", classmethod(lambda *_: bank))
    options = {"only": ("fully observed", "sparse 50%"), "out": tmp_path}
    first = run_testbeds(None, ("random", "as"), **options)
    monkeypatch.setattr(bench, "evaluate", None)
    again = run_testbeds(None, ("random", "as"), **options)
    assert repr([item.lines for item in first]) == repr([item.lines for item in again])  # NaN is not equal to itself
    arguments = ["--selector", "random", "--selector", "as", "--only", "sparse 50%", "--out", str(tmp_path)]
    assert run_app(["select", "testbed", *arguments]) == 0
    shown = capsys.readouterr().out
    assert "link_pred: sparse 50%, 15 graphs" in shown
    assert "95 % intervals by resampling domains" in shown
    write_studies(first, tmp_path)
    assert len(json.loads((tmp_path / "testbeds.json").read_text())) == 2
    assert (tmp_path / "testbeds.csv").read_text().count("\n") == 5
    with pytest.raises(UsageError, match="testbed"):
        run_testbeds(None, ("as",), only=("nonsense",))
