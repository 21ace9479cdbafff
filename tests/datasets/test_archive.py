"""Archives of strangers: escapes, links, bombs and broken files."""

from __future__ import annotations

import errno
import io
import os
import stat
import tarfile
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphnetz._core import archive as archive_module
from graphnetz._core.archive import safe_parts, unpack
from graphnetz._core.errors import DataError


def make_zip(path, members, *, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def make_tar(path, entries):
    with tarfile.open(path, "w:gz") as archive:
        for info, content in entries:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def left(folder):
    return sorted(p.name for p in folder.iterdir() if not p.name.endswith(".lock"))


def test_zip_and_tar_unpack(tmp_path):
    make_zip(tmp_path / "a.zip", [("d/", b""), ("d/x.txt", b"one"), ("y.txt", b"two")])
    out = unpack(tmp_path / "a.zip", tmp_path / "out")
    assert (out / "d" / "x.txt").read_bytes() == b"one"
    info = tarfile.TarInfo("d/z.txt")
    make_tar(tmp_path / "b.tar.gz", [(info, b"three")])
    assert (unpack(tmp_path / "b.tar.gz", tmp_path / "out2") / "d" / "z.txt").read_bytes() == b"three"


def test_existing_folder_is_kept(tmp_path):
    (tmp_path / "out").mkdir()
    assert left(unpack(make_zip(tmp_path / "a.zip", [("x", b"1")]), tmp_path / "out")) == []


@pytest.mark.parametrize(
    "name", ["../evil", "a/../../evil", "/etc/evil", "C:/evil", "..\\evil", "C:evil", "\\\\host\\evil", "a\\..\\..\\b"]
)
def test_names_that_leave_the_folder_are_refused(tmp_path, name):
    with pytest.raises(DataError, match="outside its folder"):
        unpack(make_zip(tmp_path / "a.zip", [("ok.txt", b"1"), (name, b"2")]), tmp_path / "in" / "out")
    with pytest.raises(DataError, match="outside its folder"):
        unpack(make_tar(tmp_path / "a.tgz", [(tarfile.TarInfo(name), b"2")]), tmp_path / "in" / "out")
    assert left(tmp_path / "in") == []
    assert left(tmp_path) == ["a.tgz", "a.zip", "in"]


@given(st.text(min_size=1, max_size=30))
def test_accepted_names_stay_inside(name):
    try:
        parts = safe_parts(name, archive_module.Path("a.zip"))
    except DataError:
        return
    base = archive_module.Path("/base")
    assert base in [
        archive_module.Path(os.path.normpath(base.joinpath(*parts.parts))),
        *archive_module.Path(os.path.normpath(base.joinpath(*parts.parts))).parents,
    ]


def test_links_and_devices_are_refused(tmp_path):
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(DataError, match="link or device"):
        unpack(make_zip(tmp_path / "a.zip", [(link, b"/etc/passwd")]), tmp_path / "out")
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
        info = tarfile.TarInfo("link")
        info.type, info.linkname = kind, "/etc/passwd"
        with pytest.raises(DataError, match="link or device"):
            unpack(make_tar(tmp_path / f"{kind[0]}.tgz", [(info, b"")]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_bombs_are_refused_while_unpacking(tmp_path, monkeypatch):
    monkeypatch.setattr(archive_module, "RATIO_FLOOR", 1 << 20)
    bomb = make_zip(tmp_path / "a.zip", [("zeros", bytes(8 << 20))])
    with pytest.raises(DataError, match="bomb"):
        unpack(bomb, tmp_path / "out")
    with pytest.raises(DataError, match="more than 3 files"):
        unpack(make_zip(tmp_path / "b.zip", [(str(i), b"") for i in range(4)]), tmp_path / "out", max_files=3)
    with pytest.raises(DataError, match="bomb"):
        unpack(make_zip(tmp_path / "c.zip", [("a", os.urandom(4000))]), tmp_path / "out", max_bytes=1000)
    assert left(tmp_path) == ["a.zip", "b.zip", "c.zip"]


def test_broken_archives_leave_nothing(tmp_path):
    good = make_zip(tmp_path / "a.zip", [("x", os.urandom(5000))], method=zipfile.ZIP_STORED).read_bytes()
    flipped = bytearray(good)
    flipped[600] ^= 1
    (tmp_path / "flip.zip").write_bytes(flipped)
    with pytest.raises(DataError, match="broken"):
        unpack(tmp_path / "flip.zip", tmp_path / "out")
    (tmp_path / "text.zip").write_text("not an archive")
    with pytest.raises(DataError, match="neither"):
        unpack(tmp_path / "text.zip", tmp_path / "out")
    packed = make_tar(tmp_path / "a.tgz", [(tarfile.TarInfo("x"), os.urandom(50_000))]).read_bytes()
    (tmp_path / "cut.tgz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError, match=r"broken|neither"):
        unpack(tmp_path / "cut.tgz", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_two_members_of_one_name_are_refused(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate"):
        path = make_zip(tmp_path / "a.zip", [("x", b"1"), ("x", b"2")])
    with pytest.raises(DataError, match="two members"):
        unpack(path, tmp_path / "out")


def test_full_disk_while_unpacking(tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(archive_module._Budget, "add", full)
    with pytest.raises(DataError, match="disk is full"):
        unpack(make_zip(tmp_path / "a.zip", [("x", b"1")]), tmp_path / "out")
    assert left(tmp_path) == ["a.zip"]
