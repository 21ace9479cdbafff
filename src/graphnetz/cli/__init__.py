"""The command line. Nothing heavy is imported before a command runs."""

from __future__ import annotations


def main() -> None:
    """Entry point of the ``graphnetz`` command."""
    import gc

    from graphnetz.cli.app import run_app

    gc.set_threshold(50_000, 20, 20)  # imports make many objects and few cycles: a second less until something runs

    raise SystemExit(run_app())
