"""Bundles, and what a verification says of them."""

import importlib.util
import json
import math
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import hypergeom

from graphnetz._core.errors import DataError, UsageError
from graphnetz.analysis.acceptance import retrained_sentence
from graphnetz.cli.app import run_app
from graphnetz.engine.bundle import opened, submit
from graphnetz.engine.rescore import rescore
from graphnetz.engine.run import run_benchmark
from graphnetz.engine.verify import verify
from graphnetz.metrics import METRICS
from graphnetz.records import CellResult, Predictions
from graphnetz.report import write
from graphnetz.stats.acceptance import most_differing

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("integrity_attempts", ROOT / "benchmarks" / "integrity.py")
attempts = importlib.util.module_from_spec(_spec)
sys.modules["integrity_attempts"] = attempts
_spec.loader.exec_module(attempts)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A real run: two tasks, three models, of which one cannot choose between tied classes."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "write_figures", lambda *_: None)
        run_benchmark(
            tasks=["karate_club", "les_miserables"], models=["GCN", "Majority", "DegreeProduct"], seeds=range(2), epochs=2,
            out=folder, backend="serial", verbose=False, root=str(folder.parent / "data"),
        )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    return attempts.make_run(tmp_path_factory.mktemp("clean") / "run")


def repacked(bundle, target, change):
    """Write a bundle with other contents, whose own digests are computed again."""
    with zipfile.ZipFile(bundle) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target


def test_an_honest_run_is_verified_and_retrained_to_the_last_bit(trained, tmp_path, capsys):
    bundle = submit(trained, out=tmp_path / "run.zip")
    assert bundle.read_bytes() == submit(trained, out=tmp_path / "again.zip").read_bytes()
    root = str(trained.parent / "data")
    assert run_app(["verify", str(bundle), "--retrain", "4", "--root", root, "--workers", "1"]) == 0
    said = capsys.readouterr().out
    assert "Digests of 8 cells and 4 files hold." in said
    assert "the one that was planned" in said
    assert retrained_sentence(8, 4) in said
    assert "only predictions for test examples are kept" in said
    assert said.endswith("Nothing differs.\n")
    assert run_app(["leaderboard", str(bundle), str(trained), "--out", str(tmp_path / "site")]) == 0
    page = (tmp_path / "site" / "index.html").read_text()
    assert "verified (4 of 8 cells retrained)" in page
    assert "1 of 2 runs were verified" in page
    rows = (tmp_path / "site" / "leaderboard.csv").read_text().splitlines()
    assert {row.rsplit(",", 1)[1] for row in rows} == {"verified", "not verified"}  # the heading, and every pair
    assert not any(row.endswith(",verified") for row in rows[1:]), "each came from a run that nobody verified, too"
    capsys.readouterr()
    assert run_app(["leaderboard", str(bundle), "--out", str(tmp_path / "own"), "--json"]) == 0
    assert {row["verified"] for row in json.loads(capsys.readouterr().out)} == {"verified"}


def test_a_forged_score_does_not_follow_from_the_predictions(trained, tmp_path, capsys):
    def forge(files):
        raw = json.loads(files["results.json"])
        cell = next(c for c in raw["cells"] if (c["task"], c["model"]) == ("karate_club", "GCN"))
        cell["metrics"]["test_acc"] = 1.0
        store_in(files, attempts.redigested(raw))

    bundle = repacked(submit(trained, out=tmp_path / "run.zip"), tmp_path / "forged.zip", forge)
    assert run_app(["verify", str(bundle), "--retrain", "0"]) == 1
    said = capsys.readouterr()
    assert "differs: karate_club / GCN / seed 0: test_acc is 1, its predictions give" in said.err
    points = said.err.count("differs: ")
    assert said.out.endswith("\n1 point differs.\n" if points == 1 else f"\n{points} points differ.\n")
    assert not bundle.with_name("forged.zip.verified.json").exists()


