"""Certificates: claims judged by hand, equivalence beside statsmodels, pages that escape, and the command."""

import dataclasses
import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_ind

from graphnetz import BenchmarkReport
from graphnetz._core.errors import UnknownNameError, UsageError
from graphnetz.analysis.published import beside, margin_of
from graphnetz.analysis.replication import judge
from graphnetz.cli.app import run_app
from graphnetz.datasets import SUITES
from graphnetz.engine.config import resolve
from graphnetz.engine.cost.estimate import Estimate, PairCost
from graphnetz.papers.benchmarking_gnns.tables import every_row
from graphnetz.papers.replicate import REPLICATIONS, _asks_of, replicate
from graphnetz.records import Published, Suite, Task
from graphnetz.records.replication import (
    Certificate,
    Judged,
    LeftOut,
    PaperClaim,
    ReplicatedCell,
    Replication,
    certificate_from_json,
    read_claims,
)
from graphnetz.report.certificate import markdown, page, write

SUITE = Suite("mine", lambda size: [], sizes=("published", "small"))
RNG = np.random.default_rng(3)


def report_of(scores, *, greater=True):
    rows = [
        (task, model, seed, value, "test_acc" if greater else "test_mae", greater)
        for (task, model), values in scores.items()
        for seed, value in enumerate(values)
    ]
    columns = ["task", "model", "seed", "score", "metric", "greater_is_better"]
    return BenchmarkReport.from_scores(pd.DataFrame(rows, columns=columns), replication="init")


def around(mean, sd=0.01, n=8):
    steps = RNG.normal(size=n)
    return mean + sd * (steps - steps.mean()) / steps.std(ddof=1)


def judged(claim, scores, why=None, **more):
    (found,) = judge(report_of(scores, **more), SUITE, [claim], why_not=why or {})
    return found


PAIR = PaperClaim("A over B", "1", "t", better="A", worse="B")


@pytest.mark.parametrize(
    ("a", "b", "outcome"), [(0.8, 0.7, "shown"), (0.7, 0.8, "contradicted"), (0.7501, 0.75, "not shown")]
)
def test_a_pair_is_decided_by_the_comparisons_of_the_report(a, b, outcome):
    scores = {("t_small", "A"): around(a), ("t_small", "B"): around(b)}
    found = judged(PAIR, scores, {"t": "reduced"})
    assert found.outcome == outcome
    p = stats.ttest_rel(scores["t_small", "A"], scores["t_small", "B"]).pvalue
    assert (p < 0.05) == (outcome != "not shown")
    assert not found.comparable
    assert "not comparable with the paper (reduced)" in str(found)


def test_the_lower_error_is_the_better_one():
    assert judged(PAIR, {("t", "A"): around(0.3), ("t", "B"): around(0.5)}, greater=False).outcome == "shown"


def test_what_was_not_run_is_no_verdict():
    found = judged(PAIR, {("t", "A"): around(0.8), ("u", "B"): around(0.8)})
    assert (found.outcome, found.basis) == ("not run", "B was not run on t")
    assert judged(PAIR, {("u", "A"): around(0.8)}).basis == "t was not run"


def test_two_tasks_are_paired_by_seed_and_adjusted_together():
    claims = [PaperClaim(f"{m} gains", "1", "t_pe", model=m, than="t") for m in ("A", "B", "C")]
    scores = {(task, m): around(0.6 + 0.1 * (task == "t_pe" and m == "A")) for task in ("t", "t_pe") for m in "AB"}
    found = judge(report_of(scores), SUITE, claims, why_not={})
    p = [stats.ttest_rel(scores["t_pe", m], scores["t", m]).pvalue for m in "AB"]
    adjusted = min(1.0, 2 * min(p))
    assert [item.outcome for item in found] == ["shown", "not shown", "not run"]
    assert f"adjusted p = {adjusted:.2g}".split("e")[0][:16] in found[0].basis


