"""The taxonomy of many datasets: one row each, and separability against structural diversity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphnetz._core.errors import UsageError
from graphnetz.records import Figure, Section, Table
from graphnetz.report.sections import read_sections

PREFIX = "rings-"


def read_facts(folder: str | Path) -> list[dict[str, Any]]:
    """Return what RINGS found in a run folder, one entry per dataset.

    Parameters
    ----------
    folder
        A folder that ``graphnetz rings ... --out`` wrote.

    Returns
    -------
    list of dict
        The facts of `DatasetEvaluation.facts`.

    Examples
    --------
    >>> import tempfile
    >>> from graphnetz.rings import read_facts
    >>> from graphnetz.records import Section
    >>> from graphnetz.report.sections import write_section
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_section(folder, Section("rings-toy", "Is toy fit?", extra={"verdict": "keep"}))
    ...     read_facts(folder)
    [{'dataset': 'toy', 'verdict': 'keep'}]
    """
    path = Path(folder)
    if not path.is_dir():
        raise UsageError(f"There is no folder {str(folder)!r}. Give folders that graphnetz rings NAME --out DIR wrote.")
    found = [
        {"dataset": section.name.removeprefix(PREFIX), **section.extra}
        for section in read_sections(path)
        if section.name.startswith(PREFIX) and "verdict" in section.extra
    ]
    if not found:
        raise UsageError(
            f"{str(folder)!r} holds no evaluation of a dataset. Make one with graphnetz rings NAME --out DIR."
        )
    return found


def taxonomy_section(
    facts: Sequence[Mapping[str, Any]], *, published: Mapping[str, tuple[float, str]] | None = None
) -> Section:
    """Put many datasets on one page.

    Parameters
    ----------
    facts
        What `read_facts` returned.
    published
        By dataset: score and verdict that others printed, to stand beside.

    Returns
    -------
    Section
        A table of verdicts, and the picture.

    Examples
    --------
    >>> from graphnetz.rings import taxonomy_section
    >>> fact = {"dataset": "toy", "verdict": "keep", "structure": "informative", "features": "informative",
    ...         "scores": [5.0, 5.0], "diversity": {"structural": 0.5, "features": 0.4}, "runs": 20}
    >>> taxonomy_section([fact]).verdict
    '1 keep'
    """
    printed = published or {}
    rows = tuple(_row(fact, printed.get(fact["dataset"])) for fact in facts)
    counts = {
        name: sum(fact["verdict"] == name for fact in facts) for name in dict.fromkeys(f["verdict"] for f in facts)
    }
    columns = ("dataset", "verdict", "structure", "features", "score", "structural diversity", "feature diversity")
    return Section(
        name="rings-taxonomy",
        title="Which datasets are fit to judge models?",
        verdict=", ".join(f"{count} {name}" for name, count in counts.items()),
        tables=(Table((*columns, "runs", "runs needed", "published"), rows, "One row per dataset, by RINGS."),),
        figures=(taxonomy_figure(facts, published=printed),),
    )


def _row(fact: Mapping[str, Any], printed: tuple[float, str] | None) -> tuple[Any, ...]:
    diversity = fact.get("diversity", {})
    return (
        fact["dataset"], fact["verdict"], fact["structure"], fact["features"], score_words(fact),
        diversity.get("structural"), diversity.get("features"), fact.get("runs"), fact.get("needed"),
        None if printed is None else f"{printed[1] or 'no verdict'} ({printed[0]:g})",
    )  # fmt: skip


def score_words(fact: Mapping[str, Any]) -> str:
    """Return the score, or the range it can still take."""
    low, high = fact.get("scores") or [fact.get("score")] * 2
    return "?" if low is None else f"{low:g}" if low == high else f"{low:g} to {high:g}"


def taxonomy_figure(
    facts: Sequence[Mapping[str, Any]], *, published: Mapping[str, tuple[float, str]] | None = None
) -> Figure:
    """Separability against structural diversity, one point per dataset; undecided ones in the middle of their range."""
    points: dict[str, list[tuple[float, float, str]]] = {}
    printed: list[tuple[float, float, str]] = []
    for fact in facts:
        low, high = fact.get("scores") or [fact.get("score") or 0.0] * 2
        across = fact.get("diversity", {}).get("structural")
        if across is None:
            continue
        text = fact["dataset"] if low == high else f"{fact['dataset']} ({score_words(fact)})"
        points.setdefault(fact["verdict"], []).append((across, (low + high) / 2, text))
        if published and fact["dataset"] in published:
            printed.append((across, published[fact["dataset"]][0], ""))
    series = {
        name: {"x": [x for x, _, _ in item], "y": [y for _, y, _ in item], "text": [text for _, _, text in item]}
        for name, item in (points | ({"published score": printed} if printed else {})).items()
    }
    if printed:
        series["published score"]["open"] = True  # often at the same place as ours
    caption = (
        "Performance separability (0 to 5, high above 2) against structural diversity (high from 0.4 on), "
        "ours and where others printed one, theirs. Undecided scores are drawn in the middle of what they can still be."
    )
    frame = {
        "xlabel": "structural diversity", "ylabel": "performance separability", "xlim": [0, 1], "ylim": [-0.25, 5.25],
        "across": [0.4], "along": [2.0],
    }  # fmt: skip
    return Figure("scatter", {"series": series, **frame}, caption)
