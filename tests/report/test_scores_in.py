"""Scores from elsewhere: every shape gives the same cells as the long table, or one sentence that helps."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from graphnetz._core.errors import DataError, GraphnetzError, UsageError
from graphnetz.analysis.summaries import Summary, analyse_summaries
from graphnetz.cli.app import run_app
from graphnetz.cli.load import from_table, load_report, load_table
from graphnetz.report import BenchmarkReport
from graphnetz.report.from_summaries import parse_summaries
from graphnetz.report.reshape import parse_columns, shape

MODELS, SEEDS = ("GCN", "MLP"), range(4)


@pytest.fixture(scope="module")
def long():
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        [("cora", m, s, round(float(rng.uniform(0.4, 0.9)), 4)) for m in MODELS for s in SEEDS],
        columns=["task", "model", "seed", "score"],
    )


def cells(frame):
    return {(r.task, r.model, int(r.seed)): round(float(r.score), 9) for r in frame.itertuples()}


def wide_shapes(long):
    by_seed = long.pivot(index="seed", columns="model", values="score")
    yield "models side by side", by_seed.reset_index().assign(task="cora"), {"metric": "acc"}
    yield "folds of cross_val_score", {m: by_seed[m].to_numpy() for m in MODELS}, {"metric": "acc", "name": "cora"}
    seeds = long.pivot(index="model", columns="seed", values="score")
    seeds.columns = [f"seed_{s}" for s in seeds.columns]
    yield "seeds side by side", seeds.reset_index().assign(Dataset="cora"), {"metric": "acc"}
    results = pd.DataFrame({f"split{s}_test_score": [long.score[s], long.score[s + 4]] for s in SEEDS})
    results = results.assign(params=MODELS, mean_test_score=0.5, std_test_score=0.1, rank_test_score=[1, 2])
    yield "cv_results_", results, {"metric": "accuracy", "name": "cora"}
    tasks = long.rename(columns={"score": "cora"}).drop(columns="task")
    yield "tasks side by side", tasks, {"metric": "acc"}
    runs = pd.DataFrame({
        "Name": "brisk-sun", "State": "finished", "Runtime": 12, "dataset": "cora", "model": long.model,
        "seed": long.seed, "test_acc": long.score, "val_acc": 0.9, "train_loss": 0.1,
    })  # fmt: skip
    yield "runs of Weights & Biases", runs, {}
    flow = {"run_id": "f00", "status": "FINISHED", "metrics.test_acc": long.score, "metrics.val_acc": 0.9,
            "params.dataset": "cora", "params.model": long.model, "params.seed": long.seed}  # fmt: skip
    yield "search_runs of MLflow", pd.DataFrame(flow), {}
    trials = {"number": range(8), "value": long.score, "params_model": long.model, "user_attrs_seed": long.seed,
              "state": "COMPLETE"}  # fmt: skip
    yield "trials of Optuna", pd.DataFrame(trials), {"metric": "acc", "name": "cora"}
    odd = long.rename(columns={"task": "where", "model": "who", "seed": "which", "score": "how much"})
    told = "task=where,model=who, seed=which,score=how much,metric==test_acc"
    yield "titles of one's own", odd, {"columns": told}


@pytest.mark.parametrize("place", range(9))
def test_every_shape_gives_the_cells_of_the_long_table(long, place):
    what, frame, told = list(wide_shapes(long))[place]
    found = shape(frame, **told)
    assert found.kind == "scores", what
    assert cells(found.frame) == cells(long), what
    assert set(found.frame["metric"]) == {"test_acc"}, what


def test_the_report_of_a_wide_table_equals_that_of_the_long_one(long):
    wide = long.pivot(index="seed", columns="model", values="score").reset_index().assign(task="cora")
    a = BenchmarkReport.from_scores(wide, metric="acc", replication="fold")
    b = BenchmarkReport.from_scores(long.assign(metric="test_acc"), replication="fold")
    assert a.to_json() == b.to_json()


@pytest.mark.parametrize(
    ("frame", "told", "words"),
    [
        ({"task": ["cora"], "seed": [0], "GCN": [0.81], "MLP": [0.5]}, {},
         "looks like a wide table: reshaped, its first line would read task,model,seed,score = cora,GCN,0,0.81"),
        ({"dataset": ["cora"], "method": ["GCN"], "test_acc": [0.8]}, {}, "says which run a row is"),
        ({"number": [0], "value": [0.2], "params_model": ["GCN"]}, {}, "A trial is not a seed"),
        ({"model": ["GCN"], "seed": [0], "test_acc": [0.8], "test_f1": [0.7]}, {}, "--columns score=test_acc"),
        ({"Step": [1], "a - test_acc": [0.1], "a - test_acc__MIN": [0.1]}, {}, "export of a chart"),
        ({"seed": [0], "score": [0.5]}, {}, "names the model"),
        ({"task": ["a"], "model": ["b"]}, {}, "lack the columns seed, score"),
        (pd.DataFrame([[0.1, 0.2, 0]], columns=["GCN", "GCN", "seed"]), {}, "the column 'GCN' twice"),
        ({"task": ["a"]}, {"columns": "modle=x"}, "Did you mean 'model'"),
        ({"task": ["a"]}, {"columns": "model=x"}, "there is no such column"),
        ({"task": ["a"]}, {"columns": "model"}, "task=dataset"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_asked_in_one_sentence(frame, told, words):
    with pytest.raises(GraphnetzError, match=r"(?s).*") as error:
        shape(pd.DataFrame(frame), **told)
    assert words in str(error.value)


def test_a_run_that_was_repeated_counts_once_and_one_that_failed_is_kept_as_failed():
    frame = pd.DataFrame({"state": ["crashed", "finished", "failed"], "task": "t", "model": "m", "seed": [0, 0, 1],
                          "test_acc": [0.1, 0.8, 0.2]})  # fmt: skip
    found = shape(frame)
    assert found.frame["score"].fillna(-1).tolist() == [0.8, -1]
    assert any("1 count as failed" in note for note in found.notes)


def test_columns_may_hold_commas_and_values_for_all_rows():
    assert parse_columns(["score=acc, final", "n==10,task=a"]) == {"score": "acc, final", "n": "=10", "task": "a"}


# means


def test_means_are_compared_as_scipy_does():
    rows = [Summary("t", "a", 0.80, 0.02, 10), Summary("t", "b", 0.79, 0.03, 7), Summary("t", "c", 0.70, 0.05, 5)]
    found = analyse_summaries(rows, metric="test_acc", greater_is_better=True)
    for pair, (x, y) in zip(found.pairs, [(0, 1), (0, 2), (1, 2)], strict=True):
        a, b = rows[x], rows[y]
        witness = stats.ttest_ind_from_stats(a.mean, a.sd, a.n, b.mean, b.sd, b.n, equal_var=False)
        assert pair.p == pytest.approx(witness.pvalue, rel=1e-9)
        assert pair.p_holm >= pair.p
        assert (pair.verdict == "not shown") == (pair.low < 0 < pair.high)
    assert [p.verdict for p in found.pairs] == ["not shown", "better", "better"]
    text = str(found.verdicts()[0])
    assert "a has the best mean (0.800) and is better than c; not shown ahead of b" in text


def test_a_leaderboard_says_what_it_cannot_say(tmp_path, capsys):
    table = tmp_path / "arxiv.csv"
    table.write_text(
        "Rank,Method,Test Accuracy,Validation Accuracy,Contact\n"
        "1,GCN,0.7174 ± 0.0029,0.7300 ± 0.0017,x\n2,MLP,0.5550 ± 0.0023,0.5765 ± 0.0012,y\n"
    )
    assert run_app(["report", str(table)]) == 0
    out = capsys.readouterr().out
    assert "untested" in out
    assert "say it with --columns n==10" in out
    assert run_app(["report", str(table), "--columns", "n==10", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["pairs"][0]["verdict"] == "better"
    assert any("shared seeds or splits cannot be seen" in line for line in data["unsaid"])
    assert (tmp_path / "arxiv" / "welch.csv").is_file()
    with pytest.raises(UsageError, match="means of runs"):
        load_report(table)


def test_wrong_means_are_refused():
    with pytest.raises(DataError, match="Divide percentages by 100"):
        parse_summaries(shape({"model": ["a", "b"], "Test Accuracy": ["81.5 ± 0.4", "70 ± 1"]}).frame)
    with pytest.raises(DataError, match="two rows"):
        parse_summaries(pd.DataFrame({"task": "t", "model": "a", "mean": [0.1, 0.2], "sd": 0.1, "metric": "acc"}))
    with pytest.raises(DataError, match="whole number"):
        parse_summaries(pd.DataFrame({"task": "t", "model": ["a"], "mean": 0.1, "sd": 0.1, "n": 2.5, "metric": "acc"}))


def test_equal_models_are_called_different_in_at_most_five_percent_of_tables():
    rng, false, times = np.random.default_rng(11), 0, 400
    for _ in range(times):
        x = rng.normal(0.8, [[0.01], [0.03], [0.02]], (3, 10))
        rows = [Summary("t", str(i), float(r.mean()), float(r.std(ddof=1)), 10) for i, r in enumerate(x)]
        pairs = analyse_summaries(rows, metric="test_acc", greater_is_better=True).pairs
        false += any(p.verdict in ("better", "worse") for p in pairs)
    assert false / times <= 0.05 + 3 * (0.05 * 0.95 / times) ** 0.5


# trackers


def test_an_mlflow_folder(tmp_path, long):
    for i, row in enumerate(long.itertuples()):
        run = tmp_path / "mlruns" / "0" / f"run{i}"
        for kind in ("metrics", "params"):
            (run / kind).mkdir(parents=True)
        (run / "meta.yaml").write_text("run_id: x\nstatus: 3\n")
        (run / "metrics" / "test_acc").write_text(f"1 0.1 0\n2 {row.score} 1\n")
        for key in ("task", "model", "seed"):
            (run / "params" / key).write_text(str(getattr(row, key)))
    (tmp_path / "mlruns" / "0" / "meta.yaml").write_text("name: x\n")
    assert cells(load_table(tmp_path / "mlruns").frame) == cells(long)
    (tmp_path / "mlruns" / "0" / "run0" / "metrics" / "test_acc").write_text("nonsense")
    with pytest.raises(DataError, match="holds what cannot be used"):
        load_table(tmp_path / "mlruns")


def test_tensorboard_event_files(tmp_path, long):
    pytest.importorskip("tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    for row in long.itertuples():
        with SummaryWriter(str(tmp_path / "logs" / row.task / row.model / f"seed_{row.seed}")) as writer:
            writer.add_scalar("test_acc", 0.1, 0)
            writer.add_scalar("test_acc", row.score, 1)
    found = cells(load_table(tmp_path / "logs").frame)
    assert found.keys() == cells(long).keys()
    assert found == pytest.approx(cells(long), abs=1e-7)  # event files hold single precision


@pytest.mark.parametrize("form", ["MODEL_SEED", "TASK/MODEL-seed-SEED", "settings"])
def test_what_flat_folders_and_settings_of_tensorboard_say(tmp_path, long, form):
    pytest.importorskip("tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    for i, row in enumerate(long.itertuples()):
        path = form.replace("MODEL", row.model).replace("SEED", str(row.seed)).replace("TASK", row.task)
        with SummaryWriter(tmp_path / "cora" / (f"run_{i}" if form == "settings" else path)) as writer:
            if form == "settings":
                told = {"model": row.model, "seed": row.seed, "dataset": row.task, "lr": 0.1}
                writer.add_hparams(told, {"test_acc": row.score}, run_name=".")
            else:
                writer.add_scalar("test_acc", row.score, 0)
    found = cells(load_table(tmp_path / "cora").frame)
    assert found == pytest.approx(cells(long), abs=1e-6)


def test_an_experiment_of_mlflow_is_a_task(tmp_path, long):
    for i, row in enumerate(long.itertuples()):
        for number, name in (("0", "cora"), ("1", "citeseer")):
            run = tmp_path / "mlruns" / number / f"run{i}"
            for place, text in (
                ("params/model", row.model),
                ("params/seed", row.seed),
                ("metrics/test_acc", f"1 {row.score} 0"),
            ):
                (run / place).parent.mkdir(parents=True, exist_ok=True)
                (run / place).write_text(str(text))
            (run / "meta.yaml").write_text("status: 3\n")
            (run.parent / "meta.yaml").write_text(f"experiment_id: '{number}'\nname: {name}\n")
    shaped = load_table(tmp_path / "mlruns")
    found = cells(shaped.frame)
    assert {key: value for key, value in found.items() if key[0] == "cora"} == cells(long)
    assert len(found) == 2 * len(long)  # two experiments are two tasks, not one with every seed twice
    assert any("'experiment' as task" in note for note in shaped.notes)


@pytest.mark.parametrize(("separator", "decimal"), [(";", ","), (";", "."), ("\t", "."), ("\t", ",")])
def test_tables_of_spreadsheets_of_other_countries(tmp_path, long, separator, decimal):
    file = tmp_path / "scores.csv"
    long.rename(columns={"score": "test_acc"}).to_csv(file, sep=separator, decimal=decimal, index=False)
    assert cells(load_table(file).frame) == cells(long)


def test_no_mean_of_a_table_is_dropped_without_a_word(tmp_path):
    (tmp_path / "means.csv").write_text("dataset,GCN,GAT\ncora,81.5 ± 0.5,83.0 (0.7)\nciteseer,70.3+/-0.6,-\n")
    found = load_table(tmp_path / "means.csv", metric="acc").frame
    assert {(r.task, r.model): (r.mean, r.sd) for r in found.itertuples()} == {
        ("cora", "GCN"): (81.5, 0.5), ("cora", "GAT"): (83.0, 0.7), ("citeseer", "GCN"): (70.3, 0.6)
    }  # fmt: skip
    (tmp_path / "means.csv").write_text("dataset,GCN,GAT\ncora,81.5 ± 0.5,about 83\nciteseer,70.3+/-0.6,1 ± 1\n")
    with pytest.raises(DataError, match="'about 83' among cells such as"):
        load_table(tmp_path / "means.csv", metric="acc")


def test_studies_of_one_task_are_models(tmp_path, long):
    optuna = pytest.importorskip("optuna")
    address = f"sqlite:///{tmp_path / 'study.db'}"
    for model, rows in long.groupby("model"):
        study = optuna.create_study(study_name=model, storage=address, direction="maximize")
        for row in rows.itertuples():
            attrs = {"seed": row.seed, "task": row.task}
            study.add_trial(optuna.trial.create_trial(value=row.score, user_attrs=attrs))
    assert cells(load_table(tmp_path / "study.db", metric="acc").frame) == cells(long)


def test_an_optuna_storage(tmp_path, long):
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    path = tmp_path / "study.db"
    study = optuna.create_study(study_name="cora", storage=f"sqlite:///{path}", direction="maximize")
    for row in long.itertuples():
        trial = study.ask()
        trial.set_user_attr("seed", row.seed)
        trial.set_user_attr("model", row.model)
        study.tell(trial, row.score)
    before = path.read_bytes()
    made = load_table(path).frame
    assert cells(made) == cells(long)
    assert set(made["greater_is_better"].astype(str)) == {"True"}
    assert path.read_bytes() == before
    path.write_bytes(before[:4096] + bytes(byte ^ 0x5A for byte in before[4096:]))
    with pytest.raises(DataError, match="cannot be read"):
        load_table(path)


def test_pipes_and_folders_without_runs_are_refused_at_once(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").mkdir()
    for name in ("pipe", "empty"):
        assert load_table(tmp_path / name) is None
        with pytest.raises(GraphnetzError):
            load_report(tmp_path / name)


def test_what_a_seed_varies_is_asked_and_never_invented(tmp_path, capsys):
    table = tmp_path / "folds.csv"
    table.write_text("fold,GCN,MLP\n0,0.8,0.5\n1,0.9,0.6\n2,0.85,0.52\n")
    assert run_app(["report", str(table), "--metric", "acc", "--no-figures", "--json"]) == 0
    seen = capsys.readouterr()
    assert json.loads(seen.out)["tasks"][0]["replication"] == "unknown"
    assert "Say it with --replication" in seen.err
    assert run_app(["report", str(table), "--metric", "acc", "--no-figures", "--json", "--replication", "fold"]) == 0
    seen = capsys.readouterr()
    assert json.loads(seen.out)["tasks"][0]["replication"] == "fold"
    assert "--replication" not in seen.err


@pytest.mark.parametrize("text", ["Model;MUTAG;CORA\nGIN;89,4 ± 5,6;76,2 ± 2,8\nGCN;85,6 ± 5,8;76,0 ± 3,2\n",
                                  "Model,MUTAG,CORA\nGIN,89.4 ± 5.6,76.2 (2.8)\nGCN,85.6 +/- 5.8,76.0±3.2%\n"])  # fmt: skip
def test_the_table_of_a_paper_in_percent(tmp_path, capsys, text):
    (tmp_path / "paper.csv").write_text(text)
    found = parse_summaries(load_table(tmp_path / "paper.csv", metric="acc%").frame.assign(n=10))
    rows = {(s.task, s.model): (s.mean, s.sd) for s in found.rows}
    wanted = {("MUTAG", "GIN"): (0.894, 0.056), ("CORA", "GIN"): (0.762, 0.028),
              ("MUTAG", "GCN"): (0.856, 0.058), ("CORA", "GCN"): (0.76, 0.032)}  # fmt: skip
    assert rows.keys() == wanted.keys()
    for key, pair in wanted.items():
        assert rows[key] == pytest.approx(pair)
    assert run_app(["report", str(tmp_path / "paper.csv"), "--metric", "acc", "--columns", "n==10"]) == 2
    assert "say that they are: --metric acc%" in capsys.readouterr().err


def test_percentages_of_single_runs(long):
    percent = long.assign(score=long["score"] * 100)
    found = shape(percent, metric="acc%")
    assert "percentages" in found.notes[-1]
    np.testing.assert_allclose(found.frame["score"], long["score"])
    assert set(found.frame["metric"]) == {"test_acc"}


def test_a_comma_that_may_part_thousands_is_no_decimal_comma():
    with pytest.raises(DataError):
        parse_summaries(shape({"model": ["a", "b"], "mae": ["1,234 ± 3", "1,111 ± 4"]}, metric="mae").frame)


WIDE = "task,seed,GCN,MLP,note\ncora,0,0.81,0.5,a\ncora,1,0.80,0.5,b\ncora,2,{},0.52,c\n"


def test_a_model_with_one_failed_run_is_not_left_out_of_a_wide_table(tmp_path):
    """One OOM made a column text, and its model was gone from the report without a word."""
    file = tmp_path / "wide.csv"
    file.write_text(WIDE.format("OOM"))
    found = load_table(file, metric="acc")
    assert set(found.frame["model"]) == {"GCN", "MLP"}
    assert found.notes[0] == "A wide table: the columns GCN, MLP are models. Not read, because they hold text: note."
    (gone,) = [result for result in from_table(found, "wide.csv").results if not result.ok]
    assert (gone.model, gone.seed) == ("GCN", 2)
    file.write_text(WIDE.format("see log"))
    with pytest.raises(DataError, match=re.escape("'wide.csv', line 4, column 'GCN' holds 'see log' among numbers.")):
        load_table(file, metric="acc")


def test_a_score_out_of_bounds_is_found_at_its_line_in_a_wide_table(tmp_path):
    file = tmp_path / "wide.csv"
    file.write_text(WIDE.format("81.0"))
    with pytest.raises(DataError, match=r"'wide\.csv', line 4, column 'score': test_acc is 81"):
        from_table(load_table(file, metric="acc"), "wide.csv")


def test_the_column_that_an_error_proposes_is_enough():
    """``--columns score=summary.test_acc`` was proposed, and then refused for want of a metric."""
    rows = {
        "dataset": "cora",
        "config.model": ["A", "B"],
        "seed": 0,
        "summary.test_acc": [0.8, 0.7],
        "summary.test_f1": 0.5,
    }
    frame = pd.DataFrame(rows)
    with pytest.raises(DataError, match=r"--columns score=summary\.test_acc") as raised:
        shape(frame)
    columns = str(raised.value).rpartition("--columns ")[2].rstrip(".")
    assert set(shape(frame, columns=columns).frame["metric"]) == {"test_acc"}
    assert set(shape(frame, columns="score=summary.test_acc,metric==auc").frame["metric"]) == {"auc"}


def test_the_only_model_of_a_task_is_not_called_the_best():
    found = parse_summaries(
        shape({"model": ["a", "b"], "x": ["0.8 ± 0.1", "OOM"], "y": ["0.7 ± 0.1", "0.6 ± 0.1"]}, metric="acc").frame
    )
    assert found.verdicts()[0].text == "Only a has a mean (0.800): nothing to compare it with."
