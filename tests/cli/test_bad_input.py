"""Bad input gets one clear sentence, and nothing is half-written."""

import pytest
import torch

from graphnetz import GCN, run_benchmark, task_from_dataset
from graphnetz.cli.app import run_app
from graphnetz.testing import examples as graphs


def task(name="t"):
    return task_from_dataset(name, "node_cls", graphs.two_cliques(), epochs=2)


class Raises(torch.nn.Module):
    task_types = {"node_cls"}

    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        raise TypeError("my own mistake")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "either `category` or `tasks=`"),
        ({"category": "social", "tasks": []}, "either `category` or `tasks=`"),
        ({"tasks": "nothing_like_it"}, "Unknown task"),
        ({"category": "socail", "models": GCN}, "Did you mean 'social'"),
        ({"tasks": [1], "models": None}, "requires `models`"),
        ({"models": "GCM"}, "Did you mean 'GCN'"),
        ({"models": [GCN, GCN]}, "Two models are called 'GCN'"),
        ({"models": torch.nn.Linear}, "Linear cannot do node classification"),
        ({"models": dict}, "dict is no model"),
        ({"models": GCN, "seeds": ()}, "seeds is empty"),
        ({"models": GCN, "seeds": (1, 1)}, "Duplicate seeds"),
        ({"models": GCN, "task_type": "node_class"}, "unknown task type"),
        ({"models": GCN, "epochs": -3}, "epochs must be at least 1"),
        ({"models": GCN, "backend": "clowd"}, "Unknown executor"),
        ({"models": GCN, "gpus": 0.5}, "gpus is for Ray clusters"),
        ({"models": GCN, "protocol": {"learning_rate": 1}}, "Unknown protocol key 'learning_rate'"),
        ({"models": GCN, "model_kwargs": {"GCN": {"depth": 3}}}, "takes no argument 'depth'"),
        ({"models": GCN, "only": ["x"]}, "Unknown task 'x'"),
        ({"models": GCN, "save_weights": True}, "out=DIR"),
    ],
)
def test_wrong_arguments(arguments, words):
    if "tasks" not in arguments and "category" not in arguments and arguments:
        arguments = {"tasks": [task()], **arguments}
    if arguments.get("models", "absent") is not None:
        arguments = {"models": GCN, **arguments}
    with pytest.raises(ValueError, match=words):
        run_benchmark(**arguments, verbose=False)


def test_duplicate_task_names():
    with pytest.raises(ValueError, match="Duplicate task names"):
        run_benchmark(models=GCN, tasks=[task(), task()], verbose=False)


def test_a_constructor_that_raises_is_the_users_and_the_others_go_on():
    report = run_benchmark(models={"Raises": Raises, "GCN": GCN}, tasks=[task()], seeds=(0, 1), verbose=False)
    failed = [r for r in report.results if not r.ok]
    assert {r.model for r in failed} == {"Raises"}
    assert "TypeError: my own mistake" in failed[0].error
    assert "test_bad_input.py" in failed[0].error
    assert report.summary().loc[("t", "GCN"), "n_seeds"] == 2


def test_bad_data_is_refused_before_anything_is_trained(tmp_path):
    data = graphs.two_cliques()
    data.x[0, 0] = float("nan")
    out = tmp_path / "run"
    with pytest.raises(ValueError, match=r"Task 'bad': .*NaN or infinite features"):
        run_benchmark(models=GCN, tasks=[task_from_dataset("bad", "node_cls", data)], out=out, verbose=False)
    assert not (out / "results.json").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--suite", "defualt"], "Did you mean 'default'"),
        (["run", "--task", "coraa"], "Did you mean 'cora'"),
        (["run", "--model", "GATT", "--task", "sbm_communities"], "Did you mean 'GAT'"),
        (["run", "--seeds", "0"], "'seeds'"),
        (["run", "--seeds", "a,b"], "'seeds' is wrong: it takes a count, a list"),
        (["run", "--epochs", "0"], "'epochs'"),
        (["run", "--selection", "best"], "'selection'"),
        (["run", "no-such-file.toml"], "Cannot read the configuration"),
        (["run", "--suite", "default", "--category", "social"], "exclude each other"),
        (["report", "nowhere"], "There is no"),
        (["resume", "nowhere"], "holds no config.toml"),
        (["list", "modles"], "Did you mean 'models'"),
        (["rnu"], "No such command"),
        (["run", "--frobnicate"], "No such option"),
    ],
)
def test_the_command_line_says_one_sentence_and_exits_with_2(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_app(arguments) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said
    assert not list(tmp_path.glob("runs/**/results.json"))


def test_an_unknown_configuration_key_is_named(capsys, tmp_path):
    path = tmp_path / "c.toml"
    path.write_text('suit = "default"\n')
    assert run_app(["run", str(path)]) == 2
    assert "Unknown configuration key 'suit'. Did you mean 'suite'?" in capsys.readouterr().err
    path.write_text("suite = [\n")
    assert run_app(["run", str(path)]) == 2
    assert "not valid TOML" in capsys.readouterr().err
