"""The records of GLEMOS and MetaGL as banks of `graphnetz select --bank`, fetched where they are not at hand."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from graphnetz._core.download import fetch, mirror_has
from graphnetz.papers.glemos.readers import METAGL_SHA256, Collection, glemos_places, read_glemos, read_metagl
from graphnetz.selection.bank import Matrix
from graphnetz.selection.published import BANKS, PublishedBank
from graphnetz.selection.space import METHODS, Configuration

_GLEMOS = "https://codeload.github.com/facebookresearch/glemos/tar.gz/87321a21224515a910cc4e1615fd0c90f85ec256"
_METAGL = (
    "https://raw.githubusercontent.com/NamyongPark/MetaGL/ccc1b825328ae1238ba35dfd872671f7ee910a3b/data/MetaGL_data.npz"
)
_TASKS = {"link_pred": "link-pred", "node_cls": "node-class"}


@BANKS.register("glemos")
def glemos_bank(root: str) -> PublishedBank:
    """Return the records of GLEMOS: two files of a mirror where it has them, else the published archive."""
    testbeds, metafeats = glemos_places(glemos_files(root))
    made = {task: read_glemos(testbeds, metafeats, task=theirs) for task, theirs in _TASKS.items()}
    tables = {task: _matrix(held, glemos_configuration) for task, held in made.items()}
    notes = {
        task: (_mapped(held, tables[task]), "A tenth of the published entries is hidden.")
        for task, held in made.items()
    }
    citation = "Park et al., 2023 (GLEMOS)"
    return PublishedBank("glemos", "CC BY-NC 4.0: not for commercial use", citation, "regular_published", tables, notes)


def glemos_files(root: str) -> Path:
    """Fetch the files of GLEMOS where they are not at hand, and return their folder."""
    folder = Path(root) / "banks" / "glemos"
    listed = ("testbeds.tar.xz", "metafeats.npz")
    if all((folder / name).is_file() for name in listed) or mirror_has("GLEMOS/testbeds.tar.xz"):
        for name in listed:
            fetch([], folder / name, names=(f"GLEMOS/{name}",))
    else:
        fetch(_GLEMOS, folder / "glemos.tar.gz", names=("GLEMOS/glemos.tar.gz",))
    return folder


@BANKS.register("metagl")
def metagl_bank(root: str) -> PublishedBank:
    """Return the records of MetaGL: link prediction, ten epochs at most."""
    file = fetch(
        _METAGL, Path(root) / "banks" / "metagl" / "MetaGL_data.npz", sha256=METAGL_SHA256,
        names=("MetaGL/MetaGL_data.npz",),
    )  # fmt: skip
    made = read_metagl(file)
    table = _matrix(made, metagl_configuration)
    notes = {
        "link_pred": (_mapped(made, table), "Widths and step sizes are not those of the records: nearest of ours.")
    }
    citation = "Park et al., 2023 (MetaGL)"
    return PublishedBank("metagl", "MIT", citation, "regular_published", {"link_pred": table}, notes)


def _mapped(made: Collection, table: Matrix) -> str:
    return (
        f"Of {len(made.models)} published models, {len(table.configurations)} different ones can be built here; the "
        "scores are average precision (MAP) as published, on their splits."
    )


def _matrix(made: Collection, find: Callable[[str], Configuration | None]) -> Matrix:
    """Columns that can be built here; columns of one configuration (settings without effect) are averaged."""
    columns: dict[Configuration, list[int]] = {}
    for j, name in enumerate(made.models):
        configuration = find(name)
        if configuration is not None:
            columns.setdefault(configuration, []).append(j)
    held = [_mean(made.P[:, which]) for which in columns.values()]
    P = np.stack(held, axis=1)
    rows = np.isfinite(P).any(axis=1) & np.isfinite(made.M).any(axis=1)
    unknown = np.full(P[rows].shape, np.nan)
    graphs = tuple(name for name, keep in zip(made.graphs, rows, strict=True) if keep)
    return Matrix(graphs, tuple(columns), P[rows], made.M[rows], unknown, unknown, np.ones(len(graphs)), "map")


def _mean(values: np.ndarray) -> np.ndarray:
    seen = np.isfinite(values)
    count = seen.sum(axis=1)
    return np.where(count > 0, np.where(seen, values, 0.0).sum(axis=1) / np.maximum(count, 1), np.nan)


def glemos_configuration(name: str) -> Configuration | None:
    """Return our configuration of a model of GLEMOS, None where there is none.

    Examples
    --------
    >>> glemos_configuration("SGC-bias=True-k=2").name
    'SGC-bias=true-K=2'
    """
    return _by_name().get(_plain(name))


@functools.cache
def _by_name() -> Mapping[str, Configuration]:
    return {_plain(item.name): method.without_idle(item) for method in METHODS.values() for item in method.listed()}


def _plain(name: str) -> str:
    """One spelling: their lists of one, None, True and names of settings are ours in small letters."""
    bare = re.sub(r"[\[\]' ]", "", name).lower()
    return bare.replace("encoder_act=", "act=")


def metagl_configuration(name: str) -> Configuration | None:
    """Return the configuration of ours that comes nearest to a model of MetaGL, None where there is none.

    Examples
    --------
    >>> metagl_configuration("name=GCN-num_hidden_layers=2-dropout=0.0-n_epochs=10").name
    'GCN-act=relu-dropout=0.0-hidden_channels=64-num_layers=2'
    """
    given = dict(part.split("=", 1) for part in name.split("-") if "=" in part)
    rule = _METAGL_RULES.get(given.pop("name", ""))
    wanted = None if rule is None else rule(given)
    return None if wanted is None else _by_name().get(_plain(wanted))


def _walks(given: Mapping[str, str]) -> str:
    p, q = (f"{float(given[key]):g}" for key in "pq")
    return f"Node2Vec-context_size=10-hidden_channels=64-p={p}-q={q}-walk_length=20"


def _trained_long(given: Mapping[str, str], text: str) -> str | None:
    return text if given.get("n_epochs") == "10" else None


def _sage(given: Mapping[str, str]) -> str | None:
    layers = given["num_hidden_layers"]
    text = f"GraphSAGE-act=relu-aggr=mean-hidden_channels=64-jk=none-num_layers={layers}"
    return _trained_long(given, text) if given["aggr_func"] == "mean" else None


def _gcn(given: Mapping[str, str]) -> str | None:
    return _trained_long(given, f"GCN-act=relu-dropout=0.0-hidden_channels=64-num_layers={given['num_hidden_layers']}")


_METAGL_RULES: Mapping[str, Callable[[Mapping[str, str]], str | None]] = {
    "spectral": lambda _: "SpectralEmbedding-num_components=64-tolerance=0.001",
    "GraRep": lambda given: f"GraRep-num_components=64-power={given['k']}",
    "node2vec": _walks,
    "deepwalk": _walks,
    "GraphSage": _sage,
    "GCN": _gcn,
}
