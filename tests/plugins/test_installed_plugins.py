"""What an installed plug-in may do wrong costs that plug-in and nothing else."""

import json

import pytest

MODEL = """
import torch
from graphnetz import register_model

@register_model(name="Linear", task_types=["node_cls"])
class Linear(torch.nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.layer = torch.nn.Linear(in_channels, out_channels)

    def forward(self, data):
        return self.layer(data.x)
"""
TEST = """
from graphnetz.stats import PAIRED_TESTS
from graphnetz.stats.paired import TestOutcome

@PAIRED_TESTS.register("coin")
def coin(differences, test_ratio):
    return TestOutcome(0.0, 1.0, differences.n, 1.0)
"""
DATASET = """
from graphnetz.datasets.cards import dataset

@dataset("social", serves={"node_cls": 5}, title="Dots", source="here", licence="CC0", citation="Nobody.", offline=True)
def dots(root="data"):
    '''Nothing yet.'''
"""
OWN_MODULES = """
import importlib, pkgutil, sys, graphnetz
for found in pkgutil.walk_packages(graphnetz.__path__, "graphnetz."):
    if found.name != "graphnetz.__main__" and ".templates" not in found.name:
        importlib.import_module(found.name)
"""
GROUPS = (
    "models", "datasets", "suites", "task_types", "metrics", "paired_tests", "corrections", "intervals", "spending",
    "optimisers", "executors", "loggers", "figures", "perturbations", "structures", "features", "extractors",
    "selectors", "audit",
)  # fmt: skip


def test_a_model_by_entry_point_leaves_the_import_of_models_alone(site):
    site.install("gn-linear", MODEL, models={"Linear": "Linear"})
    code = "import graphnetz.models, sys; print('gn_linear' in sys.modules, graphnetz.models.MODELS['Linear'].name)"
    assert site.python(code) == ("False Linear", "")


def test_no_import_of_ours_loads_a_plug_in(site):
    site.install("gn-bad", "raise SystemExit('loaded')", **{group: {"x": "x"} for group in GROUPS})
    done = site.run("-c", OWN_MODULES + "print('gn_bad' in sys.modules)")
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr[-2000:]


@pytest.mark.parametrize("fault", ["1 / 0", "import nothing_of_that_name", "raise SystemExit(3)"])
def test_a_plug_in_that_cannot_be_imported_is_named_and_the_rest_works(site, fault):
    site.install("gn-broken", MODEL + fault, models={"Broken": "Linear", "AlsoBroken": "Linear"})
    site.install("gn-fine", MODEL.replace('"Linear"', '"Fine"'), models={"Fine": "Linear"})
    out, errors = site.graphnetz("list", "models", "--json")
    names = [row["name"] for row in json.loads(out)]
    assert "Fine" in names
    assert "GCN" in names
    assert "Linear" not in names, "what a broken plug-in registered before it failed is taken back"
    raised = {
        "1": "ZeroDivisionError: division by zero",
        "i": "ModuleNotFoundError: No module named",
        "r": "SystemExit: 3",
    }
    sentence = "The plug-in gn-broken 1.2 offers the model 'Broken' (entry point group graphnetz.models), but "
    assert sentence in errors
    assert raised[fault[0]] in errors
    assert "Traceback" not in errors
    done = site.run("-c", "from graphnetz.models import MODELS; MODELS['GCN']; MODELS['Broken']")
    assert "UnknownNameError: " + sentence in done.stderr
    assert (
        site.python("from graphnetz.models import MODELS; print(sorted(MODELS.broken))")[0]
        == "['AlsoBroken', 'Broken']"
    )


def test_looking_up_what_is_there_touches_no_plug_in(site):
    site.install("gn-broken", "1 / 0", models={"Broken": "x"}, paired_tests={"no": "x"})
    code = "from graphnetz.models import MODELS; from graphnetz.stats import paired_test; MODELS['GCN']; print(paired_test([1, 2, 3], [2, 3, 1]).n)"
    assert site.python(code) == ("3", "")


def test_one_plug_in_is_loaded_without_the_others(site):
    site.install("gn-linear", MODEL, models={"Linear": "Linear"})
    site.install("gn-broken", "1 / 0", models={"Broken": "x"})
    assert site.python("from graphnetz.models import MODELS; print(MODELS['Linear'].name)") == ("Linear", "")


