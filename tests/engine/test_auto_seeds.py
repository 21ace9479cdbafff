"""``seeds="auto"``: rounds, resuming, what the report shows."""

import contextlib
import json
import math
from dataclasses import asdict

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from graphnetz._core.errors import UsageError
from graphnetz.analysis.sequential import SeedRule, common_seeds, cost_of, decide_report
from graphnetz.cli.app import run_app
from graphnetz.cli.load import load_report
from graphnetz.engine.adaptive import run_rounds, seed_rule
from graphnetz.engine.plan import Plan
from graphnetz.engine.run import run_benchmark
from graphnetz.engine.store import Store, seal
from graphnetz.models import ModelSpec
from graphnetz.records import Cell, CellResult, Protocol, Task
from graphnetz.report import BenchmarkReport, TaskInfo
from graphnetz.stats import repeated_interval

pytestmark = pytest.mark.usefixtures("no_figures")

RULE = SeedRule(0.01, max_seeds=30)
MEANS = {"near": 0.8, "nearer": 0.801, "far": 0.9, "noisy": 0.83}
SPREAD = {"near": 0.004, "nearer": 0.004, "far": 0.01, "noisy": 0.15}


def value(task, model, seed):
    rng = np.random.default_rng([len(task), sorted(MEANS).index(model), seed])
    return MEANS[model] + SPREAD[model] * rng.normal()


def whole_plan(tasks=("one", "three"), splits=0):
    cells = tuple(
        Cell(f"{t}/{m}/{s}", t, m, s, Protocol()) for t in tasks for m in MEANS for s in range(RULE.max_seeds)
    )
    info = {t: TaskInfo("test_acc", replication="fold" if splits else "regenerate", splits=splits) for t in tasks}
    tasks = tuple(Task(t, "node_cls", lambda root: None) for t in tasks)
    return Plan(cells, tasks, tuple(MEANS), tuple(range(RULE.max_seeds)), info, {}, {})


class Trainer:
    """Finishes cells in a store like an executor would; dies after ``lives`` cells."""

    def __init__(self, store, lives=10**9, failing=()):
        self.store, self.lives, self.failing = store, lives, failing

    def __call__(self, part):
        self.store.plan(part.cells)
        for key in self.store.missing([cell.key for cell in part.cells]):
            if self.lives == 0:
                raise KeyboardInterrupt
            self.lives -= 1
            task, model, seed = key.split("/")
            bad = (model, int(seed)) in self.failing
            assert self.store.claim(key, "me")
            self.store.finish("me", CellResult(
                key, task, model, int(seed), status="failed" if bad else "ok", metric="test_acc",
                metrics={} if bad else {"test_acc": value(task, model, int(seed))}, replication="regenerate",
            ))  # fmt: skip


def test_rounds_train_what_open_comparisons_need_and_no_more(tmp_path):
    with Store.create(tmp_path) as store:
        part = run_rounds(store, whole_plan(), RULE, Trainer(store))
        results = list(store.results())
        (section,) = store.read_sections()
    assert {r.key for r in results} == {c.key for c in part.cells}
    decisions = decide_report(results, part.info, part.models, RULE)
    cost = cost_of(decisions, RULE)
    assert cost.used == len(results) == section.extra["used"]
    assert cost.used < 0.8 * cost.planned
    assert not any(found.next_look for found in decisions.values())
    # Every model has the first seeds without a gap, so that pairs are paired by seed.
    for task in part.info:
        for model in MEANS:
            seeds = sorted(r.seed for r in results if (r.task, r.model) == (task, model))
            assert seeds == list(range(len(seeds)))
            stays = [d for d in decisions[task].comparisons if model in (d.a, d.b)]
            assert len(seeds) == max(RULE.looks[d.state.look - 1] for d in stays)