@pytest.mark.parametrize(("n", "outcome"), [(5, "not shown"), (6, "shown")])
def test_the_same_difference_everywhere_is_decided_by_the_flip_of_all_signs(n, outcome):
    """0.1 without and 1.0 with positions on every fold: 2 of 2^n signs are as far from zero, 2^(1 - n) of them."""
    claims = [PaperClaim(f"{m} gains", "1", "t_pe", model=m, than="t") for m in "AB"]
    scores = {(task, m): [0.1 + 0.9 * (task == "t_pe")] * n for task in ("t", "t_pe") for m in "AB"}
    for found in judge(report_of(scores), SUITE, claims, why_not={}):
        assert found.outcome == outcome
        assert f"the same difference on all {n} seeds: sign-flip p = {0.5 ** (n - 1):.3g}"[:60] in found.basis
        assert ("cannot reach 5% that way, 6 could" in found.basis) == (outcome == "not shown")
        assert "n/a" not in found.basis
    same = {(task, m): [0.5] * n for task in ("t", "t_pe") for m in "AB"}
    assert {f.outcome for f in judge(report_of(same), SUITE, claims, why_not={})} == {"not shown"}


def test_a_level_needs_its_interval_inside():
    claim = PaperClaim("a coin", "1", "t", model="A", level=0.5, within=0.02)
    assert judged(claim, {("t", "A"): around(0.505)}).outcome == "shown"
    assert judged(claim, {("t", "A"): around(0.6)}).outcome == "contradicted"
    assert judged(claim, {("t", "A"): around(0.515, sd=0.02)}).outcome == "not shown"


def test_ranks_are_friedmans():
    claim = PaperClaim("no difference", "1", ranks="equal")
    same = {(f"t{i}", m): around(0.7 + 0.05 * ((i + j) % 3)) for i in range(6) for j, m in enumerate("ABC")}
    apart = {(f"t{i}", m): around(0.7 + 0.1 * j) for i in range(8) for j, m in enumerate("ABC")}
    assert judged(claim, same).outcome == "shown"
    more = PaperClaim("no difference", "1", ranks="equal", tasks=10)
    assert judged(more, same).outcome == "not shown"  # six tasks reject less often than ten
    assert judged(claim, apart).outcome == "contradicted"


def test_a_claim_without_a_form_is_refused():
    with pytest.raises(UsageError, match="none of the four forms"):
        _ = PaperClaim("nothing", "1", "t").form


@pytest.mark.parametrize(("mean", "sd"), [(0.811, 0.004), (0.825, 0.004), (0.84, 0.004), (0.815, 0.05)])
def test_equivalence_is_that_of_two_one_sided_welch_tests(mean, sd):
    theirs = around(0.811, 0.005, 10)
    figure = Published("3", "t", "A", "acc", float(theirs.mean()), sd=float(theirs.std()), n=10)
    suite = Suite("mine", lambda: [Task("t", "node_cls", print)], published=lambda: [figure])
    ours = around(mean, sd)
    (row,) = beside(report_of({("t", "A"): ours}), suite)
    p = ttost_ind(ours, theirs, -0.02, 0.02, usevar="unequal")[0]
    assert margin_of(figure) == row.margin == 0.02
    assert (row.agreement == "equivalent") == (p < 0.05)
    differs = stats.ttest_ind(ours, theirs, equal_var=False).pvalue < 0.05
    assert row.agreement == ("equivalent" if p < 0.05 else "differs" if differs else "open")


def test_margins_of_unbounded_metrics_follow_the_published_mean():
    assert margin_of(Published("3", "zinc", "A", "mae", 0.4)) == pytest.approx(0.02)
    assert margin_of(Published("12", "p", "A", "log_mse", -3.2)) == pytest.approx(0.16)


