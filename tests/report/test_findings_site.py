"""A site with findings, built from bundles alone: every link leads somewhere, and every sentence has one."""

import importlib.util
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pandas as pd
import pytest

from graphnetz.cli.app import run_app
from graphnetz.engine.bundle import opened, submit
from graphnetz.engine.run import run_benchmark
from graphnetz.engine.verify import verify
from graphnetz.records import Table
from graphnetz.records.findings import PLAN, SHOWN, TUNING, Finding
from graphnetz.records.kept import read_examples
from graphnetz.report import BenchmarkReport, write
from graphnetz.report.field import findings_pages
from graphnetz.report.integrity import file_digest

ROOT = Path(__file__).resolve().parents[2]
MODELS = ["GCN", "GraphSAGE", "MLP", "Majority", "AdamicAdar"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs, of which one task is known to RINGS; their figures are nobody's concern here."""
    place = tmp_path_factory.mktemp("field")
    options = {"models": MODELS, "seeds": range(5), "epochs": 2, "backend": "serial", "verbose": False}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "write_figures", lambda *_: None)
        for name, tasks in (("nodes", ["karate_club"]), ("links", ["les_miserables", "florentine_families"])):
            run_benchmark(tasks=tasks, out=place / name, root=str(place / "data"), **options)
    return place


@pytest.fixture(scope="module")
def site(runs):
    bundles = [str(submit(runs / name, out=runs / f"{name}.zip", predictions=1)) for name in ("nodes", "links")]
    raw = {
        "findings": [
            {"name": "told", "question": "What else?", "text": "1 of 2 places is shown.", "claims": [],
             "table": {"columns": ["Paper", "Shown"], "rows": [["a <b>", 1], ["c", 0]]}, "tally": [["yes", 1], ["no", 1]]}
        ],
        "tasks": {"karate_club": [["Recommended", {"columns": ["Rank", "What"], "rows": [[1, "SGC"]]}]], "other": []},
    }  # fmt: skip
    (runs / "more.json").write_text(json.dumps(raw), encoding="utf-8")
    out = runs / "site"
    given = ["--findings", "--more", str(runs / "more.json"), "--title", "What is shown", "--out", str(out)]
    assert run_app(["leaderboard", *bundles, *given]) == 0
    return out


class Page(HTMLParser):
    """Links with the text they stand in, ids, and the text of items of the list of findings."""

    def __init__(self, text):
        super().__init__()
        self.links, self.ids, self.items, self._open = [], set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        if "id" in known:
            self.ids.add(known["id"])
        if tag == "a" and "href" in known:
            self.links.append(known["href"])
        if tag == "p" and self._open and self._open[-1] == "findings":
            self.items.append({"text": "", "links": []})
        if tag == "ul":
            self._open.append(known.get("class"))
        if tag == "a" and self.items and self._open and self._open[-1] == "findings":
            self.items[-1]["links"].append(known.get("href"))

    def handle_endtag(self, tag):
        if tag == "ul":
            self._open.pop()

    def handle_data(self, data):
        if self.items and self._open and self._open[-1] == "findings":
            self.items[-1]["text"] += data


def test_every_link_of_every_page_leads_to_a_file_and_a_place_in_it(site):
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert len(pages) > 10
    for path, page in pages.items():
        assert page.links
        for link in page.links:
            address, place = urldefrag(link)
            assert not address.startswith(("http", "/", "javascript")), link
            target = (path.parent / unquote(address)).resolve() if address else path
            assert target.is_file(), f"{path.name}: {link}"
            assert target.is_relative_to(site.resolve())
            assert not place or place in pages[target].ids, f"{path.name}: {link}"


