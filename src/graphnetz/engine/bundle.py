"""Bundles: a run as one file that others can check. Read as data only; nothing in one is ever executed."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from graphnetz._core.archive import unpack
from graphnetz._core.errors import DataError, IntegrityError, UsageError
from graphnetz._core.paths import write_file
from graphnetz._core.rng import generator
from graphnetz.engine.store import Store
from graphnetz.records.digests import sha256
from graphnetz.records.kept import examples_file, pack_examples, read_examples, shared_hash
from graphnetz.report import BenchmarkReport
from graphnetz.report.integrity import file_digest, read_digests

NAME, SIGNATURE = "bundle.json", "bundle.json.sig"
SCHEMA, VERSION = "graphnetz.bundle", 1
NAMESPACE = "graphnetz"
MAX_BYTES, MAX_FILES = 4 << 30, 20_000
_ALWAYS = ("results.json", "digest.json")
_EPOCH = (1980, 1, 1, 0, 0, 0)


def submit(
    folder: str | Path, *, out: str | Path | None = None, sign: str | Path | None = None, predictions: int | None = None
) -> Path:
    """Make a bundle of a run folder.

    Parameters
    ----------
    folder
        A run folder whose digests hold.
    out
        The file to write; by default ``<folder>.zip`` beside it.
    sign
        A private key for ``ssh-keygen -Y sign``; None leaves the bundle unsigned.
    predictions
        Bytes of predictions that a task may have in the bundle: of a task with more only those of some seeds are kept,
        of all its models, drawn by the name of the task; one seed at least. None keeps all.

    Returns
    -------
    Path
        The bundle: plan, cells, predictions, fingerprints of data and splits, environments and digests of all of it.
    """
    source = Path(folder)
    if not (source / "results.json").is_file():
        raise UsageError(
            f"There is no finished run in {str(source)!r} (no results.json). Finish it with graphnetz resume."
        )
    report = BenchmarkReport.from_json(source / "results.json")
    digests = read_digests(source)
    if digests is None:
        raise UsageError(f"{str(source)!r} has no digests. Write them with: graphnetz report {source}")
    target = Path(out) if out is not None else source.resolve().with_name(f"{source.resolve().name}.zip")
    names = [*_ALWAYS, *(["plan.json"] if (source / "plan.json").is_file() else [])]
    names += [name for task in report.task_info
              if (source / (name := f"examples/{examples_file(task)}")).is_file()]  # fmt: skip
    fewer = _fewer(source, report, predictions) if predictions is not None else {}
    contents = {name: fewer[name].content for name in fewer}
    if fewer:  # the files are others now, the cells and what is digested of each stay
        told = digests | {"files": digests["files"] | {name: sha256(content) for name, content in contents.items()}}
        contents["digest.json"] = (json.dumps(told, ensure_ascii=False, indent=1) + "\n").encode()
    body = {
        "schema": SCHEMA,
        "schema_version": VERSION,
        "root": digests["root"],
        "files": {
            name: sha256(contents[name]) if name in contents else file_digest(source / name) for name in names
        },
        "splits": _splits(source, report),
        **({"predictions_of_seeds": {found.task: list(found.seeds) for found in fewer.values()}} if fewer else {}),
        **_origin(source, report),
    }  # fmt: skip
    text = json.dumps(body, ensure_ascii=False, indent=1) + "\n"
    with tempfile.TemporaryDirectory() as scratch:
        packed = Path(scratch) / "bundle.zip"
        with zipfile.ZipFile(packed, "w") as archive:
            _add(archive, NAME, text.encode())
            if sign is not None:
                _add(archive, SIGNATURE, _signature(text, Path(sign)))
            for name in names:
                _add(archive, name, contents[name] if name in contents else (source / name).read_bytes())
        return write_file(target, packed.read_bytes())


class _Fewer(NamedTuple):
    """The predictions of some seeds of a task, as a file."""

    task: str
    seeds: tuple[int, ...]
    content: bytes


def _fewer(folder: Path, report: BenchmarkReport, most: int) -> dict[str, _Fewer]:
    """Files of predictions that are larger than ``most``, cut down to as many seeds as fit, one at least."""
    out = {}
    for task in report.task_info:
        path = folder / "examples" / examples_file(task)
        if not path.is_file() or path.stat().st_size <= most:
            continue
        kept = read_examples(folder, task)
        seeds = sorted({cell.seed for cell in kept})
        # Whole seeds: all models on the same examples, which are stored once.
        count = max(1, int(len(seeds) * most / path.stat().st_size))
        drawn = generator("bundle", task).choice(seeds, count, replace=False)
        chosen = tuple(sorted(int(seed) for seed in drawn))
        packed = pack_examples(task, [cell for cell in kept if cell.seed in chosen])
        out[f"examples/{examples_file(task)}"] = _Fewer(task, chosen, packed)
    return out


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add a member without the time of day: the same run gives the same bytes."""
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)


