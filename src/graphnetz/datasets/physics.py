"""Physics: lattices and molecules with physical targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphnetz.datasets.cards import GENERATED, dataset
from graphnetz.datasets.catalogue import public_loaders

if TYPE_CHECKING:
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
    replication="regenerate",
    **GENERATED,
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
    replication="regenerate",
    **GENERATED,
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
    replication="regenerate",
    **GENERATED,
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
    replication="regenerate",
    **GENERATED,
)
def ising_energy(_root: object = None, *, seed: int = 0, **size: Any) -> GraphList:
    """Return 300 lattices of 4 x 4 spins with their energy per site."""
    from graphnetz.datasets.generators.lattice import ising

    return ising(seed, **{"num_graphs": 300, "side": 4, "temperature": 3.0, "sweeps": 100, **size})


globals().update(public_loaders("physics"))
