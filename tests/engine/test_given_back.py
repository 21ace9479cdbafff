"""Freed arrays: kept for the next step where they are small, given back to the system where they are large."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a setting of the C library of Linux")

CODE = """
import numpy as np
from graphnetz._core import malloc
from graphnetz.engine.executors import memory
def taken():
    before = memory.resident()
    arrays = [np.ones(2**22) for _ in range(4)]  # 32 MB each
    ends = np.ones(2**10)
    del arrays
    return (memory.resident() - before) / 2**20
malloc.giving_back().__enter__()
print(malloc.reuse_memory())
with malloc.giving_back():
    print(taken())
    with malloc.giving_back(size=2**20):
        pass
    print(taken())
with malloc.giving_back(False):
    print(taken())
"""


def test_large_arrays_are_given_back_inside_and_kept_outside() -> None:
    found = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True).stdout.split()
    if found[0] != "True":
        pytest.skip("this C library has no mallopt")
    inside, after_another, kept = map(float, found[1:])
    assert inside < 16
    assert after_another < 16
    assert kept > 100
