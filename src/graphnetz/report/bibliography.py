"""References as BibTeX: the tests a report used, the models it names, the datasets behind its tasks."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from importlib import resources

from graphnetz.records.digests import sha256
from graphnetz.report import escape


@functools.cache
def references() -> dict[str, str]:
    """Entries of ``references.bib`` by key, as they are printed."""
    text = resources.files("graphnetz.report").joinpath("references.bib").read_text(encoding="utf-8")
    entries = text.split("\n\n")
    return {re.findall(r"\{(.+?),", entry)[0]: entry.strip() + "\n" for entry in entries}


@functools.cache
def model_keys() -> dict[str, str]:
    """BibTeX key of every model that an entry names in its field ``models``."""
    named = {key: re.search(_MODELS, entry) for key, entry in references().items()}
    return {model: key for key, found in named.items() if found for model in found[1].split(", ")}


_MODELS = re.compile(r"  models = \{(.+)\},\n")


def model_key(name: str) -> str | None:
    """BibTeX key of a model by its registered name; variants such as ``bgnn.GAT-edgefeat`` share one."""
    return model_keys().get(re.sub(r"\s*\(.*\)$", "", name).rpartition(".")[2].partition("-")[0])


def dataset_key(name: str) -> str:
    """BibTeX key of a dataset: letters, digits and dashes of its name, and a digest where that is not all of it."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[:40]
    whole = plain and plain == name.lower().replace("_", "-")
    return f"data-{plain}" if whole else f"data-{plain or 'x'}-{sha256(name.encode())[:6]}"


def bibtex(tests: Iterable[str], models: Iterable[str], datasets: Mapping[str, str]) -> str:
    """Return the entries; ``datasets`` maps a dataset's name to the citation on its card."""
    used = dict.fromkeys([*tests, *(key for key in map(model_key, models) if key)])
    out = [re.sub(_MODELS, "", references()[key]) for key in used]
    for key, (name, citation) in {dataset_key(name): (name, text) for name, text in datasets.items()}.items():
        fields = {"key": key, "title": _field(name), "note": _field(citation, width=1000)}
        year = re.findall(r"\b(?:19|20)\d\d\b", citation)
        out.append(_entry(key, "misc", fields | ({"year": year[-1]} if year else {})))
    return "\n".join(out)


def _field(text: str, *, width: int = 60) -> str:
    """Escaped for LaTeX and for BibTeX, which counts an escaped brace like any other."""
    plain = escape.latex(text, width=width)
    return plain.replace("\\{", "\\textbraceleft{}").replace("\\}", "\\textbraceright{}")


def _entry(key: str, kind: str, fields: Mapping[str, str]) -> str:
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@{kind}{{{key},\n{lines}\n}}\n"
