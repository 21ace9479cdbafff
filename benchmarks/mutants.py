"""Change one thing in the store, the analysis or the statistics, and see whether a test notices (`make mutants`).

Mutants are sampled with a seed. Each is run against the examples of its module and the tests that are about it, and
against the wide selection of its package when it survives those. Prints one line per mutant, writes
``benchmarks/results/mutants.json`` (no times, no paths outside the project) and exits with 1 below 85 % killed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import doctest
import fnmatch
import importlib
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
RESULTS = ROOT / "benchmarks" / "results" / "mutants.json"
GOAL = 0.85
IDLE = 10
REPORT = "tests/report/test_"

# Package: modules by pattern -> the tests that are about them; "" -> the wide selection.
TESTS: dict[str, dict[str, list[str]]] = {
    "engine/store": {
        "*": ["tests/engine/test_store.py"],
        "": ["tests/engine/test_predictions.py", "tests/engine/test_registration.py"],
    },
    "stats": {
        "bayes": ["tests/stats/test_stats_equivalence_bayes_published.py"],
        "equivalence": ["tests/stats/test_stats_equivalence_bayes_published.py"],
        "published": ["tests/stats/test_stats_equivalence_bayes_published.py"],
        "boundaries": ["tests/stats/test_stats_sequential.py"],
        "bradley_terry": ["tests/stats/test_stats_across.py"],
        "mixed": ["tests/stats/test_stats_across.py"],
        "aggregates": ["tests/stats/test_stats_across.py"],
        "moderated": ["tests/stats/test_stats_shrinkage_moderated.py"],
        "shrinkage": ["tests/stats/test_stats_shrinkage_moderated.py"],
        "simultaneous": ["tests/stats/test_stats_simultaneous.py", "tests/stats/test_stats_families.py"],
        "repeated": ["tests/stats/test_stats_eprocess.py", "tests/stats/test_stats_sequential.py"],
        "_common": ["tests/stats/test_stats_paired.py", "tests/stats/test_stats_intervals.py"],
        "*": ["tests/stats/test_stats_{name}.py"],
        "": ["tests/stats"],
    },
    "analysis": {
        "examples": ["tests/analysis/test_analysis_examples.py"],
        "reach": ["tests/analysis/test_reach.py"],
        "advice": ["tests/analysis/test_reach.py"],
        "components": ["tests/analysis/test_reach.py"],
        "diagnostics": [f"{REPORT}diagnostics.py"],
        "run_changes": [f"{REPORT}several_runs.py"],
        "planning": [f"{REPORT}population_planning.py"],
        "task_population": [f"{REPORT}population_planning.py"],
        "power": [f"{REPORT}population_planning.py", f"{REPORT}report_tables.py"],
        "aggregates": [f"{REPORT}across_analysis.py"],
        "across_tasks": [f"{REPORT}across_analysis.py"],
        "ranking": [f"{REPORT}across_analysis.py", f"{REPORT}report_tables.py"],
        "sequential": [f"{REPORT}verdicts.py", "tests/engine/test_auto_seeds.py"],
        "curves": [f"{REPORT}report_files.py"],
        "sizes": ["tests/models/test_budget_runs.py"],
        "published": ["tests/datasets/test_cross_category.py", "tests/papers/test_studies.py"],
        "*": ["tests/analysis", f"{REPORT}verdicts.py"],
        "": ["tests/analysis", *(f"{REPORT}{name}.py" for name in ("verdicts", "diagnostics", "report_tables",
             "across_analysis", "population_planning", "several_runs", "folds", "outputs_agree"))],
    },
}  # fmt: skip

COMPARES = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
            ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}  # fmt: skip
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
              ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One changed place: bytes from ``start`` to ``end`` of a file become ``text``."""

    package: str
    file: str
    line: int
    kind: str
    before: str
    text: str
    start: int
    end: int


