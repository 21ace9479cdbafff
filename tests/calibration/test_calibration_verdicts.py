"""Every verdict that the product prints names the claims it makes, and these are the simulated ones."""

import importlib.util
import re
from pathlib import Path

import pytest

from calibration.claims import rows
from graphnetz.records.analysis import CLAIMS

REPORTS = 60
WORDS = (
    (r"is better than", {"better-split", "better-dataset", "better-source", "better-unknown", "constant", "deterministic"}),
    (r"would detect a difference", {"power"}),
    (r"No model (?:beats|is shown to beat)", {"baselines"}),
    (r"corrected for having picked the best", {"gap"}),
    (r"\d+ of \d+[^.]*: up to [\d.]+ ?%", {"failures", "collapse"}),
    (r"practically equivalent", {"equivalent", "sequential", "anytime"}),
    (r"ranks better than|Mean ranks differ", {"ranks-differ"}),
)  # fmt: skip
"""Words that make a claim, and the kinds of which one must stand beside them."""


def random_reports():
    path = Path(__file__).parents[1] / "report" / "test_outputs_agree.py"
    spec = importlib.util.spec_from_file_location("outputs_agree", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return (module.random_report(index) for index in range(REPORTS))


@pytest.fixture(scope="module")
def verdicts():
    return [verdict for report in random_reports() for verdict in report.verdicts()]


def test_verdicts_name_simulated_claims_only(verdicts):
    simulated = {row.claim for row in rows()}
    assert simulated == set(CLAIMS)
    assert {claim for verdict in verdicts for claim in verdict.claims} <= simulated


def test_words_that_make_a_claim_name_it(verdicts):
    silent = [
        (pattern, verdict.text)
        for verdict in verdicts
        for pattern, kinds in WORDS
        if re.search(pattern, verdict.text) and not kinds & set(verdict.claims)
    ]
    silent += [
        ("different", verdict.text) for verdict in verdicts if verdict.level == "different" and not verdict.claims
    ]
    assert silent[:5] == []
