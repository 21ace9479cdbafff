"""Graph folders: every source gives the same rows, a kill loses nothing, damage is refused in one sentence."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from graphnetz._core.errors import DataError, UsageError
from graphnetz.graphs import GraphFolder, convert
from graphnetz.graphs.folder import digests
from graphnetz.graphs.folder_checks import header_digest

NODES = 3000


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("source")
    rng = np.random.default_rng(0)
    edges = rng.integers(0, NODES, (60_000, 2))
    edges[0], edges[1], edges[2] = (5, 5), (7, 8), (8, 7)  # a loop, and one edge listed both ways
    x, y = rng.standard_normal((NODES, 6)).astype(np.float32), rng.integers(0, 4, NODES)
    part = rng.integers(0, 3, NODES)
    masks = {f"{name}_mask": part == k for k, name in enumerate(("train", "val", "test"))}
    np.savez_compressed(place / "graph.npz", edge_index=edges.T, x=x, y=y, **masks)
    return place / "graph.npz"


def expected(edges: np.ndarray, *, directed: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Rows by NumPy alone: distinct arcs sorted by destination, then source."""
    arcs = np.unique(edges if directed else np.concatenate([edges, edges[:, ::-1]]), axis=0)
    arcs = arcs[np.lexsort((arcs[:, 0], arcs[:, 1]))]
    return np.concatenate([[0], np.cumsum(np.bincount(arcs[:, 1], minlength=NODES))]), arcs[:, 0]


def same_arcs(graph: GraphFolder, edges: np.ndarray, *, directed: bool = False) -> None:
    indptr, indices = expected(edges, directed=directed)
    np.testing.assert_array_equal(graph.array("indptr"), indptr)
    np.testing.assert_array_equal(graph.array("indices"), indices)
    assert graph.num_arcs == len(indices)


@pytest.mark.parametrize("memory", [1, 2000])
@pytest.mark.parametrize("directed", [False, True])
def test_rows_are_those_of_a_sort_in_memory(source: Path, tmp_path: Path, memory: int, directed: bool) -> None:
    said: list[str] = []
    graph = convert(source, tmp_path / "out", memory=memory, directed=directed, told=said.append)
    held = np.load(source)
    same_arcs(graph, held["edge_index"].T, directed=directed)
    assert graph.header["self_loops"] == np.unique(held["edge_index"][0, np.equal(*held["edge_index"])]).size
    np.testing.assert_array_equal(graph.array("features"), held["x"])
    np.testing.assert_array_equal(graph.array("labels"), held["y"])
    np.testing.assert_array_equal(graph.array("val"), np.flatnonzero(held["val_mask"]))
    buckets = [line for line in said if line.startswith("Sorting")]
    assert len(buckets) == 1 if memory == 2000 else len(buckets) > 2
    assert not (tmp_path / "out" / "unfinished").exists()


def test_every_source_gives_the_same_rows(source: Path, tmp_path: Path) -> None:
    held = np.load(source)
    edges = held["edge_index"].T
    frame = pd.DataFrame(edges, columns=["source", "target"])
    frame.to_csv(tmp_path / "edges.csv.gz", index=False)
    frame.to_parquet(tmp_path / "edges.parquet")
    np.savetxt(tmp_path / "plain.txt", edges, fmt="%d")
    np.savez(tmp_path / "rows.npz", edges=edges)
    raw, split = tmp_path / "ogb" / "raw", tmp_path / "ogb" / "split" / "time"
    raw.mkdir(parents=True), split.mkdir(parents=True)
    frame.to_csv(raw / "edge.csv.gz", index=False, header=False)
    pd.DataFrame([NODES]).to_csv(raw / "num-node-list.csv.gz", index=False, header=False)
    pd.DataFrame(held["x"]).to_csv(raw / "node-feat.csv.gz", index=False, header=False)
    pd.DataFrame(held["y"]).to_csv(raw / "node-label.csv.gz", index=False, header=False)
    binary = tmp_path / "papers" / "raw"
    binary.mkdir(parents=True)
    np.savez(binary / "data.npz", edge_index=held["edge_index"], node_feat=held["x"], num_nodes_list=[NODES])
    np.savez(binary / "node-label.npz", node_label=np.where(held["y"] == 3, np.nan, held["y"])[:, None])
    for part, name in {"train": "train", "val": "valid", "test": "test"}.items():
        ids = np.flatnonzero(held[f"{part}_mask"])
        pd.DataFrame(ids).to_csv(split / f"{name}.csv.gz", index=False, header=False)
    for name in ("edges.csv.gz", "edges.parquet", "plain.txt", "rows.npz", "ogb", "papers"):
        graph = convert(tmp_path / name, tmp_path / f"{name}.folder", num_nodes=NODES, dtype="float16")
        same_arcs(graph, edges)
        if name in ("ogb", "papers"):
            np.testing.assert_array_equal(graph.array("features"), held["x"].astype(np.float16))
    ogb = GraphFolder.open(tmp_path / "ogb.folder")
    np.testing.assert_array_equal(ogb.array("test"), np.flatnonzero(held["test_mask"]))
    assert (GraphFolder.open(tmp_path / "papers.folder").array("labels") == -1).sum() == (held["y"] == 3).sum()


