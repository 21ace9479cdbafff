r"""Booktabs tables that compile on their own: names escaped, shades of the GraphNetz paper.

Every table starts with a comment that lists the packages it needs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from graphnetz._core.errors import unknown_name
from graphnetz._core.text import number, p_value
from graphnetz.records.analysis import FAMILY_WORDS, REACH_TEXT, TEST_WORDS, Comparison
from graphnetz.records.views import CellView, Grid, TaskRow
from graphnetz.report import escape
from graphnetz.report.colours import ALMOND, KHAKI

LONG = 36
"""Rows beyond which a table does not fit a page and is broken over several."""

_Pick = Callable[[TaskRow, Mapping[str, str]], str]

PREAMBLE = (
    "% Needs in the preamble: \\usepackage[T1]{fontenc} \\usepackage[utf8]{inputenc} \\usepackage{textcomp}\n"
    "% \\usepackage{booktabs,longtable,graphicx} \\usepackage[table]{xcolor}\n"
    f"\\providecolor{{khaki}}{{HTML}}{{{KHAKI[1:]}}}\n"
    f"\\providecolor{{almond}}{{HTML}}{{{ALMOND[1:]}}}\n"
)


def summary_latex(
    grid: Grid,
    *,
    bold_best: bool = True,
    pretty: Mapping[str, str] | None = None,
    caption: str | None = None,
    label: str | None = None,
    percent: bool = False,
    spread: str = "interval",
    second: bool = False,
) -> str:
    """Return the table of means and intervals, one row per task, one column per model.

    ``percent`` shows metrics between 0 and 1 in percent, ``spread="sd"`` the standard deviation over seeds in place of
    the half-width, and ``second`` underlines the best of the other means.
    """
    if spread not in SPREADS:
        raise unknown_name("spread", spread, SPREADS)
    grid = _in_percent(grid) if percent else grid
    lead = _lead_columns(grid)
    parts = _parts(len(grid.models))
    wide = len(parts[0])
    blocks: list[tuple[list[str], list[str]]] = []
    for part in parts:
        gap = [""] * (wide - len(part))
        head = [name for name, _ in lead] + [escape.latex(grid.models[i], width=24) for i in part] + gap
        lines: list[str] = []
        for row in grid.rows:
            digits = 1 if row.metric.endswith("(%)") else 3
            cells = [pick(row, pretty or {}) for _, pick in lead]
            cells += [_cell(row.cells[i], marked=bold_best, spread=spread, second=second, digits=digits) for i in part]
            lines.append(" & ".join(cells + gap) + r" \\")
        blocks.append((head, lines))
    columns = "l" * len(lead) + "c" * wide
    text = (
        escape.latex(caption, width=2000)
        if caption is not None
        else summary_caption(grid, marked=bold_best, spread=spread, second=second)
    )
    return _table(columns, blocks, text, label or "tab:results")


MOST_COLUMNS, BLOCK = 6, 5
"""Models that stand beside each other at a size that can be read; more are cut into blocks below each other."""


def _parts(models: int) -> list[range]:
    """Positions of the models of each block, as even as they go, the widest first."""
    count = 1 if models <= MOST_COLUMNS else -(-models // BLOCK)
    size = -(-models // count)
    return [range(i, min(i + size, models)) for i in range(0, max(1, models), max(1, size))]


SPREADS = ("interval", "sd")


def _in_percent(grid: Grid) -> Grid:
    """The same grid with metrics between 0 and 1 in percent."""
    rows = [
        replace(row, metric=f"{row.metric} (%)", cells=tuple(map(_hundredfold, row.cells)))
        if row.bounds == (0, 1)
        else row
        for row in grid.rows
    ]
    return replace(grid, rows=tuple(rows))


def _hundredfold(cell: CellView) -> CellView:
    return replace(cell, mean=100 * cell.mean, half=100 * cell.half, std=100 * cell.std)


def summary_caption(grid: Grid, *, marked: bool = True, spread: str = "interval", second: bool = False) -> str:
    """Words under the summary table: what the figures are, and what the shades mean."""
    level = escape.latex(f"{100 * grid.level:g} %")
    text = f"Mean $\\pm$ half-width of the {level} interval ({escape.latex(grid.interval)}) over {grid.seeds}; "
    if spread == "sd":
        text = f"Mean $\\pm$ standard deviation over {grid.seeds}; "
    text += "the arrow points to better. "
    if marked:
        text += (
            "\\colorbox{khaki}{\\textbf{khaki}}: best mean over shared seeds, picked from the same data. "
            f"\\colorbox{{almond}}{{almond}}: {escape.latex(grid.tie_rule, width=400)}. "
        )
    if second:
        text += "\\underline{Underlined}: best of the other means. "
    return text + "\\textit{n/a}: no value."


def _lead_columns(grid: Grid) -> list[tuple[str, _Pick]]:
    lead: list[tuple[str, _Pick]] = []
    if any(row.category for row in grid.rows):
        lead.append(("Category", lambda row, _: escape.latex(row.category, width=30)))
    lead.append(("Task", lambda row, pretty: escape.latex(pretty.get(row.task, row.task), width=40)))
    lead.append(("Metric", lambda row, _: f"{escape.latex(row.metric)} ${_ARROWS[row.arrow]}$"))
    return lead


_ARROWS = {"↑": r"\uparrow", "↓": r"\downarrow"}


def _cell(cell: CellView, *, marked: bool, spread: str = "interval", second: bool = False, digits: int = 3) -> str:
    if not cell.present:
        return r"\textit{n/a}"
    body, about = _powers(number(cell.mean, digits=digits)), cell.std if spread == "sd" else cell.half
    if second and cell.second:
        body = rf"\underline{{{body}}}"
    if math.isfinite(about):
        body += rf" \pm {_powers(number(about, digits=digits))}"
    if cell.short_of:
        body += rf"\ \mbox{{({cell.short_of})}}"
    if marked and cell.mark == "best":
        return rf"\cellcolor{{khaki}}$\mathbf{{{body}}}$"
    if marked and cell.mark == "tied":
        return rf"\cellcolor{{almond}}${body}$"
    return f"${body}$"


def _powers(text: str) -> str:
    """A number as text, with its exponent as a power of ten."""
    mantissa, e, exponent = text.partition("e")
    return rf"{mantissa}\cdot 10^{{{int(exponent)}}}" if e else text


def pairwise_latex(
    pairs: Sequence[Comparison],
    *,
    alpha: float = 0.05,
    family: str = "task",
    pretty: Mapping[str, str] | None = None,
    caption: str | None = None,
    label: str | None = None,
) -> str:
    """Return the table of adjusted p-values of the deciding test, one row per comparison."""
    text = (
        escape.latex(caption, width=2000)
        if caption is not None
        else (
            f"Pairwise comparisons ({escape.latex(deciding_words(pairs), width=400)}, paired by seed, "
            f"Holm correction {FAMILY_WORDS[family]}). "
            "$\\Delta\\mu$: mean of the first minus mean of the second model over shared seeds. Intervals of "
            "a family hold together and end at zero at worst where a difference is shown. Reach: how far it is shown "
            f"({escape.latex(REACH_TEXT, width=400)}). {_shades(alpha)}"
        )
    )
    head = ["Task", "Comparison", r"$\Delta\mu$", "interval", "$d_z$", r"$p_{\mathrm{Holm}}$", "Reach"]
    lines = _lines(pairs, pretty, lambda i: _pair_cells(pairs[i]))
    return _table("llccccl", [(head, lines)], text, label or "tab:pairwise")


def deciding_words(pairs: Sequence[Comparison]) -> str:
    """Name the tests that decide: ``paired t test``, or several where differences are constant on some tasks."""
    tests = (TEST_WORDS.get(pair.decided_by, pair.decided_by) for pair in pairs if pair.decided_by != "deterministic")
    return " or ".join(f"{name} test" for name in dict.fromkeys(tests)) or "no test"


def both_latex(pairs: Sequence[tuple[Comparison, Comparison]]) -> str:
    """Return the paper's Table 2: paired t and Wilcoxon side by side with their agreement."""
    text = (
        f"Paired t-test and Wilcoxon signed-rank test side by side (Holm correction {FAMILY_WORDS['task']}). "
        f"$\\Delta\\mu$: mean of the first minus mean of the second model. {_shades(0.05)} "
        "A dagger marks a Wilcoxon test that could not reach the level with this many seeds."
    )
    head = ["Task", "Comparison", r"$\Delta\mu$", r"$p^{t}_{\mathrm{Holm}}$", r"$p^{W}_{\mathrm{Holm}}$", "Agree"]
    lines = _lines([t for t, _ in pairs], None, lambda i: _both_cells(*pairs[i]))
    return _table("llcccc", [(head, lines)], text, "tab:pairwise-both")


