"""Commands that came after the first list of attempts, given what nobody should give them."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # helper modules beside the tests

from attempts import make_run, outcome

from graphnetz._core.errors import StoreError
from graphnetz._core.paths import atomic_write, refuse_links

GRAPH = "0,1\n1,2\n2,3\n3,0\n"
SLOTS = {
    "baseline": ["baseline", "FILE", "--out", "made.json"],
    "compare": ["compare", "FILE", "run"],
    "compare with": ["compare", "run", "FILE"],
    "gate": ["compare", "FILE", "run", "--fail-if-worse"],
    "merge": ["merge", "FILE", "--out", "made"],
    "leaderboard": ["leaderboard", "run", "FILE", "--out", "made"],
    "predict": ["predict", "FILE", "--graph", "g.csv"],
    "export huggingface": ["export", "huggingface", "FILE", "--out", "made"],
    "export every-eval-ever": ["export", "every-eval-ever", "FILE", "--out", "made"],
    "export aslib": ["export", "aslib", "link_pred", "--bank", "FILE", "--out", "made"],
    "rings table": ["rings", "table", "FILE"],
    "rings complementarity": ["rings", "complementarity", "FILE"],
    "rings diversity": ["rings", "diversity", "FILE"],
    "rings evaluate": ["rings", "evaluate", "FILE"],
    "submit": ["submit", "FILE"],
    "verify": ["verify", "FILE", "--retrain", "0"],
    "report": ["report", "FILE", "--no-figures", "--out", "made"],
    "train": ["train", "--graph", "FILE", "--out", "made"],
    "train labels": ["train", "--graph", "g.csv", "--labels", "FILE", "--out", "made"],
    "train features": ["train", "--graph", "g.csv", "--features", "FILE", "--out", "made"],
    "train model": ["train", "--graph", "g.csv", "--model", "FILE:Net", "--out", "made"],
    "check": ["check", "FILE:Net"],
    "replicate": ["replicate", "FILE"],
    "select features": ["select", "features", "FILE"],
}
"""Where a command takes a file of others."""
FILES: dict[str, bytes | None] = {
    "empty": b"", "zeros": b"\0" * 100, "Latin-1": b"a,b\n\xe9,1\n", "UTF-16": "a,b\n1,2\n".encode("utf-16"),
    "brackets": b"[" * 5000, "half a zip": b"PK\x03\x04", "half an SQLite file": b"SQLite format 3\0xx", "a pipe": None,
}  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("finished"))


@pytest.fixture
def place(finished, tmp_path):
    """A folder with a finished run and a graph."""
    shutil.copytree(finished, tmp_path / "run")
    (tmp_path / "g.csv").write_text(GRAPH, encoding="utf-8")
    return tmp_path


def refused(arguments, place, words=""):
    found = outcome(arguments, place)
    assert (found.code, len(found.said.splitlines())) == (2, 1), found.said[-600:]
    assert words in found.said
    assert not found.written


@pytest.mark.parametrize("content", FILES)
@pytest.mark.parametrize("slot", SLOTS)
def test_a_command_that_is_given_no_file_of_its_kind(slot, content, place):
    if (data := FILES[content]) is None:
        os.mkfifo(place / "FILE")
    else:
        (place / "FILE").write_bytes(data)
    refused(SLOTS[slot], place)


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "--task", "sbm_communities", "--model", "GCN", "--seeds", "1000000000", "--out", "o"],
        ["train", "--task", "sbm_communities", "--model", "GCN", "--epochs", "99999999999999", "--out", "o"],
        ["train", "--task", "sbm_communities", "--model", "Majority", "--out", "o"],
        ["train", "--task", "sbm_communities", "--graph", "g.csv", "--out", "o"],
        ["compare", "run", "run", "--alpha", "nan"],
        ["compare", "run", "run", "--margin", "nan", "--fail-if-worse"],
        ["compare", "run", "run", "--margin", "inf", "--fail-if-worse"],
        ["replicate", "graphnetz", "--table", "nope"],
        ["replicate", "graphnetz", "--size", "nope"],
        ["export", "huggingface", "run", "--hub", "x"],
        ["export", "croissant", "nope"],
        ["export", "aslib", "nope"],
        ["verify", "run", "--workers", "0", "--retrain", "1"],
    ],
    ids=lambda arguments: " ".join(arguments),
)
def test_an_option_out_of_its_bounds(arguments, place):
    refused(arguments, place)


# what is written, and where


@pytest.mark.parametrize(
    "arguments",
    [
        ["baseline", "run", "--out", "p"],
        ["compare", "run", "run", "--fail-if-worse", "--junit", "p"],
        ["compare", "run", "run", "--fail-if-worse", "--markdown", "l"],
        ["submit", "run", "--out", "p"],
    ],
    ids=lambda arguments: arguments[-2] + " " + arguments[0],
)
def test_no_device_and_no_pipe_is_replaced_by_a_file(arguments, place):
    """`--out /dev/null`, given by an administrator, made an ordinary file of the machine's /dev/null."""
    os.mkfifo(place / "p")
    (place / "l").symlink_to("p")
    refused(arguments, place, "is a device or a pipe")
    assert (place / "p").is_fifo()
    assert (place / "l").is_symlink()


