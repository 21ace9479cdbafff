"""Biology: molecules, proteins, tissues, brains and contacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphnetz.datasets.cards import dataset
from graphnetz.datasets.sources.facts import MIRROR_ONLY, MOLECULE_NET, NETZ, OGB_MOL, TU, network, size

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from graphnetz.datasets.sources.base import GraphDataset
    from graphnetz.datasets.sources.facts import Mirror, Root


@dataset(
    "biology",
    serves={"node_cls": 40},
    title="Breast cancer biopsies joined to their nearest",
    source="scikit-learn (UCI Breast Cancer Wisconsin Diagnostic)",
    licence="CC BY 4.0",
    citation="Street, Wolberg and Mangasarian, Nuclear feature extraction for breast tumor diagnosis, 1993.",
    offline=True,
    nodes=569,
    features=30,
    classes=2,
    notes=("Real measurements; the graph joins each biopsy to its 10 nearest and is ours.", "60 labels per class."),
)
def breast_cancer_knn(_root: object = None, *, k: int = 10, per_class: int = 60) -> Data:
    """Return the biopsies as a nearest-neighbour graph with ten random splits."""
    from sklearn.datasets import load_breast_cancer

    from graphnetz.datasets.generators.build import with_masks
    from graphnetz.datasets.generators.networks import nearest_neighbour_graph

    table = load_breast_cancer()
    return with_masks(nearest_neighbour_graph(table.data, table.target, k=k), splits=10, per_class=per_class)


_PEPTIDES: dict[str, Any] = {
    "source": "Long Range Graph Benchmark, github.com/vijaydwivedi75/lrgb",
    "licence": "CC BY-NC 4.0 (SATPdb)",
    "citation": "Dwivedi et al., Long range graph benchmark, 2022.",
}


@dataset(
    "biology",
    serves={"graph_cls": 40},
    curated=("graph_cls",),
    title="MUTAG",
    mirror=("TUDataset/MUTAG/raw",),
    **size(188, 3371, 7442, 7, 2),
    **TU,
)
def mutag(root: Root = "data/mutag", *, mirror: Mirror = None) -> GraphDataset:
    """Return 188 nitro compounds, mutagenic or not (Debnath et al., 1991)."""
    from graphnetz.datasets.sources.tu import tu_dataset

    return tu_dataset(root, "MUTAG", mirror=mirror)


@dataset(
    "biology",
    serves={"graph_cls": 20},
    curated=("graph_cls",),
    title="PROTEINS",
    mirror=("TUDataset/PROTEINS/raw",),
    **size(1113, 43471, 162088, 3, 2),
    **TU,
)
def proteins(root: Root = "data/proteins", *, mirror: Mirror = None) -> GraphDataset:
    """Return 1,113 proteins, enzymes or not (Borgwardt et al., 2005)."""
    from graphnetz.datasets.sources.tu import tu_dataset

    return tu_dataset(root, "PROTEINS", mirror=mirror)


@dataset(
    "biology",
    serves={"graph_cls": 40},
    title="ENZYMES",
    mirror=("TUDataset/ENZYMES/raw",),
    **size(600, 19580, 74564, 3, 6),
    **TU,
)
def enzymes(root: Root = "data/enzymes", *, mirror: Mirror = None) -> GraphDataset:
    """Return 600 enzymes of six classes (Borgwardt et al., 2005)."""
    from graphnetz.datasets.sources.tu import tu_dataset

    return tu_dataset(root, "ENZYMES", mirror=mirror)


@dataset("biology", serves={"graph_cls": 10}, title="Peptides-func", **size(15535, None, None, 9, 10), **_PEPTIDES)
def peptides_func(root: Root = "data/peptides_func", *, mirror: Mirror = None) -> GraphDataset:
    """Return 15,535 peptides with ten functions each (Dwivedi et al., 2022)."""
    from graphnetz.datasets.sources.tensor_files import peptides

    return peptides(root, "peptides-func", mirror=mirror)


@dataset("biology", serves={"graph_reg": 10}, title="Peptides-struct", **size(15535, None, None, 9, 11), **_PEPTIDES)
def peptides_struct(root: Root = "data/peptides_struct", *, mirror: Mirror = None) -> GraphDataset:
    """Return 15,535 peptides with eleven structural targets (Dwivedi et al., 2022)."""
    from graphnetz.datasets.sources.tensor_files import peptides

    return peptides(root, "peptides-struct", mirror=mirror)


@dataset("biology", serves={"graph_cls": 10}, title="ogbg-molhiv", graphs=41127, classes=2, **OGB_MOL)
def ogbg_molhiv(root: Root = "data/ogbg_molhiv", *, mirror: Mirror = None) -> GraphDataset:
    """Return 41,127 molecules that inhibit HIV or not, on the scaffold split."""
    from graphnetz.datasets.sources.ogb import ogb_dataset

    return ogb_dataset(root, "ogbg-molhiv", mirror=mirror)


@dataset("biology", serves={"graph_cls": 4}, title="ogbg-molpcba", graphs=437929, classes=128, **OGB_MOL)
def ogbg_molpcba(root: Root = "data/ogbg_molpcba", *, mirror: Mirror = None) -> GraphDataset:
    """Return 437,929 molecules with 128 assays; a missing label is NaN."""
    from graphnetz.datasets.sources.ogb import ogb_dataset

    return ogb_dataset(root, "ogbg-molpcba", mirror=mirror)


@dataset(
    "biology",
    serves={"link_pred": 40, "node_cls": 40},
    title="PPI",
    source="data.dgl.ai",
    licence="not stated",
    citation="Zitnik and Leskovec, Predicting multicellular function, 2017.",
    **size(24, None, None, 50, 121),
)
def ppi(root: Root = "data/ppi", *, mirror: Mirror = None) -> GraphDataset:
    """Return 24 tissue networks; link prediction uses the first."""
    from graphnetz.datasets.sources.packaged import ppi

    return ppi(root, mirror=mirror)


@dataset(
    "biology",
    serves={"link_pred": 80},
    curated=("link_pred",),
    title="C. elegans metabolism",
    mirror=("networks/celegans_metabolic.csv",),
    **network(453, 2025),
    **NETZ,
)
def celegans(root: Root = "data/celegans", *, mirror: Mirror = None) -> GraphDataset:
    """Return the metabolic network of C. elegans (Duch and Arenas, 2005)."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "celegans_metabolic", "celegans_metabolic", mirror=mirror)


