"""What trackers keep on disk, as a table of runs: MLflow folders, TensorBoard event files, Optuna storages."""

from __future__ import annotations

import math
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphnetz._core.errors import DataError
from graphnetz._core.optional import require
from graphnetz._core.paths import refuse_links
from graphnetz._core.readers import from_others, read_text, regular
from graphnetz._core.text import shorten

if TYPE_CHECKING:
    import pandas as pd

MOST_RUNS = 100_000
MOST_LOG = 256 << 20
_JOINED = re.compile(r"(.*?[^\W\d_].*?)[_ -]+((?:seed|fold|split|run)?[_ -]?\d{1,9})")
_PART = re.compile(r"(?:seed|fold|split|run|version)?[_ -]?(\d{1,9})")


def tracked(source: Path) -> pd.DataFrame | None:
    """Return the runs that a folder or file of a tracker holds, None where it is none.

    Parameters
    ----------
    source
        An ``mlruns`` folder, a folder with TensorBoard event files, or an SQLite storage of Optuna.

    Returns
    -------
    pandas.DataFrame or None
        One row per run, with the titles that the tracker's own export would have.
    """
    if source.is_dir():
        if (source / "store.sqlite").exists() or (source / "results.json").exists():
            return None
        if next(source.glob("*/*/meta.yaml"), None) or next(source.glob("*/meta.yaml"), None):
            return _mlflow(source)
        return _tensorboard(source) if next(_events(source), None) else None
    return _optuna(source) if _is_optuna(source) else None


def _mlflow(folder: Path) -> pd.DataFrame:
    """Read an ``mlruns`` folder: one folder per experiment and run, one small text per parameter and metric."""
    import pandas as pd

    refuse_links(folder)
    rows: list[dict[str, Any]] = []
    for meta in sorted([*folder.glob("*/*/meta.yaml"), *folder.glob("*/meta.yaml")]):
        run = meta.parent
        if not (run / "metrics").is_dir() or len(rows) >= MOST_RUNS:
            continue
        row: dict[str, Any] = {"run_id": run.name, "status": _mlflow_status(read_text(meta, most=1 << 20))}
        if name := _experiment(run.parent / "meta.yaml"):
            row["experiment"] = name
        for kind in ("params", "metrics"):
            for file in sorted((run / kind).rglob("*")) if (run / kind).is_dir() else ():
                if file.is_file() and not file.is_symlink():
                    text = read_text(file, most=64 << 20).strip()
                    title = f"{kind}.{file.relative_to(run / kind).as_posix()}"
                    row[title] = _last(text, file) if kind == "metrics" else text
        rows.append(row)
    if not rows:
        raise DataError(f"{str(folder)!r} is an MLflow folder without a run that logged a metric.")
    return pd.DataFrame(rows).assign(**_types(rows))


def _experiment(meta: Path) -> str:
    """Return the name of an experiment, empty for the one that MLflow makes where nobody names one."""
    found = re.search(r"^name:\s*(.+?)\s*$", read_text(meta, most=1 << 20), re.MULTILINE) if meta.is_file() else None
    name = found[1].strip("'\"") if found else ""
    return "" if name == "Default" else name


