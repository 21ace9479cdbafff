"""Short form of ``make chaos``: the N-th write, sync, rename, open, unlink, truncation and allocation fails.

After every one: a sentence or a complete run, whole files, and byte-identical files after a second run.
"""

import _thread
import errno
import os
import threading
from pathlib import Path

import pytest

from graphnetz._core import paths, threads
from graphnetz._core.errors import StoreError
from graphnetz.analysis.registration import Registered
from graphnetz.cli import app as cli_app
from graphnetz.engine.executors.drive import _beating
from graphnetz.engine.store import Store
from graphnetz.report.sections import _with_file

pytestmark = [pytest.mark.alone, pytest.mark.chaos]


def broken(lines):
    return [(line["fault"], case["n"], case["wrong"]) for line in lines for case in line["broken"]]


def test_every_failing_call_below_a_run_folder_ends_in_a_sentence_and_resumes_to_the_same_bytes(counted):
    kinds = [part for kind in ("sync", "rename", "open", "unlink", "truncate") for part in ("--kind", kind)]
    lines = counted("-m", "faults.inject", *kinds) + counted("-m", "faults.inject", "--kind", "write", "--stride", "3")
    assert broken(lines) == []
    tried = {line["fault"].split()[0]: line["tried"] for line in lines}
    assert tried["sync"] >= 30, tried
    assert tried["write"] >= 30, tried
    assert min(tried.values()) >= 3, tried


def test_failing_allocations_end_in_a_sentence_and_resume_to_the_same_bytes(counted):
    options = ("--long", "--malloc-stride", "211", "--most", "20")
    lines = counted("-m", "faults.inject", "--kind", "sqlmalloc", "--kind", "malloc", *options)
    assert broken(lines) == []
    assert sum(line["tried"] for line in lines) >= 60, lines
    assert all(line["ends"].get("sentence", 0) > 5 for line in lines), "the faults were not felt"


def test_no_failing_allocation_makes_a_thread_be_waited_for_without_end(counted):
    """Two of 1,221 failing allocations hung: `threading.Thread.start` waits for ever for a thread that cannot say hello."""
    lines = counted("-m", "faults.threads")
    assert broken(lines) == []
    assert [line["tried"] > 3 for line in lines] == [True, True]
    assert all(line["ends"].get("sentence", 0) > 3 for line in lines), "the faults were not felt"


@pytest.mark.timeout(60)
def test_a_heartbeat_that_cannot_begin_ends_the_run_with_a_sentence(tmp_path, monkeypatch):
    for module, name in ((threading, "_start_new_thread"), (_thread, "start_new_thread")):
        monkeypatch.setattr(module, name, lambda *_: 0)
    monkeypatch.setattr(threads, "PATIENCE", 1)
    late = pytest.raises(MemoryError, match="did not begin within 1 s")
    with Store.create(tmp_path) as store, late, _beating(store, "me", 60.0):
        pytest.fail("cells are run without a heartbeat")

    def none(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", none)
    with pytest.raises(MemoryError, match="can't start new thread"), threads.Repeated(print, 1.0):
        pass


def test_the_command_ends_in_a_sentence_too(counted):
    kinds = [part for kind in ("write", "open", "sqlmalloc") for part in ("--kind", kind)]
    options = ("--scenario", "command", "--first", "18", "--stride", "19", "--malloc-stride", "3001", "--most", "1")
    lines = counted("-m", "faults.inject", *kinds, *options)
    assert broken(lines) == []
    assert [line["tried"] for line in lines] == [1, 1, 1]


def test_a_renamed_file_is_not_told_written_before_its_folder_is_synced(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)

        def spy(*arguments, real=real, name=name):
            target = str(Path(f"/proc/self/fd/{arguments[0]}").readlink()) if name == "fsync" else str(arguments[1])
            calls.append((name, target))
            return real(*arguments)

        monkeypatch.setattr(os, name, spy)
    paths.write_file(tmp_path / "new" / "file.txt", "text")
    folder = str(tmp_path / "new")
    assert calls[0] == ("fsync", str(tmp_path)), "the folder itself has a name"
    assert calls[2:] == [("replace", f"{folder}/file.txt"), ("fsync", folder)]


def test_a_folder_that_cannot_be_synced_is_told_unless_its_file_system_never_does(tmp_path, monkeypatch):
    paths.write_file(tmp_path / "a.txt", "old")
    real = os.fsync

    def failing(number):
        def fsync(handle):
            if Path(f"/proc/self/fd/{handle}").is_dir():
                raise OSError(number, os.strerror(number))
            real(handle)

        return fsync

    monkeypatch.setattr(os, "fsync", failing(errno.EINVAL))
    paths.write_file(tmp_path / "a.txt", "new")
    monkeypatch.setattr(os, "fsync", failing(errno.EIO))
    with pytest.raises(StoreError, match="is written, but may be lost with the power"):
        paths.write_file(tmp_path / "a.txt", "newer")
    with pytest.raises(StoreError, match="Cannot sync the folder"):
        Store.create(tmp_path)
    with pytest.raises(StoreError, match="Cannot write"):
        paths.write_file(tmp_path / "b" / "a.txt", "text")


def test_a_failing_removal_does_not_hide_the_error_that_it_follows(tmp_path, monkeypatch):
    def no(*_, **__):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "replace", no)
    monkeypatch.setattr("pathlib.Path.unlink", no)
    with pytest.raises(StoreError, match="Nothing was changed"):
        paths.write_file(tmp_path / "a.txt", "text")


