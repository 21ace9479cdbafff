"""Budgets from the command line to the report: chosen, refused, shown and flagged."""

import json

import pandas as pd
import pytest

from graphnetz._core.errors import UsageError
from graphnetz.analysis.sizes import parameter_counts, size_verdicts
from graphnetz.benchmark import run_benchmark
from graphnetz.cli.app import run_app
from graphnetz.datasets.custom import task_from_dataset
from graphnetz.datasets.generators.symmetric import csl
from graphnetz.engine.config import load_config
from graphnetz.engine.cost.parameters import BudgetCheck
from graphnetz.models import MODELS
from graphnetz.models.budget import width_for
from graphnetz.records import CellResult, Protocol, Task
from graphnetz.tasktypes import Dims

CSL = Dims(1, 10, vocabulary=(1,))
COMMON = ("run", "--task", "csl", "--seeds", "2", "--epochs", "1", "--backend", "serial", "--quiet")


def test_the_flag_gives_every_model_its_closest_width(tmp_path, capsys):
    models = ("--model", "bgnn.GCN", "--model", "bgnn.GAT", "--model", "Majority")
    assert run_app([*COMMON, *models, "--budget", "11.3k", "--out", str(tmp_path / "run")]) == 0
    printed = capsys.readouterr().out
    expected = {name: width_for(MODELS[name], "graph_cls", CSL, 11_300) for name in ("bgnn.GCN", "bgnn.GAT")}
    table = pd.read_csv(tmp_path / "run" / "summary.csv").set_index("model")["parameters"]
    for name, found in expected.items():
        assert table[name] == found.parameters
        assert f"{found.parameters:,}" in printed
    assert pd.isna(table["Majority"])
    assert expected["bgnn.GAT"].warning  # beyond 2 %: the report says so
    assert "more than 2 % from the budget of 11,300" in printed
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "more than 2 % from the budget of 11,300" in page
    assert "budget = 11300" in (tmp_path / "run" / "config.toml").read_text(encoding="utf-8")
    notes = json.loads((tmp_path / "run" / "provenance.json").read_text(encoding="utf-8"))
    assert "csl / bgnn.GAT" in json.dumps(notes)


def test_a_budget_out_of_reach_ends_the_command_before_it_trains(tmp_path, capsys):
    out = tmp_path / "run"
    assert run_app([*COMMON, "--model", "bgnn.GAT", "--budget", "10k", "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert "csl / bgnn.GAT" in said
    assert "Closest:" in said
    assert "reachable from" in said
    assert not (out / "results.json").exists()


@pytest.mark.parametrize("value", ["ten", "-5", "0"])
def test_what_is_no_budget_names_the_key(value):
    with pytest.raises(UsageError, match="number of parameters"):
        load_config(None, {"budget": value})


def test_width_and_budget_exclude_each_other():
    with pytest.raises(UsageError, match="exclude each other"):
        load_config(None, {"budget": "10k", "hidden_channels": 8}).overrides()
    assert load_config(None, {"budget": "10k"}).overrides()["budget"] == 10_000
    assert "budget" not in load_config(None, {}).overrides()


def test_edge_attributes_count_only_where_models_see_them():
    task, spec = Task("t", "graph_reg", lambda _: None), MODELS["bgnn.GatedGCN-E"]
    wide = Dims(1, 1, 4, vocabulary=(28,))
    for seen in (True, False):
        check = BudgetCheck()
        check.look(task, "m", spec, wide, Protocol(budget=300, edge_attributes=seen))
        expected = wide if seen else Dims(1, 1, vocabulary=(28,))
        with pytest.raises(UsageError) as direct:
            width_for(spec, "graph_reg", expected, 300)
        assert check.refused == [f"t / m: {direct.value}"]
    check.look(task, "m", spec, wide, Protocol())
    assert len(check.refused) == 1


def test_many_refusals_are_counted():
    check = BudgetCheck()
    for number in range(7):
        check.look(
            Task(f"t{number}", "graph_reg", lambda _: None), "m", MODELS["bgnn.GCN"], Dims(1, 1), Protocol(budget=2)
        )
    with pytest.raises(UsageError, match=r"t4 / m.*And 2 more"):
        check.refuse()


def cell(model, parameters, **values):
    return CellResult(model, "t", model, 0, parameters=parameters, **values)


def test_only_claims_of_equal_size_are_checked():
    results = [cell("a", 100), cell("b", 250), cell("c", 0), cell("d", 999, status="failed")]
    counts = parameter_counts(results)
    assert counts == {("t", "a"): 100, ("t", "b"): 250}
    assert size_verdicts(counts, {}) == []
    assert size_verdicts(counts, {"t": {"a": 100}}) == []
    (far,) = size_verdicts(counts, {"t": {"a": 100, "b": 245}})
    assert far.text == "Unequal parameter budgets are compared here: a 100, b 250."
    (free,) = size_verdicts(counts, {"t": {"a": 100, "b": None}})
    assert free.text == far.text
    (off,) = size_verdicts(counts, {"t": {"a": 98, "b": 98}})
    assert off.text == "Parameters more than 2 % from the budget of 98: a 100 (+2.0 %), b 250 (+155.1 %)."
    assert off.level == "warning"


def test_unequal_budgets_of_one_comparison_are_flagged():
    task = task_from_dataset("csl", "graph_cls", csl(0), epochs=1)
    report = run_benchmark(
        models=["bgnn.GCN", "bgnn.MLP", "Majority"], tasks=[task], seeds=[0, 1], backend="serial", verbose=False,
        protocol={"budget": 5_000}, model_protocol={"bgnn.MLP": {"budget": 20_000}},
    )  # fmt: skip
    assert report.config["budgets"] == {"csl": {"bgnn.GCN": 5_000, "bgnn.MLP": 20_000}}
    flagged = [line for line in report.verdicts() if "Unequal parameter budgets" in line.text]
    assert len(flagged) == 1
    assert flagged[0].about == "csl"
    counts = report.summary()["parameters"]
    assert f"bgnn.MLP {counts['csl', 'bgnn.MLP']:,}" in flagged[0].text
    assert counts.isna()["csl", "Majority"]


def test_without_budgets_nothing_is_flagged():
    task = task_from_dataset("csl", "graph_cls", csl(0), epochs=1)
    report = run_benchmark(
        models=["bgnn.GCN", "bgnn.MLP"], tasks=[task], seeds=[0], backend="serial", verbose=False, hidden_channels=4
    )
    assert "budgets" not in report.config
    assert not [line for line in report.verdicts() if "parameter" in line.text.lower()]
