"""Scores in, conclusions out: the only place where statistics meet a benchmark."""
