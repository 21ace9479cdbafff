"""A folder or file of a stranger decides nothing, leads nowhere, fills nothing and writes nothing on the terminal."""

from __future__ import annotations

import ast
import gzip
import json
import os
import shutil
import socket
import sqlite3
import sys
import threading
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # helper modules beside the tests

from attempts import make_run, outcome

from graphnetz._core.download import fetch
from graphnetz._core.errors import DataError, DownloadError, StoreError
from graphnetz._core.paths import refuse_links
from graphnetz._core.text import masked, printable
from graphnetz._core.unpickle import read_torch
from graphnetz.cli.load import load_report
from graphnetz.engine.store import seal
from graphnetz.graphs import read_graph
from graphnetz.records.config import TO_REPEAT, RunConfig
from graphnetz.records.config_files import resumed_config

CLI = Path(__file__).resolve().parents[2] / "src" / "graphnetz" / "cli"
EVIL = "\x1b]0;owned\x07\x1b[31mevil\r\x9b2J\u202e"


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A small finished run; tests change copies of it."""
    return make_run(tmp_path_factory.mktemp("finished"))


@pytest.fixture
def run(finished, tmp_path):
    """A copy of the finished run, called ``run``."""
    return shutil.copytree(finished, tmp_path / "run")


# what a folder may decide


@pytest.fixture
def server():
    """An address that counts who knocks."""
    knocks = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer():
            while True:
                try:
                    knocks.append(listening.accept()[1])
                except OSError:
                    return

        threading.Thread(target=answer, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", knocks
        listening.close()


def add_settings(run, **values):
    path = run / "config.toml"
    kept = [line for line in path.read_text(encoding="utf-8").splitlines() if line.split(" =")[0] not in values]
    path.write_text("\n".join([*kept, *(f"{key} = {json.dumps(value)}" for key, value in values.items())]), "utf-8")


def test_resume_obeys_no_place_of_the_folder(run, tmp_path, server):
    address, knocks = server
    elsewhere = tmp_path / "elsewhere"
    add_settings(run, mirror=address, root=str(elsewhere), backend="ray", address="ray://127.0.0.1:1", gpus=1,
                 log=[f"mlflow:{address}"])  # fmt: skip
    found = outcome(["resume", "run", "--quiet"], tmp_path)
    assert found.code == 0, found.said
    assert not knocks
    assert not elsewhere.exists()
    said = found.said.splitlines()[0]
    assert said.startswith("Not taken from the folder's config.toml:")
    for key in TO_REPEAT:
        assert f"--{key} " in said


def test_what_is_repeated_counts(run, tmp_path):
    add_settings(run, root="elsewhere", backend="ray", log=["mlflow:x"])
    config, left = resumed_config(run, {"root": "here", "backend": "serial"})
    assert (config.root, config.backend, config.log) == ("here", "serial", [])
    assert left == ["--log", "mlflow:x"]
    found = outcome(["resume", "run", "--quiet", "--backend", "bogus"], tmp_path)
    assert found.code == 2
    assert "Unknown executor 'bogus'" in found.said


def test_every_setting_that_names_a_place_must_be_repeated():
    groups = {key: item.json_schema_extra["group"] for key, item in RunConfig.model_fields.items()}
    places = {key for key, group in groups.items() if group == "Places"} - {"out"}
    assert places | {"backend", "address", "gpus", "log"} == set(TO_REPEAT)


# links


def secret(tmp_path):
    path = tmp_path / "secret.toml"
    path.write_text('out = "x"\npassword = "hunter2"\n', encoding="utf-8")
    return path


def replaced(path, target):
    path.unlink(missing_ok=True) if not path.is_dir() else shutil.rmtree(path)
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(target)


COMMANDS = {
    "report": ["report", "run", "--no-figures"],
    "status": ["status", "run"],
    "resume": ["resume", "run", "--quiet"],
    "compare": ["compare", "run", "run"],
    "merge": ["merge", "run", "--out", "merged"],
    "leaderboard": ["leaderboard", "run", "--out", "site"],
    "reproduce": ["reproduce", "run"],
    "plan": ["plan", "--effect", "0.1", "run"],
    "published": ["published", "run"],
    "serve": ["serve", "run", "--port", "0"],
    "run": ["run", "--task", "sbm_communities", "--model", "MLP", "--seeds", "1", "--quiet", "--out", "run"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "name", ["config.toml", "store.sqlite", "results.json", "sections/a.json", "figures", "plan.json"]
)
def test_a_link_in_a_run_folder_is_refused(name, command, run, tmp_path):
    target = secret(tmp_path) if name != "figures" else tmp_path / "precious"
    if name == "figures":
        target.mkdir()
    replaced(run / name, target)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    found = outcome(COMMANDS[command], tmp_path)
    assert found.code == 2
    assert f"has the link {name!r}" in found.said
    assert len(found.said.splitlines()) == 1
    assert not found.written
    assert {path: path.read_bytes() for path in before} == before


# code


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - {"serve", "run"}))
@pytest.mark.parametrize(
    "reference", ["run/evil.py:Evil", "MLP=run/evil.py:Evil", "run.evil:Evil", "MLP=run.evil:Evil"]
)
def test_no_file_of_a_stranger_is_imported_as_a_model(reference, command, run, tmp_path):
    ran = tmp_path / "ran"
    (run / "evil.py").write_text(f"open({str(ran)!r}, 'w').close()\nimport torch\nclass Evil(torch.nn.Linear): pass\n")
    add_settings(run, model=[reference, "Majority"])
    provenance = json.loads((run / "provenance.json").read_text(encoding="utf-8"))
    provenance["config"]["model"] = [reference, "Majority"]
    (run / "provenance.json").write_text(json.dumps(provenance), encoding="utf-8")
    found = outcome(COMMANDS[command], tmp_path)
    assert not ran.exists()
    assert "Traceback" not in found.said
    if command == "resume":
        assert found.code == 2
        assert f"--model {reference}" in found.said, "what to type if it is one's own"
        assert len(found.said.splitlines()) == 1


def test_python_refuses_links_too(run, tmp_path):
    (run / "figures").rename(tmp_path / "precious") if (run / "figures").exists() else (tmp_path / "precious").mkdir()
    report = load_report(run)
    replaced(run / "figures", tmp_path / "precious")
    with pytest.raises(StoreError, match="has the link 'figures'"):
        report.write(run)
    with pytest.raises(StoreError, match="has the link 'figures'"):
        load_report(run)


def test_a_folder_may_itself_be_reached_by_a_link(run, tmp_path):
    (tmp_path / "latest").symlink_to(run)
    refuse_links(tmp_path / "latest")
    assert outcome(["status", "latest"], tmp_path).code == 0


# the terminal


def rename_everything(run):
    """Give the task, a model and an error of a run names that would take over a terminal; digests are made anew."""
    path = run / "results.json"
    raw = json.loads(path.read_text(encoding="utf-8"))
    task, model = raw["tasks"][0]["name"], raw["models"][0]
    for item in raw["cells"]:
        item["task"] = f"{EVIL}{task}"
        item["model"] = f"{EVIL}{model}" if item["model"] == model else item["model"]
    raw["cells"][0] |= {"status": "failed", "error": EVIL, "metrics": {}}
    raw["tasks"][0] |= {"name": f"{EVIL}{task}", "label": EVIL}
    raw["models"][0] = f"{EVIL}{model}"
    raw["config"] |= {"title": EVIL, "budgets": {f"{EVIL}{task}": {f"{EVIL}{model}": 100}}, "protocols": {}}
    raw["absent"] = [{"task": f"{EVIL}{task}", "model": EVIL, "reason": EVIL}]
    for cell in raw["cells"]:
        del cell["digest"]
    del raw["digest"]
    path.write_text(json.dumps(raw | {"schema_version": 1}), encoding="utf-8")
    (run / "digest.json").unlink()
    with closing(sqlite3.connect(run / "store.sqlite")) as db, db:
        db.execute("UPDATE cells SET task = ?, model = ?", (EVIL, EVIL))
        db.execute("UPDATE cells SET status = 'running', owner = ?, lease = 0 WHERE seed = 0", (EVIL,))
        db.execute("UPDATE cells SET error = ?, status = 'failed' WHERE seed = 1", (EVIL,))
        seal.everything(db)


def harmless(text):
    return not any(mark in text for mark in ("\x1b", "\x07", "\x9b", "\u202e", "\r"))


@pytest.mark.parametrize(
    "command", ["report", "status", "compare", "merge", "leaderboard", "reproduce", "plan", "published"]
)
@pytest.mark.parametrize("as_json", [False, True])
def test_no_escape_sequence_of_a_file_reaches_the_terminal(command, as_json, run, tmp_path):
    rename_everything(run)
    if command != "status":
        refused = outcome([*COMMANDS[command], *["--json"][:as_json]], tmp_path)
        assert refused.code == 2, "store and report disagree"
        assert harmless(refused.said + refused.printed)
        (run / "store.sqlite").unlink()
    found = outcome([*COMMANDS[command], *["--json"][:as_json]], tmp_path)
    assert found.code in (0, 1), found.said
    assert harmless(found.said)
    assert harmless(found.printed)


def test_no_escape_sequence_of_a_table_reaches_the_terminal(tmp_path):
    rows = [
        f"{EVIL}t,{EVIL}{model},{seed},0.{seed}{len(model)},{EVIL}m,true".replace("\r", "")
        for model in ("A", "BB")
        for seed in (1, 2, 3)
    ]
    (tmp_path / "s.csv").write_text(
        "\n".join(["task,model,seed,score,metric,greater_is_better", *rows]), encoding="utf-8"
    )
    for arguments in (
        ["report", "s.csv", "--no-figures"],
        ["plan", "--effect", "0.1", "s.csv"],
        ["compare", "s.csv", "s.csv"],
    ):
        found = outcome(arguments, tmp_path)
        assert found.code in (0, 1), found.said
        assert harmless(found.said + found.printed)


def test_no_escape_sequence_of_an_argument_reaches_the_terminal(tmp_path):
    for arguments in (["report", EVIL], ["run", "--task", EVIL], ["run", "--suite", EVIL], ["list", EVIL], [EVIL]):
        found = outcome(arguments, tmp_path)
        assert found.code == 2
        assert harmless(found.said)


def test_no_escape_sequence_reaches_the_page_of_a_server(run):
    from graphnetz.cli.live import Live

    rename_everything(run)
    live = Live(run)
    assert harmless(live.report().decode())
    assert harmless(json.dumps(live.status()))


def test_commands_print_through_the_one_function_that_cleans():
    for path in CLI.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                assert path.name in ("app.py", "__init__.py"), f"{path.name}, line {node.lineno}: use put or say"


def test_what_may_be_shown_stays():
    text = "naïve ± 0.5\n  größer\t→ 漢字"
    assert printable(text) == text


# size


def test_a_packed_list_of_edges_is_read_and_a_bomb_is_not(tmp_path):
    good, bomb = tmp_path / "good.csv.gz", tmp_path / "bomb.csv.gz"
    with gzip.open(good, "wt") as stream:
        stream.write("source,target,weight\n" + "".join(f"{i},{i + 1},0.5\n" for i in range(5000)))
    graph = read_graph(good)
    assert len(graph.edges) == 5000
    assert graph.edge_columns["weight"].sum() == 2500
    with gzip.open(bomb, "wb") as stream:
        for _ in range(100):
            stream.write(b"1,2\n" * 250_000)
    with pytest.raises(DataError, match="decompression bomb"):
        read_graph(bomb)
    (tmp_path / "g.csv").write_text("1,2\n")
    with pytest.raises(DataError, match="decompression bomb"):
        read_graph(tmp_path / "g.csv", labels=bomb)


def test_an_npz_that_is_a_bomb_is_not_read(tmp_path):
    path = tmp_path / "g.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("edge_index.npy", "w") as member:
        np.lib.format.write_array_header_1_0(member, {"descr": "<i8", "fortran_order": False, "shape": (2, 10_000_000)})
        for _ in range(160):
            member.write(bytes(1_000_000))
    with pytest.raises(DataError, match="decompression bomb"):
        read_graph(path)


def test_a_download_that_is_a_bomb_is_not_kept(tmp_path):
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    with gzip.open(mirror / "x.gz", "wb") as stream:
        for _ in range(100):
            stream.write(bytes(1_000_000))
    with pytest.raises(DownloadError, match="looks like a bomb"):
        fetch((), tmp_path / "root" / "x.gz", mirror=mirror, names=("x.gz",))
    assert not (tmp_path / "root" / "x.gz").exists()


# secrets


SECRET = "https://me:hunter2@127.0.0.1:1/data"


@pytest.mark.parametrize(
    "text",
    [SECRET, "http://hunter2@host", "ray://a:hunter2@h:1", "https://h/x?token=hunter2", "https://h/?a=1&api_key=hunter2",
     "mlflow:https://me:hunter2@h/", "https://me:hunt@er2hunter2@h/"],
)  # fmt: skip
def test_a_password_is_masked(text):
    assert "hunter2" not in masked(text)
    assert "hunter2" not in printable(f"Cannot fetch '{text}' (no).")


def test_an_address_without_a_password_stays():
    for text in ("https://host/a@b", "mail me@host", "https://h/?page=2", "C:\\x", "a/b://c"):
        assert masked(text) == text


def test_the_password_of_a_mirror_is_neither_shown_nor_kept(tmp_path, monkeypatch):
    monkeypatch.delenv("GRAPHNETZ_MIRROR", raising=False)
    common = [
        "--model",
        "MLP",
        "--model",
        "Majority",
        "--seeds",
        "2",
        "--epochs",
        "1",
        "--backend",
        "serial",
        "--out",
        "run",
    ]
    found = outcome(["run", "--task", "sbm_communities", *common, "--mirror", SECRET], tmp_path)
    assert found.code == 0, found.said
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]
    assert not kept
    assert 'mirror = "https://***@127.0.0.1:1/data"' in (tmp_path / "run" / "config.toml").read_text(encoding="utf-8")
    assert "hunter2" not in found.said + found.printed
    monkeypatch.setenv("GRAPHNETZ_OFFLINE", "1")
    found = outcome(["doctor", "--datasets", "karate", "--mirror", SECRET, "--root", "r"], tmp_path)
    assert found.code == 1
    assert "***@127.0.0.1" in found.printed
    assert "hunter2" not in found.said + found.printed
    monkeypatch.setenv("GRAPHNETZ_MIRROR", SECRET)
    assert "hunter2" not in outcome(["doctor"], tmp_path).printed


def test_what_is_told_after_an_interruption_has_the_options_and_no_password():
    options = RunConfig.read({"task": ["cora"], "mirror": SECRET, "root": "my data"}).to_repeat()
    assert options == ["--mirror", "https://***@127.0.0.1:1/data", "--root", "my data"]


# pickles


class Run:
    def __reduce__(self):
        return os.system, ("true",)


def test_a_refused_file_of_tensors_does_not_advise_to_read_it_without_limits(tmp_path):
    import torch

    torch.save({"x": Run()}, tmp_path / "train.pt")
    with pytest.raises(DataError) as caught:
        read_torch(tmp_path / "train.pt")
    text = str(caught.value)
    assert "weights_only" not in text
    assert "posix.system" in text or "nt.system" in text
    assert len(text.splitlines()) == 1
    (tmp_path / "broken.pt").write_bytes(b"\x80\x02garbage")
    with pytest.raises(DataError, match="it is broken, or holds other objects"):
        read_torch(tmp_path / "broken.pt")
