"""Optional dependencies: one sentence that names the extra to install."""

from __future__ import annotations

import importlib
from types import ModuleType

from graphnetz._core.errors import MissingExtraError


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
        raise MissingExtraError(
            f"{purpose} requires the '{extra}' extra: pip install 'graphnetz[{extra}]' ({error})."
        ) from error
