"""From cells to a verdict: judging known cells, a small run through the engine, figures, the paper's scores."""

import dataclasses
import json
import math

import matplotlib as mpl
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from graphnetz._core.errors import UnknownNameError, UsageError
from graphnetz.benchmark import SearchSpace, get_split, run_benchmark
from graphnetz.papers.rings import JUDGEMENTS, paper_name
from graphnetz.records import CellResult, Predictions, Section, Task
from graphnetz.report.plots import draw_figure
from graphnetz.report.sections import read_sections
from graphnetz.rings import (
    PRESETS,
    Tuning,
    compare_judgement,
    compare_paper,
    evaluate,
    perturb_task,
    profile,
    published_scores,
)
from graphnetz.rings import figures as figs
from graphnetz.rings.evaluate import run_looks
from graphnetz.rings.judge import judge, mode_scores
from graphnetz.rings.presets import tuning_of
from graphnetz.rings.rules import assess
from graphnetz.rings.study import MODES

LEVELS = {"o": 0.9, "cg": 0.8, "rg": 0.8, "eg": 0.7, "cf": 0.6, "rf": 0.5}


def molecules(count=12, seed=0):
    rng = np.random.default_rng(seed)
    out = []
    for i in range(count):
        n = int(rng.integers(5, 9))
        pairs = [(j, int(rng.integers(j))) for j in range(1, n)]  # a random tree, joined to a ring in one class
        if i % 2:
            pairs.append((0, n - 1))
        edges = torch.tensor(pairs + [(b, a) for a, b in pairs]).T
        x = torch.nn.functional.one_hot(torch.from_numpy(rng.integers(3, size=n)), 3).float()
        out.append(Data(x=x, edge_index=edges, y=torch.tensor([i % 2]), num_nodes=n))
    return out


def load_molecules(root):
    return molecules(30)


def cells(levels=LEVELS, runs=12):
    rng = np.random.default_rng(0)
    out = []
    for mode, level in levels.items():
        for model, bonus in (("GCN", 0.0), ("GIN", 0.02)):
            for seed in range(runs):
                value = level + bonus + rng.normal() * 0.003
                score = np.where(np.arange(10) < round(level * 10), 1.0, -1.0)
                out.append(
                    CellResult(
                        key=f"{mode}{model}{seed}",
                        task=f"toy@{mode}",
                        model=model,
                        seed=seed,
                        metric="test_auc",
                        metrics={"test_acc": value, "test_auc": value, "val_acc": bonus, "val_auc": bonus},
                        predictions=Predictions(np.arange(10), np.ones(10, dtype=int), score),
                    )
                )
    return out


@pytest.fixture(scope="module")
def gammas():
    return profile(molecules(), perturbations=(*MODES, "ef"), name="toy")


@pytest.fixture(scope="module")
def evaluation(gammas):
    return judge("toy", cells(), complementarity=gammas, metrics=("acc", "auc"))


def test_known_cells_give_the_known_verdict(evaluation):
    assert evaluation.relations == {"acc": "o > cg/rg > eg > cf > rf", "auc": "o > cg/rg > eg > cf > rf"}
    assert evaluation.assessment.symbol == "++"
    assert set(evaluation.best["acc"].values()) == {"GIN"}
    mark = evaluation.diversity.symbols["structural"][0]
    assert evaluation.verdict == ("keep" if mark in ("o", "+", "++") else "deprecate")
    assert not evaluation.provisional
    assert "toy" in evaluation.paragraph
    table = evaluation.to_frame()
    row = table[(table.metric == "acc") & (table.model == "GIN") & (table["mode"] == "rf")]
    assert row["mean"].item() == pytest.approx(0.52, abs=0.005)
    assert row["count"].item() == 12


def test_agreement_and_correlation_come_from_the_cells(evaluation):
    names = evaluation.agreement.names
    i, j = names.index("o/GIN"), names.index("rf/GIN")
    assert evaluation.agreement.jaccard[i, j] == pytest.approx(5 / 9)
    assert evaluation.agreement.asymmetric[i, j] == 1
    assert evaluation.agreement.asymmetric[j, i] == pytest.approx(5 / 9)
    assert evaluation.correlation["acc"].points == 6 * 10


