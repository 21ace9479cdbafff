"""Settings are declared once and reach a file, the command line and Python alike."""

import inspect
import json
import tomllib

import numpy as np
import pytest

from graphnetz import run_benchmark
from graphnetz._core.errors import UsageError
from graphnetz.cli.app import run_app
from graphnetz.engine.config import resolve
from graphnetz.records import Protocol, RunConfig, config
from graphnetz.records.config import GROUPS, describe
from graphnetz.records.config_files import load_config

TINY = {"task": ["les_miserables"], "model": ["GCN", "DegreeProduct"], "epochs": 1}


def through_file(tmp_path, **settings):
    path = tmp_path / "run.toml"
    path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items()))
    return ["run", str(path), "--out", str(tmp_path / "run"), "--quiet"]


def through_options(tmp_path, **settings):
    words = ["run", "--out", str(tmp_path / "run"), "--quiet"]
    for key, value in settings.items():
        flag = "--" + key.replace("_", "-")
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{flag[2:]}")
        else:
            for item in value if isinstance(value, list) else [value]:
                words += [flag, str(item)]
    return words


DOORS = {"file": through_file, "options": through_options}


def asked(door, tmp_path, monkeypatch, **settings):
    """What a door makes of settings: the configuration, or the sentence with which it refuses them."""
    seen = []
    monkeypatch.setattr("graphnetz.engine.run.run", lambda chosen, **_: seen.append(chosen) or pytest.skip.Exception)
    if door == "keywords":
        try:
            run_benchmark(**settings, out=str(tmp_path / "run"), verbose=False)
        except UsageError as error:
            return str(error)
    else:
        from graphnetz.cli import run as command

        monkeypatch.setattr(command, "_run", lambda chosen, **_: seen.append(resolve(chosen)) or 0)
        errors = []
        monkeypatch.setattr("graphnetz.cli.app.say", errors.append)
        if run_app(DOORS[door](tmp_path, **settings)) == 2:
            return errors[0]
    return seen[0]


@pytest.mark.parametrize("door", ["file", "options", "keywords"])
def test_one_line_adds_a_setting_at_every_door(door, tmp_path, monkeypatch):
    class Extended(RunConfig):
        coffee_cups: int = config._cells(2, "Cups of coffee per cell.", ge=1, le=5)

    monkeypatch.setattr(config, "RunConfig", Extended)
    monkeypatch.setattr("graphnetz.engine.run.RunConfig", Extended)
    assert asked(door, tmp_path, monkeypatch, **TINY, coffee_cups=4).config.coffee_cups == 4
    wrong = "The setting 'coffee_cups' is wrong: coffee_cups must be at most 5 (got "
    assert asked(door, tmp_path, monkeypatch, **TINY, coffee_cups=9).startswith(wrong)


def test_its_help_and_bounds_come_with_it(monkeypatch, capsys):
    class Extended(RunConfig):
        coffee_cups: int = config._cells(2, "Cups of coffee per cell.", ge=1, le=5)

    monkeypatch.setattr(config, "RunConfig", Extended)
    assert run_app(["run", "--help"]) == 0
    said = capsys.readouterr().out
    assert "--coffee-cups INTEGER" in said
    assert "Cups of coffee per cell (at least 1, at most 5)." in " ".join(said.split())


VALUES = {
    "batch_size": 16, "edge_attributes": False, "device": "cpu", "clip": 2.5, "pairwise_method": "wilcoxon",
    "metric": "ap", "lr": 0.003, "selection": "best_val", "budget": 5000, "fanouts": [3, 3], "batch_nodes": 8,
    "timeout": 60.0, "save_predictions": True, "workers": 2, "dtype": "float64",
}  # fmt: skip


@pytest.mark.parametrize("door", ["file", "options", "keywords"])
def test_every_door_understands_the_same(door, tmp_path, monkeypatch):
    written = VALUES | ({"fanouts": "3,3"} if door == "options" else {})
    found = asked(door, tmp_path, monkeypatch, **TINY, seeds=3, **written)
    assert {key: getattr(found.config, key) for key in VALUES} == VALUES
    assert found.seeds == (0, 1, 2)
    assert found.tasks[0].metric == "ap"
    assert (found.protocol["batch_size"], found.protocol["clip"], found.protocol["edge_attributes"]) == (16, 2.5, False)