@dataset("biology", serves={"link_pred": 80}, title="Budapest reference connectome", **NETZ)
def budapest_connectome(root: Root = "data/budapest_connectome", *, mirror: Mirror = None) -> GraphDataset:
    """Return the consensus connectome of 477 people (Szalkai et al., 2017)."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "budapest_connectome", "all_20k", mirror=mirror)


@dataset(
    "biology",
    serves={"link_pred": 80},
    title="Contacts in a hospital ward",
    mirror=("networks/sp_hospital.csv",),
    **network(75, 1139),
    **NETZ,
)
def hospital_contacts(root: Root = "data/hospital_contacts", *, mirror: Mirror = None) -> GraphDataset:
    """Return face-to-face contacts in a Lyon ward (Vanhems et al., 2013)."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "sp_hospital", "sp_hospital", mirror=mirror)


@dataset("biology", serves={"link_pred": 80}, title="Contacts in a high school", **NETZ)
def high_school_contacts(root: Root = "data/high_school_contacts", *, mirror: Mirror = None) -> GraphDataset:
    """Return proximity contacts of Marseilles pupils (Mastrandrea et al., 2015)."""
    from graphnetz.datasets.sources.netz import Netz

    return Netz(root, "sp_high_school", "proximity", mirror=mirror)


@dataset(
    "biology",
    serves={"graph_cls": 40},
    title="AIDS",
    mirror=("TUDataset/AIDS/raw",),
    **size(2000, 31385, 64780, 42, 2),
    **TU,
)
def aids(root: Root = "data/aids", *, mirror: Mirror = None) -> GraphDataset:
    """Return 2,000 molecules, active or not (Riesen and Bunke, 2008); attributes and labels."""
    from graphnetz.datasets.sources.tu import tu_dataset

    return tu_dataset(root, "AIDS", use_node_attr=True, mirror=mirror)


