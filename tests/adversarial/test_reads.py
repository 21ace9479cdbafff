"""What a model looks up while it runs is noted, in whatever way it asks and wherever it runs."""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from test_keys_follow_code import EDITS, model, project  # noqa: F401 - a fixture

from graphnetz.engine.identity.reads import _WATCH, _WHOLE_ENVIRONMENT, UNSEEN

FILE = "file read in forward"


def write(name, text):
    return lambda folder: (folder / name).write_text(text)


def saved(value):
    """Keep a number in three formats."""

    def write(folder):
        save_file({"k": torch.tensor(value)}, folder / "k.safetensors")
        torch.save({"k": torch.tensor(value)}, folder / "k.pt")
        np.save(folder / "k.npy", np.full(4, value))

    return write


def new_file(folder):
    (folder / "lib" / "new.txt").write_text("x")


def variable(name, value):
    return lambda folder: os.environ.update({name: value})


def edit(name, old="2.0", new="5.0"):
    return lambda folder: (folder / name).write_text((folder / name).read_text().replace(old, new))


VARIANTS = {
    "os.path.exists": (model("import os\nk = 3.0 if os.path.exists('flag.txt') else 1.0"), write("flag.txt", "x")),
    "Path.is_file": (model("from pathlib import Path\nk = 3.0 if Path('flag.txt').is_file() else 1.0"),
                     write("flag.txt", "x")),
    "os.path.getsize": (model("import os\nk = float(os.path.getsize('k.txt'))"), write("k.txt", "2.0000")),
    "os.listdir": (model("import os\nk = float(len(os.listdir('lib')))"), new_file),
    "glob": (model("import glob\nk = float(len(glob.glob('lib/*')))"), new_file),
    "Path.iterdir": (model("from pathlib import Path\nk = float(len(list(Path('lib').iterdir())))"), new_file),
    "safetensors": (model("from safetensors.torch import load_file\nk = load_file('k.safetensors')['k']"), saved(5.0)),
    "torch.load": (model("k = torch.load('k.pt')['k']"), saved(5.0)),
    "torch.load, mapped": (model("k = torch.load('k.pt', mmap=True)['k']"), saved(5.0)),
    "numpy.load": (model("import numpy\nk = float(numpy.load('k.npy')[0])"), saved(5.0)),
    "numpy.memmap": (model("import numpy\nk = float(numpy.memmap('k.npy', 'f8', 'r', 128)[0])"), saved(5.0)),
    "os.open": (model("import os\nf = os.open('k.txt', os.O_RDONLY)\nk = float(os.read(f, 9))\nos.close(f)"),
                write("k.txt", "5.0")),
    "in os.environ": (model("import os\nk = 2.0 if 'LATER' in os.environ else 1.0"), variable("LATER", "1")),
    "os.environb": (model("import os\nk = float(os.environb[b'FACTOR'])"), variable("FACTOR", "5.0")),
    "os.path.expandvars": (model("import os\nk = float(os.path.expandvars('$FACTOR'))"), variable("FACTOR", "5.0")),
    "os.environ.copy": (model("import os\nk = float(os.environ.copy()['FACTOR'])"), variable("FACTOR", "5.0")),
    "file read at import": (model("k = K", head="K = float(open('k.txt').read())"), write("k.txt", "5.0")),
    "metaclass": (model("k = type(self).K", head="class M(type):\n    K = 2.0\n", base=", metaclass=M"), edit("net.py")),
    "class made by type()": (model("k = K().v", head="K = type('K', (), {'v': 2.0})"), edit("net.py")),
    "from helper import *": (model("k = scale()", head="from helper import *"), edit("helper.py")),
}  # fmt: skip


@pytest.mark.parametrize("kind", VARIANTS)
def test_a_variant_of_the_seventeen_edits_is_never_answered_from_the_store(project, kind, monkeypatch):  # noqa: F811
    monkeypatch.delenv("LATER", raising=False)
    text, change = VARIANTS[kind]
    work = project(text)
    saved(2.0)(work.folder)
    first = work.run()
    if kind != "os.environ.copy":  # the whole environment cannot be compared
        assert seconds(work.run()) == seconds(first), "nothing has changed"
    change(work.folder)
    edited = work.run()
    assert edited["Net", 0].seconds != first["Net", 0].seconds
    assert edited["Majority", 0].seconds == first["Majority", 0].seconds


def test_a_variable_counts_where_another_model_has_read_the_whole_environment(project, monkeypatch):  # noqa: F811
    monkeypatch.setitem(_WATCH.found, _WHOLE_ENVIRONMENT, (UNSEEN, frozenset({"another.py"})))
    text, change = VARIANTS["os.path.expandvars"]
    work = project(text)
    first = work.run()
    change(work.folder)
    assert work.run()["Net", 0].seconds != first["Net", 0].seconds


def test_what_a_cell_makes_itself_is_no_reason_to_train_it_again(project):  # noqa: F811
    body = """
        import os, shutil, tempfile
        place = tempfile.mkdtemp()
        torch.save(self.state_dict(), os.path.join(place, "best.pt"))
        k = float(len(os.listdir(place)) + os.path.exists(os.path.join(place, "best.pt")))
        shutil.rmtree(place)
        os.makedirs("checkpoints/deep", exist_ok=True)
    """
    work = project(model(body))
    first = work.run()
    assert seconds(work.run()) == seconds(first)


def seconds(results):
    return {key: result.seconds for key, result in results.items()}


@pytest.mark.parametrize("kind", [FILE, "file read in the constructor", "environment variable"])
def test_fresh_interpreters_note_what_is_read(project, kind, monkeypatch):  # noqa: F811
    monkeypatch.setenv("GRAPHNETZ_START", "spawn")
    text, file = EDITS[kind]
    work = project(text)
    first = work.run("local")
    label = f"variable {file}" if file == "FACTOR" else f"file {file}"
    assert list(first["Net", 0].reads) == [label]
    assert seconds(work.run("local")) == seconds(first)
    work.edit(file)
    edited = work.run("local")
    assert edited["Net", 0].history != first["Net", 0].history
    assert edited["Majority", 0].seconds == first["Majority", 0].seconds


@pytest.fixture
def ray_cluster(monkeypatch):
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    yield ray
    ray.shutdown()


@pytest.mark.ray
@pytest.mark.alone
@pytest.mark.xdist_group("ray")
@pytest.mark.parametrize("kind", [FILE, "environment variable"])
def test_workers_of_ray_note_what_is_read(project, kind, ray_cluster, monkeypatch):  # noqa: F811
    text, file = EDITS[kind]
    work = project(text)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(work.folder), os.environ.get("PYTHONPATH", "")]))
    first = work.run("ray")
    assert list(first["Net", 0].reads) == ["variable FACTOR" if file == "FACTOR" else "file k.txt"]
    assert seconds(work.run("ray")) == seconds(first)
    work.edit(file)
    ray_cluster.shutdown()  # workers keep the variables that their cluster was started with
    edited = work.run("ray")
    assert edited["Net", 0].history != first["Net", 0].history
    assert edited["Majority", 0].seconds == first["Majority", 0].seconds