def test_forged_predictions_are_found_by_training_again(trained, tmp_path):
    """Score, predictions and every digest were changed to agree; the model itself does not."""
    from graphnetz.records.digests import predictions_digest
    from graphnetz.records.kept import pack_examples, unpack_examples

    def forge(files):
        raw = json.loads(files["results.json"])
        kept = list(unpack_examples(files["examples/karate_club.bin"]))
        for i, cell in enumerate(kept):
            if (cell.model, cell.seed) == ("GCN", 1):
                score = cell.predictions.target.astype(np.uint8)
                kept[i] = cell._replace(predictions=Predictions(**(vars(cell.predictions) | {"score": score})))
        files["examples/karate_club.bin"] = pack_examples("karate_club", kept)
        changed = next(cell for cell in kept if (cell.model, cell.seed) == ("GCN", 1)).predictions
        listed = next(c for c in raw["cells"] if (c["task"], c["model"], c["seed"]) == ("karate_club", "GCN", 1))
        listed["predictions"] = predictions_digest(changed)
        for row in rescore(CellResult("", "", "", 0, metrics=listed["metrics"]), changed):
            if row.verdict == "differs":
                listed["metrics"][row.metric] = row.now
        store_in(files, attempts.redigested(raw))

    bundle = repacked(submit(trained, out=tmp_path / "run.zip"), tmp_path / "forged.zip", forge)
    assert verify(bundle, retrain=0).ok
    found = verify(bundle, retrain=60, models=["GCN"], root=str(trained.parent / "data"), workers=1)
    assert [line.partition(":")[0] for line in found.wrong] == ["karate_club / GCN / seed 1"]
    assert len(found.retrained) == 4
    assert "1 of 4 cells retrained differs." in found.notes


def store_in(files, raw):
    """Put a results.json into the files of a bundle, and make digest.json and bundle.json agree with all of them."""
    from hashlib import sha256

    from graphnetz.report.integrity import FILE_NAME

    files["results.json"] = (json.dumps(raw) + "\n").encode()
    kept = json.loads(files[FILE_NAME])
    tree = {}
    for cell in raw["cells"]:
        tree.setdefault(cell["task"], {}).setdefault(cell["model"], {})[str(cell["seed"])] = cell["digest"]
    sums = {name: sha256(files[name]).hexdigest() for name in kept["files"] if name in files}
    kept |= {"root": raw["digest"]["root"], "cells": tree, "files": kept["files"] | sums}
    files[FILE_NAME] = json.dumps(kept).encode()
    body = json.loads(files["bundle.json"])
    body |= {"root": kept["root"], "files": {name: sha256(files[name]).hexdigest() for name in body["files"]}}
    files["bundle.json"] = json.dumps(body).encode()


def test_a_changed_member_a_stray_member_and_a_path_outside_are_refused(clean, tmp_path, capsys):
    bundle = submit(clean, out=tmp_path / "run.zip")
    edited = repacked(bundle, tmp_path / "a.zip", lambda f: f.update({"plan.json": f["plan.json"] + b" "}))
    assert run_app(["verify", str(edited), "--retrain", "0"]) == 1
    assert "'plan.json' in 'a.zip' is not the file that was put there" in capsys.readouterr().err
    for name, words in (("model.pkl", "does not list"), ("../evil", "outside its folder"), ("/etc/x", "outside")):
        stray = repacked(bundle, tmp_path / "b.zip", lambda f, name=name: f.update({name: b"x"}))
        with pytest.raises(DataError, match=words), opened(stray):
            pass
        assert run_app(["verify", str(stray)]) == 2
    (tmp_path / "c.zip").write_bytes(b"PK not a zip")
    assert run_app(["verify", str(tmp_path / "c.zip")]) == 2
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("results.json", b"0" * (80 << 20))
    assert run_app(["verify", str(bomb)]) == 2
    assert "bomb" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="signatures need ssh-keygen")
