from graphnetz.analysis.analysis import Analysis as Analysis
from graphnetz.analysis.analysis import analyse as analyse
from graphnetz.records.analysis import AnalysisOptions as AnalysisOptions
from graphnetz.records.analysis import Comparison as Comparison
from graphnetz.records.analysis import Facts as Facts
from graphnetz.records.analysis import Standing as Standing
from graphnetz.records.analysis import Verdict as Verdict
