"""One version, one distribution name, one sentence when two distributions share files; floors, lines, commit messages."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import graphnetz
from graphnetz._core.errors import MissingExtraError
from graphnetz._core.optional import DISTRIBUTION, clash, require

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_version_stands_in_one_place_and_the_citation_agrees():
    assert "version" not in PROJECT["project"]
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "graphnetz.__version__"}
    cited = re.search(r"^version: *(\S+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert cited[1] == graphnetz.__version__
    # A literal: whoever builds the package reads it without importing torch.
    tree = ast.parse((ROOT / "src" / "graphnetz" / "__init__.py").read_text())
    values = [n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__version__"]
    assert [ast.literal_eval(value) for value in values] == [graphnetz.__version__]


def test_what_is_printed_installs_this_distribution_and_not_the_published_one():
    assert PROJECT["project"]["name"] == DISTRIBUTION != "graphnetz"
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'graphnetz-bench[ogb]'")):
        require("no_such_module_anywhere", extra="ogb", purpose="this test")
    texts = [*ROOT.glob("src/**/*.py"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("scripts/*"), ROOT / "README.md"]
    wrong = re.compile(r"pip install ['\"]?graphnetz(\[|['\"\s]|$)", re.M)
    assert [str(p.relative_to(ROOT)) for p in texts if p.is_file() and wrong.search(p.read_text())] == []
    assert DISTRIBUTION in (ROOT / "README.md").read_text()


@pytest.fixture
def site(tmp_path):
    """A folder where this package is installed, as pip would."""
    (tmp_path / "graphnetz").symlink_to(ROOT / "src" / "graphnetz", target_is_directory=True)
    ours = tmp_path / "graphnetz_bench-9.9.dist-info"
    ours.mkdir()
    (ours / "RECORD").write_text("graphnetz/__init__.py,,\n")
    return tmp_path


def python(site, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(site)}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, timeout=60)


def publish(site, record):
    other = site / "graphnetz-0.2.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: graphnetz\nVersion: 0.2.0\n")
    (other / "RECORD").write_text(record)


def test_alone_it_runs_and_an_editable_install_of_the_old_name_is_no_clash(site):
    publish(site, "__editable__.graphnetz-1.0.0.dev0.pth,,\n")
    done = python(site, "-m", "graphnetz", "--version")
    assert (done.returncode, done.stdout.strip()) == (0, f"graphnetz {graphnetz.__version__}"), done.stderr
    assert clash() is None


def test_two_distributions_over_the_same_files_are_answered_in_one_sentence(site):
    publish(site, "graphnetz/__init__.py,sha256=x,1\ngraphnetz/training.py,sha256=x,1\n")
    done = python(site, "-m", "graphnetz", "--version")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.strip() == (
        "graphnetz 0.2.0, another project's package, is installed over the files of graphnetz-bench: "
        "run pip uninstall --yes graphnetz graphnetz-bench, then install the one you want."
    )
    # A name whose module is the other's, or gone with it, says the same.
    broken = "import sys, graphnetz; sys.modules['graphnetz.training'] = None; graphnetz.train_dgi"
    said = python(site, "-c", broken).stderr.strip().splitlines()[-1]
    assert said.startswith("ImportError: graphnetz 0.2.0, another project's package")


def test_importing_the_package_does_not_look_for_distributions():
    seen = "import sys, graphnetz; print([m for m in ('importlib.metadata', 'graphnetz._core.optional') if m in sys.modules])"
    assert python(ROOT / "src", "-S", "-c", seen).stdout.strip() == "[]"


def test_every_requirement_declares_a_floor_and_the_pins_are_those():
    floors = script("minimum_versions").floors
    pins = floors(PROJECT["project"]["dependencies"], {"torch": "torch==2.13.0"})
    assert pins[0] == "torch==2.13.0"
    assert "scipy==1.15" in pins
    assert "torch_geometric==2.6" in pins
    for requirements in PROJECT["project"]["optional-dependencies"].values():
        assert len(floors(requirements)) == len(requirements)
    with pytest.raises(SystemExit, match="no lowest version"):
        floors(["numpy"])


def test_code_lines_stay_below_the_bound():
    counter = script("code_lines")
    text = '"""Doc."""\n\n# why\nx = (\n    1,  # one\n)\n\n\ndef f():\n    """Doc\n    on two."""\n    return """a\n    b"""\n'
    assert counter.code_lines(text) == 6
    assert counter.count().total() < counter.BOUND


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Start workers by spawn\n\nWindows has no fork.\n# a comment of git", ""),
        ("Merge branch 'x'", ""),
        ("x" * 71 + "\n\nWhy.", ""),
        ("x" * 72 + "\n\nWhy.", "at most 71"),
        ("Mend it", "no body"),
        ("Mend it\nbecause", "must be empty"),
        ("# only a comment", "is empty"),
    ],
)
def test_commit_messages_have_a_short_subject_and_a_body(message, said, tmp_path):
    path = tmp_path / "message"
    path.write_text(message)
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "commit_message.py", path], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == (1 if said else 0)
    assert said in done.stderr


def test_public_ci_covers_three_systems_and_holds_no_secret():
    yaml = pytest.importorskip("yaml")
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    jobs = yaml.safe_load(text)["jobs"]
    assert set(jobs["tests"]["strategy"]["matrix"]["os"]) == {"ubuntu-latest", "macos-latest", "windows-latest"}
    assert set(jobs) >= {"lint", "tests", "minimum", "docs", "release"}
    assert "secrets." not in text
    used = re.findall(r"uses: (\S+)", text)
    assert used
    assert all(re.fullmatch(r"[\w./-]+@v\d+", action) for action in used)


@pytest.mark.parametrize(("mark", "variable"), [("alone", "ALONE"), ("browser", "BROWSER")])
def test_tests_that_run_apart_lie_where_make_looks_for_them(mark, variable):
    folders = re.search(rf"^{variable} := (.+)$", (ROOT / "Makefile").read_text(), re.M)[1].split()
    marked = [path for path in ROOT.glob("tests/**/*.py") if f"pytest.mark.{mark}" in path.read_text()]
    assert marked
    assert [path.relative_to(ROOT) for path in marked if not any(path.is_relative_to(ROOT / f) for f in folders)] == []