def test_a_killed_run_goes_on_in_the_same_round(tmp_path):
    with Store.create(tmp_path / "straight") as store:
        expected = run_rounds(store, whole_plan(), RULE, Trainer(store)).cells
    sittings = 0
    with Store.create(tmp_path / "killed") as store:
        while True:
            sittings += 1
            try:
                found = run_rounds(store, whole_plan(), RULE, Trainer(store, lives=17)).cells
                break
            except KeyboardInterrupt:
                continue
        assert {r.key for r in store.results()} == {c.key for c in expected}
    assert sittings > 3
    assert found == expected


def test_cells_that_were_there_before_do_not_change_a_decision(tmp_path):
    with Store.create(tmp_path / "a") as store:
        expected = run_rounds(store, whole_plan(), RULE, Trainer(store)).cells
    with Store.create(tmp_path / "b") as store:
        Trainer(store)(whole_plan())
        assert run_rounds(store, whole_plan(), RULE, Trainer(store, lives=0)).cells == expected


def test_a_model_that_always_fails_costs_its_first_look_only(tmp_path):
    failing = {("noisy", seed) for seed in range(30)}
    with Store.create(tmp_path) as store:
        part = run_rounds(store, whole_plan(("one",)), RULE, Trainer(store, failing=failing))
    assert sum(cell.model == "noisy" for cell in part.cells) == RULE.looks[0]


def test_fixed_splits_are_trained_in_whole_rounds_and_read_as_splits(tmp_path):
    with Store.create(tmp_path) as store:
        part = run_rounds(store, whole_plan(("one",), splits=5), RULE, Trainer(store))
        results = list(store.results())
        (section,) = store.read_sections()
    decisions = decide_report(results, part.info, part.models, RULE)
    assert cost_of(decisions, RULE).used == len(results) == section.extra["used"]
    for item in decisions["one"].comparisons:
        assert item.state.seeds in (5, 10, 20, 30)
        assert item.state.n == 5
        assert item.p > 0.05 or item.state.different
    assert any("fixed splits" in text for text in section.paragraphs)


ANYTIME = SeedRule(None, max_seeds=30, first_look=3, mode="anytime")


def test_anytime_reads_after_every_seed_and_goes_on_where_it_was_killed(tmp_path):
    with Store.create(tmp_path / "straight") as store:
        expected = run_rounds(store, whole_plan(), ANYTIME, Trainer(store)).cells
        results, (section,) = list(store.results()), store.read_sections()
    with Store.create(tmp_path / "killed") as store:
        for lives in (29, 10**9):
            with contextlib.suppress(KeyboardInterrupt):
                found = run_rounds(store, whole_plan(), ANYTIME, Trainer(store, lives=lives)).cells
    assert found == expected
    decisions = decide_report(results, whole_plan().info, tuple(MEANS), ANYTIME)
    states = [item.state for task in decisions.values() for item in task.comparisons]
    assert {state.decision for state in states} == {"different", "undecided"}  # no margin, no equivalence
    assert all(item.p <= 0.05 for task in decisions.values() for item in task.comparisons if item.state.different)
    assert "e-process" in section.paragraphs[1]
    assert SeedRule.from_config({"auto": json.loads(json.dumps(section.extra["rule"]))}) == ANYTIME


class Guesser:
    """Right with a given probability: a cheap model whose scores vary with the seed."""

    def __init__(self, skill=0.5):
        self.skill = skill

    def fit(self, split, rng):
        self.rng = np.random.default_rng([int(100 * self.skill), int(rng.integers(1 << 30))])

    def score(self, split):
        out = {}
        for part in ("train", "val", "test"):
            target = split.data.x[getattr(split, part)].argmax(1).numpy()  # the features tell: labels are not shown
            right = self.rng.random(len(target)) < self.skill
            out[part] = np.eye(2)[np.where(right, target, 1 - target)]
        return out


def graph(root, seed=0):
    rng = np.random.default_rng(seed)
    edges = torch.from_numpy(rng.integers(0, 200, (2, 600)))
    part, y = torch.arange(200), torch.from_numpy(rng.integers(0, 2, 200))
    return Data(
        x=torch.eye(2)[y], edge_index=edges, y=y,
        train_mask=part < 60, val_mask=(part >= 60) & (part < 100), test_mask=part >= 100,
    )  # fmt: skip


