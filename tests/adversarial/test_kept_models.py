"""A folder with a kept model may come from a stranger: it is built within its weights, or refused in one sentence."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))  # helper modules beside the tests

from attempts import outcome
from fuzz import PREDICT, hostile_models, make_model, survives
from safetensors.torch import load_file, save_file

from graphnetz.models import MODELS
from graphnetz.tasktypes import Dims


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a small model, and the tables it was trained on."""
    return make_model(tmp_path_factory.mktemp("trained")).parent


@pytest.fixture
def place(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "place")


def facts(place, **values):
    path = place / "model" / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | values), encoding="utf-8")


def weights(place, change):
    """Change the weights; the folder says that they are its own."""
    path = place / "model" / "model.safetensors"
    save_file({name: change(value) for name, value in load_file(path).items()}, path)
    facts(place, weights="")


def refused(place, words, *more):
    found = outcome([*PREDICT, *more], place)
    assert (found.code, len(found.said.splitlines())) == (2, 1), found.said
    assert words in found.said
    assert not found.written


@pytest.mark.parametrize(
    ("name", "change"), hostile_models(every=7), ids=lambda item: item if isinstance(item, str) else ""
)
def test_a_fuzzed_model_folder(name, change, place):
    assert survives(change, place / "model", PREDICT) == "", name


def test_no_memory_is_taken_for_widths_that_the_weights_lack(place):
    """200,000 hidden channels would be 160 GB."""
    facts(place, hidden_channels=200_000)
    refused(place, "The weights do not fit GCN")


@pytest.mark.parametrize("name", sorted(name for name, spec in MODELS.items() if spec.kind == "encoder"))
def test_every_registered_model_has_its_shapes_without_memory(name):
    spec = MODELS[name]
    for kind in sorted({"node_cls", "graph_cls", "link_pred", "edge_cls", "graph_reg"} & set(spec.task_types)):
        dims = Dims(5, 3, num_nodes=20 if kind == "link_pred" else None)
        with torch.device("meta"):
            bare = spec.build(kind, dims, 16).state_dict()
        assert {k: v.shape for k, v in bare.items()} == {
            k: v.shape for k, v in spec.build(kind, dims, 16).state_dict().items()
        }


def test_weights_that_were_exchanged_or_have_rotted_are_refused(place):
    path = place / "model" / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-3] ^= 4
    path.write_bytes(content)
    refused(place, "model.safetensors of 'model' is not the file that model.json was written for")


def test_no_class_is_named_where_the_model_gives_no_number(place):
    weights(place, lambda value: torch.full_like(value, float("nan")))
    refused(place, "GCN gives no number for 10 of 10 rows", "--out", "p.csv")


def test_a_folder_without_a_digest_of_its_weights_is_read(place):
    facts(place, weights="")
    assert outcome(PREDICT, place).code == 0


def test_two_classes_of_one_name_are_refused(place):
    facts(place, classes=["a", "a"])
    refused(place, "one name stands twice")


def test_no_name_of_a_stranger_is_a_formula_in_a_table_and_numbers_stay(place):
    facts(place, classes=["=cmd()", "-1"])
    assert outcome([*PREDICT, "--out", "p.csv"], place).code == 0
    found = pd.read_csv(place / "p.csv", dtype=str)
    assert set(found["class"]) <= {"'=cmd()", "-1"}
    assert found["node"].tolist() == [str(i) for i in range(10)]


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_a_link_in_a_model_folder_is_refused(place, name):
    kept = place / "kept"
    (place / "model" / name).rename(kept)
    (place / "model" / name).symlink_to(kept)
    refused(place, f"has the link {name!r}")


def test_code_of_the_folder_is_never_run(place, tmp_path):
    ran = tmp_path / "ran"
    (place / "model" / "evil.py").write_text(f"open({str(ran)!r}, 'w').close()\nclass Evil: pass\n", encoding="utf-8")
    facts(place, reference="model/evil.py:Evil")
    refused(place, "only run if you name it")
    assert outcome([*PREDICT, "--model", "model/evil.py:Evil"], place).code == 2
    assert not ran.exists()
