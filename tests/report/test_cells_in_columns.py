"""Millions of cells in Parquet: the same numbers as a table of scores, whatever the files and row groups."""

import itertools

import numpy as np
import pandas as pd
import pytest

from graphnetz._core.errors import DataError, MissingExtraError
from graphnetz.analysis import board
from graphnetz.cli.app import run_app
from graphnetz.records import ScoreTable
from graphnetz.report import BenchmarkReport, columns
from graphnetz.report.leaderboard import board_csv

pytest.importorskip("pyarrow")

KINDS = {"node_cls": "x", "graph_reg": "y"}


def frame(tasks=14, models=6, seeds=5, missing=True):
    """Scores with ties, failed runs, absent runs and a model that lacks tasks; half of the tasks have an error."""
    rng = np.random.default_rng(4)
    rows = []
    for t, m, s in itertools.product(range(tasks), range(models), range(seeds)):
        if missing and ((m == 3 and t % 4 == 0) or (m == 5 and s == 4)):
            continue
        kind = list(KINDS)[t % 2]
        up = kind == "node_cls"
        score = round(min(max(0.5 + (0.03 if up else -0.03) * m + 0.05 * rng.normal(), 0), 1), 2)
        rows.append((f"task {t}", f"model {m}", 3 * s, np.nan if missing and (t, m, s) == (2, 1, 0) else score,
                     "test_acc" if up else "test_mae", up, kind, KINDS[kind], f"graph {t // 2}", "init"))  # fmt: skip
    names = ["task", "model", "seed", "score", "metric", "greater_is_better", "task_type", "category", "block",
             "replication"]  # fmt: skip
    return pd.DataFrame(rows, columns=names)


