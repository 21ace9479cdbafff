"""Nothing edited and nothing damaged gets out: short forms of ``benchmarks/integrity.py``."""

import contextlib
import importlib.util
import json
import shutil
import sqlite3
import sys
import time
from pathlib import Path

import pytest

from graphnetz._core.errors import IntegrityError, NoDigestsWarning
from graphnetz.cli.app import run_app
from graphnetz.cli.load import load_report
from graphnetz.engine.outputs import write_toml
from graphnetz.engine.store import Store, seal
from graphnetz.records import RunConfig
from graphnetz.records.digests import cell_digest, root_digest
from graphnetz.report import BenchmarkReport, write
from graphnetz.report.integrity import read_digests

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("integrity_attempts", ROOT / "benchmarks" / "integrity.py")
attempts = importlib.util.module_from_spec(_spec)
sys.modules["integrity_attempts"] = attempts
_spec.loader.exec_module(attempts)


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    return attempts.make_run(tmp_path_factory.mktemp("clean") / "run")


@pytest.fixture(scope="module")
def before(clean):
    return attempts.exported(clean)


@pytest.fixture
def folder(clean, tmp_path):
    return Path(shutil.copytree(clean, tmp_path / "run"))


def registered(report):
    return next(section for section in report.sections if section.name == "preregistration")


@pytest.mark.parametrize("kind", attempts.TAMPERINGS)
def test_tampering_is_refused_in_one_sentence(kind, folder, before):
    attempts.TAMPERINGS[kind](folder)
    assert attempts.outcome(folder, before) == "refused"


def test_every_command_refuses_an_edited_score(folder, clean, tmp_path, capsys):
    attempts.TAMPERINGS["edited score, digests recomputed"](folder)
    out = str(tmp_path / "out")
    for command in (
        ["report", str(folder), "--out", out], ["compare", str(clean), str(folder)], ["plan", str(folder), "--effect", "1"],
        ["merge", str(clean), str(folder), "--out", out], ["leaderboard", str(folder), "--out", out],
        ["reproduce", str(folder)], ["submit", str(folder), "--out", out + ".zip"],
    ):  # fmt: skip
        assert run_app(command) == 2, command
        said = capsys.readouterr()
        assert "disagrees with the store beside it" in said.err, command
        assert said.err.count("\n") == 1, command
    assert not (tmp_path / "out").exists()


def test_every_command_refuses_an_edited_store(folder, tmp_path, capsys):
    attempts.TAMPERINGS["edited score in the store"](folder)
    settings = RunConfig.read({"task": ["karate_club"], "model": ["GCN"], "seeds": 1, "out": str(folder)})
    write_toml(folder / "config.toml", settings.model_dump())
    for command in (["status", str(folder)], ["resume", str(folder), "--quiet"], ["report", str(folder)],
                    ["serve", str(folder)], ["merge", str(folder), "--out", str(tmp_path / "out")]):  # fmt: skip
        assert run_app(command) == 2, command
        said = capsys.readouterr().err
        assert "task0 / model0 / seed 0 does not match its digest" in said, command
        assert said.count("\n") == 1, command


def test_a_bit_flip_is_refused_or_changes_nothing():
    for tally in attempts.flips(15):
        assert tally.tried == 15
        assert not tally.broken, tally


def test_honest_folders_raise_no_alarm():
    tally = attempts.honest(3)
    assert (tally.tried, tally.held) == (3, 3), tally


def test_the_root_is_the_same_in_store_report_and_digests(clean):
    raw, kept = (json.loads((clean / name).read_text()) for name in ("results.json", "digest.json"))
    with Store.open(clean, readonly=True) as store:
        assert store.roots() == [raw["digest"]["root"]] == [kept["root"]]
        results = list(store.results())
    assert root_digest((r.task, r.model, r.seed, cell_digest(r)) for r in results) == kept["root"]
    assert kept["cells"]["task0"]["model1"]["2"] == next(
        c["digest"] for c in raw["cells"] if (c["task"], c["model"], c["seed"]) == ("task0", "model1", 2)
    )
    assert {"results.json", "summary.csv", "examples/task1.bin", "plan.json"} <= set(kept["files"])
    assert {"store.sqlite", "provenance.json", "costs.csv", "report.html"} <= set(kept["without_digest"])


def test_digests_have_the_same_bytes_however_often_they_are_written(folder, clean, capsys):
    assert run_app(["report", str(folder), "--no-figures"]) == 1  # one cell failed
    assert (folder / "digest.json").read_bytes() == (clean / "digest.json").read_bytes()
    assert (folder / "results.json").read_bytes() == (clean / "results.json").read_bytes()


