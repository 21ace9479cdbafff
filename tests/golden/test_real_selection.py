"""The recommendation on real graphs left out by domain: the figures of the documentation, computed again."""

import importlib.util
import json
from pathlib import Path

import pytest

from graphnetz.selection import PerformanceBank
from graphnetz.selection.real import known_graphs

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.golden


@pytest.fixture(scope="module")
def found():
    spec = importlib.util.spec_from_file_location("bench_real", ROOT / "benchmarks" / "bench_real_selection.py")
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    bank = PerformanceBank.load()
    return {task: bench.summary(bench.left_out(known_graphs(bank, task))) for task in bench.TASKS}


def test_kept_figures_are_those_of_the_shipped_bank(found):
    kept = json.loads((ROOT / "benchmarks" / "results" / "selection_real.json").read_text())
    assert set(kept) == set(found)
    for task, figures in kept.items():
        for name, value in figures.items():
            assert found[task][name] == pytest.approx(value, abs=1e-6, nan_ok=True), (task, name)


def test_documentation_shows_the_figures(found):
    """Every number of the table is one of those computed, column by column."""
    page = (ROOT / "docs" / "selection.md").read_text(encoding="utf-8")
    rows = {
        "first choice reaches": ("first", 3), "average best reaches": ("average best", 3),
        "a random configuration": ("random", 3), "best of all": ("mean best", 3),
        "gain over the average best, mean of domains": ("gain by domain", 3),
        "p, sign flips of domains": ("p (sign flips of domains, one-sided)", 3),
        "p, Wilcoxon of domains": ("p (Wilcoxon of domains, one-sided)", 3),
        "regret of the first choice": ("regret of first", 3), "regret of the best of three": ("regret of three", 3),
        "the same of the average best three": ("regret of the average three", 3),
        "graphs with the warning": ("warned", 2), "regret of the first choice with it": ("regret where warned", 3),
        "without it": ("regret elsewhere", 3),
    }  # fmt: skip
    for words, (name, places) in rows.items():
        (line,) = (line for line in page.splitlines() if line.startswith(f"| {words} |"))
        cells = [cell.strip(" *") for cell in line.strip("|").split("|")][2:]
        assert len(cells) == len(found), line
        for cell, task in zip(cells, found, strict=True):
            value = found[task][name]
            if value != value:
                assert cell == "none warned", line
                continue
            shown = float(cell.removesuffix(" %")) / (100 if cell.endswith("%") else 1)
            assert shown == pytest.approx(value, abs=0.5 * 10**-places + 1e-9), (line, task)


@pytest.mark.parametrize(("task", "regret"), [("link_pred", 0.015), ("node_cls", 0.03)])
def test_targets_that_are_met_stay_met(found, task, regret):
    held = found[task]
    assert held["gain by domain"] > 0
    assert held["regret of three"] <= regret
    assert 0.85 <= held["coverage"] <= 0.95
    assert held["warned"] <= 1 / 3


def test_nodes_beat_the_average_best_with_domains_as_blocks(found):
    assert found["node_cls"]["p (sign flips of domains, one-sided)"] < 0.05
