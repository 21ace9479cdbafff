"""Seventeen kinds of edit, made between two runs of one folder: no result of the old code may stand for the new one."""

import importlib
import json
import linecache
import os
import subprocess
import sys
import textwrap

import pytest
import torch
from torch_geometric.data import Data

from graphnetz import run_benchmark, task_from_dataset
from graphnetz.engine.identity.code import Unhashable, code_hash
from graphnetz.engine.store import Store
from graphnetz.report import write

MODEL = """
    import torch
    from torch import nn
    {head}
    class Net(nn.Module{base}):
        def __init__(self, in_channels, hidden_channels, out_channels):
            super().__init__()
            self.lin = nn.Linear(in_channels, out_channels)
            {init}
        def forward(self, data):
            {body}
            return self.lin(data.x) * k
        {method}
    {tail}
"""
HELPER = """
    K = 2.0
    CONFIG = {"k": 2.0, "lock": __import__("threading").Lock()}
    _registry = {"k": 2.0}
    class Box:
        k = 2.0
    class Mixin:
        def factor(self):
            return 2.0
    def scale():
        return 2.0
    def unrelated():
        return 7.0
"""
FIT = """
        def fit(self, split, protocol):
            self.history = {"val_acc": [2.0], "test_acc": [2.0]}
"""


def model(body="k = 1.0", *, head="", base="", init="", method="", tail=""):
    parts = {"head": (head, 0), "init": (init, 8), "body": (body, 8), "method": (method, 4), "tail": (tail, 0)}
    text = textwrap.dedent(MODEL)
    for name, (part, indent) in parts.items():
        text = text.replace("{" + name + "}", textwrap.dedent(part).strip("\n").replace("\n", "\n" + " " * indent))
    return text.replace("{base}", base)


# name -> (the model's file, the file that is edited); every edit makes 2.0 to 5.0 there
EDITS = {
    "global constant": (model("k = K", head="K = 2.0"), "net.py"),
    "helper module function": (model("k = helper.scale()", head="import helper"), "helper.py"),
    "from helper import": (model("k = scale()", head="from helper import scale"), "helper.py"),
    "attribute of a helper": (model("k = helper.Box.k", head="import helper"), "helper.py"),
    "dict of a helper, with a lock in it": (model("k = helper.CONFIG['k']", head="import helper"), "helper.py"),
    "registry of a helper": (model("k = helper._registry['k']", head="import helper"), "helper.py"),
    "import inside forward": (model("import helper\nk = helper.scale()"), "helper.py"),
    "from import inside forward": (model("from helper import K as k"), "helper.py"),
    "import in a function inside forward": (model("import helper\nk = (lambda: helper.scale())()"), "helper.py"),
    "import of a submodule inside forward": (model("import lib.helper as h\nk = h.scale()"), "lib/helper.py"),
    "chain of a package": (model("k = lib.helper.Box.k", head="import lib.helper"), "lib/helper.py"),
    "another name for a module": (model("h = lib.helper\nk = h.K", head="import lib.helper"), "lib/helper.py"),
    "module kept on the model": (model("k = self.h.K", init="self.h = helper", head="import helper"), "helper.py"),
    "module on the class": (model("k = self.h.K", head="import helper", tail="Net.h = helper"), "helper.py"),
    "importlib inside forward": (
        model("import importlib\nk = importlib.import_module('helper').scale()"), "helper.py"
    ),
    "importlib with a variable": (
        model("k = importlib.import_module(NAME).scale()", head="import importlib\nNAME = 'helper'"), "helper.py"
    ),
    "sys.modules": (model("k = sys.modules['helper'].K", head="import sys, helper"), "helper.py"),
    "global named like a registry": (model("k = REGISTRY['k']", head="REGISTRY = {'k': 2.0}"), "net.py"),
    "global named like a cache": (model("k = _cache['k']", head="_cache = {'k': 2.0}"), "net.py"),
    "global list filled later": (model("k = PARTS[0]", head="PARTS = []", tail="PARTS.append(2.0)"), "net.py"),
    "class attribute set later": (model("k = self.k", tail="Net.k = 2.0"), "net.py"),
    "closure": (
        model("k = self.closed()", tail="def make(k):\n    return lambda self: k\nNet.closed = make(2.0)"), "net.py"
    ),
    "getattr on a module": (model("k = getattr(helper, 'K')", head="import helper"), "helper.py"),
    "getattr with a variable": (model("k = getattr(helper, 'ABCK'[-1])", head="import helper"), "helper.py"),
    "exec of a string": (model("space = {}\nexec('k = 2.0', space)\nk = space['k']"), "net.py"),
    "exec of a string that imports": (
        model("space = {}\nexec('from helper import K', space)\nk = space['K']"), "helper.py"
    ),
    "globals()": (model("k = globals()['K' + 'K']", head="KK = 2.0"), "net.py"),
    "file read in forward": (model("k = float(open('k.txt').read())"), "k.txt"),
    "file read in the constructor": (
        model("k = self.k", head="from pathlib import Path", init="self.k = float(Path('k.txt').read_text())"), "k.txt"
    ),
    "file read once for all cells": (
        model(
            "k = read()",
            head="import functools, numpy\n@functools.cache\ndef read():\n    return float(numpy.loadtxt('k.txt'))",
        ),
        "k.txt",
    ),
    "environment variable": (model("k = float(os.environ.get('FACTOR', '1'))", head="import os"), "FACTOR"),
    "environment variable in the constructor": (
        model("k = self.k", head="from os import getenv", init="self.k = float(getenv('FACTOR'))"), "FACTOR"
    ),
    "tensor constant": (model("k = T", head="T = torch.tensor([2.0])"), "net.py"),
    "mixin from a helper": (
        model("k = self.factor()", head="from helper import Mixin", base=", Mixin"), "helper.py"
    ),
    "fit hook": (model(method=FIT), "net.py"),
}  # fmt: skip
NOT_RESUMED = {
    "importlib with a variable",
    "sys.modules",
    "exec of a string",
    "exec of a string that imports",
    "globals()",
}