def ordinary(table):
    """The board of an ordinary analysis."""
    return board_csv(BenchmarkReport.from_scores(table).analysis.boards)


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_board_of_parquet_is_that_of_the_ordinary_analysis_to_the_last_digit(tmp_path, shuffled):
    table = frame()
    if shuffled:
        table = table.sample(frac=1.0, random_state=1).reset_index(drop=True)
    table.to_parquet(tmp_path / "scores.parquet", row_group_size=37)
    assert run_app(["leaderboard", str(tmp_path / "scores.parquet"), "--out", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["board.csv"]
    assert (tmp_path / "out" / "board.csv").read_text() == ordinary(table)


def test_shards_in_a_folder_are_one_table(tmp_path, monkeypatch):
    table, folder = frame(), tmp_path / "shards"
    folder.mkdir()
    for i, start in enumerate(range(0, len(table), 100)):
        part = table.iloc[start : start + 100]
        part = part.astype({"task": "category", "model": "category"}) if i == 1 else part
        part.to_parquet(folder / f"{i:03d}.parquet")
    monkeypatch.setattr(columns, "ROWS", 17)
    assert run_app(["leaderboard", str(folder), "--out", str(tmp_path)]) == 0
    assert (tmp_path / "board.csv").read_text() == ordinary(table)


def test_means_give_the_places_ranks_and_scores_of_their_runs(tmp_path):
    table = frame(missing=False)
    keys = ["task", "model", *(name for name in table.columns if name not in ("task", "model", "seed", "score"))]
    means = table.groupby(keys, sort=False)["score"].agg(mean="mean", sd="std", n="size").reset_index()
    means.to_parquet(tmp_path / "means.parquet")
    assert run_app(["leaderboard", str(tmp_path / "means.parquet"), "--out", str(tmp_path)]) == 0
    found = pd.read_csv(tmp_path / "board.csv")
    (tmp_path / "ordinary.csv").write_text(ordinary(table))
    expected = pd.read_csv(tmp_path / "ordinary.csv")
    assert found["improvement"].isna().all()  # a mean says nothing of single runs
    same = [name for name in expected.columns if name != "improvement"]
    pd.testing.assert_frame_equal(found[same], expected[same], rtol=1e-12)


def test_very_many_models_get_places_without_pairs(tmp_path, monkeypatch, capsys):
    table = frame(tasks=80, missing=False)
    monkeypatch.setattr(board, "MOST_PAIRED", 5)
    monkeypatch.setattr(board, "PAIRED_WORK", 0)
    monkeypatch.setattr(board, "shared_rates", None)  # nobody may call them
    monkeypatch.setattr(board, "place_sets", None)
    table.to_parquet(tmp_path / "scores.parquet")
    assert run_app(["leaderboard", str(tmp_path / "scores.parquet"), "--out", str(tmp_path)]) == 0
    monkeypatch.undo()
    (tmp_path / "ordinary.csv").write_text(ordinary(table))
    blank, keys = {"kind": "", "name": ""}, ["kind", "name", "model"]
    found, expected = (
        pd.read_csv(tmp_path / name, dtype={"kind": str, "name": str}).fillna(blank).set_index(keys).sort_index()
        for name in ("board.csv", "ordinary.csv")
    )
    numbers = ["rank", "rank_own", "score", "score_own", "wins", "improvement"]
    np.testing.assert_allclose(found[numbers], expected[numbers], rtol=1e-12)
    everyone = found.loc["", ""]
    assert (everyone["low"] <= expected.loc["", ""]["low"]).all()  # wider, never narrower
    assert (everyone["high"] >= expected.loc["", ""]["high"]).all()
    assert (everyone["high"] - everyone["low"] < 5).any()


def test_what_needs_all_pairs_is_left_open_where_models_lack_tasks(monkeypatch):
    monkeypatch.setattr(board, "PAIRED_WORK", 0)
    rows = BenchmarkReport.from_scores(frame()).analysis.boards[0].rows
    assert np.isnan([row.wins for row in rows]).all()
    assert np.isfinite([row.rank for row in rows]).all()


def test_common_means_are_those_of_the_rule_applied_one_model_at_a_time():
    rng = np.random.default_rng(0)
    for seeds, splits in ((1, 0), (7, 0), (30, 0), (12, 3), (300, 0)):
        values = rng.normal(size=(6, 9, seeds))
        values[rng.random(values.shape) < 0.25] = np.nan
        values[3] = np.nan
        table = ScoreTable(
            tuple("abcdef"), tuple("ABCDEFGHI"), tuple(range(seeds)), values, (True,) * 6, ("test_acc",) * 6,
            ("fold" if splits else "init",) * 6, (np.nan,) * 6, tuple("abcdef"), splits=(splits,) * 6,
        )  # fmt: skip
        for t, task in enumerate(table.tasks):
            kept, shared = _one_at_a_time(np.isfinite(values[t]))
            assert table.common(task)[0] == tuple(table.models[m] for m in kept)
            assert table.common(task)[1].tolist() == shared.tolist()
            for m in range(9):
                row = table.by_split(task, np.where(shared, values[t, m], np.nan))
                expected = np.nanmean(row) if m in kept else np.nan
                np.testing.assert_array_equal(table.common_means()[t, m], expected)


def _one_at_a_time(done):
    """The rule as it is worded, model by model."""
    kept = [m for m in range(len(done)) if done[m].any()]
    planned = int(done.any(axis=0).sum())
    while len(kept) > 1 and done[kept].all(axis=0).sum() < max(planned / 2, min(2, planned)):
        rest = {m: int(done[[k for k in kept if k != m]].all(axis=0).sum()) for m in kept}
        kept.remove(min(kept, key=lambda m: (int(done[m].sum()), -rest[m], -m)))
    return kept, done[kept].all(axis=0) & bool(kept)


GOOD = {"task": ["a", "a"], "model": ["x", "y"], "seed": [0, 0], "score": [0.5, 0.6], "metric": "test_acc"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": ["x", "x"]}, "model 'x', seed 0 stands there more than once"),
        ({"model": ["x", None]}, "column 'model', row 2 is empty"),
        ({"model": ["x", " "]}, "column 'model', row 2 is empty"),
        ({"score": ["0.5", "much"]}, "the column 'score' holds no numbers"),
        ({"score": [0.5, np.inf]}, "infinite"),
        ({"score": [0.5, 60.0]}, "accuracy lies between 0 and 1"),
        ({"seed": [0.5, 1.0]}, "Give a whole number in every row"),
        ({"metric": ["test_acc", "test_mae"]}, "several values of metric"),
        ({"metric": "wonder"}, "has metric 'wonder' and no greater_is_better"),
        ({"seed": None}, "lacks the column seed"),
        ({"score": None}, "lacks the column score"),
    ],
)
def test_what_cannot_be_right_is_refused_in_one_sentence(tmp_path, change, said):
    table = pd.DataFrame({name: value for name, value in (GOOD | change).items() if value is not None})
    table.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=said):
        columns.read_cells([tmp_path / "t.parquet"])


