"""Shared by all tests: small graphs, one thread, real data where it is at hand."""

import json
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real datasets beside the project; the test is skipped where it is absent."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the folder of real datasets is not beside the project")
    return folder


@pytest.fixture(scope="session")
def shared_reference():
    """Published tables as data; the test is skipped where they are absent."""
    folder = SHARED / "reference"
    if not folder.is_dir():
        pytest.skip("the folder of published tables is not beside the project")
    return folder


def pytest_terminal_summary(terminalreporter):
    """Say how many attacks were tried, held and broke, by what they attack."""
    counts = attacks(terminalreporter)
    if not counts:
        return
    terminalreporter.section("attacks")
    for name, (tried, held, broken) in counts.items():
        terminalreporter.write_line(f"{name}: tried {tried}, held {held}, broken {broken}")
    total = [sum(column) for column in zip(*counts.values(), strict=True)]
    terminalreporter.write_line("all: tried {}, held {}, broken {}".format(*total))


def pytest_unconfigure(config):
    """Tell the same to a program that asked for it, in the last line."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("GRAPHNETZ_COUNTS") and reporter is not None and not hasattr(config, "workerinput"):
        reporter.write_line(json.dumps(attacks(reporter)))


def attacks(reporter):
    """Return tried, held and broken of ``tests/adversarial`` by file; tests that were skipped tried nothing."""
    counts = {}
    for outcome, held in (("passed", 1), ("failed", 0), ("error", 0)):
        for report in reporter.stats.get(outcome, []):
            file = report.nodeid.partition("::")[0]
            if "adversarial/" in file:
                row = counts.setdefault(Path(file).stem.removeprefix("test_").replace("_", " "), [0, 0, 0])
                row[0] += 1
                row[2 - held] += 1
    return dict(sorted(counts.items()))