def _splits(folder: Path, report: BenchmarkReport) -> dict[str, dict[str, str]]:
    """Fingerprints of the test examples and labels of every task and seed."""
    out: dict[str, dict[str, str]] = {}
    for task in report.task_info:
        for cell in read_examples(folder, task):
            if str(cell.seed) not in out.setdefault(task, {}):
                out[task][str(cell.seed)] = shared_hash(cell.predictions)
    return out


def _origin(folder: Path, report: BenchmarkReport) -> dict[str, Any]:
    """Environments of the cells and fingerprints of the data, as far as the folder knows them."""
    provenance: Any = {}
    path = folder / "provenance.json"
    if path.is_file() and path.stat().st_size < 64 << 20:
        provenance = json.loads(path.read_text(encoding="utf-8"))
    facts: dict[str, Any] = {"environments": {}, "ran_in": {}, "dataset_fingerprints": {}}
    if isinstance(provenance, Mapping) and isinstance(provenance.get("dataset_fingerprints"), Mapping):
        facts["dataset_fingerprints"] = dict(provenance["dataset_fingerprints"])
    if (folder / "store.sqlite").is_file():
        shown = {(r.task, r.model, r.seed) for r in report.results}
        with Store.open(folder, readonly=True) as store:
            facts["environments"] = store.read_environments()
            for r in store.results(histories=False):
                if r.environment and (r.task, r.model, r.seed) in shown:
                    facts["ran_in"].setdefault(r.environment, []).append([r.task, r.model, r.seed])
    return facts


@contextmanager
def opened(source: str | Path) -> Iterator[tuple[Path, dict[str, Any] | None]]:
    """Give the folder of a bundle and its ``bundle.json``; of a run folder itself and None.

    Raises
    ------
    IntegrityError
        A file of the bundle is not the one that was put into it.
    DataError
        It is no bundle, or one that names files which do not belong there.
    """
    path = Path(source)
    if path.is_dir():
        yield path, None
        return
    if not path.is_file():
        raise UsageError(f"There is no {str(source)!r}. Give a run folder, or a bundle from graphnetz submit.")
    with tempfile.TemporaryDirectory(prefix="graphnetz-bundle-") as scratch:
        folder = unpack(path, Path(scratch) / "run", max_bytes=MAX_BYTES, max_files=MAX_FILES)
        yield folder, _checked(folder, path.name)


def _checked(folder: Path, name: str) -> dict[str, Any]:
    there = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    try:
        body = json.loads((folder / NAME).read_text(encoding="utf-8"))
        if (body["schema"], body["schema_version"]) != (SCHEMA, VERSION):
            raise ValueError("another schema")
        files = {str(key): str(value) for key, value in body["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{name!r} is no bundle of graphnetz ({type(error).__name__}). Make one with submit.") from None
    listed = {*files, NAME, SIGNATURE}
    if stray := sorted(there - listed):
        raise DataError(f"{name!r} holds {stray[0][:80]!r}, which it does not list; it was not read.")
    if lacking := sorted({*files, *_ALWAYS} - there):
        raise IntegrityError(f"{name!r} lacks {lacking[0][:80]!r}, which it lists. Ask for it again.")
    for file, digest in files.items():
        if file_digest(folder / file) != digest:
            raise IntegrityError(f"{file!r} in {name!r} is not the file that was put there. Ask for it again.")
    return dict(body)


def _ssh_keygen() -> str:
    found = shutil.which("ssh-keygen")
    if found is None:
        raise UsageError("Signatures need ssh-keygen, which is not installed. Install OpenSSH, or leave them out.")
    return found


def _signature(text: str, key: Path) -> bytes:
    if not key.is_file():
        raise UsageError(f"There is no key {str(key)!r}. Make one with: ssh-keygen -t ed25519 -f {key}")
    with tempfile.TemporaryDirectory() as scratch:
        message = write_file(Path(scratch) / NAME, text)
        command = [_ssh_keygen(), "-Y", "sign", "-q", "-f", str(key.resolve()), "-n", NAMESPACE, str(message)]
        made = subprocess.run(  # noqa: S603 (our own words and the user's own key)
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, check=False
        )
        if made.returncode:
            raise UsageError(f"{str(key)!r} does not sign: {(made.stderr or made.stdout).strip()[:200]}.")
        return message.with_name(SIGNATURE).read_bytes()


def signed_by(folder: Path, signer: Path) -> bool:
    """Whether a bundle was signed by the owner of a public key (a ``.pub`` file of ssh-keygen)."""
    if not signer.is_file():
        raise UsageError(f"There is no public key {str(signer)!r}. Give the .pub file of the signer.")
    if not (folder / SIGNATURE).is_file():
        return False
    key = signer.read_text(encoding="utf-8", errors="replace").strip()
    with tempfile.TemporaryDirectory() as scratch:
        allowed = write_file(Path(scratch) / "allowed", f"signer {key}\n")
        command = [_ssh_keygen(), "-Y", "verify", "-q", "-f", str(allowed), "-I", "signer", "-n", NAMESPACE,
                   "-s", str(folder / SIGNATURE)]  # fmt: skip
        message = (folder / NAME).read_bytes()
        return subprocess.run(command, input=message, capture_output=True, timeout=120, check=False).returncode == 0  # noqa: S603