KILLED = """
import os, signal, sys
from graphnetz.graphs import convert
def told(sentence):
    if sentence.startswith(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
convert(sys.argv[1], sys.argv[2], memory=1, told=told)
"""


@pytest.mark.parametrize(
    "phase", ["Dealing", "Sorting bucket 1 of", "Sorting bucket 3 of", "Writing feat", "Computing"]
)
def test_a_killed_conversion_goes_on_and_gives_the_same_bytes(source: Path, tmp_path: Path, phase: str) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, str(source), str(tmp_path / "cut"), phase], check=False)
    assert ended.returncode == -signal.SIGKILL
    with pytest.raises(DataError, match=r"holds no header\.json"):
        GraphFolder.open(tmp_path / "cut")
    if "3" in phase:  # and in the middle of writing: half a bucket behind the last whole one
        with open(tmp_path / "cut" / "indices", "ab") as stream:
            stream.write(b"\1" * 1000)
    said: list[str] = []
    resumed = convert(source, tmp_path / "cut", memory=1, told=said.append)
    assert not any(line.startswith("Reading") for line in said)  # the spooled pairs were kept
    whole = convert(source, tmp_path / "whole", memory=1)
    assert resumed.digest == whole.digest
    if "3" in phase:
        assert not any(line.startswith("Sorting bucket 2 of") for line in said)


def test_a_kill_at_any_moment_is_harmless(source: Path, tmp_path: Path) -> None:
    whole = convert(source, tmp_path / "whole", memory=1)
    for delay in (0.6, 0.7, 0.8):
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(source), str(tmp_path / "cut"), "never"])
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
    assert convert(source, tmp_path / "cut", memory=1).digest == whole.digest


@pytest.fixture
def folder(source: Path, tmp_path: Path) -> Path:
    convert(source, tmp_path / "graph")
    return tmp_path / "graph"


def test_a_truncated_file_is_refused(folder: Path) -> None:
    os.truncate(folder / "features", 100)
    with pytest.raises(DataError, match="incomplete: its file 'features' has 100 bytes instead of 72,000"):
        GraphFolder.open(folder)


def test_a_missing_file_is_refused(folder: Path) -> None:
    (folder / "indices").unlink()
    with pytest.raises(DataError, match="its file 'indices' is missing"):
        GraphFolder.open(folder)


def test_an_edited_number_is_refused_without_being_asked(folder: Path) -> None:
    with open(folder / "indices", "r+b") as stream:
        stream.seek(40)
        stream.write(b"\7")
    with pytest.raises(DataError, match="was edited or damaged: block 0 of 'indices'"):
        GraphFolder.open(folder)