def test_within_runs_and_signed_rank(gammas):
    swapped = judge("toy", cells(), complementarity=gammas, metrics=("acc",), within_runs=True)
    paired = judge("toy", cells(), complementarity=gammas, metrics=("acc",), statistic="signedrank")
    assert swapped.relations == paired.relations == {"acc": "o > cg/rg > eg > cf > rf"}


def test_failures_are_left_out_and_said(gammas):
    broken = [CellResult("k", "toy@o", "GAT", 0, status="failed", error="boom"), *cells()]
    result = judge("toy", broken, complementarity=gammas, metrics=("acc",))
    assert result.notes[0].startswith("1 of 145 runs failed")
    assert all(score.model != "GAT" for score in mode_scores(broken, ("acc",)))
    with pytest.raises(UsageError, match="original data"):
        judge("toy", broken[:1], complementarity=gammas, metrics=("acc",))


def test_too_few_runs_decide_nothing(gammas):
    result = judge("toy", cells(runs=4), complementarity=gammas, metrics=("acc",))
    assert result.provisional
    assert (result.assessment.structure, result.assessment.features) == ("undecided", "undecided")
    assert result.needed == 6  # differences are clear, but four signs are no proof
    assert "6 runs" in result.paragraph
    section = result.to_section()
    assert section.extra["score"] is None
    assert section.extra["scores"] == [0.0, 5.0]


def test_section_is_plain_json_and_drawable(evaluation):
    section = evaluation.to_section()
    raw = json.loads(json.dumps(section.to_json(), allow_nan=False))
    assert Section.from_json(raw).verdict == f"{evaluation.verdict}: {evaluation.reason}"
    assert [figure.kind for figure in section.figures] == ["bar", "bar", "bar", "bar", "scatter", "scatter", "heatmap"]
    for figure in section.figures:
        drawn, _ = draw_figure(figure.kind, figure.data)
        drawn.canvas.draw()
    assert len(section.tables[0].rows) == 2 * 5
    assert len(section.tables[2].rows) == 30


def drawn_width(figure):
    canvas, axes = draw_figure(figure.kind, figure.data)
    canvas.canvas.draw()
    return axes.get_window_extent().width


def test_figures_of_the_paper_show_the_numbers(evaluation):
    bars = figs.performance_bars(dataclasses.replace(evaluation, untrained={"acc": 0.4}), "acc")
    assert bars.data["lines"]["untrained"] == 0.4
    low, mean, high = (bars.data[key] for key in ("low", "values", "high"))
    assert mean[bars.data["labels"].index("o")] == pytest.approx(0.92, abs=0.005)
    assert all(a <= b <= c for a, b, c in zip(low, mean, high, strict=True))
    profile_figure = figs.profile_bars(evaluation.complementarity)
    assert list(profile_figure.data["lines"]) == ["original", "0.5"]
    cloud = figs.performance_cloud(evaluation, "auc")
    assert len(cloud.data["series"]["o"]["x"]) == 10
    grid = figs.agreement_grid(evaluation.agreement)
    assert grid.data["values"][0][1] == evaluation.agreement.jaccard[0, 1]
    assert grid.data["values"][1][0] == evaluation.agreement.asymmetric[1, 0]
    before = set(mpl.pyplot.get_fignums()) if hasattr(mpl, "pyplot") else set()
    for figure in (bars, profile_figure, cloud, grid):
        assert drawn_width(figure) > 50
    assert not hasattr(mpl, "pyplot") or set(mpl.pyplot.get_fignums()) == before


def test_density_and_metric_grids():
    curves = figs.density_curves(nodes=6, graphs=2, structures=("diffusion", "resistance"))
    diffusion, resistance = (curves.data["series"][name] for name in ("diffusion", "resistance"))
    assert len(diffusion["x"]) == len(diffusion["y"]) == 15 - 5 + 1
    assert all(
        low <= mean <= high for low, mean, high in zip(*(diffusion[k] for k in ("low", "y", "high")), strict=True)
    )
    # On the complete graph all structural metrics agree: they are discrete.
    assert diffusion["y"][-1] == pytest.approx(resistance["y"][-1], abs=1e-9)
    grid = figs.metric_grid(molecules(6), structures=("diffusion", "heat"))
    assert np.shape(grid.data["values"]) == (2, 2)
    assert drawn_width(curves) > 50


