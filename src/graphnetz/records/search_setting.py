"""The setting that says what is tuned: a word, a table, or a file with a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator

from graphnetz._core.readers import read_toml


def _search(value: Any) -> Any:
    """Read ``"default"``, a table, or a file with one."""
    if isinstance(value, str) and value.endswith(".toml"):
        return read_toml(value, what="the search")
    if isinstance(value, str) and value != "default":
        raise ValueError("it takes 'default', a TOML file or a table such as {lr = [0.01, 0.001]}")
    return value


Search = Annotated[Mapping[str, Any] | str, BeforeValidator(_search)]
