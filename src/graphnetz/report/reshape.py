"""Tables of scores as people and trackers write them, turned into one row per task, model and seed.

Known are long and wide tables, runs tables of Weights & Biases and MLflow, trials of Optuna, `cross_val_score` and
`cv_results_` of scikit-learn, and leaderboards with a mean and a spread. What cannot be told is asked, never invented.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from graphnetz._core.errors import DataError, UsageError, unknown_name
from graphnetz._core.readers import place
from graphnetz._core.text import shorten
from graphnetz.metrics import METRICS
from graphnetz.report.from_scores import refuse_twice

ROLES: Mapping[str, tuple[str, ...]] = {
    "task": ("task", "dataset", "data", "data_set", "dataset_name", "task_name", "benchmark", "experiment"),
    "model": (
        "model",
        "method",
        "model_name",
        "algorithm",
        "architecture",
        "arch",
        "estimator",
        "classifier",
        "params",
        "study",
    ),
    "seed": ("seed", "random_seed", "random_state", "fold", "cv_fold", "split", "run", "repeat", "repetition"),
    "score": ("score", "value", "test_score", "result"),
    "metric": ("metric", "metric_name", "measure"),
    "mean": ("mean", "mean_score", "average", "avg"),
    "sd": ("sd", "std", "s.d.", "stdev", "std_dev", "standard_deviation"),
    "n": ("n", "runs", "n_runs", "num_runs", "n_seeds", "seeds", "n_splits"),
    "status": ("status", "state"),
}
"""What a column is for, and the titles under which it is found, the first found counts."""
TOLD = (*ROLES, "greater_is_better", "replication", "splits", "n_test", "test_ratio", "block", "category", "task_type",
        "example", "target", "prediction")  # fmt: skip
"""What ``--columns`` may name."""

_PREFIX = re.compile(r"^(params?|config|metrics?|summary|tags|user_attrs|hparams?|final)[._/ ]+(?=.)")
_FINISHED = {"finished", "complete", "completed", "ok", "success"}
_SEEDED = re.compile(r"(?:seed|fold|split|run|repeat|cv|s)?[_ -]?(\d{1,9})(?:_test_score)?")
_SPREAD = re.compile(
    r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*(?:±|\+/-|\\pm|\+-|\()\s*([\d.]+(?:[eE][-+]?\d+)?)\s*[)%]?\s*"
)
_COMMA = re.compile(r"(?<=\b0),(?=\d)|(?<=\d),(?=\d)(?!\d{3}\b)")
"""A decimal comma: 0,812 and 81,2; in 1,234 it may as well part thousands."""
_NO_CELL = {"", "-", "–", "—", "nan", "none", "n/a", "oom", "oot", "timeout", "failed", "error"}
_PAIR = re.compile(rf",(?=\s*(?:{'|'.join(TOLD)})\s*=)")
_CHART = re.compile(r".+ - .+__(MIN|MAX)")
_OURS = ("task", "model", "seed", "score")


@dataclass(frozen=True)
class Shaped:
    """A table as ``scores``, ``predictions`` or ``summary`` (mean, s.d., n), and what was assumed of it."""

    kind: str
    frame: pd.DataFrame
    notes: tuple[str, ...] = ()


class Titles:
    """The titles under which columns of some roles are found, for ``in``: names in them are read as they are written.

    Examples
    --------
    >>> "config.Dataset" in Titles(("task",)), "seed" in Titles(("task",))
    (True, False)
    """

    def __init__(self, roles: Sequence[str]) -> None:
        self._known = frozenset(title for role in roles for title in ROLES[role])

    def __contains__(self, title: object) -> bool:
        return plain(title) in self._known


def parse_columns(text: str | Sequence[str] | Mapping[str, str] | None) -> dict[str, str]:
    """Read ``task=dataset,score=test_acc``; ``n==10`` gives every row the value 10.

    Parameters
    ----------
    text
        One or more texts, or a mapping from what a column is for to its title.

    Returns
    -------
    dict
        Titles by what they are for; a value for all rows begins with ``=``.

    Examples
    --------
    >>> parse_columns("task=dataset, score=test acc, n==10")
    {'task': 'dataset', 'score': 'test acc', 'n': '=10'}
    """
    if isinstance(text, Mapping):
        pairs = [(str(key), str(value)) for key, value in text.items()]
    else:
        parts = [part for item in ([text] if isinstance(text, str) else text or ()) for part in _PAIR.split(item)]
        if wrong := next((part for part in parts if "=" not in part), None):
            raise UsageError(f"--columns got {wrong!r}. Write what the column is for and its title: task=dataset.")
        pairs = [(left.strip(), right.strip()) for left, _, right in (part.partition("=") for part in parts)]
    for key, _ in pairs:
        if key not in TOLD and not re.fullmatch(r"score_\d+", key):
            raise unknown_name("column", key, TOLD)
    return dict(pairs)


def shape(
    frame: Any, *, columns: Any = None, metric: str | None = None, name: str = "scores", roles: bool = True
) -> Shaped:
    """Return a table in the shape that a report is made of.

    Parameters
    ----------
    frame
        Anything that makes a pandas frame.
    columns
        Which title is for what, where it cannot be seen; see `parse_columns`.
    metric
        What the scores are, such as ``test_acc``, where no column says it; ``acc%`` where they are percentages.
    name
        Of the file; the task is named after it where no column names one.
    roles
        Whether titles other than ours are understood (``dataset``, ``fold``, ``config.model``).

    Returns
    -------
    Shaped
        Rows in our columns, and what was assumed to get there.

    Examples
    --------
    >>> wide = pd.DataFrame({"fold": [0, 1], "GCN": [0.8, 0.9], "MLP": [0.7, 0.7]})
    >>> print(shape(wide, metric="acc", name="cora").frame.to_string(index=False))
    task model  seed  score   metric
    cora   GCN     0    0.8 test_acc
    cora   GCN     1    0.9 test_acc
    cora   MLP     0    0.7 test_acc
    cora   MLP     1    0.7 test_acc
    """
    if metric is not None and metric.endswith("%"):
        found = shape(frame, columns=columns, metric=metric[:-1], name=name, roles=roles)
        return replace(
            found, frame=_divided(found.frame), notes=(*found.notes, "Scores are percentages: divided by 100.")
        )
    data = frame.to_pandas() if hasattr(frame, "to_pandas") else pd.DataFrame(frame)
    refuse_twice(data)
    data.attrs["titles"] = [str(title) for title in data.columns]
    data = _told(data, parse_columns(columns))
    if metric is not None:
        data = data.assign(metric=_history_key(metric))
    if {"example", "target"} <= set(data.columns):
        return Shaped("predictions", data)
    if set(_OURS) <= set(data.columns) or not roles:
        return Shaped("scores", data)
    if chart := next((title for title in data.columns if _CHART.fullmatch(str(title))), None):
        raise DataError(
            f"{name!r} is the export of a chart (column {shorten(chart, 60)!r}): curves, not one score per run. "
            "Export the table of runs instead."
        )
    notes: list[str] = []
    data = _found(data, notes)
    if (summary := _summary(data, name, notes)) is not None:
        return Shaped("summary", summary, tuple(notes))
    return Shaped("scores", _long(data, name, notes), tuple(notes))


def _divided(data: pd.DataFrame) -> pd.DataFrame:
    """Percentages as shares; what is no number stays, and is named where scores are read."""
    for column in {"score", "mean", "sd"} & set(data.columns):
        values = pd.to_numeric(data[column], errors="coerce")
        data = data.assign(**{column: (values / 100).where(values.notna(), data[column])})
    return data


def _told(data: pd.DataFrame, columns: Mapping[str, str]) -> pd.DataFrame:
    """Give columns the titles that were told; those that stood there before make room.

    A score that is titled like a metric says which one it is.
    """
    measured = metric_of(columns.get("score", ""))
    if measured and not {"metric"} & {*columns, *data.columns}:
        data = data.assign(metric=measured)
    for role, title in columns.items():
        if title.startswith("="):
            data = data.assign(**{role: title[1:]})
        elif title not in data.columns:
            raise DataError(f"--columns {role}={title}: there is no such column. {_has(data)}")
        elif title != role:
            data = data.drop(columns=role, errors="ignore").rename(columns={title: role})
    return data


def _has(data: pd.DataFrame) -> str:
    """Name the columns that the table came with."""
    came = data.attrs.get("titles") or [str(title) for title in data.columns]
    titles = [shorten(title, 30) for title in came[:12]]
    return f"The table has {', '.join(titles)}{', ...' if len(came) > 12 else ''}."


def plain(title: Any) -> str:
    """Return a title without the prefixes of trackers, in lower case: ``config.Model Name`` is ``model_name``.

    Examples
    --------
    >>> plain("params.Data Set"), plain("user_attrs_seed"), plain("final/test_acc")
    ('data_set', 'seed', 'test_acc')
    """
    return re.sub(r"[\s/-]+", "_", _PREFIX.sub("", str(title).strip().lower()))


_LABELS = {plain(entry.label): key for key, entry in METRICS.items()} | {"rocauc": "auc", "roc_auc": "auc"}


def metric_of(title: Any) -> str | None:
    """Return the history key that a title speaks of, None for other titles and for training and validation.

    Examples
    --------
    >>> metric_of("Test Accuracy"), metric_of("metrics.test_mae"), metric_of("val_acc")
    ('test_acc', 'test_mae', None)
    """
    split, _, rest = plain(title).partition("_")
    key = rest if split == "test" else plain(title)
    key = _LABELS.get(key, key)
    return f"test_{key}" if key in METRICS and key != "loss" else None


def _history_key(name: str) -> str:
    """``acc`` and ``Accuracy`` as the key that is reported; ``val_acc`` and names that nobody declared stay."""
    return metric_of(name) or name


def _found(data: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Find out what columns are for by their titles, and what the score is by the metric that a title names."""
    new: dict[Any, str] = {}
    for role, titles in ROLES.items():
        if role in data.columns:
            continue
        by_name = {plain(title): title for title in reversed(data.columns) if title not in new}
        hit = next((by_name[title] for title in titles if title in by_name), None)
        if hit is not None and not (role == "score" and metric_of(hit)):
            new[hit] = role
    data = data.rename(columns=new)
    if "score" not in data.columns and "mean" not in data.columns:
        data = _headline(data, notes)
    said = [f"{old!r} as {role}" for old, role in new.items() if plain(old) != role and role in (*_OURS, "mean", "sd")]
    if said:
        notes.append(f"Read {', '.join(said)}.")
    return data


