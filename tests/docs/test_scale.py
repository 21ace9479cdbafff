"""The tables of the page on scale are those of the stored measurements, and a small table is measured again."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("bench_cells", ROOT / "benchmarks" / "bench_cells.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_holds_what_was_measured(script):
    kept = json.loads(script.OUT.read_text(encoding="utf-8"))
    assert script.page(kept) in script.PAGE.read_text(encoding="utf-8"), (
        "run: python benchmarks/bench_cells.py . --page"
    )
    assert {row["rows"] for row in kept["boards"]} >= {10_000, 10_000_000}


def test_a_generated_table_is_ranked_by_skill(script, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(script, "SHARD", 4_000)
    script.generate(tmp_path / "20x40x10", 20, 40, 10)
    found = script.measure(tmp_path, 20, 40, 10)
    assert len(list((tmp_path / "20x40x10").glob("*.parquet"))) == 2
    assert found["rows"] == 8_000
    assert found["peak_gb"] > 0.05
    assert (tmp_path / "20x40x10" / "board" / "board.csv").read_text().count("\n") == 21
