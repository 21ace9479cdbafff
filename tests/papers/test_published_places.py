"""How many places of published tables are shown: against scipy and statsmodels, and the page against its numbers."""

import importlib.util
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_ind_from_stats
from statsmodels.stats.multitest import multipletests

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("published_places", ROOT / "benchmarks" / "published_places.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_places_follow_from_welch_tests_with_holms_correction(script):
    entries = script.audit()
    assert len(entries) == len(list(script.groups())) >= 70
    for entry, (_, _, metric, rows) in zip(entries, script.groups(), strict=True):
        up = script.METRICS[metric].greater_is_better
        pairs = [(a, b) for a, b in combinations(rows, 2) if a.sd > 0 or b.sd > 0]
        if not pairs:
            continue
        p = [ttest_ind_from_stats(a.mean, a.sd, a.n, b.mean, b.sd, b.n, equal_var=False).pvalue for a, b in pairs]
        rejected = multipletests(np.array(p), 0.05, "holm")[0]
        beaten = {row.model: 0 for row in rows}
        for (a, b), shown in zip(pairs, rejected, strict=True):
            if shown:
                beaten[(b if (a.mean > b.mean) == up else a).model] += 1
        assert entry["pairs_shown"] == rejected.sum()
        assert {line["model"]: line["first"] - 1 for line in entry["places"]} == beaten


def test_the_page_holds_what_the_script_counts(script):
    stored = json.loads((ROOT / "benchmarks" / "results" / "published_places.json").read_text())
    entries = script.audit()
    assert json.loads(json.dumps(entries)) == stored
    assert script.page(entries) in (ROOT / "docs" / "findings.md").read_text()