MODELS = {
    f"p{int(100 * p)}": ModelSpec(Guesser, frozenset({"node_cls"}), kwargs={"skill": p}) for p in (0.5, 0.52, 0.9)
}


def auto(folder=None, **options):
    given = {"seeds": "auto", "precision": 0.01, "max_seeds": 10, "models": MODELS} | options
    task = Task("coins", "node_cls", graph, 1)
    return run_benchmark(tasks=[task], out=folder, backend="serial", verbose=False, **given)


def test_the_report_shows_decisions_and_only_what_is_valid_after_stopping(tmp_path):
    report = auto(tmp_path)
    state = {frozenset((d.a, d.b)): d.state for d in report.decisions()["coins"].comparisons}
    clear, close = state[frozenset(("p50", "p90"))], state[frozenset(("p50", "p52"))]
    assert (clear.decision, clear.look) == ("different", 1)
    assert close.decision == "undecided"
    frame = report.pairwise().set_index(["model_a", "model_b"])
    row = frame.loc[("p50", "p90")]
    assert (row["diff_low"], row["diff_high"]) == (clear.low, clear.high)
    assert row["different"]
    assert row["p_holm"] <= 0.05 < frame.loc[("p50", "p52"), "p_holm"]
    assert row["p_raw"] < row["p_holm"]
    x, y = report.scores.paired("coins", "p50", "p90")
    assert clear.low < repeated_interval((x - y)[:5], 0.05)[1]  # wider than the ordinary interval
    wilcoxon = report.pairwise(method="wilcoxon")
    assert wilcoxon["p_holm"].isna().all()
    assert "no valid wilcoxon p" in wilcoxon["reason"][0]
    section = next(s for s in report.sections if s.name == "seeds-auto")
    assert section.extra["used"] == len(report.results)
    assert {row[2] for row in section.tables[0].rows} >= {"p90 is better", "undecided"}
    assert "Seeds until decided" in (tmp_path / "report.html").read_text()
    again = BenchmarkReport.from_json(tmp_path / "results.json")
    assert again.pairwise().equals(report.pairwise())
    assert again.verdicts() == report.verdicts()


def test_two_runs_and_a_resumed_one_write_the_same_results(tmp_path):
    auto(tmp_path / "a")
    auto(tmp_path / "b", seeds=range(3), precision=None, max_seeds=None)
    (tmp_path / "b" / "plan.json").unlink()
    with Store.open(tmp_path / "b") as store:
        store.db.execute("DELETE FROM meta")
        store.db.execute("DELETE FROM sections")
        seal.small(store.db)
    auto(tmp_path / "b")
    first, second = (json.loads((tmp_path / name / "results.json").read_text()) for name in "ab")
    assert first["cells"] == second["cells"]
    pick = [next(s for s in raw["sections"] if s["name"] == "seeds-auto") for raw in (first, second)]
    assert pick[0] == pick[1]


def test_intervals_of_single_models_allow_for_looking_often():
    report = auto()
    row = report.summary().loc[("coins", "p90")]
    ordinary = 2.776 * row["std"] / math.sqrt(5)
    assert row["n_seeds"] == 5
    assert row["ci_half"] > 1.1 * ordinary


def test_ranks_use_the_seeds_that_all_models_share():
    report = auto()
    table = report.scores
    seeds = np.isfinite(table.values[0]).all(axis=0)
    assert 0 < seeds.sum() < len(table.seeds)
    shared = table.values[0][:, seeds].mean(axis=1)
    assert np.allclose(common_seeds(table).means()[0], shared)
    assert np.allclose(report.ranking().values[0], shared)
    assert any("group-sequential t test" in str(verdict) for verdict in report.verdicts())


