"""The picture of the README shows the default suite as it is now."""

import hashlib
import importlib.util
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _script():
    spec = importlib.util.spec_from_file_location("report_picture", ROOT / "scripts" / "report_picture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_of_the_report_is_current():
    facts = json.loads((ROOT / "docs" / "images" / "report.json").read_text(encoding="utf-8"))
    again = "run: make run && .venv/bin/python scripts/report_picture.py runs/default"
    assert facts["inputs"] == _script().inputs(), again
    picture = ROOT / "docs" / "images" / "report.png"
    assert facts["picture"] == hashlib.sha256(picture.read_bytes()).hexdigest(), again
    assert "docs/images/report.png" in (ROOT / "README.md").read_text(encoding="utf-8")
