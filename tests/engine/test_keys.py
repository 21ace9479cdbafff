"""Keys change when the numbers can, and only then."""

import copy
import functools
import importlib
import linecache
import subprocess
import sys
import textwrap
import threading
import types

import numpy as np
import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset

from graphnetz.engine.identity.environment import environment, environment_key
from graphnetz.engine.identity.keys import CellKeys, Unhashable, code_hash, content_key, fingerprint
from graphnetz.models import ModelSpec
from graphnetz.records import GraphList, Protocol, Task

FACTS = {
    "task": "cora",
    "task_type": "node_cls",
    "dataset": "abc",
    "model": "GCN",
    "model_hash": "def",
    "protocol": Protocol().as_dict(),
    "seed": 3,
}
LEFT, RIGHT = lambda x: x + 1, lambda x: x + 2


def notebook(text, name="<ipython-input-7-abcdef>"):
    """Run a cell as a notebook does: in __main__, with its lines known to linecache."""
    body = textwrap.dedent(text)
    linecache.cache[name] = (len(body), None, body.splitlines(keepends=True), name)
    space = {"__name__": "__main__"}
    exec(compile(body, name, "exec"), space)
    return space


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write modules into a package of the user's own and import it afresh."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(name="mylib", **files):
        for module in [m for m in sys.modules if m.partition(".")[0] == name]:
            del sys.modules[module]
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        for stem, text in {"__init__": "", **files}.items():
            (folder / f"{stem}.py").write_text(textwrap.dedent(text))
        importlib.invalidate_caches()
        linecache.checkcache()
        return importlib.import_module(f"{name}.model")

    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    yield write
    sys.dont_write_bytecode = before


MODEL = """
    from mylib import helper
    from mylib.helper import scale
    class Net:
        width = 3
        def forward(self, x):
            return self.act(scale(x)) + helper.shift(x)
        def act(self, x):
            return x
"""
HELPER = """
    FACTOR = 2
    def scale(x):
        return deep(x) * FACTOR
    def deep(x):
        return x
    def shift(x):
        return x + 1
    def unrelated(x):
        return x
"""


def net_hash(package, model=MODEL, helper=HELPER):
    return code_hash(package(model=model, helper=helper).Net)


def test_a_class_keeps_its_key_after_its_objects_were_pickled_or_copied():
    class Model:
        width = 3

    before = code_hash(Model)
    copy.copy(Model())
    Model().__reduce_ex__(2)
    assert "__slotnames__" in vars(Model)
    assert code_hash(Model) == before


def test_two_lambdas_on_one_line_differ():
    assert LEFT.__code__.co_firstlineno == RIGHT.__code__.co_firstlineno
    assert isinstance(code_hash(LEFT), str)
    assert code_hash(LEFT) != code_hash(RIGHT)


def test_closures_over_different_values_differ():
    def make(width):
        return lambda x: x * width

    def deeper(width):
        inner = make(width)
        return lambda x: inner(x)

    assert code_hash(make(1)) == code_hash(make(1))
    assert code_hash(make(1)) != code_hash(make(2))
    assert code_hash(deeper(1)) != code_hash(deeper(2))
    assert code_hash(functools.partial(make, 1)) != code_hash(functools.partial(make, 2))


def test_a_notebook_class_keeps_its_key_when_the_cell_is_run_again():
    text = """
        class Net:
            def forward(self, x):
                return x @ x
    """
    first = code_hash(notebook(text)["Net"])
    assert first == code_hash(notebook(text, "<ipython-input-9-fedcba>")["Net"])
    assert first != code_hash(notebook(text.replace("x @ x", "x + x"))["Net"])


def test_a_class_without_source_is_hashed_by_its_bytecode():
    def build(operator):
        space = {"__name__": "__main__"}
        exec(f"class Net:\n def forward(self, x):\n  return x {operator} 7 in {{1, 2, 3}}", space)
        return space["Net"]

    assert isinstance(code_hash(build("+")), str)
    assert code_hash(build("+")) == code_hash(build("+"))
    assert code_hash(build("+")) != code_hash(build("-"))


@pytest.mark.parametrize(
    "edit",
    [
        ("FACTOR = 2", "FACTOR = 3"),
        ("return deep(x) * FACTOR", "return deep(x) + FACTOR"),
        ("    def deep(x):\n        return x\n", "    def deep(x):\n        return -x\n"),
        ("return x + 1", "return x + 2"),
    ],
)
def test_an_edited_helper_changes_the_key(package, edit):
    assert net_hash(package) != net_hash(package, helper=HELPER.replace(*edit))


