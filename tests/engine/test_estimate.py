"""A dry run measures for a minute at most and says what it did not reach."""

from types import SimpleNamespace

import pytest

from graphnetz.engine.cost import estimate
from graphnetz.records import Cell, CellResult, Protocol


class Slow:
    """An executor on which every epoch takes ten seconds of a made-up clock."""

    def __init__(self, clock, started):
        self.clock, self.started = clock, started

    def __call__(self, workers):
        assert workers == 1
        return self

    def run(self, cells, run_one, *, limits, on_start, on_result):
        assert limits.seconds == 45.0
        for cell in cells:
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
    prices = estimate.probe(bench, cells, seconds=45.0)
    assert started == [("a", "x"), ("a", "x"), ("b", "x"), ("b", "x"), ("c", "x")]  # every task before the next model
    assert set(prices) == {(t, m) for t in "abc" for m in "xyz"}
    assert prices["a", "x"] == (70.0, 2.0, "one-epoch probe")
    assert prices["a", "z"][:2] == (70.0, 2.0)
    assert "other models" in prices["b", "y"][2]
    assert prices["c", "x"][0] != prices["c", "x"][0]
    pairs = [estimate.PairCost(*pair, 1, 0, *price) for pair, price in prices.items()]
    text = estimate.Estimate(tuple(pairs), workers=1, memory_limit=None).text()
    assert "3 pairs have no price" in text
    assert "not probed in time" in text


def test_probing_everything_leaves_nothing_to_guess(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(estimate.time, "monotonic", lambda: -clock[0])
    monkeypatch.setattr(estimate, "LocalExecutor", Slow(clock, []))
    cells = [Cell(m, "t", m, 0, Protocol(epochs=2)) for m in "xy"]
    bench = SimpleNamespace(specs={m: SimpleNamespace(kind="predictor") for m in "xy"})
    prices = estimate.probe(bench, cells, seconds=45.0)
    assert set(prices.values()) == {(10.0, 2.0, "one-epoch probe")}
    assert sum(price[0] for price in prices.values()) == pytest.approx(20.0)
