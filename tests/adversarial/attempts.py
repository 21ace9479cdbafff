"""Attempts with bad input, each with the files it needs: what a command must answer in one sentence, writing nothing.

``python tests/adversarial/attempts.py`` prints how many were tried, held and broke.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEAD = "task,model,seed,score,metric,greater_is_better"
ROWS = [f"t,{model},{seed},0.{8 - seed}{len(model)},test_acc,true" for model in ("A", "BB") for seed in range(3)]
BIG = "9" * 5000


@dataclass(frozen=True)
class Attempt:
    """One try: a name, the command, the files it needs, and words that its sentence must hold."""

    name: str
    arguments: tuple[str, ...]
    words: str
    prepare: Callable[[Path], object] = lambda folder: None
    code: int = 2


@dataclass(frozen=True)
class Outcome:
    """What a command did: its exit code, what it said, and the files that were not there before."""

    code: int | str
    said: str
    printed: str
    written: tuple[str, ...]


def outcome(arguments: Sequence[str], folder: Path) -> Outcome:
    """Run the command line in ``folder``; an exception is a traceback that a user would see."""
    from graphnetz.cli.app import run_app

    before, here = _files(folder), Path.cwd()
    out, err = io.StringIO(), io.StringIO()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code: int | str = run_app(list(arguments))
    except BaseException as error:
        code = type(error).__name__
        err.write("Traceback\n" + "".join(traceback.format_exception(error)[-2:]))
    finally:
        os.chdir(here)
    return Outcome(code, err.getvalue(), out.getvalue(), tuple(sorted(_files(folder) - before)))


def broken(attempt: Attempt, folder: Path) -> str:
    """Return why an attempt broke, empty when it held: the right code, one sentence, nothing written."""
    attempt.prepare(folder)
    found = outcome(attempt.arguments, folder)
    lines = [line for line in found.said.splitlines() if line.strip()]
    if found.code != attempt.code or "Traceback" in found.said:
        return f"code {found.code}: {found.said[-600:]}{found.printed[-200:]}"
    if len(lines) != 1 or attempt.words not in lines[0]:
        return f"wanted one sentence with {attempt.words!r}, got {found.said[-600:]!r}"
    if found.written:
        return f"written: {found.written[:5]}"
    return ""


def counts(attempts: Iterable[Attempt], base: Path | None = None) -> Counter[str]:
    """Return how many attempts were tried, held and broke; ``base`` is a finished run for those that need one."""
    total: Counter[str] = Counter()
    for attempt in attempts:
        with tempfile.TemporaryDirectory() as name:
            if base is not None:
                shutil.copytree(base, Path(name) / "run")
            why = broken(attempt, Path(name))
        total.update(["tried", "broke" if why else "held"])
        if why:
            print(f"broke: {attempt.name}: {why}")
    return total


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


# files


def file(name: str, content: str | bytes) -> Callable[[Path], object]:
    """Write one file."""
    return lambda folder: (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def table(*rows: str, head: str = HEAD) -> str:
    """Return a table of scores: good rows, then ``rows``."""
    return "\n".join([head, *ROWS, *rows]) + "\n"


def _scores(name: str, words: str, content: str | bytes) -> Attempt:
    return Attempt(f"scores: {name}", ("report", "s.csv", "--no-figures"), words, file("s.csv", content))


def _pairs(name: str, words: str, content: str | bytes, *more: str) -> Attempt:
    return Attempt(f"separability: {name}", ("rings", "separability", "s.csv", *more), words, file("s.csv", content))


def _settings(name: str, words: str, content: str | bytes) -> Attempt:
    return Attempt(f"settings: {name}", ("run", "c.toml", "--quiet"), words, file("c.toml", content))


def _run(name: str, words: str, *more: str) -> Attempt:
    return Attempt(f"run: {name}", ("run", "--task", "sbm_communities", "--model", "GCN", "--quiet", *more), words)


def _graph(
    name: str, words: str, content: str | bytes, labels: str | bytes | None = None, end: str = ".csv"
) -> Attempt:
    def prepare(folder: Path) -> None:
        file(f"g{end}", content)(folder)
        if labels is not None:
            file("l.csv", labels)(folder)

    more = () if labels is None else ("--labels", "l.csv")
    return Attempt(f"graph: {name}", ("select", f"g{end}", *more), words, prepare)


def _bomb(header: bytes, line: bytes) -> bytes:
    import gzip

    block = line * (1_000_000 // len(line))
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=9, mtime=0) as packed:
        packed.write(header)
        for _ in range(150):
            packed.write(block)
    return stream.getvalue()


SCORES = (
    _scores("empty", "is empty", ""),
    _scores("blanks", "is empty", " \n \n"),
    _scores("a header alone", "have no row", HEAD + "\n"),
    _scores("bytes", "NUL", bytes(range(128))),
    _scores(
        "Latin-1", "line 8, column 4: the byte 0xe9 is not UTF-8", table("caf").encode()[:-1] + b"\xe9,A,9,1,m,true\n"
    ),
    _scores("UTF-16", "is UTF-16", table().encode("utf-16")),
    _scores("a packed file", "is gzip", b"\x1f\x8b\x08\x00" + bytes(20)),
    _scores("a quotation mark left open", "a quotation mark is not closed", table('"t,A,9,0.5,test_acc,true')),
    _scores("a long row", "line 8: 9 cells below a header of 6", table("t,A,9,0.5,test_acc,true,1,2,3")),
    _scores("a short row", "line 8: 3 cells below a header of 6", table("t,A,9")),
    _scores("a column twice", "has the column 'score' twice", "task,model,seed,score,score\nt,A,0,1,2\n"),
    _scores("a row twice", "more than once ('s.csv', line 8", table(ROWS[0])),
    _scores("half a seed", "line 8, column 'seed' holds 0.5", table("t,A,0.5,0.5,test_acc,true")),
    _scores("no seed", "line 8, column 'seed' holds nothing", table("t,A,,0.5,test_acc,true")),
    _scores("a seed beyond 64 bits", "Give a whole number below 2^63", table(f"t,A,{2**70},0.5,test_acc,true")),
    _scores("an endless seed", "Give a whole number below 2^63", table(f"t,A,{BIG},0.5,test_acc,true")),
    _scores("a word as score", "line 8, column 'score' holds 'high'", table("t,A,9,high,test_acc,true")),
    _scores("an infinite score", "line 8, column 'score' holds 'inf'", table("t,A,9,inf,test_acc,true")),
    _scores("an accuracy of 7.5", "line 8, column 'score': test_acc is 7.5", table("t,A,9,7.5,test_acc,true")),
    _scores("a negative error", "line 2, column 'score': test_mae is -1", f"{HEAD}\nt,A,0,-1,test_mae,false\n"),
    _scores("percentages", "Divide percentages by 100", table("t,A,9,81.5,test_acc,true")),
    _scores("no model", "line 8, column 'model' is empty", table("t,,9,0.5,test_acc,true")),
    _scores("no task", "line 8, column 'task' is empty", table(" ,A,9,0.5,test_acc,true")),
    _scores("a NUL", "line 8: a NUL", table("t\x00,A,9,0.5,test_acc,true")),
    _scores("two metrics", "several values of metric", table("t,A,9,0.5,test_auc,true")),
    _scores("perhaps better", "has greater_is_better", f"{HEAD}\nt,A,0,0.5,m,maybe\n"),
    _scores("splits of a word", "has splits='x'", f"{HEAD},splits\nt,A,0,0.5,test_acc,true,x\n"),
    _scores("negative splits", "splits=-1 is negative", f"{HEAD},splits\nt,A,0,0.5,test_acc,true,-1\n"),
    _scores("half a split", "has splits=", f"{HEAD},splits\nt,A,0,0.5,test_acc,true,1.5\n"),
    _scores("an unknown replication", "Unknown replication", f"{HEAD},replication\nt,A,0,0.5,test_acc,true,x\n"),
    Attempt("scores: a folder", ("report", "s.csv"), "is a folder", lambda f: (f / "s.csv").mkdir()),
    Attempt("scores: a pipe", ("report", "s.csv"), "is a pipe", lambda f: os.mkfifo(f / "s.csv")),
    Attempt(
        "scores: an endless device", ("report", "s.csv"), "is a device", lambda f: (f / "s.csv").symlink_to("/dev/zero")
    ),
    Attempt("scores: nothing", ("report", "s.csv"), "There is no 's.csv'"),
    Attempt("scores: a name beyond the system's", ("report", "s" * 300 + ".csv"), "File name too long"),
)
PREDICTIONS = tuple(
    Attempt(f"predictions: {name}", ("report", "s.csv", "--no-figures"), words,
            file("s.csv", f"task,model,seed,example,target,prediction\nt,A,0,1,0,0\n{row}\n"))
    for name, words, row in (
        ("no model", "column 'model' is empty", "t,,0,2,1,1"),
        ("half a seed", "column 'seed' holds 1.5", "t,A,1.5,2,1,1"),
        ("an example twice", "twice", "t,A,0,1,0,1"),
        ("no target", "no target", "t,A,0,2,,1"),
        ("an endless class", "class", "t,A,0,2,1,4000000000"),
    )
)  # fmt: skip
SEPARABILITY = (
    _pairs("empty", "is empty", ""),
    _pairs("bytes", "the byte 0xff is not UTF-8", b"mode,score\n\xff\x00"),
    _pairs("Latin-1", "line 2, column 1", b"mode,score\n\xe9,1\n"),
    _pairs("UTF-16", "is UTF-16", "mode,score\no,1\n".encode("utf-16")),
    _pairs("a word as score", "line 3, column 'score' holds 'x'", "mode,score\no,1\ncg,x\n"),
    _pairs("no column", "lacks the columns", "a,b\n1,2\n"),
    _pairs("a quotation mark left open", "not closed", 'mode,score\n"o,1\n'),
    _pairs("a short row", "line 3: 1 cells", "mode,score\no,1\ncg\n"),
    _pairs("one mode", "1 given", "mode,score\no,1\no,2\n"),
    _pairs("an impossible level", "alpha", "mode,score\no,1\no,2\ncg,1\ncg,3\n", "--alpha", "5"),
    Attempt("separability: a folder", ("rings", "separability", "."), "is a folder"),
    Attempt("separability: a pipe", ("rings", "separability", "p"), "is a pipe", lambda f: os.mkfifo(f / "p")),
    Attempt("separability: nothing", ("rings", "separability", "p"), "No such file"),
)
SETTINGS = (
    _settings("a number of 5,000 digits", "more than 400 digits", f"epochs = {BIG}\n"),
    _settings("a thousand brackets", "nested deeper than", "task = " + "[" * 1000 + "]" * 1000 + "\n"),
    _settings("a hundred brackets", "nested deeper than", "task = " + "[" * 100 + "]" * 100 + "\n"),
    _settings("not UTF-8", "line 2, column 9: the byte 0xff", b'a = "b"\ntask = "\xff"\n'),
    _settings("UTF-16", "is UTF-16", 'task = "cora"'.encode("utf-16")),
    _settings("no TOML", "not valid TOML", "suite = [\n"),
    _settings("a key twice", "not valid TOML", "epochs = 1\nepochs = 2\n"),
    _settings("an unknown key", "Did you mean 'task'", 'tsk = ["cora"]\n'),
    _settings("a truth as seeds", "'seeds' is wrong", 'task = ["sbm_communities"]\nseeds = true\n'),
    _settings("half a seed", "'seeds' is wrong", 'task = ["sbm_communities"]\nseeds = [1.5]\n'),
    _settings("a word as epochs", "'epochs' is wrong", 'task = ["sbm_communities"]\nepochs = "a"\n'),
    _settings("a table as task", "'task' is wrong", "task = [{a = 1}]\n"),
    _settings("a device nobody has", "'quantum'", 'task = ["sbm_communities"]\ndevice = "quantum"\n'),
    _settings("a processor that is not there", "'cuda:77'", 'task = ["sbm_communities"]\ndevice = "cuda:77"\n'),
    _settings("a login that was not kept", "was not kept", 'task = ["cora"]\nmirror = "https://***@host/"\n'),
    Attempt("settings: a folder", ("run", "."), "is a folder"),
    Attempt("settings: nothing", ("run", "c.toml"), "Cannot read the configuration 'c.toml'"),
    Attempt("settings: a device", ("run", "/dev/zero"), "is a device"),
    Attempt("settings: a pipe", ("run", "p"), "is a pipe", lambda f: os.mkfifo(f / "p")),
    Attempt("settings: 2 MB", ("run", "c.toml"), "larger than 1 MB", file("c.toml", "#" * (2 << 20))),
)
RUNS = (
    _run("10^12 seeds", "at most 100,000 seeds", "--seeds", "1000000000000"),
    _run("seeds without end", "'seeds' is wrong", "--seeds", BIG),
    _run("no seed between commas", "seeds is empty", "--seeds", ","),
    _run("no seed", "seeds is empty", "--seeds", "0"),
    _run("a seed twice", "Duplicate seeds", "--seeds", "1,1"),
    _run("a seed of 71 bits", "a seed is at most", "--seeds", f"{2**70},1"),
    _run("a negative seed", "must not be negative", "--seeds=-1,0"),
    _run("epochs without end", "'epochs' is wrong", "--epochs", "9" * 120),
    _run("no epoch", "'epochs' is wrong", "--epochs", "0"),
    _run("epochs in words", "'epochs' is wrong", "--epochs", "many"),
    _run("a rate that is none", "'lr' is wrong", "--lr", "nan"),
    _run("a device nobody has", "'quantum'", "--device", "quantum"),
    _run("too little memory", "use fewer --workers", "--memory", "0.001", "--seeds", "1", "--out", "o"),
    _run("an unknown tracker", "Unknown tracker", "--log", "bogus", "--out", "o"),
    _run("an unknown executor", "Unknown executor", "--backend", "bogus", "--out", "o"),
    _run("an address without a cluster", "is for Ray clusters", "--address", "x", "--out", "o"),
    _run("a folder's name of 300 letters", "File name too long", "--out", "x" * 300),
    Attempt("run: a file as folder", ("run", "--task", "sbm_communities", "--out", "f"), "is a file", file("f", "")),
    Attempt("run: an SQLite file as folder", ("run", "--task", "sbm_communities", "--out", "f"), "is a file", file("f", b"x" * 9)),
    Attempt("run: a folder in a file", ("run", "--task", "sbm_communities", "--quiet", "--seeds", "1", "--out", "f/x"),
            "f/x", file("f", "")),
    Attempt("status: a file", ("status", "f"), "not an SQLite file", file("f", b"no store at all" * 99)),
    Attempt("status: an empty file", ("status", "f"), "holds nothing yet", file("f", b"")),
    Attempt("serve: a file", ("serve", "f", "--port", "0"), "not an SQLite file", file("f", b"no store at all" * 99)),
    Attempt("status: nothing", ("status", "f"), "There is no run"),
    Attempt("resume: nothing", ("resume", "f"), "holds no config.toml"),
)  # fmt: skip
PLANS = tuple(
    Attempt(f"plan: {' '.join(more)}", ("plan", *more), words)
    for words, *more in (
        ("effect=nan", "--effect", "nan", "--sd", "0.1"),
        ("effect=0", "--effect", "0", "--sd", "0.1"),
        ("effect=-1", "--effect=-1", "--sd", "0.1"),
        ("effect=inf", "--effect", "inf", "--sd", "0.1"),
        ("sd=0", "--effect", "0.1", "--sd", "0"),
        ("sd=-1", "--effect", "0.1", "--sd=-1"),
        ("sd=nan", "--effect", "0.1", "--sd", "nan"),
        ("sd=inf", "--effect", "0.1", "--sd", "inf"),
        ("models=1", "--effect", "0.1", "--sd", "0.1", "--models", "1"),
        ("models=1000000000", "--effect", "0.1", "--sd", "0.1", "--models", "1000000000"),
        ("tasks=-3", "--effect", "0.1", "--sd", "0.1", "--tasks=-3"),
        ("power=2", "--effect", "0.1", "--sd", "0.1", "--power", "2"),
        ("alpha=0", "--effect", "0.1", "--sd", "0.1", "--alpha", "0"),
    )
)
GRAPHS = (
    _graph("empty", "is empty", ""),
    _graph("UTF-16", "not a text file", "a,b\n".encode("utf-16")),
    _graph("Latin-1 far down", "cannot be read", b"a,b\n" * 5000 + b"\xe9,b\n"),
    _graph("a quotation mark left open", "not closed", 'a,b\n"b,c\nc,d\n'),
    _graph("one column", "one column", "a\nb\n"),
    _graph("a text as weight", "line 3: the weight 'heavy'", "source,target,weight\n0,1,2\n1,2,heavy\n"),
    _graph("an infinite weight", "line 3: the weight 'inf'", "source,target,weight\n0,1,2\n1,2,inf\n"),
    _graph("a negative node", "negative node id", "0,1\n-3,1\n"),
    _graph("two labels of one node", "node '1' has different labels in line 3 and line 5", "0,1\n1,2\n2,3\n",
           "node,label\n0,a\n1,b\n2,a\n1,c\n3,b\n"),
    _graph("a column of labels twice", "twice", "0,1\n1,2\n", "node,label,label\n0,a,b\n1,a,c\n2,b,b\n"),
    _graph("a header or an edge", "may be a header or the first edge", "ada,bob\n" + "1,2\n" * 60 + "cy,dan\n"),
    _graph("a bomb", "looks like a decompression bomb", _bomb(b"0,1\n", b"1,2\n"), end=".csv.gz"),
    _graph("an npz of nothing", "not a complete file", b"PK\x03\x04", end=".npz"),
    _graph("half an XML", "cannot be read as .graphml", "<graphml>", end=".graphml"),
    Attempt("graph: a folder", ("select", "."), "is a folder"),
    Attempt("graph: a pipe", ("select", "p"), "is a pipe", lambda f: os.mkfifo(f / "p")),
    Attempt("graph: an endless device", ("select", "/dev/zero"), "is a device"),
    Attempt("graph: labels from a device", ("select", "g.csv", "--labels", "/dev/zero"), "is a device", file("g.csv", "0,1\n")),
    Attempt("graph: nothing to collect", ("select", "collect", "--out", "o", "--graph", "g.csv", "--dry-run"), "No such file"),
    Attempt("graph: a bank from a device", ("select", "g.csv", "--bank", "/dev/zero"), "is a device", file("g.csv", "0,1\n")),
    Attempt("graph: a bank of text", ("select", "b.npz", "--bank", "b.npz"), "not a complete file", file("b.npz", "bank")),
)  # fmt: skip


# a finished run that somebody changed: the folder is called "run"


def edit(change: Callable[[dict[str, Any]], object], name: str = "results.json") -> Callable[[Path], None]:
    """Change a JSON file of the run."""

    def prepare(folder: Path) -> None:
        path = folder / "run" / name
        raw = json.loads(path.read_text(encoding="utf-8"))
        change(raw)
        path.write_text(json.dumps(raw), encoding="utf-8")

    return prepare


def inside(name: str, content: str | bytes) -> Callable[[Path], object]:
    """Write one file of the run."""
    return file(f"run/{name}", content)


def _results(name: str, words: str, change: Callable[[dict[str, Any]], object]) -> Attempt:
    return Attempt(f"results.json: {name}", ("report", "run", "--no-figures"), words, edit(change))


def _text(name: str, words: str, content: str | bytes, where: str = "results.json") -> Attempt:
    return Attempt(f"{where}: {name}", ("report", "run", "--no-figures"), words, inside(where, content))


def _twice(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda raw: raw[key].append(raw[key][0])


def _cell(**values: Any) -> Callable[[dict[str, Any]], object]:
    return lambda raw: raw["cells"][0].update(values)


def _score(value: float) -> Callable[[dict[str, Any]], object]:
    return lambda raw: raw["cells"][0]["metrics"].update({raw["tasks"][0]["metric"]: value})


def _with_section(text: str) -> Callable[[Path], object]:
    """Add a section that no JSON writer of ours would write."""

    def prepare(folder: Path) -> None:
        path = folder / "run" / "results.json"
        raw = json.loads(path.read_text(encoding="utf-8")) | {"sections": ["HERE"]}
        path.write_text(json.dumps(raw).replace('"HERE"', text), encoding="utf-8")

    return prepare


RESULTS = (
    _text("empty", "line 1, column 1: this is not JSON", ""),
    _text("cut", "this is not JSON", '{"schema": "graphnetz.rep'),
    _text("not UTF-8", "the byte 0xff is not UTF-8", b'{"a": "\xff"}'),
    _text("UTF-16", "is UTF-16", "{}".encode("utf-16")),
    _text("100,000 brackets", "nested deeper than 60", "[" * 100_000),
    _text("900 brackets", "nested deeper than 60", '{"a":' * 900 + "1" + "}" * 900),
    _text("6,000 digits", "holds a number of 6,000 digits", '{"seeds": [' + "9" * 6000 + "]}"),
    _text("a number too large", "larger than any", '{"bootstrap_n": 1e999}'),
    _text("NaN", "which is not JSON", '{"a": NaN}'),
    _text("a key twice", "holds the key 'schema' twice", '{"schema": 1, "schema": 2}'),
    _text("half a character", "half a character", '{"schema": "\\ud800"}'),
    _text("another schema", "its schema is not", "{}"),
    _results("a version of tomorrow", "schema version 99", lambda raw: raw.update(schema_version=99)),
    _results("10^11 resamples", "bootstrap_n", lambda raw: raw.update(bootstrap_n=10**11)),
    _results("10^9 resamples", "bootstrap_n", lambda raw: raw.update(bootstrap_n=10**9, ci_method="bca")),
    _results("no resample", "bootstrap_n", lambda raw: raw.update(bootstrap_n=0)),
    _results("3,000,000 seeds", "seeds", lambda raw: raw.update(seeds=list(range(3_000_000)))),
    _results("half a seed", "seeds.0", lambda raw: raw.update(seeds=[1.5])),
    _results("no seed", "seeds", lambda raw: raw.update(seeds=[])),
    _results("a cell twice", "holds the cell", _twice("cells")),
    _results("a model twice", "holds the model", _twice("models")),
    _results("a task twice", "holds the task", _twice("tasks")),
    _results("a seed twice", "holds the seed", _twice("seeds")),
    _results("an unknown status", "cells.0.status", _cell(status="fine")),
    _results("a cell of an unknown model", "which its list of models lacks", _cell(model="Ghost")),
    _results("a cell of an unknown task", "which its list of tasks lacks", _cell(task="ghost")),
    _results("a cell of an unknown seed", "which its list of seeds lacks", _cell(seed=77)),
    _results("an accuracy of 7.5", "is 7.5, and", _score(7.5)),
    _results("a negative accuracy", "is -0.1, and", _score(-0.1)),
    _results("a seed of 71 bits", "cells.0.seed", _cell(seed=2**70)),
    _results("epochs below none", "cells.0.epochs", _cell(epochs=-1)),
    _results("baselines that are a number", "config.baselines", lambda raw: raw["config"].update(baselines=5)),
    _results("a stopping rule that is a word", "config.auto", lambda raw: raw["config"].update(auto="x")),
    Attempt("results.json: a section with 5,000 digits", ("report", "run", "--no-figures"), "5,000 digits",
            _with_section(f'{{"kind": "table", "n": {BIG}}}')),
    _results("a task without a name", "tasks.0.name", lambda raw: raw["tasks"][0].update(name="")),
    _text("garbage", "this is not JSON", "{garbage", "provenance.json"),
    _text("5,000 digits", "5,000 digits", f'{{"a": {BIG}}}', "provenance.json"),
    _text("brackets", "nested deeper than", "[" * 100_000, "provenance.json"),
    Attempt("config.toml: emptied", ("resume", "run", "--quiet"), "does not say what was run", inside("config.toml", "")),
    Attempt("config.toml: a comment", ("resume", "run", "--quiet"), "does not say what was run", inside("config.toml", "# x\n")),
    Attempt("config.toml: not TOML", ("resume", "run", "--quiet"), "not valid TOML", inside("config.toml", "a = [")),
    Attempt("published: not UTF-8", ("published", "run"), "the byte 0xff", inside("results.json", b"\xff")),
    Attempt("reproduce: not UTF-8", ("reproduce", "run"), "the byte 0xff", inside("results.json", b"\xff")),
    Attempt("compare: not UTF-8", ("compare", "run", "run"), "the byte 0xff", inside("results.json", b"\xff")),
    Attempt("leaderboard: not JSON", ("leaderboard", "run", "--out", "site"), "this is not JSON", inside("results.json", "{")),
    Attempt("merge: not JSON", ("merge", "run", "--out", "m"), "this is not JSON", inside("results.json", "{")),
    Attempt("plan: not JSON", ("plan", "--effect", "0.1", "run"), "this is not JSON", inside("results.json", "{")),
)  # fmt: skip

ALONE = (*SCORES, *PREDICTIONS, *SEPARABILITY, *SETTINGS, *RUNS, *PLANS, *GRAPHS)
ALL = (*ALONE, *RESULTS)


def make_run(folder: Path) -> Path:
    """Train a small run to change."""
    common = ["--task", "sbm_communities", "--model", "MLP", "--model", "Majority", "--seeds", "3", "--epochs", "2"]
    found = outcome(["run", *common, "--backend", "serial", "--out", "run", "--quiet"], folder)
    if found.code != 0:
        raise RuntimeError(found.said)
    return folder / "run"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        run = make_run(Path(place))
        found = counts(ALONE) + counts(RESULTS, run)
    print("tried {tried}, held {held}, broken {broke}".format(**{"broke": 0, **found}))
    print(json.dumps({"bad files, options and run folders": [found["tried"], found["held"], found["broke"]]}))
    sys.exit(1 if found["broke"] else 0)