@pytest.mark.parametrize(
    "edit",
    [("width = 3", "width = 4"), ("return x\n", "return x * 1\n"), ("def act(self, x):", "def act(self, x, y=1):")],
)
def test_an_edited_model_changes_the_key(package, edit):
    assert net_hash(package) != net_hash(package, model=MODEL.replace(*edit))


def test_comments_layout_docstrings_and_unrelated_functions_do_not(package):
    model = MODEL.replace(
        "return self.act(", '"""Say something."""\n            # why\n\n            return self.act(  '
    )
    helper = HELPER + "    def another(x):\n        return 3\n"
    assert net_hash(package) == net_hash(package, model=model, helper=helper)


def test_docstrings_inside_functions_do_not(package):
    inner = (
        "def scale(x):\n    def twice(y):\n        {}return 2 * y\n    return twice(x)\ndef shift(x):\n    return x\n"
    )
    plain, told = (net_hash(package, helper=inner.format(text)) for text in ("", '"""Twice."""\n        '))
    assert plain == told
    returned = "def scale(x):\n    return 'a'\ndef shift(x):\n    return x\n"
    assert net_hash(package, helper=returned) != net_hash(package, helper=returned.replace("'a'", "'b'"))
    listed = "def scale(x):\n    return ['a' for _ in x]\ndef shift(x):\n    return x\n"
    assert net_hash(package, helper=listed) != net_hash(package, helper=listed.replace("'a'", "'b'"))
    made = "def scale(x):\n    class A:\n        b = 'a'\n    return A.b\ndef shift(x):\n    return x\n"
    assert net_hash(package, helper=made) != net_hash(package, helper=made.replace("'a'", "'b'"))


def test_what_a_decorator_leaves_behind_changes_the_key(package):
    helper = """
        import numba
        def marked(**values):
            def mark(function):
                vars(function).update(values)
                return function
            return mark
        @marked(factor=2)
        def scale(x):
            return scale.factor * x
        @numba.njit(fastmath=False)
        def shift(x):
            return x + 1
    """
    keys = {net_hash(package, helper=helper.replace(*edit)) for edit in (
        ("", ""), ("factor=2", "factor=3"), ("fastmath=False", "fastmath=True"), ("x + 1", "x + 2"),
    )}  # fmt: skip
    assert len(keys) == 4


def test_what_is_tried_and_what_is_not_changes_the_key(package):
    helper = "def scale(x):\n    try:\n        x = x()\n    except ValueError:\n        pass\n    {}return x\ndef shift(x):\n    return x\n"
    inside = helper.format("").replace("        x = x()\n", "        x = x()\n        x = x()\n")
    outside = helper.format("x = x()\n    ")
    assert net_hash(package, helper=inside) != net_hash(package, helper=outside)


def test_a_changed_base_changes_the_key(package):
    model = "from mylib.helper import Base\nclass Net(Base):\n    pass\n"
    one = net_hash(package, model, "class Base:\n    def forward(self, x):\n        return x\n")
    two = net_hash(package, model, "class Base:\n    def forward(self, x):\n        return -x\n")
    assert one != two


def test_a_file_edited_after_import_does_not_speak_for_the_running_code(package, tmp_path):
    module = package(model=MODEL, helper=HELPER)
    before = code_hash(module.Net)
    path = tmp_path / "mylib" / "model.py"
    path.write_text(path.read_text().replace("return x\n", "return x * 5\n"))
    linecache.checkcache()
    assert code_hash(module.Net) == before
    assert before != net_hash(package, model=MODEL.replace("return x\n", "return x * 5\n"))


def test_recursion_and_mutual_calls_end(package):
    helper = "def odd(n):\n    return n and even(n - 1)\ndef even(n):\n    return not n or odd(n - 1)\n"
    model = "from mylib.helper import odd\nclass Net:\n    def forward(self, x):\n        return odd(x)\n"
    one = net_hash(package, model, helper)
    assert one == net_hash(package, model, helper)
    assert one != net_hash(package, model, helper.replace("not n or", "not n and"))


