"""Read the few public raw files that are pickles, without letting them call anything.

A pickle is a program. Here it may only name the constructors of arrays, sparse matrices, plain
containers and tensors; everything else is refused, and nothing is read without a pinned sha256.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import pickle
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphnetz._core.errors import DataError
from graphnetz._core.readers import regular
from graphnetz._core.text import shorten

_PLAIN = ("list", "dict", "set", "frozenset", "tuple", "int", "float", "complex", "bool", "str", "bytes")
_TYPES = ("Float", "Double", "Half", "Long", "Int", "Short", "Char", "Byte", "Bool", "BFloat16")
_ALLOWED = {
    r"builtins|__builtin__": ("builtins", _PLAIN),
    r"collections": ("collections", ("OrderedDict", "defaultdict")),
    r"numpy": ("numpy", ("ndarray", "dtype")),
    r"numpy\._?core\.multiarray": ("numpy._core.multiarray", ("_reconstruct", "scalar")),
    r"numpy\._?core\.numeric": ("numpy._core.numeric", ("_frombuffer",)),
    r"scipy\.sparse.*": ("scipy.sparse", tuple(f"{kind}_matrix" for kind in ("csr", "csc", "coo", "lil", "dok"))),
    r"torch\._utils": ("torch._utils", ("_rebuild_tensor", "_rebuild_tensor_v2")),
    r"torch": ("torch", ("Size", *(f"{kind}Storage" for kind in _TYPES))),
}
"""Modules as pickles name them: where they are today, and which of their names are constructors of arrays."""


def read_pickle(path: str | Path, *, sha256: str, encoding: str = "latin1") -> Any:
    """Return the arrays in a pickle whose sha256 is the pinned one.

    Parameters
    ----------
    path
        The file. It is read once: the bytes that are hashed are the bytes that are parsed.
    sha256
        The pinned hash; there is no way to read a pickle without one.
    encoding
        How strings of Python 2 are decoded.

    Raises
    ------
    DataError
        The hash differs, the pickle names anything but array constructors, or it is broken.
    """
    content, name = Path(path).read_bytes(), Path(path).name
    digest = hashlib.sha256(content).hexdigest()
    if digest != sha256.lower():
        raise DataError(f"{name!r} has the sha256 {digest}, pinned is {sha256}; a pickle is only read when they agree.")
    return loads(content, name=name, encoding=encoding)


def loads(content: bytes, *, name: str = "pickle", encoding: str = "latin1") -> Any:
    """Parse pickled bytes with the restricted set of constructors; the caller vouches for the bytes."""
    try:
        return _Unpickler(io.BytesIO(content), encoding=encoding).load()
    except DataError as error:
        raise DataError(f"{name!r} was refused: {error}") from error
    except Exception as error:
        raise DataError(f"{name!r} is not a readable pickle of arrays ({type(error).__name__}: {error}).") from error


def read_torch(path: str | Path, *, allow: Sequence[Any] = ()) -> Any:
    """Return the tensors and plain containers of a ``.pt`` file; PyTorch's own restricted reader refuses the rest.

    ``allow`` names further classes that may stand in it: ones whose making runs no code of the file.
    """
    import torch

    regular(path)
    try:
        with torch.serialization.safe_globals([*_numpy_globals(), *allow]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about how others should load it
            return torch.load(str(path), map_location="cpu", weights_only=True)
    except Exception as error:
        # PyTorch's own text advises to read the file without limits, which is what a stranger would like.
        named = re.search(r"GLOBAL (\S+)", str(error))
        why = f"it names {shorten(named[1], 80)}" if named else "it is broken, or holds other objects"
        raise DataError(
            f"{Path(path).name!r} is not a file of tensors and plain containers, and was not read: {why}. "
            "Fetch it again from its publisher."
        ) from None


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Return an allowed constructor; refuse every other name."""
        found = _allowed(module, name)
        if found is None:
            raise DataError(f"it names {module}.{name}, which is not a constructor of arrays.")
        return found

    def persistent_load(self, pid: Any) -> Any:  # noqa: ARG002
        """Refuse references outside the file."""
        raise DataError("it refers to something outside the file.")


def _allowed(module: str, name: str) -> Any:
    for pattern, (home, names) in _ALLOWED.items():
        if name in names and re.fullmatch(pattern, module):
            return getattr(importlib.import_module(home), name)
    stand_ins = {"_codecs.encode": _encode, "torch.storage._load_from_bytes": _storage_from_bytes}
    return stand_ins.get(f"{module}.{name}")


def _encode(text: str, encoding: str = "latin1") -> bytes:
    """Stand in for ``_codecs.encode``, which old pickles use for bytes, without its other codecs."""
    if encoding not in ("latin1", "latin-1"):
        raise DataError(f"it asks for the codec {encoding!r}.")
    return text.encode("latin1")


def _storage_from_bytes(content: bytes) -> Any:
    """Stand in for the loader inside pickled tensors, which would unpickle without limits."""
    import torch

    return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)


def _numpy_globals() -> list[Any]:
    """Return the constructors that plain numpy arrays and numbers inside a ``.pt`` file need."""
    import numpy as np
    from numpy._core import multiarray

    kinds = [np.dtype(code) for code in ("i1", "i2", "i4", "i8", "u1", "f2", "f4", "f8", "?")]
    old = [(getattr(multiarray, name), f"numpy.core.multiarray.{name}") for name in ("_reconstruct", "scalar")]
    return [*old, multiarray._reconstruct, multiarray.scalar, np.ndarray, np.dtype, *{type(kind) for kind in kinds}]
