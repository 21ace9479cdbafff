"""The pytest plug-in: a fixture, and nothing else is loaded until a test asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphnetz.analysis.gate import Gate


@pytest.fixture(name="assert_not_worse")
def _assert_not_worse() -> Callable[..., Gate]:
    """Fail a test if a model became worse than its baseline; see `graphnetz.testing.assert_not_worse`."""
    from graphnetz.testing import assert_not_worse

    return assert_not_worse
