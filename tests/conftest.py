"""Shared by all tests: small graphs, one thread, real data where it is at hand."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real datasets beside the project; the test is skipped where it is absent."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the folder of real datasets is not beside the project")
    return folder


@pytest.fixture(scope="session")
def shared_reference():
    """Published tables as data; the test is skipped where they are absent."""
    folder = SHARED / "reference"
    if not folder.is_dir():
        pytest.skip("the folder of published tables is not beside the project")
    return folder