@pytest.mark.parametrize(
    ("source", "where", "groups", "own"),
    [
        (MODEL, "graphnetz.models:MODELS", {"models": {"other": "Linear"}}, "Linear"),
        (DATASET, "graphnetz.datasets:CARDS", {"datasets": {"other": "dots"}}, "dots"),
        (TEST, "graphnetz.stats:PAIRED_TESTS", {"paired_tests": {"other": "coin"}}, "coin"),
        (TEST, "graphnetz.stats:PAIRED_TESTS", {"paired_tests": {"other": ""}}, "coin"),
    ],
)
def test_a_name_that_differs_is_said_once_and_the_own_name_counts(site, source, where, groups, own):
    site.install("gn-other", source, **groups)
    module, registry = where.split(":")
    out, errors = site.python(
        f"from {module} import {registry} as r; n = list(r); print({own!r} in n, 'other' in n, len(r), len(set(n)))"
    )
    assert out.startswith("True False ")
    assert len(set(out.split()[2:])) == 1
    assert errors.count("gn-other 1.2") == 1
    assert f"is called {own!r}" in errors
    site.graphnetz("list", "datasets")


def test_decorator_entry_and_module_all_work_also_when_imported_before(site):
    plain = (
        "from graphnetz.stats.paired import TestOutcome\ndef coin(d, r):\n    return TestOutcome(0.0, 1.0, d.n, 1.0)\n"
    )
    site.install("gn-decorated", TEST.replace('"coin"', '"one"'), paired_tests={"one": "coin"})
    site.install("gn-plain", plain, paired_tests={"two": "coin"})
    site.install("gn-module", TEST.replace('"coin"', '"three"'), paired_tests={"three": ""})
    card = (
        DATASET.replace("def dots", "def dashes")
        + "from graphnetz.datasets.cards import CARDS\ncard = CARDS.remove('dashes')\n"
    )
    site.install("gn-card", card, datasets={"dashes": "card"})
    code = (
        "from graphnetz.stats import PAIRED_TESTS as t, paired_test\n"
        "from graphnetz.datasets import CARDS, LOADER_REGISTRY, list_datasets\n"
        "names = ('one', 'two', 'three')\n"
        "print([n in t for n in names], [paired_test([1, 2], [2, 1], method=n).p for n in names], 'dashes' in list_datasets(), t.broken)\n"
        "print([n for n, _ in LOADER_REGISTRY['social']['node_cls']].count('dashes'))"
    )
    wanted = "[True, True, True] [1.0, 1.0, 1.0] True {}\n1"
    assert site.python(code) == (wanted, "")
    assert site.python("import gn_decorated, gn_module\n" + code) == (wanted, "")


def test_the_type_of_an_entry_is_checked(site):
    wrong = "x = 3\nclass Cls: pass\n"
    site.install(
        "gn-wrong", wrong, models={"m": "Cls"}, executors={"e": "Cls"}, datasets={"d": "x"}, metrics={"k": "x"},
        paired_tests={"p": "x", "q": "absent", "r": "not an object"}, selectors={"s": "Cls"}, task_types={"t": "Cls"},
        perturbations={"v": "x"}, extractors={"f": ""}, loggers={"l": "x"},
    )  # fmt: skip
    out, errors = site.graphnetz("list", "--json")
    broken = {row["list"]: row["broken"] for row in json.loads(out)}
    assert broken["models"] == 1
    assert broken["paired_tests"] == 3
    assert sum(broken.values()) == 12
    for words in ("is a type, not a ModelSpec", "register_model", "is an int, not a DatasetCard", "a subclass of Executor",
                  "registers no meta-feature extractor", "AttributeError"):  # fmt: skip
        assert words in errors, words


def test_two_plug_ins_of_one_name_the_first_counts(site):
    site.install("gn-a", TEST, paired_tests={"coin": "coin"})
    site.install("gn-b", TEST, paired_tests={"coin": "coin"})
    site.install("gn-c", TEST.replace('"coin"', '"t"'), paired_tests={"t": "coin"})
    out, errors = site.python(
        "from graphnetz.stats import PAIRED_TESTS as t; print(list(t).count('coin'), t['coin'].__module__, t['t'].__module__)"
    )
    first, second = ("gn-a 1.2", "gn-b 1.2") if "gn_a" in out else ("gn-b 1.2", "gn-a 1.2")
    assert out.startswith("1 gn_")
    assert out.endswith("graphnetz.stats.paired")
    assert f"{second} offers the pairwise method 'coin'" in errors
    assert f"already registered by {first}" in errors
    assert "gn-c 1.2 offers the pairwise method 't'" in errors


def test_a_plug_in_that_lists_a_registry_while_it_is_imported_is_still_found(site):
    site.install(
        "gn-nosy",
        "from graphnetz.stats import PAIRED_TESTS\nlist(PAIRED_TESTS)\n" + TEST,
        paired_tests={"coin": "coin"},
    )
    code = "from graphnetz.stats import PAIRED_TESTS as t; print('coin' in t, dict(t.broken), t.source('coin'))"
    assert site.python(code) == ("True {} gn-nosy 1.2", "")
    assert site.python("import gn_nosy; " + code) == ("True {} gn-nosy 1.2", "")
