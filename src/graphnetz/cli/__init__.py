"""The command line. Nothing heavy is imported before a command runs."""

from __future__ import annotations


def main() -> None:
    """Entry point of the ``graphnetz`` command."""
    import gc
    import sys

    from graphnetz._core.optional import clash

    if sentence := clash():
        print(sentence, file=sys.stderr)
        raise SystemExit(2)
    from graphnetz.cli.app import run_app

    gc.set_threshold(50_000, 20, 20)  # imports make many objects and few cycles: a second less until something runs

    raise SystemExit(run_app())
