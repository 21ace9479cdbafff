"""Metabolism as a graph: an SBML model of Escherichia coli."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from xml.etree import ElementTree

import numpy as np

from graphnetz.datasets.sources.base import Built
from graphnetz.datasets.sources.carried.build import one_hot, undirected, with_labels

ELEMENTS = ("C", "H", "N", "O", "P", "S")
COMPARTMENTS = ("c", "p", "e")
_EC = re.compile(r"ec-code/(\d+)\.")


def enzymes(files: Mapping[str, bytes]) -> Built:
    """Join reactions to the metabolites they turn over; the class of a reaction is that of its enzyme (EC number).

    Reactions whose enzymes are of several classes, or that state none, have no class. Features of a metabolite are its
    atoms, charge and compartment, those of a reaction its reversibility and how many metabolites it takes and gives.
    """
    # The file is pinned by its sha256.
    model = ElementTree.fromstring(gzip.decompress(files["iJO1366.xml.gz"]))  # noqa: S314
    core = model.tag.partition("}")[0] + "}"
    species = list(model.iter(f"{core}species"))
    reactions = list(model.iter(f"{core}reaction"))
    number = {item.get("id"): i for i, item in enumerate(species)}
    pairs, sides, classes = [], [], []
    for i, reaction in enumerate(reactions, start=len(species)):
        taken, given = (
            [number[end.get("species")] for side in reaction.iter(f"{core}{name}") for end in side]
            for name in ("listOfReactants", "listOfProducts")
        )
        pairs += [(i, end) for end in (*taken, *given)]
        sides.append((float(reaction.get("reversible") == "true"), np.log1p(len(taken)), np.log1p(len(given))))
        found = set(_EC.findall(" ".join(str(v) for item in reaction.iter() for v in item.attrib.values())))
        classes.append(int(found.pop()) - 1 if len(found) == 1 else -1)
    x = np.zeros((len(species) + len(reactions), 4 + len(ELEMENTS) + 1 + len(COMPARTMENTS)))
    x[len(species) :, 0] = 1.0
    x[len(species) :, 1:4] = sides
    x[: len(species), 4:] = [_metabolite(item.attrib) for item in species]
    x[: len(species), -len(COMPARTMENTS) :] = one_hot([item.get("compartment", "") for item in species], COMPARTMENTS)
    codes = np.array([-1] * len(species) + classes)
    return Built([with_labels(undirected(pairs, len(x), x=x), codes)])


def _metabolite(facts: Mapping[str, str]) -> list[float]:
    facts = {key.rpartition("}")[2]: value for key, value in facts.items()}
    atoms = dict(re.findall(r"([A-Z][a-z]?)(\d*)", facts.get("chemicalFormula", "")))
    counts = [np.log1p(int(atoms[item] or 1)) if item in atoms else 0.0 for item in ELEMENTS]
    return [*counts, float(facts.get("charge", 0)) / 4, *(0.0 for _ in COMPARTMENTS)]
