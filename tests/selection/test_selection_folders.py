"""Selection on graph folders: counts are exact, estimates lie within their errors, and what differs is said."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from graphnetz._core.errors import UsageError
from graphnetz.cli.app import run_app
from graphnetz.graphs import GraphFolder, as_graph, convert
from graphnetz.selection import feature_names, folders, meta_features, recommend
from graphnetz.selection.folders import FolderCounts, folder_features


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> GraphFolder:
    """Hubs, self-loops and communities that are classes."""
    place, rng = tmp_path_factory.mktemp("select"), np.random.default_rng(0)
    y = rng.integers(0, 3, 1500)
    ends = np.stack([rng.integers(0, 1500, 9000), (1500 * rng.random(9000) ** 2).astype(int)])
    ends = ends[:, (y[ends[0]] == y[ends[1]]) | (rng.random(9000) < 0.4)]
    x = rng.standard_normal((1500, 6)) + y[:, None]
    masks = {f"{name}_mask": np.arange(1500) % 3 == k for k, name in enumerate(("train", "val", "test"))}
    np.savez(place / "g.npz", edge_index=ends, x=x, y=y, **masks)
    return convert(place / "g.npz", place / "disk")


def whole(folder: GraphFolder) -> object:
    target = np.repeat(np.arange(folder.num_nodes), np.diff(folder.array("indptr")))
    y = np.where(np.arange(1500) % 3 < 2, folder.array("labels"), -1)  # without those of the test part
    return as_graph(np.stack([folder.array("indices"), target], 1), folder.num_nodes, labels=y, directed=False)


def test_streamed_features_are_those_in_memory(folder: GraphFolder, monkeypatch) -> None:
    monkeypatch.setattr(folders, "_ARCS", 700)
    monkeypatch.setattr(folders, "_PAIRS", 10**9)  # every pair of neighbours is looked at
    names = "density+assortativity+degree+wedges+triangles+labels"
    found, want = folder_features(folder, names), meta_features(whole(folder), names)
    assert tuple(found) == feature_names(names)
    for (name, (value, error)), expected in zip(found.items(), want, strict=True):
        assert value == pytest.approx(expected, rel=1e-9, nan_ok=True), name
        assert error == 0 or np.isnan(value), name


def test_estimates_lie_within_their_errors(folder: GraphFolder, monkeypatch) -> None:
    want = dict(zip(feature_names("degree+triangles"), meta_features(whole(folder), "degree+triangles"), strict=True))
    monkeypatch.setattr(folders, "_VALUES", 600)
    monkeypatch.setattr(folders, "_CORNERS", 600)
    found = folder_features(folder, "degree+triangles")
    for name in ("degree_mean", "degree_median", "triangles_mean", "triangles_mode_fraction"):
        value, error = found[name]
        assert error > 0
        assert abs(value - want[name]) < 4 * error, name


def test_what_would_need_the_whole_graph_is_not_a_number(folder: GraphFolder) -> None:
    assert all(np.isnan(value) for value, _ in folder_features(folder, "core+pagerank").values())


def test_a_sample_holds_the_arcs_among_its_nodes_and_no_test_label(folder: GraphFolder, monkeypatch) -> None:
    monkeypatch.setattr(folders, "_SEEDS", 50)
    monkeypatch.setattr(folders, "_FANOUTS", (3, 3))
    one, again, other = (FolderCounts(folder).sample(seed) for seed in (0, 0, 1))
    assert one.digest == again.digest != other.digest
    assert 50 <= one.num_nodes < 1500
    rows = {tuple(np.round(row, 5)): node for node, row in enumerate(folder.array("features"))}
    nodes = np.array([rows[tuple(np.round(row, 5))] for row in one.features])
    known = np.asarray(one.labels) >= 0
    assert not (nodes[known] % 3 == 2).any()
    np.testing.assert_array_equal(np.asarray(one.labels)[known], folder.array("labels")[nodes[known]])
    inside = {tuple(edge) for edge in whole(folder).edges.tolist() if np.isin(edge, nodes).all()}
    assert {tuple(sorted(edge)) for edge in nodes[one.edges].tolist()} == inside


def test_a_recommendation_says_what_was_sampled(folder: GraphFolder) -> None:
    found = recommend(folder, "node_cls", top=3)
    assert found.size == (1500, int(FolderCounts(folder).degree.sum()) // 2)
    assert [choice.rank for choice in found.choices] == [1, 2, 3]
    assert any("3 samples of" in note and "comes first in" in note for note in found.notes)
    assert any(note.startswith("Counted on the whole graph: mean degree") for note in found.notes)
    with pytest.raises(UsageError, match="Nodes of a graph folder are classified"):
        recommend(folder, "link_pred")


def test_the_commands_take_a_folder(folder: GraphFolder, capsys) -> None:
    path = str(folder.path)
    assert run_app(["select", "features", path, "--set", "density+core"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("density\t")
    assert lines[-1] == "63 more are not computed for a graph on disk."
    assert run_app(["select", "recommend", path, "--task", "node_cls", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["graph"]["nodes"] == 1500
    assert run_app(["select", "recommend", path, "--task", "node_cls", "--verify", "1"]) != 0
    assert "graphnetz run --graph" in capsys.readouterr().err
    assert run_app(["doctor", "--task", path]) in (0, 1)
    assert "disk" in capsys.readouterr().out


def test_a_directed_folder_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", edges=[[0, 1], [1, 2]])
    folder = convert(tmp_path / "g.npz", tmp_path / "g", directed=True)
    with pytest.raises(UsageError, match="keeps directions"):
        folder_features(folder)
