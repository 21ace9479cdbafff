"""Contract suites for people who write plug-ins; our own entries pass the same ones.

Each function takes a registered name, tries what the product relies on, and raises `AssertionError`
with one sentence where a promise is broken.

Examples
--------
>>> from graphnetz.testing import check_correction
>>> check_correction("holm")
"""

from graphnetz._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "graphnetz.testing.datasets": ("check_dataset",),
        "graphnetz.testing.decisions": ("check_perturbation", "check_selector"),
        "graphnetz.testing.examples": ("EXAMPLES",),
        "graphnetz.testing.models": ("check_model", "check_task_type", "example"),
        "graphnetz.testing.running": ("check_executor", "check_tracker"),
        "graphnetz.testing.statistics": ("check_correction", "check_interval", "check_metric", "check_paired_test"),
    },
)
