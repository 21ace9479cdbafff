"""The real wheels, where pip reaches an index or they are in the data cache; ``make real`` runs this, ``.ci/run`` too."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from graphnetz._core.errors import DownloadError
from graphnetz.audit import Inspected, audit
from graphnetz.datasets import CARDS, SUITES
from graphnetz.datasets.sources.doctor import FIELDS, measure
from graphnetz.engine.api import get_split
from graphnetz.models import MODELS

pytestmark = [pytest.mark.wheels, pytest.mark.timeout(600)]

ROOT = Path(os.environ.get("GRAPHNETZ_TEST_ROOT", Path(__file__).resolve().parents[2] / "data" / "benchmark"))
CARRIED = [name for name, card in CARDS.items() if "wheel" in card.source]
TASKS = {task.name: task for task in SUITES["default"]()}
EXPECTED = json.loads(
    (Path(__file__).resolve().parents[1] / "audit" / "expected_findings.json").read_text(encoding="utf-8")
)["carried"]
WITHOUT_A_NETWORK = ("FeatureOnly", "GradientBoosting", "CorrectAndSmooth", "DegreeProduct")


def loaded(name):
    try:
        return CARDS[name].loader(ROOT / CARDS[name].category / name)
    except DownloadError as error:
        pytest.skip(f"the wheel is not to be had here: {error}")


@pytest.mark.parametrize("name", CARRIED)
def test_the_data_is_what_the_card_says(name):
    card, found = CARDS[name], measure(loaded(name))
    assert {key: found[key] for key in FIELDS if getattr(card, key) is not None} == {
        key: getattr(card, key) for key in FIELDS if getattr(card, key) is not None
    }


def test_the_list_of_findings_covers_the_suite():
    assert set(EXPECTED) == set(TASKS)


@pytest.mark.parametrize("name", TASKS)
def test_the_audit_finds_what_is_explained_and_no_more(name):
    if not TASKS[name].card.offline:
        loaded(name)
    assert {item.check for item in audit(TASKS[name], root=str(ROOT))} == set(EXPECTED[name])


@pytest.mark.parametrize("name", TASKS)
def test_a_rule_without_a_network_learns_something(name):
    task = TASKS[name]
    if not task.card.offline:
        loaded(name)
    split = get_split(task, 0, root=str(ROOT))
    seen = Inspected(task, split)
    gains = []
    for model in WITHOUT_A_NETWORK:
        if MODELS[model].serves(task.task_type):
            fitted = MODELS[model].cls()
            fitted.fit(split, np.random.default_rng(0))
            gains.append(seen.skill(fitted.score(split)["test"]))
    assert max(gains) >= 0.1
