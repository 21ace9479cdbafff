"""NCI1 under the five perturbations beside the RINGS paper (Coupette et al. 2025, Tables 1, 6 and 7), GIN alone.

Ten runs per mode of 30 epochs at one learning rate, no search. A kept run folder (``GRAPHNETZ_GOLDEN``, in which this
test uses the subfolder ``rings_nci1``) is resumed, so that an interrupted run need not start again.
"""

import os
from pathlib import Path

import pytest

from graphnetz.papers.rings import JUDGEMENTS
from graphnetz.rings import compare_paper, evaluate

SETTINGS = {
    "search": {},
    "protocol": {"hidden_channels": 32, "batch_size": 128, "lr": 1e-2, "selection": "last", "eval_every": 30},
    "epochs": 30,
    "runs": 10,
}
PERTURBED = ("eg", "cg", "rg", "cf", "rf")

pytestmark = [pytest.mark.data, pytest.mark.golden, pytest.mark.timeout(14400)]


@pytest.fixture(scope="module")
def nci1(shared_data, tmp_path_factory):
    kept = os.environ.get("GRAPHNETZ_GOLDEN")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAPHNETZ_MIRROR", str(shared_data))
        yield evaluate(
            "nci1",
            models=("GIN",),
            tuning=SETTINGS,
            out=Path(kept) / "rings_nci1" if kept else None,
            root=str(tmp_path_factory.mktemp("nci1")),
            verbose=False,
        )


def test_every_run_finished(nci1):
    for result in nci1.separability.values():
        assert result.runs == dict.fromkeys(("o", *PERTURBED), SETTINGS["runs"])
        assert result.reachable


def test_the_original_is_above_all_five_perturbations_on_auroc(nci1, capsys):
    means = nci1.separability["auc"].means
    with capsys.disabled():
        for metric, relation in nci1.relations.items():
            print(f"\nNCI1 {metric}: {relation}   (paper: {JUDGEMENTS['NCI1'].relations[metric]})")
        print(compare_paper(nci1).round(3).to_string(index=False))
        print(f"verdict {nci1.verdict} (paper: {JUDGEMENTS['NCI1'].verdict}), {nci1.reason}")
    assert all(means["o"] > means[mode] for mode in PERTURBED)
    assert nci1.separability["auc"].groups[0] == ("o",)


def test_the_verdict_is_the_papers(nci1):
    """Ten runs separate fewer modes on accuracy than the paper's; both modes are informative on AUROC all the same."""
    assert nci1.verdict == JUDGEMENTS["NCI1"].verdict == "keep"
    assert {nci1.assessment.structure, nci1.assessment.features} <= {"informative", "(un)informative"}