def test_every_sentence_of_the_first_page_leads_to_its_rows_and_they_to_their_tasks(site):
    page = Page((site / "index.html").read_text(encoding="utf-8"))
    told = json.loads((site / "findings.json").read_text(encoding="utf-8"))
    sentences = [item for item in page.items if item["links"]]
    assert [item["text"].strip() for item in sentences] == [one["text"] for one in told]
    tasks = set()
    for item, one in zip(sentences, told, strict=True):
        evidence = site / item["links"][0]
        text = evidence.read_text(encoding="utf-8")
        rows = pd.read_csv(evidence.with_suffix(".csv"))
        assert list(rows.columns) == one["table"]["columns"]
        assert len(rows) == len(one["table"]["rows"]) > 0
        if one["table"]["columns"][0] == "Task":
            links = [link for link in Page(text).links if link.startswith("../tasks/")]
            assert len(links) == len(rows)
            tasks |= set(rows["Task"])
        if one["record"]:
            assert f'href="../{one["record"]}"' in text
    assert tasks == {"karate_club", "les_miserables", "florentine_families"}
    # the words below a bar repeat what the sentence counts; no other words stand among the findings
    assert len(page.items) == len(sentences) + sum(len(one["tally"]) > 1 and sum(b for _, b in one["tally"]) > 0
                                                   for one in told)  # fmt: skip


def test_grey_is_for_what_is_not_shown_and_for_the_rest_of_two():
    """How far differences are shown has no grey part: other splits are no absence."""

    def looks(*labels):
        found = Finding("f", "Q?", "Text 1.", Table(("A",), ((1,),)), tuple((label, 1) for label in labels))
        report = BenchmarkReport.from_scores(
            pd.DataFrame({"task": ["t"], "model": ["m"], "seed": [0], "score": [0.5], "metric": ["test_acc"]})
        )
        page = findings_pages(report, [found], {})["index.html"]
        shown = {label: look for look, label in re.findall(r'<i class="(c\d)"></i>([^<]*?) 1<', page)}
        assert re.findall(r'<rect class="(c\d)"', page) == [shown[label] for label in labels]
        return [shown[label] for label in labels]

    assert "c7" not in looks("new examples", "other splits", "this split")
    assert looks("GCN", "neither", "GAT")[1] == looks("shown", "not shown")[1] == looks("yes", "no")[1] == "c7"
    assert looks("new examples", "this split", "not stated")[2] == "c7"
    four = looks("default and tuned", "default settings only", "tuned only", "the other way round")
    assert len(set(four) - {"c7"}) == 4


def test_questions_are_read_in_their_order_whoever_answers_first_and_those_of_others_come_last():
    asked = ["Mine?", PLAN, TUNING, SHOWN, PLAN, "Mine?", TUNING]
    told = [Finding(f"f{i}", question, f"Text {i}.", Table(("A",), ((1,),))) for i, question in enumerate(asked)]
    frame = pd.DataFrame({"task": ["t"], "model": ["m"], "seed": [0], "score": [0.5], "metric": ["test_acc"]})
    files = findings_pages(BenchmarkReport.from_scores(frame), told, {})
    order = [one["name"] for one in json.loads(files["findings.json"])]
    assert order == ["f3", "f2", "f6", "f1", "f4", "f0", "f5"]


def test_pages_of_an_earlier_site_in_the_folder_do_not_stay(runs, tmp_path):
    given = ["--findings", "--out", str(tmp_path)]
    assert run_app(["leaderboard", str(runs / "links"), *given]) == 0
    (tmp_path / "notes.html").write_text("mine")
    before = {path.name for path in (tmp_path / "tasks").iterdir()}
    assert run_app(["leaderboard", str(runs / "nodes"), *given]) == 0
    assert {path.name for path in (tmp_path / "tasks").iterdir()} == {"001-karate_club.html"}
    assert len(before) == 2
    assert (tmp_path / "notes.html").exists()
    told = json.loads((tmp_path / "findings.json").read_text(encoding="utf-8"))
    assert len(list((tmp_path / "evidence").iterdir())) == 2 * len(told)