def certificate(name="A"):
    cell = ReplicatedCell(
        "3", "t", name, "acc", 0.8, 0.01, 10, 0.81, 0.01, 10, -0.01, 0.03, 0.02, "open", "mirror", ""
    )  # fmt: skip
    other = ReplicatedCell(
        "3", "u", name, "acc", 0.8, 0.01, 10, 0.5, 0.01, 10, -0.31, -0.29, 0.02, "not comparable", "generator", "reduced"
    )  # fmt: skip
    claims = (Judged(PAIR, "shown", "by a lot"), Judged(PAIR, "contradicted", "by a lot", "reduced"))
    return Certificate("mine", "Me, 2026", "small", (cell, other), claims, margin="0.02")


def test_counts_keep_other_data_apart():
    counts = certificate().counts()
    assert counts["cells"] == {"equivalent": 0, "differs": 0, "open": 1, "not comparable": 1, "not run": 0}
    assert counts["claims"] == {"shown": 1, "not shown": 0, "contradicted": 0, "not run": 0}
    assert counts["claims on other data"] == {"shown": 0, "not shown": 0, "contradicted": 1}


def test_a_claim_that_was_not_run_gives_no_reason_against_comparing():
    made = dataclasses.replace(
        certificate(), claims=(Judged(PAIR, "not run", "B was not run on t", "5 of the 100 runs"),)
    )
    assert "5 of the 100 runs" not in markdown(made)
    assert "B was not run on t" in markdown(made)


def test_names_cannot_break_out_of_page_or_table(tmp_path):
    bad = certificate("<script>alert(1)</script>|x")
    assert "<script>alert" not in page(bad)
    text = markdown(bad)
    assert "<script>" not in text
    assert "\\|x" in text
    for path in write(bad, tmp_path):
        assert path.read_text()
    body = json.loads((tmp_path / "certificate.json").read_text())
    assert body["counts"]["claims"]["shown"] == 1
    assert body["claims"][0]["comparable"] is True


@pytest.mark.parametrize("paper", ["graphnetz", "benchmarking-gnns"])
def test_claims_are_of_their_paper_and_agree_with_its_tables(paper):
    """A claim names tasks, models and tables that exist, and says what the published figures say."""
    known = REPLICATIONS[paper]
    claims = known.make.claims()
    assert len({claim.says for claim in claims}) == len(claims)
    figures, tasks = {}, set()
    for part in known.make.parts:
        suite = SUITES[part.suite]
        tasks |= {suite.full_name(task.name) for size in suite.sizes or (None,) for task in suite(size)}
        for row in suite.published() if suite.published else ():
            figures.setdefault((row.table, row.task, row.model), row)
        assert set(part.tables) <= set(known.tables)
    for claim in claims:
        assert claim.table in known.tables
        assert {name for name in (claim.task, claim.than) if name} <= tasks, claim.says
        if claim.form == "pair" and (claim.table, claim.task, claim.better) in figures:
            better, worse = (figures[claim.table, claim.task, model] for model in (claim.better, claim.worse))
            assert (better.mean < worse.mean) == (better.metric in ("mae", "log_mse")), claim.says
        if claim.form == "tasks":
            there, here = (figures[claim.table, task, claim.model].mean for task in (claim.than, claim.task))
            assert (here < there) == (figures[claim.table, claim.task, claim.model].metric == "log_mse"), claim.says
        if claim.form == "level":
            assert abs(figures[claim.table, claim.task, claim.model].mean - claim.level) <= claim.within
    assert read_claims("graphnetz.papers." + paper.replace("-", "_")) == claims


@pytest.mark.parametrize("paper", ["graphnetz", "benchmarking-gnns"])
def test_every_claim_is_asked_once_at_every_size(paper):
    known = REPLICATIONS[paper]
    for size in known.sizes:
        asked = [
            claim.says
            for part in known.make.parts
            for claim in known.make.claims()
            if claim.table in part.asked(None, size) and _asks_of(claim, SUITES[part.suite])
        ]
        assert sorted(asked) == sorted(claim.says for claim in known.make.claims())


