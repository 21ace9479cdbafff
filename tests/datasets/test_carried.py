"""Readers of carried files, on tiny ones of our own making in the publishers' layouts."""

import gzip
import io
import json
import sqlite3
import zipfile

import numpy as np
import pytest
import torch
from training_step import train_one_epoch

from graphnetz._core.errors import DataError
from graphnetz.datasets.sources.carried import biology, engineering, knots, knowledge, measured, networks
from graphnetz.datasets.sources.carried.build import class_numbers, distinct_pairs

SBML = "http://www.sbml.org/sbml/level3/version1/core"


def _zipped(name, text):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr(name, text)
    return sink.getvalue()


def _labelled(data, classes):
    masks = torch.stack([data[key] for key in ("train_mask", "val_mask", "test_mask")])
    assert masks.shape[2] == 10
    assert (masks.sum(0) <= 1).all()
    assert data.y[masks[0, :, 0]].unique().tolist() == list(range(classes))
    return masks.any(dim=0).any(dim=1)


def test_reactions_take_the_class_of_their_enzymes():
    species = "".join(
        f'<species id="M{i}" compartment="{"cpe"[i % 3]}" xmlns:fbc="f" fbc:charge="-2" fbc:chemicalFormula="C6H12O{i}"/>'
        for i in range(1, 9)
    )
    side = '<listOf{0}s><speciesReference species="M{1}"/></listOf{0}s>'
    reactions = "".join(
        f'<reaction id="R{i}" reversible="{"true" if i % 2 else "false"}"><annotation>'
        + "".join(f'<li resource="http://identifiers.org/ec-code/{ec}.1.1.1"/>' for ec in codes)
        + f"</annotation>{side.format('Reactant', i % 8 + 1)}{side.format('Product', (i + 3) % 8 + 1)}</reaction>"
        for i, codes in enumerate([[1]] * 30 + [[2]] * 30 + [[1, 2], []])
    )
    text = f'<sbml xmlns="{SBML}"><model>{species}{reactions}</model></sbml>'
    (data,) = biology.enzymes({"iJO1366.xml.gz": gzip.compress(text.encode())}).graphs
    assert (data.num_nodes, data.num_edges) == (8 + 62, 2 * 2 * 62)
    assert _labelled(data, 2).sum() == 60, "a reaction of two classes, or of none, has no class"
    assert data.x[0].tolist() == pytest.approx([0, 0, 0, 0, np.log(7), np.log(13), 0, np.log(2), 0, 0, -0.5, 0, 1, 0])
    assert data.x[9].tolist()[:4] == pytest.approx([1, 1, np.log(2), np.log(2)])
    assert train_one_epoch(data, "node_cls").n_train == 36


FIGURE_EIGHT = "[[4,2,5,1],[8,6,1,5],[6,3,7,4],[2,7,3,8]]"
TREFOIL = "[[1,5,2,4],[3,1,4,6],[5,3,6,2]]"


def test_knots_are_planar_diagrams_with_their_volume():
    head = "name|crossing_number|pd_notation|volume\nName|Crossing Number|PD Notation|Volume\n"
    rows = [f"3_1|3|{TREFOIL}|0", f"4_1|4|{FIGURE_EIGHT}|2.0298832128", f"12a_1|12|{FIGURE_EIGHT}|9"]
    (data,) = knots.volumes({"knotinfo_data_complete.csv": (head + "\n".join(rows)).encode()}).graphs
    assert (data.num_nodes, data.num_edges, data.y.item()) == (4, 16, pytest.approx(2.0298832))
    assert torch.bincount(data.edge_index[0]).tolist() == [4, 4, 4, 4], "four arcs meet at a crossing"
    assert data.x[:, 0].sum() == 0, "the figure-eight knot has writhe 0"
    assert (data.x[:, 1:].sum(1) == 4).all(), "and four corners"
    sides = torch.tensor([2.0, 3, 4, 5, 6])
    faces = (data.x[:, 1:] / sides).sum()
    assert faces == pytest.approx(4 + 2), "Euler: as many faces as crossings, and two"
    assert (data.edge_attr.sum(1) == 1).all(), "it alternates: every arc runs from above to below"


def test_departments_of_fewer_than_twenty_have_no_class():
    people = [(i, "A" if i < 30 else "B" if i < 55 else "C") for i in range(60)]
    vertices = '"id","dept"\n' + "\n".join(f"{i},{d}" for i, d in people)
    edges = '"from","to"\n' + "\n".join(f"{i},{(i * 7 + 1) % 60}" for i in range(60)) + "\n3,3\n22,3\n3,22"
    (data,) = networks.departments(
        {"email_vertices.csv": vertices.encode(), "email_edgelist.csv": edges.encode()}
    ).graphs
    assert _labelled(data, 2).tolist() == [i < 55 for i in range(60)]
    assert not (data.edge_index[0] == data.edge_index[1]).any()
    assert data.feature_rule == "identity"
    assert train_one_epoch(data, "node_cls").n_train > 0


