"""Shared by the tests of the engine."""

import signal

import pytest

from graphnetz.report import write


@pytest.fixture
def interruptible():
    """Ctrl-C as in a terminal: a process started in the background of a script ignores SIGINT from birth."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def no_figures(monkeypatch):
    """For runs that are about seeds and plans: their figures are not drawn."""
    monkeypatch.setattr(write, "write_figures", lambda *_: None)
