"""Which epsilon, how much data: rehearsals on invented tables. Touches no private data."""

from privgmm.plan.chart import write_chart
from privgmm.plan.rehearsal import Forecast, Question, forecasts, smallest_epsilon

__all__ = ["Forecast", "Question", "forecasts", "smallest_epsilon", "write_chart"]
