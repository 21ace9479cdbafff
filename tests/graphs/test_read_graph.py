"""One reader behind every door: the same file gives the same graph to `run` and to `select`."""

import gzip
import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from scipy import io, sparse
from torch_geometric.data import Data

from graphnetz._core.errors import DataError
from graphnetz.cli.app import run_app
from graphnetz.datasets import task_from_edges, task_from_networkx
from graphnetz.graphs import as_graph, read_graph
from graphnetz.rings import dataset_statistics
from graphnetz.rings._batches import stream
from graphnetz.selection import PerformanceBank, recommend
from graphnetz.selection.plan import own_graphs

EDGES = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5)]


def _text(mark=",", head="", tail="", name="{}".format):
    return head + "".join(mark.join((name(u), name(v))) + "\n" for u, v in EDGES) + tail


def _letters(u):
    return "uvwxyz"[u]


TEXTS = {
    "header.csv": _text(head="source,target\n"),
    "bare.csv": _text(),
    "comments.csv": _text(head="# a network\n# of six\n", tail="% the end\n"),
    "commented_header.csv": _text(head="# source, target\n"),
    "unknown_header.csv": _text(head="person_a,person_b\n"),
    "tabs.tsv": _text("\t", head="from\tto\n"),
    "spaces.txt": _text(" ", head="% comment\n"),
    "many_spaces.edges": _text("   "),
    "semicolons.csv": _text(";", head="id1;id2\n"),
    "quoted.csv": _text(head='"source","target"\n', name='"{}"'.format),
    "weights.csv": "source,target,weight\n" + "".join(f"{u},{v},{u + 0.5}\n" for u, v in EDGES),
    "swapped.csv": "weight,dst,src\n" + "".join(f"1.5,{v},{u}\n" for u, v in EDGES),
    "whole_floats.csv": _text(head="source,target\n", name="{}.0".format),
    "letters.txt": _text(" ", name=_letters),
    "named.csv": _text(head="source,target\n", name="n{}".format),
    "quoted_commas.csv": _text(head="source,target\n", name='"n, {}"'.format),
    "one_based.txt": _text(" ", name=lambda u: str(u + 1)),
    "gaps.csv": _text(name=lambda u: str(10**12 + 7 * u)),
    "windows.csv": _text(head="\ufeffsource,target\r\n").replace("\n", "\r\n"),
    "both_ways.csv": _text() + "".join(f"{v},{u}\n" for u, v in EDGES),
}


def _written(folder, form):
    path = folder / form
    graph = nx.Graph(EDGES)
    if form in TEXTS:
        path.write_text(TEXTS[form], newline="", encoding="utf-8")
    elif form == "packed.csv.gz":
        path.write_bytes(gzip.compress(_text(head="# packed\n").encode()))
    elif form.startswith("graph.graphml"):
        nx.write_graphml(graph, path)
    elif form == "graph.gml":
        nx.write_gml(graph, path)
    elif form == "graph.mtx":
        io.mmwrite(path, nx.to_scipy_sparse_array(graph, nodelist=range(6)).astype(float))
    elif form == "index.npz":
        np.savez(path, edge_index=np.array(EDGES).T)
    elif form == "edges.npz":
        np.savez(path, edges=np.array(EDGES))
    elif form == "matrix.npz":
        sparse.save_npz(path, sparse.csr_matrix(nx.to_scipy_sparse_array(graph, nodelist=range(6))))
    return path


FILES = (
    *TEXTS, "packed.csv.gz", "graph.graphml", "graph.graphml.gz", "graph.gml", "graph.mtx",
    "index.npz", "edges.npz", "matrix.npz",
)  # fmt: skip


def _bank(source):
    entry = PerformanceBank().add_graph("own", source)
    return entry.nodes, entry.edges


def _collected(source):
    graph = own_graphs([source])[0].build()
    return graph.num_nodes, graph.num_edges


def _run(source):
    data = task_from_edges("own", source).loader()
    return data.num_nodes, data.num_edges // 2


