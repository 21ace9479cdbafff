"""`graphnetz check`: hold a model to its contract before anything is trained for long."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer

from graphnetz.cli.app import FAILED_CELLS, OK, answer, app, put
from graphnetz.records.references import is_reference, label_of

_OFFLINE = {
    "node_cls": "karate_club", "graph_cls": "digits_superpixels", "graph_reg": "ising_energy",
    "link_pred": "les_miserables", "edge_cls": "trader_trust", "multi_reg": "graph_properties",
}  # fmt: skip
"""A task of each type that any machine has, for the command to begin with."""


@app.command()
def check(
    model: Annotated[str, typer.Argument(help="path.py:Class, module:Class, or the name of a model.")],
    task_type: Annotated[list[str] | None, typer.Option(help="Only these task types; default: all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Try a model on a tiny graph of every task type: does it fit, and does it keep its promises?"""
    from graphnetz.models import spec_from
    from graphnetz.tasktypes import known_task_type
    from graphnetz.testing.examples import EXAMPLES
    from graphnetz.testing.models import try_model

    spec = spec_from(model, code=True)
    chosen = [known_task_type(name).name for name in task_type or EXAMPLES]
    rows = [(name, *try_model(spec, name)) for name in chosen]
    held = {"model": model, "task_types": [{"name": n, "verdict": v, "words": w} for n, v, w in rows]}
    answer(as_json, lambda: held, lambda: _show(model, spec, rows))
    fits = [verdict for _, verdict, _ in rows]
    return FAILED_CELLS if "broken" in fits or "fits" not in fits else OK


def _show(model: str, spec: Any, rows: list[tuple[str, str, str]]) -> None:
    put(f"{spec.name}: {_shape(spec)}")
    said = {words.partition("): ")[2] for _, _, words in rows}
    if len(rows) > 1 and {verdict for _, verdict, _ in rows} == {"no"} and len(said) == 1 and "" not in said:
        put(f"It can be run on no task type, for the same reason: {said.pop()}")
        return
    for name, verdict, words in rows:
        put(f"  {name:10} {verdict:7} {words}".rstrip())
    if any(verdict == "broken" for _, verdict, _ in rows):
        put("A cell of a broken promise would fail or mislead: mend it first.")
        return
    fits = [name for name, verdict, _ in rows if verdict == "fits"]
    if not fits:
        put("It fits none of the tiny graphs that were tried.")
        return
    put("Where it fits: same seed, same outputs; the data stays as it was; test labels play no part.")
    task = _OFFLINE.get(fits[0], f"NAME_OF_A_{fits[0]}_TASK")
    rule = "Majority" if "node_cls" in fits else "FeatureOnly"
    put("A report needs something to compare it with, a simple rule to beat, and the same seeds for all:")
    others = ["GCN", "MLP", rule]
    named = f"mine={model}" if label_of(model) in others and is_reference(model) else model
    options = " ".join(f"--model {name}" for name in dict.fromkeys([named, *others]))
    put(f"  graphnetz run --task {task} {options} --seeds 10")


def _shape(spec: Any) -> str:
    """Say how a model is built and called."""
    if spec.kind == "predictor":
        return "fits itself (a predictor)."
    built = _names(spec.factory or spec.cls)
    called = _names(spec.cls.forward).removeprefix("self, ")
    return f"built as {spec.cls.__name__}({built}), called as forward({called})."


def _names(function: Any) -> str:
    """Parameters by name, with their stars and without their defaults."""
    bare = [p.replace(default=p.empty, annotation=p.empty) for p in inspect.signature(function).parameters.values()]
    return ", ".join(map(str, bare))
