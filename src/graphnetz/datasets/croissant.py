"""Cards as Croissant 1.1: what a dataset is, in the words that search engines and other tools read."""

from __future__ import annotations

import re
from typing import Any

from graphnetz.records import DatasetCard

VERSION = "http://mlcommons.org/croissant/1.1"
_SITE = re.compile(r"(?:https?://)?((?:[a-z0-9-]+\.)+[a-z]{2,}(?:/[\w./~-]*)?)", re.IGNORECASE)
_OF_CROISSANT = (
    "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileProperty",
    "fileObject", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5", "parentField",
    "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate", "separator", "source",
    "subField", "transform",
)  # fmt: skip
CONTEXT: dict[str, Any] = {
    "@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/", "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"}, "examples": {"@id": "cr:examples", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "name": {"@container": "@language"}, "description": {"@container": "@language"},
} | {term: f"cr:{term}" for term in _OF_CROISSANT}  # fmt: skip
_FACTS = (
    ("dataset", "sc:Text", "Name of the dataset."),
    ("category", "sc:Text", "Category of the catalogue."),
    ("task_types", "sc:Text", "What can be predicted."),
    ("graphs", "sc:Integer", "Graphs."),
    ("nodes", "sc:Integer", "Nodes of all graphs."),
    ("edges", "sc:Integer", "Edges of all graphs, as stored."),
    ("features", "sc:Integer", "Numbers of each node."),
    ("classes", "sc:Integer", "Classes of the target."),
)


def croissant(card: DatasetCard) -> dict[str, Any]:
    """Return a card as JSON-LD that conforms to Croissant 1.1.

    Parameters
    ----------
    card
        Any card of the catalogue.

    Returns
    -------
    dict
        Name, description, licence, citation, and the facts of the card as a record set. Files are not listed: they are
        read from their source by the loader, under the terms that ``license`` names.

    Examples
    --------
    >>> from graphnetz.datasets import CARDS
    >>> croissant(CARDS["cora"])["conformsTo"]
    'http://mlcommons.org/croissant/1.1'
    """
    words = [f"{card.title or card.name}: {', '.join(card.serves)} ({card.category})."]
    words += ["Simulated data." if card.simulated else f"Source: {card.source}.", *card.notes]
    made: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": card.name,
        "description": " ".join(words),
        "conformsTo": VERSION,
        "license": card.licence or "not stated",
        "url": _url(card),
        "keywords": ["graph", card.category, *card.serves, *(["simulated"] if card.simulated else [])],
        "isLiveDataset": False,
    }
    if card.citation:
        made["citeAs"] = card.citation
    return made | {"recordSet": [_facts(card)]}


def _url(card: DatasetCard) -> str:
    """The address that a source names; the documentation where it names none."""
    found = _SITE.search(card.source)
    return f"https://{found[1]}" if found and not card.simulated else "https://graphnetz.readthedocs.io"


def _facts(card: DatasetCard) -> dict[str, Any]:
    values = {"dataset": card.name, "category": card.category, "task_types": ", ".join(card.serves)}
    numbers = {name: getattr(card, name) for name in ("graphs", "nodes", "edges", "features", "classes")}
    known = values | {name: value for name, value in numbers.items() if value is not None}
    return {
        "@type": "cr:RecordSet", "@id": "facts", "name": "facts", "description": "What the card of the dataset says.",
        "field": [
            {"@type": "cr:Field", "@id": f"facts/{name}", "name": name, "description": text, "dataType": kind}
            for name, kind, text in _FACTS if name in known
        ],
        "data": [{f"facts/{name}": value for name, value in known.items()}],
    }  # fmt: skip