def test_presets():
    # Table 5: two values each of learning rate, decay, width, dropout and batch size.
    grid = SearchSpace(**tuning_of("paper").search)
    assert len(grid) == 32
    assert {row["batch_size"] for row in grid.candidates()} == {64, 128}
    assert grid.as_dict()["batch_size"] == [64, 128]
    assert "batch_size" not in SearchSpace(**tuning_of("quick").search).as_dict()  # keys of earlier runs stay
    assert tuning_of("paper").runs == 100
    assert tuning_of({"epochs": 3}).search == PRESETS["quick"].search
    assert tuning_of(Tuning(runs=7), runs=9).runs == 9
    with pytest.raises(UnknownNameError, match="Did you mean 'quick'"):
        tuning_of("quik")
    with pytest.raises(UnknownNameError, match="epochs"):
        tuning_of({"epoch": 3})
    with pytest.raises(UsageError, match="at least 2"):
        tuning_of("quick", runs=1)


def test_published_scores_and_judgements():
    mutag = published_scores("MUTAG")
    row = mutag[(mutag.table == 6) & (mutag.model == "GIN") & (mutag["mode"] == "o")]
    assert (row["mean"].item(), row["std"].item()) == (0.767, 0.140)
    assert len(published_scores()) == 2 * (13 * 3 * 6 - 7) + 2 * 3 * 4 * 6 + 12
    assert paper_name("reddit-binary") == "Reddit-B"
    assert published_scores("Cora").empty
    # Node labels alone are other data than the paper's, which has the continuous attributes as well.
    assert [paper_name(name) for name in ("enzymes", "enzymes_graph_cls", "proteins", "proteins_full")] == [
        None, None, None, "Proteins",
    ]  # fmt: skip
    assert (paper_name("ENZYMES", width=21), paper_name("ENZYMES", width=3)) == ("Enzymes", None)
    assert (paper_name("mutag", width=7), paper_name("mutag", width=5)) == ("MUTAG", None)
    assert len(published_scores("Enzymes")) == 36
    keeps = {name for name, item in JUDGEMENTS.items() if item.verdict == "keep"}
    assert keeps == {"MolHIV", "NCI1", "Peptides"}
    assert assess(JUDGEMENTS["MUTAG"].relations).symbol == "-"


def test_comparison_with_the_paper(gammas):
    result = judge("MUTAG", cells(), complementarity=gammas, metrics=("acc",))
    frame = compare_paper(result)
    row = frame[(frame.model == "GCN") & (frame["mode"] == "cf")]
    assert row.paper_mean.item() == 0.842
    assert row.finer_mean.item() == 0.834
    assert len(frame) == 12
    judged = compare_judgement(result).set_index("")
    assert judged.loc["relation (acc)"].tolist() == ["o > cg/rg > eg > cf > rf", "cf/cg/o/rg > eg > rf"]
    assert judged.loc["structure", "paper"] == "(un)informative"  # above on AUROC, not on accuracy
    assert judged.loc["features", "paper"] == "uninformative"
    assert judged.loc["verdict", "paper"] == "realign"
    captions = [table.caption for table in result.to_section().tables]
    assert any("Judgement beside" in caption for caption in captions)
    assert compare_judgement(judge("toy", cells(), complementarity=gammas, metrics=("acc",))) is None