def test_an_edit_that_hides_its_time_is_found(folder: Path) -> None:
    before = (folder / "labels").stat()
    with open(folder / "labels", "r+b") as stream:
        stream.write(b"\3" * 4)
    os.utime(folder / "labels", ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(DataError, match="block 0 of 'labels'"):
        GraphFolder.open(folder)


@pytest.mark.parametrize("name", ["indptr", "indices", "features", "labels", "train", "val", "test"])
def test_a_byte_less_is_refused(folder: Path, name: str) -> None:
    os.truncate(folder / name, (folder / name).stat().st_size - 1)
    with pytest.raises(DataError, match=f"incomplete: its file '{name}' has"):
        GraphFolder.open(folder)


def test_two_files_that_changed_places_are_refused(folder: Path) -> None:
    size = min((folder / name).stat().st_size for name in ("train", "val"))
    header = json.loads((folder / "header.json").read_text())
    for name in ("train", "val"):  # of one length, so that only the bytes tell
        os.truncate(folder / name, size)
        header["files"][name] |= {"shape": [size // 8], "blocks": list(digests(folder / name))}
    (folder / "header.json").write_text(json.dumps(header | {"digest": header_digest(header)}))
    GraphFolder.open(folder)
    (folder / "train").rename(folder / "other")
    (folder / "val").rename(folder / "train")
    (folder / "other").rename(folder / "val")
    with pytest.raises(DataError, match="block 0 of 'train' is not what was written"):
        GraphFolder.open(folder)


def forged(folder: Path, name: str = "", values: np.ndarray | None = None, **facts: object) -> None:
    """Write numbers or counts into a folder as somebody would who knows how digests are made."""
    header = json.loads((folder / "header.json").read_text())
    if values is not None:
        (folder / name).write_bytes(values.tobytes())
        header["files"][name] |= {"shape": list(values.shape), "blocks": list(digests(folder / name))}
    for key, value in facts.items():
        header[key] = header["files"] | value if isinstance(value, dict) else value
    (folder / "header.json").write_text(json.dumps(header | {"digest": header_digest(header)}))


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"nodes": 5}, "counts do not fit each other"), ({"nodes": NODES + 1}, "counts do not fit each other"),
        ({"arcs": 7}, "counts do not fit each other"), ({"self_loops": -1}, "counts do not fit each other"),
        ({"self_loops": 3}, "self-loops instead of 3"), ({"classes": 2}, "a class outside 0 to 1"),
        ({"nodes": None}, "missing or of another kind"), ({"arcs": "many"}, "counts do not fit"),
        ({"files": {"train": {}}}, "missing or of another kind"),
        ({"files": {"indptr": {"dtype": "float64", "shape": [1], "blocks": []}}}, "the unknown file 'indptr'"),
        ({"files": {"val": {"dtype": "int64", "shape": [-1], "blocks": []}}}, "counts do not fit"),
    ],
)  # fmt: skip
def test_wrong_counts_under_a_right_digest_are_refused(folder: Path, facts: dict[str, object], message: str) -> None:
    forged(folder, **facts)
    with pytest.raises(DataError, match=message):
        GraphFolder.open(folder)


def test_numbers_that_point_outside_the_graph_are_refused(folder: Path) -> None:
    whole = {name: np.array(GraphFolder.open(folder).array(name)) for name in ("indptr", "indices", "labels", "train")}
    wrong = {
        "indices": (whole["indices"] + NODES, "names a node outside 0 to 2999"),
        "indptr": (whole["indptr"][::-1].copy(), "does not rise from 0"),
        "labels": (whole["labels"] - 2, "a class outside"),
        "train": (whole["train"][::-1].copy(), "'train' does not hold rising numbers"),
    }
    wrong["train"][0][0] += NODES
    twice = whole["indices"].copy()
    first, second = whole["indptr"][:2]
    assert second - first > 1
    twice[first + 1] = twice[first]
    for name, (values, message) in [*wrong.items(), ("indices", (twice, "or holds an arc twice"))]:
        forged(folder, name, values)
        with pytest.raises(DataError, match=message):
            GraphFolder.open(folder)
        forged(folder, name, whole[name])
    GraphFolder.open(folder)


def test_an_edited_header_is_refused(folder: Path) -> None:
    header = json.loads((folder / "header.json").read_text())
    (folder / "header.json").write_text(json.dumps(header | {"nodes": 5}))
    with pytest.raises(DataError, match="edited header"):
        GraphFolder.open(folder)
    other = header | {"version": 99}
    (folder / "header.json").write_text(json.dumps(other | {"digest": header_digest(other)}))
    with pytest.raises(DataError, match="has version 99 of the format, known is 1"):
        GraphFolder.open(folder)


def test_a_copy_is_compared_once_and_then_opened_at_once(folder: Path) -> None:
    os.utime(folder / "indices")
    GraphFolder.open(folder)
    assert json.loads((folder / "checked.json").read_text())[1]["indices"][1] == (folder / "indices").stat().st_mtime_ns


def test_maps_are_read_only_and_made_again_in_another_process(folder: Path) -> None:
    graph = GraphFolder.open(folder)
    with pytest.raises(ValueError, match="read-only"):
        graph.array("labels")[0] = 1
    copy = pickle.loads(pickle.dumps(graph))
    np.testing.assert_array_equal(copy.array("indices"), graph.array("indices"))


def test_another_source_or_a_folder_in_use_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("0,1\n1,2\n")
    with pytest.raises(UsageError, match="of another source"):
        convert(tmp_path / "other.csv", folder)
    with pytest.raises(UsageError, match="is not empty"):
        convert(tmp_path / "other.csv", tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [("a,b\nb,c\nc,a\n", "something else than whole numbers"), ("0,1\n-3,2\n", "negative node id -3"),
     ("source,target\n0,3000000000\n", "at most 2147483646")],
)  # fmt: skip
def test_ids_that_are_no_node_numbers_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with gzip.open(tmp_path / "edges.csv.gz", "wt") as stream:
        stream.write(text)
    with pytest.raises(DataError, match=message):
        convert(tmp_path / "edges.csv.gz", tmp_path / "out")


