"""Published cells trained again."""

import json
import shutil

import pytest

from graphnetz._core.errors import UsageError
from graphnetz.cli.app import run_app
from graphnetz.engine.reproduce import reproduce
from graphnetz.engine.run import run_benchmark

pytestmark = pytest.mark.usefixtures("no_figures")


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published") / "run"
    run_benchmark(
        tasks=["karate_club"], models=["GCN", "Majority"], seeds=range(3), epochs=3, out=folder, backend="serial",
        verbose=False, root=str(folder.parent / "data"), model_protocol={"GCN": {"lr": 0.05}},
    )  # fmt: skip
    return folder


def without_digests(raw):
    """As a report was written before there were digests: others may edit it."""
    raw["schema_version"] = 1
    del raw["digest"]
    return json.dumps(raw)


def test_every_cell_agrees_to_the_last_bit(published):
    found = reproduce(published, root=str(published.parent / "data"), workers=1)
    assert len(found) == 6
    assert {row.verdict for row in found} == {"exact"}


def test_a_report_from_elsewhere_is_enough_where_models_share_a_protocol(published, tmp_path):
    raw = json.loads((published / "results.json").read_text())
    raw["config"]["protocols"]["karate_club"]["lr"] = 0.05
    (tmp_path / "report.json").write_text(without_digests(raw))
    found = reproduce(tmp_path / "report.json", sample=4, root=str(published.parent / "data"), workers=1)
    assert len(found) == 4
    assert {row.verdict for row in found} == {"exact"}
    assert found == reproduce(tmp_path / "report.json", sample=4, root=str(published.parent / "data"), workers=1)


def test_a_changed_number_an_unknown_task_and_an_unknown_model_are_named(published, tmp_path, capsys):
    raw = json.loads((published / "results.json").read_text())
    first = next(cell for cell in raw["cells"] if cell["model"] == "Majority" and cell["seed"] == 0)
    key = next(iter(raw["tasks"]))["metric"]
    first["metrics"][key] += 5e-7
    second = next(cell for cell in raw["cells"] if cell["model"] == "Majority" and cell["seed"] == 1)
    second["metrics"][key] -= 0.1
    raw["models"].append("Oracle")
    raw["cells"].append({**first, "model": "Oracle"})
    raw["cells"] = [cell for cell in raw["cells"] if cell["model"] != "GCN"]
    (tmp_path / "results.json").write_text(without_digests(raw))
    found = {(row.model, row.seed): row for row in reproduce(tmp_path, root=str(published.parent / "data"), workers=1)}
    assert found["Majority", 0].verdict == "close"
    assert found["Majority", 1].verdict == "differs"
    assert found["Majority", 1].difference == pytest.approx(0.1)
    assert found["Oracle", 0].verdict == "not run"
    assert "Oracle" in found["Oracle", 0].reason
    code = run_app(["reproduce", str(tmp_path), "--root", str(published.parent / "data"), "--workers", "1"])
    assert code == 1
    out = capsys.readouterr()
    assert "1 agree to the last bit, 1 within 1e-06, 1 differ, 1 could not be run" in out.out
    assert "differs: karate_club / Majority / seed 1" in out.err


def test_another_metric_than_the_headline_is_compared_too(published, tmp_path):
    raw = json.loads((published / "results.json").read_text())
    raw["cells"] = [cell for cell in raw["cells"] if (cell["model"], cell["seed"]) == ("Majority", 0)]
    raw["cells"][0]["metrics"]["val_macro_f1"] += 0.25
    (tmp_path / "results.json").write_text(without_digests(raw))
    (found,) = reproduce(tmp_path, root=str(published.parent / "data"), workers=1)
    assert (found.verdict, found.metric) == ("differs", "val_macro_f1")
    assert found.difference == pytest.approx(0.25)


def test_wrong_use(published, tmp_path, capsys):
    with pytest.raises(UsageError, match="sample=0"):
        reproduce(published, sample=0)
    assert run_app(["reproduce", str(tmp_path / "nowhere")]) == 2
    assert "There is no" in capsys.readouterr().err


def test_the_folder_alone_says_that_it_reproduces(published, capsys, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(published, copy)
    root = str(published.parent / "data")
    assert run_app(["reproduce", str(copy), "--sample", "2", "--root", root, "--workers", "1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["verdict"] for row in rows] == ["exact", "exact"]
