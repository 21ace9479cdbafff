"""A dry run measures for a minute at most and says what it did not reach."""

from types import SimpleNamespace

import pytest

from graphnetz.datasets import SUITES
from graphnetz.engine.cost import estimate
from graphnetz.records import Cell, CellResult, Plateau, Protocol


class Slow:
    """An executor on which every epoch takes ten seconds of a made-up clock, and which stays with a task, as ours do."""

    def __init__(self, clock, started):
        self.clock, self.started = clock, started

    def __call__(self, workers):
        assert workers == 1
        return self

    def run(self, cells, run_one, *, limits, on_start, on_result):
        assert limits.seconds == 35.0
        for cell in sorted(cells, key=lambda cell: cell.task):
            if on_start(cell):
                self.clock[0] += 10.0
                self.started.append((cell.task, cell.model))
                on_result(CellResult(cell.key, cell.task, cell.model, cell.seed, seconds=10.0, peak_memory=2e6))


def test_a_probe_ends_in_time_and_prices_the_rest_like_their_task(monkeypatch):
    clock, started = [0.0], []
    monkeypatch.setattr(estimate.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(estimate, "LocalExecutor", Slow(clock, started))
    cells = [Cell(f"{t}{m}", t, m, 0, Protocol(epochs=7)) for t in "abc" for m in "xyz"]
    bench = SimpleNamespace(specs={m: SimpleNamespace(kind="model") for m in "xyz"})
    prices = estimate.probe(bench, cells, seconds=35.0)
    assert started == [("a", "x"), ("a", "x"), ("b", "x"), ("b", "x")]  # a third of the time each: c's was used up
    assert set(prices) == {(t, m) for t in "abc" for m in "xyz"}
    assert prices["a", "x"] == (70.0, 2.0, "one-epoch probe", 70.0)
    assert prices["a", "z"][:2] == (70.0, 2.0)
    assert "other models" in prices["b", "y"][2]
    assert prices["c", "x"][0] != prices["c", "x"][0]
    pairs = [estimate.PairCost(*pair, 1, 0, *price) for pair, price in prices.items()]
    text = estimate.Estimate(tuple(pairs), workers=1, memory_limit=None).text()
    assert "3 pairs have no price" in text
    assert "not probed in time" in text
    assert "nan" not in text


def test_probing_everything_leaves_nothing_to_guess(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(estimate.time, "monotonic", lambda: -clock[0])
    monkeypatch.setattr(estimate, "LocalExecutor", Slow(clock, []))
    cells = [Cell(m, "t", m, 0, Protocol(epochs=2)) for m in "xy"]
    bench = SimpleNamespace(specs={m: SimpleNamespace(kind="predictor") for m in "xy"})
    prices = estimate.probe(bench, cells, seconds=35.0)
    assert set(prices.values()) == {(10.0, 2.0, "one-epoch probe", 10.0)}
    assert sum(price[0] for price in prices.values()) == pytest.approx(20.0)


@pytest.mark.parametrize(("schedule", "expected"), [(Plateau(0.5, 5, 1e-6), 1260.0), (None, 10000.0)])
def test_a_schedule_that_ends_training_is_priced_by_the_published_epochs(monkeypatch, schedule, expected):
    """Table 10 of Benchmarking GNNs prints 0.07 hours at 0.40 seconds per epoch for five folds: 126 epochs each."""
    clock = [0.0]
    monkeypatch.setattr(estimate.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(estimate, "LocalExecutor", Slow(clock, []))
    cell = Cell("k", "csl_pe_generated", "bgnn.GCN", 0, Protocol(epochs=1000, schedule=schedule))
    bench = SimpleNamespace(specs={"bgnn.GCN": SimpleNamespace(kind="model")})
    ((pair, price),) = estimate.probe(bench, [cell], seconds=35.0, suite=SUITES["bgnn-table-10"]).items()
    assert (price[0], price[3]) == (expected, 10000.0)
    assert ("126 of 1000 epochs as published" in price[2]) == (schedule is not None)
    found = estimate.Estimate((estimate.PairCost(*pair, 1, 0, *price),), workers=1, memory_limit=None)
    assert ("at most 2 h 46 min" in found.text().splitlines()[-1]) == (schedule is not None)
    assert found.as_dict()["most_seconds"] == 10000.0