def _select(source):
    graph = as_graph(source)
    return graph.num_nodes, graph.num_edges


def _recommended(source):
    graph = recommend(source, "link_pred", top=1).graph
    return graph.num_nodes, graph.num_edges


def _rings(source):
    (data,) = stream(source)
    return data.num_nodes, data.num_edges // 2


DOORS = {
    "run": _run,
    "select": _select,
    "bank": _bank,
    "collect": _collected,
    "recommend": _recommended,
    "rings": _rings,
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("form", FILES)
def test_every_door_reads_the_same_graph_from_every_file(tmp_path, form, door):
    assert DOORS[door](_written(tmp_path, form)) == (6, 6)


OBJECTS = {
    "edge_index": lambda: np.array(EDGES).T,
    "rows": lambda: np.array(EDGES),
    "list": lambda: EDGES,
    "tensor": lambda: torch.tensor(EDGES).T,
    "frame": lambda: pd.DataFrame(EDGES, columns=["u", "v"]),
    "matrix": lambda: nx.to_scipy_sparse_array(nx.Graph(EDGES)),
    "networkx": lambda: nx.Graph(EDGES),
    "pyg": lambda: Data(edge_index=torch.tensor(EDGES).T, num_nodes=6),
    "mapping": lambda: {"edge_index": torch.tensor(EDGES).T},
}


@pytest.mark.parametrize("door", ["run", "select", "bank", "recommend"])
@pytest.mark.parametrize("form", OBJECTS)
def test_every_door_reads_the_same_graph_from_every_object(form, door):
    assert DOORS[door](OBJECTS[form]()) == (6, 6)


def _isolated(folder, form):
    graph = nx.Graph(EDGES)
    graph.add_node(6)
    path = folder / form
    if form == "graph.graphml":
        nx.write_graphml(graph, path)
    elif form == "graph.gml":
        nx.write_gml(graph, path)
    elif form == "matrix.npz":
        sparse.save_npz(path, sparse.csr_matrix(nx.to_scipy_sparse_array(graph, nodelist=range(7))))
    return path


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("form", ["graph.graphml", "graph.gml", "matrix.npz"])
def test_isolated_nodes_count_at_every_door(tmp_path, form, door):
    assert DOORS[door](_isolated(tmp_path, form)) == (7, 6)


@pytest.mark.filterwarnings("ignore:Complementarity is undefined")
def test_rings_measures_a_file(tmp_path):
    labels = tmp_path / "edges.csv"
    labels.write_text(_text(head="# six nodes\n"))
    assert dataset_statistics(labels).mean["nodes"] == 6


def test_command_line_counts_are_the_same(tmp_path, capsys):
    for form in ("comments.csv", "bare.csv", "graph.graphml"):
        path = _written(tmp_path, form)
        assert run_app(["select", "features", str(path), "--set", "compact", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["nodes"], found["edges"]) == (6, 6)


def test_nodes_of_the_side_tables_without_an_edge_are_isolated_nodes(tmp_path):
    edges, labels = tmp_path / "e.csv", tmp_path / "l.csv"
    edges.write_text("b,a\nb,c\n")
    labels.write_text("node,label\na,x\nb,y\nc,x\nalone,y\n")
    graph = read_graph(edges, labels=labels)
    assert graph.names.tolist() == ["a", "alone", "b", "c"]
    assert graph.labels.tolist() == ["x", "y", "y", "x"]
    assert as_graph(edges, labels=labels).labels.tolist() == [0, 1, 1, 0]
    task = task_from_edges("own", edges, labels=labels)
    assert task.loader().y.tolist() == [0, 1, 1, 0]
    labels.write_text("node,label\np,x\nq,y\n")
    with pytest.raises(DataError, match=r"l\.csv names none of the nodes of the graph"):
        read_graph(edges, labels=labels)


def test_whole_number_ids_keep_their_order_and_names(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("source,target,weight\n10,9,1\n9,100,2\n")
    graph = read_graph(path)
    assert graph.names.tolist() == [9, 10, 100]
    assert graph.edges.tolist() == [[1, 0], [0, 2]]
    assert graph.edge_columns["weight"].tolist() == [1, 2]
    assert read_graph(path, num_nodes=101).edges.tolist() == [[10, 9], [9, 100]]


def test_a_mapping_holds_a_value_or_a_row_by_node():
    """Python's own table of labels had the shape ()."""
    edges = [["ann", "ben"], ["ben", "cid"], ["cid", "ann"]]
    frame = pd.DataFrame(edges, columns=["source", "target"])
    graph = read_graph(
        frame, labels={"cid": "red", "ann": "blue", "dan": "red"},
        features={"ben": [2, 0.5], "ann": [1, 0.25], "cid": [3, 0.5], "dan": [4, 1]},
    )  # fmt: skip
    assert graph.names.tolist() == ["ann", "ben", "cid", "dan"]  # dan has no edge
    assert graph.labels.tolist() == ["blue", None, "red", "red"]
    assert graph.features.tolist() == [[1, 0.25], [2, 0.5], [3, 0.5], [4, 1]]
    with pytest.raises(DataError, match="rows of different length"):
        read_graph(frame, features={"ann": [1, 2], "ben": [1]})


def test_what_a_table_lacks_is_named():
    frame = pd.DataFrame([["a", "b"], ["b", "c"]], columns=["source", "target"])
    numbers = pd.DataFrame({"node": ["a", "b"], "size": [1.0, 2.0]})
    with pytest.raises(DataError, match=r"covers 2 of 3 nodes, not 'c'; give one row per node\."):
        read_graph(frame, features=numbers)
    with pytest.raises(DataError, match=r"no column 'age', which is one of age, size; .* it has size\. Add it\."):
        read_graph(frame, features=pd.DataFrame({"node": list("abc"), "size": 1.0}), feature_columns=["age", "size"])
    with pytest.raises(DataError, match=r"no column 'kind'; besides the ids it has size\. Name one of these\."):
        read_graph(frame, labels=numbers, label_column="kind")


def test_array_of_labels_says_how_many_nodes_there_are(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("0,1\n1,3\n")
    assert read_graph(path, labels=[5, 6, 7, 8]).num_nodes == 4  # node 2 has no edge
    assert read_graph(path, labels=[5, 6, 7]).names.tolist() == [0, 1, 3]
    with pytest.raises(DataError, match="one value per node"):
        read_graph(path, labels=[5, 6])


LABEL_TEXTS = {
    "header": "node,label\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(6)),
    "no header": "".join(f"{i},{'ab'[i % 2]}\n" for i in range(6)),
    "other names": "person,party\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(6)),
    "further columns": "node,age,label\n" + "".join(f"{i},{i},{'ab'[i % 2]}\n" for i in range(6)),
    "quoted commas": "node,label\n" + "".join(f'{i},"{"ab"[i % 2]}, c"\n' for i in range(6)),
    "tabs": "# who\tis\n" + "".join(f"{i}\t{'ab'[i % 2]}\n" for i in reversed(range(6))),
}


@pytest.mark.parametrize("form", LABEL_TEXTS)
def test_labels_are_read_by_content(tmp_path, form):
    edges, labels = _written(tmp_path, "bare.csv"), tmp_path / "labels.csv"
    labels.write_text(LABEL_TEXTS[form])
    assert as_graph(edges, labels=labels).labels.tolist() == [0, 1] * 3
    assert task_from_edges("own", edges, labels=labels).loader().y.tolist() == [0, 1] * 3


def test_labels_of_several_columns_need_a_choice(tmp_path):
    edges, labels = _written(tmp_path, "named.csv"), tmp_path / "labels.csv"
    labels.write_text("node,age,party\n" + "".join(f"n{i},{i % 3},{'ab'[i % 2]}\n" for i in range(6)))
    with pytest.raises(DataError, match=r"age, party.*label_column="):
        read_graph(edges, labels=labels)
    assert read_graph(edges, labels=labels, label_column="party").labels.tolist() == ["a", "b"] * 3
    task = task_from_edges("own", edges, labels=labels, label_column="age")
    assert task.loader().y.tolist() == [0, 1, 2] * 2
    with pytest.raises(DataError, match=r"no column 'size'.*age, party"):
        read_graph(edges, labels=labels, label_column="size")


def test_text_ids_without_a_header_lose_no_label(tmp_path):
    edges, labels = _written(tmp_path, "letters.txt"), tmp_path / "labels.csv"
    labels.write_text("t,red\n" + "".join(f"{_letters(i)},{('red', 'blue')[i % 2]}\n" for i in range(6)))
    assert read_graph(edges, labels=labels).num_nodes == 7  # t has a label and no edge
    labels.write_text("person,party\n" + "".join(f"{_letters(i)},{('red', 'blue')[i % 2]}\n" for i in range(6)))
    assert read_graph(edges, labels=labels).num_nodes == 6


def test_chosen_feature_columns(tmp_path):
    edges, table = _written(tmp_path, "bare.csv"), tmp_path / "x.csv"
    table.write_text("node,a,name,b\n" + "".join(f"{i},{i},n{i},{-i}\n" for i in range(6)))
    with pytest.raises(DataError, match=r"column 'name' of x\.csv.*numbers"):
        read_graph(edges, features=table)
    graph = read_graph(edges, features=table, feature_columns=("b",))
    assert graph.features.tolist() == [[-float(i)] for i in range(6)]


@pytest.mark.parametrize("door", ["run", "select"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("source,weight\n1,2\n", "no column 'target'"),
        ("source,target\n1,2\n-3,4\n", "line 3: negative node id"),
        ("source,target\n", "no edges"),
        ("", "empty"),
        ("# only\n", "empty"),
        ("a\nb\n", "two id columns"),
        ("name,city,age\n1,2,3\n", "which two hold the node ids"),
        ("source,target\n1,2\n3\n", "line 3"),
        ("# one\n\n1 2\n3\n", "line 4"),
        ("source,target\n0,\n", "line 2.*both ends"),
        ("source,target\n0,1\n0,1.5\n", "line 3.*whole numbers"),
    ],
)
def test_bad_files_say_the_same_at_both_doors(tmp_path, text, words, door):
    path = tmp_path / "graph.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=words) as caught:
        DOORS[door](path)
    assert "graph.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_networkx_attributes_by_name():
    graph = nx.Graph(EDGES)
    nx.set_node_attributes(graph, {i: i % 2 for i in range(6)}, "kind")
    nx.set_node_attributes(graph, {i: float(i) for i in range(6)}, "size")
    found = read_graph(graph, label_column="kind", feature_columns=("size",))
    assert found.labels.tolist() == [0, 1] * 3
    assert found.features[:, 0].tolist() == [0, 1, 2, 3, 4, 5]
    assert task_from_networkx("own", graph, label="kind").loader().y.tolist() == [0, 1] * 3


def test_plain_words_are_not_taken_for_titles(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("# to be\nto be\nbe or\n")
    assert read_graph(path).names.tolist() == ["be", "or", "to"]


def test_ids_written_in_other_ways_are_the_same_node(tmp_path):
    edges, labels = tmp_path / "e.csv", tmp_path / "l.csv"
    edges.write_text("1,2\n2,3\n")
    labels.write_text("node,label\n01,a\n2.0,b\n3,a\n")
    assert read_graph(edges, labels=labels).labels.tolist() == ["a", "b", "a"]
    edges.write_text("v1.0,v2.0\n")
    labels.write_text("node,label\nv1.0,a\nv2.0,b\n")
    assert read_graph(edges, labels=labels).num_nodes == 2


def test_frames_of_labels_may_name_further_nodes(tmp_path):
    edges = tmp_path / "e.csv"
    edges.write_text("a,b\n")
    frame = pd.DataFrame({"node": ["a", "b", "c"], "label": [0, 1, None]})
    graph = read_graph(edges, labels=frame)
    assert graph.names.tolist() == ["a", "b", "c"]
    with pytest.raises(DataError, match="one value per node"):
        read_graph(edges, labels=[0, 1, 2])
    with pytest.raises(DataError, match="Leave num_nodes out"):
        read_graph(edges, num_nodes=3)


def test_tables_that_are_no_text_are_refused(tmp_path):
    edges, labels = tmp_path / "e.csv", tmp_path / "l.csv"
    edges.write_text("a,b\n")
    labels.write_bytes(b"node,label\na,\xff\xfe\n")
    with pytest.raises(DataError, match=r"l\.csv"):
        read_graph(edges, labels=labels)
    with pytest.raises(DataError, match=r"not a text file|cannot be read"):
        read_graph(labels)


PLAIN = ["{}\n", "# c\n{}\n", "source,target\n{}\n", "{}", "{}\r\n", "\n{}\n\n", "% a\n{}\n# b\n"]
TURNS = ["0,1\n12,7", "3,4,0.5\n5,6,x", "1, 2\n3,4 ", "007,8\n9,1"]
ODD = ["1,2 # three\n4,5", " 1,2\n3,4", "1,2\n-3,4", "1,2\n+3,4", "1,2\n3", "1,2\n3.0,4", '"1",2\n3,4', "1,2\n3,é",
       "1,2\n9999999999999999999,1", "1,2\r3,4", "1,2\n\x003,4", "1;2\n3;4", "1,2x\n3,4"]  # fmt: skip


@pytest.mark.parametrize("frame", PLAIN)
@pytest.mark.parametrize("content", TURNS + ODD)
def test_the_quick_reader_agrees_with_the_usual_one_or_leaves_it_to_it(tmp_path, frame, content):
    from graphnetz.graphs.edgelist import _fast
    from graphnetz.graphs.quick_pairs import quick_pairs

    file = tmp_path / "edges.csv"
    file.write_bytes(frame.format(content.replace("\n", "\r\n") if "\r\n" in frame else content).encode())
    skip = int(frame.startswith("source"))
    found, usual = quick_pairs(file, ",", skip=skip), _fast(file, ",", (0, 1), skip=skip, kind=np.int64)
    if content in ODD:
        assert found is None
    else:
        np.testing.assert_array_equal(found, usual)


def test_the_quick_reader_takes_blanks_and_tabs(tmp_path):
    from graphnetz.graphs.quick_pairs import quick_pairs

    file = tmp_path / "edges.txt"
    file.write_text("1  2 7\n3\t4\n5 6 \n")
    assert quick_pairs(file, None).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert quick_pairs(file, "\t") is None
    file.write_text("1\t2\n3 \t4\n")
    assert quick_pairs(file, "\t").tolist() == [[1, 2], [3, 4]]


def test_a_large_list_is_read_like_a_small_one(tmp_path, monkeypatch):
    from graphnetz.graphs import edgelist

    file = tmp_path / "edges.csv"
    pairs = np.random.default_rng(0).integers(0, 10**6, (500, 2)) * 7
    file.write_text("src,dst,kind\n" + "".join(f"{a},{b},{a % 3}\n" for a, b in pairs.tolist()))
    usual = edgelist.read_edge_list(file)
    monkeypatch.setattr(edgelist, "_LARGE", 0)
    quick = edgelist.read_edge_list(file)
    np.testing.assert_array_equal(quick.ids, usual.ids)
    np.testing.assert_array_equal(quick.edges, usual.edges)
    np.testing.assert_array_equal(quick.ids[quick.edges], pairs)


@pytest.mark.parametrize("top", [30, 10**9])
def test_ids_are_numbered_as_by_sorting(top):
    from graphnetz.graphs.edgelist import numbered

    pairs = np.random.default_rng(1).integers(0, top, (40, 2))
    ids, edges = numbered(pairs)
    wanted, inverse = np.unique(pairs, return_inverse=True)
    np.testing.assert_array_equal(ids, wanted)
    np.testing.assert_array_equal(edges, inverse.reshape(pairs.shape))
