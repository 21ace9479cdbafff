"""The project against the peer (PyPI graphnetz 0.2.0) on three workloads, interleaved in one run.

``python benchmarks/bench.py [--workload W1 W2 W3] [--seeds 10] [--repeats 3] [--workers 2]``. Every measurement is a
fresh process, start-up included; peer and project take turns, the peer as shipped with its default threads, the
project on two workers. The peer is installed once into its own environment below ``.cache/bench``. Cora is read from
the mirror (``GRAPHNETZ_MIRROR``, by default ``../shared/data``); nothing is downloaded for the peer. Run it on an
idle machine: a busy one makes the peer's threads wait for each other and flatters the project.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent
PEER = "graphnetz==0.2.0"
PINS = ("torch", "torch-geometric", "numpy", "scipy", "scikit-learn")
EXPECTED = {"W1": 20.0, "W2": 15.0, "W3": 6.0}
ABOUT = {
    "W1": "node classification, Cora, 4 models, 100 epochs",
    "W2": "link prediction, 5,000 nodes, 30,000 edges, 4 models, 60 epochs",
    "W3": "graph classification, 188 molecule-sized graphs, 5 models, 40 epochs",
}


def peer_python(cache: Path) -> Path:
    """Interpreter of the peer's environment, made at the first call with the libraries this project runs on."""
    python = cache / "peer" / "bin" / "python"
    stamp = cache / "peer" / "installed.txt"
    if stamp.is_file():
        return python
    print(f"installing {PEER} into its own environment (minutes, once) ...", flush=True)
    cache.mkdir(parents=True, exist_ok=True)
    pins = cache / "peer-constraints.txt"
    versions = {name: importlib.metadata.version(name).split("+")[0] for name in PINS}
    pins.write_text("".join(f"{name}=={version}\n" for name, version in versions.items()))
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(cache / "peer")], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--constraint", str(pins)]
    subprocess.run([*install, f"torch=={versions['torch']}", PEER], check=True)
    frozen = subprocess.run([str(python), "-m", "pip", "freeze"], check=True, capture_output=True, text=True)
    stamp.write_text(frozen.stdout)
    return python


def provide_cora(mirror: Path, folder: Path) -> bool:
    """Put Cora's raw files where the peer's PyG class looks for them; False when the mirror has none."""
    raw = mirror / "Planetoid" / "Cora" / "raw"
    if not raw.is_dir():
        return False
    for category in ("custom", "None"):
        shutil.copytree(raw, folder / category / "cora" / "Cora" / "raw", dirs_exist_ok=True)
    return True


def measure(python: Path | str, workload: str, options: argparse.Namespace, folder: Path) -> dict:
    """Run one workload in a fresh process: seconds, peak memory of its largest process, final metrics."""
    with tempfile.TemporaryDirectory() as scratch:
        out, log = Path(scratch, "out.json"), Path(scratch, "log.txt")
        command = [str(python), "-W", "ignore", str(HERE / "workloads.py"), workload, "--seeds", str(options.seeds)]
        command += ["--workers", str(options.workers), "--folder", str(folder), "--out", str(out)]
        env = {k: v for k, v in os.environ.items() if k not in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "PYTHONPATH")}
        env["GRAPHNETZ_MIRROR"] = str(options.mirror)
        begin = time.perf_counter()
        with log.open("w") as sink:
            process = subprocess.Popen(command, stdout=sink, stderr=sink, env=env, cwd=scratch)
            _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode or not out.is_file():
            raise SystemExit(f"{workload} failed ({process.returncode}):\n{log.read_text()[-3000:]}")
        unit = 1 if sys.platform == "darwin" else 1024
        result = json.loads(out.read_text())
        return {"seconds": seconds, "peak_mb": usage.ru_maxrss * unit / 1e6, "finals": result["finals"]}


def compare(peer: dict[str, list[float]], ours: dict[str, list[float]]) -> dict[str, dict]:
    """Per model both means, the peer's 95 % t interval, and Welch's 95 % interval of the difference."""
    from scipy import stats

    rows = {}
    for model, theirs in peer.items():
        mine, n = ours[model], len(theirs)
        row = {"peer_mean": statistics.fmean(theirs), "our_mean": statistics.fmean(mine), "seeds": n}
        if n > 1:
            half = float(stats.t.ppf(0.975, n - 1)) * statistics.stdev(theirs) / math.sqrt(n)
            row |= {"peer_low": row["peer_mean"] - half, "peer_high": row["peer_mean"] + half}
            # The peer's accuracies are rounded to float32: equal values must not count as outside.
            row["inside"] = row["peer_low"] - 1e-6 <= row["our_mean"] <= row["peer_high"] + 1e-6
            if statistics.stdev(theirs) + statistics.stdev(mine) > 1e-6:
                low, high = stats.ttest_ind(mine, theirs, equal_var=False).confidence_interval(0.95)
                row |= {"difference_low": float(low), "difference_high": float(high)}
        rows[model] = row
    return rows


