"""The progress page of a run that is going on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphnetz.report.page import environment


def progress_page(status: Mapping[str, Any], *, refresh: int) -> str:
    """Return the page; it loads itself again while cells are left, without script."""
    return environment().get_template("live.html").render(status=status, refresh=refresh)
