"""ZINC from one command: files of the published layout on a local server, trusted at first use and checked ever after."""

import json
import shutil
from urllib.parse import urlsplit

import pytest
from published_files import CASES

from graphnetz._core.download import file_sha256
from graphnetz.cli.app import run_app
from graphnetz.datasets.sources.base import FIRST_USE


@pytest.fixture
def mirror(site, monkeypatch):
    """The published files of ZINC under the names that a mirror has; nothing else is asked."""
    monkeypatch.setenv("GRAPHNETZ_OFFLINE", "1")
    for url, body in CASES["zinc"]()[0].items():
        site.add(f"ZINC/{urlsplit(url).path.rpartition('/')[2]}", body)
    return site


def train(site, tmp_path, out, *more):
    return run_app([
        "run", "--task", "zinc", "--model", "GCN", "--model", "GIN", "--seeds", "2", "--epochs", "1",
        "--hidden-channels", "4", "--backend", "serial", "--quiet", "--mirror", site.url,
        "--root", str(tmp_path / "data"), "--out", str(tmp_path / out), *more,
    ])  # fmt: skip


def notes(folder):
    return json.loads((folder / "provenance.json").read_text())["notes"]


def test_zinc_trains_from_one_command_and_says_what_was_trusted(mirror, tmp_path, capsys):
    assert train(mirror, tmp_path, "first") == 0
    found = json.loads((tmp_path / "first" / "results.json").read_text())
    assert [task["name"] for task in found["tasks"]] == ["zinc"]
    assert found["tasks"][0]["metric"] == "test_mae"
    assert {cell["n_train"] for cell in found["cells"]} == {6}  # the published split, not one of ours
    assert all(FIRST_USE in " ".join(cell["notes"]) for cell in found["cells"])
    assert any(FIRST_USE in note for note in notes(tmp_path / "first"))
    assert FIRST_USE in (tmp_path / "first" / "report.html").read_text(encoding="utf-8")

    (record,) = (tmp_path / "data").rglob("checksums.json")
    kept = record.parent / "molecules.zip"
    assert json.loads(record.read_text())["molecules.zip"] == file_sha256(kept)

    # Another archive under the same name, though it is a whole one: refused, because the first was recorded.
    kept.unlink()
    shutil.rmtree(record.parent.parent / "processed")
    other = mirror.files["ZINC/molecules.zip"] + b"\0"
    mirror.add("ZINC/molecules.zip", other)
    capsys.readouterr()
    assert train(mirror, tmp_path, "second") != 0
    said = capsys.readouterr().err
    assert "the sha256 is" in said
    assert "expected" in said
    assert not (tmp_path / "second" / "results.json").exists()


def test_a_pin_of_the_users_is_no_trust_at_first_use(mirror, tmp_path, monkeypatch):
    import hashlib

    body = mirror.files["ZINC/molecules.zip"]
    (tmp_path / "pins.json").write_text(json.dumps({"molecules.zip": hashlib.sha256(body).hexdigest()}))
    monkeypatch.setenv("GRAPHNETZ_PINS", str(tmp_path / "pins.json"))
    assert train(mirror, tmp_path, "run") == 0
    assert not any(FIRST_USE in note for note in notes(tmp_path / "run"))
