"""Change one thing in the store, the analysis or the statistics, and see whether a test notices (`make mutants`).

Mutants are sampled with a seed. First every test file runs once and says which lines each test reaches (kept in
``.cache/mutants``, so that an interrupted run goes on); then each mutant meets the examples of its module and the tests
that reach its line, quick ones first, in a process forked from one that has everything loaded. Prints one line per
mutant, keeps each in ``benchmarks/results/mutants.json`` (no times) and exits with 1 below 85 % killed. A mutant that
no test could notice is listed with the reason in ``benchmarks/equivalent.toml`` and counted apart.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import functools
import gc
import hashlib
import importlib
import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mutations import PACKAGES, ROOT, SOURCE, Mutant, everything

RESULTS = ROOT / "benchmarks" / "results" / "mutants.json"
EQUIVALENT = ROOT / "benchmarks" / "equivalent.toml"
CACHE = ROOT / ".cache" / "mutants"
GOAL = 0.85
IDLE = 10
FEW = 10
"""Fewer tests than these that reach a line: others of their files may see what the first of them computed."""
FILES = ("tests/stats/test_*.py", "tests/analysis/test_*.py", "tests/engine/test_store*.py",
         *(f"tests/report/test_{name}.py" for name in (
             "across_analysis", "call_depth", "diagnostics", "folds", "from_predictions",
             "gate", "outputs_agree", "population_planning", "report_files", "report_tables", "scores_in", "sections",
             "several_runs", "verdicts")),
         *(f"tests/engine/test_{name}.py" for name in ("auto_seeds", "predictions", "registration", "reproduce")),
         "tests/models/test_budget_runs.py", "tests/adversarial/test_integrity.py", "tests/adversarial/test_time.py",
         "tests/adversarial/test_verify.py")  # fmt: skip
"""Tests that can notice a mutant. Left out: those of documents, notebooks, pictures and whole studies."""
NOISE = ("FailedHealthCheck", "DeadlineExceeded")  # a busy machine, not a mutant
ARGUMENTS = ("-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-m", "not golden and not browser and not latex")


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


# -- which test reaches which line ----------------------------------------------------------------

Reached = dict[str, dict[str, Any]]
"""Tests by name: seconds, and lines by file."""


class Mapper:
    """A pytest plug-in that notes which lines of the three packages each passing test reaches."""

    def __init__(self, tree: Path) -> None:
        import coverage

        wanted = [str(tree / "graphnetz" / package / "*.py") for package in PACKAGES]
        self.tree, self.found = tree, dict[str, dict[str, Any]]()
        self.coverage = coverage.Coverage(data_file=None, include=wanted, config_file=False)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        for kept in _caches():
            kept.cache_clear()  # what another test computed must be computed, and so reached, again
        self.coverage.switch_context(nodeid)

    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> None:
        if fixturedef.scope != "function":  # made for the first test, used by all of the file
            self.coverage.switch_context(request.node.nodeid.partition("::")[0] or fixturedef.baseid)

    def pytest_runtest_call(self, item: Any) -> None:
        self.coverage.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        told = self.found.setdefault(report.nodeid, {"seconds": 0.0, "passed": True})
        told["seconds"] = round(told["seconds"] + report.duration, 3)
        told["passed"] = told["passed"] and report.passed

    def result(self) -> Reached:
        """Tests that passed, with their lines; what the fixtures of a file reached belongs to all of its tests."""
        lines: dict[str, dict[str, list[int]]] = {}
        data = self.coverage.get_data()
        for path in data.measured_files():
            name = str(Path(path).relative_to(self.tree))
            for line, contexts in data.contexts_by_lineno(path).items():
                for context in contexts:
                    lines.setdefault(context, {}).setdefault(name, []).append(line)
        kept = {}
        for test, told in self.found.items():
            mine: dict[str, set[int]] = {}
            for context in (test, test.partition("::")[0]):
                for name, numbers in lines.get(context, {}).items():
                    mine.setdefault(name, set()).update(numbers)
            if told["passed"] and mine:
                kept[test] = {"seconds": told["seconds"], "lines": {k: sorted(v) for k, v in mine.items()}}
        return kept


@functools.cache
def _caches() -> list[Any]:
    return [o for o in gc.get_objects() if isinstance(o, functools._lru_cache_wrapper)
            and str(getattr(o, "__module__", "")).startswith("graphnetz.")]  # fmt: skip


def reached(tree: Path, file: str, *, new: bool = True) -> Reached:
    """Run a test file once, or read what it reached as long as it does not change.

    Lines of a module that has changed since are those of another text: there the whole module counts as reached.
    """
    kept = CACHE / f"{file.replace('/', '.')}-{_digest(ROOT / file)}.json"
    if new and not kept.exists():
        CACHE.mkdir(parents=True, exist_ok=True)

        def act() -> int:
            import pytest

            mapper = Mapper(tree)
            mapper.coverage.start()
            pytest.main([*ARGUMENTS, file], plugins=[mapper])
            mapper.coverage.stop()
            tests = mapper.result()
            modules = {name: _digest(tree / name) for told in tests.values() for name in told["lines"]}
            kept.write_text(json.dumps({"modules": modules, "tests": tests}))
            return 0

        begin = time.monotonic()
        code, words = in_child(act, 1200)
        print(f"mapped {file}: {time.monotonic() - begin:.0f} s{'' if code == 0 else ': ' + words[-500:]}", flush=True)
    found = json.loads(kept.read_text()) if kept.exists() else {"modules": {}, "tests": {}}
    old = {
        name
        for name, digest in found["modules"].items()
        if not (tree / name).exists() or _digest(tree / name) != digest
    }
    for told in found["tests"].values():
        told["lines"] = {name: None if name in old else numbers for name, numbers in told["lines"].items()}
    return found["tests"]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def chosen_tests(mutant: Mutant, known: Reached, *, seconds: float) -> Iterator[list[str]]:
    """Yield the quickest tests that reach a mutant's line, the others, and where these are few all of their files.

    Each time for ``seconds`` at most.
    """
    first, last = mutant.lines if mutant.where else (0, 10**9)

    def reaches(told: dict[str, Any]) -> bool:
        numbers = told["lines"].get(mutant.file, ())
        return numbers is None or any(first <= number <= last for number in numbers)

    near = [test for test, told in known.items() if reaches(told)]
    near = near or [test for test, told in known.items() if mutant.file in told["lines"]]
    files = {test.partition("::")[0] for test in near}
    far = [t for t, told in known.items() if t.partition("::")[0] in files and mutant.file in told["lines"]]
    quick = sorted(near, key=lambda test: known[test]["seconds"])
    yield quick[:FEW]
    for tests in (quick[FEW:], far if len(near) < FEW else []):
        picked, spent = [], 0.0
        for test in sorted(tests, key=lambda t: known[t]["seconds"]):
            spent += known[test]["seconds"]
            if spent < seconds or not picked:
                picked.append(test)
        if picked:
            yield picked


# -- one mutant -----------------------------------------------------------------------------------


class Only:
    """A pytest plug-in that keeps the given tests of the given files, quick files first."""

    def __init__(self, tests: list[str]) -> None:
        self.rank = {test: i for i, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        kept = [item for item in items if item.nodeid in self.rank]
        files: dict[str, int] = {}
        for item in kept:
            file = item.nodeid.partition("::")[0]
            files[file] = min(files.get(file, 10**9), self.rank[item.nodeid])
        items[:] = sorted(kept, key=lambda i: (files[i.nodeid.partition("::")[0]], self.rank[i.nodeid]))


def judge(module: str, tests: list[str]) -> int:
    """Run examples and tests in this process; 0 means that nobody noticed anything."""
    import pytest

    found = importlib.import_module(module)
    if doctest.testmod(found, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).failed:
        return 1
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    return int(pytest.main(["-x", *ARGUMENTS, *files], plugins=[Only(tests)])) if tests else 0


def exchanged(path: Path, changed: bytes) -> Callable[[], None] | None:
    """Return what gives the loaded functions of a file their changed code; None where it must be imported anew."""
    old, new = _codes(compile(path.read_bytes(), path, "exec")), _codes(compile(changed, path, "exec"))
    if old.keys() != new.keys() or any(len(old[name]) != len(new[name]) for name in old):
        return None
    pairs = []
    for function in _functions().get(str(path), []):
        code = function.__code__
        places = [i for i, one in enumerate(old[code.co_qualname]) if one.co_firstlineno == code.co_firstlineno]
        if len(places) != 1 or new[code.co_qualname][places[0]].co_freevars != code.co_freevars:
            return None
        pairs.append((function, new[code.co_qualname][places[0]]))

    def put() -> None:
        for function, code in pairs:
            function.__code__ = code
        for kept in _caches():
            kept.cache_clear()

    return put


def _codes(code: types.CodeType) -> dict[str, list[types.CodeType]]:
    found: dict[str, list[types.CodeType]] = {}
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            found.setdefault(part.co_qualname, []).append(part)
            for name, more in _codes(part).items():
                found.setdefault(name, []).extend(more)
    return found


@functools.cache
def _functions() -> dict[str, list[types.FunctionType]]:
    found: dict[str, list[types.FunctionType]] = {}
    for one in gc.get_objects():
        if isinstance(one, types.FunctionType):
            found.setdefault(one.__code__.co_filename, []).append(one)
    return found


def verdict(tree: Path, mutant: Mutant, known: Reached, *, seconds: float) -> str:
    """Say what became of a mutant: killed, survived or timeout (which somebody would notice too)."""
    module, path = mutant.file.removesuffix(".py").replace("/", "."), tree / mutant.file
    whole = path.read_bytes()
    changed = mutant.applied(whole)
    put = exchanged(path, changed) if mutant.where else None
    path.write_bytes(changed)  # for processes that tests start
    try:
        for tests in chosen_tests(mutant, known, seconds=seconds):
            for _ in range(2):
                code, words = _tried(tree, module, tests, put=put, seconds=2 * seconds + 60)
                if not (code and any(mark in words for mark in NOISE)):
                    break
            if code:
                return "timeout" if code in (-9, -signal.SIGXCPU) else "killed"
        return "survived"
    finally:
        path.write_bytes(whole)


def _tried(
    tree: Path, module: str, tests: list[str], *, put: Callable[[], None] | None, seconds: float
) -> tuple[int, str]:
    if put is not None:
        return in_child(lambda: put() or judge(module, tests), seconds)  # type: ignore[func-returns-value]
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "tests.json"
        told.write_text(json.dumps([module, tests]))

        def act() -> int:
            return subprocess.run([sys.executable, __file__, "--judge", str(told), "--tree", str(tree)]).returncode

        return in_child(act, seconds)


# -- the whole ------------------------------------------------------------------------------------


def preload(tree: Path) -> None:
    """Import the package from ``tree``, and what every child needs."""
    sys.path.insert(0, str(tree))
    os.environ["PYTHONPATH"] = str(tree)
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        for name in ("torch", "torch_geometric", "torch_geometric.nn", "pandas", "scipy.stats", "statsmodels.api",
                     "statsmodels.formula.api", "matplotlib.pyplot", "hypothesis", "pytest", "networkx", "sklearn",
                     "pydantic", "rich", "typer", "jinja2", "psutil", "coverage"):  # fmt: skip
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        for package in ("graphnetz", *(f"graphnetz.{name.replace('/', '.')}" for name in PACKAGES)):
            found = importlib.import_module(package)
            assert str(found.__file__).startswith(str(tree)), found.__file__
        for package in PACKAGES:
            for path in sorted((tree / "graphnetz" / package).glob("[!_]*.py")):
                importlib.import_module(str(path.relative_to(tree).with_suffix("")).replace("/", "."))


def collect(known: Reached) -> None:
    """Import the test files here, so that no child has to; nothing of them is run."""
    import pytest

    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["--collect-only", *ARGUMENTS, *dict.fromkeys(test.partition("::")[0] for test in known)])


def keep(rows: dict[str, dict[str, Any]], possible: dict[str, int], *, seed: int) -> dict[str, dict[str, Any]]:
    """Write how many mutants of each package were noticed, and which were not."""
    reasons = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["mutant"] if EQUIVALENT.exists() else []
    why = {row["name"]: row["why"] for row in reasons}
    body = {}
    for name in PACKAGES:
        mine = {key: row for key, row in rows.items() if key.startswith(f"graphnetz/{name}/")}
        left = {key: row for key, row in mine.items() if row["ended"] == "survived"}
        same = [row | {"name": key, "why": why[key]} for key, row in left.items() if key in why]
        counts = {"possible": possible[name], "tried": len(mine), "killed": len(mine) - len(left)}
        survivors = [row | {"name": key} for key, row in left.items() if key not in why]
        body[name] = {"seed": seed, **counts, "equivalent": same, "survivors": survivors, "mutants": mine}
    RESULTS.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    return body


def earlier(*, again: bool, survivors: bool) -> dict[str, dict[str, Any]]:
    """Mutants that were tried before, by name."""
    if again or not RESULTS.exists():
        return {}
    body = json.loads(RESULTS.read_text(encoding="utf-8"))
    rows = {key: row for part in body.values() for key, row in part.get("mutants", {}).items()}
    return {key: row for key, row in rows.items() if not (survivors and row["ended"] == "survived")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=40, help="how many mutants of each package")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--package", action="append", choices=PACKAGES, help="only these packages")
    parser.add_argument("--seconds", type=float, default=90, help="of tests that a mutant must survive")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after this time; the next call goes on")
    parser.add_argument("--mapped", action="store_true", help="leave out tests whose lines are not known yet")
    parser.add_argument("--again", action="store_true", help="forget what was tried before")
    parser.add_argument("--survivors", action="store_true", help="try again those that survived")
    parser.add_argument("--judge", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--tree", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    sys.dont_write_bytecode = True
    os.chdir(ROOT)
    if options.judge is not None:
        sys.path.insert(0, str(options.tree))
        return judge(*json.loads(options.judge.read_text()))
    end = time.monotonic() + 60 * options.minutes
    found = everything(options.seed)
    chosen = {m.name: m for name in options.package or PACKAGES for m in found[name][: options.sample]}
    rows = earlier(again=options.again, survivors=options.survivors)
    todo = [mutant for name, mutant in chosen.items() if name not in rows]
    possible = {name: len(found[name]) for name in PACKAGES}
    with tempfile.TemporaryDirectory(prefix="graphnetz-mutants-") as folder:
        tree = Path(folder)
        shutil.copytree(SOURCE / "graphnetz", tree / "graphnetz", ignore=shutil.ignore_patterns("__pycache__"))
        preload(tree)
        known: Reached = {}
        for file in sorted({str(path.relative_to(ROOT)) for pattern in FILES for path in ROOT.glob(pattern)}):
            if time.monotonic() < end and todo:
                known |= reached(tree, file, new=not options.mapped)
        if todo:
            collect(known)
        _functions()
        for mutant in todo:
            if time.monotonic() > end:
                print("stopped; call again to go on")
                break
            ended = verdict(tree, mutant, known, seconds=options.seconds)
            rows[mutant.name] = {"line": mutant.line, "before": mutant.before, "after": mutant.text, "ended": ended}
            place, change = f"{mutant.file}:{mutant.line}", f"{mutant.before[:60]!r} -> {mutant.text[:60]!r}"
            print(f"{ended}: {place}: {mutant.kind}: {change}", flush=True)
            keep(rows, possible, seed=options.seed)
    others = tuple(f"graphnetz/{name}/" for name in PACKAGES if name not in (options.package or PACKAGES))
    rows = {key: row for key, row in rows.items() if key in chosen or key.startswith(others)}
    return summary(keep(rows, possible, seed=options.seed))


def summary(body: dict[str, dict[str, Any]]) -> int:
    """Print the counts; 1 below the goal."""
    shares = []
    for name, part in body.items():
        tried = part["tried"] - len(part["equivalent"])
        shares.append((part["killed"], tried))
        print(f"{name}: {part['killed']} of {tried} killed, {len(part['equivalent'])} equivalent")
    killed, tried = map(sum, zip(*shares, strict=True))
    print(f"total: {killed} of {tried} killed ({killed / max(tried, 1):.1%})")
    return 0 if killed >= GOAL * tried else 1


if __name__ == "__main__":
    sys.exit(main())
