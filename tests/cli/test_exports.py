"""What is written in the formats of others is valid there, by their own readers or by the facts of their schemas."""

import json
import logging

import pytest
import yaml as yaml_reader

from graphnetz._core.errors import GraphnetzError
from graphnetz.cli.app import run_app
from graphnetz.cli.machine import commands, guide_facts, guide_text
from graphnetz.datasets import CARDS
from graphnetz.datasets.croissant import croissant
from graphnetz.report import BenchmarkReport, example_report
from graphnetz.report.exports import eval_results, every_eval_ever, model_index, yaml
from graphnetz.selection.aslib import aslib
from graphnetz.selection.bank import PerformanceBank

TEXT, NUMBER, TRUTH = {"type": "string"}, {"type": "number"}, {"type": "boolean"}


def table(required, **properties):
    return {"type": "object", "required": list(required), "properties": properties, "additionalProperties": False}


DETAILS = {"type": "object", "additionalProperties": TEXT}
# The parts of schema 0.2.1 of Every Eval Ever that our records use: what must be there, its type and its words.
EVERY_EVAL_EVER = table(
    ("schema_version", "evaluation_id", "retrieved_timestamp", "source_metadata", "model_info", "eval_library",
     "evaluation_results"),
    schema_version=TEXT, evaluation_id=TEXT, retrieved_timestamp=TEXT,
    source_metadata=table(
        ("source_type", "source_organization_name", "evaluator_relationship"), source_name=TEXT,
        source_type={"enum": ["documentation", "evaluation_run"]}, source_organization_name=TEXT,
        evaluator_relationship={"enum": ["first_party", "third_party", "collaborative", "other"]},
    ),
    eval_library=table(("name", "version"), name=TEXT, version=TEXT),
    model_info=table(("name", "id"), name=TEXT, id=TEXT),
    evaluation_results={"type": "array", "items": table(
        ("evaluation_name", "source_data", "metric_config", "score_details"), evaluation_name=TEXT,
        source_data=table(("dataset_name", "source_type"), dataset_name=TEXT, source_type={"const": "other"}),
        metric_config=table(
            ("lower_is_better", "score_type", "min_score", "max_score"), evaluation_description=TEXT,
            lower_is_better=TRUTH, score_type={"const": "continuous"}, min_score=NUMBER, max_score=NUMBER,
            additional_details=DETAILS,
        ),
        score_details=table(("score",), score=NUMBER, uncertainty=table(
            (), num_samples={"type": "integer"}, standard_deviation=NUMBER,
            standard_error=table(("value",), value=NUMBER, method=TEXT),
            confidence_interval=table(("lower", "upper"), lower=NUMBER, upper=NUMBER, method=TEXT,
                                      confidence_level={"type": "number", "minimum": 0, "maximum": 1}),
        )),
    )},
)  # fmt: skip
# A model-index as model cards of the Hub hold it.
MODEL_INDEX = table(("model-index",), **{"model-index": {"type": "array", "items": table(
    ("name", "results"), name=TEXT, results={"type": "array", "items": table(
        ("task", "dataset", "metrics"), task=table(("type",), type=TEXT, name=TEXT),
        dataset=table(("name", "type"), name=TEXT, type=TEXT), source=table(("url",), name=TEXT, url=TEXT),
        metrics={"type": "array", "minItems": 1, "items": table(
            ("type", "value"), type=TEXT, name=TEXT, value=NUMBER, args={"type": "object"})},
    )},
)}})  # fmt: skip


def by_schema(value, schema):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft7Validator(schema).validate(json.loads(json.dumps(value, allow_nan=False)))


def test_every_card_is_croissant_to_its_own_reader(caplog):
    mlc = pytest.importorskip("mlcroissant")
    with caplog.at_level(logging.ERROR):
        for name in CARDS:
            made = croissant(CARDS[name])
            found = mlc.Dataset(jsonld=json.loads(json.dumps(made)))
            assert not found.metadata.ctx.issues.errors, name
            assert found.metadata.name == name or found.metadata.name == {"en": name}
    record = next(iter(mlc.Dataset(jsonld=croissant(CARDS["cora"])).records("facts")))
    assert record["facts/nodes"] == 2708
    assert record["facts/dataset"] in (b"cora", "cora")


