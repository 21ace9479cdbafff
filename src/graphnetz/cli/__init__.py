"""The command line. Nothing heavy is imported before a command runs."""

from __future__ import annotations


def main() -> None:
    """Entry point of the ``graphnetz`` command."""
    import atexit
    import gc
    import sys

    from graphnetz._core.optional import clash

    if sentence := clash():
        print(sentence, file=sys.stderr)
        raise SystemExit(2)
    from graphnetz.cli.app import run_app

    gc.set_threshold(50_000, 20, 20)  # imports make many objects and few cycles: a second less until something runs
    # Look for garbage once at exit: the interpreter would go through all of torch again and again, for a second.
    atexit.register(gc.freeze)
    atexit.register(gc.collect)  # the last one registered is called first

    raise SystemExit(run_app())
