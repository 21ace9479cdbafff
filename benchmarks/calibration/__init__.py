"""Simulated benchmarks with a known truth, behind `benchmarks/calibrate.py`."""
