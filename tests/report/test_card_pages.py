"""The catalogue pages of the documentation: every card and model is on one, as its card says."""

import csv
import importlib.util
import re
import sys
from pathlib import Path

import pytest

from graphnetz.datasets import CARDS
from graphnetz.datasets.cards import CATEGORIES
from graphnetz.datasets.fitness import fitness_of
from graphnetz.models import MODELS
from graphnetz.report.escape import markdown

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("card_pages", ROOT / "scripts" / "card_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_card_is_on_the_page_of_its_category(made):
    pages = made.pages()
    found = [
        name for path in pages if path.startswith("datasets/") for name in re.findall(r"(?m)^## (.+)$", pages[path])
    ]
    assert sorted(found) == sorted(markdown(name) for name in CARDS)
    for card in CARDS.values():
        page = pages[f"datasets/{card.category}.md"]
        for words in (card.title, card.source, card.licence, card.citation, *card.notes):
            assert markdown(words, width=2000) in page
        assert f"graphnetz run --task {card.name}\n" in page
        for kind in card.serves:
            known = fitness_of(card, kind)
            assert known is None or f"({kind}) | {markdown(known.sentence, width=2000)} |" in page
    assert all(f"| {markdown(name)} |" in pages["models.md"] for name in MODELS)


def test_hostile_words_on_a_card_stay_words(made):
    from dataclasses import replace

    card = replace(
        next(iter(CARDS.values())),
        title="</table><img src=x>",
        citation="a | b <script> `x`",
        notes=("[l](javascript:x)",),
    )
    text = made.card_text(card)
    prose = re.sub(r"```.*?```", "", text, flags=re.S)
    assert "<img" not in prose
    assert "<script" not in prose
    assert "](" not in prose.replace("\\](", "").replace("\\]\\(", "")
    assert re.search(r"(?<!\\)`", prose) is None


def test_the_site_names_every_page(made):
    text = (ROOT / "mkdocs.yml").read_text()
    assert "scripts/card_pages.py" in text
    assert {path for path in made.pages() if path not in text} == set()
    assert set(CATEGORIES) == {path[9:-3] for path in made.pages() if path.startswith("datasets/")}


def test_the_configuration_page_names_every_setting():
    from graphnetz.records import RunConfig

    spec = importlib.util.spec_from_file_location("reference_page", ROOT / "scripts" / "reference_page.py")
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made  # its dataclasses look their module up
    spec.loader.exec_module(made)
    page = made.configuration_page()
    for name in RunConfig.model_fields:
        assert f"| `{name}` | " in page, name
    assert "| `timeout` | `--timeout` |  | Seconds a cell may take (above 0). |" in page
    assert "| `edge_attributes` | `--edge-attributes/--no-edge-attributes` |" in page


def test_every_licence_and_citation_has_a_status(made):
    stated = {(row[0], row[1]) for row in made._checked()}
    own = "see the source of the copy"
    licences = {("licence", f"{card.source}: {card.licence}") for card in CARDS.values() if card.licence != own}
    assert licences <= stated, REWRITE
    assert {("citation", card.citation) for card in CARDS.values() if card.citation} <= stated, REWRITE
    for file in ("src/graphnetz/report/references.bib", "docs/paper/references.bib"):
        keys = re.findall(r"(?m)^@\w+\{(\w+),", (ROOT / file).read_text(encoding="utf-8"))
        assert {("reference", f"{Path(file).parent.name}: {key}") for key in keys} <= stated, REWRITE
    page = made.pages()["licences.md"]
    assert page.count("\n| ") >= len(stated)
    assert "**not checked**" in page
    assert "**differs**" not in page


REWRITE = "run: python scripts/check_references.py DATA PAPERS"


def looked_up():
    with (ROOT / "scripts" / "looked_up.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_what_was_looked_up_is_needed_and_on_the_page(made):
    rows, said = made._checked(), looked_up()
    assert len({(row["kind"], row["what"]) for row in said}) == len(said)
    page = made.pages()["licences.md"]
    for row in said:
        kind = "citation" if row["kind"] == "work" else row["kind"]
        assert row["where"], row
        assert row["status"] in ("page", "bibliography", "in part", "differs"), row
        words = f"{row['where']}: {row['fact']}"
        assert any(kind == of and row["what"] in what and words in against for of, what, _, against in rows), row
        assert markdown(words, width=2000) in page


def test_what_was_looked_up_states_the_numbers_that_we_state():
    entries = {}
    for file in ("src/graphnetz/report/references.bib", "docs/paper/references.bib"):
        for key, body in re.findall(r"@\w+\{(\w+),(.*?)\n\}", (ROOT / file).read_text(encoding="utf-8"), re.S):
            entries[f"{Path(file).parent.name}: {key}"] = set(re.findall(r"\d+", body))
    for row in looked_up():
        numbers = set(re.findall(r"\d+", row["fact"]))
        if row["kind"] == "reference":
            assert numbers <= entries[row["what"]], row  # volume, pages and year of the page are those of the entry
        elif row["kind"] == "work":
            assert set(re.findall(r"\b(?:1[789]\d\d|20\d\d)\b", row["what"])) <= numbers, row


def test_the_least_sure_source_of_a_citation_counts(monkeypatch):
    spec = importlib.util.spec_from_file_location("check_references", ROOT / "scripts" / "check_references.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    known = {("work", "Ada, 1843"): ("page", "a: 1843"), ("work", "Bob, 1901"): ("bibliography", "b: 1901")}
    monkeypatch.setattr(module, "looked_up", lambda: known)

    def found(*works):
        return module._found([(("work", work), module._work(work)) for work in works], {})

    assert found("Ada, 1843") == ("page", "a: 1843")
    assert found("Ada, 1843", "Bob, 1901") == ("bibliography", "a: 1843; b: 1901")
    assert found("Ada, 1843", "Eve, 1999") == ("in part", "a: 1843")
    assert found("Eve, 1999") == ("not checked", "")


@pytest.mark.data
def test_statuses_are_what_the_sources_at_hand_say():
    data, papers = ROOT.parent / "shared" / "data", ROOT.parent / "shared" / "seeds"
    if not (data / "README.md").exists() or not papers.is_dir():
        pytest.skip("the copies and papers are not beside the project")
    spec = importlib.util.spec_from_file_location("check_references", ROOT / "scripts" / "check_references.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.check(data, papers) == module.stored(), REWRITE