def test_goods_bought_together_are_cut_to_their_core():
    trips = ["1 2 3 4", "1 2 3 4", "4 5", "6"]
    (data,) = networks.baskets({"walmart-trips-reduced.txt": "\n".join(trips).encode()}, core=3).graphs
    assert (data.num_nodes, data.num_edges) == (4, 12)


def _table(columns, rows):
    return {"_object": json.dumps({"columns": columns, "data": rows})}


def test_the_grid_hides_voltages_and_joins_parallel_circuits():
    tables = {
        "bus": _table(["vn_kv"], [[90.0]] * 12),
        "line": _table(["from_bus", "to_bus"], [[i, i + 1] for i in range(11)] + [[1, 0]]),
        "trafo": _table(["hv_bus", "lv_bus"], [[0, 11], [11, 0], [3, 9], [2, 8]]),
        "load": _table(["bus", "p_mw", "q_mvar"], [[2, 5.0, -1.0], [2, 5.0, 0.0]]),
        "gen": _table(["bus", "p_mw"], [[4, 100.0]]),
        "sgen": _table(["bus", "p_mw"], [[5, 1.0]]),
        "shunt": _table(["bus", "q_mvar"], [[6, -30.0]]),
    }
    (data,) = engineering.transformers({"case.json": json.dumps({"_object": tables}).encode()}).graphs
    assert (data.num_edges, data.edge_label.sum().item()) == (2 * 14, 2 * 3)
    both = {
        tuple(pair): label for pair, label in zip(data.edge_index.T.tolist(), data.edge_label.tolist(), strict=True)
    }
    assert both[0, 11] == both[11, 0] == 1
    assert both[0, 1] == both[1, 0] == 0
    assert data.x[2].tolist() == pytest.approx([np.log(11), 1, -np.log(2), 1, 0, 0, 0, 0, 0, 0])
    assert data.x[6].tolist()[-2:] == pytest.approx([-np.log(31), 1])


def test_gates_know_what_they_read_and_not_what_they_are():
    kinds = ("and", "nand", "nor", "not", "or")
    lines = [
        f"  {kinds[i % 5]} g{i}(n{i}, n{i - 1}{'' if i % 5 == 3 else f', n{max(i - 7, 0)}'});" for i in range(1, 101)
    ]
    text = "module m(n0, n100);\n input n0;\n output n100;\n wire n1, n2;\n" + "\n".join(lines) + "\nendmodule"
    (data,) = engineering.gates({"m.v": text.encode()}).graphs
    assert data.num_nodes == 101
    known = _labelled(data, 5)
    assert known.sum() == 100
    assert data.x[~known, 2].tolist() == [1], "what has no class is the input"
    assert data.x[:, 2:].sum(0).tolist() == [1, 1]


def test_graph_classes_without_an_answer_have_no_class():
    words = ["Linear", "NP-complete", "Unknown"]
    classes = "".join(
        f'<GraphClass id="g{i}" type="{"base" if i % 2 else "forbidden"}"><problem name="Recognition" complexity="Linear"/>'
        f'<problem name="Hamiltonian cycle" complexity="{words[i % 3]}"/></GraphClass>'
        for i in range(60)
    )
    inclusions = "".join(f'<incl super="g{i}" sub="g{(i * 7 + 3) % 60}"/>' for i in range(60))
    text = f'<?xml version="1.0"?><ISGCI>{classes}<Inclusions>{inclusions}</Inclusions></ISGCI>'
    (data,) = knowledge.graph_classes({"isgci_sage.xml": text.encode()}).graphs
    assert _labelled(data, 2).tolist() == [i % 3 < 2 for i in range(60)]
    assert data.x.shape == (60, 4), "two kinds of definition, recognition easy or hard"


