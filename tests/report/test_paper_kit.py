"""The paper kit: what was run, what was tested, what is cited; and it compiles."""

import re

from graphnetz.cli.app import run_app
from graphnetz.datasets import CARDS
from graphnetz.models import MODELS as REGISTERED
from graphnetz.report.bibliography import bibtex, dataset_key, model_key, model_keys, references
from graphnetz.report.paper import _CITED, methods_tex, test_keys, write_paper

used = test_keys
used.__test__ = False  # a name that starts like a test


def cited(text):
    return {key for group in re.findall(r"\\cite\{([^}]*)\}", text) for key in group.split(",")}


def entries(text):
    return set(re.findall(r"^@\w+\{([^,]+),", text, flags=re.M))


def test_every_citation_has_an_entry_and_no_unused_test_is_cited(mixed, tmp_path):
    mixed.config["protocols"] = {
        "cora": {"optimiser": "adam", "lr": 0.01, "epochs": 3, "selection": "last"},
        "zinc": {"optimiser": "adam", "lr": 0.001, "epochs": 3, "selection": "last"},
    }
    datasets = {"cora": ("Cora_x", "Sen et al., Collective classification, 2008."), "zinc": ("ZINC", "Irwin, 2012.")}
    folder = write_paper(mixed, tmp_path / "paper", datasets=datasets)
    methods, bib = (folder / "methods.tex").read_text(), (folder / "references.bib").read_text()
    assert cited(methods) <= entries(bib)
    assert {"kipf2017", "velickovic2018", "xu2019", "data-cora-x", "data-zinc", "holm1979"} <= entries(bib)
    assert "nadeau2003" not in entries(bib)  # no task draws new splits
    assert "3 models" not in methods
    assert "4 models" in methods
    assert "10 seeds per cell (seeds 0 to 9)" in methods
    assert "epochs at most 3" in methods
    assert "On cora: learning rate 0.01" in methods
    assert "1 failed" in methods
    assert sorted(p.name for p in (folder / "figures").iterdir())[0] == "bars.pdf"
    assert (folder / "results.tex").exists()


def test_resplit_tasks_cite_the_corrected_test(build):
    report = build({"t": {"GCN": 0.8, "GAT": 0.7}}, replication="resplit")
    assert "nadeau2003" in used(report)
    assert "draws a new random split" in methods_tex(report, {})
    assert "friedman1937" not in used(report)  # one task has no ranking


def test_the_deciding_test_across_tasks_is_the_one_cited(build):
    few = build({f"t{i}": {"GCN": 0.8, "GAT": 0.7, "GIN": 0.6} for i in range(3)})
    many = build({f"t{i}": {m: 0.5 + 0.02 * j for j, m in enumerate("ABCDEF")} for i in range(12)}, seeds=3)
    assert few.ranking().decided_by == "permutation"
    assert "iman1980" not in used(few)
    assert many.ranking().decided_by == "f"
    assert "iman1980" in used(many)
    assert r"\cite{friedman1937,iman1980}" in methods_tex(many, {})


def test_keys():
    assert model_key("bgnn.GAT-edgefeat") == "velickovic2018"
    assert model_key("GCN (second run)") == "kipf2017"
    assert model_key("mine") is None
    assert dataset_key("a_b") == "data-a-b"
    odd = [dataset_key(name) for name in ("a_b$%", "a_b$$", "שלום", "[red]", "red", "")]
    assert len(set(odd)) == len(odd)
    assert all(re.fullmatch(r"data-[a-z0-9-]+", key) for key in odd)
    text = bibtex(references(), [], {"a_b$%": "Me & you, 1999."})
    assert len(entries(text)) == len(references()) + 1
    assert r"Me \& you, 1999" in text
    assert text.count("{") == text.count("}")


def test_command(mixed, tmp_path, capsys):
    mixed.write(tmp_path / "run")
    assert run_app(["report", str(tmp_path / "run"), "--paper"]) == 1  # a cell of it failed
    assert (tmp_path / "run" / "paper" / "paper.tex").exists()
    assert "report.html" in capsys.readouterr().out


NEEDED = {
    "article": {"author", "title", "journal", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "misc": {"key", "title", "note"},
}
NOBODYS = {"MLP", "GatedMLP", "MF", "Majority", "FeatureOnly", "NearestNeighbours"}
"""Baselines that no paper needs to be cited for."""


def parsed(text):
    """Entries by key as (kind, fields): braces counted, so that a value may hold braces."""
    found = {}
    for kind, key, body in re.findall(r"^@(\w+)\{([^,\s]+),\n(.*?)\n\}$", text, flags=re.M | re.S):
        assert key not in found, f"{key} twice"
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},?$", body, flags=re.M))
        assert len(fields) == body.count("\n") + 1, f"{key}: a line that is no field"
        for value in fields.values():
            depth = 0
            for char in value:
                depth += (char == "{") - (char == "}")
                assert depth >= 0, key
            assert depth == 0, key
        found[key] = (kind, fields)
    return found


def test_every_entry_of_the_bibliography_is_whole():
    cards = {name: card.citation for name, card in CARDS.items()}
    found = parsed(bibtex(references(), [], cards))
    assert len(found) == len(references()) + len(cards)
    for key, (kind, fields) in found.items():
        assert NEEDED[kind] <= set(fields), key
        assert all(value.strip() for value in fields.values()), key
        if kind != "misc":
            assert re.fullmatch(r"(19|20)\d\d", fields["year"]), key
            assert key.endswith(fields["year"]), key


def test_models_tests_and_cards_can_be_cited():
    known = set(model_keys().values())
    assert known <= set(references())
    for name in REGISTERED:
        key = model_key(name)
        bare = name.rpartition(".")[2].partition("-")[0]
        assert key in known or bare in NOBODYS, (
            f"name {name} in an entry of report/references.bib, or list it in NOBODYS"
        )
    assert set(_CITED.values()) <= set(references())
    assert len({dataset_key(name) for name in CARDS}) == len(CARDS)
    assert all(card.citation.strip() for card in CARDS.values())
