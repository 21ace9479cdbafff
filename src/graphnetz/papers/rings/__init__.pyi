from graphnetz.papers.rings.tables import JUDGEMENTS as JUDGEMENTS
from graphnetz.papers.rings.tables import compare_judgement as compare_judgement
from graphnetz.papers.rings.tables import compare_paper as compare_paper
from graphnetz.papers.rings.tables import paper_name as paper_name
from graphnetz.papers.rings.tables import published_judgements as published_judgements
from graphnetz.papers.rings.tables import published_scores as published_scores
