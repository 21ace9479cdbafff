"""Downloads against a server that truncates, stalls, lies and redirects."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import itertools
import json
import multiprocessing
import os
import zipfile

import pytest

from graphnetz._core import download, http
from graphnetz._core.download import copying_into, fetch, mirror_has
from graphnetz._core.errors import DownloadError, UsageError

BODY = os.urandom(300_000)
DIGEST = hashlib.sha256(BODY).hexdigest()
QUICK = {"timeout": 0.6, "backoff": 0.01}


def zip_bytes(**members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "."), text)
    return buffer.getvalue()


def visible(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith((".lock", ".part", ".part.json")))


def test_plain_download_is_recorded_and_not_repeated(site, tmp_path):
    url = site.add("a.bin", BODY)
    target = fetch(url, tmp_path / "raw" / "a.bin")
    assert target.read_bytes() == BODY
    assert json.loads((tmp_path / "raw" / "checksums.json").read_text()) == {"a.bin": DIGEST}
    fetch(url, target)
    assert site.hits["a.bin"] == 1


def test_progress_reports_bytes_and_total(site, tmp_path):
    seen = []
    fetch(site.add("a.bin", BODY), tmp_path / "a.bin", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(BODY), len(BODY))
    assert all(a[0] < b[0] for a, b in itertools.pairwise(seen))


def test_truncated_transfer_is_resumed(site, tmp_path):
    url = site.add("a.bin", BODY, "truncate")
    fetch(url, tmp_path / "a.bin", **QUICK)
    assert (tmp_path / "a.bin").read_bytes() == BODY
    assert site.ranges == [f"bytes={len(BODY) // 2}-"]


def test_resume_in_a_later_call_after_all_retries_failed(site, tmp_path):
    url = site.add("a.bin", BODY, "truncate")
    with pytest.raises(DownloadError, match="broke off"):
        fetch(url, tmp_path / "a.bin", retries=1, **QUICK)
    assert not (tmp_path / "a.bin").exists()
    fetch(url, tmp_path / "a.bin", **QUICK)
    assert (tmp_path / "a.bin").read_bytes() == BODY
    assert len(site.ranges) == 1


def test_a_changed_file_is_not_glued_to_an_old_half(site, tmp_path):
    url = site.add("a.bin", b"o" * 100_000, "truncate")
    with pytest.raises(DownloadError):
        fetch(url, tmp_path / "a.bin", retries=1, **QUICK)
    site.add("a.bin", b"n" * 120_000)
    fetch(url, tmp_path / "a.bin", **QUICK)
    assert (tmp_path / "a.bin").read_bytes() == b"n" * 120_000


def test_without_validator_nothing_is_resumed(site, tmp_path):
    site.etags = False
    fetch(site.add("a.bin", BODY, "truncate"), tmp_path / "a.bin", **QUICK)
    assert (tmp_path / "a.bin").read_bytes() == BODY
    assert site.ranges == []


def test_wrong_range_is_refused(site, tmp_path):
    url = site.add("a.bin", BODY, "truncate", "wrong_range")
    with pytest.raises(DownloadError, match="another part"):
        fetch(url, tmp_path / "a.bin", **QUICK)
    assert visible(tmp_path) == []


@pytest.mark.parametrize("fault", ["stall", "drip"])
def test_stall_times_out_and_is_retried(site, tmp_path, fault):
    fetch(site.add("a.bin", BODY, fault), tmp_path / "a.bin", **QUICK)
    assert (tmp_path / "a.bin").read_bytes() == BODY
    assert site.hits["a.bin"] == 2


def test_busy_server_is_asked_again_and_a_gone_file_is_not(site, tmp_path):
    fetch(site.add("a.bin", BODY, "busy", "busy"), tmp_path / "a.bin", **QUICK)
    assert site.hits["a.bin"] == 3
    with pytest.raises(DownloadError, match="410"):
        fetch(site.add("b.bin", BODY, "gone"), tmp_path / "b.bin", **QUICK)
    assert site.hits["b.bin"] == 1


@pytest.mark.parametrize("fault", ["html", "hidden_html"])
def test_web_page_instead_of_zip_is_noticed(site, tmp_path, fault):
    url = site.add("a.zip", zip_bytes(a__txt="x"), fault)
    with pytest.raises(DownloadError, match="web page"):
        fetch(url, tmp_path / "a.zip", **QUICK)
    assert visible(tmp_path) == []


def test_too_short_length_leaves_no_zip(site, tmp_path):
    body = zip_bytes(a__txt="x" * 5000)
    with pytest.raises(DownloadError, match="not a complete zip"):
        fetch(site.add("a.zip", body, "short_length"), tmp_path / "a.zip", **QUICK)
    packed = gzip.compress(os.urandom(5000))
    with pytest.raises(DownloadError, match="not a complete gzip"):
        fetch(site.add("a.csv.gz", packed, "short_length"), tmp_path / "a.csv.gz", **QUICK)
    assert visible(tmp_path) == []


def test_empty_file_is_refused(site, tmp_path):
    with pytest.raises(DownloadError, match="empty"):
        fetch(site.add("a.txt", b""), tmp_path / "a.txt", **QUICK)


def test_pinned_checksum_is_enforced(site, tmp_path):
    url = site.add("a.bin", BODY + b"!")
    with pytest.raises(DownloadError, match=f"expected {DIGEST}"):
        fetch(url, tmp_path / "a.bin", sha256=DIGEST, **QUICK)
    assert visible(tmp_path) == []
    good = site.add("good.bin", BODY)
    assert fetch([url, good], tmp_path / "a.bin", sha256=DIGEST.upper(), **QUICK).read_bytes() == BODY


def test_recorded_checksum_is_checked_ever_after(site, tmp_path):
    url = site.add("a.bin", BODY)
    target = fetch(url, tmp_path / "a.bin")
    target.write_bytes(BODY[:-1] + bytes([BODY[-1] ^ 1]))
    assert fetch(url, target).read_bytes() == BODY  # the flipped bit is noticed, the file comes again
    target.unlink()
    site.add("a.bin", b"something else")
    with pytest.raises(DownloadError, match="sha256"):
        fetch(url, target, **QUICK)
    assert not target.exists()


def test_broken_record_is_named(site, tmp_path):
    (tmp_path / "checksums.json").write_text("{")
    with pytest.raises(DownloadError, match="not a readable list of checksums"):
        fetch(site.add("a.bin", BODY), tmp_path / "a.bin")


def test_redirects_are_followed_but_not_in_circles_and_not_to_plain_http(site, tmp_path):
    site.redirects["old"] = site.add("new.bin", BODY)
    assert fetch(f"{site.url}/old", tmp_path / "a.bin", **QUICK).read_bytes() == BODY
    site.redirects["round"] = f"{site.url}/round"
    with pytest.raises(DownloadError, match="circles"):
        fetch(f"{site.url}/round", tmp_path / "b.bin", **QUICK)
    site.redirects["out"] = "http://example.org/a.bin"
    with pytest.raises(DownloadError, match="not protected"):
        fetch(f"{site.url}/out", tmp_path / "c.bin", **QUICK)


@pytest.mark.parametrize("url", ["http://example.org/a.bin", "ftp://example.org/a", "file:///etc/passwd"])
def test_unprotected_addresses_are_refused(tmp_path, url):
    with pytest.raises(DownloadError, match="not protected"):
        fetch(url, tmp_path / "a.bin", **QUICK)


def test_certificates_are_verified(tmp_path):
    assert http._session("https://example.org/", pinned=False).verify is True


def test_all_places_down_gives_one_error_that_names_them(site, tmp_path):
    with pytest.raises(DownloadError) as caught:
        fetch([f"{site.url}/x", "https://data.invalid/x"], tmp_path / "x", mirror=f"{site.url}/m", retries=1, **QUICK)
    text = str(caught.value)
    assert f"{site.url}/m/x" in text
    assert "data.invalid" in text
    assert "GRAPHNETZ_MIRROR" in text
    assert visible(tmp_path) == []


def test_mirror_folder_comes_first(site, tmp_path, monkeypatch):
    mirror = tmp_path / "mirror" / "Sub" / "raw"
    mirror.mkdir(parents=True)
    (mirror / "a.bin").write_bytes(BODY)
    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(tmp_path / "mirror"))
    names = ("elsewhere/a.bin", "Sub/raw/a.bin")
    got = fetch(site.add("a.bin", b"net"), tmp_path / "out" / "a.bin", names=names)
    assert got.read_bytes() == BODY
    assert site.hits == {}
    assert mirror_has("Sub/raw/a.bin")
    assert not mirror_has("a.bin")


def test_explicit_mirror_wins_and_may_be_an_address(site, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(tmp_path / "none"))
    site.add("copy/x y.bin", BODY)
    got = fetch("https://data.invalid/x", tmp_path / "x", mirror=f"{site.url}/copy", names=("x y.bin",), **QUICK)
    assert got.read_bytes() == BODY
    assert mirror_has("x y.bin", mirror=f"{site.url}/copy")


def test_wrong_file_in_a_mirror_falls_through_to_the_network(site, tmp_path):
    (tmp_path / "a.bin").write_bytes(b"stale")
    got = fetch(site.add("a.bin", BODY), tmp_path / "out" / "a.bin", sha256=DIGEST, mirror=tmp_path)
    assert got.read_bytes() == BODY


def test_mirror_names_cannot_leave_the_mirror(tmp_path):
    with pytest.raises(UsageError, match="leaves its folder"):
        fetch("https://data.invalid/x", tmp_path / "o" / "x", mirror=tmp_path, names=("../x",))


def test_offline_mode_never_asks_the_network(site, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHNETZ_OFFLINE", "1")
    with pytest.raises(DownloadError, match="offline"):
        fetch(site.add("a.bin", BODY), tmp_path / "a.bin")
    assert site.hits == {}


def test_copying_into_builds_a_mirror_that_works(site, tmp_path):
    url = site.add("a.bin", BODY)
    with copying_into(tmp_path / "m"):
        fetch(url, tmp_path / "one" / "a.bin", names=("Family/raw/a.bin",))
    del site.files["a.bin"]
    got = fetch(url, tmp_path / "two" / "a.bin", names=("Family/raw/a.bin",), mirror=tmp_path / "m", **QUICK)
    assert got.read_bytes() == BODY
    assert json.loads((tmp_path / "m" / "Family" / "raw" / "checksums.json").read_text()) == {"a.bin": DIGEST}


def test_full_disk_is_said_clearly(site, tmp_path, monkeypatch):
    url = site.add("a.bin", BODY)

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(http.os, "fsync", full)
    with pytest.raises(DownloadError, match="disk is full"):
        fetch(url, tmp_path / "a.bin")
    assert [p.name for p in tmp_path.iterdir() if not p.name.endswith(".lock")] == []


def test_size_beyond_the_disk_is_refused_before_writing(site, tmp_path, monkeypatch):
    monkeypatch.setattr(http, "MAX_BYTES", 1000)
    with pytest.raises(DownloadError, match="needs"):
        fetch(site.add("a.bin", BODY), tmp_path / "a.bin")


def _fetch_in_child(url, target, barrier):
    barrier.wait(10)
    download.fetch(url, target)


def test_two_processes_fetch_once(site, tmp_path):
    url = site.add("a.bin", os.urandom(3_000_000))
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(2)
    children = [context.Process(target=_fetch_in_child, args=(url, tmp_path / "a.bin", barrier)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(30)
    assert [child.exitcode for child in children] == [0, 0]
    assert site.hits["a.bin"] == 1
