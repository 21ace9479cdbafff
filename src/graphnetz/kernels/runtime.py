"""When the kernels may run, where their compiled code is kept, and how they are loaded.

Numba is imported at the first use of a kernel, not with the package: a command that trains nothing
does not pay for it.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

_FLOATS = (torch.float32, torch.float64)
_OFF = {"0", "false", "no", "off"}


class _State:
    """The two switches of this layer; both are restored by their context managers."""

    enabled: bool = os.environ.get("GRAPHNETZ_KERNELS", "1").strip().lower() not in _OFF
    torch_stream: bool = False


def is_enabled() -> bool:
    """Return whether the kernels are switched on (environment ``GRAPHNETZ_KERNELS``, `set_enabled`).

    Returns
    -------
    bool
        True unless they were switched off.

    Examples
    --------
    >>> from graphnetz.kernels import enabled, is_enabled
    >>> with enabled(False):
    ...     is_enabled()
    False
    """
    return _State.enabled


def set_enabled(value: bool) -> None:
    """Switch the kernels on or off for the whole process.

    Parameters
    ----------
    value
        False runs plain PyTorch Geometric code.

    Examples
    --------
    >>> from graphnetz.kernels import is_enabled, set_enabled
    >>> before = is_enabled()
    >>> set_enabled(False)
    >>> is_enabled()
    False
    >>> set_enabled(before)
    """
    _State.enabled = bool(value)


@contextmanager
def enabled(value: bool = True) -> Iterator[None]:
    """Switch the kernels on or off inside a ``with`` block.

    Parameters
    ----------
    value
        False runs plain PyTorch Geometric code.

    Yields
    ------
    None
        The state before is restored at the end of the block.

    Examples
    --------
    >>> from graphnetz.kernels import enabled, is_enabled
    >>> with enabled(False):
    ...     is_enabled()
    False
    """
    saved = _State.enabled
    _State.enabled = bool(value)
    try:
        yield
    finally:
        _State.enabled = saved


@contextmanager
def torch_dropout_stream(value: bool = True) -> Iterator[None]:
    """Draw dropout masks inside the block exactly as plain PyG layers would.

    Outside it, one number of torch's stream seeds a counter-based generator, which is about ten
    times faster and draws for stored features only. Both are functions of torch's seed; inside the
    block the masks also equal those of the plain layers, element by element.
    """
    saved = _State.torch_stream
    _State.torch_stream = bool(value)
    try:
        yield
    finally:
        _State.torch_stream = saved


def uses_torch_stream() -> bool:
    """Return whether dropout masks replay the stream of the plain layers."""
    return _State.torch_stream


def usable(x: Any) -> bool:
    """Return whether the kernels may take ``x``; if not, the caller uses the plain layer.

    The kernels take float32 and float64 on the CPU, outside autocast, torch.compile, tracing,
    torch.func transforms and forward-mode differentiation, while they are switched on.
    """
    if torch.compiler.is_compiling() or not _State.enabled:
        return False
    tensor = getattr(x, "values_tensor", x)
    if not isinstance(tensor, Tensor) or type(tensor) not in (Tensor, torch.nn.Parameter):
        return False
    if tensor.device.type != "cpu" or tensor.dtype not in _FLOATS or tensor.layout != torch.strided:
        return False
    if torch.is_autocast_enabled("cpu") or torch._C._get_tracing_state() is not None:
        return False
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return False
    return torch.autograd.forward_ad._current_level < 0


@functools.cache
def ops(module: str = "numba_ops") -> ModuleType:
    """Import a module of compiled kernels, after making sure that their cache has a place to live."""
    _prepare_cache()
    return importlib.import_module(f"graphnetz.kernels.{module}")


def load(*dtypes: torch.dtype) -> None:
    """Compile, or read from the cache, every kernel for ``dtypes`` (default float32).

    A driver calls this before it forks, so that its workers inherit the compiled code.
    """
    from graphnetz.kernels.warmup import exercise

    for dtype in dtypes or (torch.float32,):
        exercise(dtype)


def _prepare_cache() -> None:
    """Give numba a private folder where neither the package nor the home folder is writable."""
    config: Any = importlib.import_module("numba").config
    if config.CACHE_DIR:
        return
    if _writable(Path(__file__).parent / "__pycache__") or _writable(_user_cache()):
        return
    config.CACHE_DIR = str(_private_folder())


def _user_cache() -> Path:
    appdirs: Any = importlib.import_module("numba.misc.appdirs")
    return Path(appdirs.AppDirs(appname="numba", appauthor=False).user_cache_dir)


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _private_folder() -> Path:
    """Return a folder below the temporary one that only this user can read and write.

    Cached code is executed when it is read, so a folder that somebody else prepared is refused and
    a fresh one, removed at exit, takes its place.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"graphnetz-numba-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        private = stat.S_ISDIR(found.st_mode) and not stat.S_IMODE(found.st_mode) & 0o077
        if private and found.st_uid == user and _writable(folder):
            return folder
    except OSError:
        pass
    fresh = Path(tempfile.mkdtemp(prefix="graphnetz-numba-"))
    atexit.register(shutil.rmtree, fresh, ignore_errors=True)
    return fresh