def _headline(data: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Take the one column that is titled like a metric of the test part as the score."""
    hits = {title: key for title in data.columns if title not in ROLES and (key := metric_of(title))}
    tested = {title: key for title, key in hits.items() if "test" in plain(title).split("_")} or hits
    if not tested:
        return data
    if len(tested) > 1:
        listed = ", ".join(shorten(str(title), 30) for title in tested)
        first = shorten(str(next(iter(tested))), 30)
        raise DataError(f"The table has several scores: {listed}. Say which one counts: --columns score={first}.")
    title, key = next(iter(tested.items()))
    notes.append(f"{title!r} is the score.")
    data = data.rename(columns={title: "score"})
    return data if "metric" in data.columns else data.assign(metric=key)


def _summary(data: pd.DataFrame, name: str, notes: list[str]) -> pd.DataFrame | None:
    """Rows of task, model, metric, mean, sd, n where the table holds means with a spread, None where it does not."""
    if {"mean", "sd"} <= set(data.columns) and "seed" not in data.columns and "score" not in data.columns:
        return _named(data, name, notes)[_present(data, "metric", "greater_is_better", "mean", "sd", "n")]
    titles = [title for title in data.columns if _is_spread(data[title])]
    if "score" in titles:
        titles = ["score"]
    if not titles or "seed" in data.columns:
        return None
    if titles != ["score"]:
        role = "task" if "model" in data.columns else "model"
        kept = [column for column in _present(data, "metric", "greater_is_better", "n") if column in data.columns]
        data = data.melt(id_vars=kept, value_vars=titles, var_name=role, value_name="score", ignore_index=False)
    written = _cells(data["score"])
    strange = data[~written.str.fullmatch(_SPREAD) & ~written.str.lower().isin(_NO_CELL)]
    if len(strange):
        raise DataError(
            f"{name!r} has {shorten(str(strange['score'].iloc[0]), 40)!r} among cells such as '0.81 ± 0.02'. Write a "
            "mean and a spread there too, or leave the cell empty."
        )
    parts = written.str.extract(_SPREAD)
    data = data.assign(mean=parts[0].astype(float), sd=parts[1].astype(float))
    data = _named(data[data["mean"].notna()], name, notes)
    return data[_present(data, "metric", "greater_is_better", "mean", "sd", "n")]


def _present(data: pd.DataFrame, *columns: str) -> list[str]:
    return ["task", "model", *(column for column in columns if column in data.columns)]


def _is_spread(column: pd.Series) -> bool:
    if pd.api.types.is_numeric_dtype(column):
        return False
    hits = _cells(column.dropna()).str.fullmatch(_SPREAD)
    return bool(len(hits)) and bool(hits.mean() >= 0.5)


def _cells(column: pd.Series) -> pd.Series:
    """Cells as texts, with a point where they have a decimal comma."""
    texts = column.astype(str).str.strip()
    return texts.where(texts.str.contains(".", regex=False), texts.str.replace(_COMMA, ".", regex=True))


def _named(data: pd.DataFrame, name: str, notes: list[str]) -> pd.DataFrame:
    """Name the task after the file where no column does; a model must be named."""
    if "model" not in data.columns:
        raise DataError(f"No column of {name!r} names the model. {_has(data)} Say which: --columns model=TITLE.")
    if "task" not in data.columns:
        notes.append(f"No column names the task: all rows count as task {name!r}.")
        data = data.assign(task=name)
    return data


def _long(data: pd.DataFrame, name: str, notes: list[str]) -> pd.DataFrame:
    wide = "score" not in data.columns
    if wide:
        data = _melted(data, notes)
    data = _finished(_named(data, name, notes), notes)
    if "seed" not in data.columns:
        trial = " A trial is not a seed: trials differ in their settings." if "number" in data.columns else ""
        raise DataError(
            f"No column of {name!r} says which run a row is.{trial} {_has(data)} Add the seed or fold of each row, or "
            "say which column it is: --columns seed=TITLE."
        )
    order = [*_OURS, *(c for c in TOLD if c in data.columns and c not in (*_OURS, *ROLES)), "metric"]
    data = data[[column for column in dict.fromkeys(order) if column in data.columns]]
    if wide and "metric" not in data.columns:
        raise DataError(f"{name!r} looks like a wide table: {_first_line(data)} {ASK_METRIC}")
    return data


ASK_METRIC = (
    "Say what the numbers are: --metric acc (see 'graphnetz list metrics'), or for one of your own --columns "
    "metric==NAME,greater_is_better==true."
)


def _first_line(data: pd.DataFrame) -> str:
    row = data.iloc[0]
    line = ",".join(shorten(str(row[column]), 40) for column in _OURS)
    return f"reshaped, its first line would read {','.join(_OURS)} = {line}."


def _melted(data: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Turn models, seeds or tasks that stand side by side into rows."""
    known = [column for column in data.columns if column in TOLD]
    data = data.assign(**{c: _numbers(data, c) for c in data.columns if c not in known})
    values = [c for c in data.columns if c not in known and _numeric(data[c]) and not str(c).startswith("Unnamed:")]
    seeded = [c for c in values if _SEEDED.fullmatch(plain(c))]
    have = set(known)
    if len(seeded) > 1 and "seed" not in have and have & {"task", "model"}:
        data = data.melt(id_vars=known, value_vars=seeded, var_name="seed", value_name="score", ignore_index=False)
        numbers = [int(found[1]) for title in data["seed"] if (found := _SEEDED.fullmatch(plain(title)))]
        notes.append(f"A wide table: the columns {seeded[0]} to {seeded[-1]} are seeds.")
        return data.assign(seed=numbers)
    role = "model" if "model" not in have else "task" if "task" not in have else ""
    if not values or not role or (role == "task" and "seed" not in have):
        missing = [column for column in _OURS if column not in have]
        raise DataError(
            f"The scores lack the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}. {_has(data)} "
            f"Give task, model, seed, score, metric, greater_is_better, or say which is which: "
            f"--columns {missing[0]}=TITLE."
        )
    if "seed" not in have:
        notes.append(f"No column names the seeds: rows are counted, 0 to {len(data) - 1}, each one run of every model.")
        data = data.assign(seed=range(len(data)))
        known.append("seed")
    listed = ", ".join(shorten(str(title), 24) for title in values[:4]) + (", ..." if len(values) > 4 else "")
    rest = [shorten(str(c), 24) for c in data.columns if c not in values and c not in known]
    left = f" Not read, because they hold text: {', '.join(rest[:8])}." if rest else ""
    notes.append(f"A wide table: the columns {listed} are {role}s.{left}")
    return data.melt(id_vars=known, value_vars=values, var_name=role, value_name="score", ignore_index=False)


def _numbers(data: pd.DataFrame, title: Any) -> pd.Series:
    """Read a column in which most cells are numbers as numbers; a word there is a run without a score, or refused."""
    column: pd.Series = data[title]
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return column
    written = _cells(column).where(column.notna(), "")
    values = pd.to_numeric(written, errors="coerce")
    if not len(values) or values.notna().sum() < 0.5 * (written != "").sum() or not values.notna().any():
        return column
    wrong = (values.isna() & ~written.str.lower().isin(_NO_CELL)).to_numpy()
    if wrong.any():
        given, where = shorten(written.to_numpy()[wrong][0], 40), place(data, data.index[wrong][0], str(title))
        raise DataError(f"{where} holds {given!r} among numbers. Give a number, or leave the cell empty.")
    return values


def _numeric(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _finished(data: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Runs that did not finish have no score; where the same run was repeated and finished, that one counts."""
    if "status" not in data.columns:
        return data
    ended = data["status"].astype(str).str.lower().isin(_FINISHED)
    data = data.assign(score=data["score"].where(ended))
    cell = [column for column in ("task", "model", "seed") if column in data.columns]
    repeated = ~ended & data.set_index(cell).index.isin(data[ended].set_index(cell).index)
    if (~ended).any():
        failed = int((~ended & ~repeated).sum())
        more = f"; {int(repeated.sum())} of them were repeated and finished" if repeated.any() else ""
        notes.append(f"{int((~ended).sum())} runs did not finish{more}: {failed} count as failed.")
    return data[~repeated]
