"""Scores leave as pandas or polars frames and come back as the same report."""

import sys
import types

import pytest

from graphnetz._core.errors import MissingExtraError, UnknownNameError
from graphnetz.report import BenchmarkReport


def test_the_frame_of_cells_reads_back_as_the_same_report(mixed):
    frame = mixed.frame()
    assert len(frame) == 70  # 7 pairs of 10 seeds; the pair that was never planned has none
    assert (frame["status"] == "failed").sum() == 1
    again = BenchmarkReport.from_scores(frame)
    left, right = mixed.summary(), again.summary().loc[mixed.summary().index[mixed.summary()["n_seeds"] > 0]]
    assert left["mean"].dropna().tolist() == right["mean"].tolist()
    assert mixed.pairwise()["p_holm"].tolist() == pytest.approx(again.pairwise()["p_holm"].tolist(), nan_ok=True)
    assert again.frame()["score"].dropna().tolist() == frame["score"].dropna().tolist()


def test_every_frame_is_flat(mixed):
    for what in ("cells", "summary", "pairwise", "costs"):
        frame = mixed.frame(what)
        assert "task" in frame.columns
        assert list(frame.index) == list(range(len(frame)))
    with pytest.raises(UnknownNameError, match="Did you mean 'summary'"):
        mixed.frame("sumary")
    with pytest.raises(UnknownNameError, match="Known: pandas, polars"):
        mixed.frame(library="dask")


def test_polars_is_asked_for_by_name(mixed, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match=r"graphnetz-bench\[polars\]"):
        mixed.to_polars()
    fake = types.ModuleType("polars")
    fake.DataFrame = lambda columns: ("polars", columns)
    monkeypatch.setitem(sys.modules, "polars", fake)
    kind, columns = mixed.to_polars("costs")
    assert kind == "polars"
    assert columns["task"] == mixed.costs()["task"].tolist()


def test_polars_itself(mixed):
    polars = pytest.importorskip("polars")
    frame = mixed.to_polars()
    assert isinstance(frame, polars.DataFrame)
    assert frame.shape == mixed.frame().shape
    assert frame["score"].to_list()[:3] == mixed.frame()["score"].tolist()[:3]
    summary = mixed.to_polars("summary")
    assert summary["model"].to_list() == mixed.frame("summary")["model"].tolist()
