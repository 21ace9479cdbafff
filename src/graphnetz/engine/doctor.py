"""What `graphnetz doctor` looks at."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path

from graphnetz._core.optional import pip_install
from graphnetz._core.text import masked
from graphnetz.engine.identity.environment import environment, environment_key

EXTRAS = {
    "ray": "ray",
    "ogb": "ogb",
    "chem": "rdkit",
    "vision": "skimage",
    "tsp": "ortools",
    "hpo": "optuna",
    "parquet": "pyarrow",
    "polars": "polars",
    "tensorboard": "tensorboard",
    "mlflow": "mlflow",
    "wandb": "wandb",
}


def checks() -> list[dict[str, str]]:
    """Return rows (state ok, note or fail; what; detail)."""
    facts = environment()
    memory = facts["memory"] / 2**30
    rows = [
        _row("ok", "environment", f"{environment_key(facts)} (cells made under one key agree to the last bit)"),
        _row("ok", "python", facts["python_full"]),
        _row("ok", "packages", ", ".join(f"{name} {version}" for name, version in facts["packages"].items())),
        _row("ok", "processor", f"{facts['processor']}, {facts['cores']} cores, {facts['capability']}"),
        _row("ok" if memory >= 4 else "note", "memory", f"{memory:.1f} GB"),
    ]
    for extra, module in EXTRAS.items():
        state, words = ("ok", "installed") if importlib.util.find_spec(module) else ("note", pip_install(extra))
        rows.append(_row(state, f"extra {extra}", words))
    rows.append(_writable(Path.cwd(), "this folder"))
    rows.append(_writable(Path(tempfile.gettempdir()), "temporary folder"))
    mirror = os.environ.get("GRAPHNETZ_MIRROR")
    none = "none (set GRAPHNETZ_MIRROR to a folder or URL to work offline)"
    rows.append(_row("note", "mirror", masked(mirror) if mirror else none))
    return rows


def _row(state: str, what: str, detail: str) -> dict[str, str]:
    return {"state": state, "what": what, "detail": detail}


def _writable(folder: Path, what: str) -> dict[str, str]:
    if os.access(folder, os.W_OK):
        return _row("ok", what, "writable")
    return _row("fail", what, f"{folder} is not writable: give --out and --root elsewhere")
