"""The picture of the README shows the default suite as it is now."""

import hashlib
import importlib.util
import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _script():
    spec = importlib.util.spec_from_file_location("report_picture", ROOT / "scripts" / "report_picture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pictures_of_the_report_are_current_and_say_what_they_show():
    script, images = _script(), ROOT / "docs" / "images"
    facts = json.loads((images / "report.json").read_text(encoding="utf-8"))
    again = f"run: make run SUITE={facts['suite']} && .venv/bin/python scripts/report_picture.py runs/{facts['suite']}"
    assert facts["inputs"] == script.inputs(facts["suite"]), again
    assert set(facts["pictures"]) == set(script.VIEWS)
    for name, digest in facts["pictures"].items():
        assert digest == hashlib.sha256((images / f"{name}.png").read_bytes()).hexdigest(), again
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{facts['suite']} " in re.search(r"!\[([^]]*)\]\(docs/images/report\.png\)", text)[1]
