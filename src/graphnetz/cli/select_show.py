"""What `graphnetz select` prints: the shortlist in words, and as JSON."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from graphnetz._core.plain import jsonable
from graphnetz.cli.app import put
from graphnetz.selection.collection import Collection

if TYPE_CHECKING:
    from graphnetz.selection import Choice, Recommendation
    from graphnetz.selection.probe import Contender, Race

WIDTH = 78
FIRST = 3
_BARS = 24
_TASKS = {"link_pred": "predicting links", "node_cls": "classifying nodes", "graph_cls": "classifying graphs"}
_METRICS = {"map": "average precision"}
"""Metrics of published records that no task of ours has, in words."""


def as_dict(result: Recommendation, race: Race | None, top: int) -> dict[str, Any]:
    """Return everything for scripts: choices as measured where something was measured."""
    measured = {} if race is None else {item.name: item for item in race.measured}
    return {
        "graph": {
            "name": result.graph.name, "nodes": result.size[0], "edges": result.size[1],
            **({"graphs": result.graph.num_graphs} if isinstance(result.graph, Collection) else {}),
        },
        "task_type": result.task_type, "metric": result.metric, "level": result.level,
        "within": jsonable(result.within),
        "choices": [
            {
                "rank": c.rank, "configuration": c.configuration.to_json(), "name": c.name,
                **{key: jsonable(getattr(c, key)) for key in ("score", "low", "high", "seconds", "memory")},
                **({"measured": _numbers(c, measured[c.name])} if c.name in measured else {}),
            }
            for c in _chosen(result, race, top)
        ],
        "nearest": [{"graph": name, "distance": distance} for name, distance in result.nearest],
        "warning": result.warning, "notes": list(result.notes),
        "probed": None if race is None else {"seconds": race.seconds, "notes": list(race.sentences())},
        "known": {"graphs": result.known_graphs, "configurations": result.known_configurations},
        "code": result.to_code(0),
    }  # fmt: skip


def _numbers(choice: Choice, found: Contender) -> dict[str, Any]:
    mean = sum(found.validation) / found.splits
    return {
        "predicted": choice.score, "mean": jsonable(found.mean), "half": jsonable(found.half),
        "validation": jsonable(mean), "seeds": found.splits,
    }  # fmt: skip


def _chosen(result: Recommendation, race: Race | None, top: int) -> list[Choice]:
    """The shortlist: what was measured comes first, in the order of its validation."""
    if race is None:
        return list(result.choices[:top])
    by_name = {choice.name: choice for choice in result.choices}
    return [by_name[item.name] for item in race.contenders[:top]]


def show(result: Recommendation, race: Race | None, top: int) -> None:
    """Print the shortlist: what to try, how sure that is, why, and what to do next."""
    from graphnetz.metrics import METRICS

    graph, metric = result.graph, _METRICS.get(result.metric, result.metric)
    metric = METRICS[result.metric].label if result.metric in METRICS else metric
    extra = [f"{graph.features.shape[1]:,} features"] if graph.features is not None else []
    extra += [f"{len(set(graph.labels[graph.labels >= 0].tolist()))} classes"] if graph.labels is not None else []
    many = isinstance(graph, Collection)
    counts = [f"{graph.num_graphs:,} graphs"] if isinstance(graph, Collection) else []
    facts = ", ".join([*counts, f"{result.size[0]:,} nodes", f"{result.size[1]:,} edges", *extra])
    task = _TASKS.get(result.task_type, result.task_type)
    _wrap(f"{graph.name}: {facts}; {task} ({result.task_type}).")
    put()
    chosen = _chosen(result, race, top)
    _wrap(_lead(result, race, metric, min(FIRST, len(chosen))))
    for place, choice in enumerate(chosen, 1):
        if place == FIRST + 1:
            put("Then:")
        _show_choice(place, choice, race)
    said = [text for text in (*(race.sentences() if race else ()), result.warning, *result.notes) if text]
    if said:
        put()
    for text in said:
        _wrap(text)
    put(f"\nKnown {'collections' if many else 'graphs'} it resembles most (distance; 0 is the same):")
    longest = max((len(name) for name, _ in result.nearest), default=0)
    scale = _BARS / max(2.0, *(distance for _, distance in result.nearest), 0.0)
    for name, distance in result.nearest:
        short = name if len(name) <= 44 else name[:43] + "…"
        put(f"  {short:{min(longest, 44)}} {distance:.3f} {'█' * max(round(distance * scale), 1)}")


def _lead(result: Recommendation, race: Race | None, metric: str, count: int) -> str:
    many = result.task_type == "graph_cls"
    words = {1: "Try this one", 2: "Try these two", 3: "Try these three"}[count]
    if race is not None and race.measured:
        what = "graphs that training did not see" if many else "test examples of your graph"
        return f"{words}; {metric} on {what}, mean of splits with its 95 % interval:"
    within = f"; the first is expected within {result.within:.3f} of the best" if result.within == result.within else ""
    return (
        f"{words}{within}. Nothing was trained: {metric} is predicted from {result.known_graphs} known "
        f"{'collections' if many else 'graphs'}, with {result.level:.0%} intervals."
    )


def _show_choice(place: int, choice: Choice, race: Race | None) -> None:
    settings = " ".join(f"{key}={value}" for key, value in choice.configuration.settings)
    _wrap(f"{choice.configuration.method}  {settings}".rstrip(), first=f"{place:>2}. ", rest="      ")
    found = None if race is None else next(item for item in race.contenders if item.name == choice.name)
    predicted = f"{choice.score:.3f} predicted ({choice.low:.3f} to {choice.high:.3f})"
    if found is not None and found.splits:
        spread = f" ± {found.half:.3f}" if found.half == found.half else ""
        count = f"{found.splits} split{'s'[: found.splits != 1]}"
        _wrap(f"{found.mean:.3f}{spread} measured on {count}; {predicted}", first="    ", rest="    ")
        return
    why = f"; not trained: {found.error}" if found is not None and found.error else ""
    cost = f", about {choice.seconds:.2g} s a run" if choice.seconds == choice.seconds else ""
    _wrap(f"{predicted}{cost}{why}", first="    ", rest="    ")


def _wrap(text: str, first: str = "", rest: str = "") -> None:
    put(textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False))
