"""Published records as banks: fetched through a mirror, mapped to our configurations, licence said."""

import functools
import io
import tarfile
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from graphnetz._core.errors import GraphnetzError
from graphnetz.cli.app import run_app
from graphnetz.papers.glemos.banks import glemos_configuration, metagl_configuration
from graphnetz.papers.glemos.readers import read_glemos, read_metagl
from graphnetz.selection import configuration_space
from graphnetz.selection.published import BANKS


@pytest.fixture
def served(tmp_path):
    """A folder and the address under which a local server shows it."""
    folder = tmp_path / "www"
    folder.mkdir()
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(folder))
    handler.log_message = lambda *_: None
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_every_model_of_glemos_that_has_a_name_is_one_of_ours(shared_data):
    known = set(configuration_space())
    for task, wanted in (("link-pred", 286), ("node-class", 327)):
        made = read_glemos(
            shared_data / "GLEMOS" / "testbeds.tar.xz", shared_data / "GLEMOS" / "metafeats.npz", task=task
        )
        found = [glemos_configuration(name) for name in made.models]
        assert sum(item is not None for item in found) == wanted  # all but the 20 columns of EGC without a name
        assert {item for item in found if item is not None} <= known


def test_few_models_of_metagl_can_be_built_here(shared_data):
    made = read_metagl(shared_data / "MetaGL" / "MetaGL_data.npz")
    found = {metagl_configuration(name) for name in made.models} - {None}
    assert {item.method for item in found} == {"GCN", "GraphSAGE", "GraRep", "Node2Vec", "SpectralEmbedding"}
    assert found <= set(configuration_space())
    assert metagl_configuration("name=deepGL-alpha=0.1-epsilon_tol=0.01") is None


def test_records_come_from_a_served_mirror_and_the_licence_is_said(shared_data, served, tmp_path, monkeypatch, capsys):
    folder, address = served
    for name in ("GLEMOS", "MetaGL"):
        (folder / name).symlink_to(shared_data / name)
    monkeypatch.setenv("GRAPHNETZ_MIRROR", address)
    root = tmp_path / "data"
    for bank, words in (("glemos", "CC BY-NC"), ("metagl", "licence MIT")):
        options = ["--bank", bank, "--selector", "gb_perf", "--root", str(root)]
        assert run_app(["select", "karate_club", *options]) == 0
        shown = capsys.readouterr().out
        assert words in shown
        assert "average precision" in shown
    assert (root / "banks" / "glemos" / "testbeds.tar.xz").is_file()
    monkeypatch.setenv("GRAPHNETZ_MIRROR", "")
    monkeypatch.setenv("GRAPHNETZ_OFFLINE", "1")
    assert len(BANKS["metagl"](str(root)).matrix("link_pred").graphs) == 301  # what was fetched is there
    with pytest.raises(GraphnetzError):
        BANKS["glemos"](str(tmp_path / "empty"))


def test_the_published_archive_says_the_same(shared_data, served, tmp_path, monkeypatch):
    """Upstream has one file per graph: the same rows as the joined file."""
    folder, address = served
    with (
        tarfile.open(shared_data / "GLEMOS" / "testbeds.tar.xz") as source,
        np.load(shared_data / "GLEMOS" / "metafeats.npz", allow_pickle=False) as held,
    ):
        (folder / "GLEMOS").mkdir()
        with tarfile.open(folder / "GLEMOS" / "glemos.tar.gz", "w:gz", compresslevel=1) as target:
            for member in source:
                if member.isfile():
                    tail = member.name.partition("testbeds/")[2] or member.name
                    _put(target, f"glemos-1/data/testbeds/{tail}", source.extractfile(member).read())
            for name, row in zip(held["graphs"], held["m_regular"], strict=True):
                buffer = io.BytesIO()
                np.save(buffer, row)
                _put(target, f"glemos-1/data/metafeats/{name}/m_regular.npy", buffer.getvalue())
    monkeypatch.setenv("GRAPHNETZ_MIRROR", address)
    archive = BANKS["glemos"](str(tmp_path / "a"))
    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(shared_data))
    files = BANKS["glemos"](str(tmp_path / "b"))
    for task in ("link_pred", "node_cls"):
        one, two = archive.matrix(task), files.matrix(task)
        assert one.configurations == two.configurations
        np.testing.assert_array_equal(one.P, two.P)
        np.testing.assert_array_equal(one.M, two.M)


def test_an_unknown_bank_is_named(capsys):
    assert run_app(["select", "karate_club", "--bank", "glemoss"]) == 2
    assert "Did you mean 'glemos'" in capsys.readouterr().err


def _put(archive, name, content):
    info = tarfile.TarInfo(name)
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))


def test_glemos_is_replicated_cell_by_cell(shared_data, tmp_path, monkeypatch):
    """Averages come within .01 of the published means although a tenth is hidden; the certificate says that it is."""
    from graphnetz.papers.glemos import replication
    from graphnetz.papers.replicate import replicate

    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(shared_data))
    monkeypatch.setattr(replication, "_QUICK", ("random", "gb_perf", "gb_rank"))
    made = replicate("glemos", table="5", out=tmp_path / "out", root=str(tmp_path / "data"))
    assert len(made.cells) + len(made.left) == 60
    held = {(cell.task, cell.model, cell.metric): cell for cell in made.cells}
    for task in ("link_pred", "node_cls"):
        for model in ("gb_perf", "gb_rank"):
            cell = held[f"{task}, fully observed", model, "auc"]
            assert abs(cell.ours - cell.published) < 0.01
            assert (cell.agreement, cell.why_not) == ("not comparable", replication.MASKED)
            assert cell.low < cell.ours - cell.published < cell.high
    assert {item.outcome for item in made.claims if item.claim.worse == "random"} == {"shown"}
    assert (tmp_path / "out" / "certificate.html").is_file()
