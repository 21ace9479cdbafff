"""Pages of the documentation made from the dataset cards and the model registry, while the site is built."""

from __future__ import annotations

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


def pages() -> dict[str, str]:
    """Path below the documentation's folder -> Markdown."""
    return {f"datasets/{category}.md": category_page(category) for category in CATEGORIES} | {
        "models.md": models_page()
    }


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to the site."""
    from mkdocs.structure.files import File

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files
