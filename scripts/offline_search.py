"""The search of the documentation without network: the theme asks a server of others for what a page on disk needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

THEIRS = "https://unpkg.com/iframe-worker/shim"
OURS = "assets/javascripts/offline_worker.js"
SCRIPT = Path(__file__).with_name("offline_worker.js")


def on_files(files: Any, config: Any) -> Any:
    """Add the script to the site (a hook of mkdocs)."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, OURS, content=SCRIPT.read_text(encoding="utf-8")))
    return files


def on_post_page(output: str, *, page: Any, config: Any) -> str:
    """Point a page to our own script."""
    from mkdocs.utils import get_relative_url

    del config
    return output.replace(THEIRS, get_relative_url(OURS, page.url))


def on_post_template(output_content: str, *, template_name: str, config: Any) -> str:
    """Point the page of a lost link to it as well."""
    del template_name, config
    return output_content.replace(THEIRS, OURS)