def test_python_replaces_no_device_either(tmp_path):
    os.mkfifo(tmp_path / "p")
    with pytest.raises(StoreError, match="device or a pipe"), atomic_write(tmp_path / "p") as stream:
        stream.write("x")


@pytest.mark.parametrize("command", ["huggingface", "every-eval-ever"])
def test_models_of_similar_names_get_files_of_their_own(command, tmp_path):
    """'a/b' and 'a-b' are both a-b in a file name: the second took the place of the first without a word."""
    rows = [
        f"t,{model},{seed},0.{seed + 1}{i},test_acc" for i, model in enumerate(("a/b", "a-b", "A-B")) for seed in (0, 1)
    ]
    (tmp_path / "s.csv").write_text("\n".join(["task,model,seed,score,metric", *rows]) + "\n", encoding="utf-8")
    found = outcome(["export", command, "s.csv", "--out", "made"], tmp_path)
    assert found.code == 0, found.said
    assert len({name.lower() for name in found.written}) == 3


# trackers


def mlflow(place, **changed):
    """An ``mlruns`` folder of two models with three seeds; ``changed`` are files of its first run."""
    for i in range(6):
        run = place / "mlruns" / "0" / f"run{i}"
        files = {"meta.yaml": "status: 3\n", "params/seed": str(i % 3), "params/model": "AB"[i // 3],
                 "params/dataset": "t", "metrics/test_acc": f"17 0.{i + 1} 0\n"}  # fmt: skip
        for name, text in (files | (changed if i == 0 else {})).items():
            (run / name).parent.mkdir(parents=True, exist_ok=True)
            (run / name).write_text(text, encoding="utf-8")
    return place / "mlruns" / "0" / "run0"


REPORT = ["report", "mlruns", "--no-figures", "--out", "made"]


def test_a_whole_folder_of_a_tracker_is_read(tmp_path):
    mlflow(tmp_path)
    assert outcome(REPORT, tmp_path).code == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [("params/seed", "9" * 5000), ("params/seed", "²"), ("params/seed", "1" * 30), ("params/model", ""),
     ("metrics/test_acc", "x"), ("metrics/test_acc", "1 7.5 0"), ("metrics/test_acc", f"1 {'9' * 6000} 0")],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_a_changed_file_of_a_tracker(name, text, tmp_path):
    mlflow(tmp_path, **{name: text})
    refused(REPORT, tmp_path)


@pytest.mark.parametrize("kind", ["params", "metrics", "metrics/test_acc"])
def test_no_link_leads_out_of_a_folder_of_a_tracker(kind, tmp_path):
    run = mlflow(tmp_path)
    (run / kind).rename(tmp_path / "elsewhere")
    (run / kind).symlink_to(tmp_path / "elsewhere")
    refused(REPORT, tmp_path, f"has the link '0/run0/{kind}'")


@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_links_are_refused_at_any_depth(depth, tmp_path):
    way = tmp_path.joinpath(*"abcde"[:depth])
    way.mkdir(parents=True, exist_ok=True)
    refuse_links(tmp_path)
    (way / "secret").symlink_to("/etc/passwd")
    with pytest.raises(StoreError, match="has the link"):
        refuse_links(tmp_path)
