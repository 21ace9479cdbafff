"""Models that stand in a file or module of the user's own: ``path.py:Class``, ``module:Class``, ``name=path.py:Class``.

Importing a file runs it. Nothing here is called with a name that was read from a run folder, a bundle or a report:
those are looked up among the registered models alone. Only what a person typed, or wrote into settings of their own,
comes this way (`graphnetz.records.references` has what a folder of results must not do).
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import nn

from graphnetz._core.errors import UsageError, unknown_name
from graphnetz._core.text import shorten
from graphnetz.models.spec import ModelSpec, Source, spec_from
from graphnetz.records.digests import sha256
from graphnetz.records.references import Reference


@dataclass(frozen=True)
class _Loaded:
    module: ModuleType
    file: Path | None


def brought_spec(text: str) -> ModelSpec:
    r"""Import the model that a reference names.

    Parameters
    ----------
    text
        ``path.py:Class``, ``module:Class`` or either after ``name=``; the class may be left out where a file defines
        one module of torch only. ``@NAME`` behind an estimator of scikit-learn fits it on an embedding.

    Returns
    -------
    ModelSpec
        With the file and its hash, which enter the keys of its cells.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "tiny_models.py"
    >>> _ = file.write_text("import torch\nclass Tiny(torch.nn.Linear):\n    pass\n")
    >>> brought_spec(f"{file}:Tiny").name
    'Tiny'
    """
    wanted = Reference.read(text)
    loaded = _from_file(wanted) if wanted.is_file else _from_module(wanted)
    found = _named(loaded, wanted)
    spec = _spec_of(found, wanted)
    digest = "" if loaded.file is None else sha256(loaded.file.read_bytes())
    return replace(spec, source=Source(wanted.text, digest))


def _spec_of(found: Any, wanted: Reference) -> ModelSpec:
    from graphnetz.models.estimators import is_estimator, on_rows

    if is_estimator(found):
        return on_rows(found, wanted.rows or "features")
    if wanted.rows:
        raise UsageError(f"{wanted.shown!r} is no estimator of scikit-learn: leave out '@{wanted.rows}'.")
    if not isinstance(found, type | ModelSpec):
        raise UsageError(
            f"{wanted.shown!r} is of type {type(found).__name__}, not a class. Name the class of the model."
        )
    return spec_from(found)


def _named(loaded: _Loaded, wanted: Reference) -> Any:
    """The object of the module that is meant."""
    space = vars(loaded.module)
    own = {
        name: value
        for name, value in space.items()
        if isinstance(value, type) and value.__module__ == loaded.module.__name__ and not name.startswith("_")
    }
    if wanted.name:
        if wanted.name not in space:
            raise unknown_name(f"class of {wanted.place}", wanted.name, own)
        return space[wanted.name]
    modules = [value for value in own.values() if issubclass(value, nn.Module)]
    if len(modules) == 1:
        return modules[0]
    raise UsageError(
        f"{wanted.place} defines {len(modules)} modules of torch; say which one: {wanted.place}:"
        f"{next(iter(own), 'Class')}."
    )


def _from_file(wanted: Reference) -> _Loaded:
    path = Path(wanted.place).expanduser()
    if not path.is_file():
        raise UsageError(f"There is no file {wanted.place!r}. Give a model as path.py:Class or module:Class.")
    path = path.resolve()
    name = _module_name(path)
    known = sys.modules.get(name)
    if known is not None:
        return _Loaded(known, path)
    _importable(path.parent)
    made = importlib.util.spec_from_file_location(name, path)
    assert made is not None
    assert made.loader is not None
    module = importlib.util.module_from_spec(made)
    sys.modules[name] = module  # before it runs, as the import system does: dataclasses look themselves up
    try:
        made.loader.exec_module(module)
    except BaseException as error:
        sys.modules.pop(name, None)
        if not isinstance(error, Exception):
            raise
        raise _failed(wanted, error) from error
    _travels(module)
    return _Loaded(module, path)


def _from_module(wanted: Reference) -> _Loaded:
    top = wanted.place.partition(".")[0]
    if not all(part.isidentifier() for part in wanted.place.split(".")):
        raise UsageError(f"{wanted.shown!r} names no model. Give path.py:Class or module:Class.")
    if top not in sys.modules and importlib.util.find_spec(top) is None:
        _importable(Path.cwd())  # as `python -m` does; last, so that it hides nothing that is installed
    try:
        found = importlib.util.find_spec(wanted.place)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            f"There is no module {wanted.place!r} ({error}). Give path.py:Class or module:Class."
        ) from error
    except Exception as error:  # a parent package is imported to look
        raise _failed(wanted, error) from error
    if found is None:
        raise UsageError(f"There is no module {wanted.place!r}. Give path.py:Class or module:Class, or install it.")
    file = Path(found.origin).resolve() if found.has_location and found.origin else None
    try:
        module = importlib.import_module(wanted.place)
    except Exception as error:
        raise _failed(wanted, error) from error
    if file is None or _installed(file):
        return _Loaded(module, None)
    _travels(module)
    return _Loaded(module, file)


def _installed(file: Path) -> bool:
    return any(part in ("site-packages", "dist-packages") for part in file.parts)


def _module_name(path: Path) -> str:
    """The file's own name where nothing else has it; otherwise one that no other file gets."""
    stem = path.stem
    known = sys.modules.get(stem)
    if known is not None and getattr(known, "__file__", None) and Path(str(known.__file__)).resolve() == path:
        return stem
    taken = known is not None or stem in sys.stdlib_module_names or not stem.isidentifier()
    if not taken:
        found = importlib.util.find_spec(stem)
        taken = found is not None and (found.origin is None or Path(found.origin).resolve() != path)
    return f"{stem}_{sha256(str(path).encode())[:8]}" if taken else stem


def _importable(folder: Path) -> None:
    """Let a file import its neighbours, as it can when Python runs it; after everything that is installed."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _travels(module: ModuleType) -> None:
    """Send classes of the module to workers by value: another process may not find the file."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(module)


def _failed(wanted: Reference, error: Exception) -> UsageError:
    """Say in the user's own file and line what importing raised."""
    if isinstance(error, SyntaxError):
        where = f"{Path(error.filename or wanted.place).name}:{error.lineno}"
        return UsageError(f"{wanted.place} cannot be imported: SyntaxError: {error.msg} (at {where}).")
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "importlib" not in f.filename]
    own = [f for f in frames if not f.filename.startswith(str(Path(__file__).parent))]
    where = f" (at {Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
    words = shorten(" ".join(str(error).split()), 200)
    return UsageError(f"{wanted.place} cannot be imported: {type(error).__name__}: {words}{where}.")
