"""What a log file says while a run goes on."""

import pytest

from graphnetz.engine import progress
from graphnetz.engine.progress import Estimator, Progress


@pytest.fixture
def now(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    return clock


def test_a_log_repeats_itself_once_a_minute_and_tells_news_within_seconds(now, capsys):
    with Progress(10, 0, Estimator([], {}), workers=1, verbose=True) as shown:
        for second in range(1, 181):
            now[0] = float(second)
            shown.tick()
        quiet = capsys.readouterr().err.splitlines()
        assert len(quiet) == 3
        assert all(line.startswith("0/10 cells") for line in quiet)
        shown.done = 1
        now[0] += 6
        shown.tick()
        assert capsys.readouterr().err.startswith("1/10 cells")


def test_a_quiet_run_says_nothing(now, capsys):
    with Progress(1, 0, Estimator([], {}), workers=1, verbose=False) as shown:
        now[0] = 100.0
        shown.tick()
    assert capsys.readouterr().err == ""


def test_before_the_first_cell_is_done_no_time_left_is_made_up(capsys):
    with Progress(2, 0, Estimator([], {}), workers=1, verbose=True) as shown:
        shown.estimator.seconds = lambda workers: float("nan")
        shown.last = -1e9
        shown.tick()
    assert "0/2 cells, time left unknown until a cell is done" in capsys.readouterr().err