def test_signatures(clean, tmp_path, capsys):
    for name in ("mine", "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)], check=True)
    bundle = submit(clean, out=tmp_path / "run.zip", sign=tmp_path / "mine")
    assert run_app(["verify", str(bundle), "--retrain", "0", "--signer", str(tmp_path / "mine.pub")]) == 0
    assert "Signed by the owner of mine.pub." in capsys.readouterr().out
    assert run_app(["verify", str(bundle), "--retrain", "0", "--signer", str(tmp_path / "other.pub")]) == 1
    assert "Not signed by the owner of other.pub." in capsys.readouterr().err
    plain = submit(clean, out=tmp_path / "plain.zip")
    assert verify(plain, retrain=0, signer=tmp_path / "mine.pub").signed is False
    with pytest.raises(UsageError, match="There is no key"):
        submit(clean, sign=tmp_path / "nowhere")


def test_what_is_not_known_here_is_said_and_an_unknown_filter_is_wrong_use(clean, capsys):
    found = verify(clean, retrain=5)
    assert found.ok
    assert not found.retrained
    assert any("cannot be retrained here: Unknown" in note for note in found.notes)
    assert run_app(["verify", str(clean), "--task", "nothing"]) == 2
    assert run_app(["verify", str(clean / "nowhere")]) == 2
    assert run_app(["verify", str(clean), "--retrain", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cells"] == 24


@pytest.mark.parametrize("kind", ["edited summary.csv", "edited score in results.json", "edited score in the store",
                                  "edited labels without digest.json", "edited digest.json"])  # fmt: skip
def test_verify_names_what_was_changed(kind, clean, tmp_path, capsys):
    folder = Path(shutil.copytree(clean, tmp_path / "run"))
    attempts.TAMPERINGS[kind](folder)
    assert run_app(["verify", str(folder), "--retrain", "0"]) == 1
    assert "differs: " in capsys.readouterr().err


def test_forgeries_are_found_as_often_as_stated():
    tally, chance = attempts.forgeries(400)
    spread = math.sqrt(chance * (1 - chance) / tally.tried)
    assert abs(tally.held / tally.tried - chance) < 4 * spread


@pytest.mark.parametrize(
    ("population", "sampled", "found"), [(860, 60, 0), (860, 60, 2), (15, 5, 0), (15, 15, 0), (40, 1, 0)]
)
def test_the_bound_is_that_of_the_hypergeometric_distribution(population, sampled, found):
    most = most_differing(population, sampled, found)
    assert most == population - (sampled - found) or hypergeom.cdf(found, population, most + 1, sampled) <= 0.05 + 1e-12
    assert most == found or hypergeom.cdf(found, population, most, sampled) > 0.05


def test_the_sentence():
    assert retrained_sentence(860, 60) == (
        "60 of 860 cells retrained agree, so at most 40 (4.7 %) can differ with 95 % confidence."
    )
    with pytest.raises(UsageError):
        most_differing(5, 6)


@pytest.mark.parametrize("key", ["acc", "balanced_acc", "macro_f1", "micro_f1", "auc", "ap", "mae", "rmse", "r2"])
def test_metrics_follow_from_kept_predictions(key):
    rng = np.random.default_rng(3)
    target = rng.integers(0, 2, 60) if key not in ("mae", "rmse", "r2") else rng.normal(size=60)
    full = rng.normal(size=(60, 2)) if key not in ("mae", "rmse", "r2") else rng.normal(size=60).astype(np.float32)
    value = METRICS[key].compute(target, full)
    kept = full
    if key in ("acc", "balanced_acc", "macro_f1", "micro_f1"):
        kept = full.argmax(axis=1).astype(np.uint8)
    elif key in ("auc", "ap"):
        kept = (full[:, 1] - full[:, 0]).astype(np.float32)
    predictions = Predictions(np.arange(60), target, kept)
    for shift, verdict in ((0.0, "agrees"), (0.01, "differs")):
        cell = CellResult("", "t", "m", 0, metrics={f"test_{key}": value + shift})
        assert [row.verdict for row in rescore(cell, predictions)] == [verdict]


def test_what_cannot_be_rescored_has_a_reason():
    kept = Predictions(np.arange(3), np.array([0, 1, 1]), np.array([0, 1, 0], dtype=np.uint8), total=9)
    cell = CellResult("", "t", "m", 0, metrics={"test_acc": 0.5})
    assert "sample of 3 of 9" in rescore(cell, kept)[0].reason
    assert "no predictions" in rescore(cell, None)[0].reason
    whole = Predictions(kept.example, kept.target, kept.score)
    assert "needs scores" in rescore(CellResult("", "t", "m", 0, metrics={"test_auc": 0.5}), whole)[0].reason
    assert "training loop" in rescore(CellResult("", "t", "m", 0, metrics={"test_loss": 0.5}), whole)[0].reason
