"""Physics: lattices and molecules with physical targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphnetz.datasets.cards import dataset
from graphnetz.datasets.sources.facts import GENERATED as _GENERATED
from graphnetz.datasets.sources.facts import MOLECULE_NET, size

if TYPE_CHECKING:
    from graphnetz.datasets.sources.base import GraphDataset
    from graphnetz.datasets.sources.facts import Mirror, Root
    from graphnetz.records import GraphList


@dataset(
    "physics",
    serves={"link_pred": 60, "graph_reg": 30},
    curated=("link_pred",),
    title="Ising lattices at the critical temperature",
    citation="Onsager, 1944; Metropolis et al., 1953; sizes of da Costa and Modenesi, GraphNetz.",
    graphs=128,
    nodes=12800,
    edges=51200,
    features=1,
    notes=("Metropolis at T = 2.269; link prediction uses the first lattice only, as published.",),
    **_GENERATED,
)
def ising_lattice(_root: object = None, *, seed: int = 0, **size: Any) -> GraphList:
    """Return thermalised 10 x 10 lattices; see `graphnetz.datasets.generators.lattice.ising`."""
    from graphnetz.datasets.generators.lattice import ising

    return ising(seed, **size)


@dataset(
    "physics",
    serves={"link_pred": 60},
    title="Ising lattices with fair coin-flip spins",
    citation="After da Costa and Modenesi, GraphNetz; see ising_lattice_published.",
    graphs=128,
    nodes=12800,
    edges=51200,
    features=1,
    notes=("Spins are independent fair coins (infinite temperature): they carry no signal about edges.",),
    **_GENERATED,
)
def ising_lattice_coin_flips(_root: object = None, *, seed: int = 0, **size: Any) -> GraphList:
    """Return lattices with independent spins; see `graphnetz.datasets.generators.lattice`."""
    from graphnetz.datasets.generators.lattice import ising_coin_flips

    return ising_coin_flips(seed, **size)


@dataset(
    "physics",
    serves={"link_pred": 60},
    title="The Ising grid of the GraphNetz paper",
    citation="da Costa and Modenesi, GraphNetz, Table 3.",
    graphs=1,
    nodes=400,
    features=1,
    notes=(
        "20 x 20 sites, eight neighbours, open borders; spins are independent coins, up with probability 0.71.",
        "Loops are hidden and asked for like edges, which lifts the AUC by 0.02 to 0.06. For comparison only.",
    ),
    **_GENERATED,
)
def ising_lattice_published(_root: object = None, *, seed: int = 0, **size: Any) -> GraphList:
    """Return the published grid with its hidden pairs; see `graphnetz.datasets.generators.published`."""
    from graphnetz.datasets.generators.published import ising_grid

    return ising_grid(seed, **size)


@dataset(
    "physics",
    serves={"graph_reg": 20},
    title="Energy of small Ising lattices",
    citation="Onsager, 1944; Metropolis et al., 1953.",
    graphs=300,
    nodes=4800,
    edges=19200,
    features=1,
    notes=("4 x 4 periodic lattices at T = 3; the target is the energy per site.",),
    **_GENERATED,
)
def ising_energy(_root: object = None, *, seed: int = 0, **size: Any) -> GraphList:
    """Return 300 lattices of 4 x 4 spins with their energy per site."""
    from graphnetz.datasets.generators.lattice import ising

    return ising(seed, **{"num_graphs": 300, "side": 4, "temperature": 3.0, "sweeps": 100, **size})


_ZINC: dict[str, Any] = {
    "source": "github.com/graphdeeplearning/benchmarking-gnns",
    "licence": "MIT (repository)",
    "citation": "Irwin et al., ZINC, 2012; subset of Dwivedi et al., JMLR 24(43), 2023.",
}


@dataset(
    "physics",
    serves={"graph_reg": 10},
    title="QM9, dipole moment",
    source="data.pyg.org",
    licence="CC BY 4.0 (original data)",
    citation="Ramakrishnan et al., Quantum chemistry structures and properties, 2014.",
    **size(130831, None, None, 11, 1),
)
def qm9(root: Root = "data/qm9", *, mirror: Mirror = None) -> GraphDataset:
    """Return 130,831 small molecules; the target is the dipole moment."""
    from graphnetz.datasets.sources.tensor_files import qm9

    return qm9(root, mirror=mirror)


@dataset(
    "physics",
    serves={"graph_reg": 10},
    curated=("graph_reg",),
    title="ZINC-12k",
    notes=("Pickled raw files without a published checksum: pin one with GRAPHNETZ_PINS.",),
    **size(12000, None, None, 1, 1),
    **_ZINC,
)
def zinc(root: Root = "data/zinc", *, mirror: Mirror = None) -> GraphDataset:
    """Return 12,000 molecules; the target is the penalised solubility."""
    from graphnetz.datasets.sources.zinc import zinc

    return zinc(root, mirror=mirror)


@dataset(
    "physics",
    serves={"graph_reg": 10},
    title="ZINC-12k without its training part",
    mirror=("ZINC/zinc_subset_val_test.npz",),
    notes=("Not the published benchmark: its 10,000 training molecules are missing.",),
    **size(2000, 46200, 99412, 1, 1),
    **_ZINC,
)
def zinc_held_out(root: Root = "data/zinc_held_out", *, mirror: Mirror = None) -> GraphDataset:
    """Return the 2,000 validation and test molecules of ZINC-12k, split by the task."""
    from graphnetz.datasets.sources.zinc import zinc_held_out

    return zinc_held_out(root, mirror=mirror)


@dataset(
    "physics",
    serves={"graph_reg": 10},
    title="AQSOL",
    source="AqSolDB, github.com/mcsorkun/AqSolDB",
    licence="CC0",
    citation="Sorkun et al., AqSolDB, 2019; split of Dwivedi et al., 2023.",
    extra="chem",
    mirror=("AqSolDB/data_curated.csv.gz",),
    notes=("7,831 / 996 / 994 with RDKit 2026.9, which rejects 2 molecules (published: 7,831 / 996 / 996).",),
    **size(9821, None, None, 1, 1),
)
def aqsol(root: Root = "data/aqsol", *, mirror: Mirror = None) -> GraphDataset:
    """Return molecules with their solubility in water, split by scaffold."""
    from graphnetz.datasets.sources.molecules import aqsol

    return aqsol(root, mirror=mirror)


@dataset(
    "physics",
    serves={"graph_reg": 40},
    title="ESOL",
    mirror=("MoleculeNet/esol/raw",),
    graphs=1128,
    nodes=14991,
    edges=30856,
    classes=1,
    **MOLECULE_NET,
)
def esol(root: Root = "data/esol", *, mirror: Mirror = None) -> GraphDataset:
    """Return the ESOL table as molecular graphs."""
    from graphnetz.datasets.sources.molecules import molecule_net

    return molecule_net(root, "esol", mirror=mirror)


@dataset(
    "physics",
    serves={"graph_reg": 40},
    title="FreeSolv",
    mirror=("MoleculeNet/freesolv/raw",),
    graphs=642,
    nodes=5600,
    edges=10770,
    classes=1,
    **MOLECULE_NET,
)
def freesolv(root: Root = "data/freesolv", *, mirror: Mirror = None) -> GraphDataset:
    """Return the FreeSolv table as molecular graphs."""
    from graphnetz.datasets.sources.molecules import molecule_net

    return molecule_net(root, "freesolv", mirror=mirror)


@dataset(
    "physics",
    serves={"graph_reg": 40},
    title="Lipophilicity",
    mirror=("MoleculeNet/lipo/raw",),
    graphs=4200,
    nodes=113568,
    edges=247798,
    classes=1,
    **MOLECULE_NET,
)
def lipo(root: Root = "data/lipo", *, mirror: Mirror = None) -> GraphDataset:
    """Return the Lipophilicity table as molecular graphs."""
    from graphnetz.datasets.sources.molecules import molecule_net

    return molecule_net(root, "lipo", mirror=mirror)
