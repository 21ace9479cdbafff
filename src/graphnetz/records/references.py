"""How a model that is not registered is named: ``[name=]path.py[:Class]`` or ``[name=]module:Class[@rows]``."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from graphnetz._core.errors import UsageError


@dataclass(frozen=True)
class Reference:
    """A model outside the registry, as it is written; nothing is imported to read it.

    Parameters
    ----------
    text
        What was written.
    label
        The name that reports show: given before ``=``, or the class.
    place, name
        File or module, and the class in it; an empty name leaves it to the file.
    rows
        For estimators of scikit-learn: what stands behind ``@``.

    Examples
    --------
    >>> Reference.read("mine=models/tiny.py:GCN").label
    'mine'
    >>> Reference.read("sklearn.svm:SVC@SpectralEmbedding").place
    'sklearn.svm'
    """

    text: str
    label: str
    place: str
    name: str
    rows: str = ""

    @classmethod
    def read(cls, text: str) -> Reference:
        """Take a reference apart; `is_reference` says whether a text is one."""
        given, _, rest = text.partition("=") if "=" in text else ("", "", text)
        place, _, name = rest.rpartition(":") if ":" in rest and not rest.endswith(".py") else (rest, "", "")
        name, _, rows = name.partition("@")
        if not place or (name and not name.isidentifier()) or ("=" in text and not given.strip()):
            raise UsageError(f"{text!r} names no model. Give path.py:Class, module:Class or name=path.py:Class.")
        stem = place.replace("\\", "/").rpartition("/")[2].removesuffix(".py")
        label = given.strip() or (f"{name or stem}@{rows}" if rows else name or stem)
        return cls(text, label, place, name, rows)

    @property
    def is_file(self) -> bool:
        """Whether it is a path of a file, not a module."""
        return self.place.endswith(".py")

    @property
    def shown(self) -> str:
        """The reference without the name that reports show."""
        return self.text.partition("=")[2] or self.text


def is_reference(text: object) -> bool:
    """Whether a text names a model by its file or module instead of a registered name.

    Examples
    --------
    >>> is_reference("tiny.py:GCN"), is_reference("torch_geometric.nn:GCN"), is_reference("GCN")
    (True, True, False)
    """
    return isinstance(text, str) and (":" in text or text.endswith(".py"))


def label_of(text: str) -> str:
    """Return the name that reports show for a model that was written as ``text``.

    Examples
    --------
    >>> label_of("tiny.py:TinyGCN"), label_of("GCN")
    ('TinyGCN', 'GCN')
    """
    return Reference.read(text).label if is_reference(text) else text


def repeated(named: Iterable[str], given: Iterable[str], *, folder: str, command: str) -> list[str]:
    """Return the models of a run folder, references as the user typed them again.

    A folder may be a stranger's: what it names by file or module is code, and runs only if the person at the keyboard
    names it too.

    Parameters
    ----------
    named
        Models as the folder's settings list them.
    given
        Models that were given again.
    folder, command
        For the sentence: ``graphnetz COMMAND FOLDER --model ...``.

    Examples
    --------
    >>> repeated(["GCN", "old/tiny.py:Tiny"], ["new/tiny.py:Tiny"], folder="runs/x", command="resume")
    ['GCN', 'new/tiny.py:Tiny']
    """
    mine = {label_of(text): text for text in given}
    out, missing = [], []
    for text in named:
        label = label_of(text)
        if label not in mine and is_reference(text):
            missing.append(text)
        out.append(mine.pop(label, text))
    if missing:
        options = " ".join(f"--model {text}" for text in out if is_reference(text))
        raise UsageError(
            f"{folder!r} was run with code of somebody's own ({', '.join(missing)}), which is only run again if you "
            f"name it: graphnetz {command} {folder} {options}"
        )
    if mine:
        raise UsageError(
            f"{folder!r} has no model {', '.join(map(repr, mine))}; it has {', '.join(map(label_of, named))}. "
            "Start a run of its own for others."
        )
    return out


def refuse_inside(text: str, folder: Path) -> None:
    """Refuse a reference to code inside a folder of results, whoever typed it; nothing is imported to find out.

    Examples
    --------
    >>> refuse_inside("tiny.py:Tiny", Path("runs/x"))
    """
    wanted = Reference.read(text)
    here = folder.resolve()
    places = [Path(wanted.place).expanduser()] if wanted.is_file else _modules(wanted.place)
    if any(here == place or here in place.parents for place in (place.resolve() for place in places)):
        raise UsageError(
            f"{wanted.shown!r} lies inside {str(folder)!r}, and a folder of results must not bring code that runs. "
            "Read the file, copy it elsewhere, and name the copy."
        )


def _modules(name: str) -> list[Path]:
    """Where a module's top-level package is, as far as it is found: on the path, or beside the caller."""
    top = name.partition(".")[0]
    try:
        found = importlib.util.find_spec(top)
    except (ImportError, ValueError, AttributeError):
        found = None
    if found is None:
        return [Path.cwd() / top]
    return [Path(place) for place in [found.origin, *(found.submodule_search_locations or ())] if place]
