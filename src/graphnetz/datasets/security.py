"""Security: malware, covert networks, botnets."""

from __future__ import annotations

from graphnetz.datasets.catalogue import loaders

globals().update(loaders("security"))
