"""Import paths of the first edition lead to the same modules."""

import importlib
import sys

import pytest

from graphnetz._core.moved import MOVED

BELOW = {
    f"render.{name}": f"report.{name}" for name in ("charts", "escape", "latex", "page", "plots", "style", "tables")
}


@pytest.mark.parametrize("old", sorted(MOVED | BELOW))
def test_old_path_is_the_new_module(old, monkeypatch):
    monkeypatch.delitem(sys.modules, f"graphnetz.{old}", raising=False)  # another test may have imported it
    with pytest.warns(DeprecationWarning, match="is now graphnetz"):
        module = importlib.import_module(f"graphnetz.{old}")
    place = (MOVED | BELOW)[old]
    assert module is importlib.import_module(f"graphnetz.{place}")
    assert module.__spec__.name == module.__name__ == f"graphnetz.{place}"


def test_a_module_below_a_moved_package_is_found():
    with pytest.warns(DeprecationWarning, match="is now"):
        from graphnetz.benchmark.executors.serial import SerialExecutor

    from graphnetz.engine.executors.serial import SerialExecutor as Same

    assert SerialExecutor is Same


def test_what_never_was_is_not_found():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("graphnetz.benchmark.nothing")
