"""Charts of the page: plain SVG, readable without script, coloured by the page's style sheet."""

from graphnetz.report.charts.components import components_chart
from graphnetz.report.charts.cost import cost_chart
from graphnetz.report.charts.critical import critical_chart
from graphnetz.report.charts.curves import curves_chart
from graphnetz.report.charts.dots import dots_chart
from graphnetz.report.charts.forest import forest_chart
from graphnetz.report.charts.places import places_chart

__all__ = [
    "components_chart",
    "cost_chart",
    "critical_chart",
    "curves_chart",
    "dots_chart",
    "forest_chart",
    "places_chart",
]
