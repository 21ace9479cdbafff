"""One installed plug-in adds one of everything; every door finds it, and the report names it."""

import json
import re
from pathlib import Path

import pytest

from graphnetz.cli.inspect import REGISTRIES, _registry

SOURCE = Path(__file__).with_name("everything.py").read_text(encoding="utf-8")
POINTS = {
    "datasets": ("datasets", "plug_rings", "plug_rings"),
    "models": ("models", "PlugLinear", "PlugLinear"),
    "suites": ("suites", "plug-suite", "plug_suite"),
    "task_types": ("task_types", "plug_nodes", "PlugNodes"),
    "metrics": ("metrics", "plug_share", "plug_share"),
    "optimisers": ("optimisers", "plug_sgd", "plug_sgd"),
    "paired_tests": ("paired_tests", "plug_signs", "plug_signs"),
    "intervals": ("intervals", "plug_wide", "plug_wide"),
    "corrections": ("corrections", "plug_sidak", "plug_sidak"),
    "spending": ("spending", "plug_even", "plug_even"),
    "executors": ("executors", "plug_serial", "PlugSerial"),
    "protocols": ("protocols", "plug_short", "plug_short"),
    "trackers": ("loggers", "plug_lines", "PlugLines"),
    "figures": ("figures", "plug_nothing", "plug_nothing"),
    "perturbations": ("perturbations", "plug_doubled", "plug_doubled"),
    "structures": ("structures", "plug_hops", "plug_hops"),
    "features": ("features", "plug_first", "plug_first"),
    "extractors": ("extractors", "plug_squares", "plug_squares"),
    "selectors": ("selectors", "plug_median", "PlugMedian"),
    "collections": ("collections", "plug_collection", "plug_collection"),
    "papers": ("replications", "plug-paper", "plug_paper"),
    "checks": ("audit", "plug constant feature", "plug_constant"),
}
CONTRACTS = """
from graphnetz import testing
testing.check_dataset("plug_rings")
testing.check_model("PlugLinear")
testing.check_task_type("plug_nodes")
testing.check_metric("plug_share")
testing.check_paired_test("plug_signs")
testing.check_interval("plug_wide")
testing.check_correction("plug_sidak")
testing.check_executor("plug_serial")
testing.check_tracker("plug_lines")
testing.check_perturbation("plug_doubled")
testing.check_selector("plug_median")
print("kept")
"""
USES = """
import numpy as np
from graphnetz import audit, run_benchmark
from graphnetz.cli.load import load_report
from graphnetz.datasets import find_task
from graphnetz.rings import complementarity, perturb
from graphnetz.selection import SELECTORS, meta_features
from graphnetz.stats import adjust, nominal_levels
report = load_report(__import__("pathlib").Path("run"))
pairs = report.pairwise(method="plug_signs")
assert set(pairs["method"]) == {"plug_signs"}, pairs
assert report.summary(method="plug_wide")["ci_low"].notna().any()
assert adjust([0.1, 0.2], method="plug_sidak").tolist()
graph = find_task("plug_rings").loader("data")
assert bool((perturb(graph, "plug_doubled").x == 2 * graph.x).all())
assert np.isfinite(complementarity([graph], perturbation="plug_doubled", structure="plug_hops", features="plug_first")).all()
assert meta_features(graph, set="compact+plug_squares").shape == (58 + 63,)
assert any("plugged check" in str(found) for found in audit("plug_rings"))
other = run_benchmark(models="PlugLinear", tasks=[find_task("plug_rings")], seeds=[0], epochs=2, backend="plug_serial",
                      protocol={"optimiser": "plug_sgd"}, verbose=False)
assert other.results[0].ok, other.results[0].error
print("used")
"""


COMMANDS = """
from graphnetz.cli.app import run_app
for command in (
    ["list", "--json"],
    ["list", "selectors"],
    ["rings", "complementarity", "plug_rings", "--mode", "o", "--mode", "plug_doubled"],
    ["select", "features", "--set", "compact+plug_squares"],
    ["select", "--selector", "plug_median", "--top", "2"],
):
    print("---")
    assert run_app(command) == 0, command
"""


@pytest.fixture
def full(site):
    """A process that finds the plug-in in every group, and nothing else."""
    assert set(POINTS) == {name for name in REGISTRIES if _registry(name).group}
    site.install("gn-everything", SOURCE, **{group: {name: target} for group, name, target in POINTS.values()})
    return site


def test_one_of_everything_is_run_and_named_by_the_report(full, tmp_path):
    out, _ = full.graphnetz(
        "run", "--task", "plug_rings", "--model", "PlugLinear", "--model", "GCN", "--seeds", "3", "--epochs", "2",
        "--backend", "plug_serial", "--log", "plug_lines", "--out", "run", "--quiet", cwd=tmp_path,
    )  # fmt: skip
    assert "cannot be told apart from" in out
    words = {"summary.csv": "plug_rings,PlugLinear", "report.html": "plugged share", "results.json": "test_plug_share"}
    for name, word in words.items():
        text = (tmp_path / "run" / name).read_text(encoding="utf-8")
        assert all(wanted in text for wanted in ("plug_rings", "PlugLinear", word)), name
    lines = (tmp_path / "run" / "plug_lines.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 6
    assert "plug_rings PlugLinear 2 ok" in lines
    done = full.run("-c", USES, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "used\n"), done.stderr[-3000:]


def test_one_of_everything_is_listed_and_taken_by_the_commands(full):
    done = full.run("-c", COMMANDS)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "gn-everything" not in done.stderr, "nothing to complain about"
    overview, selectors, rings, features, chosen = done.stdout.split("---\n")[1:]
    assert {row["list"]: row["from plug-ins"] for row in json.loads(overview)} == {
        name: int(name in POINTS) for name in REGISTRIES
    }
    assert re.search(r"plug_median +plugged median +gn-everything 1\.2", selectors)
    assert "plug_doubled: " in rings
    assert "plug_squares_mean" in features
    assert len(chosen.splitlines()) >= 2


def test_one_of_everything_keeps_the_public_contracts(full):
    assert full.python(CONTRACTS)[0] == "kept"
