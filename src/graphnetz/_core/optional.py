"""Optional dependencies and the name they are installed under: one sentence each."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from graphnetz._core.errors import MissingExtraError

#: What pip knows this package as. ``graphnetz`` on PyPI is another project's with the same import name.
DISTRIBUTION = "graphnetz-bench"


def pip_install(extra: str) -> str:
    """Return the command that installs an extra of this package.

    Examples
    --------
    >>> pip_install("ogb")
    "pip install 'graphnetz-bench[ogb]'"
    """
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import ``module`` or say which extra brings it.

    Parameters
    ----------
    module
        Dotted name of the module.
    extra
        Name of the extra of this package that installs it.
    purpose
        What needs it, as the subject of the sentence: ``"ogbn_arxiv"``.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(f"{purpose} requires the '{extra}' extra: {pip_install(extra)} ({error}).") from error


def clash() -> str | None:
    """Return a sentence when the other distribution called graphnetz was installed over the same files, else None.

    A look at one folder, not at every distribution: it stands in the way of each command.
    """
    for record in Path(__file__).parents[2].glob("graphnetz-*.dist-info/RECORD"):
        if "graphnetz/__init__.py" in record.read_text(encoding="utf-8", errors="replace"):
            other = record.parent.name.removesuffix(".dist-info").replace("-", " ")
            return (
                f"{other}, another project's package, is installed over the files of {DISTRIBUTION}: "
                f"run pip uninstall --yes graphnetz {DISTRIBUTION}, then install the one you want."
            )
    return None