@pytest.mark.parametrize("metric", ["acc", "mae"])
def test_every_eval_ever(metric):
    report = BenchmarkReport.from_scores({"A": [0.8, 0.9, 0.7], "B": [0.7, 0.6, 0.65]}, metric=metric, task="cora")
    made = every_eval_ever(report, "A", when=1.5e9)
    by_schema(made, EVERY_EVAL_EVER)
    result = made["evaluation_results"][0]
    assert result["score_details"]["score"] == pytest.approx(0.8)
    assert result["metric_config"]["lower_is_better"] == (metric == "mae")
    low, high = (result["metric_config"][key] for key in ("min_score", "max_score"))
    assert (low, high) == ((0.0, 1.0) if metric == "acc" else (0.0, 0.9))
    with pytest.raises(GraphnetzError, match="Unknown relationship"):
        every_eval_ever(report, "A", relationship="friend")


def test_hugging_face():
    report = example_report()
    for model in report.models:
        made = model_index(report, model)
        by_schema(made, MODEL_INDEX)
        assert yaml_reader.safe_load(yaml(made)) == json.loads(json.dumps(made))
    entries = eval_results(report, report.models[0], {"cora": "graphs/cora"})
    assert yaml_reader.safe_load(yaml(entries)) == entries
    assert set(entries[0]) == {"dataset", "value", "notes"}
    with pytest.raises(GraphnetzError, match="OWNER/NAME"):
        eval_results(report, report.models[0], {"cora": "cora"})


@pytest.mark.parametrize(
    "value", [{}, [], {"a": []}, {"a": {"b: c": ["- x", "#", "é", None, True, 1e-9]}}, ["x", ["y"]]]
)
def test_our_yaml_is_read_back(value):
    assert yaml_reader.safe_load(yaml(value)) == value


def test_the_bank_is_an_aslib_scenario():
    arff = pytest.importorskip("arff")
    bank = PerformanceBank.load()
    files = aslib(bank, "link_pred")
    described = yaml_reader.safe_load(files["description.txt"])
    read = {name: arff.loads(text) for name, text in files.items() if name.endswith(".arff")}
    runs = read["algorithm_runs.arff"]
    assert [name for name, _ in runs["attributes"]][:3] == ["instance_id", "repetition", "algorithm"]
    wanted = [record for record in bank.records if record.task_type == "link_pred"]
    assert len(runs["data"]) == len(wanted)
    assert sum(row[3] for row in runs["data"]) == pytest.approx(sum(record.value for record in wanted))
    assert {row[2] for row in runs["data"]} == set(described["metainfo_algorithms"])
    features = [name for name, _ in read["feature_values.arff"]["attributes"][2:]]
    assert features == described["features_deterministic"] == described["feature_steps"]["all"]["provides"]
    instances = {row[0] for row in runs["data"]}
    for name in ("feature_values.arff", "feature_runstatus.arff", "cv.arff"):
        assert {row[0] for row in read[name]["data"]} == instances, name
    assert len({tuple(row[:3]) for row in runs["data"]}) == len(runs["data"])
    with pytest.raises(GraphnetzError, match="holds nothing of"):
        aslib(bank, "tea")


def test_the_commands_write_files(tmp_path, capsys):
    source = tmp_path / "results.json"
    source.write_text(example_report().to_json())
    for words in (["croissant", "cora"], ["huggingface", str(source), "--hub", "cora=a/b"],
                  ["every-eval-ever", str(source)], ["aslib", "node_cls"]):  # fmt: skip
        out = tmp_path / words[0]
        assert run_app(["export", *words, "--out", str(out), "--json"]) == 0
        assert sorted(json.loads(capsys.readouterr().out)["files"]) == sorted(map(str, out.iterdir()))
    assert run_app(["export", "huggingface", str(source), "--hub", "cora"]) == 2


# for machines

SILENT = {"serve"}
"""Commands that print no result: one that serves until it is stopped."""


def test_every_command_that_prints_results_prints_json():
    without = [
        words
        for words, command in commands()
        if not any("--json" in getattr(item, "opts", ()) for item in command.params)
    ]
    assert set(without) <= SILENT


def test_the_guide_names_every_command_setting_and_list(capsys):
    facts = guide_facts()
    assert {row["command"] for row in facts["commands"]} == {f"graphnetz {words}" for words, _ in commands()}
    assert all(row["what"] for row in facts["commands"])
    text = guide_text(facts)
    assert "`shard`" in text
    assert run_app(["guide", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(facts))
    known = [row["command"] for row in facts["commands"]]
    for row in facts["paths"]:
        words = row["command"].split()
        assert any(" ".join(words[:n]) in known for n in (2, 3)) or words[1] in ("rings", "select"), row