@pytest.mark.parametrize("size", ["generated", "published"])
def test_beyond_size_small_every_published_row_has_a_suite_that_trains_it_as_published(size):
    """The paper's widths and settings, 500k rows, encodings and second runs included, each in one part."""
    parts = [part for part in REPLICATIONS["benchmarking-gnns"].make.parts if part.asked(None, size)]
    rows = [
        (row.table, row.task, row.model)
        for part in parts
        for row in SUITES[part.suite].published()
        if row.table in part.asked(None, size)
    ]
    assert sorted(rows) == sorted((row.table, row.task, row.model) for row in every_row())
    assert [part.asked("16", size) for part in parts if part.asked("16", size)] == [("16", "16 (second run)")]
    suite = SUITES["bgnn-table-10"]
    for task in suite(size):
        ring = task.model_protocol["bgnn.RingGNN-500k"]
        assert ring["hidden_channels"] == (93 if "_pe" in task.name else 102)
        assert task.cross_validation.folds * len(task.cross_validation.seeds) == 100


def test_size_generated_asks_for_the_published_protocol_on_data_of_our_own(tmp_path, monkeypatch):
    """An hour per cell: everything is asked for, too dear, and listed with its price."""

    def priced(config):
        run = resolve(config)
        pairs = [(task.name, model, len(run.seeds_of(task.name))) for task in run.tasks for model in run.specs]
        return Estimate(tuple(PairCost(*pair, 0, 3600.0, 1.0, "told") for pair in pairs), 1, None)

    monkeypatch.setattr("graphnetz.engine.cost.estimate.estimate_plan", priced)
    lines = []
    made = replicate("benchmarking-gnns", table="10", size="generated", out=tmp_path, tell=lines.append)
    assert lines[0].startswith("csl_pe_generated: 1100 cells to train")  # 11 networks, five folds, twenty seeds
    assert lines[1].startswith("csl_generated: 1200 cells to train")
    assert {item.needs for item in made.left} == {"about 1e+02 core-hours (more than 8)"}
    assert len(made.left) == sum(row.table == "10" for row in every_row())
    assert {item.outcome for item in made.claims} == {"not run"}
    assert made.cells == ()


def test_a_small_table_runs_resumes_and_counts_honestly(tmp_path):
    lines = []
    more = {"epochs": 1, "hidden_channels": 4, "backend": "serial", "hours": None, "root": str(tmp_path / "data")}
    made = replicate("benchmarking-gnns", table="10", out=tmp_path / "run", tell=lines.append, **more)
    assert {cell.agreement for cell in made.cells} == {"not comparable"}
    assert {cell.data for cell in made.cells} == {"generator"}
    assert all(cell.runs == 5 for cell in made.cells)
    assert made.verdict_of("message passing without positions is at chance on CSL (GIN)") == "shown"
    published = [row for row in every_row() if row.table == "10"]
    assert len(made.cells) + len(made.left) == len(published)
    needs = {item.model: item.needs for item in made.left if item.task == "csl"}
    assert needs["bgnn.GCN"] == "size published: the published files, by network or mirror"
    assert needs["bgnn.RingGNN-500k"].startswith("graphnetz run --suite bgnn-table-10, size published")
    again = replicate("benchmarking-gnns", table="10", out=tmp_path / "run", **more)
    assert again == made
    assert (tmp_path / "run" / "certificate.html").is_file()


def test_fewer_seeds_than_published_are_said_and_never_compared(tmp_path, capsys):
    """One seed of twenty on each of the five folds: folds alone would not show it."""
    more = {"epochs": 1, "model": ["bgnn.MLP"], "backend": "serial", "hours": None, "root": str(tmp_path / "data")}
    made = replicate("benchmarking-gnns", table="10", size="generated", seeds=[14], out=tmp_path / "run", **more)
    assert [(cell.task, cell.runs, cell.agreement) for cell in made.cells] == [
        ("csl_pe_generated", 5, "not comparable"),
        ("csl_generated", 5, "not comparable"),
    ]
    for cell in made.cells:
        assert cell.why_not.endswith("; 5 of the 100 runs on 5 folds")