def test_runs_that_failed_count_and_need_not_know_their_metric(tmp_path):
    rows = {
        "task": ["a", "a", "a", "b"], "model": ["x", "y", "x", "x"], "seed": [0, 0, 1, 0],
        "value": [0.3, 0.2, np.nan, np.nan], "metric": ["test_mae", "test_mae", "", ""],
        "greater_is_better": [False, False, True, True],
    }  # fmt: skip
    pd.DataFrame(rows).to_parquet(tmp_path / "t.parquet")
    found = columns.read_cells([tmp_path / "t.parquet"])
    assert found.infos["a"].greater_is_better is False
    assert found.runs(["a", "b"]) == {"x": (3, 2), "y": (1, 0)}
    best = board.boards_of(found.table, found.infos, alpha=0.05, runs=found.runs)[0].rows[0]
    assert (best.model, best.rank) == ("y", 1.0)


def test_kinds_are_not_mixed_and_too_much_is_refused(tmp_path, monkeypatch, capsys):
    pd.DataFrame(GOOD).to_parquet(tmp_path / "runs.parquet")
    pd.DataFrame(GOOD).rename(columns={"score": "mean"}).to_parquet(tmp_path / "means.parquet")
    with pytest.raises(DataError, match="Give one kind"):
        columns.read_cells([tmp_path / "means.parquet", tmp_path / "runs.parquet"])
    pd.DataFrame(GOOD).to_csv(tmp_path / "runs.csv")
    both = ["leaderboard", str(tmp_path / "runs.parquet"), str(tmp_path / "runs.csv")]
    assert run_app(both) == 2
    assert "no table of cells in Parquet" in capsys.readouterr().err
    monkeypatch.setattr(columns, "MOST_PLACES", 3)
    pd.DataFrame(GOOD | {"seed": [0, 1]}).to_parquet(tmp_path / "sparse.parquet")
    with pytest.raises(DataError, match="1 tasks x 2 models x 2 seeds are more than the 3 places"):
        columns.read_cells([tmp_path / "sparse.parquet"])
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        columns.read_cells([tmp_path / "broken.parquet"])


def test_without_pyarrow_one_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"Reading Parquet requires the 'parquet' extra"):
        columns.read_cells([tmp_path / "t.parquet"])


def test_a_small_table_has_a_whole_report_too(tmp_path):
    frame(tasks=2).to_parquet(tmp_path / "scores.parquet")
    assert run_app(["report", str(tmp_path / "scores.parquet"), "--out", str(tmp_path / "r"), "--no-figures"]) == 0
    assert (tmp_path / "r" / "report.html").stat().st_size > 1000


def test_cells_of_a_run_become_a_shard(tmp_path):
    from graphnetz.engine.store import Store
    from graphnetz.records import Cell, CellResult, Protocol

    run = tmp_path / "run"
    with Store.create(run) as store:
        cells = [Cell(f"{i:040x}", "a", f"model {i}", 0, Protocol()) for i in range(3)]
        store.plan(cells)
        store.adopt(CellResult(c.key, "a", c.model, 0, metric="test_acc", metrics={"test_acc": 0.1 * i})
                    for i, c in enumerate(cells))  # fmt: skip
    assert run_app(["export", "cells", str(run), "--out", str(tmp_path / "cells.parquet")]) == 0
    assert run_app(["leaderboard", str(tmp_path / "cells.parquet"), "--out", str(tmp_path)]) == 0
    assert pd.read_csv(tmp_path / "board.csv")["model"].tolist() == ["model 2", "model 1", "model 0"]


def test_broken_files_end_in_a_sentence_or_in_numbers(tmp_path):
    """Any byte may be wrong: what comes out is a refusal, or a table whose scores the metric can take."""
    from graphnetz._core.errors import GraphnetzError

    frame(tasks=3).to_parquet(tmp_path / "whole.parquet", row_group_size=40)
    whole, rng, refused = (tmp_path / "whole.parquet").read_bytes(), np.random.default_rng(2), 0
    for _ in range(150):
        broken = bytearray(whole)
        for place in rng.integers(len(whole), size=rng.integers(1, 4)):
            broken[place] ^= int(rng.integers(1, 256))
        (tmp_path / "broken.parquet").write_bytes(broken if rng.random() < 0.8 else broken[: rng.integers(len(whole))])
        try:
            found = columns.read_cells([tmp_path / "broken.parquet"])
        except GraphnetzError:
            refused += 1
        else:
            assert np.nanmax(found.table.values) <= 1
    assert refused > 30


def test_a_small_file_of_endless_rows_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "MOST_PLACES", 50_000)
    rows = 100_000
    pd.DataFrame({"task": "a", "model": "m", "seed": np.arange(rows), "score": 0.5, "metric": "test_acc"}).to_parquet(
        tmp_path / "t.parquet"
    )
    monkeypatch.setattr(columns, "_coded", None)  # nothing may be read
    with pytest.raises(DataError, match="brings the rows to 100,000"):
        columns.read_cells([tmp_path / "t.parquet"])