def _pair_cells(pair: Comparison) -> list[str]:
    low, high = number(pair.sim_low, signed=True), number(pair.sim_high, signed=True)
    bounds = f"$[{low}, {high}]$" if math.isfinite(pair.sim_low) else r"\textit{n/a}"
    p = _shaded(pair.p_decided, pair.different, pair.p_words)
    return [_signed(pair.mean_diff), bounds, _signed(pair.dz, digits=2), p, pair.reach or "--"]


def _both_cells(t: Comparison, w: Comparison) -> list[str]:
    dagger = "" if w.reachable else r"$^\dagger$"
    wilcoxon = _shaded(w.p_adjusted, w.significant) + dagger
    agree = "yes" if t.significant == w.significant else "no"
    return [_signed(t.mean_diff), _shaded(t.p_adjusted, t.significant), wilcoxon, agree]


def _lines(
    pairs: Sequence[Comparison], pretty: Mapping[str, str] | None, cells: Callable[[int], list[str]]
) -> list[str]:
    """One row per comparison, its task named in the first row of its group."""
    lines: list[str] = []
    task = None
    for i, pair in enumerate(pairs):
        name = ""
        if pair.task != task:
            task = pair.task
            lines += [r"\addlinespace"] if lines else []
            name = escape.latex((pretty or {}).get(task, task), width=40)
        lines.append(" & ".join([name, _versus(pair.a, pair.b), *cells(i)]) + r" \\")
    return lines


