"""Shared by the tests that attack: the shim between a program and the C library."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """Start Python programs under the shim; skipped where it cannot be built."""
    spec = importlib.util.spec_from_file_location("faults_shim", BENCHMARKS / "faults" / "shim.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if reason := module.unavailable():
        pytest.skip(reason)
    library = module.build(tmp_path_factory.mktemp("shim"))

    def start(*arguments, clock=0.0, **options):
        told = module.under(library, [str(argument) for argument in arguments], clock=clock)
        return subprocess.Popen(
            told["args"], env=told["env"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
        )

    return start


@pytest.fixture
def counted(shim):
    """Run a harness to its end; return its lines, one object each."""

    def run(*arguments):
        process = shim(*arguments)
        out, errors = process.communicate(timeout=240)
        assert process.returncode == 0, errors[-3000:]
        return [json.loads(line) for line in out.splitlines()]

    return run


@pytest.fixture(autouse=True)
def modules_of_benchmarks(monkeypatch):
    """``chaos`` and ``faults`` are programs beside the package."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] in ("chaos", "faults")]:
        if name != "chaos":  # tests of the engine hold it
            del sys.modules[name]