def test_a_store_that_was_removed_is_not_called_read_only(tmp_path):
    with Store.create(tmp_path / "run") as store:
        for path in (tmp_path / "run").iterdir():
            path.unlink()
        with pytest.raises(StoreError, match="removed or moved while it was in use"):
            store.write_meta({"a": 1})


def test_a_program_that_changes_its_folder_does_not_lose_its_store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Store.create("run") as store:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        store.write_meta({"a": 1})
        assert store.read_meta() == {"a": 1}


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("can't allocate read lock"),
        RuntimeError("can't start new thread"),
        ValueError("[digital envelope routines] not able to copy ctx"),
    ],
)
def test_a_full_memory_is_one_sentence_at_the_command(monkeypatch, capsys, error):
    def full(**_):
        raise error

    monkeypatch.setattr(cli_app, "load_commands", lambda: None)
    monkeypatch.setattr(cli_app, "app", full)
    cli_app.remember_folder("my run")
    try:
        assert cli_app.run_app(["list"]) == 2
    finally:
        cli_app._current_folder.clear()
    said = capsys.readouterr().err
    assert said.startswith("There is not enough memory")
    assert "graphnetz resume 'my run'" in said


def test_a_plan_that_cannot_be_read_is_not_called_changed(tmp_path, monkeypatch):
    path = tmp_path / "plan.json"
    path.write_text("another text", encoding="utf-8")
    assert _with_file(Registered({}, "x"), path).changed

    def no(*_, **__):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("pathlib.Path.read_text", no)
    with pytest.raises(StoreError, match="Too many open files"):
        _with_file(Registered({}, "x"), path)


def test_a_digest_that_openssl_has_no_memory_for_is_a_want_of_memory(monkeypatch):
    """Nine failing allocations of 1,221 ended in OpenSSL's ValueError, which says nothing of memory."""
    from graphnetz.records import digests

    class Short:
        def update(self, _):
            raise ValueError("[digital envelope routines] not able to copy ctx")

    monkeypatch.setattr(digests.hashlib, "sha256", Short)
    with pytest.raises(MemoryError, match="not able to copy ctx"):
        digests.digest_of({"a": 1})


def test_a_file_that_no_lock_could_be_made_for_is_a_want_of_memory(monkeypatch, tmp_path):
    """A failing allocation in Python's own files is a RuntimeError, which says nothing of memory either."""

    def short(handle, *_, **__):
        os.close(handle)
        raise RuntimeError("can't allocate read lock")

    monkeypatch.setattr(os, "fdopen", short)
    with pytest.raises(MemoryError, match="can't allocate read lock"):
        paths.write_file(tmp_path / "a.txt", "text")
    assert list(tmp_path.iterdir()) == []


def test_every_digest_of_a_run_that_openssl_has_no_memory_for_is_a_want_of_memory(monkeypatch):
    from graphnetz.engine.store import rows
    from graphnetz.records import Protocol, digests

    def short(*_):
        raise ValueError("[digital envelope routines] not able to copy ctx")

    monkeypatch.setattr(digests.hashlib, "sha256", short)
    monkeypatch.setattr("hashlib.sha256", short)
    with pytest.raises(MemoryError, match="not able to copy ctx"):
        rows.protocol_row(Protocol())
