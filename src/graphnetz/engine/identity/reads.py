"""What code of the user's own reads while a cell runs: files and environment variables, each with a hash.

A key follows code; what code reads when it runs is not in the code. So reads are seen when they happen (Python tells
its audit hooks of every file that is opened), kept with the cell, and compared before the cell is used again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from graphnetz.engine.identity.places import is_installed, is_standard
from graphnetz.records.digests import sha256

ABSENT = "absent"
UNSEEN = "?"
"""Hash of what cannot be compared: a cell that read it is always trained again."""

_CARRIED = "_graphnetz_reads"
_FILE, _FOLDER, _PLACE, _VARIABLE, _OTHER = "file ", "folder ", "place ", "variable ", "other "
_NOUNS = {
    _FILE: "the file", _FOLDER: "the content of the folder", _PLACE: "the file or folder",
    _VARIABLE: "the environment variable",
}  # fmt: skip
_WHOLE_ENVIRONMENT = f"{_OTHER}the whole environment"
_SYSTEM = tuple(f"{os.sep}{name}{os.sep}" for name in ("proc", "sys", "dev"))
_CODE = (".py", ".pyc", ".so", ".pyd")
_PROGRAMS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn"}
_OPENS = {"open", "sqlite3.connect", "ctypes.dlopen"}
_LISTS = {"os.listdir", "os.scandir"}
_EVENTS = _OPENS | _PROGRAMS | _LISTS | {"socket.connect", "os.mkdir"}
_PATHS = ("genericpath.py", "<frozen genericpath>", "posixpath.py", "<frozen posixpath>", "ntpath.py", "glob.py",
          "pathlib.py", f"pathlib{os.sep}_local.py", f"pathlib{os.sep}__init__.py", "fnmatch.py")  # fmt: skip
"""Code between a user and the file system that only passes questions on."""


class _Watch:
    """What this process has seen; one, because audit hooks cannot be removed."""

    def __init__(self) -> None:
        self.depth = 0
        self.hooked = False
        self.busy = threading.local()
        self.root = ""
        self.outermost: FrameType | None = None
        self.found: dict[str, tuple[str, frozenset[str]]] = {}  # label: hash, and the user's files that asked
        self.written: set[str] = set()  # by this cell
        self.read: set[str] = set()  # by this cell


_WATCH = _Watch()


@contextmanager
def watched(root: str = "", *, fresh: bool = False) -> Iterator[None]:
    """Note what code of the user's own reads inside this context.

    Parameters
    ----------
    root
        Folder of the datasets, whose content is part of the keys already.
    fresh
        Whether a cell begins: what it writes first and reads then is its own.
    """
    if not _WATCH.hooked:
        sys.addaudithook(_hear)
        _WATCH.hooked = True
    before = (_WATCH.root, _WATCH.outermost)
    if fresh:
        _WATCH.written.clear()
        _WATCH.read.clear()
    _WATCH.root = os.path.realpath(root) + os.sep if root else ""
    _WATCH.outermost = sys._getframe(2)
    _WATCH.depth += 1
    try:
        with _environment_tells(), _torch_tells(), _stat_tells(), _safetensors_tells():
            yield
    finally:
        _WATCH.depth -= 1
        _WATCH.root, _WATCH.outermost = before


@contextmanager
def _environment_tells() -> Iterator[None]:
    """Hear of variables that are looked up, as text and as bytes (which not every system has)."""
    views: list[Any] = [view for view in (os.environ, getattr(os, "environb", None)) if view is not None]
    before: list[type] = [type(view) for view in views]
    for view, kind in zip(views, before, strict=True):
        view.__class__ = _noting(kind)
    try:
        yield
    finally:
        for view, kind in zip(views, before, strict=True):
            view.__class__ = kind


@contextmanager
def _torch_tells() -> Iterator[None]:
    """Hear of the files that ``torch.save`` writes: it opens them without Python's help.

    Where torch has no such class, a checkpoint that a cell reads back counts as read, and the cell is trained again.
    """
    from torch import serialization

    kind = getattr(serialization, "_open_zipfile_writer_file", None)
    if kind is None:
        yield
        return
    before = kind.__init__

    def noted(self: Any, name: Any, *more: Any, **options: Any) -> None:
        _writes(_FILE + os.path.realpath(os.fsdecode(name)))
        before(self, name, *more, **options)

    kind.__init__ = noted
    try:
        yield
    finally:
        kind.__init__ = before


@contextmanager
def _stat_tells() -> Iterator[None]:
    """Hear of questions whether a file is there and how large it is, of which Python tells no audit hook."""
    before = os.stat
    if getattr(before, "_graphnetz_notes", False):
        yield
        return

    @functools.wraps(before)
    def noted(path: Any, *more: Any, **options: Any) -> os.stat_result:
        _quietly(_asked, path)
        return before(path, *more, **options)

    noted._graphnetz_notes = True  # type: ignore[attr-defined]
    os.stat = noted
    try:
        yield
    finally:
        os.stat = before


@contextmanager
def _safetensors_tells() -> Iterator[None]:
    """Hear of the files that ``safetensors.torch.load_file`` reads without Python's help."""
    module = sys.modules.get("safetensors.torch")
    before = getattr(module, "safe_open", None)
    if before is None:
        yield
        return

    def noted(path: Any, *more: Any, **options: Any) -> Any:
        with open(path, "rb"):  # which Python tells of
            return before(path, *more, **options)

    module.safe_open = noted  # type: ignore[union-attr]
    try:
        yield
    finally:
        module.safe_open = before  # type: ignore[union-attr]