@pytest.mark.parametrize(
    "text",
    ["source,target\r\n0,1\r\n1,2\r\n\r\n2,0\r\n", "\n\n0,1\n\n1,2\n2,0\n\n", "% of KONECT\n% 3 3\n0 1\n1\t2\n 2  0\n",
     "# a comment\nsrc;dst;weight\n0;1;3\n1;2;4\n2;0;1\n2;0;1\n", '\ufeff"0","1"\n"1","2"\n"2","0"\n"0","1"'],
)  # fmt: skip
def test_lists_as_they_are_found(tmp_path: Path, text: str) -> None:
    (tmp_path / "edges.csv").write_text(text, encoding="utf-8", newline="")
    graph = convert(tmp_path / "edges.csv", tmp_path / "out")
    assert graph.array("indptr").tolist() == [0, 2, 4, 6]
    assert graph.array("indices").tolist() == [1, 2, 0, 2, 0, 1]


def test_damaged_sources_are_refused(source: Path, tmp_path: Path) -> None:
    content = source.read_bytes()
    half = len(content) // 2
    for number, cut in enumerate((content[:-100], content[:half] + b"\0" * 99 + content[half + 99 :])):
        (tmp_path / f"{number}.npz").write_bytes(cut)
        with pytest.raises(DataError, match="cannot be read"):
            convert(tmp_path / f"{number}.npz", tmp_path / str(number))
    packed = gzip.compress(b"".join(b"%d,%d\n" % (k, k + 1) for k in range(5000)))
    for name, cut in (("cut", packed[:-4000]), ("bad", packed[:4000] + b"\0" * 50 + packed[4050:])):
        (tmp_path / f"{name}.csv.gz").write_bytes(cut)
        with pytest.raises(DataError):
            convert(tmp_path / f"{name}.csv.gz", tmp_path / name)
        assert not (tmp_path / name / "header.json").exists()


def test_an_npz_of_another_shape_is_refused(tmp_path: Path) -> None:
    edges, y, mask = np.array([[0, 1], [1, 2]]), np.array([0, 1, 1]), np.zeros((3, 10), dtype=bool)
    masks = {f"{part}_mask": mask for part in ("train", "val", "test")}
    for number, (message, held) in enumerate([
        ("negative node id -1", {"edges": edges - 1}), ("something else than whole numbers", {"edges": edges + 0.5}),
        ("is a single number", {"edges": edges, "x": np.float32(3)}), ("a folder holds one split", {"edges": edges, "y": y} | masks),
        ("in common with another", {"edges": edges, "y": y} | {key: value[:, 0] | True for key, value in masks.items()}),
    ]):  # fmt: skip
        np.savez(tmp_path / f"{number}.npz", **held)
        with pytest.raises(DataError, match=message):
            convert(tmp_path / f"{number}.npz", tmp_path / str(number))
    with pytest.raises(UsageError, match="has 1 to 2147483647 nodes, got -3"):
        convert(tmp_path / "0.npz", tmp_path / "negative", num_nodes=-3)


def test_tables_of_nodes(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("0,1\n1,2\n2,3\n")
    for number, (text, message) in enumerate([
        ("node,label\n0,a\n9,b\n", "names node 9; allowed are 0 to 3"), ("node,label\n-2,a\n0,b\n", "names node -2"),
        ("node,label\n0,a\n0,b\n", "gives node 0 more than one label"), ("node,label\nada,a\n", "node numbers in the first"),
    ]):  # fmt: skip
        (tmp_path / "labels.csv").write_text(text)
        with pytest.raises(DataError, match=message):
            convert(tmp_path / "edges.csv", tmp_path / str(number), labels=tmp_path / "labels.csv")
    (tmp_path / "labels.csv").write_text("0,5\n1,7\n1,7\n3,5\n")  # no header: the first row counts
    graph = convert(tmp_path / "edges.csv", tmp_path / "out", labels=tmp_path / "labels.csv")
    assert graph.array("labels").tolist() == [0, 1, -1, 0]


def test_values_must_belong_to_the_nodes(source: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "few.npy", np.ones((7, 2)))
    with pytest.raises(DataError, match="features of 7 nodes and edges among 3,000"):
        convert(source, tmp_path / "a", features=tmp_path / "few.npy")
    np.save(tmp_path / "large.npy", np.full((NODES, 1), 1e6))
    with pytest.raises(DataError, match="too large for float16"):
        convert(source, tmp_path / "b", features=tmp_path / "large.npy", dtype="float16")
