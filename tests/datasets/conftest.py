"""Fixtures shared by the tests of downloads and sources."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # helper modules beside the tests

from servers import serve

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    for name in ("GRAPHNETZ_MIRROR", "GRAPHNETZ_OFFLINE", "GRAPHNETZ_PINS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def no_internet(monkeypatch):
    """Refuse every connection that leaves this machine."""
    connect = socket.socket.connect

    def guarded(self, address):
        host = address[0] if isinstance(address, tuple) else "127.0.0.1"
        if host not in ("127.0.0.1", "::1", "localhost"):
            raise OSError(f"the test refuses a connection to {host}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def site():
    with serve() as running:
        yield running


@pytest.fixture(scope="session")
def shared():
    if not SHARED.is_dir():
        pytest.skip("the shared datasets are not beside the project")
    return SHARED
