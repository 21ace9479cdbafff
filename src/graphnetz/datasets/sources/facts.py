"""What the cards of one source have in common. Imports nothing heavy, so that listing stays quick."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Root = str | Path
Mirror = str | Path | None

TU: dict[str, Any] = {
    "source": "TU collection, chrsmrrs.github.io/datasets",
    "licence": "not stated by the collection; terms of the original data",
    "citation": "Morris et al., TUDataset: a collection of benchmark datasets for learning with graphs, 2020.",
}
NETZ: dict[str, Any] = {
    "source": "Netzschleuder, networks.skewed.de",
    "licence": "per network; see its page on the site",
    "citation": "Peixoto, The Netzschleuder network catalogue and repository, 2020.",
}
OGB: dict[str, Any] = {
    "source": "Open Graph Benchmark, ogb.stanford.edu",
    "citation": "Hu et al., Open Graph Benchmark, 2020.",
    "extra": "ogb",
}
OGB_MOL: dict[str, Any] = {**OGB, "licence": "MIT", "features": 9}
MOLECULE_NET: dict[str, Any] = {
    "source": "MoleculeNet (DeepChem)",
    "licence": "MIT (repository); terms of the original data",
    "citation": "Wu et al., MoleculeNet: a benchmark for molecular machine learning, 2018.",
    "extra": "chem",
    "features": 9,
}
PLANETOID: dict[str, Any] = {
    "source": "github.com/kimiyoung/planetoid",
    "licence": "MIT (repository)",
    "citation": "Sen et al., Collective classification in network data, 2008; split of Yang et al., 2016.",
    "notes": ("Pickled raw files, read only with their pinned sha256.", "Public split: 20 per class, 500, 1000."),
}
HETEROPHILOUS: dict[str, Any] = {
    "source": "github.com/yandex-research/heterophilous-graphs",
    "licence": "MIT (repository)",
    "citation": "Platonov et al., A critical look at the evaluation of GNNs under heterophily, 2023.",
    "notes": ("Ten published splits; seed s uses split s modulo 10.",),
}
GEOM_GCN: dict[str, Any] = {
    "source": "github.com/graphdml-uiuc-jlu/geom-gcn",
    "licence": "none stated",
    "citation": "Pei et al., Geom-GCN: geometric graph convolutional networks, 2020.",
    "notes": ("Directed links, kept so.", "Ten published splits; seed s uses split s modulo 10."),
    "classes": 5,
}
AIRPORTS: dict[str, Any] = {
    "source": "github.com/leoribeiro/struc2vec",
    "licence": "MIT (repository)",
    "citation": "Ribeiro et al., struc2vec: learning node representations from structural identity, 2017.",
    "notes": ("Identity features; no published split: ten stratified 60/20/20 splits of ours.",),
    "classes": 4,
}
MIRROR_ONLY: dict[str, Any] = {
    "source": "a mirror only: networks/<name>.csv",
    "licence": "see the source of the copy",
}


def size(
    graphs: int | None = None,
    nodes: int | None = None,
    edges: int | None = None,
    features: int | None = None,
    classes: int | None = None,
) -> dict[str, Any]:
    """Return the card fields for a dataset's size; edges are columns of ``edge_index``, in all graphs."""
    known = {"graphs": graphs, "nodes": nodes, "edges": edges, "features": features, "classes": classes}
    return {key: value for key, value in known.items() if value is not None}


def network(nodes: int, pairs: int, **more: Any) -> dict[str, Any]:
    """Return the card fields of one network with ``pairs`` undirected edges."""
    return {"graphs": 1, "nodes": nodes, "edges": 2 * pairs, **more}