def _types(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Parameters are text on disk: those that are whole numbers in every row become numbers."""
    import pandas as pd

    out = {}
    for title in dict.fromkeys(key for row in rows for key in row if key.startswith("params.")):
        values = [row.get(title) for row in rows]
        if title.endswith("seed") and all(value is not None and re.fullmatch(r"\d{1,400}", value) for value in values):
            out[title] = pd.Series([int(str(value)) for value in values])
    return out


def _mlflow_status(meta: str) -> str:
    """Return the status of a run: a number in folders of MLflow, 3 for a finished one."""
    found = re.search(r"^status:\s*(\S+)\s*$", meta, re.MULTILINE)
    word = found[1] if found else "3"
    return {"1": "RUNNING", "2": "SCHEDULED", "3": "FINISHED", "4": "FAILED", "5": "KILLED"}.get(word, word)


def _last(text: str, file: Path) -> float:
    """Return the value of the last line; a line is a time, a value and a step."""
    with from_others(f"The MLflow file {file.name!r}", "Restore it from a copy."):
        return float(text.splitlines()[-1].split()[1]) if text else math.nan


def _events(folder: Path) -> Iterator[Path]:
    """Event files below a folder; somebody may name a folder that holds everything, so the search has an end."""
    seen = 0
    for place, _, files in os.walk(folder):
        seen += 1 + len(files)
        if seen > MOST_RUNS:
            return
        for name in sorted(files):
            if name.startswith("events.out.tfevents.") and not Path(place, name).is_symlink():
                yield Path(place, name)


def _tensorboard(folder: Path) -> pd.DataFrame:
    """Read event files: one run per folder, the last value of every scalar."""
    require("tensorboard", extra="tensorboard", purpose="Reading TensorBoard event files")
    import pandas as pd
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    refuse_links(folder)
    rows = []
    for place in sorted({file.parent for file in _events(folder)})[:MOST_RUNS]:
        for file in place.glob("events.out.tfevents.*"):
            regular(file, most=MOST_LOG)
        with from_others(f"The event files of {str(place)!r}", "Restore them from a copy."):
            read = EventAccumulator(str(place), size_guidance={"scalars": 1, "tensors": 0}).Reload()
            values = {tag: float(read.Scalars(tag)[-1].value) for tag in read.Tags()["scalars"]}
            settings = _hparams(read)
        path = place.relative_to(folder)
        said = {key: value for key, value in _parts(path.parts).items() if f"hparams.{key}" not in settings}
        rows.append({"run": path.as_posix(), **said, **settings, **values})
    return pd.DataFrame(rows)


def _hparams(read: Any) -> dict[str, Any]:
    """Return the settings of a run that were written with ``add_hparams``."""
    from tensorboard.plugins.hparams import metadata

    try:
        content = read.PluginTagToContent(metadata.PLUGIN_NAME).get(metadata.SESSION_START_INFO_TAG)
    except KeyError:
        return {}
    found = metadata.parse_session_start_info_plugin_data(content).hparams if content else {}
    values = {f"hparams.{key}": getattr(value, value.WhichOneof("kind")) for key, value in found.items()}
    return {key: int(v) if isinstance(v, float) and v.is_integer() else v for key, v in values.items()}


def _parts(parts: tuple[str, ...]) -> dict[str, Any]:
    """Return ``TASK/MODEL/seed-0``, ``MODEL/seed-0`` or ``MODEL_0`` as what it says, other paths as numbered parts."""
    number = _PART.fullmatch(parts[-1]) if parts else None
    joined = _JOINED.fullmatch(parts[-1]) if parts and number is None else None
    if joined:
        parts, number = (*parts[:-1], joined[1], joined[2]), _PART.fullmatch(joined[2])
    if number and len(parts) in (2, 3):
        return dict(zip(("task", "model")[3 - len(parts) :], parts, strict=False)) | {"seed": int(number[1])}
    return {f"path_{i}": part for i, part in enumerate(parts)}


def _is_optuna(source: Path) -> bool:
    """Whether a file is a storage of Optuna; another SQLite file is refused, since nothing else here reads one."""
    if not source.is_file():  # a pipe would wait for ever
        return False
    with source.open("rb") as stream:
        if stream.read(15) != b"SQLite format 3":
            return False
    try:
        with closing(sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as base:
            found = {name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    except sqlite3.Error as error:
        raise DataError(f"The storage {source.name!r} cannot be read ({error}). Restore it from a copy.") from error
    if not {"studies", "trials", "trial_values"} <= found:
        raise DataError(f"{source.name!r} is an SQLite file, but no storage of Optuna. Of a run give its folder.")
    return True


def _optuna(source: Path) -> pd.DataFrame:
    """Read every study of a storage; of a copy, because opening a storage may write into it."""
    optuna = require("optuna", extra="hpo", purpose="Reading an Optuna storage")
    import pandas as pd

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(regular(source, most=1 << 30), Path(folder) / "storage.db")
        address = f"sqlite:///{copy}"
        try:
            names = optuna.get_all_study_names(address)
            studies = [optuna.load_study(study_name=name, storage=address) for name in names]
            frames = [study.trials_dataframe().assign(study=study.study_name, _up=_upwards(study)) for study in studies]
        except Exception as error:  # of optuna, its database layer or the file itself: all mean that it cannot be read
            words = shorten(f"{type(error).__name__}: {error}", 120)
            raise DataError(f"The storage {source.name!r} cannot be read ({words}). Restore it from a copy.") from error
    if not frames:
        raise DataError(f"The storage {source.name!r} holds no study.")
    data = pd.concat([frame for frame in frames if len(frame)] or frames, ignore_index=True)
    if data.empty:
        raise DataError(f"The storage {source.name!r} holds no trial.")
    titled = {title for title in data.columns if "dataset" in title or "task" in title}
    data = data if titled else data.rename(columns={"study": "task"})
    found: pd.DataFrame = data.rename(columns={"_up": "greater_is_better"})
    return found


def _upwards(study: Any) -> bool:
    return str(study.direction.name) == "MAXIMIZE"