def test_all_tasks_are_priced_before_the_first_is_trained(tmp_path, monkeypatch, capsys):
    """A total first, then each run's own progress; with everything trained, a price of nothing."""
    monkeypatch.setattr("graphnetz.engine.cost.estimate.PROBE_SECONDS", 0.0)  # no probe: pairs without a price are run
    lines = []
    more = {"epochs": 1, "hidden_channels": 4, "backend": "serial", "root": str(tmp_path / "data")}
    replicate("benchmarking-gnns", table="10", out=tmp_path / "run", tell=lines.append, **more)
    assert [line.partition(":")[0] for line in lines] == [
        "csl_small",
        "csl_pe_small",
        "To train",
        "csl_small",
        "csl_pe_small",
    ]
    assert lines[2].startswith("To train: 20 cells")
    progress = capsys.readouterr().err
    assert "1 task x 2 models; csl_small: 5 folds x 1 seed: 10 cells." in progress  # no seeds that the folds lack
    assert "10/10 cells" in progress
    lines.clear()
    made = replicate("benchmarking-gnns", table="10", out=tmp_path / "run", hours=0, tell=lines.append, **more)
    assert len(made.cells) == 4
    assert lines[2] == "Missing: 0 cells, about 0 core-hours; nothing is trained"
    assert capsys.readouterr().err == ""


