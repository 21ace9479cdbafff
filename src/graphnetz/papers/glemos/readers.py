"""Readers of published performance collections, for users who bring them (MetaGL, GLEMOS)."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphnetz._core.errors import DataError
from graphnetz._core.unpickle import loads
from graphnetz.selection.testbeds import Fold, Testbed

FloatArray = npt.NDArray[np.float64]

METAGL_SHA256 = "6b5c28e7529e020e28dddae898a1efe498567854e17d2ab50a2f237d84d49960"
_MASKED = "not comparable: 10 % masked"
_SETS = {"regular": "m_regular", "graphlets": "m_graphlets_complex", "compact": "m_compact"}


@dataclass(frozen=True, eq=False)
class Collection:
    """Performances and meta-features of named graphs. Rows of ``M`` may be NaN where not published."""

    P: FloatArray
    M: FloatArray
    graphs: tuple[str, ...]
    models: tuple[str, ...]
    domains: npt.NDArray[Any]
    splits: Mapping[str, tuple[Fold, ...]] = field(default_factory=dict)
    note: str = ""


def read_metagl(path: str | Path) -> Collection:
    """Read ``MetaGL_data.npz`` (Park et al., 2023; 301 graphs, 423 models, mean average precision).

    The model list inside is a pickle. It is parsed with constructors of plain containers only, and
    only when the file is the published one; any other file gets numbered models.
    """
    content = _content(Path(path))
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as data:
            P, M = data["P"], data["M"]
            graphs, domains = data["graphs"], data["y_graph_domain"]
    except (KeyError, ValueError, OSError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{Path(path).name!r} is not the MetaGL file ({error}). Expected arrays P, M, graphs."
        ) from error
    models = _metagl_models(content) or tuple(f"model_{i}" for i in range(P.shape[1]))
    return Collection(P, M, tuple(map(str, graphs)), models, domains)


def _metagl_models(content: bytes) -> tuple[str, ...] | None:
    if hashlib.sha256(content).hexdigest() != METAGL_SHA256:
        return None
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        stream = io.BytesIO(archive.read("models.npy"))
    version = np.lib.format.read_magic(stream)
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    reader(stream)
    listed = loads(stream.read(), name="models of the MetaGL file")
    return tuple(_model_name(item) for item in np.asarray(listed, dtype=object).ravel())


def _model_name(item: Any) -> str:
    if not isinstance(item, Mapping):
        return str(item)
    return "-".join(f"{key}={value}" for key, value in item.items())


def glemos_places(folder: Path) -> tuple[Path, Path]:
    """Where a folder holds the testbeds and the meta-features: in files of their own, or both in the archive."""
    archive = folder / "glemos.tar.gz"
    listed = (folder / "testbeds.tar.xz", folder / "testbeds", archive, folder)
    testbeds = next(path for path in listed if path.exists())
    features = folder / "metafeats.npz"
    return testbeds, features if features.exists() or not archive.exists() else archive


def read_glemos(
    testbeds: str | Path, metafeats: str | Path, *, task: str = "link-pred", features: str = "regular"
) -> Collection:
    """Read the GLEMOS testbeds (folder or tar file) and meta-features (Park et al., 2023).

    The published matrices have a tenth of their entries hidden; what is there is returned, with a
    note that says so. ``task`` is ``"link-pred"`` or ``"node-class"``; ``features`` one of regular,
    graphlets, compact, or several joined by ``+``.
    """
    source = _Tree(Path(testbeds))
    settings = json.loads(source.read("cross-task-testbed/link-pred-to-node-class/settings.txt"))
    if task not in settings["graph_names"]:
        raise DataError(f"Unknown GLEMOS task {task!r}. Known: {', '.join(settings['graph_names'])}.")
    graphs = tuple(settings["graph_names"][task])
    P = source.array(f"partially-observed-testbed/{task}/map-sparsity-0.1/P_map-sparsity-0.1.npy")
    models = _columns(settings["models"][task], P.shape[1])
    splits = {
        "fully observed": source.folds(f"fully-observed-testbed/{task}"),
        "out of domain": source.folds(f"out-of-domain-testbed/{task}/group-k-fold"),
        "leave one domain out": source.folds(f"out-of-domain-testbed/{task}/leave-one-group-out"),
        "small to large": source.folds(f"small-to-large-testbed/{task}"),
    }
    domains = np.full(len(graphs), -1)
    for number, fold in enumerate(splits["leave one domain out"]):
        domains[fold.test] = number
    M = _metafeats(Path(metafeats), graphs, features)
    return Collection(P, M, graphs, models, domains, splits, _MASKED)


def glemos_testbeds(collection: Collection, testbeds: str | Path, *, task: str) -> dict[str, Testbed]:
    """Make every published testbed of one task; scores count observed entries only.

    The lightest mask, a tenth, is the matrix itself: "sparse 10%" learns from and is scored on
    the same entries as "fully observed".
    """
    made = {
        name: Testbed(name, collection.P, collection.M, collection.P, folds, domains=collection.domains, note=_MASKED)
        for name, folds in collection.splits.items()
    }
    source = _Tree(Path(testbeds))
    for level in ("0.1", "0.3", "0.5", "0.7", "0.9"):
        base = f"partially-observed-testbed/{task}/map-sparsity-{level}"
        hidden = source.array(f"{base}/P_map-sparsity-{level}.npy")
        name = f"sparse {float(level):.0%}"
        made[name] = replace(made["fully observed"], name=name, P=hidden, folds=source.folds(base))
    return made


def _columns(names: list[str], width: int) -> tuple[str, ...]:
    """Names of the columns of a matrix that lacks some listed models.

    The link prediction matrix has 306 columns for 350 names. By count these are the 36 SEAL models
    and 8 of EGC, but which 8 is not published; the EGC columns that remain get numbers, so that no
    column is ever matched to the wrong model.
    """
    if len(names) == width:
        return tuple(names)
    kept = [name for name in names if not name.startswith("SEAL")]
    doubtful = [position for position, name in enumerate(kept) if name.startswith("EGC")]
    surplus = len(kept) - width
    if not 0 <= surplus <= len(doubtful):
        return tuple(f"model_{i}" for i in range(width))
    left = [f"EGC-unidentified-{i}" for i in range(len(doubtful) - surplus)]
    return (*kept[: doubtful[0]], *left, *kept[doubtful[-1] + 1 :]) if surplus else tuple(kept)


def _metafeats(path: Path, graphs: tuple[str, ...], features: str) -> FloatArray:
    if path.suffix == ".npz":
        with np.load(io.BytesIO(_content(path)), allow_pickle=False) as data:
            row = {str(name): position for position, name in enumerate(data["graphs"])}
            blocks = [data[_SETS[part]] for part in features.split("+")]
        table = np.concatenate(blocks, axis=1)
    else:  # the published archive holds a file per graph and set
        source, parts = _Tree(path, "metafeats/"), [_SETS[part] for part in features.split("+")]
        held = [name for name in graphs if all(source.holds(f"{name}/{part}.npy") for part in parts)]
        row = {name: position for position, name in enumerate(held)}
        listed = [np.concatenate([source.array(f"{name}/{part}.npy").ravel() for part in parts]) for name in held]
        table = np.array(listed).reshape(len(held), -1)
    missing = [name for name in graphs if name not in row]
    if missing:
        raise DataError(f"{path.name!r} has no meta-features for {len(missing)} graphs, the first is {missing[0]!r}.")
    return table[[row[name] for name in graphs]]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(
            f"Cannot read {str(path)!r}: {error.strerror}. Give the path of the downloaded file."
        ) from error


class _Tree:
    """Files of a folder or tar archive by their relative path; nothing is unpacked to disk."""

    def __init__(self, path: Path, under: str = "testbeds/") -> None:
        self._path = path
        self._files: dict[str, bytes] = {}
        if path.is_dir():
            return
        try:
            with tarfile.open(path) as archive:
                for member in archive:
                    wanted = member.isfile() and (under in member.name or under == "testbeds/")
                    stream = archive.extractfile(member) if wanted else None
                    if stream is not None:
                        self._files[member.name.partition(under)[2] or member.name] = stream.read()
        except (OSError, tarfile.TarError) as error:
            raise DataError(f"{str(path)!r} is neither a folder nor a tar file of testbeds ({error}).") from error

    def read(self, name: str) -> bytes:
        for base in (self._path, self._path / "testbeds"):
            if (base / name).is_file():
                return (base / name).read_bytes()
        try:
            return self._files[name]
        except KeyError:
            raise DataError(
                f"{str(self._path)!r} holds no {name!r}. Give the folder or archive of the testbeds."
            ) from None

    def holds(self, name: str) -> bool:
        return name in self._files

    def array(self, name: str) -> FloatArray:
        return np.asarray(np.load(io.BytesIO(self.read(name)), allow_pickle=False), dtype=np.float64)

    def folds(self, base: str) -> tuple[Fold, ...]:
        out: list[Fold] = []
        while True:
            try:
                train = self.read(f"{base}/split{len(out)}-train-index.csv")
            except DataError:
                break
            test = self.read(f"{base}/split{len(out)}-test-index.csv")
            out.append(Fold(_index(train), _index(test)))
        if not out:
            raise DataError(f"{str(self._path)!r} holds no splits under {base!r}.")
        return tuple(out)


def _index(raw: bytes) -> npt.NDArray[np.int64]:
    return np.array(raw.split(), dtype=np.int64)
