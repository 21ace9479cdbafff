"""Journeys: what a user would type, from the documentation alone; each script must reach its goal at the first try."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SRC = HERE.parents[1] / "src"
SEVEN = {
    "student": "I have a model", "practitioner": "I have a graph", "reviewer": "I review a result", "teacher": "I teach",
    "scores_only": "Scores only", "ci_maintainer": "A build that fails", "benchmark_maintainer": "A benchmark of one",
}  # fmt: skip
"""Each journey, and how the README begins its path."""


def test_all_seven_stand_here_and_the_readme_shows_each_in_at_most_five_lines():
    assert {path.stem for path in HERE.glob("*.sh")} == set(SEVEN)
    text = (HERE.parents[1] / "README.md").read_text(encoding="utf-8")
    for journey, words in SEVEN.items():
        assert text.count(words) == 1, journey
        block = re.search(r"```sh\n(.*?)```", text[text.index(words) :], re.DOTALL)
        assert block is not None, journey
        lines = block[1].strip().splitlines()
        assert 1 <= len(lines) <= 5, journey
        assert all(line.startswith("graphnetz ") for line in lines), journey


@pytest.mark.timeout(600)
@pytest.mark.parametrize("script", sorted(HERE.glob("*.sh")), ids=lambda path: path.stem)
def test_the_journey_reaches_its_goal(script, tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, code in (
        ("graphnetz", "-c 'import sys; from graphnetz.cli import main; sys.exit(main())'"),
        ("python", ""),
    ):
        (tools / name).write_text(f'#!/usr/bin/env bash\nexec {sys.executable} {code} "$@"\n')
        (tools / name).chmod(0o755)
    env = os.environ | {
        "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1", "COLUMNS": "200",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }  # fmt: skip
    (tmp_path / "work").mkdir()
    done = subprocess.run(
        ["bash", "-xeuo", "pipefail", str(script)], cwd=tmp_path / "work", env=env, capture_output=True, text=True,
        timeout=580, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