@pytest.mark.parametrize("door", ["file", "options", "keywords"])
@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"batch_size": 0}, "The setting 'batch_size' is wrong: batch_size must be at least 1 (got "),
        ({"clip": -1}, "The setting 'clip' is wrong: clip must be above 0 (got "),
        ({"max_seeds": 2}, "The setting 'max_seeds' is wrong: max_seeds must be at least 5 (got "),
        ({"pairwise_method": "tt"}, "The setting 'pairwise_method' is wrong: Unknown pairwise method 'tt'."),
        ({"metric": "mae"}, "The setting 'metric' is wrong: les_miserables is a task of type link_pred, which has auc"),
        ({"selection": "best"}, "The setting 'selection' is wrong: selection must be 'last' or 'best_val' (got "),
        ({"seed": 1, "seeds": 3}, "--seed and --seeds exclude each other."),
    ],
)
def test_every_door_refuses_in_the_same_words(door, wrong, sentence, tmp_path, monkeypatch):
    assert asked(door, tmp_path, monkeypatch, **TINY, **wrong).startswith(sentence)


@pytest.mark.parametrize("door", ["file", "options", "keywords"])
@pytest.mark.parametrize(("seeds", "taken"), [(3, (0, 1, 2)), ([3], (3,)), ([5, 1], (5, 1))])
def test_a_number_of_seeds_is_a_count_everywhere(door, seeds, taken, tmp_path, monkeypatch):
    written = ",".join(map(str, seeds)) + "," if door == "options" and isinstance(seeds, list) else seeds
    assert asked(door, tmp_path, monkeypatch, **TINY, seeds=written).seeds == taken
    assert asked(door, tmp_path, monkeypatch, **TINY, seed=3).seeds == (3,)


@pytest.mark.parametrize(
    ("given", "taken"),
    [(np.arange(3), [0, 1, 2]), (np.int64(2), [0, 1]), (range(4), [0, 1, 2, 3]), ("0, 5", [0, 5]), ("auto", "auto")],
)
def test_seeds_may_come_from_anywhere(given, taken):
    assert RunConfig.read({"seeds": given}).seed_list() == taken


def test_a_run_says_what_it_took_and_writes_it_down(tmp_path, capsys):
    report = run_benchmark(tasks="les_miserables", models="GCN", seeds=3, epochs=1, backend="serial", out=tmp_path)
    assert report.summary()["n_seeds"].tolist() == [3]
    assert capsys.readouterr().err.startswith("1 task x 1 model x 3 seeds (0 to 2): 3 cells.\n")
    kept = tomllib.loads((tmp_path / "config.toml").read_text())
    assert (kept["seeds"], kept["task"], kept["model"]) == (3, ["les_miserables"], ["GCN"])
    again = run_benchmark(load_config(tmp_path / "config.toml", {}), verbose=False)
    assert {r.key for r in again.results} == {r.key for r in report.results}
    assert run_app(["resume", str(tmp_path), "--quiet"]) == 0


def test_metric_and_test_are_chosen_before_the_run(tmp_path):
    common = {"tasks": "les_miserables", "models": ["GCN", "DegreeProduct"], "seeds": 2, "epochs": 1,
              "backend": "serial", "verbose": False}  # fmt: skip
    usual = run_benchmark(**common)
    other = run_benchmark(**common, metric="ap", pairwise_method="wilcoxon", out=tmp_path)
    assert {r.metric for r in other.results} == {"test_ap"}
    assert not {r.key for r in usual.results} & {r.key for r in other.results}
    assert other.pairwise_method == "wilcoxon"
    planned = json.loads((tmp_path / "plan.json").read_text())
    assert (planned["tasks"]["les_miserables"]["test"], planned["tasks"]["les_miserables"]["metric"]) == (
        "wilcoxon", "test_ap",
    )  # fmt: skip
    run_benchmark(**common, metric="ap", out=tmp_path)
    assert "test of les_miserables changed" in (tmp_path / "report.html").read_text()


def test_an_unknown_keyword_is_named():
    with pytest.raises(UsageError, match=r"Unknown configuration key 'wokers'\. Did you mean 'workers'"):
        run_benchmark(tasks="les_miserables", models="GCN", wokers=2)


def test_objects_are_not_written_down_as_if_a_file_could_repeat_them(tmp_path):
    from graphnetz import GCN

    run_benchmark(tasks="les_miserables", models=GCN, seed=0, epochs=1, backend="serial", verbose=False, out=tmp_path)
    assert not (tmp_path / "config.toml").exists()


def test_every_protocol_key_is_a_setting_and_every_setting_is_explained():
    assert set(Protocol.__dataclass_fields__) <= set(RunConfig.model_fields)
    shown = inspect.signature(run_benchmark).parameters
    for name, item in RunConfig.model_fields.items():
        assert name in shown
        assert item.json_schema_extra["group"] in GROUPS
        assert describe(item).endswith(".")
