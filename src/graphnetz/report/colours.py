"""Colours that words and figures share; no plotting library is needed to know them."""

KHAKI = "#F0E68C"
"""Shade of the best cell of a row, as in the GraphNetz paper."""
ALMOND = "#EFDECD"
"""Shade of cells that cannot be told apart from the best."""
INK = "#222222"
MUTED = "#6B6B6B"
BAND = "#F4F2EC"
