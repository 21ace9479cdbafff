"""A run folder of the first edition is read, shown and resumed as it is."""

import json
import shutil
from pathlib import Path

import pytest

from graphnetz.cli.app import run_app
from graphnetz.engine.config import load_config, resolve
from graphnetz.engine.store.schema import KEY_VERSION

KEPT = Path(__file__).parents[1] / "fixtures" / "first_edition_run"


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(KEPT, tmp_path / "run"))


def test_the_store_is_counted(folder, capsys):
    assert run_app(["status", str(folder)]) == 0
    assert "4 ok" in capsys.readouterr().out


def test_the_report_is_that_of_the_kept_scores(folder, capsys):
    assert run_app(["report", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert (folder / "report.html").is_file()
    values = {(c["model"], c["seed"]): c["metrics"]["test_auc"] for c in cells(folder)}
    assert values["GCN", 0] == 0.8992
    assert values["GCN", 1] == 0.904


def cells(folder):
    return json.loads((folder / "results.json").read_text())["cells"]


def test_its_settings_mean_what_they_meant(folder):
    found = resolve(load_config(folder / "config.toml", {"out": str(folder)}))
    assert (found.seeds, [task.name for task in found.tasks]) == ((0, 1), ["les_miserables"])
    assert (list(found.specs), found.protocol["epochs"]) == (["GCN", "DegreeProduct"], 2)


def test_it_is_read_and_not_resumed(folder, capsys):
    before = cells(folder)
    assert run_app(["resume", str(folder), "--quiet"]) == 2
    assert f"cells of edition 1, and this is edition {KEY_VERSION}" in capsys.readouterr().err
    assert cells(folder) == before
