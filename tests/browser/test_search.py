"""The documentation finds words in a folder that was opened from disk, and asks nobody outside."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
HOOK = Path(__file__).resolve().parents[2] / "scripts" / "offline_search.py"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Two pages, built with the plugins and the hook of the documentation."""
    pytest.importorskip("material")
    folder = tmp_path_factory.mktemp("site")
    (folder / "docs" / "deep").mkdir(parents=True)
    (folder / "docs" / "index.md").write_text("# Start\n\nNothing here.\n")
    (folder / "docs" / "deep" / "page.md").write_text("# Ranks\n\nThe critical difference of Nemenyi.\n")
    (folder / "mkdocs.yml").write_text(
        f"site_name: small\ntheme: {{name: material, font: false}}\nplugins: [search, offline]\nhooks: ['{HOOK}']\n"
    )
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", folder / "mkdocs.yml"], check=True
    )
    return folder / "site"


@pytest.mark.parametrize("start", ["index.html", "deep/page.html"])
def test_search_works_from_disk_and_asks_nobody(look, site, start):
    page = look(site / start)
    page.locator(".md-search__input").click()
    page.locator(".md-search__input").type("nemenyi")
    page.locator(".md-search-result__meta", has_text="1 matching document").wait_for()
    assert "Ranks" in page.locator(".md-search-result__list").inner_text()
    assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []
    assert not [line for line in page.logged if "Error" in line]
