"""Forecasts of how far off a release will be, from rehearsals on invented tables. No private data is read."""

from privgmm.plan.chart import write_chart
from privgmm.plan.invent import Ranges, Shape
from privgmm.plan.rehearsal import Forecast, Off, Question, forecasts, smallest_epsilon

__all__ = [
    "Forecast",
    "Off",
    "Question",
    "Ranges",
    "Shape",
    "forecasts",
    "smallest_epsilon",
    "write_chart",
]