def test_the_command_prints_claims_and_writes_the_page(tmp_path, capsys):
    asked = []
    made = certificate()
    entry = Replication("mine", "Mine", "Me", lambda **more: asked.append(more) or made, tables={"3": "all of it"})
    REPLICATIONS.add("mine", entry)
    try:
        assert run_app(["replicate", "mine", "--out", str(tmp_path / "r"), "--table", "3", "--workers", "1"]) == 0
        said = capsys.readouterr().out
        assert "A over B: shown" in said
        assert "claims on other data: 0 shown, 0 not shown, 1 contradicted" in said
        assert (tmp_path / "r" / "certificate.md").is_file()
        assert (asked[0]["table"], asked[0]["size"], asked[0]["hours"], asked[0]["workers"]) == ("3", "small", 8.0, 1)
        assert run_app(["replicate", "mine", "--out", str(tmp_path / "r"), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["paper"] == "mine"
        dry = ["replicate", "mine", "--out", str(tmp_path / "r"), "--dry-run", "--quiet"]
        assert run_app([*dry, "--seeds", "14,15"]) == 0
        assert (asked[-1]["hours"], asked[-1]["seeds"]) == (0.0, "14,15")
        assert run_app(["replicate", "mine", "--table", "4"]) == 2
        assert "Unknown table of mine '4'. Known: 3" in capsys.readouterr().err
        assert run_app(["replicate", "mine", "--size", "large"]) == 2
    finally:
        REPLICATIONS.remove("mine")


def test_a_paper_that_is_not_priced_has_no_dry_run(capsys):
    assert run_app(["replicate", "glemos", "--dry-run"]) == 2
    assert "glemos is not priced" in capsys.readouterr().err


def test_unknown_claims_are_named():
    with pytest.raises(UnknownNameError, match="claim of mine"):
        certificate().verdict_of("B over A")
    assert math.isnan(PAIR.level)


@pytest.fixture
def page_script():
    import importlib.util
    from pathlib import Path

    path = Path(__file__).resolve().parents[2] / "scripts" / "replication_page.py"
    spec = importlib.util.spec_from_file_location("replication_page", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_the_documentation_is_made_from_the_stored_certificates(page_script):
    assert page_script.PAGE.read_text(encoding="utf-8") == page_script.page(), "run: python scripts/replication_page.py"
    made = page_script.stored()
    assert {(item.paper, item.size) for item in made} >= set(page_script.FIRST.items())
    for certificate in made:
        held = page_script.tables_of(certificate)
        claims = [claim for claim in REPLICATIONS[certificate.paper].make.claims() if claim.table in held]
        assert sorted(item.claim.says for item in certificate.claims) == sorted(claim.says for claim in claims)
        assert all(cell.why_not for cell in certificate.cells if cell.agreement == "not comparable")


def test_what_was_run_again_replaces_itself_and_nothing_else(page_script):
    first = dataclasses.replace(
        certificate("A"), claims=(Judged(PAIR, "shown", "by a lot"), Judged(dataclasses.replace(PAIR, says="C"), "not run", "")),
        left=(LeftOut("3", "v", "A", "minutes"), LeftOut("3", "w", "A", "minutes")),
    )  # fmt: skip
    (cell, _) = first.cells
    other = dataclasses.replace(
        first,
        cells=(dataclasses.replace(cell, task="v", ours=0.9),),
        left=(LeftOut("3", "w", "A", "an hour"), LeftOut("3", "t", "A", "an hour")),
        claims=(Judged(PAIR, "not run", ""), Judged(dataclasses.replace(PAIR, says="C"), "shown", "now")),
    )
    both = page_script.joined(first, other)
    assert [(c.task, c.ours) for c in both.cells] == [("t", 0.81), ("u", 0.5), ("v", 0.9)]
    assert [(x.task, x.needs) for x in both.left] == [("w", "an hour")]  # "t" is held, "v" was run
    assert [(item.claim.says, item.outcome) for item in both.claims] == [("A over B", "shown"), ("C", "shown")]
    assert page_script.joined(both, other) == both


def test_stored_certificates_hold_what_was_run_and_contradict_nothing(page_script):
    """Every published row is beside ours or listed with what it needs; nothing on the paper's data contradicts it."""
    for made in page_script.stored():
        against = [str(item) for item in made.claims if item.outcome == "contradicted" and item.comparable]
        assert against == []
        assert [item for item in made.left if not item.needs] == []
        for item in made.claims:
            if item.claim.form == "ranks":  # over every task of the table that stands on the page
                assert f"{len({c.task for c in made.cells if c.table == item.claim.table})} tasks" in item.basis
        assert all(cell.runs > 1 and math.isfinite(cell.ours) for cell in made.cells)
    for made in page_script.stored():
        if made.paper == "benchmarking-gnns":
            held = page_script.tables_of(made)
            assert len(made.cells) + len(made.left) == sum(row.table in held for row in every_row())
            assert made.size != "small" or held >= {row.table for row in every_row()}


def test_a_certificate_survives_its_file():
    made = certificate()
    assert certificate_from_json(json.loads(json.dumps(made.to_json()))).to_json() == made.to_json()


def test_what_is_too_dear_is_left_out_with_its_price(tmp_path):
    """Priced first: nothing may take any time, so nothing is trained, and every cell says what it needs."""
    lines = []
    more = {"epochs": 1, "hidden_channels": 4, "workers": 1, "root": str(tmp_path / "data")}
    made = replicate("benchmarking-gnns", table="10", out=tmp_path / "run", hours=0.0, tell=lines.append, **more)
    assert made.cells == ()
    assert "csl_small: 10 cells to train, core-hours: bgnn.GIN" in lines[0]
    (total,) = lines[2:]
    assert total.startswith("Missing: 20 cells, about ")
    assert total.endswith("core-hours; nothing is trained")
    assert "about 0 core-hours" not in total
    needs = {item.needs for item in made.left if item.model == "bgnn.GIN"}
    assert needs
    assert all(text.endswith("core-hours of training") for text in needs)
    assert {item.outcome for item in made.claims} == {"not run"}
