"""Colours and markers that words, page and figures share; no plotting library is needed to know them.

``tests/report/test_colours.py`` holds them against simulated colour blindness and against the contrast of text.
"""

KHAKI = "#F0E68C"
"""Shade of the best cell of a row, as in the GraphNetz paper."""
ALMOND = "#EFDECD"
"""Shade of cells that cannot be told apart from the best."""
INK = "#222222"
MUTED = "#6B6B6B"
BAND = "#F4F2EC"

BETTER, WORSE, UNDECIDED = "#0072B2", "#D55E00", "#8A8A8A"
"""Of a difference, whatever the direction of its metric: in favour of the first model, against it, not shown."""

COLOURS = (
    "#0072B2", "#C97B00", "#00966B", "#9E3600", "#C2548F", "#3F98E8", "#7F7A00", "#5A5A5A", "#7A1747", "#0B5563",
    "#332288",
)  # fmt: skip
"""After Okabe and Ito (2008), dark enough for white paper; lightness differs where colour-blind eyes mix hues."""
MARKERS = ("circle", "square", "diamond", "up", "down", "plus", "left", "right")
"""Shapes of marks, so that colour is never needed to tell models apart; up to right are triangles."""


def look_of(index: int) -> tuple[int, int]:
    """Return which colour and which marker the model at ``index`` of a report has, on the page and on paper.

    Examples
    --------
    >>> COLOURS[look_of(1)[0]], MARKERS[look_of(1)[1]]
    ('#C97B00', 'square')
    """
    return index % len(COLOURS), (index + 2 * (index // len(COLOURS))) % len(MARKERS)


# What only the page needs: the same colours where the reader prefers dark paper, and grounds of cells.

DARK = (
    "#4D9DE8", "#F2B134", "#3CCFA3", "#E0602A", "#E39AC2", "#A9DCFA", "#D8D86A", "#B8B8B8", "#C2558B", "#2F9E8F",
    "#8068E8",
)  # fmt: skip
GROUNDS = {"pos": ("#CFE5F5", "#17405A"), "neg": ("#FBE0CF", "#5A3115")}
"""Grounds of cells that are better and worse, light and dark."""
HEAT = (
    ("#FFFFFF", "#F0F6FB", "#DFECF7", "#CBE1F2", "#B3D3EC", "#97C3E5"),
    ("#1D2024", "#1E2A33", "#1F3443", "#203F54", "#214A66", "#235679"),
)
"""Grounds of a heat table, worst to best of a task: on light, and on dark paper."""


def heat_step(shade: float) -> int:
    """Return which ground of `HEAT` a share between worst (0) and best (1) has.

    Examples
    --------
    >>> heat_step(0.0), heat_step(0.5), heat_step(1.0)
    (0, 3, 5)
    """
    return min(len(HEAT[0]) - 1, int(shade * len(HEAT[0])))


def css() -> str:
    """Return the colours as style rules: ``.c0`` to ``.c10`` for models, variables for grounds."""
    out = []
    for side, rule in enumerate(("{}", "@media (prefers-color-scheme: dark) {{ {} }}")):
        grounds = [f"--h{i}: {colour};" for i, colour in enumerate(HEAT[side])]
        grounds += [f"--{name}: {pair[side]};" for name, pair in GROUNDS.items()]
        marks = [f".c{i} {{ --c: {colour}; }}" for i, colour in enumerate((COLOURS, DARK)[side])]
        out.append(rule.format(" ".join([f":root {{ {' '.join(grounds)} }}", *marks])))
    return "\n".join(out) + "\n"