def graph():
    source = torch.Generator().manual_seed(0)
    edges = torch.randint(24, (2, 60), generator=source)
    data = Data(x=torch.randn(24, 4, generator=source), edge_index=edges, y=torch.arange(24) % 2)
    part = torch.arange(24) % 3
    data.train_mask, data.val_mask, data.test_mask = part == 0, part == 1, part == 2
    return data


class Project:
    """A folder with a model, its helpers and a run; every run imports the files as a new process would."""

    def __init__(self, folder, text):
        self.folder = folder
        (folder / "lib").mkdir()
        (folder / "net.py").write_text(text)
        for name in ("helper.py", "lib/helper.py"):
            (folder / name).write_text(textwrap.dedent(HELPER))
        (folder / "k.txt").write_text("2.0")
        os.environ["FACTOR"] = "2.0"

    def edit(self, name, old="2.0", new="5.0"):
        if name == "FACTOR":
            os.environ[name] = new
            return
        path = self.folder / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    def net(self):
        for name in [name for name in sys.modules if name.partition(".")[0] in ("net", "helper", "lib")]:
            del sys.modules[name]
        importlib.invalidate_caches()
        linecache.checkcache()
        return importlib.import_module("net").Net

    def run(self, backend="serial", seeds=1, ok=True):
        task = task_from_dataset("nodes", "node_cls", graph(), epochs=1)
        report = run_benchmark(
            tasks=[task], models={"Net": (self.net(), "node_cls"), "Majority": "Majority"}, seeds=seeds,
            backend=backend, workers=1, out=self.folder / "run", root=str(self.folder / "data"),
        )  # fmt: skip
        assert not ok or all(result.ok for result in report.results), [result.error for result in report.results]
        return {(result.model, result.seed): result for result in report.results}


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("FACTOR", "2.0")
    monkeypatch.setattr(write, "write_figures", lambda *_: None)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return lambda text: Project(tmp_path, text)


@pytest.mark.parametrize("kind", EDITS)
def test_an_edit_is_never_answered_from_the_store(project, kind, capsys):
    text, file = EDITS[kind]
    work = project(text)
    first = work.run()
    capsys.readouterr()
    again = work.run()
    kept = again["Net", 0].seconds == first["Net", 0].seconds
    assert kept == (kind not in NOT_RESUMED), "without an edit, only what cannot be followed is trained again"
    said = capsys.readouterr().err
    if not kept:
        assert "cannot be resumed" in said
        assert "cannot be followed" in said
    assert again["Majority", 0].seconds == first["Majority", 0].seconds
    work.edit(file)
    edited = work.run()
    assert edited["Net", 0].seconds != again["Net", 0].seconds
    assert edited["Net", 0].history != again["Net", 0].history, "the edit shows in what was trained"
    assert edited["Majority", 0].seconds == first["Majority", 0].seconds
    same_key = edited["Net", 0].key == again["Net", 0].key
    assert same_key == (file in ("k.txt", "FACTOR"))
    if same_key:
        assert "1 cell of model 'Net' is trained again: the " in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["file read once for all cells", "environment variable", "importlib inside forward"])
