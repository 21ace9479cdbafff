"""Runs here are about seeds and plans: their figures are not drawn."""

import pytest

from graphnetz.report import write


@pytest.fixture(autouse=True)
def _no_figures(monkeypatch):
    monkeypatch.setattr(write, "write_figures", lambda *_: None)
