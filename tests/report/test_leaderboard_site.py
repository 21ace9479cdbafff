"""A leaderboard as a folder of pages: what lies where, and that names of others stay names."""

import re

import pandas as pd

from graphnetz.report import BenchmarkReport
from graphnetz.report.leaderboard import task_pages, write_site

EVIL = "</script><img src=x onerror=alert(1)>"
TASKS = ("cora", "../../etc/passwd", EVIL, "a b")


def frame():
    rows = [
        (task, model, seed, 0.5 + 0.1 * m + 0.01 * seed + 0.003 * ((seed * (m + 1)) % 3))
        for task in TASKS
        for m, model in enumerate(("GCN", EVIL, "MLP"))
        for seed in range(4)
        if (task, model) != ("cora", "MLP")
    ]
    names = ["task", "model", "seed", "score"]
    return pd.DataFrame(rows, columns=names).assign(metric="test_acc", greater_is_better=True)


def test_every_task_has_a_page_behind_the_board(tmp_path):
    report = BenchmarkReport.from_scores(frame())
    write_site(report, tmp_path / "site", checked={("cora", "GCN"): "verified"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["site"]
    pages = task_pages(report.scores.tasks)
    site = tmp_path / "site"
    index = (site / "index.html").read_text(encoding="utf-8")
    assert {path.relative_to(site).as_posix() for path in (site / "tasks").iterdir()} == set(pages.values())
    for link in pages.values():
        assert f'href="{link}"' in index
        text = (site / link).read_text(encoding="utf-8")
        assert "<img" not in text
        assert text.count("<script") == 1
        assert 'href="../index.html"' in text
    assert "<img" not in index
    assert "verified" in (site / pages["cora"]).read_text(encoding="utf-8")


def test_the_board_holds_every_model_and_its_file_the_same_numbers(tmp_path):
    report = BenchmarkReport.from_scores(frame())
    write_site(report, tmp_path, checked={})
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    body = index.split('<tbody data-board=":"')[1].split("</tbody>")[0]
    assert body.count("<tr ") == 3
    table = pd.read_csv(tmp_path / "board.csv").query("kind != kind")  # all tasks: no kind
    assert sorted(table["tasks"]) == [3, 4, 4]
    rows = re.findall(r'data-m="\d+">.*?</tr>', body, re.S)
    for (_, row), line in zip(table.iterrows(), rows, strict=True):
        place = str(row["low"]) if row["low"] == row["high"] else f"{row['low']} to {row['high']}"
        assert f">{place}</td>" in line
        assert f'data-v="{row["rank"]}"' in line
        assert f'data-v="{row["wins"]}"' in line
    for name in ("board.csv", "leaderboard.csv", "places.csv", "results.json"):
        assert f'href="{name}"' in index
