"""What is known and how it hangs together: graph classes, and the techniques of attackers."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import numpy as np

from graphnetz.datasets.sources.base import Built
from graphnetz.datasets.sources.carried.build import class_numbers, numbered, one_hot, undirected, with_labels

EASY, HARD = ("Linear", "Polynomial"), ("NP-complete",)
ASKED = "Hamiltonian cycle"
WORDS = 300
_WORD = re.compile(r"[a-z]{4,}")


def graph_classes(files: Mapping[str, bytes]) -> Built:
    """Return graph classes joined to those they lie in, and whether finding a Hamiltonian cycle is NP-complete in them.

    Features are the kind of definition and whether members of the class are known to be recognised in polynomial time.
    What is known of other problems is left out: it gives the answer away without an edge.
    """
    # The file is pinned by its sha256.
    root = ElementTree.fromstring(files["isgci_sage.xml"].decode("latin-1").partition("?>")[2])  # noqa: S314
    classes = list(root.iter("GraphClass"))
    number = numbered(item.get("id", "") for item in classes)
    pairs = [(number[item.get("sub", "")], number[item.get("super", "")]) for item in root.iter("incl")]
    known = [{p.get("name"): p.get("complexity", "") for p in item.iter("problem")} for item in classes]
    codes = np.array([_hardness(facts.get(ASKED, "")) for facts in known])
    kinds = sorted({item.get("type", "") for item in classes})
    levels = [[float(_hardness(facts.get("Recognition", "")) == level) for level in (0, 1)] for facts in known]
    x = np.concatenate([one_hot([item.get("type", "") for item in classes], kinds), np.array(levels)], axis=1)
    return Built([with_labels(undirected(pairs, len(number), x=x), codes)])


def _hardness(words: str) -> int:
    return 0 if words in EASY else 1 if words in HARD else -1


def tactics(files: Mapping[str, bytes]) -> Built:
    """Return techniques, groups, software and countermeasures; the class of a technique is the tactic it serves.

    Only techniques of the enterprise matrix that serve one tactic have a class, and only tactics of twenty techniques.
    Features say which of the 300 commonest words the description holds; those of the tactics' names are not among them.
    """
    entries: list[dict[str, Any]] = [
        entry for name in sorted(files) for entry in json.loads(files[name].decode("utf-8"))["values"]
    ]
    number = numbered(entry["uuid"] for entry in entries)
    pairs = [
        (number[entry["uuid"]], number[other["dest-uuid"]])
        for entry in entries
        for other in entry.get("related", ())
        if other["dest-uuid"] in number
    ]
    served = [_tactics(entry) for entry in entries]
    codes, names = class_numbers([next(iter(found)) if len(found) == 1 else None for found in served])
    banned = {word for found in served for name in found for word in _WORD.findall(name)}
    texts = [set(_WORD.findall(str(entry.get("description", "")).lower())) - banned for entry in entries]
    counts = Counter(word for text in texts for word in text)
    words = sorted(sorted(counts), key=lambda word: -counts[word])[:WORDS]
    x = np.array([[float(word in text) for word in words] for text in texts])
    return Built([with_labels(undirected(pairs, len(number), x=x), codes)], info={"classes": names})


def _tactics(entry: Mapping[str, Any]) -> set[str]:
    """Return the tactics of a technique in the enterprise matrix: ``persistence`` of ``attack-Linux:persistence``."""
    chain = entry.get("meta", {}).get("kill_chain", ())
    return {step.partition(":")[2] for step in chain if step.startswith("attack-")}
