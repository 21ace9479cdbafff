"""Finance: transactions, products, boards, patents and trust between traders."""

from __future__ import annotations

from graphnetz.datasets.catalogue import loaders

globals().update(loaders("finance"))