def test_looking_at_a_run_that_goes_on_uses_the_rule(tmp_path):
    auto(tmp_path)
    (tmp_path / "results.json").unlink()
    with Store.open(tmp_path) as store:
        late = [r.key for r in store.results() if r.seed >= 4 and r.model != "p90"]
        store.reset(late)
    report = load_report(tmp_path)
    assert report.seed_rule is not None
    assert {item.state.decision for item in report.decisions()["coins"].comparisons} == {"open"}
    assert not report.pairwise()["different"].any()
    assert report.verdicts()


def test_an_anytime_run_says_which_rule_ran(tmp_path):
    report = auto(tmp_path, seeds="anytime", precision=None)
    state = {frozenset((d.a, d.b)): d.state for d in report.decisions()["coins"].comparisons}
    assert state[frozenset(("p50", "p90"))].decision == "different"
    assert state[frozenset(("p50", "p52"))].decision == "undecided"
    assert report.config["auto"]["mode"] == "anytime"
    section = next(s for s in report.sections if s.name == "seeds-auto")
    assert "no margin was declared" in section.paragraphs[0]
    assert json.loads((tmp_path / "plan.json").read_text())["stopping_rule"]["mode"] == "anytime"
    again = BenchmarkReport.from_json(tmp_path / "results.json")
    assert again.pairwise().equals(report.pairwise())
    row = report.pairwise().set_index(["model_a", "model_b"]).loc[("p50", "p90")]
    assert row["diff_low"] == state[frozenset(("p50", "p90"))].low


def test_wrong_use_is_refused():
    with pytest.raises(UsageError, match="needs precision"):
        auto(precision=None)
    with pytest.raises(UsageError, match='belongs to seeds="auto"'):
        seed_rule(range(5), 0.01, None)
    with pytest.raises(UsageError, match="precision must be above 0"):
        auto(precision=-1)
    with pytest.raises(UsageError, match="max_seeds must be at least 5"):
        auto(max_seeds=3)
    with pytest.raises(UsageError, match="'atuo'"):
        auto(seeds="atuo", precision=None, max_seeds=None)


def test_the_command_line_runs_and_resumes(tmp_path, capsys):
    out = tmp_path / "run"
    flags = ["--task", "karate_club", "--model", "GCN", "--model", "Majority", "--epochs", "2", "--backend", "serial"]
    flags += ["--root", str(tmp_path / "data"), "--out", str(out), "--quiet"]
    assert run_app(["run", *flags, "--seeds", "auto"]) == 2
    assert "needs precision" in capsys.readouterr().err
    assert run_app(["run", *flags, "--seeds", "auto", "--precision", "0.01", "--max-seeds", "6"]) == 0
    settings = (out / "config.toml").read_text()
    assert 'seeds = "auto"' in settings
    assert "precision = 0.01" in settings
    before = (out / "results.json").read_bytes()
    assert run_app(["resume", str(out), "--quiet"]) == 0
    assert (out / "results.json").read_bytes() == before
    assert run_app(["run", *flags, "--seeds", "3", "--max-seeds", "6"]) == 2
    assert 'belongs to seeds="auto"' in capsys.readouterr().err


def test_a_run_that_is_read_before_its_rule_spends_anything_has_means_and_no_interval():
    """The first look of an anytime run has level 0: reading it ended in an error about a level of 1."""
    cells = [
        CellResult("", "t", model, seed, "ok", "test_acc", True, {"test_acc": 0.5 + 0.01 * seed}, replication="init")
        for model in "AB" for seed in range(3)
    ]  # fmt: skip
    config = {"auto": asdict(ANYTIME)}
    info = {"t": TaskInfo("test_acc", replication="init")}
    report = BenchmarkReport.from_results(cells, tasks=info, models=("A", "B"), seeds=(0, 1, 2), config=config)
    row = report.summary().loc[("t", "A")]
    assert row["mean"] == pytest.approx(0.51)
    assert math.isnan(row["ci_half"])
    assert "too few for an interval" in report.analysis.cells[0].reason