def test_techniques_of_one_tactic_have_a_class_and_its_name_is_no_feature():
    def entry(i, chain, words):
        return {"uuid": f"u{i}", "description": f"Adversaries {words} number", "meta": {"kill_chain": chain},
                "related": [{"dest-uuid": f"u{(i + 1) % 50}", "type": "uses"}, {"dest-uuid": "elsewhere"}]}  # fmt: skip

    values = [entry(i, ["attack-Linux:persistence"], "persistence stay") for i in range(20)]
    values += [entry(i, ["attack-Linux:discovery", "attack-macOS:discovery"], "look") for i in range(20, 40)]
    values += [entry(40, ["attack-Linux:discovery", "attack-Linux:impact"], "both")]
    values += [entry(i, ["mobile-attack-iOS:impact"], "phone") for i in range(41, 50)]
    built = knowledge.tactics({"mitre-attack-pattern.json": json.dumps({"values": values}).encode()})
    (data,) = built.graphs
    assert built.info == {"classes": ["discovery", "persistence"]}
    assert _labelled(data, 2).sum() == 40
    assert data.x.shape[1] == len({"adversaries", "number", "look", "stay", "phone", "both"})


def test_nuclides_are_classed_by_half_life_in_seconds():
    base = sqlite3.connect(":memory:")
    base.execute("create table isotopes (atomic_number, mass_number, half_life, half_life_unit)")
    lives = [(5.0, "msec"), (1.0, "sec"), (20.0, "sec"), (5.0, "minute"), (2.0, "hour"), (None, None), (1.0, "kyear")]
    rows = [(z, z + n, *lives[(z * 10 + n) % 7]) for z in range(1, 16) for n in range(1, 11)]
    base.executemany("insert into isotopes values (?, ?, ?, ?)", rows)
    (data,) = measured.half_lives({"elements.db": base.serialize()}).graphs
    assert data.num_nodes == 150
    assert data.num_edges == 2 * (14 * 10 + 15 * 9 + 14 * 9), (
        "one proton more, one neutron more, one turned into the other"
    )
    known = _labelled(data, 5)
    wanted = [-1 if lives[(z * 10 + n) % 7][0] is None else [0, 1, 2, 3, 4, -1, 4][(z * 10 + n) % 7]
              for z in range(1, 16) for n in range(1, 11)]  # fmt: skip
    assert torch.where(known, data.y, -1).tolist() == wanted


def test_months_are_in_order_and_the_target_is_the_next_one():
    rng = np.random.default_rng(0)
    days = [f"{2000 + m // 12}-{m % 12 + 1:02d}-{d:02d}" for m in range(30) for d in range(1, 21)]
    rates = np.exp(np.cumsum(rng.normal(0, 0.005, size=(len(days), 6)), axis=0))
    lines = [",".join([day, *(f"{v:.6f}" for v in row), "N/A", ""]) for day, row in zip(days, rates, strict=True)]
    text = "Date," + ",".join(f"C{i}" for i in range(6)) + ",GONE,\n" + "\n".join(reversed(lines))
    built = measured.currencies({"eurofxref-hist.zip": _zipped("eurofxref-hist.csv", text)})
    assert built.info == {"nodes": [f"C{i}" for i in range(6)]}, "a currency with gaps is left out"
    assert len(built.graphs) == 28
    for now, later in zip(built.graphs, built.graphs[1:], strict=False):
        assert now.y.item() == pytest.approx(later.x[:, 0].mean().item(), abs=1e-6)
        assert torch.allclose(now.x[:, 0], later.x[:, 1])
    parts = [built.splits[part] for part in ("train", "val", "test")]
    assert np.concatenate(parts).tolist() == list(range(28)), "time runs from training to test"


def test_digits_are_taken_evenly_and_empty_superpixels_left_out():
    images = np.zeros((40, 28, 28), dtype=int)
    images[:, 4:24, 12:16] = 255
    table = np.concatenate([images.reshape(40, -1), np.repeat(np.arange(10), 4)[:, None]], axis=1)
    text = "\n".join(",".join(map(str, row)) for row in table)
    options = {"images": 20, "segments": 49, "neighbours": 4, "darkest": 0.2, "strokes": True}
    built = measured.digits({"mnist_5k.csv.gz": gzip.compress(text.encode())}, **options)
    assert [graph.y.item() for graph in built.graphs] == np.repeat(np.arange(10), 2).tolist()
    first = built.graphs[0]
    assert first.x.shape[1] == 5
    assert first.x[:, 0].min() >= 0.2
    assert first.num_nodes < 49
    assert (first.x[:, 3] >= -1e-6).all(), "a vertical bar changes from left to right, not from top to bottom"


def test_what_joins_nothing_is_refused():
    with pytest.raises(DataError, match="joins nothing"):
        distinct_pairs([])
    codes, kept = class_numbers(["b"] * 20 + ["a"] * 20 + ["c", None])
    assert kept == ["a", "b"]
    assert codes[[0, 20, 40, 41]].tolist() == [1, 0, -1, -1]
