"""The SLURM script with real Ray: only srun and scontrol are stood in for, two nodes run on this machine."""

import importlib.util
import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from graphnetz.engine.cluster import slurm_script

pytestmark = [pytest.mark.alone, pytest.mark.ray, pytest.mark.xdist_group("ray")]
pytest.importorskip("ray")

SRC = Path(__file__).parents[2] / "src"
STANDINS = {
    "scontrol": "printf 'n1\\nn2\\n'",
    "srun": """
        while [[ "$1" == --* ]]; do shift; done
        exec "$@"
    """,
    "graphnetz": f"""
        exec {sys.executable} -c 'import sys; from graphnetz.cli import main; sys.exit(main())' "$@"
    """,
}


def free_port():
    with socket.socket() as found:
        found.bind(("", 0))
        return found.getsockname()[1]


DASHBOARD = pytest.mark.skipif(
    importlib.util.find_spec("aiohttp_cors") is None, reason="Ray's dashboard needs ray[default]"
)


@pytest.mark.parametrize("dashboard", [False, pytest.param(True, marks=DASHBOARD)])
def test_two_nodes_join_and_the_run_is_done(tmp_path, dashboard):
    """It waited for a dashboard that it had switched off, and gave up."""
    done, out = submitted(tmp_path, dashboard=dashboard, niceness=0)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "2 of 2 nodes" in done.stderr
    assert (out / "results.json").is_file()


@pytest.mark.skipif(importlib.util.find_spec("aiohttp_cors") is not None, reason="the dashboard is installed")
def test_a_head_that_ends_is_said_at_once(tmp_path):
    done, out = submitted(tmp_path, dashboard=True)
    assert done.returncode == 1
    assert "The head of the Ray cluster ended" in done.stderr
    assert not out.exists()


def submitted(tmp_path, **options):
    for name, body in STANDINS.items():
        (tmp_path / name).write_text("#!/usr/bin/env bash\n" + textwrap.dedent(body))
        (tmp_path / name).chmod(0o755)
    out = tmp_path / "run"
    arguments = ["--suite", "first-default", "--task", "les_miserables", "--model", "DegreeProduct", "--seeds", "2",
                 "--out", str(out), "--root", str(tmp_path / "data"), "--quiet"]  # fmt: skip
    script = slurm_script(arguments, nodes=2, cpus_per_node=1, port=free_port(), patience=100, **options)
    (tmp_path / "job.sh").write_text(script)
    env = os.environ | {
        "PATH": f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}", "SLURM_JOB_NODELIST": "n[1-2]",
        "PYTHONPATH": os.pathsep.join([str(SRC), os.environ.get("PYTHONPATH", "")]),
    }  # fmt: skip
    done = subprocess.run(["bash", tmp_path / "job.sh"], env=env, capture_output=True, text=True, timeout=280)
    return done, out
