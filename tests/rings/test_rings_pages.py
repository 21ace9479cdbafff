"""The page of what RINGS found is made of the kept runs, and counts agreement as by hand."""

import argparse
import importlib
from pathlib import Path

import pytest

from graphnetz.datasets import find_task

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def module(name):
    # by name, so that what it registers is registered once for all tests
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        return importlib.import_module(name)


@pytest.fixture(scope="module")
def pages():
    return module("rings_pages")


def test_the_page_is_that_of_the_kept_runs(pages):
    assert pages.PAGE.read_text(encoding="utf-8") == pages.page()
    assert pages.PICTURE.exists()
    known = {body["facts"]["dataset"] for body in pages.kept()}
    assert set(pages.WORDS) <= known


def test_agreement_of_relations_counts_pairs(pages):
    # o and eg: ordered by the first only; the other two pairs alike
    said = pages.relation_agreement("o > eg > rf", "eg/o > rf")
    assert said == "2 of 3 pairs alike, 1 ordered by one only, 0 against"
    assert pages.relation_agreement("o > eg", "eg > o") == "0 of 1 pairs alike, 0 ordered by one only, 1 against"


def test_tasks_beyond_the_paper_have_a_split_per_run(pages):
    beyond = module("rings_beyond")
    options = argparse.Namespace(data=Path(), root="", out=Path())
    asked = [beyond.settings(find_task(name), options) for name in beyond.TASKS]
    assert [item.name for item in asked] == list(dict.fromkeys(beyond.TASKS))
    assert all(item.fresh for item in asked if item.name in ("cora", "cornell", "polbooks_node_cls"))
    assert not any(item.fresh for item in asked if item.name in ("sbm_communities", "celegans"))
    # One fixed split is one block: runs on it would be kept for nothing.
    assert not any(pages.facts_splits(body) == 1 for body in pages.kept())


def test_kept_cells_come_back(tmp_path):
    evidence = module("rings_evidence")
    path = evidence.KEPT / "IMDB-BINARY.json"
    cells = evidence.kept_cells(path)
    assert len(cells) == 112  # ten runs in six modes, 26 more of the original and the empty graph
    first = next(cell for cell in cells if (cell.task, cell.seed) == ("IMDB-BINARY@o", 0))
    assert first.metrics["test_acc"] == 0.75
    assert set(first.metrics) == {"test_acc", "val_acc", "test_auc", "val_auc"}
    assert evidence.kept_cells(tmp_path / "none.json") == []
