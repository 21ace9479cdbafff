"""MoleculeNet tables (Wu et al., 2018) as graphs, and AQSOL built from AqSolDB; needs the ``chem`` extra."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from graphnetz._core.download import fetch, mirror_has
from graphnetz._core.errors import DataError, unknown_name
from graphnetz._core.optional import require
from graphnetz._core.readers import open_binary
from graphnetz.datasets.sources.base import Built, GraphDataset, RawFile, cached

URL = "https://deepchemdata.s3-us-west-1.amazonaws.com/datasets"
AQSOL_URL = "https://raw.githubusercontent.com/mcsorkun/AqSolDB/master/results/data_curated.csv"
TABLES: Mapping[str, tuple[str, int, tuple[int, int]]] = {
    "esol": ("delaney-processed.csv", -1, (-2, -1)),
    "freesolv": ("SAMPL.csv", 1, (2, 3)),
    "lipo": ("Lipophilicity.csv", 2, (1, 2)),
    "pcba": ("pcba.csv.gz", -1, (0, 128)),
    "muv": ("muv.csv.gz", -1, (0, 17)),
    "hiv": ("HIV.csv", 0, (-1, 0)),
    "bace": ("bace.csv", 0, (2, 3)),
    "bbbp": ("BBBP.csv", -1, (-2, -1)),
    "tox21": ("tox21.csv.gz", -1, (0, 12)),
    "toxcast": ("toxcast_data.csv.gz", 0, (1, 618)),
    "sider": ("sider.csv.gz", 0, (1, 28)),
    "clintox": ("clintox.csv.gz", 0, (1, 3)),
}
"""File, column of the SMILES string, and columns of the targets."""

REGRESSION = ("esol", "freesolv", "lipo")
BONDS = ("NONE", "SINGLE", "DOUBLE", "AROMATIC", "TRIPLE")


def molecule_net(root: str | Path, name: str, *, mirror: str | Path | None = None) -> GraphDataset:
    """Load a MoleculeNet table with the nine atom and three bond features of OGB.

    Rows whose string gives no atom are left out and counted in ``info``. A single classification
    target is one class number; several targets are one row with NaN where a label is missing.
    """
    if name not in TABLES:
        raise unknown_name("MoleculeNet table", name, TABLES)
    require("rdkit", extra="chem", purpose=f"MoleculeNet {name}")
    from torch_geometric.utils import from_smiles

    def build(raw: Path) -> Built:
        file, smiles_at, (first, last) = TABLES[name]
        rows = _rows(_table_file(raw, name, file, mirror=mirror))[1:]
        graphs = []
        with _quiet():
            for row in rows:
                values = row[first : last if last else None]
                y = torch.tensor([[float(v) if v else float("nan") for v in values]])
                graph = from_smiles(row[smiles_at])
                if graph.num_nodes:
                    graph.y = _target(y, regression=name in REGRESSION)
                    del graph["smiles"]
                    graphs.append(graph)
        return Built(graphs, info={"rows": len(rows), "without_atoms": len(rows) - len(graphs)})

    return cached(root, f"moleculenet-{name}", build)


def aqsol(root: str | Path, *, mirror: str | Path | None = None) -> GraphDataset:
    """Build AQSOL (Dwivedi et al., 2023) from AqSolDB (Sorkun et al., 2019).

    Atom and bond types as single numbers, a Bemis-Murcko scaffold split (with chirality, largest
    sets first, 8:1:1), then molecules without bonds, or with an atom that no bond reaches, are left
    out. The published files give 7,831 / 996 / 996 molecules.
    """
    chem = require("rdkit.Chem", extra="chem", purpose="AQSOL")
    file = RawFile("data_curated.csv.gz", (), ("AqSolDB/data_curated.csv.gz",))

    def build(raw: Path) -> Built:
        if mirror_has(file.names[0], mirror=mirror):
            path = file.get(raw, mirror=mirror)
        else:
            path = fetch(AQSOL_URL, raw / "data_curated.csv", mirror=mirror, names=("AqSolDB/data_curated.csv",))
        header, *rows = _rows(path)
        try:
            smiles_at, target_at = header.index("SMILES"), header.index("Solubility")
        except ValueError as error:
            raise DataError(f"{path.name!r} is not the AqSolDB table ({error}).") from error
        with _quiet():
            molecules = [chem.MolFromSmiles(row[smiles_at]) for row in rows]
            order = scaffold_split([row[smiles_at] for row in rows], molecules)
        atoms = sorted({atom.GetAtomicNum() for m in molecules if m is not None for atom in m.GetAtoms()})
        number = {atomic: i for i, atomic in enumerate(atoms)}
        graphs: list[Data] = []
        splits = {}
        for part, indices in order.items():
            made = [_aqsol_graph(molecules[i], number, float(rows[i][target_at])) for i in indices]
            kept = [graph for graph in made if graph is not None]
            splits[part] = np.arange(len(graphs), len(graphs) + len(kept))
            graphs += kept
        return Built(graphs, splits=splits, info={"atomic_numbers": atoms, "bonds": list(BONDS)})

    return cached(root, "aqsol", build)


def scaffold_split(smiles: Sequence[str], molecules: Sequence[Any]) -> dict[str, list[int]]:
    """Split 8:1:1 by Bemis-Murcko scaffold with chirality, largest scaffolds first."""
    scaffold = require("rdkit.Chem.Scaffolds.MurckoScaffold", extra="chem", purpose="A scaffold split")
    groups: dict[str, list[int]] = defaultdict(list)
    for i, molecule in enumerate(molecules):
        if molecule is not None:
            groups[scaffold.MurckoScaffoldSmiles(mol=molecule, includeChirality=True)].append(i)
    count = len(smiles)
    train: list[int] = []
    val: list[int] = []
    test: list[int] = []
    for group in sorted(groups.values(), key=lambda group: (len(group), group[0]), reverse=True):
        if len(train) + len(group) <= 0.8 * count:
            train += group
        elif len(train) + len(val) + len(group) <= 0.9 * count:
            val += group
        else:
            test += group
    return {"train": train, "val": val, "test": test}


def _aqsol_graph(molecule: Any, number: Mapping[int, int], target: float) -> Data | None:
    bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx(), b.GetBondType().name) for b in molecule.GetBonds()]
    if not bonds or 1 + max(max(a, b) for a, b, _ in bonds) != molecule.GetNumAtoms():
        return None
    rows = sorted((s, t, BONDS.index(kind)) for a, b, kind in bonds for s, t in ((a, b), (b, a)))
    table = torch.tensor(rows)
    return Data(
        x=torch.tensor([[number[atom.GetAtomicNum()]] for atom in molecule.GetAtoms()]),
        edge_index=table[:, :2].t().contiguous(),
        edge_attr=table[:, 2].contiguous(),
        y=torch.tensor([target]),
    )


def _target(y: torch.Tensor, *, regression: bool) -> torch.Tensor:
    if y.shape[1] > 1:
        return y
    return y.reshape(-1) if regression else y.reshape(-1).long()


def _table_file(raw: Path, name: str, file: str, *, mirror: str | Path | None) -> Path:
    plain = f"MoleculeNet/{name}/raw/{file.removesuffix('.gz')}"
    if file.endswith(".gz") and mirror_has(plain, mirror=mirror):
        return fetch((), raw / Path(plain).name, mirror=mirror, names=(plain,))
    return fetch(f"{URL}/{file}", raw / file, mirror=mirror, names=(f"MoleculeNet/{name}/raw/{file}",))


def _rows(path: Path) -> list[list[str]]:
    with open_binary(path) as stream:
        content = stream.read()
    try:
        rows = [row for row in csv.reader(io.StringIO(content.decode("utf-8"), newline="")) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path.name!r} is not a CSV table ({error}).") from error
    width = len(rows[0]) if rows else 0
    if len(rows) < 2 or any(len(row) != width for row in rows):
        raise DataError(f"{path.name!r} has rows of different lengths; it is not the published table.")
    return rows


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep RDKit from printing a line for each odd molecule."""
    log: ModuleType = require("rdkit.RDLogger", extra="chem", purpose="Molecules")
    log.DisableLog("rdApp.*")
    try:
        yield
    finally:
        log.EnableLog("rdApp.*")
