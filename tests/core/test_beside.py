"""Calls on two cores: the same results in the same order, whatever becomes of the child."""

from __future__ import annotations

import os
import signal
import time

import pytest

from graphnetz._core import beside
from graphnetz._core.beside import shared


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr(beside, "_two_cores", lambda: hasattr(os, "fork"))


def test_results_come_in_order_and_from_two_processes():
    def call(place):
        time.sleep(0.02)
        return place, os.getpid()

    found = list(shared([lambda place=place: call(place) for place in range(12)]))
    assert [place for place, _ in found] == list(range(12))
    assert len({pid for _, pid in found}) == 2
    assert found[0][1] == os.getpid() != found[-1][1]


def test_results_may_be_larger_than_a_pipe():
    found = list(shared([lambda i=i: bytes([i]) * 300_000 for i in range(8)]))
    assert [(part[0], len(part)) for part in found] == [(i, 300_000) for i in range(8)]


def test_a_child_that_dies_costs_nothing():
    here = os.getpid()

    def call(place):
        if os.getpid() != here and place == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01)
        return place

    assert list(shared([lambda place=place: call(place) for place in range(8)])) == list(range(8))


def test_a_child_that_is_silent_is_not_waited_for_without_end(monkeypatch):
    monkeypatch.setattr(beside, "PATIENCE", 0.1)
    here = os.getpid()

    def call(place):
        if os.getpid() != here:
            time.sleep(60)
        return place

    start = time.perf_counter()
    assert list(shared([lambda place=place: call(place) for place in range(4)])) == list(range(4))
    assert time.perf_counter() - start < 30


def test_an_error_is_raised_here_and_no_child_is_left():
    def broken():
        raise ValueError("no such figure")

    with pytest.raises(ValueError, match="no such figure"):
        list(shared([lambda: 1, broken, lambda: 3]))
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_one_core_needs_no_child(monkeypatch):
    monkeypatch.setattr(beside, "_two_cores", lambda: False)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("forked"))
    assert list(shared([os.getpid, os.getpid])) == [os.getpid()] * 2


def test_letters_are_read_from_a_file_of_ones_own():
    """A font whose open file both processes moved gave 'failed to load glyph', or another letter."""
    from graphnetz.report.plots import base

    here, ours = os.getpid(), base._font(False)

    def call():
        time.sleep(0.2 if os.getpid() == here else 0)
        return os.getpid(), base._font(False) is ours

    first, last = shared([call, call])
    assert first == (here, True)
    assert last[0] != here
    assert not last[1]