def test_names_of_others_stay_names(site):
    (found,) = (path for path in (site / "evidence").glob("*told.html"))
    assert "a &lt;b&gt;" in found.read_text(encoding="utf-8")


def test_pages_of_tasks_show_fitness_and_what_files_add(site):
    (page,) = (site / "tasks").glob("*karate_club.html")
    text = page.read_text(encoding="utf-8")
    assert "Are these datasets fit to judge models?" in text
    assert "Recommended" in text
    assert 'href="../board.html"' in text
    assert "RINGS judged the data of 2 of these 3 tasks" in (site / "index.html").read_text(encoding="utf-8")


def test_the_board_stays_and_a_site_without_findings_has_it_first(runs, site, tmp_path):
    assert 'data-board=":"' in (site / "board.html").read_text(encoding="utf-8")
    assert run_app(["leaderboard", str(runs / "nodes.zip"), "--out", str(tmp_path)]) == 0
    assert 'data-board=":"' in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert not (tmp_path / "board.html").exists()


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"findings": [{}], "tasks": {}}', "nonsense", '{"findings": 1, "tasks": 2}']
)
def test_a_file_that_holds_no_findings_is_refused_in_one_sentence(runs, tmp_path, text, capsys):
    (tmp_path / "bad.json").write_text(text, encoding="utf-8")
    given = ["leaderboard", str(runs / "nodes"), "--findings", "--more", str(tmp_path / "bad.json")]
    assert run_app([*given, "--out", str(tmp_path / "site")]) == 2
    assert "holds no findings" in capsys.readouterr().err


def test_a_bundle_with_predictions_of_some_seeds_is_whole_and_says_so(runs, tmp_path):
    whole, fewer = (
        submit(runs / "links", out=tmp_path / "a.zip"),
        submit(runs / "links", out=tmp_path / "b.zip", predictions=1),
    )
    assert fewer.stat().st_size < whole.stat().st_size
    assert fewer.read_bytes() == submit(runs / "links", out=tmp_path / "c.zip", predictions=1).read_bytes()
    with opened(fewer) as (folder, body), opened(whole) as (other, _):
        chosen = body["predictions_of_seeds"]
        assert set(chosen) == {"les_miserables", "florentine_families"}
        for task, seeds in chosen.items():
            assert len(seeds) == 1
            kept = {(cell.model, cell.seed) for cell in read_examples(folder, task)}
            assert kept == {(c.model, c.seed) for c in read_examples(other, task) if c.seed in seeds}
        # cells and scores are the same, to the digest of the run
        mine, theirs = (BenchmarkReport.from_json(place / "results.json") for place in (folder, other))
        assert mine.results == theirs.results
        assert json.loads((folder / "digest.json").read_text())["root"] == body["root"]
    found = verify(fewer, retrain=0)
    assert found.ok
    assert any("no predictions were kept" in note for note in found.notes)
    assert verify(whole, retrain=0).root == found.root


def test_a_check_without_training_leaves_the_note_of_an_earlier_one(runs, tmp_path):
    bundle = submit(runs / "nodes", out=tmp_path / "run.zip")
    root = str(runs / "data")
    note = tmp_path / "run.zip.verified.json"
    assert run_app(["verify", str(bundle), "--retrain", "0"]) == 0
    assert not note.exists()
    assert (
        run_app(["verify", str(bundle), "--retrain", "1", "--model", "Majority", "--root", root, "--workers", "1"]) == 0
    )
    said = note.read_bytes()
    assert run_app(["verify", str(bundle), "--retrain", "0"]) == 0
    assert note.read_bytes() == said


def test_a_large_limit_leaves_a_bundle_as_it_is(runs, tmp_path):
    one, two = (
        submit(runs / "links", out=tmp_path / "a.zip"),
        submit(runs / "links", out=tmp_path / "b.zip", predictions=10**9),
    )
    assert one.read_bytes() == two.read_bytes()


