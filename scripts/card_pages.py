"""Pages of the documentation made from the dataset cards and the model registry, while the site is built."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from graphnetz._core.optional import pip_install
from graphnetz.datasets import CARDS, CATEGORIES
from graphnetz.datasets.fitness import fitness_of
from graphnetz.models import ALL, MODELS
from graphnetz.report.bibliography import bibtex, model_key
from graphnetz.report.escape import markdown


def _words(text: object) -> str:
    return markdown(text, width=2000)


def _facts(card: Any) -> list[tuple[str, str]]:
    sizes = [
        f"{getattr(card, name):,} {name}"
        for name in ("graphs", "nodes", "edges", "features", "classes")
        if getattr(card, name)
    ]
    serves = [f"{kind} ({epochs} epochs)" for kind, epochs in card.serves.items()]
    rows = [
        ("Tasks", ", ".join(serves)),
        ("Size", ", ".join(sizes) or "not stated on the card"),
        ("Data", "simulated" if card.simulated else "real"),
        ("Offline", "yes" if card.offline else "downloaded once"),
        ("Source", card.source),
        ("Licence", card.licence),
        ("Citation", card.citation),
    ]
    for kind in card.serves:
        if known := fitness_of(card, kind):
            rows.append((f"Fit to judge models ({kind})", known.sentence))
    if card.extra:
        rows.append(("Needs", pip_install(card.extra)))
    return [(name, str(value)) for name, value in rows if value]


def card_text(card: Any) -> str:
    """One dataset: what it is, where it comes from, how to run it, how to cite it."""
    table = "\n".join(f"| {name} | {_words(value)} |" for name, value in _facts(card))
    notes = "".join(f"- {_words(note)}\n" for note in card.notes)
    entry = bibtex((), (), {card.name: card.citation})
    return (
        f"## {_words(card.name)}\n\n{_words(card.title)}\n\n| | |\n|---|---|\n{table}\n\n{notes}\n"
        f"```sh\ngraphnetz run --task {card.name}\n```\n\n```bibtex\n{entry}```\n"
    )


def category_page(category: str) -> str:
    """All datasets of one category."""
    cards = sorted((card for card in CARDS.values() if card.category == category), key=lambda card: card.name)
    return f"# {category.capitalize()}\n\n{_words(CATEGORIES[category])}\n\n" + "\n".join(map(card_text, cards))


def models_page() -> str:
    """Every registered model with what it serves and whom to cite."""
    rows = []
    for name, spec in MODELS.items():
        serves = "all" if spec.task_types == ALL else ", ".join(sorted(spec.task_types))
        rows.append(f"| {_words(name)} | {spec.kind} | {_words(serves)} | {model_key(name) or ''} |")
    table = "\n".join(rows)
    return (
        "# Models\n\nMade from the registry: `graphnetz list models` prints the same.\n\n"
        f"| model | kind | task types | key |\n|---|---|---|---|\n{table}\n\n## References\n\n"
        f"```bibtex\n{bibtex((), MODELS, {})}```\n"
    )


STATUS = {
    "ours": "our own generator",
    "repository": "agrees with the repository of the copy at hand",
    "copy": "that of the copy at hand",
    "package": "agrees with the package's metadata",
    "listed": "named at hand",
    "page": "agrees with a page of the work or its owner",
    "bibliography": "agrees with a bibliography or copy by others",
    "in part": "in part",
    "differs": "**differs**",
    "not checked": "**not checked**",
}


def licences_page() -> str:
    """Licences and citations of all cards and bibliographies, with what each was held against."""
    rows = _checked()
    count = {kind: [row for row in rows if row[0] == kind] for kind in ("licence", "citation", "reference")}
    open_ones = {kind: sum(row[2] in ("not checked", "in part") for row in some) for kind, some in count.items()}
    said = "; ".join(f"{len(some)} {kind}s ({open_ones[kind]} not checked, or in part)" for kind, some in count.items())
    parts = [
        "# Licences and citations\n",
        "Made by `scripts/check_references.py`, first from sources at hand: notes on copies of datasets, licences in "
        "wheels, what packages say of the data they bring, and papers that this package replicates, with their "
        "reference lists; then from public pages, each with its address and what it says (`scripts/looked_up.csv`). "
        "For code in wheels, for those papers and for pages of a work or its owner that is the primary source; "
        "elsewhere it is not: a licence of a repository need not cover the data in it, and a bibliography may be "
        "wrong. Of a citation of several works the least sure source counts. What was found in part or not at all is "
        "marked. Before you publish or sell what rests on a dataset, read the terms of its owner.\n\n"
        f"There are {said}.\n",
    ]
    for kind, title in (("licence", "Licences"), ("citation", "Citations of cards"), ("reference", "Bibliographies")):
        parts.append(f"## {title}\n\n| what we state | checked | against |\n|---|---|---|")
        parts += [
            f"| {_words(what)} | {STATUS[status]} | {_words(against)} |" for _, what, status, against in count[kind]
        ]
        parts.append("")
    return "\n".join(parts)


def _checked() -> list[list[str]]:
    with Path(__file__).with_name("references.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))[1:]


def pages() -> dict[str, str]:
    """Path below the documentation's folder -> Markdown."""
    return {f"datasets/{category}.md": category_page(category) for category in CATEGORIES} | {
        "models.md": models_page(),
        "licences.md": licences_page(),
    }


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to the site."""
    from mkdocs.structure.files import File

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files