def test_through_the_engine(tmp_path):
    settings = {"epochs": 2, "runs": 2, "search": {}, "protocol": {"hidden_channels": 8, "batch_size": 16}}
    options = {"models": ("GCN",), "tuning": settings, "backend": "serial", "verbose": False}
    task = Task("molecules", "graph_cls", load_molecules)
    result = evaluate(task, modes=("o", "eg", "rf"), out=tmp_path, **options)
    assert set(result.separability) == {"acc", "auc"}
    assert result.separability["acc"].runs == {"o": 2, "eg": 2, "rf": 2}
    assert result.provisional
    assert result.verdict in ("undecided", "deprecate")  # two runs decide nothing; low diversity may still
    assert all(math.isfinite(score.value) for score in result.scores)
    assert result.agreement is not None
    assert set(result.agreement.names) == {"o/GCN", "eg/GCN", "rf/GCN"}
    assert result.to_section().extra["provisional"]
    # Untrained: as many epochs with such steps as one likes leave a network of no batch norms where it was.
    asleep = {"lr": 1e-30, "weight_decay": 0.0, "selection": "last", "edge_attributes": False, "batch_size": 16}
    original = perturb_task(dataclasses.replace(task, metric="auc"), "o", test_share=0.2)
    longer = run_benchmark(
        tasks=[original], models=["GCN"], seeds=2, epochs=3, hidden_channels=8, protocol=asleep, backend="serial",
        verbose=False,
    )  # fmt: skip
    for metric in ("acc", "auc"):
        mean = np.mean([item.metrics[f"test_{metric}"] for item in longer.results])
        assert result.untrained[metric] == pytest.approx(mean, abs=1e-12)
    again = evaluate(task, modes=("o", "eg", "rf"), out=tmp_path, **options)
    assert again.scores == result.scores
    assert again.relations == result.relations
    (section,) = read_sections(tmp_path)
    assert section == Section.from_json(json.loads(json.dumps(result.to_section().to_json())))
    page = (tmp_path / "report.html").read_text()
    assert "Is molecules fit to judge models?" in page
    assert "not drawn" not in page
    captions = " ".join(table.caption for table in section.tables)
    assert "The 30 graphs" in captions
    assert "first run" in captions
    assert [figure.kind for figure in section.figures][-2:] == ["heatmap", "heatmap"]
    with pytest.raises(UsageError, match="must hold 'o'"):
        evaluate(task, modes=("eg",), **options)
    with pytest.raises(UnknownNameError, match="Did you mean 'ranksum'"):
        evaluate(task, statistic="ranksumm", **options)  # and not when everything is trained


def test_the_patience_of_a_task_does_not_end_training_before_it_is_measured():
    """Every cell of tasks that train until flat failed: 40 epochs of patience were over before epoch 50 was looked at."""
    settings = {
        "epochs": 4,
        "runs": 2,
        "search": {},
        "protocol": {"hidden_channels": 8, "selection": "last", "eval_every": 50},
    }
    task = Task("molecules", "graph_cls", load_molecules, protocol={"patience": 1, "selection": "best_val"})
    result = evaluate(task, models=("GCN",), modes=("o", "eg"), tuning=settings, backend="serial", verbose=False)
    assert result.separability["acc"].runs == {"o": 2, "eg": 2}


def test_predictions_name_the_examples_of_the_dataset():
    """Runs test on different graphs, so only the ids of the dataset can be compared across runs."""
    task = Task("molecules", "graph_cls", load_molecules)
    report = run_benchmark(
        models=["GCN"], tasks=[task], seeds=(0, 1), epochs=1, save_predictions=True, backend="serial", verbose=False
    )
    ids = {}
    for result in report.results:
        ids[result.seed] = result.predictions.example.tolist()
        assert ids[result.seed] == get_split(task, result.seed).test.tolist()
        labels = [int(molecules(30)[i].y) for i in ids[result.seed]]
        assert result.predictions.target.reshape(-1).tolist() == labels
    assert ids[0] != ids[1]


def test_runs_are_added_in_rounds_until_something_is_decided(tmp_path, capsys):
    settings = {"epochs": 2, "search": {}, "protocol": {"hidden_channels": 8, "batch_size": 16}}
    options = {"models": ("GCN",), "tuning": settings, "backend": "serial", "modes": ("o", "eg", "rf")}
    task = Task("molecules", "graph_cls", load_molecules)
    result = evaluate(task, runs="auto", max_runs=15, out=tmp_path, **options)
    assert result.rule.looks == (10, 15)
    runs = result.separability["acc"].runs["o"]
    assert runs == (10 if result.decided else 15)
    assert f"After {runs} runs: structure" in capsys.readouterr().err
    assert "<img" in (tmp_path / "rings.html").read_text()
    with pytest.raises(UsageError, match="first look"):
        evaluate(task, runs="auto", max_runs=5, **options)
    # The same runs read at once instead of in rounds: no level is spent on looks.
    again = evaluate(task, runs=runs, out=tmp_path, **options | {"verbose": False})
    assert again.scores == result.scores
    assert again.rule.looks == ()


def test_rounds_over_fixed_splits_end_with_a_round():
    assert run_looks(100) == (10, 15, 22, 33, 49, 73, 100)
    assert run_looks(40, splits=10) == (10, 20, 40)
    assert run_looks(12) == (10, 12)