def test_a_report_alone_agrees_with_itself_and_says_what_it_misses(clean, tmp_path):
    copy = tmp_path / "results.json"
    raw = json.loads((clean / "results.json").read_text())
    copy.write_text(json.dumps(raw))  # other spaces, the same values
    assert registered(BenchmarkReport.from_json(copy)).extra["deviations"] == []
    attempts._drop_seed(raw)
    copy.write_text(json.dumps(attempts.redigested(raw)))  # nobody can tell, but the plan can
    found = BenchmarkReport.from_json(copy)
    assert registered(found).extra["deviations"] == [["seeds dropped", "1", ""]]
    assert "departs from its plan" in registered(found).verdict
    assert "18 cells shown" in registered(found).paragraphs[1]


def test_dropped_cells_are_listed_though_their_store_was_sealed_again(folder):
    with contextlib.closing(sqlite3.connect(folder / "store.sqlite", isolation_level=None)) as db:
        db.execute("DELETE FROM cells WHERE model = 'model1' AND seed IN (1, 2) AND task = 'task0'")
        seal.everything(db)
    with pytest.raises(IntegrityError, match="holds no cell task0 / model1 / seed 1"):
        load_report(folder)
    (folder / "results.json").unlink()
    (folder / "digest.json").unlink()
    rows = registered(load_report(folder)).extra["deviations"]
    assert rows == [["2 planned cells not there", "task0 / model1 / seed 1, task0 / model1 / seed 2", ""]]


def test_an_edited_plan_is_listed(folder):
    attempts._text("plan.json", '"Holm"', '"none"')(folder)
    assert registered(load_report(folder)).extra["deviations"][0][0] == "plan.json was changed"


def test_what_is_shown_is_counted(clean, tmp_path):
    raw = json.loads((clean / "results.json").read_text())
    raw["cells"] = [cell for cell in raw["cells"] if cell["seed"] != 1]  # the list of seeds still says four
    found = BenchmarkReport.from_json(json.dumps(attempts.redigested(raw)))
    page = write.build_page(found)
    assert dict(page.facts)["Seeds"] == "3"
    assert dict(page.facts)["Cells"] == "17 finished, 1 failed"


def test_folders_from_before_digests_are_read_and_one_sentence_says_so(tmp_path, capsys):
    old = Path(shutil.copytree(ROOT / "tests" / "fixtures" / "first_edition_run", tmp_path / "run"))
    assert run_app(["status", str(old)]) == 0
    assert "has no digests: nothing can be checked" in capsys.readouterr().err
    raw = json.loads((old / "results.json").read_text())
    raw["cells"][0]["metrics"]["test_auc"] = 0.99
    (old / "results.json").write_text(json.dumps(raw))
    assert run_app(["report", str(old)]) == 2
    assert "is another one. The store is what counts" in capsys.readouterr().err
    (old / "store.sqlite").unlink()
    with pytest.warns(NoDigestsWarning, match="nothing can be checked"):
        assert len(load_report(old).results) == 4


def test_an_older_store_is_sealed_when_it_is_written_to(tmp_path):
    old = Path(shutil.copytree(ROOT / "tests" / "fixtures" / "first_edition_run", tmp_path / "run"))
    with Store.open(old) as store:
        assert store.sealed
        assert store.unsealed() == 4
    with pytest.warns(NoDigestsWarning, match="cells from before there were digests"):
        Store.open(old, readonly=True).close()
    with contextlib.closing(sqlite3.connect(old / "store.sqlite", isolation_level=None)) as db:
        db.execute("UPDATE cells SET value = 0.5 WHERE position = 1")
    with pytest.raises(IntegrityError):
        Store.open(old, readonly=True)


def test_a_writer_that_was_killed_half_way_is_not_taken_for_a_forger(folder):
    """New cells were published, the new results.json is there, digest.json and the last note are not."""
    raw = json.loads((folder / "results.json").read_text())
    with Store.open(folder) as store:
        keys = [result.key for result in store.results() if result.seed != 3]
        store.publish(keys, done=False)
        assert store.roots()[0] == raw["digest"]["root"]
    (folder / "digest.json").unlink()
    assert len(load_report(folder).results) == 24


def test_checks_take_milliseconds(tmp_path):
    folder = attempts.make_run(tmp_path / "large", tasks=8, models=9, seeds=12, examples=50)
    with Store.open(folder, readonly=True) as store:
        begin = time.process_time()
        seal.verify(store.db, name="large")
        assert time.process_time() - begin < 0.25, "864 cells take about 16 ms"


def test_figures_have_digests_except_those_that_show_seconds(clean, tmp_path):
    folder = load_report(clean).write(tmp_path / "again")
    digests = read_digests(folder)
    drawn = {f"figures/{path.name}" for path in (folder / "figures").iterdir()}
    assert drawn - set(digests["files"]) == {"figures/pareto.png", "figures/pareto.pdf"}
    assert drawn - set(digests["files"]) <= set(digests["without_digest"])