def test_workers_see_it_too(project, kind):
    text, file = EDITS[kind]
    work = project(text)
    first = work.run("local", seeds=2)
    again = work.run("local", seeds=2)
    assert {key: r.seconds for key, r in first.items()} == {key: r.seconds for key, r in again.items()}
    work.edit(file)
    edited = work.run("local", seeds=2)
    for seed in (0, 1):  # the second cell of a worker finds the file in a cache, and rests on it all the same
        assert edited["Net", seed].seconds != first["Net", seed].seconds
        assert edited["Majority", seed].seconds == first["Majority", seed].seconds


def test_a_record_says_what_was_read_and_neither_values_nor_what_belongs_to_others(project):
    body = """
        import json, os, tempfile, warnings
        open("own.txt", "w").write("1")
        k = float(open("own.txt").read()) * len(os.environ["FACTOR"])
        open("k.txt").read()
        try:
            open("never.txt")
        except OSError:
            pass
        warnings.warn("shows a line of this file")
        torch.save(self.state_dict(), "best.pt")
        self.load_state_dict(torch.load("best.pt"))
        open("data/part.txt").read()
    """
    work = project(model(body))
    (work.folder / "data").mkdir()
    (work.folder / "data" / "part.txt").write_text("of a dataset")
    result = work.run()["Net", 0]
    assert set(result.reads) == {"file k.txt", "file never.txt", "variable FACTOR"}
    assert result.reads["file never.txt"] == "absent"
    with Store.open(work.folder / "run", readonly=True) as store:
        assert store.reads() == {result.key: result.reads}
    published = (work.folder / "run" / "results.json").read_text()
    assert "k.txt" not in published
    assert "FACTOR" not in published


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import subprocess, sys\nk = float(subprocess.run([sys.executable, '-c', 'print(2.0)'],"
         " capture_output=True).stdout)", "another program"),
        ("import os\nk = float(len(dict(os.environ)) > 0)", "the whole environment"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_trained_again_and_says_so(project, capsys, body, words):
    work = project(model(body))
    first = work.run()
    again = work.run()
    assert again["Net", 0].key == first["Net", 0].key
    assert again["Net", 0].seconds != first["Net", 0].seconds
    assert f"is trained again: it used {words}, which cannot be compared" in capsys.readouterr().err
    notes = json.loads((work.folder / "run" / "provenance.json").read_text())["notes"]
    assert any(words in note for note in notes)


def test_a_file_that_is_gone_or_new_counts_as_changed(project, capsys):
    work = project(
        model("from pathlib import Path\ntry:\n    k = float(Path('k.txt').read_text())\nexcept OSError:\n    k = 1.0")
    )
    first = work.run()
    (work.folder / "k.txt").unlink()
    gone = work.run()
    assert "the file 'k.txt' is gone" in capsys.readouterr().err
    (work.folder / "k.txt").write_text("2.0")
    back = work.run()
    assert "the file 'k.txt' is new" in capsys.readouterr().err
    assert gone["Net", 0].history != first["Net", 0].history == back["Net", 0].history


def test_a_cell_that_failed_for_want_of_a_file_is_trained_again_once_it_is_there(project, capsys):
    work = project(model("from pathlib import Path\nk = float(Path('k.txt').read_text())"))
    (work.folder / "k.txt").unlink()
    failed = work.run(ok=False)["Net", 0]
    assert (failed.status, failed.reads) == ("failed", {"file k.txt": "absent"})
    assert work.run(ok=False)["Net", 0].status == "failed", "nothing has changed"
    assert "trained again" not in capsys.readouterr().err
    (work.folder / "k.txt").write_text("2.0")
    assert work.run()["Net", 0].ok
    assert "the file 'k.txt' is new" in capsys.readouterr().err


STABLE = model(
    "import helper as h\nfrom lib import helper as other\nk = h.scale() * other.Box.k * len(open(HERE / 'k.txt').read())",
    head="from pathlib import Path\nHERE = Path(__file__).parent\nNAMES = {'a', 'bb', 'ccc'}\nFILE = __file__",
    method="        where = Path(__file__).with_name('k.txt')\n        def names(self, x={'q', 'w'}):\n            return NAMES, FILE",
)


def test_the_same_code_has_the_same_key_elsewhere_and_after_edits_beside_it(project, tmp_path):
    work = project(STABLE)
    before = code_hash(work.net())
    assert not isinstance(before, Unhashable), before.reason
    edits = {
        "helper.py": ("def unrelated():\n    return 7.0", "# a remark\n\ndef unrelated():\n    return 8.0\nMORE = 3"),
        "lib/helper.py": ("def scale():", 'def scale():\n    """Say what."""\n    # and why'),
        "net.py": ("def forward(self, data):", "def forward(self, data):  # forwards\n"),
    }
    for name, edit in edits.items():
        work.edit(name, *edit)
        assert code_hash(work.net()) == before, name
    elsewhere = tmp_path / "moved" / "deeper"
    (elsewhere / "lib").mkdir(parents=True)
    for name in ("net.py", "helper.py", "lib/helper.py", "k.txt"):
        (elsewhere / name).write_text((tmp_path / name).read_text())
    program = "import sys; sys.path.insert(0, sys.argv[1]); {}; import net\nfrom graphnetz.engine.identity.code import code_hash\nprint(code_hash(net.Net))"
    found = [
        subprocess.run(
            [sys.executable, "-c", program.format(first), str(place)], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "FACTOR": seed}, cwd=place,
        ).stdout.strip()
        for place, seed, first in ((tmp_path, "1", "import lib.helper"), (elsewhere, "2", "import helper"))
    ]  # fmt: skip
    assert found == [before, before]


def test_a_class_of_a_notebook_keeps_its_key_through_cloudpickle(project):
    import cloudpickle

    work = project(STABLE)
    work.net()
    space = {"__name__": "__main__", "__file__": str(work.folder / "net.py")}
    exec(compile((work.folder / "net.py").read_text(), "<ipython-input-3>", "exec"), space)
    copied = cloudpickle.loads(cloudpickle.dumps(space["Net"]))
    assert copied is not space["Net"] or isinstance(code_hash(copied), str)
    assert code_hash(copied) == code_hash(space["Net"])


def test_registries_of_packages_do_not_change_the_keys_of_models_that_use_them(project, tmp_path):
    place = tmp_path / "site-packages" / "others"
    place.mkdir(parents=True)
    (place / "__init__.py").write_text("REGISTRY = {}\nclass Table:\n    pass\nTABLE = Table()\n")
    sys.path.insert(0, str(place.parent))
    try:
        work = project(
            model("k = REGISTRY.get('k', 1.0) + len(vars(TABLE))", head="from others import REGISTRY, TABLE")
        )
        before = code_hash(work.net())
        others = importlib.import_module("others")
        others.REGISTRY["more"], others.TABLE.more = 1, 2
        assert code_hash(work.net()) == before
    finally:
        sys.path.remove(str(place.parent))
        sys.modules.pop("others", None)


def test_built_in_models_have_one_key_whatever_the_folder_the_environment_and_the_order(tmp_path):
    program = """
        import json, sys
        {}
        from graphnetz.models import MODELS
        from graphnetz.engine.identity.code import code_hash, users_files
        names = sorted(MODELS)
        for name in names[::-1] if sys.argv[1] == "b" else names:
            MODELS[name]
        facts = {{name: (MODELS[name].cls, MODELS[name].factory, dict(MODELS[name].kwargs)) for name in names}}
        assert not any(users_files(fact) for fact in facts.values())
        print(json.dumps({{name: str(code_hash(fact)) for name, fact in facts.items()}}))
    """
    used = """
        from graphnetz import run_benchmark
        import graphnetz.engine.reproduce, graphnetz.rings, graphnetz.selection, graphnetz.kernels as kernels
        kernels.load()
        run_benchmark(tasks=["karate_club"], models=["GCN", "GAT", "MLP", "Majority"], seeds=1, epochs=2,
                      backend="serial", verbose=False, root="data")
    """
    found = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", textwrap.dedent(program).format(textwrap.dedent(first)), order],
                capture_output=True, text=True, check=True, cwd=folder,
                env={**os.environ, "PYTHONHASHSEED": seed, "HOME": str(folder), "GRAPHNETZ_START": "spawn", "LANG": "C"},
            ).stdout
        )
        for order, seed, first, folder in (("a", "1", "", tmp_path), ("b", "2", used, tmp_path.parent))
    ]  # fmt: skip
    assert found[0] == found[1]
    assert len(found[0]) > 40
    assert all(len(value) == 64 for value in found[0].values()), "every built-in model can be resumed"
