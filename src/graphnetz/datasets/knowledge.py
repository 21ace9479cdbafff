"""Knowledge: entities joined by typed relations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphnetz.datasets.cards import dataset
from graphnetz.datasets.sources.facts import GENERATED, NETZ, size

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from graphnetz.datasets.sources.base import GraphDataset
    from graphnetz.datasets.sources.facts import Mirror, Root


@dataset(
    "knowledge",
    serves={"link_pred": 25},
    title="Kinship with exact composition rules",
    **GENERATED,
    citation="Own generator after the kinship task of Hinton, 1986.",
    notes=("Seven relations; all but parent and spouse follow from these two.", "Every seed draws new families."),
)
def kinship_rules(_root: object = None, *, seed: int = 0, **size: Any) -> Data:
    """Return a kinship graph; see `graphnetz.datasets.generators.kinship.kinship`."""
    from graphnetz.datasets.generators.kinship import kinship

    return kinship(seed, **size)


@dataset(
    "knowledge",
    serves={"link_pred": 20},
    curated=("link_pred",),
    title="FB15k-237",
    source="github.com/MichSchli/RelationPrediction",
    licence="MIT (repository)",
    citation="Toutanova and Chen, Observed versus latent features, 2015.",
    mirror=("RelLinkPredDataset/FB15k-237.zip",),
    **size(1, 14541, 544230, None, None),
)
def fb15k_237(root: Root = "data/fb15k_237", *, mirror: Mirror = None) -> GraphDataset:
    """Return Freebase facts with 237 relations and the published split."""
    from graphnetz.datasets.sources.relational import fb15k_237

    return fb15k_237(root, mirror=mirror)


@dataset(
    "knowledge",
    serves={"link_pred": 20},
    curated=("link_pred",),
    title="WN18RR",
    source="github.com/villmow/datasets_knowledge_embedding",
    licence="MIT (repository)",
    citation="Dettmers et al., Convolutional 2D knowledge graph embeddings, 2018.",
    mirror=("WordNet18RR/raw",),
    **size(1, 40943, 173670, None, None),
)
def wordnet18rr(root: Root = "data/wordnet18rr", *, mirror: Mirror = None) -> GraphDataset:
    """Return WordNet facts with 11 relations and the published split."""
    from graphnetz.datasets.sources.relational import wordnet18rr

    return wordnet18rr(root, mirror=mirror)


@dataset("knowledge", serves={"link_pred": 20}, title="WordNet (Netzschleuder)", **NETZ)
def wordnet_netz(root: Root = "data/wordnet_netz", *, mirror: Mirror = None) -> GraphDataset:
    """Return WordNet relations as one plain network (Fellbaum, 1998)."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "wordnet", "wordnet", mirror=mirror)
