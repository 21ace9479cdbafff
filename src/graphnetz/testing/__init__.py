"""Contract suites for people who write plug-ins; our own entries pass the same ones.

Each function takes a registered name, tries what the product relies on, and raises `AssertionError`
with one sentence where a promise is broken.

Examples
--------
>>> from graphnetz.testing import check_correction
>>> check_correction("holm")
"""

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