def machine() -> dict:
    """Cores, processor and versions; nothing that names the host."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    versions = {name: importlib.metadata.version(name) for name in (*PINS, "numba", "graphnetz-bench")}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return {
        "cores": os.cpu_count(), "processor": model, "memory_gb": round(memory, 1), "system": platform.system(),
        "python": platform.python_version(), "versions": versions,
    }  # fmt: skip


def run(workload: str, options: argparse.Namespace) -> dict:
    """Interleave peer and project ``repeats`` times."""
    sides: dict[str, list[dict]] = {"peer": [], "ours": []}
    interpreters = {"peer": peer_python(options.cache), "ours": sys.executable}
    for number in range(options.repeats):
        for side, python in interpreters.items():
            sides[side].append(measure(python, workload, options, options.cache / "data" / side))
            last = sides[side][-1]
            print(f"  {workload} {side} #{number + 1}: {last['seconds']:.1f} s, {last['peak_mb']:.0f} MB", flush=True)
    seconds = {side: statistics.median(r["seconds"] for r in rows) for side, rows in sides.items()}
    models = compare(sides["peer"][0]["finals"], sides["ours"][0]["finals"])
    return {
        "workload": ABOUT[workload], "seeds": options.seeds, "repeats": options.repeats, "workers": options.workers,
        "ratio": seconds["peer"] / seconds["ours"], "expected": EXPECTED[workload],
        "seconds": {side: [round(r["seconds"], 2) for r in rows] for side, rows in sides.items()},
        "peak_mb": {side: round(max(r["peak_mb"] for r in rows)) for side, rows in sides.items()},
        "identical_between_repeats": all(r["finals"] == sides["ours"][0]["finals"] for r in sides["ours"]),
        "metrics": models,
    }  # fmt: skip


def show(results: dict[str, dict]) -> None:
    """Print the ratio table and every model whose mean lies outside the peer's interval."""
    print(
        f"\n{'':4s}{'peer s':>9s}{'ours s':>9s}{'ratio':>8s}{'asked':>7s}{'peer MB':>9s}{'ours MB':>9s}{'inside':>9s}"
    )
    for name, r in results.items():
        known = [m for m in r["metrics"].values() if "inside" in m]
        inside = f"{sum(m['inside'] for m in known)}/{len(known)}"
        peer, ours = (statistics.median(r["seconds"][side]) for side in ("peer", "ours"))
        print(f"{name:4s}{peer:9.1f}{ours:9.1f}{r['ratio']:9.1f}{r['expected']:9.0f}"
              f"{r['peak_mb']['peer']:9.0f}{r['peak_mb']['ours']:9.0f}{inside:>9s}")  # fmt: skip
    for name, r in results.items():
        for model, m in r["metrics"].items():
            if m.get("inside") is False:
                print(f"{name} {model}: {m['our_mean']:.4f} outside [{m['peer_low']:.4f}, {m['peer_high']:.4f}]; "
                      f"difference {m.get('difference_low', math.nan):+.4f} to "
                      f"{m.get('difference_high', math.nan):+.4f} (Welch, 95 %)")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", nargs="+", choices=[*ABOUT], default=[*ABOUT])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache" / "bench")
    parser.add_argument(
        "--mirror", type=Path, default=Path(os.environ.get("GRAPHNETZ_MIRROR", ROOT.parent / "shared" / "data"))
    )
    parser.add_argument("--out", type=Path, default=HERE / "results" / "peer.json")
    options = parser.parse_args()
    options.cache, options.mirror = options.cache.resolve(), options.mirror.resolve()
    if "W1" in options.workload and not provide_cora(options.mirror, options.cache / "data" / "peer"):
        print("W1 is left out: Cora is not in the mirror. Set GRAPHNETZ_MIRROR to a folder with Planetoid/Cora/raw.")
        options.workload = [name for name in options.workload if name != "W1"]
    document = json.loads(options.out.read_text()) if options.out.is_file() else {"results": {}}
    results = {}
    for name in options.workload:
        results[name] = run(name, options)
        document["machine"] = machine()
        document["results"][name] = results[name]
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    show(results)


if __name__ == "__main__":
    main()
