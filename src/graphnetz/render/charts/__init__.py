"""Charts of the page: plain SVG, readable without script, coloured by the page's style sheet."""

from graphnetz.render.charts.cost import cost_chart
from graphnetz.render.charts.critical import critical_chart
from graphnetz.render.charts.curves import curves_chart
from graphnetz.render.charts.forest import forest_chart

__all__ = ["cost_chart", "critical_chart", "curves_chart", "forest_chart"]