@dataset(
    "biology",
    serves={"graph_cls": 40},
    title="NCI1",
    mirror=("TUDataset/NCI1/raw",),
    **size(4110, 122747, 265506, 37, 2),
    **TU,
)
def nci1(root: Root = "data/nci1", *, mirror: Mirror = None) -> GraphDataset:
    """Return 4,110 molecules, active against lung cancer cells or not (Wale and Karypis, 2006)."""
    from graphnetz.datasets.sources.tu import tu_dataset

    return tu_dataset(root, "NCI1", mirror=mirror)


@dataset(
    "biology",
    serves={"graph_cls": 20},
    title="DD",
    mirror=("TUDataset/zips/DD.zip",),
    **size(1178, 334925, 1686092, 89, 2),
    **TU,
)
def dd(root: Root = "data/dd", *, mirror: Mirror = None) -> GraphDataset:
    """Return 1,178 proteins, enzymes or not (Dobson and Doig, 2003)."""
    from graphnetz.datasets.sources.tu import tu_dataset

    return tu_dataset(root, "DD", mirror=mirror)


@dataset("biology", serves={"graph_cls": 20}, title="PROTEINS_full", **size(1113, 43471, 162088, 32, 2), **TU)
def proteins_full(root: Root = "data/proteins_full", *, mirror: Mirror = None) -> GraphDataset:
    """Return 1,113 proteins with 29 attributes and 3 labels (Borgwardt et al., 2005)."""
    from graphnetz.datasets.sources.tu import tu_dataset

    return tu_dataset(root, "PROTEINS_full", use_node_attr=True, mirror=mirror)


@dataset("biology", serves={"graph_cls": 10}, title="ogbg-molbace", graphs=1513, classes=2, **OGB_MOL)
def ogbg_molbace(root: Root = "data/ogbg_molbace", *, mirror: Mirror = None) -> GraphDataset:
    """Return ogbg-molbace with its scaffold split."""
    from graphnetz.datasets.sources.ogb import ogb_dataset

    return ogb_dataset(root, "ogbg-molbace", mirror=mirror)


@dataset("biology", serves={"graph_cls": 10}, title="ogbg-molbbbp", classes=2, **OGB_MOL)
def ogbg_molbbbp(root: Root = "data/ogbg_molbbbp", *, mirror: Mirror = None) -> GraphDataset:
    """Return ogbg-molbbbp with its scaffold split."""
    from graphnetz.datasets.sources.ogb import ogb_dataset

    return ogb_dataset(root, "ogbg-molbbbp", mirror=mirror)


@dataset("biology", serves={"graph_cls": 10}, title="ogbg-molclintox", classes=2, **OGB_MOL)
def ogbg_molclintox(root: Root = "data/ogbg_molclintox", *, mirror: Mirror = None) -> GraphDataset:
    """Return ogbg-molclintox with its scaffold split."""
    from graphnetz.datasets.sources.ogb import ogb_dataset

    return ogb_dataset(root, "ogbg-molclintox", mirror=mirror)


@dataset("biology", serves={"graph_cls": 10}, title="ogbg-molmuv", graphs=93087, classes=17, **OGB_MOL)
def ogbg_molmuv(root: Root = "data/ogbg_molmuv", *, mirror: Mirror = None) -> GraphDataset:
    """Return ogbg-molmuv with its scaffold split."""
    from graphnetz.datasets.sources.ogb import ogb_dataset

    return ogb_dataset(root, "ogbg-molmuv", mirror=mirror)