def test_sets_are_sorted_so_keys_do_not_depend_on_the_process():
    program = (
        "from graphnetz.engine.identity.code import code_hash\n"
        "def f(x, names={'a', 'b', 'c', 'dd', 'ee'}):\n    return x in {'q', 'w', 'e', 'r', 't', 'y'}\n"
        "print(code_hash((f, {'k': frozenset('abcdefgh')})))\n"
    )
    out = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(out) == 1


def test_what_has_no_stable_description_says_why():
    lock = threading.Lock()

    def model(x):
        return lock, x

    answer = code_hash(model)
    assert isinstance(answer, Unhashable)
    assert not answer
    assert "lock" in answer.reason


def test_arguments_count_by_value():
    base = code_hash((torch.nn.Linear, None, {"bias": True}))
    assert base == code_hash((torch.nn.Linear, None, {"bias": True}))
    assert base != code_hash((torch.nn.Linear, None, {"bias": False}))
    assert code_hash(torch.ones(3)) != code_hash(torch.zeros(3))
    assert code_hash(np.ones(3)) != code_hash(np.ones(4))
    assert code_hash(torch.nn.Dropout(0.1)) != code_hash(torch.nn.Dropout(0.2))
    assert code_hash({"a": 1, "b": 2}) == code_hash({"b": 2, "a": 1})
    assert code_hash(1) != code_hash(True)
    assert code_hash((1, 2)) != code_hash([1, 2])


@pytest.mark.parametrize("fact", FACTS)
def test_every_fact_changes_the_content_key(fact):
    changed = {"protocol": Protocol(lr=0.5).as_dict(), "seed": 4}.get(fact, "other")
    assert content_key(**FACTS) == content_key(**FACTS)
    assert content_key(**FACTS) != content_key(**{**FACTS, fact: changed})
    assert content_key(**FACTS) != content_key(**FACTS, extra={"search": 1})


def graph(**changes):
    values = {
        "x": torch.arange(6.0).reshape(3, 2),
        "edge_index": torch.tensor([[0, 1], [1, 2]]),
        "y": torch.tensor([1]),
    }
    return Data(**{**values, **changes})


class Held(InMemoryDataset):
    def __init__(self, graphs, transform=None):
        super().__init__(None, transform)
        self.data, self.slices = self.collate(graphs)


@pytest.mark.parametrize(
    "changes",
    [
        {"x": torch.arange(6.0).reshape(2, 3)},
        {"x": torch.arange(6.0).reshape(3, 2).double()},
        {"y": torch.tensor([2])},
        {"extra": "text"},
        {"edge_index": torch.tensor([[0, 1], [2, 1]])},
    ],
)
def test_fingerprints_see_names_types_shapes_and_bytes(changes):
    assert fingerprint(graph()) == fingerprint(graph())
    assert fingerprint(graph()) != fingerprint(graph(**changes))
    assert fingerprint([graph(), graph()]) != fingerprint([graph(), graph(**changes)])
    assert fingerprint(Held([graph()] * 2)) != fingerprint(Held([graph(**changes)] * 2))


def test_fingerprints_see_order_subsets_splits_and_transforms():
    a, b = graph(), graph(y=torch.tensor([7]))
    assert fingerprint([a, b]) != fingerprint([b, a])
    assert fingerprint(Held([a, b])) != fingerprint(Held([a, b])[1:])
    assert fingerprint(Held([a, b])) != fingerprint(Held([a, b], transform=lambda g: g))
    assert fingerprint(GraphList([a, b], splits={"train": [0]})) != fingerprint(
        GraphList([a, b], splits={"train": [1]})
    )
    assert fingerprint(torch.eye(3)) != fingerprint(torch.eye(3).to_sparse())
    assert fingerprint(torch.ones(2, dtype=torch.bfloat16)) != fingerprint(torch.zeros(2, dtype=torch.bfloat16))
    assert fingerprint(torch.ones(2, 2)[:, :1]) == fingerprint(torch.ones(2, 1))


def test_cell_keys_of_a_plan():
    keys = CellKeys()
    spec = ModelSpec(torch.nn.Linear, frozenset({"node_cls"}))
    task = Task("mine", "node_cls", lambda root: graph())
    data = keys.data(task, lambda seed: graph())
    key = keys.cell(task, data(0), "linear", spec, Protocol(), 0)
    again = CellKeys()
    assert key == again.cell(task, again.data(task, lambda seed: graph())(0), "linear", spec, Protocol(), 0)
    assert key != keys.cell(task, data(1), "linear", spec, Protocol(), 1)
    assert key != keys.cell(task, data(0), "linear", spec.with_kwargs({"bias": False}), Protocol(), 0)
    assert keys.fingerprints == {"mine": fingerprint(graph())}
    assert keys.notes == []


