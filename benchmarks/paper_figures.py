"""Figures of the methods paper from stored results, in the look of the report.

``python benchmarks/paper_figures.py`` draws all, ``... calibration`` one of them, to `docs/paper/figures`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphnetz.report.colours import BETTER, MUTED, WORSE
from graphnetz.report.style import new_figure, page_files, palette, styled
from paper_numbers import FALSE_CLAIMS, fastest_rival, stored

OUT = Path(__file__).parents[1] / "docs" / "paper" / "figures"
WIDTH = 6.3
"""Inches of the text of the paper."""


def _panels(count: int, height: float, **given: object) -> tuple[Figure, list[Axes]]:
    figure = new_figure(WIDTH, height)
    figure.set_layout_engine("constrained")
    axes = np.atleast_1d(figure.subplots(1, count, **given)).ravel().tolist()
    return figure, axes


@styled
def calibration() -> Figure:
    """Rate of false claims, one mark per simulated situation."""
    found = stored("calibration.json")["rows"]
    figure, (axes,) = _panels(1, 3.6)
    for place, claim in enumerate(FALSE_CLAIMS):
        some = [r for r in found if r["claim"] == claim and r["low"] is None and 0 < (r["high"] or 0) <= 0.1]
        for n, row in enumerate(some):
            at = place + 0.6 * ((n + 0.5) / len(some) - 0.5)
            colour, marker = (BETTER, "o") if row["held"] else (WORSE, "X")
            axes.plot(
                [row["value"] - 2 * row["error"], row["value"] + 2 * row["error"]], [at, at], color=colour, lw=0.6
            )
            axes.plot(row["value"], at, marker, color=colour, ms=3.0 if row["held"] else 5.0, mew=0)
    axes.axvline(0.05, color=MUTED, lw=0.8, ls="--")
    axes.set_yticks(range(len(FALSE_CLAIMS)), FALSE_CLAIMS)
    axes.invert_yaxis()
    axes.set_xlim(-0.005)
    axes.set_xlabel("share of tasks or comparisons with a false claim, two Monte-Carlo errors to each side")
    axes.legend(
        handles=[
            Line2D([], [], marker="o", ls="", color=BETTER, ms=3, label="promise held"),
            Line2D([], [], marker="X", ls="", color=WORSE, ms=5, label="not held"),
            Line2D([], [], ls="--", color=MUTED, lw=0.8, label="5 %"),
        ],
        loc="lower right", frameon=False,
    )  # fmt: skip
    return figure


@styled
def decisions() -> Figure:
    """Decided comparisons against cells, for fixed and sequential numbers of seeds."""
    suites = stored("sequential_suites.json")
    figure, panels = _panels(len(suites), 2.5, sharex=True)
    ways = [way for way in next(iter(suites.values()))["ways"] if way != "30 fixed seeds"]
    looks = palette(len(ways))
    for axes, (name, suite) in zip(panels, suites.items(), strict=True):
        fixed = {int(n): value for n, value in suite["fixed"].items()}
        most = max(fixed)
        axes.plot([100 * n / most for n in fixed], list(fixed.values()), color=MUTED, lw=1.0, label="fixed seeds")
        for way, look in zip(ways, looks, strict=True):
            row = suite["ways"][way]
            axes.plot(100 * row["cells_share"], row["decided"], look.marker, color=look.colour, ms=5, label=way)
        axes.set_title(name)
        axes.set_xlabel("cells, % of 30 seeds")
        axes.set_ylabel(f"decided of {suite['comparisons']} pairs")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    return figure


@styled
def selection() -> Figure:
    """What the first choice is worth on graphs whose domain was left out."""
    found = stored("selection_real.json")
    figure, panels = _panels(len(found), 1.7)
    ways = (("random", "random"), ("average best", "best on average"), ("first", "first choice"), ("mean best", "best"))
    for axes, (kind, row) in zip(panels, found.items(), strict=True):
        for place, ((key, _), look) in enumerate(zip(ways, palette(len(ways)), strict=True)):
            axes.plot(row[key], place, look.marker, color=look.colour, ms=6)
            axes.annotate(f"{row[key]:.3f}", (row[key], place), xytext=(7, 0), textcoords="offset points", va="center")
        axes.set_yticks(range(len(ways)), [words for _, words in ways])
        axes.set_xlim(0.55, 0.95)
        axes.set_ylim(-0.5, len(ways) - 0.5)
        axes.set_title(kind)
        axes.set_xlabel(f"mean score, {row['graphs']} graphs of {row['domains']} domains")
    return figure


@styled
def speed() -> Figure:
    """Time of the fastest rival over ours, layer by layer."""
    rows = stored("rivals.json")["rows"]
    graphs = {"cora": "one graph of Cora's size", "enzymes": "batches like ENZYMES"}
    figure, panels = _panels(len(graphs), 2.5, sharey=True)
    for axes, (graph, title) in zip(panels, graphs.items(), strict=True):
        some = {
            name.split()[1]: row for name, row in rows.items() if name.startswith(f"{graph} ") and name.endswith(" 1")
        }
        for place, row in enumerate(some.values()):
            for side, look in zip(("ours", "ours engine"), palette(2), strict=True):
                if side in row["sides"]:
                    ratio = fastest_rival(row) / row["sides"][side]["ms"]
                    axes.plot(ratio, place, look.marker, color=look.colour, ms=4.5,
                              label={"ours": "own loop"}.get(side, "engine") if place == 0 else None)  # fmt: skip
        axes.axvline(1, color=MUTED, lw=0.8, ls="--")
        axes.set_xscale("log")
        axes.set_xticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
        axes.set_xticks([], minor=True)
        axes.set_yticks(range(len(some)), list(some))
        axes.set_title(title)
        axes.set_xlabel("fastest rival / ours")
    panels[0].invert_yaxis()
    panels[1].legend(frameon=False, loc="lower right")
    return figure


@styled
def places() -> Figure:
    """How many models of a published list may be first."""
    lists = stored("published_places.json")
    papers = list(dict.fromkeys(entry["paper"] for entry in lists))
    figure, (axes,) = _panels(1, 2.3)
    seen: dict[tuple[int, int], int] = {}
    for paper, look in zip(papers, palette(len(papers)), strict=True):
        for entry in (e for e in lists if e["paper"] == paper):
            spot = (entry["models"], entry["may_be_first"])
            seen[spot] = seen.get(spot, -1) + 1
            shift = 0.07 * seen[spot]  # lists that agree lie side by side
            axes.plot(spot[0] + shift, spot[1], look.marker, color=look.colour, ms=3.5, mew=0)
        axes.plot([], [], look.marker, color=look.colour, ms=4, label=paper)
    most = max(entry["models"] for entry in lists)
    axes.plot([2, most], [2, most], color=MUTED, lw=0.8, ls="--", label="every model")
    axes.set_xlabel("models in a published list")
    axes.set_ylabel("may be first")
    axes.legend(frameon=False, loc="upper left")
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    function.__name__: function for function in (calibration, decisions, selection, speed, places)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *FIGURES], help="figures; all, when none is named")
    OUT.mkdir(parents=True, exist_ok=True)
    for name in parser.parse_args().names or FIGURES:
        for file, content in page_files([FIGURES[name]()], name, formats=("pdf",)).items():
            (OUT / file).write_bytes(content)
            print(file)


if __name__ == "__main__":
    main()
