"""The registry itself: homes, names, and the one list of all of them."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import graphnetz
from graphnetz._core.errors import UnknownNameError, UsageError
from graphnetz._core.registry import Registry, all_registries
from graphnetz.cli.inspect import REGISTRIES, _registry


@pytest.fixture
def home(monkeypatch):
    """A module that is found by name, registers something when it is imported, and counts its imports."""

    class Finder:
        imports = 0

        def find_spec(self, name, path=None, target=None):
            return importlib.util.spec_from_loader(name, self) if name == "home_of_words" else None

        def create_module(self, spec):
            return None

        def exec_module(self, module):
            Finder.imports += 1
            if self.fill is None:
                raise ImportError("not today")
            self.fill()

    finder = Finder()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    yield finder
    sys.modules.pop("home_of_words", None)


def test_a_home_is_imported_once_and_only_when_a_name_is_missing(home):
    words = Registry("word", homes=("home_of_words",))
    home.fill = lambda: (words.add("late", 2), "missing" in words)  # also when it looks things up itself
    words.add("early", 1)
    assert words["early"] == 1
    assert words.registered("early")
    assert not words.registered("late")
    assert home.imports == 0
    assert words["late"] == 2
    assert list(words) == ["early", "late"]
    assert home.imports == 1


def test_a_home_of_ours_that_fails_is_our_fault_and_is_raised_each_time(home):
    words, home.fill = Registry("word", homes=("home_of_words",)), None
    for _ in range(2):
        with pytest.raises(ImportError, match="not today"):
            list(words)


def test_names_and_types():
    numbers = Registry("number", accepts=int, decorator="count")
    numbers.add("one", 1)
    with pytest.raises(UsageError, match=r"number 'one' is already registered\. Choose another name"):
        numbers.add("one", 2)
    with pytest.raises(UsageError, match=r"The number 'two' is a str, not an int; decorate it with count\."):
        numbers.register("two")("2")
    with pytest.raises(UnknownNameError, match="Did you mean 'one'"):
        numbers["onee"]
    assert [] not in numbers
    with pytest.raises(UnknownNameError, match="Unknown number"):
        numbers[["one"]]
    assert numbers.remove("one") == 1
    assert numbers.remove("one") is None
    assert dict(numbers.broken) == {}
    kinds = Registry("kind", accepts=type[Exception])
    with pytest.raises(UsageError, match="The kind 'x' is a type, not a subclass of Exception"):
        kinds.add("x", int)


def test_every_registry_that_takes_plug_ins_is_listed():
    for found in pkgutil.walk_packages(graphnetz.__path__, "graphnetz."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    listed = [group for name in REGISTRIES if (group := _registry(name).group)]
    assert sorted(listed) == sorted({registry.group for registry in all_registries() if registry.group})


def test_registries_that_are_gone_are_not_listed():
    before = len(all_registries())
    registry = Registry("passing thing")
    assert len(all_registries()) == before + 1
    del registry
    assert len(all_registries()) == before


@pytest.mark.parametrize(
    "name", ["datasets", "suites", "metrics", "tests", "executors", "trackers", "selectors", "figures"]
)
def test_lists_import_torch_only_where_it_cannot_be_avoided(name):
    code = f"import sys; from graphnetz.cli.app import run_app; code = run_app(['list', {name!r}]); sys.exit(code or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_the_checks_of_the_audit_are_there_without_importing_their_files():
    code = "from graphnetz.audit.checks import CHECKS; print(len(CHECKS))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) >= 5