def seen(files: Set[str]) -> dict[str, str]:
    """Return what code in ``files`` has read in this process so far, by label, with a hash.

    Earlier cells count: what they read, this one may have found in a cache.
    """
    found = {label: value for label, (value, by) in sorted(_WATCH.found.items()) if by & files}
    return {_from_here(label): value for label, value in found.items() if label not in _WATCH.written}


def note_reads(error: BaseException, reads: Mapping[str, str]) -> None:
    """Let an exception carry what its cell had read: a missing file that is there later is a reason to train again."""
    with contextlib.suppress(AttributeError, TypeError):  # a class of the user's own may refuse attributes
        setattr(error, _CARRIED, dict(reads))


def reads_of(error: BaseException) -> dict[str, str]:
    """Return what `note_reads` gave an exception."""
    found = getattr(error, _CARRIED, None)
    return found if isinstance(found, dict) else {}


def stale(reads: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return why cells must be trained again, by key; those whose reads are what they were are left out."""
    now = functools.cache(_now)
    found = {}
    for key, items in reads.items():
        changed = [label for label, value in items.items() if value == UNSEEN or now(label) != value]
        if changed:
            found[key] = _reason(changed[0], items[changed[0]], now)
    return found


def _reason(label: str, before: str, now: Any) -> str:
    for prefix, noun in _NOUNS.items():
        if label.startswith(prefix):
            name = f"{noun} {label.removeprefix(prefix)!r}"
            if before == UNSEEN:
                return f"{name} cannot be compared with what it was"
            return f"{name} {'is gone' if now(label) == ABSENT else 'is new' if before == ABSENT else 'has changed'}"
    return f"it used {label.removeprefix(_OTHER)}, which cannot be compared with what it was"


def _now(label: str) -> str:
    for prefix, state in ((_FILE, _file_hash), (_FOLDER, _names_hash), (_PLACE, _place_state)):
        if label.startswith(prefix):
            return state(label.removeprefix(prefix))
    if label.startswith(_VARIABLE):
        return _text_hash(os.environ.get(label.removeprefix(_VARIABLE)))
    return UNSEEN


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    """Audit hook: must never raise, and must be quick where it is not concerned."""
    if not _WATCH.depth or event not in _EVENTS or getattr(_WATCH.busy, "on", False):
        return
    _WATCH.busy.on = True
    frames = list(_frames(sys._getframe(1)))
    try:
        if event in _OPENS:
            _opened(arguments, frames)
        elif event in _LISTS:
            _looked(_FOLDER, "." if arguments[0] is None else arguments[0], frames)
        elif event == "os.mkdir":
            _writes(_FILE + os.path.realpath(os.fsdecode(arguments[0])))
        elif _called_by_user(frames, through=is_standard):
            what = "another program" if event in _PROGRAMS else "the network"
            _keep(f"{_OTHER}{what}", UNSEEN, frames)
    except Exception:  # nothing of ours may disturb the model: what was not seen is said to be so
        _keep(f"{_OTHER}something that could not be recorded", UNSEEN, frames)
    finally:
        _WATCH.busy.on = False


def _quietly(act: Callable[[Any, list[str]], None], argument: Any) -> None:
    """Note something outside the audit hook; whatever fails, the model is not disturbed."""
    if not _WATCH.depth or getattr(_WATCH.busy, "on", False):
        return
    _WATCH.busy.on = True
    try:
        with contextlib.suppress(Exception):
            act(argument, list(_frames(sys._getframe(2))))
    finally:
        _WATCH.busy.on = False


def _asked(path: Any, frames: list[str]) -> None:
    _looked(_PLACE, path, frames)


def _looked(prefix: str, path: Any, frames: list[str]) -> None:
    """Keep the state of a place that the user's own code asks about, unless it has made it itself."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return
    if not _called_by_user(frames, through=lambda file: file.endswith(_PATHS)):
        return
    place = os.path.realpath(os.fsdecode(path))
    own = any(f"{_FILE}{way}" in _WATCH.written for way in (place, *map(str, Path(place).parents)))
    if not own and not _is_known(place, frames):
        _keep(prefix + place, _now(prefix + place), frames)


def _opened(arguments: tuple[Any, ...], frames: list[str]) -> None:
    path, mode, flags = (*arguments, None, 0)[:3]
    if len(arguments) == 1 and (not isinstance(path, str) or os.sep not in path):
        return  # a library by its name, a database in memory
    if not isinstance(path, (str, bytes, os.PathLike)) or not any(_is_users_file(name) for name in frames):
        return
    place = os.path.realpath(os.fsdecode(path))
    label = _FILE + place
    writes = any(letter in mode for letter in "wxa") if isinstance(mode, str) else bool((flags or 0) & _WRITING)
    if writes:
        _writes(label)
    if writes or label in _WATCH.written or _is_known(place, frames):
        return
    _keep(label, _file_hash(place), frames)


def _writes(label: str) -> None:
    """What a cell writes before it reads it is its own; what was there before is not."""
    if label not in _WATCH.read:
        _WATCH.written.add(label)


def _keep(label: str, value: str, frames: Iterable[str]) -> None:
    by = frozenset(name for name in frames if _is_users_file(name))
    _WATCH.read.add(label)
    _WATCH.found[label] = (value, by | _WATCH.found.get(label, (value, by))[1])


_WRITING = os.O_WRONLY | os.O_RDWR


def _is_known(place: str, frames: list[str]) -> bool:
    """Whether a file is part of the data, of installed code, of the system, or code that is imported or shown."""
    if _WATCH.root and place.startswith(_WATCH.root):
        return True
    if place.startswith(_SYSTEM) or f"{os.sep}__pycache__{os.sep}" in place or is_installed(place):
        return True
    reader = Path(frames[0]).name if frames else ""
    return place.endswith(_CODE) and (reader in ("linecache.py", "tokenize.py") or "importlib" in frames[0])


def _frames(frame: FrameType | None) -> Iterator[str]:
    """Files of the code that is running, innermost first, up to the one that began to watch."""
    while frame is not None and frame is not _WATCH.outermost:
        if frame.f_code.co_filename != __file__:
            yield frame.f_code.co_filename
        frame = frame.f_back


@functools.lru_cache(maxsize=4096)
def _is_users_file(name: str) -> bool:
    return not name.startswith("<frozen") and not is_installed(name)


def _called_by_user(frames: Iterable[str], *, through: Callable[[str], bool]) -> bool:
    """Whether the user's own code asks for it, directly or through some code that stands between."""
    caller = next((name for name in frames if not through(name)), None)
    return caller is not None and _is_users_file(caller)


def _noted(name: str | None) -> None:
    through = ("os.py", "_collections_abc.py", "<frozen os>", "<frozen _collections_abc>", *_PATHS)
    frames = list(_frames(sys._getframe(2)))
    if not _called_by_user(frames, through=lambda file: file.endswith(through)):
        return
    if name is None:
        _keep(_WHOLE_ENVIRONMENT, UNSEEN, frames)
    elif not _has_read_all(frames) and not name.endswith("_NUM_THREADS"):  # which the workers set
        value = os.environ._data.get(os.environ.encodekey(name))  # type: ignore[attr-defined]
        _keep(_VARIABLE + name, _text_hash(None if value is None else os.environ.decodevalue(value)), frames)


def _has_read_all(frames: Iterable[str]) -> bool:
    """Whether the code that asks has read the whole environment; that other models have says nothing of it."""
    _, by = _WATCH.found.get(_WHOLE_ENVIRONMENT, ("", frozenset()))
    return by.issuperset(filter(_is_users_file, frames))


@functools.cache
def _noting(kind: type) -> type:
    """The environment's own class, with look-ups that are noted."""
    if hasattr(kind, "_graphnetz_notes"):
        return kind

    class Noting(kind):  # type: ignore[misc]
        _graphnetz_notes = True

        def __getitem__(self, key: Any) -> Any:
            if isinstance(key, str | bytes):
                _noted(os.fsdecode(key))
            return super().__getitem__(key)

        def __iter__(self) -> Any:
            _noted(None)
            return super().__iter__()

    return Noting


def _from_here(label: str) -> str:
    """Name a file from the working folder where it is inside, so that a project can be moved."""
    for prefix in (_FILE, _FOLDER, _PLACE):
        here = prefix + str(Path.cwd().resolve()) + os.sep
        if label.startswith(here):
            return prefix + label.removeprefix(here)
    return label


def _names_hash(path: str) -> str:
    """Hash of the names in a folder; compiled code comes and goes."""
    try:
        return _text_hash("\0".join(sorted(one.name for one in Path(path).iterdir() if one.name != "__pycache__")))
    except OSError:
        return ABSENT


def _place_state(path: str) -> str:
    """Whether a place is a file, and of which size, a folder, or nothing."""
    try:
        found = Path(path).stat()
    except OSError:
        return ABSENT
    return _text_hash(f"file of {found.st_size}" if stat.S_ISREG(found.st_mode) else "folder")


def _file_hash(path: str) -> str:
    try:
        found = Path(path).stat()
    except OSError:
        return ABSENT
    if not stat.S_ISREG(found.st_mode):
        return UNSEEN
    try:
        return _content(str(Path(path).absolute()), found.st_mtime_ns, found.st_size, found.st_ino)
    except OSError:
        return UNSEEN


@functools.lru_cache(maxsize=1024)
def _content(path: str, *_: int) -> str:
    """Hash of a file; the other arguments are there to notice that it was written."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:32]


def _text_hash(text: str | None) -> str:
    return ABSENT if text is None else sha256(text.encode("utf-8", "surrogateescape"))[:32]