def test_a_model_that_cannot_be_hashed_gets_a_key_of_this_run_and_a_note():
    lock = threading.Lock()
    spec = ModelSpec(torch.nn.Linear, frozenset({"node_cls"}), lambda i, h, o: (lock, torch.nn.Linear(i, o)))
    task = Task("mine", "node_cls", lambda root: graph())
    first, second = CellKeys(), CellKeys()
    one = first.cell(task, "d", "locked", spec, Protocol(), 0)
    assert one == first.cell(task, "d", "locked", spec, Protocol(), 0)
    assert one != second.cell(task, "d", "locked", spec, Protocol(), 0)
    assert "cannot be resumed" in first.notes[0]
    assert len(first.notes) == 1


def test_seeded_data_is_keyed_by_seed_or_by_the_code_that_makes_it():
    def loader(root, seed=0):
        return graph(y=torch.tensor([seed]))

    task = Task("drawn", "graph_cls", loader)
    held = CellKeys().data(task, lambda seed: loader("", seed))
    assert held(0) != held(1)
    made = CellKeys().data(task, lambda seed: None)
    assert made(0) == made(1) == CellKeys().data(task, lambda seed: None)(0)


def test_environment_key_follows_what_can_change_a_bit():
    facts = environment()
    assert environment_key() == environment_key(facts)
    assert environment_key(facts) != environment_key({**facts, "capability": "AVX1024"})
    assert environment_key(facts) == environment_key({**facts, "cores": 999, "release": "other"})


def test_helpers_of_installed_packages_take_part_by_name_only():
    assert not isinstance(code_hash(torch.nn.functional.dropout), Unhashable)
    wrapped = types.FunctionType(LEFT.__code__, {"__name__": "__main__"})
    assert isinstance(code_hash(wrapped), str)


def test_lazily_imported_helpers_take_part_whether_they_were_asked_for_or_not():
    fresh = "from graphnetz.engine.identity.code import code_hash; from graphnetz.models import MODELS; "
    after = "import graphnetz.kernels as k; k.neighbour_sum, k.input_features, k.message_passing; k.load(); "
    show = "print(code_hash(MODELS['bgnn.GCN'].cls))"
    changed = "import graphnetz.kernels as k; k.neighbour_sum = lambda edges, x, **_: x; "
    found = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        for code in (fresh + show, fresh + after + show, fresh + changed + show)
    ]
    assert found[0] == found[1] != found[2]
    assert len(found[0]) == 64


def test_a_class_with_a_cached_property_has_a_key():
    class Model:
        @functools.cached_property
        def width(self):
            return 3

    class Other:
        @functools.cached_property
        def width(self):
            return 4

    Other.__qualname__ = Model.__qualname__
    assert code_hash(Model)
    assert code_hash(Model) != code_hash(Other)


def test_a_hook_after_the_split_is_part_of_the_key():
    def key(hook):
        keys, task = CellKeys(), Task("t", "node_cls", len, after_split=hook)
        return keys.cell(task, "data", "m", ModelSpec(torch.nn.Linear), Protocol(), 0), keys.notes

    plain, first, again, other = (
        key(hook)[0] for hook in (None, lambda split, seed: split, lambda split, seed: split, lambda split, seed: None)
    )
    assert first == again
    assert len({plain, first, other}) == 3
    lock = threading.Lock()
    _, notes = key(functools.partial(lambda lock, split, seed: split, lock))
    assert len(notes) == 1
    assert "after_split of task 't'" in notes[0]


def test_what_kernels_keep_of_tensors_is_no_part_of_a_key():
    """RINGS tasks were trained again because their key saw structures of graphs that other cells had used."""
    from graphnetz.kernels import structure

    before = code_hash(structure.remember_structure)
    edges = torch.tensor([[0, 1], [1, 0]])
    structure.structure_of(edges, 2)
    assert len(structure._STRUCTURES) > 0
    assert code_hash(structure.remember_structure) == before
    assert len(copy.copy(structure._STRUCTURES)) == 0
