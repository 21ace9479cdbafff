"""The command line. Nothing heavy is imported before a command runs."""

from __future__ import annotations


def main() -> None:
    """Entry point of the ``graphnetz`` command."""
    from graphnetz.cli.app import run_app

    raise SystemExit(run_app())
