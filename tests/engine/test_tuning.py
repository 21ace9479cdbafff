"""Tuning: spaces in plain tables, equal budgets, default beside tuned, and claims that say whether they survive."""

from __future__ import annotations

import itertools
import json
import tomllib

import numpy as np
import pytest
import torch

from graphnetz import SearchSpace, run_benchmark, task_from_dataset
from graphnetz._core.errors import UsageError
from graphnetz.analysis.tuning import task_words, tuning
from graphnetz.cli.app import run_app
from graphnetz.engine.search import TRIALS, read_space
from graphnetz.models import MODELS, spec_from
from graphnetz.models.spaces import TRAINING, space_of
from graphnetz.records.tuning import Survival, Tuning
from graphnetz.report import BenchmarkReport
from graphnetz.report.tuning import tuning_section
from graphnetz.stats.tuning import expected_best
from graphnetz.tasktypes import Dims
from graphnetz.testing.examples import EXAMPLES, two_cliques

RUN = {"seeds": 3, "epochs": 4, "backend": "serial", "verbose": False}


def task():
    return task_from_dataset("cliques", "node_cls", two_cliques(36, masks=5))


@pytest.mark.parametrize("better", [True, False])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_expected_best_is_that_of_all_draws(better, count):
    values = np.random.default_rng(count).normal(size=count)
    found = expected_best(values, greater_is_better=better)
    for budget in range(1, count + 1):
        draws = itertools.product(values, repeat=budget)  # brute force: every sequence of trials is as likely
        assert found[budget - 1] == pytest.approx(np.mean([max(d) if better else min(d) for d in draws]), abs=1e-12)


def test_trials_that_gave_nothing_are_left_out():
    np.testing.assert_array_equal(expected_best([1.0, np.nan, 2.0]), expected_best([1.0, 2.0]))
    assert expected_best([np.nan]).size == 0


def test_every_built_in_model_has_a_space_or_nothing_to_tune():
    for name, spec in MODELS.items():
        space = space_of(spec)
        assert all(len(values) > 1 for values in space.values()), name
        if spec.kind == "encoder":
            assert {"lr", "hidden_channels"} <= space.keys(), name
        assert all(spec.accepts(key) or key in ("lr", "weight_decay", "hidden_channels") for key in space), name


def test_the_budget_is_the_same_for_all_and_the_default_comes_first():
    specs = {name: MODELS[name] for name in ("GCN", "GAT", "MLP", "FeatureOnly", "Majority")}
    space = read_space("default", specs)
    counts = {name: space.of(name, spec).candidates() for name, spec in specs.items()}
    assert {len(counts[name]) for name in ("GCN", "GAT", "MLP")} == {TRIALS}
    assert len(counts["FeatureOnly"]) == 5  # four strengths and its own: it has no more
    assert counts["Majority"] == [{}]
    assert all(found[0] == {} for found in counts.values())
    assert all(len({json.dumps(item, sort_keys=True) for item in found}) == len(found) for found in counts.values())


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"learning": [1]}, "neither a setting of training"),
        ({"lr": 0.1}, "needs a list of values"),
        ({"GTA": {"heads": [1]}}, "Unknown model of the search 'GTA'"),
    ],
)
def test_a_wrong_table_is_refused(table, words):
    with pytest.raises(UsageError, match=words):
        run_benchmark(models=["GCN", "GAT"], tasks=task(), search=table, **RUN)


def test_default_and_tuned_stand_beside_each_other():
    tuned = run_benchmark(
        models=["GCN", "FeatureOnly"], tasks=task(), search={"lr": [0.1, 1e-4], "strength": [9.0]}, **RUN
    )
    plain = run_benchmark(models=["GCN", "FeatureOnly"], tasks=task(), **RUN)
    rows = {row.model: row for row in tuned.analysis.tuning.rows}
    for name, row in rows.items():  # the witness: the same run without a search
        values = [r.value for r in plain.results if r.model == name]
        assert row.default == pytest.approx(np.mean(values), abs=1e-12)
        assert row.tuned == pytest.approx(np.mean([r.value for r in tuned.results if r.model == name]))
    assert (rows["GCN"].trials, rows["FeatureOnly"].trials) == (3, 2)
    for row in rows.values():
        assert all(sum(count for _, count in held) == 3 for _, held in row.chosen)
        assert list(row.expected) == sorted(row.expected)
    for result in tuned.results:
        best = max(row["val_acc"] for row in result.trace)
        assert result.metrics["val_acc"] == best


def test_the_choice_never_looks_at_test_values():
    """The default's test value is kept in the trace; a default that is best on test alone is not chosen."""
    report = run_benchmark(models=["GCN"], tasks=task(), search={"lr": [0.3, 1e-5]}, **RUN)
    for result in report.results:
        assert [row.get("default", False) for row in result.trace] == [True, False, False]
        assert ["test_acc" in row for row in result.trace] == [True, False, False]


