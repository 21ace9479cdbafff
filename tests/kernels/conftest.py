"""Make the helpers of this folder importable by name under importlib mode."""

import sys
from pathlib import Path

import pytest

from graphnetz.kernels import products

sys.path.insert(0, str(Path(__file__).resolve().parent))


@pytest.fixture(params=["torch's products", "own products"])
def any_products(request, monkeypatch):
    """Run small cases by torch's library, and by the tile that large ones would take."""
    if request.param == "own products":
        if not products.wide_registers():
            pytest.skip("this processor has no registers of 512 bits")
        monkeypatch.setattr(products, "LEAST", 0)
    else:
        monkeypatch.setattr(products, "wide_registers", lambda: False)