def _shades(alpha: float) -> str:
    return (
        f"\\colorbox{{khaki}}{{khaki}}: significant at $\\alpha = {alpha:g}$; "
        "\\colorbox{almond}{almond}: not significant; \\textit{n/a}: the test is undefined."
    )


def _versus(a: str, b: str) -> str:
    return f"{escape.latex(a, width=24)} vs.\\ {escape.latex(b, width=24)}"


def _signed(value: float, *, digits: int = 3) -> str:
    return f"${number(value, digits=digits, signed=True)}$" if math.isfinite(value) else r"\textit{n/a}"


def _shaded(p: float, significant: bool, words: str = "") -> str:
    if math.isnan(p):
        return r"\textit{n/a}"
    text = words or p_value(p)
    text = f"${_powers(text)}$" if re.search(r"\de", text) else text
    return rf"\cellcolor{{{'khaki' if significant else 'almond'}}}{text}"


def _table(columns: str, blocks: Sequence[tuple[Sequence[str], Sequence[str]]], caption: str, label: str) -> str:
    """Write blocks of a head and its lines below each other; one block repeats its head on every page."""
    safe = "".join(char for char in escape.clean(label) if char.isascii() and (char.isalnum() or char in ":-."))
    # Tables that break over pages cannot be scaled to the line.
    long = sum(line.endswith(r"\\") for _, lines in blocks for line in lines) > LONG
    size = r"\small" if len(columns) <= (6 if long else 8) else r"\scriptsize"
    heads = [" & ".join(head) + " \\\\\n\\midrule\n" for head, _ in blocks]
    bodies = ["\n".join(lines) for _, lines in blocks]
    one = len(blocks) == 1
    top = heads[0] if one else ""
    rows = bodies[0] if one else "\n\\midrule\n".join(map("".join, zip(heads, bodies, strict=True)))
    if long:
        return (
            f"{PREAMBLE}\\begingroup\n{size}\n\\setlength{{\\tabcolsep}}{{4pt}}\\setlength{{\\LTcapwidth}}{{\\linewidth}}\n"
            f"\\begin{{longtable}}{{{columns}}}\n\\caption{{{caption}}}\\label{{{safe}}}\\\\\n"
            f"\\toprule\n{top}\\endfirsthead\n\\toprule\n{top}\\endhead\n"
            f"\\midrule\n\\endfoot\n\\bottomrule\n\\endlastfoot\n{rows}\n\\end{{longtable}}\n\\endgroup\n"
        )
    # A table wider than the line is made smaller, one that fits is left alone.
    fit = "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%"
    return (
        f"{PREAMBLE}\\begin{{table}}[t]\n\\centering\n{size}\n\\caption{{{caption}}}\n\\label{{{safe}}}\n{fit}\n"
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{top}{rows}\n\\bottomrule\n\\end{{tabular}}}}\n"
        "\\end{table}\n"
    )