def mutants_of(package: str, path: Path) -> Iterator[Mutant]:
    """Every mutant of one module."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    hidden = set(_untouched(tree))
    for node in ast.walk(tree):
        if node in hidden:
            continue
        for kind, changed in _changes(node):
            begin, end = (starts[row - 1] + column for row, column in
                          ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)))  # fmt: skip
            text = ast.unparse(changed)
            text = text if isinstance(changed, ast.stmt) else f"({text})"
            before = source.encode()[begin:end].decode()
            yield Mutant(package, str(path.relative_to(SOURCE)), node.lineno, kind, before, text, begin, end)


def _untouched(tree: ast.Module) -> Iterator[ast.AST]:
    """Types, texts, error messages and defaults of settings: nothing is computed there."""
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.arg | ast.AnnAssign):
            parts = [node.annotation]
        elif isinstance(node, ast.FunctionDef):
            parts = [node.returns, *node.decorator_list]
        elif isinstance(node, ast.ClassDef):
            parts = [*node.decorator_list, *node.bases]
        elif (
            isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom)
            or (isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("warn", "TypeVar", "cast"))
            or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("__all__",))
            or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
        ):
            parts = [node]
        for part in parts:
            if part is not None:
                yield from ast.walk(part)


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            other = copy.deepcopy(node)
            other.ops[i] = COMPARES[type(operator)]()
            yield "comparison", other
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        if not (isinstance(node.left, ast.Constant) and isinstance(node.left.value, str | bytes)):
            other = copy.deepcopy(node)
            other.op = ARITHMETIC[type(node.op)]()
            yield "arithmetic", other
    elif isinstance(node, ast.BoolOp):
        other = copy.deepcopy(node)
        other.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and/or", other
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "negation", copy.deepcopy(node.operand)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        value = not node.value if isinstance(node.value, bool) else node.value + 1
        yield "constant", ast.Constant(value)
    elif isinstance(node, ast.IfExp):
        other = copy.deepcopy(node)
        other.test = ast.UnaryOp(ast.Not(), other.test)
        yield "condition", other
    elif isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        logical = isinstance(node.value, ast.Compare | ast.BoolOp)
        yield "return", ast.Return(ast.UnaryOp(ast.Not(), node.value) if logical else ast.Constant(None))
    elif isinstance(node, ast.AugAssign | ast.Delete) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield "removed statement", ast.Pass()


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def everything() -> dict[str, list[Mutant]]:
    """All mutants by package, in a fixed order."""
    found = {}
    for package in TESTS:
        paths = sorted((SOURCE / "graphnetz" / package).glob("*.py"))
        found[package] = [m for path in paths if path.name != "__init__.py" for m in mutants_of(package, path)]
    return found


def tests_of(mutant: Mutant) -> tuple[list[str], list[str]]:
    """The tests that are about a mutant's module, and the wide selection."""
    known, name = TESTS[mutant.package], Path(mutant.file).stem
    near = next(tests for pattern, tests in known.items() if pattern and fnmatch.fnmatch(name, pattern))
    return [test.format(name=name) for test in near], known[""]


def in_child(act: Callable[[], int], seconds: float) -> tuple[int, str]:
    """Call ``act`` in a forked process with the libraries at hand; return its code and words.

    It may take ``seconds`` of computing time, and some times as long in all: a busy machine kills no mutant.
    """
    with tempfile.TemporaryFile() as words:
        child = os.fork()
        if child == 0:
            code = 70
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
            for stream in (1, 2):
                os.dup2(words.fileno(), stream)
            try:
                code = act()
            finally:
                sys.stdout.flush()
                os._exit(code)
        deadline = time.monotonic() + IDLE * seconds
        status = None
        while status is None and time.monotonic() < deadline:
            pid, state = os.waitpid(child, os.WNOHANG)
            status = os.waitstatus_to_exitcode(state) if pid else None
            time.sleep(0.02)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        if status is None:
            os.waitpid(child, 0)
        words.seek(0)
        return (-9 if status is None else status), words.read().decode(errors="replace")[-4000:]


def judge(tree: Path, module: str, tests: list[str]) -> int:
    """Run examples and tests with the package below ``tree``; 0 means that nobody noticed anything."""
    import pytest

    sys.path.insert(0, str(tree))
    os.environ["PYTHONPATH"] = str(tree)
    sys.path_importer_cache.clear()
    importlib.invalidate_caches()
    found = importlib.import_module(module)
    assert str(found.__file__).startswith(str(tree)), found.__file__
    if doctest.testmod(found, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).failed:
        return 1
    there = [test for test in tests if (ROOT / test).exists()]
    return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-m", "not golden and not browser", *there]))


NOISE = ("FailedHealthCheck", "DeadlineExceeded")  # a busy machine, not a mutant