FIELD = ROOT / "benchmarks" / "results" / "field"
stored = pytest.mark.skipif(not list(FIELD.glob("*.zip")), reason="no stored bundles")


@pytest.fixture(scope="module")
def field(tmp_path_factory):
    """What ``make site`` builds."""
    out = tmp_path_factory.mktemp("field") / "site"
    more = [part for path in sorted((FIELD / "more").glob("*.json")) for part in ("--more", str(path))]
    bundles = [str(path) for path in sorted(FIELD.glob("*.zip"))]
    given = ["--findings", *more, "--title", "What the field should know", "--out", str(out)]
    assert run_app(["leaderboard", *bundles, *given]) == 0
    return out


@stored
def test_the_stored_bundles_hold_and_the_scores_of_the_sweep_are_theirs():
    bundles = sorted(FIELD.glob("*.zip"))
    assert sum(path.stat().st_size for path in bundles) < 30e6
    kept = json.loads((FIELD.parent / "sweep.json").read_text(encoding="utf-8"))["tasks"]
    seen = {}
    for path in bundles:
        with opened(path) as (folder, _):
            report = BenchmarkReport.from_json(folder / "results.json")
        for task in report.scores.tasks:
            assert task not in seen, f"{task} is in {path.name} and in {seen[task]}"
            seen[task] = path.name
            for model, values in kept[task]["scores"].items():
                assert values == [round(float(value), 6) for value in report.scores.cell(task, model)]
    assert len(seen) >= 40


@stored
def test_links_of_the_page_of_the_field_resolve_and_the_documentation_says_what_it_says(field):
    test_every_link_of_every_page_leads_to_a_file_and_a_place_in_it(field)
    spec = importlib.util.spec_from_file_location("findings_page", ROOT / "scripts" / "findings_page.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    told = json.loads((field / "findings.json").read_text(encoding="utf-8"))
    assert len(told) >= 20
    text = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    assert script.written(text, told) == text, "write it again: make site && python scripts/findings_page.py"


def field_more():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import field_more
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    return field_more


@stored
def test_what_is_said_of_tuning_is_what_the_tuned_bundles_hold(field):
    """Every stored sentence and row comes from the bundles; each run of a row stands on the page of its task."""
    from graphnetz._core.plain import jsonable

    kept = json.loads((FIELD / "more" / "tuned.json").read_text(encoding="utf-8"))
    assert json.loads(json.dumps(jsonable(field_more().tuned()))) == kept, "python benchmarks/field_more.py tuned"
    rows = {
        row[0] for found in kept["findings"] for row in found["table"]["rows"] if found["table"]["columns"][0] == "Task"
    }
    assert rows == set(kept["tasks"])
    for task, ((title, table),) in kept["tasks"].items():
        (page,) = (field / "tasks").glob(f"*-{task}.html")
        text = page.read_text(encoding="utf-8")
        assert title in text
        assert f"tuned/{table['caption'].rpartition('tuned/')[2].rstrip('.')}" in text
        assert len({(row[0], row[1]) for row in table["rows"]}) == len(table["rows"]) > 20


@stored
def test_what_is_said_of_recommendations_is_what_the_stored_runs_show():
    """Bundles that change may put somebody above the method that was named."""
    kept = json.loads((FIELD / "more" / "recommended.json").read_text(encoding="utf-8"))
    again = json.loads(json.dumps(field_more().agreement(kept["tasks"])))
    assert again == kept["findings"], "python benchmarks/field_more.py recommended ROOT"


@stored
def test_every_stored_bundle_was_verified_as_it_is():
    """The note beside a bundle is of these bytes, and of cells that were trained again."""
    bundles = sorted(FIELD.rglob("*.zip"))
    assert any(path.parent.name == "tuned" for path in bundles)
    for path in bundles:
        note = json.loads(path.with_name(f"{path.name}.verified.json").read_text(encoding="utf-8"))
        assert note["sha256"] == file_digest(path)
        assert note["retrained"] > 0
