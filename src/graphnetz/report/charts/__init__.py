"""Charts of the page: plain SVG, readable without script, coloured by the page's style sheet."""

from graphnetz.report.charts.base import icon, symbols
from graphnetz.report.charts.components import components_bar
from graphnetz.report.charts.cost import cost_chart
from graphnetz.report.charts.critical import critical_chart
from graphnetz.report.charts.curves import curves_panel
from graphnetz.report.charts.rows import forest_rows, lost, places_rows

__all__ = [
    "components_bar",
    "cost_chart",
    "critical_chart",
    "curves_panel",
    "forest_rows",
    "icon",
    "lost",
    "places_rows",
    "symbols",
]