def test_claims_say_whether_they_survive():
    survival = (
        Survival("t", "A", "C", "both"), Survival("t", "A", "B", "tuned only"), Survival("t", "B", "C", "default only"),
    )  # fmt: skip
    (verdict,) = task_words(Tuning((), survival), "t")
    assert verdict.text == (
        "Tuning: 1 difference that default settings show is shown after tuning too; A over B is shown only after "
        "tuning; B over C is shown only with default settings, not after tuning."
    )
    assert task_words(Tuning((), survival), "other") == []


def test_survival_is_what_two_reports_say():
    """Scores made by hand: tuning lifts B above C and takes A's lead over C away."""
    rng = np.random.default_rng(0)
    means = {"A": (0.90, 0.80), "B": (0.60, 0.90), "C": (0.80, 0.80)}
    report = run_benchmark(models=dict.fromkeys(means, "Majority"), tasks=task(), **RUN | {"seeds": 8})
    import dataclasses

    results = []
    for result in report.results:
        before, after = (float(m + 0.01 * rng.normal()) for m in means[result.model])
        trace = ({"default": True, "val_acc": before, "test_acc": before}, {"lr": 1.0, "val_acc": after})
        results.append(
            dataclasses.replace(result, trace=trace, metrics=result.metrics | {"test_acc": after}, history={})
        )
    made = BenchmarkReport.from_results(results, tasks=report.task_info, models=tuple(means), seeds=range(8))
    found = {(item.better, item.worse): item.verdict for item in made.analysis.tuning.survival}
    assert found == {("B", "A"): "reversed", ("A", "C"): "default only", ("B", "C"): "reversed"}
    assert any(str(verdict.text).startswith("Tuning: ") for verdict in made.verdicts())
    assert tuning_section(made.analysis.tuning).level == "warning"


def test_without_a_search_nothing_is_said():
    report = run_benchmark(models=["GCN", "MLP"], tasks=task(), **RUN)
    assert tuning(report.analysis) is None
    assert report.analysis.untuned is None
    assert tuning_section(report.analysis.tuning) is None


def test_search_from_the_command_line_is_kept_and_resumed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "space.toml").write_text("lr = [0.1, 0.001]\n[GAT]\nheads = [1, 2]\n")
    command = ["run", "--task", "karate_club", "--model", "GCN", "--model", "GAT", "--seeds", "2", "--epochs", "2"]
    assert run_app([*command, "--search", "space.toml", "--backend", "serial", "--out", "run", "--quiet"]) == 0
    kept = tomllib.loads((tmp_path / "run" / "config.toml").read_text())
    assert kept["search"] == {"lr": [0.1, 0.001], "GAT": {"heads": [1, 2]}}
    saved = json.loads((tmp_path / "run" / "results.json").read_text())
    assert any(section["name"] == "tuning" for section in saved["sections"])
    before = (tmp_path / "run" / "results.json").read_bytes()
    assert run_app(["resume", "run", "--quiet"]) == 0
    assert (tmp_path / "run" / "results.json").read_bytes() == before
    assert run_app([*command, "--search", "tune", "--out", "other"]) == 2
    assert "it takes 'default', a TOML file or a table" in capsys.readouterr().err


def test_keys_of_earlier_searches_stay():
    """A plain SearchSpace is named in keys as it was before spaces could belong to models."""
    assert SearchSpace(lr=(0.1,)).as_dict() == {
        "lr": [0.1], "weight_decay": [], "hidden_channels": [], "n_random": None, "seed": 0, "model": {}
    }  # fmt: skip


@pytest.mark.parametrize("name", [*MODELS, "torch_geometric.nn:GCN", "torch_geometric.nn:GIN"])
def test_every_value_of_every_space_builds_a_model(name):
    spec = spec_from(name, code=True)
    kind = next((kind for kind in EXAMPLES if spec.serves(kind)), None)
    if kind is None:
        pytest.skip("serves task types of a paper alone")
    dims = Dims(6, 2, edge_dim=2, num_nodes=24)
    for key, values in space_of(spec).items():
        for value in () if key in TRAINING else values:
            assert spec.with_kwargs({key: value}).build(kind, dims, 32) is not None, (name, key, value)


def test_a_probability_called_p_is_no_walk():
    class Net(torch.nn.Module):
        def __init__(self, in_channels, hidden_channels, out_channels, p=0.5):
            super().__init__()

    assert "p" not in space_of(spec_from(Net))
    assert "p" in space_of(MODELS["Node2Vec"])
    assert "num_components" in space_of(MODELS["SpectralEmbedding"])