def verdict(tree: Path, mutant: Mutant, *, seconds: float) -> str:
    """Say what became of a mutant: killed, survived or timeout (which somebody would notice too)."""
    module = mutant.file.removesuffix(".py").replace("/", ".")
    near, wide = tests_of(mutant)
    for tests in (near, wide):
        code, words = in_child(lambda tests=tests: judge(tree, module, tests), seconds)
        if code and any(mark in words for mark in NOISE):
            code, words = in_child(lambda tests=tests: judge(tree, module, tests), seconds)
        if code:
            return "timeout" if code in (-9, -signal.SIGXCPU) else "killed"
    return "survived"


def unchanged(tree: Path, chosen: list[Mutant]) -> None:
    """Insist that the tests pass before anything is changed: otherwise every mutant would count as killed."""
    for package in {mutant.package: None for mutant in chosen}:
        mine = [mutant for mutant in chosen if mutant.package == package]
        tests = list(dict.fromkeys(test for mutant in mine for part in tests_of(mutant) for test in part))
        module = mine[0].file.removesuffix(".py").replace("/", ".")
        code, words = in_child(lambda tests=tests, module=module: judge(tree, module, tests), 3600)
        assert code == 0, f"the tests of {package} fail on the unchanged package: {words}"
        print(f"{package}: the tests pass unchanged", flush=True)


def preload() -> None:
    """Import what every child needs and no mutant changes."""
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        for name in ("torch", "torch_geometric", "torch_geometric.nn", "pandas", "scipy.stats", "statsmodels.api",
                     "statsmodels.formula.api", "matplotlib.pyplot", "hypothesis", "pytest", "networkx", "sklearn",
                     "pydantic", "rich", "typer", "jinja2", "psutil"):  # fmt: skip
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=60, help="how many mutants, shared by the three packages")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--package", action="append", choices=list(TESTS), help="only these packages")
    parser.add_argument("--seconds", type=float, default=300, help="for one selection of tests")
    parser.add_argument("--trust", action="store_true", help="do not try the tests on the unchanged package first")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("MPLBACKEND", "Agg")
    sys.dont_write_bytecode = True
    rng = random.Random(options.seed)
    found = everything()
    packages = options.package or list(TESTS)
    chosen = [
        m for name in packages for m in rng.sample(found[name], min(len(found[name]), options.sample // len(packages)))
    ]
    preload()
    os.chdir(ROOT)
    rows = []
    with tempfile.TemporaryDirectory(prefix="graphnetz-mutants-") as folder:
        tree = Path(folder)
        shutil.copytree(SOURCE / "graphnetz", tree / "graphnetz", ignore=shutil.ignore_patterns("__pycache__"))
        if not options.trust:
            unchanged(tree, chosen)
        for mutant in chosen:
            path = tree / mutant.file
            whole = path.read_bytes()
            path.write_bytes(whole[: mutant.start] + mutant.text.encode() + whole[mutant.end :])
            ended = verdict(tree, mutant, seconds=options.seconds)
            path.write_bytes(whole)
            row = {"file": mutant.file, "line": mutant.line, "kind": mutant.kind, "before": mutant.before,
                   "after": mutant.text, "ended": ended}  # fmt: skip
            rows.append(row)
            place, change = f"{mutant.file}:{mutant.line}", f"{mutant.before[:60]!r} -> {mutant.text[:60]!r}"
            print(f"{ended}: {place}: {mutant.kind}: {change}", flush=True)
            keep(rows, {name: len(found[name]) for name in packages}, seed=options.seed)
    killed = sum(row["ended"] != "survived" for row in rows)
    print(f"total: {killed} of {len(rows)} killed ({killed / max(len(rows), 1):.0%})")
    return 0 if killed >= GOAL * len(rows) else 1


def keep(rows: list[dict[str, object]], possible: dict[str, int], *, seed: int) -> None:
    """Write how many mutants of each package were noticed, and which were not."""
    body = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name, count in possible.items():
        mine = [row for row in rows if str(row["file"]).startswith(f"graphnetz/{name}/")]
        survivors = [row for row in mine if row["ended"] == "survived"]
        counts = {"possible": count, "tried": len(mine), "killed": len(mine) - len(survivors)}
        body[name] = {"seed": seed, **counts, "survivors": survivors}
    text = json.dumps({name: body[name] for name in TESTS if name in body}, indent=1)
    RESULTS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
