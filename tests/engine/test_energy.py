"""Energy: the processor's counters where they can be read, an estimate that says so where not."""

import json

import pandas as pd
import pytest

from graphnetz.engine import energy
from graphnetz.engine.run import run_benchmark
from graphnetz.engine.store import Store
from graphnetz.records import Task
from graphnetz.report.frames import WATTS
from graphnetz.testing import examples


def package(folder, name, value, most=1_000_000):
    zone = folder / name
    zone.mkdir(parents=True, exist_ok=True)
    (zone / "energy_uj").write_text(f"{value}\n")
    (zone / "max_energy_range_uj").write_text(f"{most}\n")


def test_packages_are_added_their_parts_are_not_and_counters_begin_again(tmp_path):
    package(tmp_path, "intel-rapl:0", 999_000)
    package(tmp_path, "intel-rapl:1", 5)
    package(tmp_path, "intel-rapl:0:0", 0)
    with energy.Meter(tmp_path) as meter:
        package(tmp_path, "intel-rapl:0", 1_000)  # passed its end of 1,000,000
        package(tmp_path, "intel-rapl:1", 500_005)
        package(tmp_path, "intel-rapl:0:0", 700_000)
    assert meter.joules == pytest.approx((2_001 + 500_000) / 1e6)


def test_what_cannot_be_read_is_unknown(tmp_path):
    package(tmp_path, "intel-rapl:0", "not a number")
    for folder in (tmp_path, tmp_path / "absent"):
        with energy.Meter(folder) as meter:
            pass
        assert meter.joules is None


def test_sittings_add_up_and_one_that_was_killed_makes_all_unknown(tmp_path):
    zones = tmp_path / "zones"
    package(zones, "intel-rapl:0", 0)
    with Store.create(tmp_path / "run") as store:
        for reading in (300_000, 400_000):
            with energy.counted(store, folder=zones):
                package(zones, "intel-rapl:0", reading)
        assert energy.spent(store) == pytest.approx(0.4)
        with pytest.raises(KeyboardInterrupt), energy.counted(store, folder=zones):
            raise KeyboardInterrupt
        with energy.counted(store, folder=zones):
            pass
        assert energy.spent(store) is None
        with energy.counted(store, folder=zones, elsewhere=True):
            pass
        assert energy.spent(store) is None


def run(out):
    task = Task("cliques", "node_cls", lambda root: examples.two_cliques(36, 0), 2)
    return run_benchmark(tasks=[task], models=["MLP", "Majority"], seeds=2, out=out, backend="serial", verbose=False)


def test_costs_say_what_they_rest_on_and_results_do_not_change(tmp_path, monkeypatch):
    monkeypatch.setattr(energy.Meter, "__init__", lambda self, folder: setattr(self, "_counters", {}))
    monkeypatch.setattr(energy.Meter, "__exit__", lambda *_: None)
    estimated = run(tmp_path / "a")
    costs = pd.read_csv(tmp_path / "a" / "costs.csv")
    assert costs["energy_joules"].tolist() == pytest.approx((costs["seconds_total"] * WATTS).tolist())
    assert set(costs["energy_basis"]) == {"estimated: seconds x 10 W per core"}
    assert json.loads((tmp_path / "a" / "provenance.json").read_text())["energy_joules"] is None
    monkeypatch.setattr(energy.Meter, "joules", property(lambda self: 12.5))
    measured = run(tmp_path / "b")
    costs = pd.read_csv(tmp_path / "b" / "costs.csv")
    assert costs["energy_joules"].sum() == pytest.approx(12.5)
    assert "measured by the processor" in costs["energy_basis"][0]
    assert estimated.to_json() == measured.to_json()
