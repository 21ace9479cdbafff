"""graphnetz: honest evaluation of graph learning."""

__version__ = "1.0.0.dev0"
