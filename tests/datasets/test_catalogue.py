"""Every loader of the catalogue, from its published raw layout to one epoch of training."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import torch
from catalogue import NAMES, TABLE_4, how, page
from published_collections import CASES
from training_step import train_one_epoch

from graphnetz._core import http
from graphnetz._core.errors import DataError, DownloadError
from graphnetz.datasets.cards import BENCHMARK_TASKS, CARDS, LOADER_REGISTRY
from graphnetz.datasets.sources.doctor import check_datasets, measure
from graphnetz.datasets.sources.mirror import make_mirror
from graphnetz.papers.graphnetz.suite import mnist_superpixels_1500


@pytest.fixture
def internet(site, monkeypatch):
    """Serve published files under their true addresses, from this machine."""
    original = http.download

    def local(url, part, *, pinned, transfer):
        place = urlsplit(url)
        if place.hostname == "127.0.0.1":
            return original(url, part, pinned=pinned, transfer=transfer)
        assert place.scheme == "https", f"{url} is not protected"
        return original(f"{site.url}/{place.hostname}{place.path}", part, pinned=pinned, transfer=transfer)

    monkeypatch.setattr(http, "download", local)

    def publish(files):
        for url, content in files.items():
            place = urlsplit(url)
            site.add(f"{place.hostname}{place.path}", content)
        return site

    return publish


def pin(files, tmp_path, monkeypatch):
    pins = {url.rpartition("/")[2]: hashlib.sha256(body).hexdigest() for url, body in files.items()}
    (tmp_path / "pins.json").write_text(json.dumps(pins))
    monkeypatch.setenv("GRAPHNETZ_PINS", str(tmp_path / "pins.json"))


def test_table_4_is_complete_and_every_kind_is_registered():
    assert len(NAMES) == 63
    assert {c: len({n for names in kinds.values() for n in names}) for c, kinds in TABLE_4.items()} == {
        "combinatorial": 6,
        "biology": 12,
        "social": 16,
        "knowledge": 3,
        "infrastructure": 6,
        "finance": 5,
        "computing": 4,
        "vision": 5,
        "physics": 3,
        "security": 3,
    }
    for category, kinds in TABLE_4.items():
        for kind, names in kinds.items():
            registered = {name for name, _ in LOADER_REGISTRY[category][kind]}
            assert set(names) <= registered, (category, kind)


def test_curated_tasks_have_the_published_epochs():
    budgets = {t.name: t.epochs for kinds in BENCHMARK_TASKS.values() for tasks in kinds.values() for t in tasks}
    published = {
        "mutag": 40,
        "proteins": 20,
        "celegans": 80,
        "cora": 100,
        "citeseer": 100,
        "pubmed": 100,
        "roman_empire": 80,
        "minesweeper": 80,
        "cora_link_pred": 80,
        "citeseer_link_pred": 80,
        "fb15k_237": 20,
        "wordnet18rr": 20,
        "power_grid": 80,
        "euroroad": 80,
        "product_space": 80,
        "board_directors": 40,
        "internet_as": 40,
        "topology": 10,
        "mnist_superpixels": 4,
        "zinc": 10,
        "ising_lattice": 60,
        "terrorists_911": 120,
    }
    assert {name: budgets.get(name) for name in published} == published


def test_every_loader_is_exercised_somehow():
    assert {name: how(name) for name in CARDS if how(name) == "none"} == {}


@pytest.mark.parametrize("name", sorted(CASES))
def test_download_verify_process_split_and_train(name, internet, tmp_path, monkeypatch):
    files, expected = CASES[name]()
    site = internet(files)
    card = CARDS[name]
    dataset = card.loader(tmp_path / "root")
    found = measure(dataset)
    assert {key: found[key] for key in expected} == expected
    assert sum(site.hits.values()) == len(files)
    assert list((tmp_path / "root").rglob("checksums.json"))
    for kind in card.serves:
        assert train_one_epoch(dataset, kind).n_train > 0
    again = card.loader(tmp_path / "root")
    assert sum(site.hits.values()) == len(files)
    assert again.fingerprint == dataset.fingerprint
    assert measure(again) == found


def test_the_paper_trains_on_the_first_images(internet, tmp_path):
    internet(CASES["mnist_superpixels"]()[0])
    whole = CARDS["mnist_superpixels"].loader(tmp_path)
    assert len(mnist_superpixels_1500(tmp_path)) == len(whole) < 1500
    part = mnist_superpixels_1500(tmp_path, images=len(whole) - 2)
    assert len(part) == len(whole) - 2
    assert all(torch.equal(a.x, whole[i].x) for i, a in enumerate(part))
    for split in part.splits:  # drawn at random from these images, not the canonical parts of the whole set
        assert sorted(torch.cat([torch.as_tensor(rows) for rows in split.values()]).tolist()) == list(range(len(part)))
        assert len(split["test"]) == len(part) - int(0.8 * len(part))
    assert train_one_epoch(part, "graph_cls").n_train > 0


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_web_page_or_nothing_is_one_clear_error(name, internet, tmp_path, monkeypatch):
    files, _ = CASES[name]()
    site = internet(files)
    for faults in site.faults.values():
        faults.append("html")
    with pytest.raises(DownloadError, match="web page"):
        CARDS[name].loader(tmp_path / "root")
    left = [p for p in (tmp_path / "root").rglob("*") if p.is_file() and p.suffix != ".lock"]
    assert left == []


@pytest.mark.parametrize("name", sorted(CASES))
def test_files_of_another_dataset_are_refused(name, internet, tmp_path, monkeypatch):
    """Right names, wrong content: an error of ours, and no processed file."""
    files, _ = CASES[name]()
    junk = {url: _junk(url) for url in files}
    internet(junk)
    with pytest.raises((DataError, DownloadError)):
        CARDS[name].loader(tmp_path / "root")
    assert not list((tmp_path / "root").rglob("*.gnz"))


def _junk(url):
    from published_files import packed

    if url.endswith((".zip", ".npz")):
        return packed({"something/else.txt": "1"})
    return b"not what you think" if not url.endswith(".gz") else b"\x1f\x8b broken"


def test_mirror_made_from_the_net_works_without_it(internet, tmp_path, monkeypatch):
    names = ["us_roads", "roman_empire", "ogbg_molbace", "reddit_binary", "peptides_func", "malnet_tiny", "random_tsp"]
    for name in names[:-1]:
        site = internet(CASES[name]()[0])
    made = make_mirror(names, tmp_path / "mirror")
    assert [m.error for m in made] == [""] * len(names)
    assert made[-1].files == ()
    site.files.clear()
    monkeypatch.setenv("GRAPHNETZ_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setenv("GRAPHNETZ_OFFLINE", "1")
    for name in names[:-1]:
        assert measure(CARDS[name].loader(tmp_path / "again" / name))["graphs"] == CASES[name]()[1]["graphs"]


def test_mirror_names_what_it_could_not_get(internet, tmp_path):
    internet({})
    (made,) = make_mirror(["us_roads"], tmp_path / "m")
    assert "Could not fetch" in made.error
    assert made.files == ()


def test_doctor_compares_with_the_card(internet, tmp_path, monkeypatch):
    internet({**CASES["us_roads"]()[0], **CASES["roman_empire"]()[0]})
    checks = {c.name: c for c in check_datasets(["us_roads", "roman_empire", "topology", "zinc"], root=tmp_path)}
    assert checks["us_roads"].status == "ok"
    assert checks["roman_empire"].status == "differs"
    assert "nodes: card 22662, found 40" in checks["roman_empire"].differences
    assert checks["topology"].status == "unavailable"
    assert checks["zinc"].status == "unavailable"


def test_the_catalogue_page_is_current():
    written = Path(__file__).resolve().parents[2] / "docs" / "catalogue.md"
    assert written.read_text(encoding="utf-8") == page(), "run: python tests/datasets/catalogue.py"
