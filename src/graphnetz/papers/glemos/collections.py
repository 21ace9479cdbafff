"""The published collections as testbeds of `graphnetz select testbed --data`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from graphnetz.papers.glemos.readers import Collection, glemos_places, glemos_testbeds, read_glemos, read_metagl
from graphnetz.selection.bench import COLLECTIONS, Beds, standard_beds
from graphnetz.selection.testbeds import cross_task

FEATURE_SETS = ("regular", "graphlets", "compact", "regular+graphlets")
_PAPER_NAMES = {"regular+graphlets": "reg+graphlets"}
_TASKS = {"link-pred": "link_pred", "node-class": "node_cls"}


@COLLECTIONS.register("MetaGL_data.npz")
def metagl_beds(path: Path, _: Sequence[str] = ()) -> Beds | None:
    """Return the testbeds of the MetaGL file, None for a folder."""
    if path.is_dir():
        return None
    made = read_metagl(path)
    return {("link_pred", bed.name): {"regular": bed} for bed in standard_beds(made.P, made.M, made.domains)}


@COLLECTIONS.register("the GLEMOS folder")
def glemos_beds(folder: Path, feature_sets: Sequence[str] = ()) -> Beds | None:
    """Return every published testbed of GLEMOS with some feature sets, all four unless told otherwise."""
    if not folder.is_dir():
        return None
    archive, metafeats = glemos_places(folder)
    beds: Beds = {}
    for features in feature_sets or FEATURE_SETS:
        label = _PAPER_NAMES.get(features, features)
        sides: dict[str, Collection] = {}
        for theirs, task in _TASKS.items():
            made = read_glemos(archive, metafeats, task=theirs, features=features)
            for name, bed in glemos_testbeds(made, archive, task=theirs).items():
                beds.setdefault((task, name), {})[label] = replace(bed, published="glemos")
            sides[task] = made
        for source, target in (("node_cls", "link_pred"), ("link_pred", "node_cls")):
            a, b = sides[source], sides[target]
            bed = cross_task((a.P, a.M, a.models), (b.P, b.M, b.models), test_domains=b.domains)
            note = "not comparable: 10 % masked, unidentified EGC columns left out"
            beds.setdefault((f"{source} to {target}", "cross task"), {})[label] = replace(
                bed, note=note, published="glemos"
            )
    return beds