@dataset("biology", serves={"graph_cls": 10}, title="ogbg-molsider", graphs=1427, classes=27, **OGB_MOL)
def ogbg_molsider(root: Root = "data/ogbg_molsider", *, mirror: Mirror = None) -> GraphDataset:
    """Return ogbg-molsider with its scaffold split."""
    from graphnetz.datasets.sources.ogb import ogb_dataset

    return ogb_dataset(root, "ogbg-molsider", mirror=mirror)


@dataset("biology", serves={"graph_cls": 10}, title="ogbg-moltox21", graphs=7831, classes=12, **OGB_MOL)
def ogbg_moltox21(root: Root = "data/ogbg_moltox21", *, mirror: Mirror = None) -> GraphDataset:
    """Return ogbg-moltox21 with its scaffold split."""
    from graphnetz.datasets.sources.ogb import ogb_dataset

    return ogb_dataset(root, "ogbg-moltox21", mirror=mirror)


@dataset("biology", serves={"graph_cls": 10}, title="ogbg-moltoxcast", classes=617, **OGB_MOL)
def ogbg_moltoxcast(root: Root = "data/ogbg_moltoxcast", *, mirror: Mirror = None) -> GraphDataset:
    """Return ogbg-moltoxcast with its scaffold split."""
    from graphnetz.datasets.sources.ogb import ogb_dataset

    return ogb_dataset(root, "ogbg-moltoxcast", mirror=mirror)


@dataset(
    "biology",
    serves={"graph_cls": 20},
    title="BBBP",
    mirror=("MoleculeNet/bbbp/raw",),
    notes=("2,039 of 2,050 rows give a graph with RDKit 2026.9.",),
    graphs=2039,
    nodes=49068,
    edges=105842,
    classes=2,
    **MOLECULE_NET,
)
def bbbp(root: Root = "data/bbbp", *, mirror: Mirror = None) -> GraphDataset:
    """Return molecules that pass the blood-brain barrier or not; rows without atoms are left out."""
    from graphnetz.datasets.sources.molecules import molecule_net

    return molecule_net(root, "bbbp", mirror=mirror)


@dataset(
    "biology",
    serves={"graph_cls": 20},
    title="ClinTox",
    mirror=("MoleculeNet/clintox/raw",),
    notes=("1,487 of 1,491 rows give a graph with RDKit 2026.9 (published: 1,484).",),
    graphs=1487,
    nodes=38990,
    edges=83146,
    classes=2,
    **MOLECULE_NET,
)
def clintox(root: Root = "data/clintox", *, mirror: Mirror = None) -> GraphDataset:
    """Return drugs with two labels: approved, and toxic in trials."""
    from graphnetz.datasets.sources.molecules import molecule_net

    return molecule_net(root, "clintox", mirror=mirror)


@dataset(
    "biology",
    serves={"link_pred": 80},
    title="Contacts at an exhibition",
    citation="Isella et al., What's in a crowd? Analysis of face-to-face behavioral networks, 2011.",
    mirror=("networks/sp_infectious.csv",),
    notes=("Stands beside high_school_contacts, not for it.",),
    **network(410, 2765),
    **MIRROR_ONLY,
)
def sp_infectious(root: Root = "data/sp_infectious", *, mirror: Mirror = None) -> GraphDataset:
    """Return contacts of visitors (Isella et al., 2011); repeated contacts are one edge."""
    from graphnetz.datasets.sources.netz import plain_network

    return plain_network(root, "sp_infectious", mirror=mirror)


@dataset(
    "biology",
    serves={"link_pred": 80},
    title="Friendships in a high school",
    citation="Mastrandrea, Fournet and Barrat, Contact patterns in a high school, 2015.",
    mirror=("networks/sp_high_school_friendship.csv",),
    notes=("Same study as high_school_contacts, other ties.",),
    **network(134, 406),
    **MIRROR_ONLY,
)
def sp_high_school_friendship(root: Root = "data/sp_high_school_friendship", *, mirror: Mirror = None) -> GraphDataset:
    """Return reported friendships (Mastrandrea et al., 2015), directions dropped."""
    from graphnetz.datasets.sources.netz import plain_network

    return plain_network(root, "sp_high_school_friendship", mirror=mirror)
