"""The SLURM script: valid shell, run here against stand-ins for srun, scontrol, ray and graphnetz."""

import os
import subprocess
import textwrap

import pytest

from graphnetz._core.errors import UsageError
from graphnetz.cli.app import run_app
from graphnetz.engine.cluster import array_script, slurm_script

pytestmark = pytest.mark.alone

STANDINS = {
    "scontrol": "printf 'n1\\nn2\\nn3\\n'",
    "srun": """
        while [[ "$1" == --* ]]; do [[ "$1" == --nodelist=* ]] && where="${1#--nodelist=}"; shift; done
        echo "srun $where: $*" >> "$LOG"
        exec "$@"
    """,
    "hostname": "echo 10.0.0.1 fe80::1",
    "ray": """
        if [ "$1" = start ]; then echo x >> "$JOINED"; exec sleep 1000; fi
    """,
    "graphnetz": """
        if [ "$2" = wait ]; then  # what real Ray makes of it: test_cluster_ray.py
            for ((i = 0; i < 20; i++)); do
                if [ "$(wc -l < "$JOINED")" -ge "$6" ]; then exit 0; fi
                sleep 0.1
            done
            echo "Only $(wc -l < "$JOINED") of $6 nodes joined" >&2
            exit 1
        fi
        echo "graphnetz $* after $(wc -l < "$JOINED") nodes" >> "$LOG"
        for part in "$@"; do echo "[$part]" >> "$LOG"; done
        if [ -n "${HOLD:-}" ]; then trap 'kill $!; sleep 0.3; echo kept >> "$LOG"; exit 130' TERM; sleep 1000 & wait; fi
        exit "${CODE:-0}"
    """,
}


@pytest.fixture
def run(tmp_path):
    for name, body in STANDINS.items():
        path = tmp_path / name
        path.write_text("#!/usr/bin/env bash\n" + textwrap.dedent(body))
        path.chmod(0o755)
    (tmp_path / "joined").touch()

    def go(script, code=0):
        (tmp_path / "job.sh").write_text(script)
        env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "LOG": str(tmp_path / "log"), "CODE": str(code),
               "JOINED": str(tmp_path / "joined"), "SLURM_JOB_NODELIST": "n[1-3]"}  # fmt: skip
        done = subprocess.run(["bash", tmp_path / "job.sh"], env=env, capture_output=True, text=True, timeout=60)
        return done, (tmp_path / "log").read_text()

    return go


def test_the_script_starts_every_node_runs_and_stops(run):
    done, log = run(slurm_script(["--suite", "it's; rm -rf /", "--out", "a b"], nodes=3, cpus_per_node=4))
    assert done.returncode == 0, done.stderr
    assert "srun n1: ray start --head --node-ip-address=10.0.0.1 --port=6379 --num-cpus=4" in log
    for node in ("n2", "n3"):
        assert f"srun {node}: ray start --address=10.0.0.1:6379 --num-cpus=4" in log
    assert "after 3 nodes" in log
    assert "[it's; rm -rf /]\n" in log
    assert log.endswith("[a b]\n[--backend]\n[ray]\n[--address]\n[10.0.0.1:6379]\n")


def test_a_warning_of_slurm_reaches_the_run_which_ends_in_its_own_time(run, tmp_path):
    script = slurm_script(["--suite", "x"], nodes=3).replace("set -euo pipefail", "set -euo pipefail\nexport HOLD=1")
    script = script.replace('main="$!"', 'main="$!"\n(sleep 1; kill -TERM $$) &')
    done, log = run(script)
    assert (done.returncode, log.splitlines()[-1]) == (130, "kept"), done.stderr


def test_the_command_prints_the_script_and_writes_it(tmp_path, capsys):
    wanted = slurm_script(["--suite", "default", "--out", "a b"], nodes=4, cpus_per_node=32, time="08:00:00")
    flags = ["cluster", "slurm", "--nodes", "4", "--cpus", "32", "--time", "08:00:00"]
    rest = ["--", "--suite", "default", "--out", "a b"]
    assert run_app([*flags, *rest]) == 0
    assert capsys.readouterr().out == wanted
    assert run_app([*flags, "--out", str(tmp_path / "job.sh"), *rest]) == 0
    assert (tmp_path / "job.sh").read_text() == wanted
    assert run_app(["cluster", "slurm", "--time", "soon", *rest]) == 2
    assert "HH:MM:SS" in capsys.readouterr().err
    assert run_app(["cluster", "slurm", "--", "--backend", "local"]) == 2
    assert "set by the script" in capsys.readouterr().err


def test_the_exit_code_is_that_of_the_run(run):
    assert run(slurm_script(["--suite", "x"], nodes=3), code=1)[0].returncode == 1


def test_a_node_that_never_comes_is_named(run):
    script = slurm_script(["--suite", "x"], nodes=3, patience=2).replace('"${nodes[@]:1}"', '"${nodes[@]:2}"')
    done, log = run(script)
    assert done.returncode == 1
    assert "Only 2 of 3 nodes joined" in done.stderr
    assert "graphnetz run" not in log


def test_a_job_array_trains_parts_and_says_how_to_merge(run):
    script = array_script(["--task", "it's", "--out", "a b"], parts=20, cpus=4)
    done, log = run(script.replace("set -euo", "SLURM_ARRAY_TASK_ID=3\nset -euo"))
    assert done.returncode == 0, done.stderr
    assert "#SBATCH --array=1-20\n" in script
    assert log.endswith("[it's]\n[--workers]\n[4]\n[--shard]\n[3/20]\n[--out]\n[a b/part-3]\n")
    for wrong in (["--task", "x"], ["--out", "a", "--shard", "1/2"]):
        with pytest.raises(UsageError):
            array_script(wrong, parts=2)


def test_directives_follow_the_arguments():
    script = slurm_script(["x.toml"], nodes=5, gpus_per_node=2, partition="long", account="lab", memory="16G")
    assert "#SBATCH --nodes=5\n" in script
    assert "#SBATCH --gres=gpu:2\n" in script
    assert script.count("--num-gpus=2") == 2
    assert "#SBATCH --partition=long\n#SBATCH --account=lab\n" in script


@pytest.mark.parametrize(
    "wrong",
    [{"nodes": 0}, {"time": "soon"}, {"partition": "a\n#SBATCH --x"}, {"job_name": "a b"}, {"port": 1}],
)
def test_wrong_arguments_are_named(wrong):
    with pytest.raises(UsageError):
        slurm_script(["x.toml"], **wrong)
    with pytest.raises(UsageError, match="set by the script"):
        slurm_script(["--backend", "local"])
